// SPDX-License-Identifier: GPL-2.0-only
/* What a recording has is what the page has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "../record.h"
#include "../report.h"
#include "capture.h"
#include "ktap.h"

#define LINE(at, name, reads, read_us, share, done, busy, state) \
	"{\"name\":\"" name "\",\"policy\":\"wardrop\",\"errors\":0,\"time\":1700000000.5,\"at\":" at \
	",\"io\":{\"reads\":" reads ",\"read_bytes\":4096000,\"writes\":0,\"write_bytes\":0}," \
	"\"migrations\":{\"completed\":" done ",\"failed\":0,\"bytes\":0}," \
	"\"not_migrated\":{\"busy\":" busy ",\"rate\":7},\"devices\":[{\"path\":\"/dev/<a>\"," \
	"\"state\":\"active\",\"share\":0.25,\"target\":0.5,\"read_us\":" read_us "," \
	"\"write_us\":0,\"read_p99_us\":0,\"write_p99_us\":0," \
	"\"extents\":{\"total\":200,\"used\":50}},{\"path\":null,\"state\":\"" state "\"," \
	"\"share\":" share ",\"target\":0.5,\"read_us\":0,\"write_us\":5,\"read_p99_us\":0," \
	"\"write_p99_us\":0,\"extents\":{\"total\":0,\"used\":0}}]}\n"

static const char recording[] =
	LINE("0", "a<b&c", "100", "150.5", "0.75", "10", "5", "active")
	LINE("2", "a<b&c", "300", "0", "0.5", "14", "6", "failed")
	LINE("4", "a<b&c", "200", "99", "0", "20", "25", "failed");

static json_t *read_text(const char *text, size_t len)
{
	FILE *f = fmemopen((char *)text, len, "r");
	json_t *lines = record_read(f, "test");

	fclose(f);
	return lines;
}

static char *page_of(const char *text)
{
	json_t *lines = read_text(text, strlen(text));
	char *page = NULL;
	size_t size;
	FILE *out;

	if (!lines)
		return NULL;
	out = open_memstream(&page, &size);
	report_print(out, lines);
	fclose(out);
	json_decref(lines);
	return page;
}

static unsigned int times(const char *page, const char *text)
{
	unsigned int n = 0;

	for (; (page = strstr(page, text)); page++)
		n++;
	return n;
}

static void has(const char *page, const char *series, const char *values)
{
	char text[256];

	snprintf(text, sizeof(text), "<g data-series=\"%s\" data-times=\"0 2 4\" data-values=\"%s\"",
		 series, values);
	ktap_ok(times(page, text) == 1, "%s: %s", series, values);
}

static void test_page(void)
{
	char *page = page_of(recording);

	if (!ktap_ok(page, "a page"))
		return;
	ktap_ok(!strncmp(page, "<!DOCTYPE html>", 15) && times(page, "</html>") == 1 &&
		times(page, "<svg ") == times(page, "</svg>") &&
		times(page, "<g ") == times(page, "</g>") && !times(page, "src=") &&
		!times(page, "href="), "whole, and needs nothing else");
	ktap_ok(times(page, "a&lt;b&amp;c") == 2 && times(page, "/dev/&lt;a&gt;") == 1 &&
		!times(page, "a<b"), "names are text");
	ktap_ok(times(page, "2023-11-14 22:13:20 UTC, 4.0 s in 3 looks"), "when");
	has(page, "reads/s", "- 100 -");	/* a counter that began anew */
	has(page, "read MB/s", "- 0 0");
	has(page, "read us, member 0", "150.5 - 99");	/* 0: no requests */
	has(page, "write us, member 1", "5 5 5");
	has(page, "share %, member 1", "75 50 0");
	has(page, "target %, member 0", "50 50 50");
	has(page, "completed/s", "- 2 3");
	has(page, "busy/s", "- 0.5 9.5");
	ktap_ok(!times(page, "\"rate/s\""), "a reason that did not occur is not drawn");
	ktap_ok(times(page, "<tr><td>busy</td><td>20</td></tr>") == 1 &&
		times(page, "<tr><td>rate</td><td>0</td></tr>") == 1, "all reasons are told");
	has(page, "member 1", "active failed failed");
	has(page, "used %, member 0", "25 25 25");
	has(page, "used %, member 1", "- - -");
	free(page);
}

