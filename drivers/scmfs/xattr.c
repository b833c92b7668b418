// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extended attributes: a stream of entries in a chain of blocks, which is never changed. Whoever
 * changes one writes all of them to other blocks, and one word leads to those from then on.
 *
 *	the new chain			stored past the cache, nothing refers to it
 *	--- fence 1 ---			a cut until here: the old attributes
 *	inode's word, ctime, mode	}
 *	--- fence 2 ---			the new ones
 *	the old chain is free
 *
 * They are few and small as a rule: one block.
 */
#include <evenkeel/label.h>

#include "engine_internal.h"

#define HEAD_BYTES	offsetof(struct scmfs_xattr_block, data)

/* ---- reading -------------------------------------------------------------------------------- */

/**
 * struct stream - the data of a chain, one block after the other
 * @fs: of which
 * @ino: whose
 * @b: block it is in; NULL: none yet
 * @next: that comes then
 * @used: of @b's data; read once: who maps a crafted image's block as data can change it
 * @pos: in @b's data
 * @blocks: seen
 */
struct stream {
	const struct scmfs *fs;
	u64 ino;
	const struct scmfs_xattr_block *b;
	u64 next;
	u32 used;
	u32 pos;
	u32 blocks;
};

/**
 * struct entry - one attribute
 * @index: SCMFS_XATTR_*
 * @name_len: bytes of @name
 * @value_len: bytes, which come next in the stream
 * @name: without its prefix
 */
struct entry {
	u32 index;
	u32 name_len;
	u32 value_len;
	char name[SCMFS_NAME_MAX];
};

static u64 ino_of(const struct scmfs *fs, const struct scmfs_inode *inode)
{
	return inode - scmfs_inode(fs, 0);
}

/* A block of this inode's. Only its head is looked at. 0; -EUCLEAN; -EIO: bad memory. */
static int block_at(const struct scmfs *fs, u64 ino, u64 block, const struct scmfs_xattr_block **b)
{
	if (!scmfs_run_ok(fs, block, 1))
		return scmfs_damaged(fs);
	if (!scmfs_all_good(fs, block, 1))
		return -EIO;
	*b = scmfs_block(fs, block);
	if (le32_to_cpu((*b)->magic) != SCMFS_XATTR_MAGIC || le64_to_cpu((*b)->ino) != ino ||
	    le32_to_cpu((*b)->used) > SCMFS_XATTR_DATA)
		return scmfs_damaged(fs);
	return 0;
}

static struct stream stream_of(const struct scmfs *fs, const struct scmfs_inode *inode)
{
	return (struct stream){
		.fs = fs,
		.ino = ino_of(fs, inode),
		.next = scmfs_has(fs, SCMFS_INCOMPAT_XATTR) ? scmfs_read(&inode->xattr) : 0,
	};
}

/* 1: there is more; 0: that was all; -EUCLEAN; -EIO: bad memory. */
static int more(struct stream *s)
{
	int r;

	while (!s->b || s->pos == s->used) {
		if (!s->next)
			return 0;
		r = block_at(s->fs, s->ino, s->next, &s->b);
		if (r)
			return r;
		if (s->blocks++ == SCMFS_MAX_XATTR_BLOCKS)
			return scmfs_damaged(s->fs);
		s->used = le32_to_cpu(READ_ONCE(s->b->used));
		if (s->used > SCMFS_XATTR_DATA ||
		    le32_to_cpu(s->b->csum) !=
		    ek_checksum(s->b, HEAD_BYTES + s->used, &s->b->csum))
			return scmfs_damaged(s->fs);
		s->next = le64_to_cpu(s->b->next);
		s->pos = 0;
	}
	return 1;
}

/* @to may be NULL: skipped. */
static int get_bytes(struct stream *s, void *to, u32 len)
{
	while (len) {
		int r = more(s);
		u32 n;

		if (r <= 0)
			return r ? r : scmfs_damaged(s->fs);
		n = min(len, s->used - s->pos);
		if (to) {
			memcpy(to, s->b->data + s->pos, n);
			to += n;
		}
		s->pos += n;
		len -= n;
	}
	return 0;
}

static u32 padding(const struct entry *e)
{
	return -(e->name_len + e->value_len) % sizeof(__le64);
}

static u32 entry_bytes(u32 name_len, u32 value_len)
{
	return sizeof(struct scmfs_xattr_entry) +
		round_up(name_len + value_len, (u32)sizeof(__le64));
}

static bool name_ok(u32 index, u32 len)
{
	switch (index) {
	case SCMFS_XATTR_USER:
	case SCMFS_XATTR_TRUSTED:
	case SCMFS_XATTR_SECURITY:
		return len && len <= SCMFS_NAME_MAX;
	case SCMFS_XATTR_ACL_ACCESS:
	case SCMFS_XATTR_ACL_DEFAULT:
		return !len;
	}
	return false;
}

