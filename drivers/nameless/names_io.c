// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a request of a program's needs is copied when it is begun, and what it gives is there then,
 * too: the FTL decides at once, only the time when it is done lies ahead. So a program's memory is
 * touched by who begins the request alone, the program or a worker of io_uring's with its memory.
 * A completion tells no more than the result, from whatever context: nothing of a program that has
 * gone is touched, and none of its data is kept for a request under way.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <compat/io_uring.h>

#include "dev.h"
#include "names_io.h"

#define NL_QUICK	65536u	/* bytes that a submitter may copy which must not wait */

static bool nl_names_are_plain(const struct nl_name *names, u32 nr)
{
	while (nr--)
		if (names[nr].reserved)
			return false;
	return true;
}

/* Get what a program has in memory for a request of @nr names. */
static int nl_names_get(struct nl_client_io *io, const struct nl_names_io *arg, size_t data)
{
	size_t len = arg->nr * sizeof(struct nl_name);
	void *old;

	io->name = memdup_user(u64_to_user_ptr(arg->names), len);
	if (IS_ERR(io->name))
		return PTR_ERR(io->name);
	if (!nl_names_are_plain(io->name, arg->nr))
		return -EINVAL;
	if (arg->old) {
		old = memdup_user(u64_to_user_ptr(arg->old), len);
		if (IS_ERR(old))
			return PTR_ERR(old);
		io->old = old;
		if (!nl_names_are_plain(old, arg->nr))
			return -EINVAL;
	}
	if (io->op == NL_CLIENT_FREE)
		return 0;
	io->data = kvmalloc(data, GFP_KERNEL_ACCOUNT);
	if (!io->data)
		return -ENOMEM;
	if (io->op == NL_CLIENT_WRITE && copy_from_user(io->data, u64_to_user_ptr(arg->data), data))
		return -EFAULT;
	/* A block whose address can't be told is not written: who would free it? */
	if (io->op == NL_CLIENT_WRITE && copy_to_user(u64_to_user_ptr(arg->names), io->name, len))
		return -EFAULT;
	return 0;
}

static void nl_names_drop(struct nl_client_io *io)
{
	if (!IS_ERR(io->name))
		kfree(io->name);
	kfree(io->old);
	kvfree(io->data);
	io->name = NULL;
	io->old = NULL;
	io->data = NULL;
}

static int nl_names_give(const struct nl_client_io *io, const struct nl_names_io *arg, size_t block)
{
	if (io->op == NL_CLIENT_WRITE &&
	    copy_to_user(u64_to_user_ptr(arg->names), io->name, io->done * sizeof(*io->name)))
		return -EFAULT;
	if (io->op == NL_CLIENT_READ &&
	    copy_to_user(u64_to_user_ptr(arg->data), io->data, io->done * block))
		return -EFAULT;
	return 0;
}

/* @user is looked at once. */
static int nl_names_ask(enum nl_client_op op, struct nl_names_io __user *user,
			struct nl_names_io *arg)
{
	if (copy_from_user(arg, user, sizeof(*arg)))
		return -EFAULT;
	if (!arg->nr || arg->nr > NL_IO_MAX || (arg->old && op != NL_CLIENT_WRITE))
		return -EINVAL;
	return put_user(0, &user->done) ? -EFAULT : 0;
}

/* All that it needs. */
static int nl_names_prepare(struct nl_client *client, enum nl_client_op op,
			    struct nl_client_io *io, const struct nl_names_io *arg)
{
	int err;

	io->op = op;
	io->nr = arg->nr;
	err = nl_names_get(io, arg, arg->nr * (size_t)nl_client_block_bytes(client));
	if (err)
		nl_names_drop(io);
	return err;
}

/* Return: as nl_client_submit(). */
static int nl_names_begin(struct nl_client *client, enum nl_client_op op, struct nl_client_io *io,
			  const struct nl_names_io *arg)
{
	int err = nl_names_prepare(client, op, io, arg);

	if (err)
		return err;
	err = nl_client_submit(client, io);
	if (err)
		nl_names_drop(io);
	return err;
}

/* What it gives, and nothing of it is needed any more. */
static int nl_names_tell(struct nl_client *client, struct nl_client_io *io,
			 const struct nl_names_io *arg, struct nl_names_io __user *user)
{
	int err = nl_names_give(io, arg, nl_client_block_bytes(client));

	nl_names_drop(io);
	return err || !put_user(io->done, &user->done) ? err : -EFAULT;
}

/* --- ioctl ------------------------------------------------------------------------------------ */

long nl_names_io(struct nl_client *client, enum nl_client_op op, struct nl_names_io __user *user)
{
	struct nl_client_io io = {};
	struct nl_names_io arg;
	int err;

	err = nl_names_ask(op, user, &arg) ?: nl_names_prepare(client, op, &io, &arg);
	if (err)
		return err;
	err = nl_client_do(client, &io);
	return nl_names_tell(client, &io, &arg, user) ?: err;
}

