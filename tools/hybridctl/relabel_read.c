// SPDX-License-Identifier: GPL-2.0-only
/* What a dump says of labels; see relabel.h. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "msg.h"
#include "relabel.h"

#define BLOCK_SECTORS	(EK_BLOCK_SIZE / SECTOR_SIZE)

static int bad(unsigned long line, const char *what)
{
	return fail("line %lu: %s", line, what);
}

/* The last one: what comes before it may have anything in it, what comes after it has not. */
static const char *last(const char *text, const char *end, const char *word)
{
	size_t len = strlen(word);
	const char *at;

	for (at = end - len; at >= text; at--)
		if (!strncmp(at, word, len))
			return at;
	return NULL;
}

/*
 * Does @text go on like that, as dump wrote it?  Half of a number is a number, too: where a dump
 * was cut short an area may seem to be smaller than it is.
 */
__attribute__((format(printf, 2, 3)))
static bool begins(const char *text, const char *fmt, ...)
{
	va_list args;
	char *begin;
	bool does;

	va_start(args, fmt);
	if (vasprintf(&begin, fmt, args) < 0)
		no_memory();
	va_end(args);
	does = !strncmp(text, begin, strlen(begin));
	free(begin);
	return does;
}

/* A name ends where the last word begins that comes after it. */
static bool take_name(char *name, const char *text, const char *end)
{
	const char *from = strstr(text, " name ");
	size_t len;

	if (!from || from + 6 >= end)
		return false;
	from += 6;
	len = end - from;
	if (len >= EK_NAME_SIZE)
		return false;
	memcpy(name, from, len);
	name[len] = 0;
	return true;
}

static int take_pool(struct dumped_labels *d, const char *text, unsigned long line)
{
	const char *at = last(text, text + strlen(text), " extent_sectors ");
	unsigned long long sectors, members, metas;
	struct ek_label_info *p = &d->pool;
	char uuid[40], again[UUID_TEXT];

	if (p->nr_members || !at || sscanf(text, "pool %39s", uuid) != 1 ||
	    sscanf(at, " extent_sectors %llu members %llu metadata %llu", &sectors, &members,
		   &metas) != 3 ||
	    uuid_parse(uuid, p->pool_uuid) || !take_name(p->name, text, at) ||
	    sectors > EK_MAX_EXTENT_SECTORS || !members || members > EK_MAX_MEMBERS || !metas ||
	    metas > EK_MAX_META ||
	    !begins(text, "pool %s name %s extent_sectors %llu members %llu metadata %llu",
		    uuid_text(again, p->pool_uuid), p->name, sectors, members, metas))
		return bad(line, "not a pool, or a second one");
	p->extent_sectors = sectors;
	p->nr_members = members;
	p->nr_meta = metas;
	return EXIT_OK;
}

static bool take_role(struct ek_label_info *info, const char *text, char *uuid)
{
	unsigned long long index;

	if (sscanf(text, "label %39s role metadata area %llu ", uuid, &index) == 2)
		info->role = EK_ROLE_META;
	else if (sscanf(text, "label %39s role member %llu ", uuid, &index) == 2)
		info->role = EK_ROLE_MEMBER;
	else
		return false;
	info->index = index < RELABEL_MAX ? index : RELABEL_MAX;
	return true;
}

static bool take_place(struct ek_label_info *info, const char *at)
{
	unsigned long long start, sectors;

	if (sscanf(at, " start %llu sectors %llu ", &start, &sectors) != 2 ||
	    start % BLOCK_SECTORS || sectors % BLOCK_SECTORS || sectors < 2 * BLOCK_SECTORS ||
	    start > INT64_MAX / SECTOR_SIZE || sectors > INT64_MAX / SECTOR_SIZE - start)
		return false;
	info->area_start = start;
	info->area_sectors = sectors;
	return true;
}

/* As whoever reads it will judge. */
static bool is_valid(const struct ek_label_info *info)
{
	struct ek_label_info again;
	struct ek_label label;

	ek_label_encode(info, &label);
	return !ek_label_decode(&label, &again);
}