/* The next entry, up to its value. 1; 0: that was all; -EUCLEAN. */
static int next_entry(struct stream *s, struct entry *e)
{
	struct scmfs_xattr_entry head;
	int r = more(s);

	if (r <= 0)
		return r;
	r = get_bytes(s, &head, sizeof(head));
	if (r)
		return r;
	e->index = head.index;
	e->name_len = head.name_len;
	e->value_len = le32_to_cpu(head.value_len);
	if (!name_ok(e->index, e->name_len) || e->value_len > SCMFS_MAX_XATTR_VALUE)
		return scmfs_damaged(s->fs);
	r = get_bytes(s, e->name, e->name_len);
	return r ? r : 1;
}

static int skip_value(struct stream *s, const struct entry *e)
{
	return get_bytes(s, NULL, e->value_len + padding(e));
}

static bool is_one(const struct entry *e, const struct scmfs_xattr *x)
{
	return e->index == x->index && e->name_len == x->name_len &&
		(!x->name_len || !memcmp(e->name, x->name, x->name_len));
}

/* The stream at the value of @x' name. 0; -ENODATA; -EUCLEAN. */
static int find(struct stream *s, const struct scmfs_xattr *x, struct entry *e)
{
	int r;

	while ((r = next_entry(s, e)) > 0) {
		if (is_one(e, x))
			return 0;
		r = skip_value(s, e);
		if (r)
			return r;
	}
	return r ? r : -ENODATA;
}

bool scmfs_has_xattrs(const struct scmfs *fs)
{
	return scmfs_has(fs, SCMFS_INCOMPAT_XATTR);
}

int scmfs_xattr_get(struct scmfs *fs, u64 ino, u32 index, const char *name, u32 len, void *value,
		    size_t size)
{
	const struct scmfs_xattr x = { .index = index, .name = name, .name_len = len };
	struct entry e EK_UNINITIALIZED;
	struct scmfs_inode *inode;
	struct stream s;
	int r = scmfs_live(fs, ino, &inode);

	if (r)
		return r;
	s = stream_of(fs, inode);
	r = find(&s, &x, &e);
	if (!r && size && size < e.value_len)
		r = -ERANGE;
	if (!r && size)
		r = get_bytes(&s, value, e.value_len);
	return r ? r : e.value_len;
}

int scmfs_xattr_list(struct scmfs *fs, u64 ino, scmfs_xattr_fn fn, void *ctx)
{
	struct entry e EK_UNINITIALIZED;
	struct scmfs_inode *inode;
	struct stream s;
	int r = scmfs_live(fs, ino, &inode);

	if (r)
		return r;
	s = stream_of(fs, inode);
	while ((r = next_entry(&s, &e)) > 0) {
		r = fn(ctx, e.index, e.name, e.name_len, e.value_len);
		if (!r)
			r = skip_value(&s, &e);
		if (r)
			return r;
	}
	return r;
}

int scmfs_xattr_each(const struct scmfs *fs, struct scmfs_inode *inode,
		     int (*fn)(struct scmfs *fs, u64 block, u64 count))
{
	struct stream s = stream_of(fs, inode);
	u64 block = s.next;
	u32 nr = 0;
	int r = 0;

	while (!r && block) {
		r = block_at(fs, s.ino, block, &s.b);
		if (r)
			return r;
		if (nr++ == SCMFS_MAX_XATTR_BLOCKS)
			return scmfs_damaged(fs);
		s.next = le64_to_cpu(s.b->next);
		r = fn((struct scmfs *)fs, block, 1);
		block = s.next;
	}
	return r;
}

u32 scmfs_xattr_blocks(const struct scmfs *fs, const struct scmfs_inode *inode)
{
	struct stream s = stream_of(fs, inode);
	u32 nr = 0;

	while (s.next && nr < SCMFS_MAX_XATTR_BLOCKS) {
		if (block_at(fs, s.ino, s.next, &s.b))
			break;
		nr++;
		s.next = le64_to_cpu(s.b->next);
	}
	return nr;
}

/* ---- writing -------------------------------------------------------------------------------- */

/**
 * struct chain - one that is being written
 * @op: for which
 * @ino: whose
 * @buf: the block that is being filled
 * @block: all of them
 * @nr: how many there are to be
 * @at: which is being filled
 * @used: of its data
 * @overrun: what is copied has grown since it was counted: a crafted image, mapped as data
 * @entry: of the one that it replaces, for whoever looks through that
 */
