// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on names. Each collects the words that it changes and commits them as one
 * transaction.
 */
#include "engine_internal.h"

/*
 * Links of an inode in this transaction. A directory has two and one for each directory in it.
 */
static int add_links(struct scmfs_op *op, struct scmfs_inode *inode, s32 more)
{
	u64 now = ek_undo_get(&op->tx, &inode->mode_links);
	u32 links = scmfs_links(now);

	if (more > 0 && links >= SCMFS_LINK_MAX)
		return -EMLINK;
	if (more < 0 && links < (u32)-more)
		return scmfs_damaged(op->fs);
	return ek_undo_set(&op->tx, &inode->mode_links,
			   scmfs_mode_links(scmfs_mode(now), links + more));
}

/*
 * Where the clock shows what it did at the last change there is nothing to change: whoever set the
 * time had the lock of the inode's words until it was durable. A name makes the transaction.
 */
static int set_time(struct scmfs_op *op, __le64 *time, s64 now)
{
	return ek_undo_get(&op->tx, time) == (u64)now ? 0 : ek_undo_set(&op->tx, time, now);
}

/* A directory's links and times, in the order of their words: one record. */
static int change_dir(struct scmfs_op *op, u64 ino, s32 links, s64 now)
{
	struct scmfs_inode *inode = scmfs_inode(op->fs, ino);
	int r = links ? add_links(op, inode, links) : 0;

	if (!r)
		r = set_time(op, &inode->mtime, now);
	return r ? r : set_time(op, &inode->ctime, now);
}

static int set_ctime(struct scmfs_op *op, struct scmfs_inode *inode, s64 now)
{
	return set_time(op, &inode->ctime, now);
}

/* A directory in use, with its index. */
static int open_dir(struct scmfs *fs, struct scmfs_node *node, struct scmfs_dir **dir)
{
	struct scmfs_inode *inode;
	int r = scmfs_live(fs, node->ino, &inode);

	if (!r && !scmfs_links(scmfs_read(&inode->mode_links)))
		r = -ENOENT;
	return r ? r : scmfs_dir_get(fs, node, dir);
}

/* @n is not in the directory, and there is room for it in the index. */
static int open_for_new(struct scmfs *fs, struct scmfs_node *node, struct scmfs_dir **dir,
			struct scmfs_name *n)
{
	int r = open_dir(fs, node, dir);

	if (!r)
		r = scmfs_dir_find(fs, *dir, n);
	if (r != -ENOENT)
		return r ? r : -EEXIST;
	return scmfs_links(scmfs_read(&scmfs_inode(fs, node->ino)->mode_links)) ?
		scmfs_dir_room(*dir) : -ENOENT;
}

static int open_for_old(struct scmfs *fs, struct scmfs_node *node, struct scmfs_dir **dir,
			struct scmfs_name *n, struct scmfs_inode **inode)
{
	int r = open_dir(fs, node, dir);

	if (!r)
		r = scmfs_dir_find(fs, *dir, n);
	if (!r && scmfs_live(fs, SCMFS_HEAD_INO(n->head), inode))
		r = scmfs_damaged(fs);
	return r;
}

static int finish(struct scmfs_op *op, int r)
{
	if (r)
		scmfs_op_abort(op);
	else
		scmfs_op_commit(op);
	return r;
}

static int do_create(struct scmfs_op *op, struct scmfs_node *node, struct scmfs_name *n, u64 ino,
		     const struct scmfs_new *new)
{
	bool is_dir = scmfs_is_dir(scmfs_mode_links(new->mode, 0));
	int r = change_dir(op, node->ino, is_dir, new->now);

	if (!r)
		r = scmfs_new_inode(op, ino, new, is_dir ? node->ino : 0);
	if (!r)
		r = scmfs_dir_place(op, node, n);
	if (r)
		return r;
	n->head |= scmfs_head(ino, new->mode, 0);
	r = ek_undo_set(&op->tx, &n->ent->head, n->head);
	return r ? r : ek_undo_set(&op->tx, &scmfs_inode(op->fs, ino)->mode_links,
				   scmfs_mode_links(new->mode, is_dir ? 2 : 1));
}

