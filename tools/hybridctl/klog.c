// SPDX-License-Identifier: GPL-2.0-only
/* Reads device-mapper's reasons from /dev/kmsg. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "klog.h"
#include "msg.h"

#define RECORD_MAX	8192

int klog_mark(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && lseek(fd, 0, SEEK_END) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * "device-mapper: table: 254:0: hybrid: REASON (-EINVAL)" is what a constructor
 * says; "device-mapper: hybrid: REASON" comes from messages and resume.
 */
const char *klog_match(const char *message, int *rank)
{
	static const char prefix[] = "device-mapper: ", target[] = "hybrid: ";
	const char *text;

	*rank = 0;
	if (strncmp(message, prefix, strlen(prefix)))
		return NULL;
	message += strlen(prefix);
	if (!strncmp(message, "table: ", 7)) {
		text = strstr(message, target);
		*rank = text ? 4 : 2;
		return text ? text + strlen(target) : message + 7;
	}
	if (!strncmp(message, target, strlen(target))) {
		*rank = 3;
		return message + strlen(target);
	}
	*rank = 1;
	text = strstr(message, ": ");
	return text ? text + 2 : message;
}

/* Cut the text out of a record "6,339,5140900,-;TEXT\n KEY=VALUE\n". */
static char *record_text(char *record)
{
	char *text = strchr(record, ';');

	if (!text)
		return NULL;
	text[strcspn(text, "\n")] = 0;
	return text + 1;
}

static void drop_errno(char *text)
{
	char *tail = strrchr(text, '(');

	if (tail && tail > text && tail[-1] == ' ' && tail[1] == '-' &&
	    text[strlen(text) - 1] == ')')
		tail[-1] = 0;
}

/* The next one, into RECORD_MAX + 1 bytes; false: there is none. */
static bool read_record(int mark, char *record)
{
	ssize_t n;

	/* Records were overwritten: go on after them. */
	do
		n = read(mark, record, RECORD_MAX);
	while (n < 0 && errno == EPIPE);
	if (n <= 0)
		return false;
	record[n] = 0;
	return true;
}

static unsigned long long number_of(const char *record)
{
	const char *comma = strchr(record, ',');

	return comma ? strtoull(comma + 1, NULL, 10) : 0;
}

/* Of the first record since @end. */
static unsigned long long first_number(int end)
{
	unsigned long long number = ~0ull;
	char record[RECORD_MAX + 1];

	if (end >= 0 && read_record(end, record))
		number = number_of(record);
	if (end >= 0)
		close(end);
	return number;
}

void klog_move(int mark)
{
	if (mark >= 0)
		lseek(mark, 0, SEEK_END);
}

char *klog_reason(int mark)
{
	return klog_reason_until(mark, -1);
}

char *klog_reason_until(int mark, int end)
{
	unsigned long long until = first_number(end);
	char record[RECORD_MAX + 1], *text, *best = NULL;
	const char *reason;
	int rank, best_rank = 0;

	if (mark < 0)
		return NULL;
	while (read_record(mark, record) && number_of(record) < until) {
		text = record_text(record);
		reason = text ? klog_match(text, &rank) : NULL;
		if (!reason || rank < best_rank)
			continue;
		free(best);
		best = xstrdup(reason);
		best_rank = rank;
	}
	close(mark);
	if (best)
		drop_errno(best);
	return best;
}