static void test_readable(void)
{
	json_t *lines = read_text(recording, strlen(recording) - 40);

	ktap_ok(lines && json_array_size(lines) == 2, "a last line that was cut is left out");
	json_decref(lines);
	lines = read_text(recording, strlen(recording) / 3);
	ktap_ok(!lines, "one line is too little");
	json_decref(lines);
	lines = read_text("{}\n{}\n", 6);
	ktap_ok(!lines, "other JSON is refused");
	json_decref(lines);
	lines = read_text("hello\n", 6);
	ktap_ok(!lines, "other text too");
	json_decref(lines);
}

/* --- what can't be read --- */

/* A text, again and again until so many bytes are read, and then an error; 0: the end. */
struct source {
	const char *text;
	size_t len, at, most;
	int err;
};

static ssize_t give(void *cookie, char *buf, size_t size)
{
	struct source *s = cookie;
	size_t n;

	for (n = 0; n < size && s->at < s->most; n++)
		buf[n] = s->text[s->at++ % s->len];
	if (n || !s->err)
		return n;
	errno = s->err;
	return -1;
}

static char told[512];

/* What is said of it goes to @told. */
static json_t *read_source(struct source *s)
{
	FILE *in = fopencookie(s, "r", (cookie_io_functions_t){ .read = give });
	struct capture c;
	json_t *lines;

	capture_begin(&c, stderr);
	lines = record_read(in, "test");
	capture_end(&c, told, sizeof(told));
	told[strcspn(told, "\n")] = 0;
	fclose(in);
	return lines;
}

static void fails(const char *title, const char *text, size_t most, int err, const char *why)
{
	struct source s = { text, strlen(text), 0, most, err };
	json_t *lines = read_source(&s);

	ktap_ok(!lines && strstr(told, why), "%s: %s", title, told);
	ktap_ok(s.at <= 80ul << 20, "%s: not read for ever", title);
	json_decref(lines);
}

static void test_unreadable(void)
{
	size_t len = strlen(recording);

	fails("at a line's end", recording, len, EIO, strerror(EIO));
	fails("amid a line", recording, len - 40, EIO, strerror(EIO));
	fails("at once", recording, 0, EISDIR, strerror(EISDIR));
	fails("one line without end", "x", SIZE_MAX, 0, "line 1 is too long");
	fails("blanks without end", " ", SIZE_MAX, 0, "line 1 is too long");
}

static void test_open(void)
{
	char name[KTAP_NAME], path[KTAP_NAME + 8];
	FILE *f;

	if (!mkdtemp(ktap_name(name, "/tmp")))
		return;
	ktap_ok(!record_open(name), "a directory is no recording");
	ktap_ok(!record_open("/dev/zero"), "neither is a device");
	snprintf(path, sizeof(path), "%s/fifo", name);
	if (!mkfifo(path, 0600) && !fork()) {
		f = fopen(path, "w");
		_exit(!f);
	}
	f = record_open(path);
	ktap_ok(f, "a FIFO may be one");
	if (f)
		fclose(f);
	unlink(path);
	rmdir(name);
}

/* Members that come, values that are missing or of another type. */
static void test_odd(void)
{
	static const char odd[] = "{\"at\":0,\"devices\":[]}\n"
		"{\"at\":0,\"devices\":[{\"state\":7,\"share\":\"x\"},null]}\n"
		"{\"at\":1e9,\"not_migrated\":{\"x\":\"y\",\"z\":1e300},\"devices\":[{},{\"read_us\":1e300}]}\n";
	char *page = page_of(odd);

	ktap_ok(page && times(page, "<svg ") == times(page, "</svg>"), "odd ones do no harm");
	free(page);
}

/* Times that can't be are not converted, which would be undefined. */
static void test_times(void)
{
	static const char * const times_of[] = { "1e30", "-1e30", "1e308", "\"x\"", "null" };
	char text[128], *page;
	unsigned int i;

	for (i = 0; i < sizeof(times_of) / sizeof(*times_of); i++) {
		snprintf(text, sizeof(text),
			 "{\"at\":0,\"time\":%s,\"devices\":[]}\n{\"at\":1,\"devices\":[]}\n",
			 times_of[i]);
		page = page_of(text);
		ktap_ok(page && times(page, "<p>From -, 1.0 s in 2 looks"), "begun at %s",
			times_of[i]);
		free(page);
	}
}

int main(void)
{
	ktap_begin();
	test_page();
	test_readable();
	test_unreadable();
	test_open();
	test_odd();
	test_times();
	return ktap_end();
}