int scmfs_create(struct scmfs *fs, struct scmfs_node *node, const char *name, u32 len,
		 const struct scmfs_new *new, u64 *ino)
{
	struct scmfs_dir *dir;
	struct scmfs_name n;
	struct scmfs_op op EK_UNINITIALIZED;
	int r = scmfs_name_init(fs, &n, name, len);

	if (!r && new->target_len >= SCMFS_BLOCK_SIZE)
		r = -ENAMETOOLONG;
	if (!r)
		r = open_for_new(fs, node, &dir, &n);
	if (r)
		return r;
	*ino = scmfs_alloc_inode(fs);
	if (!*ino)
		return -E2BIG;
	scmfs_op_begin(fs, &op, (u64[]){ node->ino, *ino }, 2);
	r = finish(&op, do_create(&op, node, &n, *ino, new));
	if (r) {
		scmfs_node_clear(node);
		scmfs_free_inode(fs, *ino);
		return r;
	}
	scmfs_inode_lives(fs, *ino);
	scmfs_dir_added(dir, &n);
	return 0;
}

static int do_link(struct scmfs_op *op, struct scmfs_node *node, struct scmfs_name *n, u64 ino,
		   s64 now)
{
	struct scmfs_inode *inode = scmfs_inode(op->fs, ino);
	int r = change_dir(op, node->ino, 0, now);

	if (!r)
		r = add_links(op, inode, 1);
	if (!r)
		r = set_ctime(op, inode, now);
	if (!r)
		r = scmfs_dir_place(op, node, n);
	if (r)
		return r;
	n->head |= scmfs_head(ino, scmfs_mode(scmfs_read(&inode->mode_links)), 0);
	return ek_undo_set(&op->tx, &n->ent->head, n->head);
}

int scmfs_link(struct scmfs *fs, struct scmfs_node *node, const char *name, u32 len, u64 ino,
	       s64 now)
{
	struct scmfs_inode *inode;
	struct scmfs_dir *dir;
	struct scmfs_name n;
	struct scmfs_op op EK_UNINITIALIZED;
	int r = scmfs_name_init(fs, &n, name, len);

	if (!r)
		r = scmfs_live(fs, ino, &inode);
	if (!r && scmfs_is_dir(scmfs_read(&inode->mode_links)))
		r = -EPERM;
	if (!r)
		r = open_for_new(fs, node, &dir, &n);
	if (r)
		return r;
	scmfs_op_begin(fs, &op, (u64[]){ node->ino, ino }, 2);
	r = finish(&op, do_link(&op, node, &n, ino, now));
	if (r)
		scmfs_node_clear(node);
	else
		scmfs_dir_added(dir, &n);
	return r;
}

/* One name less for an inode; a directory goes with its own two links. */
static int do_drop(struct scmfs_op *op, struct scmfs_inode *victim, s64 now)
{
	u64 now_links = ek_undo_get(&op->tx, &victim->mode_links);
	int r = add_links(op, victim, scmfs_is_dir(now_links) ? -(s32)scmfs_links(now_links) : -1);

	return r ? r : set_ctime(op, victim, now);
}

static int do_unlink(struct scmfs_op *op, struct scmfs_node *node, const struct scmfs_name *n,
		     struct scmfs_inode *victim, s64 now)
{
	bool is_dir = scmfs_is_dir(scmfs_read(&victim->mode_links));
	int r = change_dir(op, node->ino, is_dir ? -1 : 0, now);

	if (!r)
		r = do_drop(op, victim, now);
	return r ? r : scmfs_dir_clear(op, n);
}

static int remove_name(struct scmfs *fs, struct scmfs_node *node, struct scmfs_dir *dir,
		       const struct scmfs_name *n, struct scmfs_inode *victim, s64 now)
{
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	scmfs_op_begin(fs, &op, (u64[]){ node->ino, SCMFS_HEAD_INO(n->head) }, 2);
	r = finish(&op, do_unlink(&op, node, n, victim, now));
	if (!r)
		scmfs_dir_removed(dir, n);
	return r;
}

