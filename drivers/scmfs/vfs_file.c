// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files' content: straight between the user's buffer and the memory, no page cache in between.
 *
 * Readers have i_rwsem shared: what they read is not given to another file meanwhile, and a write
 * is seen whole or not at all. A write is durable when it returns.
 */
#include <linux/fs.h>
#include <linux/falloc.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/uio.h>
#include <evenkeel/scm_iter.h>

#include <compat/dax.h>

#include "vfs.h"

#define SFS_READ_SEGS	8u
#define SFS_ZERO_PART	((u64)SZ_32M)	/* at a time */

/* Where a file's bytes are, while faults may fill its holes. */
static int sfs_map(struct inode *inode, u64 pos, u64 len, struct scmfs_seg *seg)
{
	int nr;

	down_read(&sfs_inode(inode)->extents);
	nr = scmfs_map(sfs_fs(inode), inode->i_ino, pos, len, seg, SFS_READ_SEGS);
	up_read(&sfs_inode(inode)->extents);
	return nr;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A part of a file; less than its length: the user's memory ends, or the file's is bad. */
static size_t sfs_read_seg(struct inode *inode, const struct scmfs_seg *seg, struct iov_iter *to)
{
	const struct sfs_sb *s = sfs_sb(inode->i_sb);

	if (seg->at == SCMFS_HOLE)
		return iov_iter_zero(seg->len, to);
	return scm_copy_to_iter(s->base + seg->at, sfs_good(s, seg->at, seg->len), to);
}

/*
 * Why a copy stopped short. The kernel's own pages are there: to splice, sendfile, nfsd and loop
 * -EFAULT would be something to try again. A pipe (6.1) that is full is no bad memory.
 */
static int sfs_read_error(const struct inode *inode, u64 at, const struct iov_iter *to)
{
	if (iov_iter_is_bvec(to) || iov_iter_is_kvec(to))
		return -EIO;
	if (at != SCMFS_HOLE && !sfs_good(sfs_sb(inode->i_sb), at, 1))
		return -EIO;
	return user_backed_iter(to) && !fault_in_iov_iter_writeable(to, 1) ? -EIO : -EFAULT;
}

/* Up to @len bytes, all of which lie before the file's end, from piece to piece. */
static ssize_t sfs_read_pieces(struct inode *inode, u64 pos, size_t len, struct iov_iter *to)
{
	struct scmfs_seg seg[SFS_READ_SEGS] EK_UNINITIALIZED;
	size_t done = 0, n;
	int nr = sfs_map(inode, pos, len, seg), i;

	if (nr < 0)
		return nr;
	for (i = 0; i < nr; i++) {
		n = sfs_read_seg(inode, seg + i, to);
		done += n;
		if (n < seg[i].len)
			return done ?: sfs_read_error(inode, seg[i].at, to);
	}
	if (nr > 1)
		sfs_window_walked(inode);
	return done ?: -EUCLEAN;
}

/* The part of a file from @pos on, which is remembered if it isn't a hole. */
static int sfs_look(struct inode *inode, u64 pos, struct scmfs_seg *seg)
{
	u64 end = round_up((u64)i_size_read(inode), PAGE_SIZE);
	int err;

	down_read(&sfs_inode(inode)->extents);
	err = scmfs_map_part(sfs_fs(inode), inode->i_ino, pos, end, seg);
	up_read(&sfs_inode(inode)->extents);
	if (!err && seg->at != SCMFS_HOLE)
		sfs_piece_keep(inode, seg);
	return err;
}

/* What isn't remembered. */
static ssize_t sfs_read_elsewhere(struct inode *inode, u64 pos, size_t len, struct iov_iter *to)
{
	struct scmfs_seg seg;
	struct sfs_window *w;
	const void *src;
	size_t done;
	int err;

	w = READ_ONCE(sfs_sb(inode->i_sb)->bad) ? NULL : sfs_window_enter(inode, pos, len, &src);
	if (w) {
		done = scm_copy_to_iter(src, len, to);
		sfs_window_leave(w);
		return done ?: sfs_read_error(inode, SCMFS_HOLE, to);
	}
	err = sfs_look(inode, pos, &seg);
	if (err)
		return err;
	if (seg.len < len)
		return sfs_read_pieces(inode, pos, len, to);
	seg.len = len;
	return sfs_read_seg(inode, &seg, to) ?: sfs_read_error(inode, seg.at, to);
}

static ssize_t sfs_read_some(struct inode *inode, u64 pos, size_t len, struct iov_iter *to)
{
	struct scmfs_seg seg = { .len = len, .at = sfs_piece_find(inode, pos, len) };

	if (seg.at == SCMFS_HOLE)
		return sfs_read_elsewhere(inode, pos, len, to);
	return sfs_read_seg(inode, &seg, to) ?: sfs_read_error(inode, seg.at, to);
}

/* Not all of a large read at once: who does it can be killed, and others have the CPU. */
static ssize_t sfs_read(struct inode *inode, u64 pos, struct iov_iter *to)
{
	u64 size = i_size_read(inode);
	ssize_t done = 0, n;

	if (pos >= size)
		return 0;
	iov_iter_truncate(to, size - pos);
	while (iov_iter_count(to)) {
		if (done && fatal_signal_pending(current))
			break;
		n = min_t(u64, iov_iter_count(to), SCMFS_UNIT_SIZE);
		n = sfs_read_some(inode, pos + done, n, to);
		if (n < 0)
			return done ?: n;
		done += n;
		cond_resched();
	}
	return done;
}

/* io_uring on some kernels asks any file of a file system without a device not to wait. */
static bool sfs_lock_shared(struct inode *inode, const struct kiocb *iocb)
{
	if (iocb->ki_flags & IOCB_NOWAIT)
		return inode_trylock_shared(inode);
	inode_lock_shared(inode);
	return true;
}

/* Behind the inode's lock is nothing to wait for but the user's memory, as in any file system. */
static ssize_t sfs_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	size_t wanted = iov_iter_count(to);
	ssize_t done;

	if (!wanted)
		return 0;
	if (!sfs_lock_shared(inode, iocb))
		return -EAGAIN;
	done = sfs_alive(inode) ?: sfs_read(inode, iocb->ki_pos, to);
	inode_unlock_shared(inode);
	if (done > 0)
		iocb->ki_pos += done;
	file_accessed(iocb->ki_filp);
	return done;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Store into the parts that were begun; less than all of them: the user's memory ends. */
static size_t sfs_store(struct inode *inode, const struct scmfs_write *w, struct iov_iter *from)
{
	void *base = sfs_sb(inode->i_sb)->base;
	size_t done = 0, n;
	unsigned int i;

	for (i = 0; i < w->nr; i++) {
		n = scm_copy_from_iter(base + w->seg[i].at, w->seg[i].len, from);
		done += n;
		if (n < w->seg[i].len)
			break;
	}
	return done;
}

/* Take @done bytes of what was begun into the file; less than that where there is no room. */
static ssize_t sfs_write_done(struct inode *inode, struct scmfs_write *w, size_t done,
			      struct timespec64 now)
{
	int err = scmfs_write_end(sfs_fs(inode), w, done, timespec64_to_ns(&now));

	if (err)
		return err;
	if (!done)
		return -EFAULT;
	done = w->len;
	if (w->offset + done > i_size_read(inode))
		i_size_write(inode, w->offset + done);
	inode_set_mtime_to_ts(inode, now);
	inode_set_ctime_to_ts(inode, now);
	sfs_changed(inode);
	return done;
}

/* Where the file's last byte lies in the same block, or behind: nothing is to be looked for. */
static bool sfs_write_known(struct inode *inode, u64 pos, size_t len, struct scmfs_write *w)
{
	struct scmfs_seg seg = { .file = pos, .len = len, .at = sfs_piece_find(inode, pos, len) };

	if (seg.at == SCMFS_HOLE || pos > i_size_read(inode) ||
	    sfs_good(sfs_sb(inode->i_sb), seg.at, len) < len)
		return false;
	scmfs_write_known(inode->i_ino, &seg, w);
	return true;
}

/* Room for a write, and whether it is @known to be where the file has it. */
static int sfs_write_begin(struct inode *inode, struct scmfs_write *w, u64 pos, size_t len,
			   unsigned int flags, bool *known)
{
	*known = !flags && sfs_write_known(inode, pos, len, w);
	if (*known)
		return 0;
	return scmfs_write_begin(sfs_fs(inode), inode->i_ino, pos, len,
				 flags | sfs_not_around(inode), w);
}

/*
 * One step of a write. The user's memory is not faulted in: that could need these very extents, or
 * the locks of somebody who waits for them. What is to be atomic is stored as a whole or not at
 * all.
 */
static ssize_t sfs_write_step(struct inode *inode, struct scmfs_write *w, u64 pos, size_t len,
			      struct iov_iter *from, unsigned int flags)
{
	struct timespec64 now = current_time(inode);
	struct iov_iter start = *from;
	bool known;
	ssize_t done;
	size_t stored;
	int err = sfs_write_begin(inode, w, pos, len, flags, &known);

	if (err)
		return err;
	if (flags & SCMFS_WRITE_ATOMIC)
		sfs_forget_places(inode);
	pagefault_disable();
	stored = sfs_store(inode, w, from);
	pagefault_enable();
	done = sfs_write_done(inode, w, flags & SCMFS_WRITE_ATOMIC && stored < w->len ? 0 : stored,
			      now);
	/* What was not taken is tried again, and it is the same bytes that go there. */
	if (done != stored) {
		*from = start;
		iov_iter_advance(from, max_t(ssize_t, done, 0));
	}
	if (done > 0 && !known && !flags)
		sfs_piece_keep(inode, &w->seg[w->nr - 1]);
	if (done > 0 && w->ahead)
		sfs_note_ahead(inode);
	return done;
}

/*
 * data=atomic puts other blocks in the old ones' place, which nobody may have mapped or pinned. A
 * file that is mapped is written in place: stores through mappings aren't atomic either.
 */
static unsigned int sfs_write_flags(struct inode *inode, u64 pos, size_t len, bool atomic)
{
	return atomic && sfs_is_free(inode, pos, pos + len) ? SCMFS_WRITE_ATOMIC : 0;
}

static ssize_t sfs_write_some(struct inode *inode, u64 pos, size_t len, struct iov_iter *from)
{
	bool atomic = READ_ONCE(sfs_sb(inode->i_sb)->options.atomic);
	struct scmfs_write w EK_UNINITIALIZED;
	unsigned int flags;
	ssize_t done;
	bool around;

	if (atomic)
		sfs_unmapped(inode);	/* it may have been until now */
	down_write(&sfs_inode(inode)->extents);
	flags = sfs_write_flags(inode, pos, len, atomic);
	done = sfs_write_step(inode, &w, pos, len, from, flags);
	/* From then on zero pages may be mapped where there are blocks. */
	if (done > 0 && w.around)
		sfs_inode(inode)->around = true;
	around = sfs_inode(inode)->around;
	up_write(&sfs_inode(inode)->extents);
	if (done > 0 && (w.fresh || w.unwritten || around) && !flags)
		sfs_filled(inode, pos, pos + done);
	return done;
}

/* Bytes of the user's that are there, and may be gone again. */
static size_t sfs_fault_in(const struct iov_iter *from)
{
	size_t len = min_t(size_t, iov_iter_count(from), SCMFS_UNIT_SIZE);

	return len - fault_in_iov_iter_readable(from, len);
}

/* A write that found no room, and tries for the last time, perhaps with what others gave back. */
struct sfs_last_try {
	bool begun, made_room;
};

static void sfs_last_try(struct inode *inode, struct sfs_last_try *last)
{
	last->begun = true;
	last->made_room = sfs_make_room(inode->i_sb, inode);
	sfs_last_try_begin(inode);
}

static void sfs_last_try_over(struct inode *inode, struct sfs_last_try *last)
{
	if (last->begun)
		sfs_last_try_end(inode);
	if (last->made_room)
		sfs_made_room(inode->i_sb);
	last->begun = false;
	last->made_room = false;
}

/*
 * Can what failed be tried again? With memory that was faulted in, as much as there is: what is to
 * be atomic would never be done with less than it asked for. Without room once, and then as one
 * that does without.
 */
static bool sfs_write_again(struct inode *inode, const struct iov_iter *from, int err, size_t *most,
			    struct sfs_last_try *last)
{
	if (fatal_signal_pending(current))
		return false;
	if (err == -EFAULT) {
		/* However long that takes, garbage is collected meanwhile. */
		sfs_last_try_over(inode, last);
		*most = sfs_fault_in(from);
		return *most;
	}
	if (err != -ENOSPC || last->begun)
		return false;
	sfs_last_try(inode, last);
	return true;
}

/* In parts, like a read; faults wait for the extents only as long as one takes. */
static ssize_t sfs_write(struct inode *inode, u64 pos, struct iov_iter *from)
{
	size_t most = SCMFS_UNIT_SIZE;
	struct sfs_last_try last = {};
	ssize_t done = 0, n = 0;

	while (iov_iter_count(from)) {
		if (done && fatal_signal_pending(current))
			break;
		n = sfs_write_some(inode, pos + done, min(most, iov_iter_count(from)), from);
		if (n < 0 && !sfs_write_again(inode, from, n, &most, &last))
			break;
		if (n < 0)
			continue;
		done += n;
		most = SCMFS_UNIT_SIZE;
		sfs_last_try_over(inode, &last);
		cond_resched();
	}
	sfs_last_try_over(inode, &last);
	return done ?: min_t(ssize_t, n, 0);
}

/*
 * May it have to wait? Not where blocks are known to be, in one step: no room is made, nobody who
 * has it mapped is told, no device flushes, and no attribute is removed.
 */
static bool sfs_write_waits(const struct kiocb *iocb, struct inode *inode, size_t len)
{
	struct scmfs_write w EK_UNINITIALIZED;

	return iocb_is_dsync(iocb) || !IS_NOSEC(inode) || sfs_inode(inode)->around ||
		READ_ONCE(sfs_sb(inode->i_sb)->options.atomic) || len > SCMFS_UNIT_SIZE ||
		!sfs_write_known(inode, iocb->ki_pos, len, &w);
}

static ssize_t sfs_write_locked(struct kiocb *iocb, struct iov_iter *from)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	ssize_t done = sfs_alive(inode) ?: generic_write_checks(iocb, from);

	if (done <= 0)
		return done;
	if (IS_IMMUTABLE(inode))	/* an area of nvmalloc(); opened before it became one */
		return -EPERM;
	if (iocb->ki_flags & IOCB_NOWAIT && sfs_write_waits(iocb, inode, done))
		return -EAGAIN;
	done = file_remove_privs(iocb->ki_filp);
	if (!done)
		done = sfs_write(inode, iocb->ki_pos, from);
	if (done > 0)
		iocb->ki_pos += done;
	return done;
}

