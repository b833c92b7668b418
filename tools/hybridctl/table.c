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

/* The policy's text for a key; NULL: it has none. */
static const char *find_value(const struct table *t, const char *key, int *len)
{
	char *word = xasprintf(" %s ", key);
	const char *at = strstr(t->policy, word);

	if (at) {
		at += strlen(word);
		*len = strcspn(at, " ");
	}
	free(word);
	return at;
}

static void put_value(struct table *t, const char *at, int len, const char *value)
{
	char *policy = xasprintf("%.*s%s%s", (int)(at - t->policy), t->policy, value, at + len);

	free((char *)t->policy);
	t->policy = policy;
}

bool table_move_pins(struct table *t, unsigned int from, int to)
{
	char *pins, *moved;
	const char *at;
	int len;

	at = find_value(t, "pin", &len);
	if (!at)
		return false;
	pins = xasprintf("%.*s", len, at);
	moved = moved_pins(pins, from, to);
	free(pins);
	if (!moved)
		return false;
	put_value(t, at, len, moved);
	free(moved);
	return true;
}

bool table_move_fast(struct table *t, unsigned int from, int to)
{
	const char *at;
	char *value;
	int len;

	at = find_value(t, "fast", &len);
	if (!at || !strncmp(at, "auto", len) || strtoul(at, NULL, 10) != from)
		return false;
	value = to < 0 ? xstrdup("auto") : xasprintf("%d", to);
	put_value(t, at, len, value);
	free(value);
	return true;
}

/* A share for each member, as the text has them; the table's may be more, which have none. */
struct shares {
	char *text;
	const char *of[TABLE_MAX_DEVS];
	unsigned int nr;
	const char *at;		/* in the policy's text; NULL: it has no shares */
	int len;
};

static void take_shares(struct shares *s, const struct table *t)
{
	char *rest, *one;

	memset(s, 0, sizeof(*s));
	s->at = find_value(t, "shares", &s->len);
	if (!s->at)
		return;
	s->text = xasprintf("%.*s", s->len, s->at);
	rest = s->text;
	while (s->nr < TABLE_MAX_DEVS && (one = strsep(&rest, ",")))
		s->of[s->nr++] = one;
}

static void add_shares(struct shares *s, unsigned int nr)
{
	while (s->nr < nr && s->nr < TABLE_MAX_DEVS)
		s->of[s->nr++] = "0";
}

static void put_shares(struct shares *s, struct table *t)
{
	char *text = xstrdup(""), *longer;
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		longer = xasprintf("%s%s%s", text, i ? "," : "", s->of[i]);
		free(text);
		text = longer;
	}
	put_value(t, s->at, s->len, text);
	free(text);
}

bool table_swap_shares(struct table *t, unsigned int a, unsigned int b)
{
	const char *was;
	struct shares s;

	take_shares(&s, t);
	if (!s.at)
		return false;
	add_shares(&s, (a > b ? a : b) + 1);
	was = s.of[a];
	s.of[a] = s.of[b];
	s.of[b] = was;
	put_shares(&s, t);
	free(s.text);
	return true;
}

/* As the text has them; -1: it has no shares. */
static double share_of(const struct table *t, unsigned int i)
{
	double share = -1;
	struct shares s;

	take_shares(&s, t);
	if (s.at)
		share = i < s.nr ? strtod(s.of[i], NULL) : 0;
	free(s.text);
	return share;
}

/* The text has to have one for each member of the table. */
static void complete_shares(struct table *t)
{
	struct shares s;

	take_shares(&s, t);
	if (s.at) {
		add_shares(&s, t->nr_devs);
		put_shares(&s, t);
	}
	free(s.text);
}

bool table_has_share(const struct table *t, unsigned int i)
{
	return share_of(t, i) > 0;
}

unsigned int table_make_place(struct table *t, unsigned int i)
{
	unsigned int how = 0;

	table_move_pins(t, i, -1);
	if (table_move_fast(t, i, -1))
		how |= TABLE_FAST_IS_AUTO;
	complete_shares(t);
	if (share_of(t, i) == 0)
		how |= TABLE_HAS_NO_SHARE;
	return how;
}
