// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: memory for a resume
 *
 * While a pool is suspended its bios wait, and some of them may be what memory waits for to become
 * free: pages being swapped out to it, or dirty ones of a file system on it.  A resume that waits
 * for memory then waits for itself.  So what the resume of a table over a live pool needs is made
 * by the table's constructor, which runs while the table before it is in force, and hangs on the
 * table: a resume takes from there, one that fails leaves it there for the next try, and the
 * destructor frees what is left, of a table that never was resumed all of it.
 *
 *	policy, settings	parsed once; the first resume that succeeds takes them
 *	extent cache		its frame; what it keeps is got when there is something to keep
 *	a change of shape	space maps and counters of members that join, the longer map
 *
 * What can't be made before is what a pool takes that is not loaded: how long its journal and maps
 * are says the superblock, which a constructor must not read.  It is got under memalloc_noio, and
 * if there is none the resume fails with nothing loaded and nothing written that the next resume,
 * of this table or of the one before loaded again, would not do as well.  Nobody waits for that
 * memory who has written to the pool: nothing has gone through it yet, or it was read-only.
 *
 * A constructor may itself run while its pool is suspended, as when the table before is loaded once
 * more to go back to it.  It runs under memalloc_noio: it waits for memory that others free, but
 * for none that its pool's own bios would have to be done for.  The same goes for a message, for
 * which a resume waits where both want state_sem; a status gets its memory before it takes that.
 *
 * The exceptions, all that a resume or what it waits for may wait for memory with:
 *
 *	a pool that is not loaded	see above
 *	a table that saw no pool	it was loaded while the pool's first table was being
 *			resumed: its resume looks again and gets what is missing, or fails
 *	a message at work	policies, the frame of a cache, what "explain" and "counts" put
 *			together, a page of the map that they read
 *	the suspend before	its last checkpoint brings the pages into memory that the journal
 *			had entries for when the pool was loaded, if no checkpoint has yet: bios
 *			have ended then, those that come wait
 *
 * What a resume succeeded without is dropped by it: the same table wants no more another time.
 */
#include <linux/vmalloc.h>
#include "hybrid.h"

/**
 * hy_ready_policy - make the table's policy, which also judges its text
 * @t: the table, its members opened
 * @error: set to why not
 *
 * Context: constructor.
 * Return: 0, -EINVAL, -ENOMEM.
 */
int hy_ready_policy(struct hy_table *t, char **error)
{
	return hy_policy_parse(t->policy, t->nr_members, &t->ready.policy, &t->ready.set,
			       (const char **)error);
}

static int ready_member(struct hy_ready *ready, unsigned int i)
{
	u32 extents = ready->want.member_extents[i];
	struct ek_space *space = &ready->space[i];

	if (!ready->writes[i])
		ready->writes[i] = alloc_percpu(u64);
	if (!ready->mon[i])
		ready->mon[i] = ek_rtmon_create();
	if (!ready->writes[i] || !ready->mon[i])
		return -ENOMEM;
	return space->used ? 0 : ek_space_init(space, extents);
}

/**
 * hy_ready_shape - get what @ready->want takes
 * @ready: what is there already stays: a table wants the same each time
 *
 * Context: constructor, or a resume for which that did not see what there is.
 * Return: 0, -ENOMEM.
 */
int hy_ready_shape(struct hy_ready *ready)
{
	unsigned long joining = ready->want.joining;
	unsigned int i;
	int r = 0;

	for_each_set_bit(i, &joining, EK_MAX_MEMBERS) {
		r = ready_member(ready, i);
		if (r)
			return r;
	}
	if (ready->grows && !ready->pages)
		r = ek_map_grow(ready->want.nr_extents, &ready->pages);
	return r;
}

/**
 * hy_ready_all - get what the first resume of a table takes
 * @t: the table; its pool has been found and agrees
 *
 * Context: constructor; holds no lock that a resume waits for.
 * Return: 0, -ENOMEM.
 */
int hy_ready_all(struct hy_table *t)
{
	struct hy_ready *ready = &t->ready;

	if (ready->set.cache_extents) {
		ready->cache = hy_cache_make(t->pool);
		if (!ready->cache)
			return -ENOMEM;
	}
	return hy_ready_shape(ready);
}

/* What was for a change of shape: it is done.  A removed member's maps may be among it. */
void hy_ready_drop_shape(struct hy_ready *ready)
{
	unsigned int i;

	for (i = 0; i < EK_MAX_MEMBERS; i++) {
		free_percpu(ready->writes[i]);
		ready->writes[i] = NULL;
		if (ready->mon[i])
			ek_rtmon_destroy(ready->mon[i]);
		ready->mon[i] = NULL;
		ek_space_destroy(&ready->space[i]);
	}
	kvfree(ready->pages);
	ready->pages = NULL;
}

/* What no resume has taken.  Context: sleeps. */
void hy_ready_drop(struct hy_table *t)
{
	hy_ready_drop_shape(&t->ready);
	hy_policy_destroy(t->ready.policy);
	hy_cache_unmake(t->ready.cache);
}