int scmfs_unlink(struct scmfs *fs, struct scmfs_node *node, const char *name, u32 len, s64 now,
		 u64 *ino)
{
	struct scmfs_inode *victim;
	struct scmfs_dir *dir;
	struct scmfs_name n;
	int r = scmfs_name_init(fs, &n, name, len);

	if (!r)
		r = open_for_old(fs, node, &dir, &n, &victim);
	if (!r && scmfs_is_dir(scmfs_read(&victim->mode_links)))
		r = -EISDIR;
	if (r)
		return r;
	*ino = SCMFS_HEAD_INO(n.head);
	return remove_name(fs, node, dir, &n, victim, now);
}

/* Is this the node of an empty directory? One that never had a name needs no index to tell. */
static int check_empty(struct scmfs *fs, struct scmfs_node *node)
{
	struct scmfs_inode *inode;
	struct scmfs_dir *dir;
	int r = scmfs_live(fs, node->ino, &inode);

	if (!r && !scmfs_is_dir(scmfs_read(&inode->mode_links)))
		r = -ENOTDIR;
	if (r || !scmfs_read(&inode->size))
		return r;
	r = scmfs_dir_get(fs, node, &dir);
	return r ? r : scmfs_dir_is_empty(fs, dir);
}

int scmfs_rmdir(struct scmfs *fs, struct scmfs_node *node, const char *name, u32 len,
		struct scmfs_node *victim, s64 now)
{
	struct scmfs_inode *inode;
	struct scmfs_dir *dir;
	struct scmfs_name n;
	int r = scmfs_name_init(fs, &n, name, len);

	if (!r)
		r = open_for_old(fs, node, &dir, &n, &inode);
	if (!r && SCMFS_HEAD_INO(n.head) != victim->ino)
		r = -ENOENT;
	if (!r)
		r = check_empty(fs, victim);
	return r ? r : remove_name(fs, node, dir, &n, inode, now);
}

/* ---- rename --------------------------------------------------------------------------------- */

struct end {
	struct scmfs_node *node;	/* the directory */
	struct scmfs_dir *dir;
	struct scmfs_name n;
	struct scmfs_inode *inode;	/* what has the name, or NULL */
	u64 ino;
	bool is_dir;
	u64 whiteout;			/* of the old one: what gets its name, or 0 */
};

static int find_end(struct scmfs *fs, const struct scmfs_rename *side, struct end *e)
{
	int r = scmfs_name_init(fs, &e->n, side->name, side->len);

	e->node = side->dir;
	e->whiteout = 0;
	e->inode = NULL;
	e->ino = 0;
	e->is_dir = false;
	if (r)
		return r;
	r = open_for_old(fs, side->dir, &e->dir, &e->n, &e->inode);
	if (r) {
		e->inode = NULL;
		return r;
	}
	e->ino = SCMFS_HEAD_INO(e->n.head);
	e->is_dir = scmfs_is_dir(scmfs_read(&e->inode->mode_links));
	return 0;
}

/* May what @to has be replaced by what @from has? */
static int check_replace(struct scmfs *fs, const struct end *from, const struct end *to,
			 const struct scmfs_rename *side)
{
	if (from->is_dir && !to->is_dir)
		return -ENOTDIR;
	if (!from->is_dir && to->is_dir)
		return -EISDIR;
	if (!to->is_dir)
		return 0;
	return side->node && side->node->ino == to->ino ? check_empty(fs, side->node) : -ENOENT;
}

/* A name gets another inode: one word. */
static int point_at(struct scmfs_op *op, struct scmfs_name *n, const struct end *what)
{
	n->head = scmfs_head(what->ino, scmfs_mode(scmfs_read(&what->inode->mode_links)),
			     SCMFS_HEAD_SLOTS(n->head));
	return ek_undo_set(&op->tx, &n->ent->head, n->head);
}

/* What moves from one directory into another. */
static int moved(struct scmfs_op *op, const struct end *what, const struct end *to, s64 now)
{
	int r = set_ctime(op, what->inode, now);

	if (!r && what->is_dir && what->node != to->node)
		r = ek_undo_set(&op->tx, &what->inode->parent, to->node->ino);
	return r;
}

static int change_dirs(struct scmfs_op *op, const struct end *from, const struct end *to,
		       s32 from_links, s32 to_links, s64 now)
{
	int r;

	if (from->node == to->node)
		return change_dir(op, to->node->ino, from_links + to_links, now);
	r = change_dir(op, from->node->ino, from_links, now);
	return r ? r : change_dir(op, to->node->ino, to_links, now);
}

