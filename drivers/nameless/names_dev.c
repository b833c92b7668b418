// SPDX-License-Identifier: GPL-2.0-only
/* The physical segment for programs: a character device, which is a client (client.c). */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <compat/io_uring.h>
#include <evenkeel/nameless_client.h>

#include "dev.h"
#include "names_io.h"

#define NL_RING	256u	/* migrations that a program has not read */

/**
 * struct nl_names - an open character device
 * @client: of the device
 * @lock: of what follows
 * @wait: for migrations
 * @ring: that came
 * @first: the oldest one's number
 * @nr: of them
 * @restarted: the power was cut since the last NL_IOC_INFO
 * @restarts: how often that was told
 * @gone: the device was removed
 * @reading: one read() takes migrations out at a time, and none while they are told anew
 * @places: for requests of io_uring's workers
 */
struct nl_names {
	struct nl_client *client;
	spinlock_t lock;	/* see above */
	wait_queue_head_t wait;
	struct nl_move ring[NL_RING];
	unsigned int first, nr;
	bool restarted;
	unsigned int restarts;
	bool gone;
	struct mutex reading;		/* see above; outside of @lock */
	struct semaphore places;
};

/* None till the program knows of a cut. */
static unsigned int nl_names_moved(void *ctx, const struct nl_move *moves, unsigned int nr)
{
	struct nl_names *names = ctx;
	unsigned int taken = 0;

	spin_lock(&names->lock);
	while (taken < nr && names->nr < NL_RING && !names->restarted)
		names->ring[(names->first + names->nr++) % NL_RING] = moves[taken++];
	spin_unlock(&names->lock);
	wake_up_interruptible(&names->wait);
	return taken;
}

/* What was not read is told again: all that is not acknowledged is. */
static void nl_names_restarted(void *ctx)
{
	struct nl_names *names = ctx;

	spin_lock(&names->lock);
	names->restarted = true;
	names->restarts++;
	names->nr = 0;
	spin_unlock(&names->lock);
	wake_up_interruptible(&names->wait);
}

static void nl_names_gone(void *ctx)
{
	struct nl_names *names = ctx;

	WRITE_ONCE(names->gone, true);
	wake_up_interruptible(&names->wait);
}

static const struct nl_client_ops nl_names_ops = {
	.moved = nl_names_moved,
	.restarted = nl_names_restarted,
	.gone = nl_names_gone,
};

static int nl_names_open(struct inode *inode, struct file *file)
{
	struct nl_dev *dev = container_of(file->private_data, struct nl_dev, names);
	struct nl_names *names;
	int err;

	/* Its node is there before the disk is, which may fail yet. */
	if (!READ_ONCE(dev->live))
		return -ENODEV;
	names = kzalloc(sizeof(*names), GFP_KERNEL);
	if (!names)
		return -ENOMEM;
	mutex_init(&names->reading);
	sema_init(&names->places, NL_NAMES_PLACES);
	spin_lock_init(&names->lock);
	init_waitqueue_head(&names->wait);
	names->client = nl_client_attach(dev, &nl_names_ops, names);
	if (IS_ERR(names->client)) {
		err = PTR_ERR(names->client);
		kfree(names);
		return err;
	}
	file->private_data = names;
	return 0;
}

static int nl_names_release(struct inode *inode, struct file *file)
{
	struct nl_names *names = file->private_data;

	nl_client_unregister(names->client);
	kfree(names);
	return 0;
}

/* --- controls --------------------------------------------------------------------------------- */

