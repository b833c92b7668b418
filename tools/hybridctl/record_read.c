// SPDX-License-Identifier: GPL-2.0-only
/* Reading a recording; see record.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "msg.h"
#include "record.h"
#include "status.h"

/* Bytes of a line: one with each of a large volume's extents in a lost range of its own is less. */
#define LINE_MOST	(64u << 20)
#define LINE_FIRST	4096u

/* One line at a time. */
struct reader {
	FILE *in;
	const char *path;
	char *text;
	size_t len, size;
	size_t nr;	/* of this line */
};

/* Others have no end, or do something when they are read. */
FILE *record_open(const char *path)
{
	struct stat st;
	FILE *f = NULL;

	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)) {
		fail("%s: %s", path, S_ISDIR(st.st_mode) ? strerror(EISDIR) :
		     "neither a file nor a FIFO, as recordings are");
		return NULL;
	}
	f = fopen(path, "re");
	if (!f)
		fail("%s: %s", path, strerror(errno));
	return f;
}

static void put(struct reader *r, int c)
{
	if (r->len == r->size) {
		r->size = r->size ? 2 * r->size : LINE_FIRST;
		r->text = xrealloc(r->text, r->size);
	}
	r->text[r->len++] = (char)c;
}

/* With the newline, if there is one: 1; at the end 0; -1 with the reason printed. */
static int next_line(struct reader *r)
{
	int c = 0;

	r->nr++;
	r->len = 0;
	errno = 0;
	while (c != '\n' && r->len < LINE_MOST && (c = getc_unlocked(r->in)) != EOF)
		put(r, c);
	if (c == EOF && ferror(r->in)) {
		fail("%s: line %zu can't be read: %s", r->path, r->nr, strerror(errno));
		return -1;
	}
	if (r->len == LINE_MOST && c != '\n') {
		fail("%s: line %zu is too long for one of a recording", r->path, r->nr);
		return -1;
	}
	return r->len > 0;
}

static bool is_line(const json_t *line, double *at)
{
	const json_t *when = json_object_get(line, "at");
	const json_t *devices = json_object_get(line, "devices");

	if (!json_is_number(when) || json_number_value(when) < *at ||
	    !json_is_array(devices) || json_array_size(devices) > STATUS_MAX_DEVS)
		return false;
	*at = json_number_value(when);
	return true;
}

/* Likewise; what was written last before a recording was cut off is the end, too. */
static int take_line(struct reader *r, json_t *all, double *at)
{
	json_error_t error = { .text = "" };
	int more = next_line(r);
	json_t *line;

	if (more <= 0)
		return more;
	line = json_loadb(r->text, r->len, 0, &error);
	if (!line && json_error_code(&error) == json_error_out_of_memory) {
		fail("%s: line %zu: out of memory", r->path, r->nr);
		return -1;
	}
	if (!line && r->text[r->len - 1] != '\n') {
		warn("%s: line %zu was cut, and is left out", r->path, r->nr);
		return 0;
	}
	if (!is_line(line, at)) {
		fail("%s: line %zu is not one of a recording", r->path, r->nr);
		json_decref(line);
		return -1;
	}
	if (json_array_append_new(all, line)) {
		fail("%s: line %zu: out of memory", r->path, r->nr);
		return -1;
	}
	return 1;
}

json_t *record_read(FILE *in, const char *path)
{
	struct reader r = { .in = in, .path = path };
	json_t *all = json_array();
	double at = 0;
	int more;

	while ((more = take_line(&r, all, &at)) > 0)
		;
	free(r.text);
	if (!more && json_array_size(all) < 2) {
		fail("%s: at least two lines of a recording are needed", path);
		more = -1;
	}
	if (!more)
		return all;
	json_decref(all);
	return NULL;
}
