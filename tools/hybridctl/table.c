// SPDX-License-Identifier: GPL-2.0-only
/* The hybrid target's table line, both ways. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "table.h"
#include "words.h"

static void put_areas(FILE *f, const struct table_area *area, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		fprintf(f, " %s %llu", area[i].dev, (unsigned long long)area[i].start);
}

char *table_build(const struct table *t)
{
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return xstrdup("");
	fprintf(f, "%u", t->nr_meta);
	put_areas(f, t->meta, t->nr_meta);
	fprintf(f, " %llu %u", (unsigned long long)t->extent_sectors, t->nr_devs);
	put_areas(f, t->dev, t->nr_devs);
	fprintf(f, " %s %s", t->features, t->policy);
	fclose(f);
	return text;
}

static void take_areas(struct words *w, struct table_area *area, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr && !w->bad; i++) {
		area[i].dev = words_take(w, "device");
		area[i].start = words_u64(w, "start sector", UINT64_MAX >> 9);
		if (area[i].start & 7)
			words_bad(w, "start sector");
	}
}

/* Take "<count> <word>..." and return it in one piece. */
static char *take_counted(struct words *w, const char *before, const char *what)
{
	char *whole = xasprintf("%s%s", before, words_rest(w));
	uint64_t i, nr = words_u64(w, what, 1024);
	size_t len;

	for (i = 0; i < nr && !w->bad; i++)
		words_take(w, what);
	if (w->bad)
		return whole;
	len = strlen(whole) - strlen(words_rest(w));
	if (*words_rest(w))
		len--;
	whole[len] = 0;
	return whole;
}

bool table_parse(const char *params, struct table *t, char *why, unsigned long why_size)
{
	struct words w;
	char *policy;

	memset(t, 0, sizeof(*t));
	t->text = xstrdup(params);
	words_init(&w, t->text);
	t->nr_meta = words_u64(&w, "number of metadata areas", TABLE_MAX_META);
	take_areas(&w, t->meta, t->nr_meta);
	t->extent_sectors = words_u64(&w, "extent size", 8192);
	t->nr_devs = words_u64(&w, "number of devices", TABLE_MAX_DEVS);
	take_areas(&w, t->dev, t->nr_devs);
	t->features = take_counted(&w, "", "features");
	policy = xasprintf("%s ", words_take(&w, "policy"));
	t->policy = take_counted(&w, policy, "policy arguments");
	free(policy);
	if (words_done(&w))
		return true;
	snprintf(why, why_size, "%s", w.why);
	table_free(t);
	return false;
}

void table_free(struct table *t)
{
	free((char *)t->features);
	free((char *)t->policy);
	free(t->text);
	memset(t, 0, sizeof(*t));
}

static bool good_setting(const char *word)
{
	const char *eq = strchr(word, '=');

	return eq && eq != word && eq[1] && !strpbrk(word, " \t\n") && !strchr(eq + 1, '=');
}

char *table_policy(const char *policy, char * const *settings, unsigned int nr,
		   const char **bad)
{
	char *text = xasprintf("%s %u", policy, 2 * nr), *longer, *eq;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!good_setting(settings[i])) {
			*bad = settings[i];
			free(text);
			return NULL;
		}
		longer = xasprintf("%s %s", text, settings[i]);
		eq = strrchr(longer, '=');
		*eq = ' ';
		free(text);
		text = longer;
	}
	return text;
}

/* "FIRST+COUNT[/STRIDE*TIMES]:MEMBER,..." with the members changed; NULL: none is @from's. */
static char *moved_pins(const char *pins, unsigned int from, int to)
{
	char *text = xstrdup(pins), *rest = text, *pin, *colon, *new = xstrdup(""), *longer;
	const char *comma = "";
	bool any = false;

	while ((pin = strsep(&rest, ","))) {
		bool is;

		colon = strrchr(pin, ':');
		is = colon && strtoul(colon + 1, NULL, 10) == from;
		any |= is;
		if (is && to < 0)
			continue;
		if (is)
			*colon = 0;
		longer = is ? xasprintf("%s%s%s:%d", new, comma, pin, to) :
			      xasprintf("%s%s%s", new, comma, pin);
		free(new);
		new = longer;
		comma = ",";
	}
	free(text);
	if (any)
		return *new ? new : (free(new), xstrdup("none"));
	free(new);
	return NULL;
}

bool table_move_pins(struct table *t, unsigned int from, int to)
{
	static const char key[] = " pin ";
	const char *at = strstr(t->policy, key), *end;
	char *pins, *moved, *policy;

	if (!at)
		return false;
	at += strlen(key);
	end = at + strcspn(at, " ");
	pins = xasprintf("%.*s", (int)(end - at), at);
	moved = moved_pins(pins, from, to);
	free(pins);
	if (!moved)
		return false;
	policy = xasprintf("%.*s%s%s", (int)(at - t->policy), t->policy, moved, end);
	free(moved);
	free((char *)t->policy);
	t->policy = policy;
	return true;
}