static long nl_names_list(struct nl_names *names, void __user *user)
{
	struct nl_names_list arg;
	struct nl_name *list;
	int n;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (!arg.nr || arg.nr > NL_IO_MAX)
		return -EINVAL;
	list = kcalloc(arg.nr, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	n = nl_client_list(names->client, &arg.from, list, arg.nr);
	arg.nr = max(n, 0);
	if (n >= 0 && (copy_to_user(u64_to_user_ptr(arg.names), list, n * sizeof(*list)) ||
		       copy_to_user(user, &arg, sizeof(arg))))
		n = -EFAULT;
	kfree(list);
	return min(n, 0);
}

static long nl_names_ack(struct nl_names *names, void __user *user)
{
	struct nl_names_acks arg;
	struct nl_move *moves;
	long err;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (!arg.nr || arg.nr > NL_IO_MAX || arg.reserved)
		return -EINVAL;
	moves = memdup_user(u64_to_user_ptr(arg.moves), arg.nr * sizeof(*moves));
	if (IS_ERR(moves))
		return PTR_ERR(moves);
	err = nl_client_acknowledge(names->client, moves, arg.nr);
	kfree(moves);
	return err;
}

/*
 * What there is, and of which notice of a cut that is true: a program that learns here of a cut is
 * not to be told of it again.
 */
static int nl_names_ask_info(struct nl_names *names, struct nl_names_info *info,
			     unsigned int *restarts)
{
	int err;

	nl_client_is_behind(names->client);
	do {
		*restarts = READ_ONCE(names->restarts);
		err = nl_client_info(names->client, info);
		nl_client_is_behind(names->client);
	} while (!err && *restarts != READ_ONCE(names->restarts));
	return err;
}

/*
 * The notice of a restart ends, if it is the one that the program has got, and what was told and
 * not acknowledged is told anew. Not in the middle of a read() that took something out before it.
 */
static int nl_names_heard(struct nl_names *names, unsigned int restarts, u64 cuts)
{
	bool told;

	if (mutex_lock_interruptible(&names->reading))
		return -ERESTARTSYS;
	spin_lock(&names->lock);
	told = names->restarted && names->restarts == restarts;
	if (told)
		names->restarted = false;
	spin_unlock(&names->lock);
	if (told)
		nl_client_heard(names->client, cuts);
	mutex_unlock(&names->reading);
	return 0;
}

static long nl_names_info(struct nl_names *names, void __user *user)
{
	struct nl_names_info info;
	unsigned int restarts;
	int err;

	err = nl_names_ask_info(names, &info, &restarts);
	if (err)
		return err;
	if (copy_to_user(user, &info, sizeof(info)))
		return -EFAULT;
	return nl_names_heard(names, restarts, info.cuts);
}

/* How often the power went: who asks only that may have to hear of a cut in another way yet. */
static long nl_names_cuts(struct nl_names *names, __u64 __user *user)
{
	struct nl_names_info info;
	int err = nl_client_info(names->client, &info);

	if (err)
		return err;
	return put_user(info.cuts, user) ? -EFAULT : 0;
}

/* What a file may be used for that was opened to read, or to write. */
static fmode_t nl_names_mode(unsigned int cmd)
{
	switch (cmd) {
	case NL_IOC_WRITE:
	case NL_IOC_FREE:
	case NL_IOC_ACK:
		return FMODE_WRITE;
	case NL_IOC_READ:
	case NL_IOC_LIST:
		return FMODE_READ;
	default:
		return 0;
	}
}

static long nl_names_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct nl_names *names = file->private_data;
	void __user *user = (void __user *)arg;

	if (nl_names_mode(cmd) & ~file->f_mode)
		return -EBADF;
	switch (cmd) {
	case NL_IOC_INFO:
		return nl_names_info(names, user);
	case NL_IOC_CUTS:
		return nl_names_cuts(names, user);
	case NL_IOC_WRITE:
		return nl_names_io(names->client, NL_CLIENT_WRITE, user);
	case NL_IOC_READ:
		return nl_names_io(names->client, NL_CLIENT_READ, user);
	case NL_IOC_FREE:
		return nl_names_io(names->client, NL_CLIENT_FREE, user);
	case NL_IOC_LIST:
		return nl_names_list(names, user);
	case NL_IOC_ACK:
		return nl_names_ack(names, user);
	default:
		return -ENOTTY;
	}
}

/* The requests that may wait for the flash, without waiting for it (io_uring). */
static int nl_names_uring_cmd(struct io_uring_cmd *cmd, unsigned int flags)
{
	struct nl_names *names = cmd->file->private_data;

	if (nl_names_mode(cmd->cmd_op) & ~cmd->file->f_mode)
		return -EBADF;
	switch (cmd->cmd_op) {
	case NL_IOC_WRITE:
		return nl_names_io_async(names->client, &names->places, NL_CLIENT_WRITE, cmd,
					 flags);
	case NL_IOC_READ:
		return nl_names_io_async(names->client, &names->places, NL_CLIENT_READ, cmd,
					 flags);
	case NL_IOC_FREE:
		return nl_names_io_async(names->client, &names->places, NL_CLIENT_FREE, cmd,
					 flags);
	default:
		return -ENOTTY;
	}
}

/* --- migrations ------------------------------------------------------------------------------- */

