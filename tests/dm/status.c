// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dm.h"

struct reader {
	char *rest;
	const char *key;
	char *value;
	size_t len;
	int found;
};

static const char *word(struct reader *r)
{
	const char *w = r->rest ? strsep(&r->rest, " ") : NULL;

	return w ? w : "";
}

static void give(struct reader *r, const char *key, const char *value)
{
	if (r->found || strcmp(r->key, key))
		return;
	snprintf(r->value, r->len, "%s", value);
	r->found = 1;
}

static void field(struct reader *r, const char *key)
{
	give(r, key, word(r));
}

static void pair(struct reader *r, const char *first, const char *second)
{
	const char *both = word(r);
	size_t n = strcspn(both, "/");
	char half[64];

	snprintf(half, sizeof(half), "%.*s", (int)n, both);
	give(r, first, half);
	give(r, second, both[n] ? both + n + 1 : "");
}

static void member(struct reader *r, int i)
{
	static const char *const name[] = { "dev", "state", "used", "share", "target", "read_ns", "write_ns",
					    "read_p99_ns", "write_p99_ns", "inflight", "allocations" };
	char key[64], total[64];

	for (size_t k = 0; k < sizeof(name) / sizeof(*name); k++) {
		snprintf(key, sizeof(key), "dev.%d.%s", i, name[k]);
		snprintf(total, sizeof(total), "dev.%d.total", i);
		if (!strcmp(name[k], "used"))
			pair(r, key, total);
		else
			field(r, key);
	}
}

static void metadata(struct reader *r)
{
	char letters[8] = "";

	for (int n = atoi(word(r)); n > 0; n--)
		strncat(letters, word(r), 1);
	give(r, "meta", letters);
}

static void reasons(struct reader *r)
{
	char key[64];

	for (int n = atoi(word(r)); n > 0; n--) {
		snprintf(key, sizeof(key), "reason.%s", word(r));
		field(r, key);
	}
}

static void fields(struct reader *r, const char *const *names)
{
	while (*names)
		field(r, *names++);
}

int hybrid_field(const char *line, const char *key, char *value, size_t len)
{
	static const char *const migration[] = { "tokens", "direction", "started", "completed", "failed",
						 "bytes", "queued", NULL };
	static const char *const ends[] = { "flushes", "commits", "checkpoints", "errors", "policy", NULL };
	char copy[DM_LINE_ROOM];
	struct reader r = { .rest = copy, .key = key, .value = value, .len = len };
	const char *count;

	snprintf(copy, sizeof(copy), "%s", line);
	word(&r);
	word(&r);
	word(&r);
	field(&r, "mode");
	field(&r, "needs_check");
	word(&r);
	pair(&r, "mapped", "logical");
	field(&r, "journal");
	metadata(&r);
	count = word(&r);
	give(&r, "devs", count);
	for (int i = 0, n = atoi(count); i < n; i++)
		member(&r, i);
	fields(&r, migration);
	reasons(&r);
	fields(&r, ends);
	return r.found ? 0 : -1;
}
