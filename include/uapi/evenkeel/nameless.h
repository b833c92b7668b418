/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * Blocks without names: /dev/nameless/NAME:names of a device with the nameless FTL (zhang-2013
 * table 4.1). The virtual segment is the block device /dev/nameless/NAME.
 *
 * One client at a time: a second open fails with EBUSY. read() gives struct nl_move, as many as
 * fit; poll() says POLLIN when there are some, and POLLPRI after a power cut until the next
 * NL_IOC_INFO; NL_IOC_CUTS leaves that as it is. Until then read() returns 0; otherwise it waits
 * when it finds none, or fails with EAGAIN if the file is O_NONBLOCK. When the device is removed
 * read() fails with EIO, and poll() says POLLHUP.
 *
 * A migration leads from the name that a block had to the one that it got. It may be read when
 * that is long past, and the block has a third name, or is no more: then it changes nothing. But
 * until it is acknowledged, the old address is no other block's with this metadata. So a client
 * whose block has the address @from when he comes to it takes the new one, any other does nothing,
 * and both acknowledge, in the order in which they read; then the old address may come again. That
 * takes a client who knows what names his blocks have: he leaves migrations of a block alone, and
 * does not acknowledge them, while a request is under way which has a name of it or gives it one.
 * They may be read before the completion of the write that gave it the old one.
 *
 * A file that is opened gets all migrations again that were not acknowledged, and so it does after
 * a cut, behind NL_IOC_INFO: what was read before and not acknowledged is void, and acknowledging
 * that fails with ECONNRESET once the power is back. Until NL_IOC_INFO the old addresses that were
 * told stay as they are. Then all names are to be listed, too, as a write that was interrupted may
 * have been done. First of all every request that is under way is waited for: one that was begun
 * before the cut, and waits for its turn, is done when the power is back, and its block would be in
 * the list before its completion tells the name. Nor may another read() be under way beside
 * NL_IOC_INFO: what that returns may be from before, and void, or from behind.
 *
 * What writes, frees or acknowledges needs a file that is open for writing, what reads and lists
 * one that is open for reading: EBADF. Reserved fields are 0: EINVAL.
 *
 * Errors: ESTALE, no valid block has this name; EBADMSG, the flash of this block can't be read, so
 * it is neither overwritten nor freed, as its name can't be looked at; ENOSPC, all space is in use;
 * EIO, the power is off, or went before the request was done; EROFS, too many blocks went bad;
 * EFAULT, memory that is not there or may not be written: nothing was done, unless it went
 * meanwhile; ENOMEM, there is none; EINTR, a signal ended a wait: for migrations, or, one that
 * kills or closes a ring, for flash that has much to do, and @done blocks were done; ENODEV, of
 * open(): the device is not ready yet.
 */
#ifndef _UAPI_EVENKEEL_NAMELESS_H
#define _UAPI_EVENKEEL_NAMELESS_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* What a client says of a block: recorded with it, and part of its name. */
struct nl_meta {
	__u64	word[3];
};

/* Where a block is, and what it is. */
struct nl_name {
	__u32	ppn;
	__u32	reserved;		/* 0 */
	struct nl_meta meta;
};

/* A block that was at @from is at @to; the old name is good until this is acknowledged. */
struct nl_move {
	__u32	from;
	__u32	to;
	struct nl_meta meta;
};

#define NL_IO_MAX	64u		/* blocks of a request */

/**
 * struct nl_names_io - a request
 * @names: struct nl_name[@nr]; of a write, the metadata goes in, the addresses come out
 * @old: of a write: struct nl_name[@nr] that are overwritten; 0: new blocks
 * @data: @nr blocks
 * @nr: 1 to NL_IO_MAX
 * @done: out: so many of them were done; the one after these is what the error is about
 */
struct nl_names_io {
	__u64	names;
	__u64	old;
	__u64	data;
	__u32	nr;
	__u32	done;
};

/**
 * struct nl_names_uring - a request by io_uring, in its SQE
 * @io: struct nl_names_io
 * @reserved: 0
 *
 * An IORING_OP_URING_CMD whose cmd_op is NL_IOC_WRITE, NL_IOC_READ or NL_IOC_FREE; any other says
 * ENOTTY. The result is 0 or a negative error number. What it points to is looked at and filled in
 * at any time until then, by a worker of io_uring's maybe, and must stay for as long. What is
 * submitted together is done in any order, what is linked (IOSQE_IO_LINK) in turn. All that is
 * linked needs IOSQE_ASYNC: without, kernels such as 6.12 keep no copy of an SQE for later than its
 * submission, and a request whose slot may be another's by then says EINVAL and does nothing. There
 * are no registered buffers (EINVAL) and no polled rings (EOPNOTSUPP).
 *
 * A request has the file for a moment longer than its completion tells, so opening the device again
 * right after the last one may say EBUSY: try again.
 */
struct nl_names_uring {
	__u64	io;
	__u64	reserved;
};

/**
 * struct nl_names_list - valid blocks
 * @names: struct nl_name[@nr], filled in
 * @nr: in: room, out: how many; 0: that is all
 * @from: in: 0 at first, out: where to go on; no address, but not beyond the number of them
 *
 * Reading them takes the time that the flash takes, less for each when more are asked for at once.
 * In what order they come is the device's business.
 */
struct nl_names_list {
	__u64	names;
	__u32	nr;
	__u32	from;
};

/**
 * struct nl_names_acks - migrations that the client has made its own
 * @moves: struct nl_move[@nr]; those that wait no more are passed over
 * @nr: 1 to NL_IO_MAX
 * @reserved: 0
 */
struct nl_names_acks {
	__u64	moves;
	__u32	nr;
	__u32	reserved;
};

/**
 * struct nl_names_info - the device
 * @block_bytes: of a block
 * @addresses: all are below this
 * @space: blocks and pages of the virtual segment that there may be
 * @used: that there are
 * @valid: blocks of these
 * @waiting: migrations that are not acknowledged
 * @cuts: how often the power went
 */
struct nl_names_info {
	__u32	block_bytes;
	__u32	addresses;
	__u32	space;
	__u32	used;
	__u32	valid;
	__u32	waiting;
	__u64	cuts;
};

#define NL_IOC		0xeb
#define NL_IOC_INFO	_IOR(NL_IOC, 0, struct nl_names_info)
#define NL_IOC_WRITE	_IOWR(NL_IOC, 1, struct nl_names_io)
#define NL_IOC_READ	_IOWR(NL_IOC, 2, struct nl_names_io)
#define NL_IOC_FREE	_IOWR(NL_IOC, 3, struct nl_names_io)
#define NL_IOC_LIST	_IOWR(NL_IOC, 4, struct nl_names_list)
#define NL_IOC_ACK	_IOW(NL_IOC, 5, struct nl_names_acks)
#define NL_IOC_CUTS	_IOR(NL_IOC, 6, __u64)	/* @cuts of struct nl_names_info, alone */

#ifndef __cplusplus
_Static_assert(sizeof(struct nl_meta) == 24, "metadata");
_Static_assert(sizeof(struct nl_name) == 32, "name");
_Static_assert(sizeof(struct nl_move) == 32, "migration");
_Static_assert(sizeof(struct nl_names_io) == 32, "request");
_Static_assert(sizeof(struct nl_names_uring) == 16, "request in an SQE");
_Static_assert(sizeof(struct nl_names_list) == 16, "list");
_Static_assert(sizeof(struct nl_names_acks) == 16, "acknowledgements");
_Static_assert(sizeof(struct nl_names_info) == 32, "info");
#endif

#endif