static bool sfs_lock(struct inode *inode, const struct kiocb *iocb)
{
	if (iocb->ki_flags & IOCB_NOWAIT)
		return inode_trylock(inode);
	inode_lock(inode);
	return true;
}

static ssize_t sfs_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	ssize_t done;

	if (!sfs_lock(inode, iocb))
		return -EAGAIN;
	done = sfs_write_locked(iocb, from);
	inode_unlock(inode);
	return done > 0 ? generic_write_sync(iocb, done) : done;
}

/* --- the rest --------------------------------------------------------------------------------- */

static int sfs_open(struct inode *inode, struct file *file)
{
	file->f_mode |= FMODE_CAN_ODIRECT;	/* there is no other way */
	return sfs_alive(inode) ?: generic_file_open(inode, file);
}

/* What was written has been fenced already; what was stored through mappings is flushed. */
int sfs_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	int err = file_write_and_wait_range(file, start, end);

	return err ?: sfs_alive(file_inode(file)) ?: sfs_settle_file(file_inode(file)->i_sb);
}

static int sfs_release(struct inode *inode, struct file *file)
{
	sfs_closed(file);
	return 0;
}

/* The first byte from @pos on that is data, or a hole, which is also what follows the end. */
static loff_t sfs_seek(struct inode *inode, u64 pos, bool data)
{
	u64 size = i_size_read(inode);
	struct scmfs_seg seg[SFS_READ_SEGS];
	int nr, i;

	if (pos >= size)
		return -ENXIO;
	while (pos < size) {
		nr = sfs_map(inode, pos, size - pos, seg);
		if (nr <= 0)
			return nr ?: -EUCLEAN;
		for (i = 0; i < nr; i++) {
			bool has_data = seg[i].at != SCMFS_HOLE;

			if (has_data == data)
				return seg[i].file;
			pos = seg[i].file + seg[i].len;
		}
	}
	return data ? -ENXIO : size;
}

