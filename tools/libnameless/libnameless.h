/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nameless writes for programs (zhang-2013 table 4.1): both segments of a device of the FTL
 * "nameless". Link with -lnameless; libnameless(3) tells how it is used.
 *
 * A name is the address that a write returned, together with the metadata that went with it. All
 * calls but nameless_close() return a negative error number when they fail, and errno is left
 * alone. Beside what each says: -EIO, the power is off, or went before the request was done, and
 * what of it was done is not known, whatever is in its names or data (@done is without it);
 * -EBADF, the device was not opened for that; -ENOMEM, -EFAULT, -EINTR. Whatever takes names of
 * blocks: -EBADMSG, the flash of a block can't be read any more: others can.
 *
 * Handles may be shared by threads; the requests of two threads on one block are in no order. If
 * one of them takes migrations, a lock is around each of these, in all threads: a call that has or
 * gives names, and noting these; submitting to a ring; waiting for it, and noting; taking
 * migrations, noting and acknowledging them; nameless_query(), and forgetting what it says is void.
 */
#ifndef LIBNAMELESS_H
#define LIBNAMELESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <evenkeel/nameless.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open device; it has one client at a time. */
struct nameless;

/**
 * nameless_open - become the client of a device
 * @device: its name, or the path of its block device (what has a slash is a path)
 * @flags: O_RDONLY, O_WRONLY or O_RDWR
 * @dev: result
 *
 * Migrations that were not acknowledged are told again, by nameless_moves().
 * Return: 0; -EBUSY, it has a client, or is being changed; -ENOENT, there is no such device, or its
 * FTL is another; -ENODEV, it is not ready yet, or goes; -EINVAL; what open(2) says.
 */
int nameless_open(const char *device, int flags, struct nameless **dev);

/**
 * nameless_close - be it no more
 * @dev: the device; NULL: nothing is done
 */
void nameless_close(struct nameless *dev);

/**
 * nameless_fd - what to poll for migrations
 * @dev: the device
 *
 * POLLIN: nameless_moves() has some; POLLPRI: after a power cut; POLLHUP: the device is gone.
 * Return: the file descriptor, which stays the library's.
 */
int nameless_fd(const struct nameless *dev);

/**
 * nameless_query - what the device is, and how full
 * @dev: the device
 * @info: result
 *
 * After a power cut, list the names behind this (see libnameless(3)). It tells of the cut only by
 * @info->cuts; nameless_moves() says it once more if it has not, whoever asked here.
 * Return: 0 or an error.
 */
int nameless_query(struct nameless *dev, struct nl_names_info *info);

/**
 * nameless_write - write blocks that the device gives names to
 * @dev: the device
 * @names: @nr of them: metadata in, addresses out; reserved fields are 0
 * @data: @nr blocks
 * @nr: any number
 * @done: if not NULL: how many were written, in order; the next one is what an error is about
 *
 * They last when this returns. Of a block that a power cut interrupts there is all or nothing, and
 * its name is not told: nameless_list() finds it.
 * Return: 0; -ENOSPC, both segments together use all space; -EROFS, too many blocks went bad.
 */
int nameless_write(struct nameless *dev, struct nl_name *names, const void *data, unsigned int nr,
		   unsigned int *done);

/**
 * nameless_overwrite - write blocks in place of others
 * @dev: the device
 * @names: as for nameless_write()
 * @old: @nr names of blocks that are valid; each ends when the new one is there
 * @data: @nr blocks
 * @nr: any number
 * @done: as for nameless_write()
 *
 * A power cut leaves the old block or the new one.
 * Return: 0; -ESTALE, no valid block has this name; -EROFS.
 */
int nameless_overwrite(struct nameless *dev, struct nl_name *names, const struct nl_name *old,
		       const void *data, unsigned int nr, unsigned int *done);