static bool fits(const struct dumped_labels *d, const struct dumped_label *l)
{
	const struct ek_label_info *a = &l->info, *b;
	unsigned int i;

	for (i = 0; i < d->nr; i++) {
		b = &d->label[i].info;
		if (b->role == a->role && b->index == a->index)
			return false;
		if (!strcmp(d->label[i].device, l->device) &&
		    a->area_start < b->area_start + b->area_sectors &&
		    b->area_start < a->area_start + a->area_sectors)
			return false;
	}
	return true;
}

static bool is_written(const struct dumped_label *l, const char *text)
{
	char role[AREA_TEXT], uuid[UUID_TEXT];

	return begins(text, "label %s role %s device %s start %llu sectors %llu label ",
		      uuid_text(uuid, l->info.area_uuid),
		      area_text(role, l->info.role, l->info.index), l->device,
		      (unsigned long long)l->info.area_start,
		      (unsigned long long)l->info.area_sectors);
}

static int take_label(struct dumped_labels *d, const char *text, unsigned long line)
{
	const char *sectors = last(text, text + strlen(text), " sectors ");
	const char *start = sectors ? last(text, sectors, " start ") : NULL;
	const char *device = strstr(text, " device ");
	struct dumped_label l = { .info = d->pool };
	char uuid[40];

	if (!d->pool.nr_members || d->nr == RELABEL_MAX || !start || !device || device >= start ||
	    !take_role(&l.info, text, uuid) || uuid_parse(uuid, l.info.area_uuid) ||
	    !take_place(&l.info, start) || !is_valid(&l.info))
		return bad(line, "not a label that the pool could have");
	device += strlen(" device ");
	l.device = device < start ? strndup(device, start - device) : strdup("");
	if (!l.device)
		no_memory();
	if (!is_written(&l, text) || !fits(d, &l)) {
		free(l.device);
		return bad(line, "a label that was cut off, or that or its place is there twice");
	}
	d->label[d->nr++] = l;
	return EXIT_OK;
}

static int take_member(struct dumped_labels *d, const char *text, unsigned long line)
{
	unsigned long long i, extents, state;
	char uuid[40], again[UUID_TEXT];

	if (sscanf(text, "member %llu extents %llu state %llu uuid %39s", &i, &extents, &state,
		   uuid) != 4 ||
	    i >= EK_MAX_MEMBERS || d->listed >> i & 1 || uuid_parse(uuid, d->member[i]) ||
	    !begins(text, "member %llu extents %llu state %llu uuid %s", i, extents, state,
		    uuid_text(again, d->member[i])))
		return bad(line, "not a member, or one that is there twice");
	d->listed |= 1u << i;
	if (state != EK_MEMBER_REMOVED)
		d->members |= 1u << i;
	return EXIT_OK;
}

static int take(struct dumped_labels *d, const char *text, unsigned long line)
{
	if (!strncmp(text, "pool ", 5))
		return take_pool(d, text, line);
	if (!strncmp(text, "label ", 6))
		return take_label(d, text, line);
	if (!strncmp(text, "member ", 7))
		return take_member(d, text, line);
	return EXIT_OK;
}

int dumped_labels_read(struct dumped_labels *d, FILE *dump)
{
	unsigned long line = 0;
	size_t size = 0;
	char *text = NULL;
	int err = EXIT_OK;

	memset(d, 0, sizeof(*d));
	while (!err && getline(&text, &size, dump) >= 0) {
		text[strcspn(text, "\n")] = 0;
		err = take(d, text, ++line);
	}
	free(text);
	if (!err && !d->nr)
		err = fail("the dump has no labels");
	if (err)
		dumped_labels_free(d);
	return err;
}

void dumped_labels_free(struct dumped_labels *d)
{
	while (d->nr)
		free(d->label[--d->nr].device);
}

bool dumped_labels_together(const struct dumped_labels *d, unsigned int i, unsigned int k)
{
	return !strcmp(d->label[i].device, d->label[k].device);
}

uint64_t dumped_labels_end(const struct dumped_labels *d, unsigned int i)
{
	const struct ek_label_info *info;
	uint64_t end = 0;
	unsigned int k;

	for (k = 0; k < d->nr; k++) {
		info = &d->label[k].info;
		if (dumped_labels_together(d, i, k) && info->area_start + info->area_sectors > end)
			end = info->area_start + info->area_sectors;
	}
	return end;
}
