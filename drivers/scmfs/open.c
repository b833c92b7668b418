// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening, which is recovery if need be, and closing.
 *
 * Timeline: `clean` is zeroed durably before anything else is stored; so maps that it vouches for
 * are those of what is there. After a cut the log is replayed first: only then do the inodes tell
 * the truth. Then one pass over them marks what is used and frees orphans. Cut at any moment, all
 * of it can be begun again. Opening alone retires what a log has before it zeroes `clean`: that
 * counts as done either way.
 *
 *	becoming read-only		a cut here
 *	nobody stores any more		recovery
 *	a fence: all stores		recovery
 *	maps and wear are saved, a fence	recovery, which looks at no maps
 *	`clean` is set, a fence		recovery, or none: the maps are those of what is there
 *					none, until
 *	becoming writable again
 *	`clean` is zeroed, a fence	none, or recovery, which finds what the maps had
 *	the log is replayed and opened	recovery
 *	what it counts, and who writes	recovery
 */
#include <linux/random.h>
#include "engine_internal.h"

static int say(const char **reason, const char *text, int r)
{
	*reason = text;
	return r;
}

static struct scmfs *new_fs(void *base, const struct scmfs_super *super)
{
	struct scmfs *fs = kzalloc(sizeof(*fs), GFP_KERNEL);
	unsigned int i;

	if (!fs)
		return NULL;
	fs->base = base;
	fs->super = *super;
	fs->state = (struct scmfs_state *)(fs->base + SCMFS_STATE_OFFSET);
	fs->nr_blocks = le64_to_cpu(fs->super.nr_blocks);
	fs->first_data = le64_to_cpu(fs->super.first_data_block);
	fs->nr_units = DIV_ROUND_UP(fs->nr_blocks, SCMFS_UNIT_BLOCKS);
	fs->nr_inodes = le64_to_cpu(fs->super.nr_inodes);
	fs->inode_high = scmfs_high_of(fs->state, fs->nr_inodes);
	fs->high_known = fs->inode_high;
	if (!fs->high_known)
		fs->inode_high = fs->nr_inodes;
	spin_lock_init(&fs->lock);
	for (i = 0; i < UNIT_LOCKS; i++)
		spin_lock_init(&fs->unit_lock[i].lock);
	scmfs_index_init(fs);
	for (i = 0; i < INODE_LOCKS; i++) {
		mutex_init(&fs->index_lock[i]);
		mutex_init(&fs->inode_lock[i]);
	}
	return fs;
}

void scmfs_abandon(struct scmfs *fs)
{
	unsigned int i;

	if (!fs)
		return;
	ek_undo_close(fs->log);
	scmfs_maps_free(fs);
	scmfs_index_exit(fs);
	for (i = 0; i < INODE_LOCKS; i++) {
		mutex_destroy(&fs->inode_lock[i]);
		mutex_destroy(&fs->index_lock[i]);
	}
	kfree(fs);
}

void scmfs_close(struct scmfs *fs)
{
	if (fs && !fs->read_only)
		scmfs_freeze(fs);
	scmfs_abandon(fs);
}

/*
 * What the log has not retired yet counts as done by the words that it names: they stay as they
 * are as long as nothing is stored.
 */
void scmfs_freeze(struct scmfs *fs)
{
	scm_fence();	/* what was stored without one */
	scmfs_maps_save(fs);
}

/* From here on the maps on the media are out of date. */
void scmfs_thaw(struct scmfs *fs)
{
	scmfs_write_word(&fs->state->clean, 0);
	scm_fence();
}

/* Who reads may find damage meanwhile, which is noted no more. */
void scmfs_make_read_only(struct scmfs *fs)
{
	WRITE_ONCE(fs->read_only, true);
	scmfs_freeze(fs);
}

/* How many it says it has changes together with what they are: unlike, one of both is damaged. */
static int take_blocks(struct scmfs *fs, struct scmfs_inode *inode)
{
	u64 before = fs->marked;
	int r = scmfs_each_run(fs, inode, scmfs_mark_used);

	return !r && fs->marked - before != scmfs_read(&inode->blocks) ? -EUCLEAN : r;
}

