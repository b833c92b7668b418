// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: pieces
 *
 * Where the piece of a file is that was read or written last: who goes on there asks neither the
 * extents nor their lock. What a piece has are written blocks each of which has a byte of the
 * file, so it stays right until such a block is taken out of the file, becomes unwritten, or is
 * replaced by another one. Whoever does that has i_rwsem exclusively, and forgets the piece first,
 * as it does a window; whoever uses it has i_rwsem, shared or exclusively:
 *
 *	a reader			truncate, a hole, data=atomic, garbage collection
 *	i_rwsem, shared
 *	the piece: has the bytes	waits for i_rwsem
 *	copies them
 *	lets go of i_rwsem
 *					i_rwsem, exclusively; forgets the piece
 *					the blocks are another file's
 *	i_rwsem, shared
 *	no piece: looks, remembers
 *
 * A fault has no i_rwsem. It fills holes and makes unwritten blocks written; the blocks of a
 * piece it leaves where they are. Room ahead may be given back by who thinks of no piece, so a
 * piece ends with the block of the file's last byte. One reader may remember while another one
 * looks: the sequence count is for that. The memory itself stays as long as the file system is
 * mounted.
 */
#include "vfs.h"

void sfs_piece_init(struct sfs_inode *si)
{
	seqlock_init(&si->piece.lock);
	si->piece.start = 0;
	si->piece.end = 0;
	si->piece.shift = 0;
}

/**
 * sfs_piece_find - where bytes of a file are, if that is remembered
 * @inode: locked, shared at least
 * @pos: of the first
 * @len: how many; not 0
 *
 * Return: the first one's offset in the region, or SCMFS_HOLE: it isn't remembered of all of them.
 */
u64 sfs_piece_find(const struct inode *inode, u64 pos, u64 len)
{
	const struct sfs_piece *p = &sfs_inode(inode)->piece;
	u64 start, end, shift;
	unsigned int seq;

	do {
		seq = read_seqbegin(&p->lock);
		start = p->start;
		end = p->end;
		shift = p->shift;
	} while (read_seqretry(&p->lock, seq));
	return pos >= start && pos < end && len <= end - pos ? pos + shift : SCMFS_HOLE;
}

/**
 * sfs_piece_keep - remember where a part of a file is
 * @inode: locked, shared at least
 * @seg: written blocks, or parts of them, each of which has a byte of the file
 *
 * With what was remembered, if that is beside it in file and region.
 */
void sfs_piece_keep(struct inode *inode, const struct scmfs_seg *seg)
{
	struct sfs_piece *p = &sfs_inode(inode)->piece;
	u64 start = round_down(seg->file, SCMFS_BLOCK_SIZE), shift = seg->at - seg->file;
	u64 end = round_up(seg->file + seg->len, SCMFS_BLOCK_SIZE);

	/* Readers who miss, one after the other, would take the lock from those who don't. */
	if (sfs_piece_find(inode, start, end - start) == start + shift)
		return;
	write_seqlock(&p->lock);
	if (p->shift == shift && start <= p->end && end >= p->start && p->start < p->end) {
		start = min(start, p->start);
		end = max(end, p->end);
	}
	p->start = start;
	p->end = end;
	p->shift = shift;
	write_sequnlock(&p->lock);
}

/**
 * sfs_forget_places - blocks are going to be taken out of a file, or replaced
 * @inode: locked, or nobody else's any more
 */
void sfs_forget_places(struct inode *inode)
{
	struct sfs_piece *p = &sfs_inode(inode)->piece;

	write_seqlock(&p->lock);
	p->start = 0;
	p->end = 0;
	write_sequnlock(&p->lock);
	sfs_window_drop(inode);
}