static loff_t sfs_llseek(struct file *file, loff_t offset, int whence)
{
	struct inode *inode = file_inode(file);
	loff_t at;

	if (whence != SEEK_DATA && whence != SEEK_HOLE)
		return generic_file_llseek(file, offset, whence);
	if (offset < 0)
		return -ENXIO;
	inode_lock_shared(inode);
	at = sfs_seek(inode, offset, whence == SEEK_DATA);
	inode_unlock_shared(inode);
	return at < 0 ? at : vfs_setpos(file, at, inode->i_sb->s_maxbytes);
}

static int sfs_reserve_locked(struct inode *inode, u64 offset, u64 len, unsigned int flags)
{
	int err;

	down_write(&sfs_inode(inode)->extents);
	err = scmfs_reserve(sfs_fs(inode), inode->i_ino, offset, len, flags, sfs_now(inode));
	sfs_refresh(inode);	/* it works in steps */
	if (err)
		sfs_note_ahead(inode);
	up_write(&sfs_inode(inode)->extents);
	if (!scmfs_has_unwritten(sfs_fs(inode)))
		sfs_filled(inode, offset, offset + len);
	return err;
}

static int sfs_reserve(struct inode *inode, u64 offset, u64 len, unsigned int flags)
{
	int err = flags & SCMFS_RESERVE_KEEP_SIZE ? 0 : inode_newsize_ok(inode, offset + len);

	if (!err)
		err = sfs_reserve_locked(inode, offset, len, flags);
	if (err == -ENOSPC && sfs_make_room(inode->i_sb, inode)) {
		err = sfs_reserve_locked(inode, offset, len, flags);
		sfs_made_room(inode->i_sb);
	}
	return err;
}