/**
 * nameless_read - read blocks
 * @dev: the device
 * @names: @nr names
 * @data: room for @nr blocks
 * @nr: any number
 * @done: if not NULL: how many were read
 *
 * Return: 0; -ESTALE, no valid block has this name.
 */
int nameless_read(struct nameless *dev, const struct nl_name *names, void *data, unsigned int nr,
		  unsigned int *done);

/**
 * nameless_free - end blocks
 * @dev: the device
 * @names: @nr names
 * @nr: any number
 * @done: if not NULL: how many were freed
 *
 * It lasts when this returns.
 * Return: 0; -ESTALE, no valid block has this name.
 */
int nameless_free(struct nameless *dev, const struct nl_name *names, unsigned int nr,
		  unsigned int *done);

/**
 * nameless_moves - blocks that have another address
 * @dev: the device
 * @moves: result
 * @max: how many there is room for
 * @timeout_ms: how long to wait for one; 0: not at all, -1: for ever
 *
 * Old names go on working, also after power cuts, until nameless_acknowledge(). Who knows a block
 * by its old name knows it by the new one from now on; whose block has another name by then, or is
 * no more, has nothing to change. Both acknowledge: no block with this metadata gets the old
 * address before that, so it is never another one's.
 *
 * Those of a block that a request in a ring, or a call of another thread's, has to do with come
 * after nameless_ring_wait() gave that, or the call was done; poll(2) knows nothing of them, so who
 * has rings asks again (@timeout_ms 0) when he has waited for requests.
 *
 * Return: how many; 0, none came, or none that may be told now; -ECONNRESET, the power was cut, and
 * what was told and is not acknowledged will be again: forget it; wait for all requests and calls
 * that are under way, as these may be done when the power is back; then nameless_query(), and hold
 * all that nameless_list() finds after that against what was written; -EIO, the device is gone.
 */
int nameless_moves(struct nameless *dev, struct nl_move *moves, unsigned int max, int timeout_ms);

/**
 * nameless_acknowledge - the old names are used no more
 * @dev: the device
 * @moves: what nameless_moves() told; what waits no more is passed over
 * @nr: any number
 *
 * First make the new names last wherever the old ones were kept, and wait for requests that were
 * submitted with the old ones meanwhile.
 * Return: 0; -ECONNRESET, the power was cut, and what nameless_moves() told is void: so it says,
 * too, before it tells of others; or an error.
 */
int nameless_acknowledge(struct nameless *dev, const struct nl_move *moves, unsigned int nr);

/**
 * nameless_list - valid blocks
 * @dev: the device
 * @from: 0 at first; then, where to go on
 * @names: result
 * @max: how many there is room for
 *
 * What is written, freed or moved meanwhile may be missing, or there twice.
 * Return: how many, fewer than there is room for or not; 0 at the end; an error.
 */
int nameless_list(struct nameless *dev, uint32_t *from, struct nl_name *names, unsigned int max);

/*
 * Requests under way, with io_uring where that is to be had. A ring is one thread's.
 */

struct nameless_ring;

enum nameless_op { NAMELESS_READ, NAMELESS_WRITE, NAMELESS_FREE };

/**
 * struct nameless_request - a request
 * @op: what
 * @nr: blocks, 1 to NL_IO_MAX
 * @names: as for nameless_write(), nameless_read(), nameless_free()
 * @old: of a write: names that are overwritten, or NULL
 * @data: @nr blocks; none for NAMELESS_FREE
 * @user: the caller's
 * @result: 0 or a negative error number, when it is done
 * @done: so many blocks were done, when it is done; 0 if @result is -EIO, any may be
 * @io: the library's
 * @at: the library's
 * @reserved: 0
 *
 * All of this stays where it is until the request is done.
 */
struct nameless_request {
	enum nameless_op op;
	unsigned int nr;
	struct nl_name *names;
	const struct nl_name *old;
	void *data;
	void *user;
	int result;
	unsigned int done;
	struct nl_names_io io;
	unsigned int at;
	uint64_t reserved[3];
};

