// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tests' own programs as commands of the shell that runs them (`enable -f`): on
 * the debug kernel of an emulated machine, starting a process costs more than most
 * of what they do.  blkio, dmt, emuctl and json are the programs; and
 *
 *   klog mark		what the kernel logs from here on ...
 *   klog since		... is printed, as often as it is asked for
 *   into NAME COMMAND...	one of these, with what it prints in a variable
 *   nap SECONDS		a sleep, perhaps of a part of one
 *
 * They can't be interrupted, other than by SIGKILL; a nap can.
 *
 * bash's own sleep without a process is a `read -t` of what never has anything.  Where the time
 * is over before it has begun to wait, as the machine was elsewhere, bash 5.2 goes on with a
 * signal mask that nobody has set: if SIGCHLD is in it the shell does not notice any more that
 * processes have ended, and `kill -0` of one that has succeeds for ever.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_WORDS	1024
#define ENABLED		1

/* bash's, which have been the same for twenty years */
struct word_list {
	struct word_list *next;
	struct {
		char *word;
		int flags;
	} *word;
};

struct builtin {
	const char *name;
	int (*function)(struct word_list *words);
	int flags;
	const char *const *long_doc;
	const char *short_doc;
	char *handle;
};

void *bind_variable(const char *name, char *value, int flags);

int blkio_main(int argc, char **argv);
int dmt_main(int argc, char **argv);
int emuctl_main(int argc, char **argv);
int json_main(int argc, char **argv);

static struct {
	pid_t pid;		/* a subshell would take the lines away */
	int fd, number;
	char *text;		/* read so far */
	size_t len;
	FILE *to;
} since = { .fd = -1 };

/* Records are "number,number,number,flags[,...];text", and lines of more that begin with a blank. */
static const char *text_of(char *record)
{
	char *text = strchr(record, ';');

	if (!text)
		return "";
	text[strcspn(text, "\n")] = 0;
	return text + 1;
}

/* The next record; false at the end. */
static bool next_record(int fd, char *record, size_t len)
{
	ssize_t n;

	do {
		n = read(fd, record, len - 1);
	} while (n < 0 && errno == EPIPE);	/* the oldest are gone */
	record[n > 0 ? n : 0] = 0;
	return n > 0;
}

static int open_log(void)
{
	return open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/* Other suites of the same machine have such numbers, too. */
static int mark_text(char *line, size_t len)
{
	return snprintf(line, len, "evenkeel-tests: case %d of %d", since.number, since.pid);
}

static int klog_mark(void)
{
	char line[64];
	int n;

	since.number++;
	since.pid = getpid();
	n = mark_text(line, sizeof(line));
	if (since.to)
		fclose(since.to);
	free(since.text);
	if (since.fd >= 0)
		close(since.fd);
	since.to = open_memstream(&since.text, &since.len);
	since.fd = open_log();
	if (since.fd < 0 || !since.to || write(since.fd, line, n) < 0 || lseek(since.fd, 0, SEEK_END) < 0) {
		perror("klog");
		return 1;
	}
	return 0;
}

static int klog_since(void)
{
	char record[8192];

	while (next_record(since.fd, record, sizeof(record)))
		fprintf(since.to, "%s\n", text_of(record));
	fflush(since.to);
	fputs(since.text, stdout);
	return 0;
}

static int klog_since_elsewhere(void)
{
	char record[8192], line[64];
	bool found = false;
	int fd = open_log();

	mark_text(line, sizeof(line));
	while (fd >= 0 && next_record(fd, record, sizeof(record))) {
		const char *text = text_of(record);

		if (found)
			puts(text);
		found |= !strcmp(text, line);
	}
	close(fd);
	return !found;
}

static int klog_main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "mark"))
		return klog_mark();
	if (argc == 2 && !strcmp(argv[1], "since") && since.number)
		return getpid() == since.pid ? klog_since() : klog_since_elsewhere();
	fputs("usage: klog mark|since\n", stderr);
	return 2;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "blkio", blkio_main }, { "dmt", dmt_main }, { "emuctl", emuctl_main },
	{ "json", json_main }, { "klog", klog_main },
};

static int run(const char *name, struct word_list *words)
{
	static char *argv[MOST_WORDS + 1];
	sigset_t all, before;
	int argc = 1, status;
	size_t i = 0;

	while (i < sizeof(commands) / sizeof(*commands) && strcmp(commands[i].name, name))
		i++;
	for (; words && argc < MOST_WORDS; words = words->next)
		argv[argc++] = words->word->word;
	if (words || i == sizeof(commands) / sizeof(*commands)) {
		fprintf(stderr, "%s: not known, or too many words\n", name);
		return 2;
	}
	argv[0] = (char *)name;
	argv[argc] = NULL;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	status = commands[i].run(argc, argv);
	fflush(stdout);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

static int run_blkio(struct word_list *words)
{
	return run("blkio", words);
}

static int run_dmt(struct word_list *words)
{
	return run("dmt", words);
}

static int run_emuctl(struct word_list *words)
{
	return run("emuctl", words);
}

static int run_json(struct word_list *words)
{
	return run("json", words);
}

static int run_klog(struct word_list *words)
{
	return run("klog", words);
}

static int run_into(struct word_list *words)
{
	FILE *out = stdout, *memory;
	char *text = NULL;
	size_t len;
	int status;

	if (!words || !words->next)
		return 2;
	memory = open_memstream(&text, &len);
	if (!memory)
		return 2;
	stdout = memory;
	status = run(words->next->word->word, words->next->next);
	stdout = out;
	fclose(memory);
	while (len && text[len - 1] == '\n')
		text[--len] = 0;
	bind_variable(words->word->word, text, 0);
	free(text);
	return status;
}

/* No process that ends is an end of it; other signals are. */
static int run_nap(struct word_list *words)
{
	double seconds = words ? strtod(words->word->word, NULL) : 0;
	struct timespec t = { .tv_sec = seconds };
	sigset_t mask;

	t.tv_nsec = (seconds - t.tv_sec) * 1e9;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	sigaddset(&mask, SIGCHLD);
	ppoll(NULL, 0, &t, &mask);
	return 0;
}

static const char *const doc[] = { "Of the tests; see tests/vm/builtins.c.", NULL };

#define EXPORTED	__attribute__((visibility("default")))

EXPORTED struct builtin blkio_struct = { "blkio", run_blkio, ENABLED, doc, "blkio WHAT DEVICE ...", NULL };
EXPORTED struct builtin dmt_struct = { "dmt", run_dmt, ENABLED, doc, "dmt COMMAND ...", NULL };
EXPORTED struct builtin emuctl_struct = { "emuctl", run_emuctl, ENABLED, doc, "emuctl COMMAND ...", NULL };
EXPORTED struct builtin json_struct = { "json", run_json, ENABLED, doc, "json FILE PATH ...", NULL };
EXPORTED struct builtin klog_struct = { "klog", run_klog, ENABLED, doc, "klog mark|since", NULL };
EXPORTED struct builtin into_struct = { "into", run_into, ENABLED, doc, "into NAME COMMAND ...", NULL };
EXPORTED struct builtin nap_struct = { "nap", run_nap, ENABLED, doc, "nap SECONDS", NULL };