/* @or_zero: what can't become a hole becomes zeroes, and keeps its blocks. */
static int sfs_punch_locked(struct inode *inode, u64 offset, u64 len, bool or_zero)
{
	u64 end = min(offset + len, round_up((u64)i_size_read(inode), PAGE_SIZE));
	int err = sfs_layout_lock(inode, round_down(offset, PAGE_SIZE), round_up(end, PAGE_SIZE));
	s64 now;

	if (err)
		return err;
	now = sfs_now(inode);
	sfs_forget_places(inode);
	err = scmfs_punch(sfs_fs(inode), inode->i_ino, offset, len, now);
	if (err == -ENOSPC && or_zero)
		err = scmfs_zero(sfs_fs(inode), inode->i_ino, offset, len, now);
	sfs_refresh(inode);	/* it works in steps */
	sfs_layout_unlock(inode);
	return err;
}

/* A hole in the middle of an extent makes two of it, which may take a block. */
static int sfs_punch(struct inode *inode, u64 offset, u64 len)
{
	int err = sfs_punch_locked(inode, offset, len, false);
	bool made_room;

	if (err != -ENOSPC)
		return err;
	made_room = sfs_make_room(inode->i_sb, inode);
	err = sfs_punch_locked(inode, offset, len, true);
	if (made_room)
		sfs_made_room(inode->i_sb);
	return err;
}