/**
 * nameless_ring_open - make a ring
 * @dev: its device, which stays open for as long
 * @depth: how many requests may be under way, 1 to 4096
 * @ring: result
 *
 * Return: 0, -EINVAL or -ENOMEM. Where there is no io_uring, or no more of it for this user, a
 * request is done when it is submitted.
 */
int nameless_ring_open(struct nameless *dev, unsigned int depth, struct nameless_ring **ring);

/**
 * nameless_ring_close - wait for all requests, and free the ring
 * @ring: the ring; NULL: nothing is done
 */
void nameless_ring_close(struct nameless_ring *ring);

/**
 * nameless_ring_is_async - is there io_uring behind it?
 * @ring: the ring
 *
 * Return: whether requests are under way side by side.
 */
bool nameless_ring_is_async(const struct nameless_ring *ring);

/**
 * nameless_ring_submit - begin a request
 * @ring: the ring
 * @req: the request; requests under way are done in any order
 *
 * Return: 0; -EAGAIN, as many as may be are under way: wait for one; -EINVAL; -ENOMEM; what else
 * io_uring says. Unless it is 0 the request is the caller's again.
 */
int nameless_ring_submit(struct nameless_ring *ring, struct nameless_request *req);

/**
 * nameless_ring_wait - wait for a request
 * @ring: the ring
 * @req: result: any that is done
 *
 * Return: 0; -ENODATA, none is under way; -EAGAIN, -EBUSY or -ENOMEM, io_uring lacks something:
 * all are under way still, try again; what else io_uring says.
 */
int nameless_ring_wait(struct nameless_ring *ring, struct nameless_request **req);

/*
 * The virtual segment: the block device, past the page cache. Positions and lengths are multiples
 * of the device's block_bytes: -EINVAL. What was written, and what was discarded, lasts when
 * nameless_flush() returned 0. A device that was opened for writing has the block device alone,
 * from the first of these calls on: -EBUSY, it is mounted, or others have it that way.
 */

/**
 * nameless_size - how large the virtual segment may become
 * @dev: the device
 * @bytes: result
 *
 * Only what was written takes of the space that both segments share.
 * Return: 0 or an error.
 */
int nameless_size(struct nameless *dev, uint64_t *bytes);

/**
 * nameless_pread - read of the virtual segment
 * @dev: the device
 * @data: room for @bytes
 * @bytes: how many
 * @at: where
 *
 * What was not written is zeros.
 * Return: 0, all was read; -EINVAL; -ENXIO, that is beyond the end.
 */
int nameless_pread(struct nameless *dev, void *data, size_t bytes, uint64_t at);

/**
 * nameless_pwrite - write to the virtual segment
 * @dev: the device
 * @data: @bytes of them
 * @bytes: how many
 * @at: where
 *
 * Return: 0, all was written; -EINVAL; -ENXIO, that is beyond the end; -ENOSPC, all space is in
 * use; -EIO: the power went, or the flash is read-only: to a block device that is the same.
 */
int nameless_pwrite(struct nameless *dev, const void *data, size_t bytes, uint64_t at);

/**
 * nameless_discard - give space of the virtual segment back
 * @dev: the device
 * @bytes: how many
 * @at: where
 *
 * It reads as zeros.
 * Return: 0; -EINVAL; -ENXIO, that is beyond the end.
 */
int nameless_discard(struct nameless *dev, uint64_t bytes, uint64_t at);

/**
 * nameless_flush - make what was written to the virtual segment last
 * @dev: the device
 *
 * Also what was discarded. Unless it is 0, any of what was written since it was 0 the last time may
 * be gone: all of that is to be written again, by whichever thread it was; until something is, it
 * goes on failing after a power cut.
 * Return: 0 or an error; -EIO also if the power went and came back since the first of these writes,
 * all of which may have returned 0.
 */
int nameless_flush(struct nameless *dev);

#ifdef __cplusplus
}
#endif

#endif