static int do_exchange(struct scmfs_op *op, struct end *from, struct end *to, s64 now)
{
	s32 links = (s32)to->is_dir - (s32)from->is_dir;
	struct scmfs_name a = from->n, b = to->n;
	int r = change_dirs(op, from, to, links, -links, now);

	if (!r)
		r = moved(op, from, to, now);
	if (!r)
		r = moved(op, to, from, now);
	if (!r)
		r = point_at(op, &a, to);
	return r ? r : point_at(op, &b, from);
}

/* The name stays where it is, and is another inode's, which had none. */
static int leave_whiteout(struct scmfs_op *op, struct end *from)
{
	struct scmfs_inode *inode = scmfs_inode(op->fs, from->whiteout);
	int r = add_links(op, inode, 1);

	from->n.head = scmfs_head(from->whiteout, scmfs_mode(scmfs_read(&inode->mode_links)),
				  SCMFS_HEAD_SLOTS(from->n.head));
	return r ? r : ek_undo_set(&op->tx, &from->n.ent->head, from->n.head);
}

static int do_rename(struct scmfs_op *op, struct end *from, struct end *to, s64 now)
{
	s32 to_links = (s32)from->is_dir - (s32)to->is_dir;
	int r = change_dirs(op, from, to, -(s32)from->is_dir, to_links, now);

	if (!r)
		r = moved(op, from, to, now);
	if (!r)
		r = to->inode ? do_drop(op, to->inode, now) : scmfs_dir_place(op, to->node, &to->n);
	if (!r)
		r = point_at(op, &to->n, from);
	if (r)
		return r;
	return from->whiteout ? leave_whiteout(op, from) : scmfs_dir_clear(op, &from->n);
}

static int rename_replace(struct scmfs *fs, struct end *from, struct end *to, s64 now)
{
	u64 ino[] = { from->node->ino, to->node->ino, from->ino, to->ino, from->whiteout };
	struct scmfs_op op EK_UNINITIALIZED;
	int r = 0;

	if (!to->inode)
		r = scmfs_dir_room(to->dir);
	if (r)
		return r;
	scmfs_op_begin(fs, &op, ino, ARRAY_SIZE(ino));
	r = finish(&op, do_rename(&op, from, to, now));
	if (r) {
		scmfs_node_clear(to->node);
		return r;
	}
	if (!to->inode)
		scmfs_dir_added(to->dir, &to->n);
	if (!from->whiteout)
		scmfs_dir_removed(from->dir, &from->n);
	return 0;
}

static int rename_exchange(struct scmfs *fs, struct end *from, struct end *to, s64 now)
{
	u64 ino[] = { from->node->ino, to->node->ino, from->ino, to->ino };
	struct scmfs_op op EK_UNINITIALIZED;

	scmfs_op_begin(fs, &op, ino, ARRAY_SIZE(ino));
	return finish(&op, do_exchange(&op, from, to, now));
}

int scmfs_rename(struct scmfs *fs, const struct scmfs_rename *from, const struct scmfs_rename *to,
		 unsigned int flags, s64 now)
{
	struct end a, b;
	int r;

	if (flags & ~(SCMFS_RENAME_NOREPLACE | SCMFS_RENAME_EXCHANGE) ||
	    flags == (SCMFS_RENAME_NOREPLACE | SCMFS_RENAME_EXCHANGE) ||
	    (from->whiteout && flags & SCMFS_RENAME_EXCHANGE))
		return -EINVAL;
	r = find_end(fs, from, &a);
	if (r)
		return r;
	a.whiteout = from->whiteout;
	r = find_end(fs, to, &b);
	if (r && (r != -ENOENT || flags & SCMFS_RENAME_EXCHANGE))
		return r;
	if (!b.inode) {		/* the directory itself is there? */
		r = open_dir(fs, b.node, &b.dir);
		return r ? r : rename_replace(fs, &a, &b, now);
	}
	if (flags & SCMFS_RENAME_NOREPLACE)
		return -EEXIST;
	if (a.ino == b.ino)
		return 0;
	if (flags & SCMFS_RENAME_EXCHANGE)
		return rename_exchange(fs, &a, &b, now);
	r = check_replace(fs, &a, &b, to);
	return r ? r : rename_replace(fs, &a, &b, now);
}