static int sfs_zero_part(struct inode *inode, u64 offset, u64 len)
{
	int err;

	down_write(&sfs_inode(inode)->extents);
	err = scmfs_zero(sfs_fs(inode), inode->i_ino, offset, len, sfs_now(inode));
	sfs_refresh(inode);
	up_write(&sfs_inode(inode)->extents);
	return err;
}

/* In place: also what is mapped. In parts, as faults wait meanwhile. */
static int sfs_zero_in_place(struct inode *inode, u64 offset, u64 end)
{
	int err = 0;

	for (; !err && offset < end; offset += SFS_ZERO_PART) {
		if (fatal_signal_pending(current))
			return -EINTR;
		err = sfs_zero_part(inode, offset, min(end - offset, SFS_ZERO_PART));
	}
	return err;
}

/* What becomes unwritten must not be stored to by mappings, or be read through a window. */
static int sfs_unwrite(struct inode *inode, u64 offset, u64 end)
{
	int err = sfs_layout_lock(inode, round_down(offset, PAGE_SIZE), round_up(end, PAGE_SIZE));

	if (err)
		return err;
	sfs_forget_places(inode);
	err = scmfs_zero(sfs_fs(inode), inode->i_ino, offset, end - offset, sfs_now(inode));
	sfs_refresh(inode);
	sfs_layout_unlock(inode);
	return err;
}