struct chain {
	struct scmfs_op *op;
	u64 ino;
	struct scmfs_xattr_block *buf;
	u64 block[SCMFS_MAX_XATTR_BLOCKS];
	u32 nr;
	u32 at;
	u32 used;
	bool overrun;
	struct entry entry;
};

static void put_block(struct chain *c)
{
	struct scmfs_xattr_block *b = c->buf;

	if (c->at == c->nr) {
		c->overrun = true;
		c->used = 0;
		return;
	}
	b->magic = cpu_to_le32(SCMFS_XATTR_MAGIC);
	b->ino = cpu_to_le64(c->ino);
	b->next = cpu_to_le64(c->at + 1 < c->nr ? c->block[c->at + 1] : 0);
	b->used = cpu_to_le32(c->used);
	b->csum = cpu_to_le32(ek_checksum(b, HEAD_BYTES + c->used, &b->csum));
	scm_copy_nt(scmfs_block(c->op->fs, c->block[c->at]), b, HEAD_BYTES + c->used);
	c->at++;
	c->used = 0;
}

/* Room in the block for some of @len bytes. */
static u32 make_room(struct chain *c, u32 len)
{
	if (c->used == SCMFS_XATTR_DATA)
		put_block(c);
	return min(len, SCMFS_XATTR_DATA - c->used);
}

static void put_bytes(struct chain *c, const void *from, u32 len)
{
	static const __le64 zeroes;

	while (len) {
		u32 n = make_room(c, len);

		memcpy(c->buf->data + c->used, from ? from : &zeroes, n);
		c->used += n;
		len -= n;
		if (from)
			from += n;
	}
}

static void put_name(struct chain *c, const struct entry *e, const char *name)
{
	const struct scmfs_xattr_entry head = {
		.value_len = cpu_to_le32(e->value_len),
		.index = e->index,
		.name_len = e->name_len,
	};

	put_bytes(c, &head, sizeof(head));
	put_bytes(c, name, e->name_len);
}

static void put_new(struct chain *c, const struct scmfs_xattr *x)
{
	const struct entry e = {
		.index = x->index, .name_len = x->name_len, .value_len = x->value_len,
	};

	put_name(c, &e, x->name);
	put_bytes(c, x->value, x->value_len);
	put_bytes(c, NULL, padding(&e));
}

/* An entry of another chain, which stands at its value. */
static int put_old(struct chain *c, struct stream *s, const struct entry *e)
{
	u32 left = e->value_len + padding(e);
	int r = 0;

	put_name(c, e, e->name);
	while (!r && left) {
		u32 n = make_room(c, left);

		r = get_bytes(s, c->buf->data + c->used, n);
		c->used += n;
		left -= n;
	}
	return r;
}

/* All but @without. */
static int put_others(struct chain *c, const struct scmfs_inode *old,
		      const struct scmfs_xattr *without)
{
	struct stream s = stream_of(c->op->fs, old);
	struct entry *e = &c->entry;
	int r;

	while ((r = next_entry(&s, e)) > 0) {
		r = is_one(e, without) ? skip_value(&s, e) : put_old(c, &s, e);
		if (r)
			break;
	}
	return r;
}

static int alloc_chain(struct chain *c, u64 bytes)
{
	u64 block, got, want;

	want = DIV_ROUND_UP(bytes, SCMFS_XATTR_DATA);
	if (want > SCMFS_MAX_XATTR_BLOCKS)
		return -E2BIG;
	while (c->nr < want) {
		got = scmfs_op_alloc(c->op, want - c->nr, 0, &block);
		if (!got)
			return -ENOSPC;
		while (got--)
			c->block[c->nr++] = block++;
	}
	return 0;
}

/* Bytes of all but @without. */
static int bytes_of_others(const struct scmfs *fs, const struct scmfs_inode *inode,
			   const struct scmfs_xattr *without, struct entry *e, u64 *bytes)
{
	struct stream s = stream_of(fs, inode);
	int r;

	*bytes = 0;
	while ((r = next_entry(&s, e)) > 0) {
		if (!is_one(e, without))
			*bytes += entry_bytes(e->name_len, e->value_len);
		r = skip_value(&s, e);
		if (r)
			break;
	}
	return r;
}

static struct chain *new_chain(struct scmfs_op *op, u64 ino)
{
	struct chain *c = kzalloc(sizeof(*c), GFP_NOIO);

	if (!c)
		return NULL;
	c->buf = kzalloc(sizeof(*c->buf), GFP_NOIO);
	if (!c->buf) {
		kfree(c);
		return NULL;
	}
	c->op = op;
	c->ino = ino;
	return c;
}

static void free_chain(struct chain *c)
{
	kfree(c->buf);
	kfree(c);
}

