// SPDX-License-Identifier: GPL-2.0-only
/*
 * hybridctl's reader of recordings, and the page that is made of one: what is taken is a recording
 * when it is written again, and whatever texts are in it, none becomes a tag or an attribute.
 */
#include <string.h>

#include "fuzz.h"
#include "record.h"
#include "report.h"
#include "status.h"

#define DEPTH	16u

/* All that a page is made of, each between blanks. */
static const char tags[] =
	" html head meta title style body h1 h2 p table tr th td svg g text line circle polyline rect ";
static const char attributes[] =
	" lang charset id viewBox role x x1 x2 y y1 y2 cx cy r points width height fill stroke "
	"stroke-width text-anchor data-series data-times data-values ";

static bool listed(const char *list, const char *word, size_t len)
{
	char text[32] = " ";

	if (!len || len > sizeof(text) - 3)
		return false;
	memcpy(text + 1, word, len);
	strcpy(text + 1 + len, " ");
	return strstr(list, text);
}

static const char *entity(const char *at)
{
	static const char *const known[] = { "&lt;", "&gt;", "&amp;", "&quot;" };
	unsigned int i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(at, known[i], strlen(known[i])))
			return at + strlen(known[i]);
	MUST(0, "%.20s", at);
	return NULL;
}

/* A value in quotes, up to what follows it. */
static const char *value(const char *at)
{
	MUST(*at++ == '"');
	while (*at != '"') {
		MUST(*at && *at != '<' && *at != '>');
		at = *at == '&' ? entity(at) : at + 1;
	}
	return at + 1;
}

struct open_tags {
	const char *name[DEPTH];
	size_t len[DEPTH];
	unsigned int nr;
};

static const char *end_tag(const char *at, struct open_tags *open)
{
	MUST(open->nr--);
	MUST(!strncmp(at, open->name[open->nr], open->len[open->nr]));
	at += open->len[open->nr];
	MUST(*at == '>');
	return at + 1;
}

static const char *start_tag(const char *at, struct open_tags *open)
{
	size_t len = strcspn(at, " />"), word;
	const char *name = at;

	MUST(listed(tags, name, len), "%.20s", name);
	for (at += len; *at == ' '; at = value(at + word + 1)) {
		at++;
		word = strcspn(at, "=");
		MUST(listed(attributes, at, word), "%.20s", at);
	}
	if (*at == '/') {
		at++;
	} else if (strncmp(name, "meta", len)) {
		MUST(open->nr < DEPTH);
		open->name[open->nr] = name;
		open->len[open->nr++] = len;
	}
	MUST(*at == '>', "%.20s", at);
	return at + 1;
}

static void check_page(const char *at)
{
	static const char head[] = "<!DOCTYPE html>\n";
	struct open_tags open = { .nr = 0 };

	MUST(!strncmp(at, head, strlen(head)));
	for (at += strlen(head); *at;) {
		MUST(*at != '>');
		if (*at == '&')
			at = entity(at);
		else if (*at != '<')
			at++;
		else
			at = at[1] == '/' ? end_tag(at + 2, &open) : start_tag(at + 1, &open);
	}
	MUST(!open.nr);
}

static json_t *read_text(const char *text, size_t len)
{
	FILE *in = fmemopen((void *)text, len, "r");
	json_t *lines;

	MUST(in);
	lines = record_read(in, "recording");
	fclose(in);
	return lines;
}

static void check_lines(const json_t *lines)
{
	double at = 0, before = 0;
	const json_t *line;
	size_t i;

	MUST(json_array_size(lines) >= 2);
	json_array_foreach(lines, i, line) {
		MUST(json_unpack((json_t *)line, "{s:F}", "at", &at) == 0 && at >= before);
		MUST(json_is_array(json_object_get(line, "devices")));
		MUST(json_array_size(json_object_get(line, "devices")) <= STATUS_MAX_DEVS);
		before = at;
	}
}

/* As hybridctl writes a recording, but for digits, of which none may be lost here. */
static void check_again(const json_t *lines)
{
	const json_t *line;
	json_t *again;
	char *text;
	size_t len, i;
	FILE *out = open_memstream(&text, &len);

	json_array_foreach(lines, i, line) {
		MUST(!json_dumpf(line, out, JSON_COMPACT | JSON_REAL_PRECISION(17)));
		fputc('\n', out);
	}
	fclose(out);
	again = read_text(text, len);
	MUST(again && json_equal(again, lines));
	json_decref(again);
	free(text);
}

static void check_report(const json_t *lines)
{
	char *page;
	size_t len;
	FILE *out = open_memstream(&page, &len);

	report_print(out, lines);
	fclose(out);
	MUST(strlen(page) == len);
	check_page(page);
	free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *lines = read_text((const char *)data, size);

	if (!lines)
		return 0;
	check_lines(lines);
	check_again(lines);
	check_report(lines);
	json_decref(lines);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const text[] = {
		"{\"at\":0,\"devices\":[]}\n{\"at\":1.5,\"devices\":[]}\n",
		"{\"at\":0,\"devices\":[]}\n{\"at\":2,\"devices\":[]}\n{\"at\":4,\"dev",
		"{\"at\":0,\"devices\":[]}\n{\"at\":2,\"devices\":[]}\n{\"at\":1,\"devices\":[]}\n",
		"{\"name\":\"a<b>\",\"policy\":\"x\\\"&\",\"time\":1.7e9,\"errors\":3,\"at\":0,"
		"\"devices\":[{\"path\":\"/dev/<a>\",\"state\":\"active\",\"read_us\":3.5,"
		"\"share\":0.5,\"target\":-1,\"extents\":{\"used\":1,\"total\":4}}],"
		"\"not_migrated\":{\"cold\":1,\"a\\\" b=\\\"<c\":2},"
		"\"io\":{\"reads\":1,\"read_bytes\":512,\"writes\":0,\"write_bytes\":0}}\n"
		"{\"policy\":\"y\",\"at\":2,\"devices\":[{\"state\":\"fai<led\",\"read_us\":9e9},{}],"
		"\"not_migrated\":{\"cold\":9,\"a\\\" b=\\\"<c\":7},"
		"\"migrations\":{\"completed\":1,\"failed\":0,\"bytes\":9},"
		"\"io\":{\"reads\":9,\"read_bytes\":1024,\"writes\":2,\"write_bytes\":7}}\n",
		"{}\n{}\n", "[]\n", "{\"at\":0}\n", NULL,
	};
	static const unsigned int texts = sizeof(text) / sizeof(*text) - 1;

	if (nr == texts || nr == texts + 1)
		return fuzz_repeat(data, "{\"at\":0,\"devices\":[]}\n{\"at\":1,\"devices\":[{}", ",{}",
				   31 + nr - texts, "]}\n");
	return fuzz_text(nr, text, data);
}
