// SPDX-License-Identifier: GPL-2.0-only
/* The labels' part of the check. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_internal.h"

static void check_label(struct check *c, const struct pool_area *a)
{
	char text[AREA_TEXT];

	area_text(text, a->area.info.role, a->area.info.index);
	if (a->area.head_err)
		findings_add(&c->errors, "%s: label of %s is %s; its copy is good", a->path, text,
			     area_label_error(a->area.head_err));
	if (a->area.copy_err)
		findings_add(&c->errors, "%s: the label's copy of %s is %s", a->path, text,
			     area_label_error(a->area.copy_err));
	if (a->area.differ)
		findings_add(&c->errors, "%s: label of %s and its copy differ", a->path, text);
}

void check_labels(struct check *c)
{
	const struct pool *p = c->pool;
	char *missing = pool_missing(p);
	unsigned int i;

	if (p->conflict)
		findings_add(&c->errors, "%s", p->conflict);
	if (missing)
		findings_add(&c->warnings, "not given, so not checked: %s", missing);
	free(missing);
	for (i = 0; i < p->nr_meta; i++)
		if (p->meta[i].there)
			check_label(c, &p->meta[i]);
	for (i = 0; i < p->nr_members; i++)
		if (p->member[i].there)
			check_label(c, &p->member[i]);
}

static void check_member(struct check *c, const struct ek_super *sb, unsigned int i)
{
	const struct pool_area *a = &c->pool->member[i];
	uint64_t have, need = le32_to_cpu(sb->member[i].nr_extents);
	uint32_t state = le32_to_cpu(sb->member[i].state);

	if (state == EK_MEMBER_DRAINING)
		findings_add(&c->warnings, "member %u is being evacuated", i);
	if (!a->there)
		return;
	have = ek_member_extents(a->area.info.area_sectors, c->pool->extent_sectors);
	if (have < need)
		findings_add(&c->errors,
			     "%s: member %u holds %llu extents, the superblock says %llu",
			     a->path, i, (unsigned long long)have, (unsigned long long)need);
	if (memcmp(a->area.info.area_uuid, sb->member[i].uuid, EK_UUID_SIZE))
		findings_add(&c->errors, "%s: not the member %u that the superblock names",
			     a->path, i);
}

bool check_super(struct check *c, const struct ek_super *sb)
{
	const struct pool *p = c->pool;
	uint32_t flags = le32_to_cpu(sb->flags);
	unsigned int i;

	c->generation = le64_to_cpu(sb->generation);
	if (memcmp(sb->pool_uuid, p->uuid, EK_UUID_SIZE) ||
	    le32_to_cpu(sb->nr_members) != p->nr_members ||
	    le32_to_cpu(sb->nr_meta) != p->nr_meta ||
	    le32_to_cpu(sb->extent_sectors) != p->extent_sectors) {
		findings_add(&c->errors, "superblock and labels are of different pools or shapes");
		return false;
	}
	if (flags & EK_SUPER_NEEDS_CHECK)
		findings_add(&c->warnings, "the kernel marked the pool as needing a check");
	for (i = 0; i < p->nr_members; i++)
		check_member(c, sb, i);
	return true;
}