/* --- io_uring --------------------------------------------------------------------------------- */

/**
 * struct nl_names_async - a request under way
 * @io: it
 * @cmd: io_uring's
 * @places: who begins it takes one, for as long as it has a copy of the data; NULL: needs none
 * @left: who submits and who ends it: the later one completes it
 * @failed: what it gives could not be copied
 * @err: its result
 */
struct nl_names_async {
	struct nl_client_io io;
	struct io_uring_cmd *cmd;
	struct semaphore *places;
	atomic_t left;
	int failed;
	int err;
};

static int nl_names_finish(struct nl_names_async *async)
{
	int err = async->failed ?: async->err;

	kfree(async);
	return err;
}

/* In the task that submitted, or, when that has gone, a worker. */
static void nl_names_complete(struct io_uring_cmd *cmd, unsigned int flags)
{
	io_uring_cmd_done(cmd, nl_names_finish(*compat_uring_private(cmd)), 0, flags);
}

/* In any context; who submits may be gone, with its memory. */
static void nl_names_async_end(struct nl_client_io *io, int err)
{
	struct nl_names_async *async = container_of(io, struct nl_names_async, io);

	async->err = err;
	if (atomic_dec_and_test(&async->left))
		io_uring_cmd_complete_in_task(async->cmd, nl_names_complete);
}

/*
 * Those who have the places may have to wait for the flash (nl_client_turn()), on behalf of another
 * ring: a ring that is closed ends its own waiting, as it does there.
 */
static int nl_names_enter(struct semaphore *places)
{
	if (!(current->flags & PF_IO_WORKER))
		return down_killable(places);
	while (down_timeout(places, HZ / 10))
		if (nl_client_over())
			return -EINTR;
	return 0;
}

/*
 * A request has a copy of its data while it waits for the device's lock, and a ring as many workers
 * as it has requests: only some of them copy at a time.
 */
static int nl_names_submit(struct nl_client *client, enum nl_client_op op,
			   struct nl_names_async *async, struct nl_names_io *arg,
			   struct nl_names_io __user *user)
{
	struct semaphore *places = async->places;
	int err;

	if (places && nl_names_enter(places))
		return -EINTR;
	err = nl_names_begin(client, op, &async->io, arg);
	if (!err)
		async->failed = nl_names_tell(client, &async->io, arg, user);
	if (places)
		up(places);
	if (err)
		return err;
	/* From here on the other one may end it, and with it the client. */
	return atomic_dec_and_test(&async->left) ? 0 : -EIOCBQUEUED;
}

static int nl_names_start(struct nl_client *client, struct semaphore *places,
			  enum nl_client_op op, struct io_uring_cmd *cmd,
			  struct nl_names_io *arg, struct nl_names_io __user *user)
{
	struct nl_names_async *async = kzalloc(sizeof(*async), GFP_KERNEL_ACCOUNT);
	int err;

	if (!async)
		return -ENOMEM;
	async->cmd = cmd;
	async->places = places;
	async->io.end = nl_names_async_end;
	atomic_set(&async->left, 2);
	*compat_uring_private(cmd) = async;
	err = nl_names_submit(client, op, async, arg, user);
	if (err == -EIOCBQUEUED)
		return err;
	if (err)
		async->err = err;
	return nl_names_finish(async);
}

/* Little to copy, and nobody to wait for: a worker would cost more than the request. */
static bool nl_names_is_quick(struct nl_client *client, const struct nl_names_io *arg)
{
	return (u64)arg->nr * nl_client_block_bytes(client) <= NL_QUICK && !nl_client_busy(client);
}

int nl_names_io_async(struct nl_client *client, struct semaphore *places, enum nl_client_op op,
		      struct io_uring_cmd *cmd, unsigned int flags)
{
	const struct nl_names_uring *sqe = compat_uring_data(cmd, flags);
	struct nl_names_io __user *user;
	struct nl_names_io arg;
	int err;

	if (!sqe || READ_ONCE(sqe->reserved) || cmd->flags & IORING_URING_CMD_FIXED)
		return -EINVAL;
	user = u64_to_user_ptr(READ_ONCE(sqe->io));
	err = nl_names_ask(op, user, &arg);
	if (err)
		return err;
	if (!(flags & IO_URING_F_NONBLOCK))
		return nl_names_start(client, places, op, cmd, &arg, user);
	if (!nl_names_is_quick(client, &arg))
		return compat_uring_again(cmd, flags);	/* io_uring has workers for that */
	return nl_names_start(client, NULL, op, cmd, &arg, user);
}
