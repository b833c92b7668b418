// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names that are in a directory more than once.
 *
 * All names of the directory are sorted, so that those alike are next to each other, whatever their
 * hashes are: who makes names may choose such that these are alike. Only names that are not alone
 * are remembered, in the order in which they lie there. The walk that follows comes by each of
 * them: the first that can stay does.
 */
#include <stdlib.h>

#include "check_internal.h"

/**
 * struct alike - a name that is in the directory more than once
 * @ent: where it is
 * @at: how many slots come before it
 * @first: the same for all that are alike
 */
struct alike {
	struct scmfs_dirent *ent;
	u64 at;
	u64 first;
};

static int by_name(const void *pa, const void *pb)
{
	const struct scmfs_dirent *a = ((const struct alike *)pa)->ent;
	const struct scmfs_dirent *b = ((const struct alike *)pb)->ent;

	if (a->hash != b->hash)
		return le32_to_cpu(a->hash) < le32_to_cpu(b->hash) ? -1 : 1;
	return a->len != b->len ? a->len - b->len : memcmp(a->name, b->name, a->len);
}

static int by_place(const void *pa, const void *pb)
{
	const struct alike *a = pa, *b = pb;

	return a->at < b->at ? -1 : a->at > b->at;
}

static int by_name_then_place(const void *pa, const void *pb)
{
	return by_name(pa, pb) ?: by_place(pa, pb);
}

/* At most: some may be damaged. */
static u64 count_heads(const struct run *run, struct scmfs_extent **place, u64 nr)
{
	u64 i, slot, heads = 0;

	for (i = 0; i < nr; i++) {
		struct scmfs_ext e = ext_of(place[i]);
		const struct scmfs_dirent *ents = scmfs_block(run->fs, e.block);

		for (slot = 0; slot < e.count * SCMFS_SLOTS_PER_BLOCK; slot++)
			heads += !!scmfs_read(&ents[slot].head);
	}
	return heads;
}

/* Names of a block, as the walk will come by them. Return: how many. */
static u64 names_of(struct scmfs_dirent *ents, u64 at, struct alike *to)
{
	u64 slot, slots, nr = 0;

	for (slot = 0; slot < SCMFS_SLOTS_PER_BLOCK; slot += max_t(u64, slots, 1)) {
		slots = scmfs_read(&ents[slot].head) ? slots_of(ents + slot, slot) : 0;
		if (slots)
			to[nr++] = (struct alike){ .ent = ents + slot, .at = at + slot };
	}
	return nr;
}

static u64 all_names(const struct run *run, struct scmfs_extent **place, u64 nr, struct alike *to)
{
	u64 i, block, names = 0, at = 0;

	for (i = 0; i < nr; i++) {
		struct scmfs_ext e = ext_of(place[i]);

		for (block = 0; block < e.count; block++, at += SCMFS_SLOTS_PER_BLOCK)
			names += names_of(scmfs_block(run->fs, e.block + block), at, to + names);
	}
	return names;
}

/* Of sorted ones keep those that are not alone. Return: how many. */
static u64 keep_alike(struct alike *name, u64 nr)
{
	u64 i, j, kept = 0, first;

	for (i = 0; i < nr; i = j) {
		for (j = i + 1; j < nr && !by_name(name + i, name + j); j++)
			;
		if (j == i + 1)
			continue;
		for (first = kept; i < j; i++) {
			name[kept] = name[i];
			name[kept++].first = first;
		}
	}
	return kept;
}

bool find_doubles(struct run *run, struct scmfs_extent **place, u64 nr, struct doubles *d)
{
	u64 names = count_heads(run, place, nr);

	memset(d, 0, sizeof(*d));
	if (names < 2)
		return true;
	d->name = kvmalloc_array(names, sizeof(*d->name), GFP_KERNEL);
	if (!d->name) {
		run->no_memory = true;
		return false;
	}
	names = all_names(run, place, nr, d->name);
	qsort(d->name, names, sizeof(*d->name), by_name_then_place);
	d->nr = keep_alike(d->name, names);
	if (!d->nr)
		return true;
	qsort(d->name, d->nr, sizeof(*d->name), by_place);
	d->stays = kvcalloc(d->nr, 1, GFP_KERNEL);
	if (d->stays)
		return true;
	run->no_memory = true;
	forget_doubles(d);
	return false;
}

void forget_doubles(struct doubles *d)
{
	kvfree(d->name);
	kvfree(d->stays);
}

bool is_double(struct doubles *d, const struct scmfs_dirent *ent, bool may_stay)
{
	const struct alike *name;

	if (d->next == d->nr || d->name[d->next].ent != ent)
		return false;
	name = d->name + d->next;
	d->next++;
	if (d->stays[name->first])
		return true;
	d->stays[name->first] = may_stay;
	return false;
}