/* One inode of the pass; an orphan's first word is not fenced, it has no links either way. */
static int take_inode(struct scmfs *fs, u64 ino, struct scmfs_recovery *rec)
{
	struct scmfs_inode *inode = scmfs_inode(fs, ino);
	u64 mode_links = scmfs_read(&inode->mode_links);

	if (!scmfs_mode(mode_links))
		return mode_links ? -EUCLEAN : 0;
	if (!scmfs_links(mode_links)) {
		rec->orphans++;
		scmfs_write_word(&inode->mode_links, 0);
		return 0;
	}
	if (le16_to_cpu(inode->magic) != SCMFS_INODE_MAGIC)
		return -EUCLEAN;
	rec->inodes++;
	__set_bit(ino, fs->inode_map);
	return take_blocks(fs, inode);
}

static int scan(struct scmfs *fs, struct scmfs_recovery *rec)
{
	u64 ino;
	int r;

	for (ino = 1; ino < fs->inode_high; ino++) {
		r = take_inode(fs, ino, rec);
		if (r)
			return r;
		if (!(ino % 4096))
			cond_resched();
	}
	scmfs_maps_count(fs);
	return 0;
}

static int replay(struct scmfs *fs, bool dry, struct scmfs_recovery *rec)
{
	return ek_undo_replay(fs->base, fs->nr_blocks << SCMFS_BLOCK_SHIFT,
			      le64_to_cpu(fs->super.log_offset),
			      le32_to_cpu(fs->super.log_lanes), le64_to_cpu(fs->super.salt),
			      dry, &rec->undo);
}

/*
 * What a log would have undone is looked at first: who closed it has left nothing, or heads of its
 * lanes have been lost. Then nothing is stored.
 */
static int replay_checked(struct scmfs *fs, bool dry, struct scmfs_recovery *rec)
{
	int r = replay(fs, true, rec);

	if (!r && rec->undo.undone && scmfs_read(&fs->state->clean))
		r = -EUCLEAN;
	return r || dry ? r : replay(fs, false, rec);
}

static bool root_ok(const struct scmfs *fs)
{
	struct scmfs_inode *root;

	return !scmfs_live(fs, SCMFS_ROOT_INO, &root) &&
		scmfs_is_dir(scmfs_read(&root->mode_links)) &&
		scmfs_links(scmfs_read(&root->mode_links)) >= 2;
}

static int recover(struct scmfs *fs, struct scmfs_recovery *rec, const char **reason)
{
	int r;

	rec->clean = scmfs_read(&fs->state->clean);
	r = replay_checked(fs, fs->read_only, rec);
	if (r)
		return say(reason, "the undo log is damaged", r);
	if (fs->read_only && !rec->clean)
		return say(reason, "it was not closed, and must be recovered first", -EROFS);
	if (!root_ok(fs))
		return say(reason, "the root directory is damaged", -EUCLEAN);
	r = rec->clean ? scmfs_maps_load(fs) : scan(fs, rec);
	if (r)
		return say(reason, r == -EIO ? "what says where a file is lies in bad memory" :
			   rec->clean ? "the maps of free space are damaged" :
			   "an inode is damaged", r);
	if (!fs->high_known)
		fs->inode_high = find_last_bit(fs->inode_map, fs->nr_inodes) + 1;
	return 0;
}

static void begin_writing(struct scmfs *fs)
{
	scmfs_thaw(fs);
	scmfs_write_word(&fs->state->mounts, scmfs_read(&fs->state->mounts) + 1);
	scmfs_set_high(fs->state, fs->inode_high);
	scm_fence();
	fs->inode_durable = fs->inode_high;
	fs->log_known = true;
}

static int open_log(struct scmfs *fs, struct ek_undo **log)
{
	const struct scmfs_super *s = &fs->super;

	return ek_undo_open(fs->base, fs->nr_blocks << SCMFS_BLOCK_SHIFT,
			    le64_to_cpu(s->log_offset), le32_to_cpu(s->log_lanes),
			    le64_to_cpu(s->salt), log);
}

