// SPDX-License-Identifier: GPL-2.0-only
/*
 * Room that files have beyond their end (wu-2011 IV.B.3, IV.B.5): who appends finds it without an
 * allocation. It is given back when the inode leaves RAM, and all of it when the memory is full.
 *
 * Whose files these are is noted, as anybody who writes may be one of many who find the memory full
 * again and again: each of them looks at those alone that got some since the last one looked.
 */
#include <linux/fs.h>
#include <linux/sched/signal.h>

#include "vfs.h"

/*
 * Whoever walks over all inodes finds such, too, as are being made, or can't be read, the numbers
 * of which may be another one's. Only whole ones have the engine's, from the moment on at which
 * they are.
 */
static u64 sfs_whole_ino(const struct inode *inode)
{
	return READ_ONCE(sfs_node(inode)->ino);
}

/**
 * sfs_note_ahead - it may have blocks beyond its end that nobody reserved
 * @inode: locked, or not yet anybody's
 */
void sfs_note_ahead(struct inode *inode)
{
	struct sfs_sb *s = sfs_sb(inode->i_sb);
	struct sfs_inode *si = sfs_inode(inode);

	if (!list_empty_careful(&si->ahead))
		return;
	spin_lock(&s->ahead_lock);
	if (list_empty(&si->ahead))
		list_add_tail(&si->ahead, &s->ahead);
	spin_unlock(&s->ahead_lock);
}

/**
 * sfs_forget_ahead - it has none
 * @inode: locked, or nobody else's any more
 */
void sfs_forget_ahead(struct inode *inode)
{
	struct sfs_sb *s = sfs_sb(inode->i_sb);

	if (list_empty_careful(&sfs_inode(inode)->ahead))
		return;
	spin_lock(&s->ahead_lock);
	list_del_init(&sfs_inode(inode)->ahead);
	spin_unlock(&s->ahead_lock);
}

/**
 * sfs_has_room_ahead - has it blocks beyond its end that nobody reserved?
 * @inode: locked, its extents, too, or nobody else's any more
 *
 * Return: it has; no engine's inode has number 0.
 */
bool sfs_has_room_ahead(struct inode *inode)
{
	return S_ISREG(inode->i_mode) && scmfs_has_room_ahead(sfs_fs(inode), sfs_whole_ino(inode));
}

/**
 * sfs_trim - give back what a file has beyond its end, but for what was reserved
 * @inode: locked, its extents, too, or nobody else's any more
 *
 * Return: 1: there was some; 0: none; or a negative error number.
 */
int sfs_trim(struct inode *inode)
{
	bool some = sfs_has_room_ahead(inode);
	int err = some ? scmfs_trim(sfs_fs(inode), sfs_whole_ino(inode)) : 0;

	if (!err)
		sfs_forget_ahead(inode);
	return err ?: some;
}

static bool sfs_trim_locked(struct inode *inode)
{
	bool some;

	down_write(&sfs_inode(inode)->extents);
	some = sfs_trim(inode) > 0;
	up_write(&sfs_inode(inode)->extents);
	return some;
}

/* Those that somebody is at work on keep it. */
static bool sfs_trim_idle(struct inode *inode)
{
	bool some;

	if (!inode_trylock(inode))
		return false;
	some = sfs_trim_locked(inode);
	inode_unlock(inode);
	return some;
}

/**
 * sfs_trim_quiet - have all files give back what they have beyond their ends
 * @sb: the file system, to be frozen or read-only: nobody writes, and who reads is not in the way
 *
 * Context: process context.
 */
void sfs_trim_quiet(struct super_block *sb)
{
	struct inode *inode, *last = NULL;

	spin_lock(&sb->s_inode_list_lock);
	list_for_each_entry(inode, &sb->s_inodes, i_sb_list) {
		if (!S_ISREG(inode->i_mode) || !igrab(inode))
			continue;
		spin_unlock(&sb->s_inode_list_lock);
		iput(last);	/* which kept the place in the list */
		last = inode;
		sfs_trim_locked(inode);
		cond_resched();
		spin_lock(&sb->s_inode_list_lock);
	}
	spin_unlock(&sb->s_inode_list_lock);
	iput(last);
}

/* Of those in @todo that are in use, but @busy; the lock is held, and let go of meanwhile. */
static bool sfs_trim_list(struct sfs_sb *s, struct list_head *todo, const struct inode *busy)
{
	struct sfs_inode *si;
	bool some = false;

	while (!list_empty(todo) && !fatal_signal_pending(current)) {
		si = list_first_entry(todo, struct sfs_inode, ahead);
		list_move_tail(&si->ahead, &s->ahead);	/* where it stays if it keeps it */
		if (&si->vfs == busy || !igrab(&si->vfs))
			continue;
		spin_unlock(&s->ahead_lock);
		some |= sfs_trim_idle(&si->vfs);
		iput(&si->vfs);
		cond_resched();
		spin_lock(&s->ahead_lock);
	}
	return some;
}

/* Of all files that are noted but @busy; what another task got meanwhile counts, too. */
static bool sfs_trim_noted(struct sfs_sb *s, const struct inode *busy)
{
	u64 before = READ_ONCE(s->rooms_made);
	LIST_HEAD(todo);
	bool some;

	if (mutex_lock_killable(&s->making_room))
		return false;
	spin_lock(&s->ahead_lock);
	list_splice_init(&s->ahead, &todo);
	if (sfs_trim_list(s, &todo, busy))
		WRITE_ONCE(s->rooms_made, s->rooms_made + 1);
	list_splice(&todo, &s->ahead);
	spin_unlock(&s->ahead_lock);
	some = s->rooms_made != before;
	mutex_unlock(&s->making_room);
	return some;
}

/* Garbage collection, or who was before, may have given some back between the failure and this. */
static bool sfs_has_free(struct super_block *sb)
{
	struct scmfs_statfs st;

	scmfs_statfs(sfs_sb(sb)->fs, &st);
	return st.free;
}

/**
 * sfs_make_room - have all files give back what they have beyond their ends
 * @sb: the file system
 * @busy: which the caller has locked, exclusively; of a file its own room ahead goes, too, which
 *	may be all that there is; NULL: none
 *
 * Context: process context; no spinlock held, nor any inode's extents.
 * Return: there is something free that was not before, or there may be. Then nothing is collected
 * until the caller has tried again, and called sfs_made_room().
 */
bool sfs_make_room(struct super_block *sb, struct inode *busy)
{
	bool some = sfs_gc_make_way(sfs_sb(sb));

	if (busy && S_ISREG(busy->i_mode))
		some |= sfs_trim_locked(busy);
	some |= sfs_trim_noted(sfs_sb(sb), busy);
	some |= sfs_has_free(sb);
	if (!some)
		sfs_made_room(sb);
	return some;
}

/**
 * sfs_made_room - what needed room was tried again
 * @sb: the file system, of which sfs_make_room() has returned true
 */
void sfs_made_room(struct super_block *sb)
{
	sfs_gc_go_on(sfs_sb(sb));
}
