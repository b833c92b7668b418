/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands of io_uring for drivers. */
#ifndef COMPAT_IO_URING_H
#define COMPAT_IO_URING_H

#include "compat.h"

#ifdef HAVE_IO_URING_CMD_SQE
#include <linux/io_uring/cmd.h>
#else
#include <linux/io_uring.h>
#endif

/*
 * A program may use the slot of an SQE again as soon as it was submitted. 6.1 gives drivers a copy
 * whenever they may be called later than that. Later kernels have room for one (async_data), but
 * 6.12 makes it at submission for what has IOSQE_ASYNC only, and what it copies after -EAGAIN it
 * does not give to the driver. So the driver does that here; and cmd->sqe, which every submission
 * sets anew, tells whether there is a copy. Without one the slot may be looked at while SQEs are
 * submitted: only then the kernel's head of the ring, which the lock that is held protects, is not
 * the program's. What is left came without a copy and too late: later requests of a chain, and its
 * first one when the chain has no end or waits for others, from task work or straight to a worker.
 */
#ifdef HAVE_IO_URING_CACHE
static inline bool compat_uring_is_stable(const struct io_uring_cmd *cmd, unsigned int flags)
{
	const struct io_kiocb *req = cmd_to_io_kiocb(cmd);

	return cmd->sqe == req->async_data ||
	       (flags & IO_URING_F_NONBLOCK &&
		READ_ONCE(req->ctx->rings->sq.head) != req->ctx->cached_sq_head);
}

/* What the submitter put into the SQE for the driver; NULL: nobody knows any more. */
static inline const void *compat_uring_data(const struct io_uring_cmd *cmd, unsigned int flags)
{
	return compat_uring_is_stable(cmd, flags) ? io_uring_sqe_cmd(cmd->sqe) : NULL;
}

/* Where one must not wait: have a worker call again, with what is in the SQE now. */
static inline int compat_uring_again(struct io_uring_cmd *cmd, unsigned int flags)
{
	void *copy = cmd_to_io_kiocb(cmd)->async_data;

	if (cmd->sqe != copy) {
		memcpy(copy, cmd->sqe, sizeof(*cmd->sqe) << !!(flags & IO_URING_F_SQE128));
		cmd->sqe = copy;
	}
	return -EAGAIN;
}
#elif defined(HAVE_IO_URING_CMD_SQE)
/* From 6.15 on the kernel copies by itself, and points there. */
static inline const void *compat_uring_data(const struct io_uring_cmd *cmd, unsigned int flags)
{
	return io_uring_sqe_cmd(cmd->sqe);
}

static inline int compat_uring_again(struct io_uring_cmd *cmd, unsigned int flags)
{
	return -EAGAIN;
}
#else
static inline const void *compat_uring_data(const struct io_uring_cmd *cmd, unsigned int flags)
{
	return cmd->cmd;
}

static inline int compat_uring_again(struct io_uring_cmd *cmd, unsigned int flags)
{
	return -EAGAIN;
}
#endif

/* Something small of the driver's that goes with a command until it is done. */
static inline void **compat_uring_private(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(offsetof(struct io_uring_cmd, pdu) % sizeof(void *));
	return (void **)cmd->pdu;
}

#endif