static int start(struct scmfs *fs, unsigned int flags, const struct scmfs_bad_list *bad,
		 struct scmfs_recovery *rec, const char **reason)
{
	int r;

	*reason = "no memory";
	get_random_bytes(&fs->name_key, sizeof(fs->name_key));
	fs->read_only = flags & (SCMFS_OPEN_READ_ONLY | SCMFS_OPEN_NO_SCAN);
	r = scmfs_maps_init(fs);
	if (!r)
		r = scmfs_know_bad(fs, bad);
	if (r || flags & SCMFS_OPEN_NO_SCAN)
		return r;
	r = recover(fs, rec, reason);
	if (r)
		return r;
	*reason = "no memory";
	r = scmfs_put_aside(fs, bad);
	if (!r)
		r = open_log(fs, &fs->log);
	if (!r && !fs->read_only)
		begin_writing(fs);
	return r;
}

/*
 * Nothing is left to be undone, or it would not have been opened. What was done and is not retired
 * is, before words change that its log names. Without memory it is closed again: nothing has
 * changed that the maps know of.
 */
static int renew_log(struct scmfs *fs, const char **reason)
{
	u64 clean = scmfs_read(&fs->state->clean);
	struct scmfs_recovery rec;
	struct ek_undo *log;
	int r = replay_checked(fs, true, &rec);

	if (r)
		return say(reason, "the undo log is damaged", r);
	scmfs_thaw(fs);
	r = replay(fs, false, &rec);
	if (!r)
		r = open_log(fs, &log);
	if (r) {
		scmfs_write_word(&fs->state->clean, clean);
		scm_fence();
		return say(reason, "no memory", r);
	}
	ek_undo_close(fs->log);
	fs->log = log;
	return 0;
}

/* One that was writable before has a log that knows what is not retired. */
int scmfs_make_writable(struct scmfs *fs, const char **reason)
{
	int r = scmfs_may_write(&fs->super, reason);

	if (!r && !fs->log_known)
		r = renew_log(fs, reason);
	if (r)
		return r;
	begin_writing(fs);
	WRITE_ONCE(fs->read_only, false);
	return 0;
}

int scmfs_open_beside(void *base, u64 size, unsigned int flags, const struct scmfs_bad_list *bad,
		      struct scmfs **fs, struct scmfs_recovery *recovery, const char **reason)
{
	struct scmfs_recovery ignored;
	struct scmfs_super super;
	bool damaged;
	int r = scmfs_probe(base, size, &super, &damaged, reason);

	if (!r && !(flags & (SCMFS_OPEN_READ_ONLY | SCMFS_OPEN_NO_SCAN)))
		r = scmfs_may_write(&super, reason);
	if (r)
		return r;
	*reason = "no memory";
	*fs = new_fs(base, &super);
	if (!*fs)
		return -ENOMEM;
	if (!recovery)
		recovery = &ignored;
	memset(recovery, 0, sizeof(*recovery));
	r = start(*fs, flags, bad, recovery, reason);
	if (r) {
		scmfs_abandon(*fs);
		*fs = NULL;
		return r;
	}
	*reason = "";
	return 0;
}

int scmfs_open(void *base, u64 size, unsigned int flags, struct scmfs **fs,
	       struct scmfs_recovery *recovery, const char **reason)
{
	return scmfs_open_beside(base, size, flags, NULL, fs, recovery, reason);
}

bool scmfs_damage_seen(const struct scmfs *fs)
{
	return scmfs_read(&fs->state->error);
}

void *scmfs_base(const struct scmfs *fs)
{
	return fs->base;
}

const struct scmfs_super *scmfs_super(const struct scmfs *fs)
{
	return &fs->super;
}

u64 scmfs_log_memory(const struct scmfs *fs)
{
	return fs->log ? ek_undo_memory(fs->log) : 0;
}

u64 scmfs_memory(const struct scmfs *fs)
{
	return sizeof(*fs) + scmfs_log_memory(fs) + scmfs_maps_memory(fs);
}
