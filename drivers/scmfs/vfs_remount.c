// SPDX-License-Identifier: GPL-2.0-only
/*
 * Becoming read-only, and writable again, while it is mounted.
 *
 * One that has become read-only says on the media that it was closed: a cut leaves nothing to
 * recover, and a copy can be mounted at once (open.c has what a cut between the stores leaves).
 *
 *	mount -o remount,ro		others
 *	VFS: nothing is open to be
 *	written to, or has no name	write access: EROFS
 *	collecting ends			asks for it: EROFS
 *	room ahead is given back,
 *	times of lazytime are stored
 *	writable: false			eviction, a first mapping: done, or store nothing
 *	scmfs_make_read_only(): clean	bad memory is told: waits for bad_lock
 *	the device beneath flushes
 *	VFS: SB_RDONLY
 *
 *	mount -o remount,rw
 *	scmfs_make_writable(): in use
 *	the device beneath flushes
 *	writable: true			eviction, a first mapping: may store
 *	VFS: no SB_RDONLY		write access
 *
 * Not so when it is forced, by an emergency's remount: those write on who have files open. It stays
 * in use on the media then, and writable, until it is unmounted.
 */
#include <linux/fs.h>
#include <linux/fs_context.h>

#include "vfs.h"

/**
 * sfs_try_begin_store - somebody stores of whom VFS doesn't know that he writes
 * @s: mounted
 *
 * Nobody is waited for, so it may be reclaim that asks.
 * Return: it may be; sfs_end_store() follows.
 */
bool sfs_try_begin_store(struct sfs_sb *s)
{
	if (!down_read_trylock(&s->storing))
		return false;
	if (READ_ONCE(s->writable))
		return true;
	up_read(&s->storing);
	return false;
}

/**
 * sfs_end_store - it is done
 * @s: sfs_try_begin_store() has returned true
 */
void sfs_end_store(struct sfs_sb *s)
{
	up_read(&s->storing);
}

/* Bad memory that is told meanwhile changes the maps in RAM. */
static void sfs_mark_closed(struct sfs_sb *s)
{
	mutex_lock(&s->bad_lock);
	scmfs_make_read_only(s->fs);
	mutex_unlock(&s->bad_lock);
}

/**
 * sfs_make_writable - it may be changed from now on
 * @s: mounted
 * @fc: a remount's, with its root
 *
 * Return: 0 or a negative error number: it is read-only.
 */
int sfs_make_writable(struct sfs_sb *s, struct fs_context *fc)
{
	const char *reason;
	int err;

	if (s->shut)
		return invalf(fc, "scmfs: it was shut down: unmount it and mount it again");
	err = scmfs_make_writable(s->fs, &reason);
	if (err) {
		errorf(fc, "scmfs: can't become writable: %s", reason);
		return err;
	}
	err = sfs_settle(fc->root->d_sb);
	if (err) {
		sfs_mark_closed(s);
		errorf(fc, "scmfs: can't become writable: its device can't flush");
		return err;
	}
	WRITE_ONCE(s->writable, true);
	/* pairs with sfs_tell_info(), which looks at the log that has been opened */
	smp_store_release(&s->was_writable, true);
	return 0;
}

/* Nobody begins to store after this, and who was at it is done. */
static void sfs_stop_stores(struct sfs_sb *s)
{
	down_write(&s->storing);
	WRITE_ONCE(s->writable, false);
	up_write(&s->storing);
}

/* Return: 0 or a negative error number: it is in use, as it was. */
static int sfs_make_read_only(struct sfs_sb *s, struct super_block *sb)
{
	const char *reason;
	int err;

	sfs_stop_stores(s);
	sfs_mark_closed(s);
	err = sfs_settle(sb);
	if (!err || READ_ONCE(s->shut))
		return err;
	if (!scmfs_make_writable(s->fs, &reason))
		WRITE_ONCE(s->writable, true);
	return err;
}

/**
 * sfs_end_writing - it becomes read-only, or is
 * @s: mounted
 * @sb: likewise
 * @forced: whoever has files open writes on: what they are at work on is passed by
 *
 * Nobody else writes any more, as VFS has seen to, nor does anything in the background after this.
 * Room ahead would stay in files that nobody may ever look at again, for lack of room or otherwise.
 *
 * Return: 0 or a negative error number: it stays writable.
 */
int sfs_end_writing(struct sfs_sb *s, struct super_block *sb, bool forced)
{
	int err;

	sfs_gc_forbid(s);
	if (sb_rdonly(sb) || !READ_ONCE(s->writable))
		return 0;
	if (!forced)
		sfs_trim_quiet(sb);
	else if (sfs_make_room(sb, NULL))
		sfs_made_room(sb);
	err = sync_filesystem(sb);
	if (forced)
		return 0;
	if (!err)
		err = sfs_make_read_only(s, sb);
	if (err && !READ_ONCE(s->shut))
		sfs_gc_allow(s, sb);
	return err;
}