/* Room comes first: what fails for want of it changes nothing. The times go with the zeroes. */
static int sfs_zero(struct inode *inode, u64 offset, u64 len, unsigned int flags)
{
	u64 end = offset + len;
	int err = sfs_reserve(inode, offset, len, flags | SCMFS_RESERVE_NO_TIMES);

	if (err)
		return err;
	return scmfs_has_unwritten(sfs_fs(inode)) ? sfs_unwrite(inode, offset, end) :
		sfs_zero_in_place(inode, offset, end);
}

/*
 * All from the range on moves: nobody may have it mapped by its place in the file. Private copies
 * go as well, but only once it has moved: they are all that there is of what was stored to them.
 */
static int sfs_shift_locked(struct inode *inode, u64 offset, u64 len, bool insert)
{
	int err = sfs_layout_lock(inode, offset, round_up(i_size_read(inode), PAGE_SIZE));
	s64 now;

	if (err)
		return err;
	now = sfs_now(inode);
	sfs_forget_places(inode);
	if (insert)
		err = scmfs_insert(sfs_fs(inode), inode->i_ino, offset, len, now);
	else
		err = scmfs_collapse(sfs_fs(inode), inode->i_ino, offset, len, now);
	if (!err)
		unmap_mapping_range(&inode->i_data, offset, 0, 1);
	sfs_refresh(inode);
	sfs_layout_unlock(inode);
	return err;
}

static int sfs_shift(struct inode *inode, u64 offset, u64 len, bool insert)
{
	int err = 0;

	if (!PAGE_ALIGNED(offset | len))
		return -EINVAL;
	if (insert)
		err = inode_newsize_ok(inode, i_size_read(inode) + len);
	if (!err)
		err = sfs_shift_locked(inode, offset, len, insert);
	if (err == -ENOSPC && sfs_make_room(inode->i_sb, inode)) {
		err = sfs_shift_locked(inode, offset, len, insert);
		sfs_made_room(inode->i_sb);
	}
	return err;
}

static int sfs_fallocate_locked(struct file *file, int mode, u64 offset, u64 len)
{
	unsigned int flags = mode & FALLOC_FL_KEEP_SIZE ? SCMFS_RESERVE_KEEP_SIZE : 0;
	struct inode *inode = file_inode(file);
	int err;

	/* VFS has looked without the lock. */
	if (IS_IMMUTABLE(inode) || (IS_APPEND(inode) && mode & ~FALLOC_FL_KEEP_SIZE))
		return -EPERM;
	err = sfs_alive(inode) ?: file_remove_privs(file);
	if (err)
		return err;
	/* The time comes with the locks: a fault may set one while this waits for them. */
	if (mode & FALLOC_FL_PUNCH_HOLE)
		return sfs_punch(inode, offset, len);
	if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
		return sfs_shift(inode, offset, len, mode & FALLOC_FL_INSERT_RANGE);
	if (mode & FALLOC_FL_ZERO_RANGE)
		return sfs_zero(inode, offset, len, flags);
	return sfs_reserve(inode, offset, len, flags);
}

static long sfs_fallocate(struct file *file, int mode, loff_t offset, loff_t len)
{
	struct inode *inode = file_inode(file);
	int err;

	if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE |
		     FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
		return -EOPNOTSUPP;
	inode_lock(inode);
	err = sfs_fallocate_locked(file, mode, offset, len);
	inode_unlock(inode);
	if (!err && (file->f_flags & O_DSYNC || IS_SYNC(inode)))
		err = sfs_settle_file(inode->i_sb);
	return err;
}

const struct file_operations sfs_file_fops = {
	COMPAT_FOP_MMAP_SYNC,
	.open = sfs_open,
	.release = sfs_release,
	.mmap = sfs_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.llseek = sfs_llseek,
	.read_iter = sfs_read_iter,
	.write_iter = sfs_write_iter,
	.splice_read = copy_splice_read,
	.splice_write = iter_file_splice_write,
	.fsync = sfs_fsync,
	.fallocate = sfs_fallocate,
	.unlocked_ioctl = sfs_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};