int scmfs_xattr_new(struct scmfs_op *op, u64 ino, const struct scmfs_xattr *x, u32 nr,
		    struct scmfs_inode *body)
{
	struct chain *c;
	u64 bytes = 0;
	u32 i;
	int r;

	for (i = 0; i < nr; i++)
		bytes += entry_bytes(x[i].name_len, x[i].value_len);
	c = new_chain(op, ino);
	if (!c)
		return -ENOMEM;
	r = alloc_chain(c, bytes);
	if (!r) {
		for (i = 0; i < nr; i++)
			put_new(c, &x[i]);
		put_block(c);
		body->xattr = cpu_to_le64(c->block[0]);
		body->blocks = cpu_to_le64(le64_to_cpu(body->blocks) + c->nr);
	}
	free_chain(c);
	return r;
}

/* The new chain, which may be none. */
static int write_chain(struct chain *c, const struct scmfs_inode *old, const struct scmfs_xattr *x,
		       u64 bytes)
{
	int r = alloc_chain(c, bytes);

	if (r || !bytes)
		return r;
	r = put_others(c, old, x);
	if (r)
		return r;
	if (x->value)
		put_new(c, x);
	put_block(c);
	return 0;
}

static int drop_chain(struct scmfs_op *op, struct scmfs_inode *inode, u32 *nr)
{
	struct stream s = stream_of(op->fs, inode);
	u64 block = s.next;
	int r;

	for (*nr = 0; block; block = le64_to_cpu(s.b->next), ++*nr) {
		r = block_at(op->fs, s.ino, block, &s.b);
		if (r)
			return r;
		if (op->nr_drops == MAX_DROPS)
			return scmfs_damaged(op->fs);
		op->drop[op->nr_drops++] = (struct scmfs_run){ block, 1 };
	}
	return 0;
}

static int change(struct chain *c, struct scmfs_inode *inode, const struct scmfs_xattr *x,
		  u64 bytes)
{
	struct ek_undo_tx *tx = &c->op->tx;
	int r = write_chain(c, inode, x, bytes);
	u32 dropped;

	if (c->overrun)
		r = scmfs_damaged(c->op->fs);
	if (!r)
		r = drop_chain(c->op, inode, &dropped);
	if (!r)
		r = ek_undo_set(tx, &inode->blocks,
				ek_undo_get(tx, &inode->blocks) + c->nr - dropped);
	return r ? r : ek_undo_set(tx, &inode->xattr, c->nr ? c->block[0] : 0);
}

/* May it be set so? */
static int allowed(const struct scmfs *fs, const struct scmfs_inode *inode,
		   const struct scmfs_xattr *x, unsigned int flags, struct entry *e)
{
	struct stream s = stream_of(fs, inode);
	int r;

	if (!scmfs_has(fs, SCMFS_INCOMPAT_XATTR))
		return -EOPNOTSUPP;
	if (!name_ok(x->index, x->name_len) || x->value_len > SCMFS_MAX_XATTR_VALUE)
		return -EINVAL;
	r = find(&s, x, e);
	if (r && r != -ENODATA)
		return r;
	if (!r)
		return x->value && flags & SCMFS_XATTR_CREATE ? -EEXIST : 0;
	return x->value && !(flags & SCMFS_XATTR_REPLACE) ? 0 : -ENODATA;
}

static int set(struct chain *c, struct scmfs_inode *inode, const struct scmfs_xattr *x, u64 bytes,
	       const struct scmfs_attr *attr, unsigned int mask)
{
	int r = scmfs_set_fields(c->op, inode, attr, mask);

	return r ? r : change(c, inode, x, bytes);
}

int scmfs_xattr_set(struct scmfs *fs, u64 ino, const struct scmfs_xattr *x, unsigned int flags,
		    const struct scmfs_attr *attr, unsigned int mask)
{
	struct scmfs_op op EK_UNINITIALIZED;
	struct scmfs_inode *inode;
	struct chain *c;
	u64 bytes;
	int r = scmfs_live(fs, ino, &inode);

	if (r)
		return r;
	c = new_chain(&op, ino);
	if (!c)
		return -ENOMEM;
	r = allowed(fs, inode, x, flags, &c->entry);
	if (!r)
		r = bytes_of_others(fs, inode, x, &c->entry, &bytes);
	if (!r) {
		if (x->value)
			bytes += entry_bytes(x->name_len, x->value_len);
		scmfs_op_begin(fs, &op, &ino, 1);
		r = set(c, inode, x, bytes, attr, mask);
		if (r)
			scmfs_op_abort(&op);
		else
			scmfs_op_commit(&op);
	}
	free_chain(c);
	return r;
}