static bool nl_names_first(struct nl_names *names, struct nl_move *move, unsigned int *restarts)
{
	bool is;

	spin_lock(&names->lock);
	*restarts = names->restarts;
	is = names->nr;
	if (is)
		*move = names->ring[names->first];
	spin_unlock(&names->lock);
	return is;
}

/* The program has it. After a cut the ring holds others. */
static void nl_names_taken(struct nl_names *names, unsigned int restarts)
{
	spin_lock(&names->lock);
	if (names->restarts == restarts) {
		names->first = (names->first + 1) % NL_RING;
		names->nr--;
	}
	spin_unlock(&names->lock);
}

/* Another reader's memory may take for ever: a page of it is somebody's to give, or a server's. */
static int nl_names_lock(struct nl_names *names, bool wait)
{
	if (!wait)
		return mutex_trylock(&names->reading) ? 0 : -EAGAIN;
	return mutex_lock_interruptible(&names->reading) ? -ERESTARTSYS : 0;
}

static ssize_t nl_names_fill(struct nl_names *names, char __user *user, size_t len, bool wait)
{
	unsigned int restarts;
	struct nl_move move;
	size_t at = 0;
	int err = nl_names_lock(names, wait);

	if (err)
		return err;
	while (at + sizeof(move) <= len && nl_names_first(names, &move, &restarts)) {
		if (copy_to_user(user + at, &move, sizeof(move))) {
			mutex_unlock(&names->reading);
			return at ?: -EFAULT;
		}
		nl_names_taken(names, restarts);
		at += sizeof(move);
	}
	mutex_unlock(&names->reading);
	return at;
}

static ssize_t nl_names_read(struct file *file, char __user *user, size_t len, loff_t *pos)
{
	struct nl_names *names = file->private_data;
	bool wait = !(file->f_flags & O_NONBLOCK);
	ssize_t r;

	if (len < sizeof(struct nl_move))
		return -EINVAL;
	do {
		if (nl_client_is_behind(names->client))
			return READ_ONCE(names->gone) ? -EIO : 0;
		r = nl_names_fill(names, user, len, wait);
		nl_client_kick(names->client);
		if (r)
			return r;
		if (READ_ONCE(names->gone))
			return -EIO;
		if (READ_ONCE(names->restarted))
			return 0;
		if (!wait)
			return -EAGAIN;
		r = wait_event_interruptible(names->wait, READ_ONCE(names->nr) ||
					     READ_ONCE(names->restarted) ||
					     READ_ONCE(names->gone));
	} while (!r);
	return r;
}

static __poll_t nl_names_poll(struct file *file, poll_table *table)
{
	struct nl_names *names = file->private_data;

	poll_wait(file, &names->wait, table);
	return (READ_ONCE(names->nr) ? EPOLLIN | EPOLLRDNORM : 0) |
	       (READ_ONCE(names->restarted) ? EPOLLPRI : 0) |
	       (READ_ONCE(names->gone) ? EPOLLHUP | EPOLLERR : 0);
}

static const struct file_operations nl_names_fops = {
	.owner = THIS_MODULE,
	.open = nl_names_open,
	.release = nl_names_release,
	.read = nl_names_read,
	.poll = nl_names_poll,
	.unlocked_ioctl = nl_names_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.uring_cmd = nl_names_uring_cmd,
};

/**
 * nl_names_add - make the character device
 * @dev: the device
 *
 * Nothing if its FTL has no physical segment.
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number.
 */
int nl_names_add(struct nl_dev *dev)
{
	int err;

	if (dev->config.p[NL_P_FTL] != NL_FTL_NAMELESS)
		return 0;
	dev->names_node = kasprintf(GFP_KERNEL, NL_PREFIX "%s:names", dev->name);
	if (!dev->names_node)
		return -ENOMEM;
	dev->names = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR,
		.name = dev->names_node,
		.fops = &nl_names_fops,
		.mode = 0600,
	};
	err = misc_register(&dev->names);
	if (!err)
		return 0;
	kfree(dev->names_node);
	dev->names_node = NULL;
	return err;
}

/* Who has it open keeps it, without a device behind it. Context: lock held; sleeps. */
void nl_names_remove(struct nl_dev *dev)
{
	if (!dev->names_node)
		return;
	misc_deregister(&dev->names);
	kfree(dev->names_node);
	dev->names_node = NULL;
}
