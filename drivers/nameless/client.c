// SPDX-License-Identifier: GPL-2.0-only
/*
 * The physical segment for other drivers. A request is done as bios are (io.c): in memory when it
 * is submitted, under the device's lock; it ends when the flash would be done. Clients are told of
 * migrations by a work, which holds nothing while it does: they may write to the device, and have
 * locks of their own.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <evenkeel/copy.h>
#include <evenkeel/nameless_client.h>

#include "buf.h"
#include "dev.h"
#include "names.h"

#define NL_TELL		32	/* migrations at one go */
#define NL_AHEAD	(10 * NSEC_PER_SEC)	/* for which the flash may have been booked */
#define NL_LOOK		(HZ / 10)		/* whether that is so yet: a cut ends it */

/**
 * struct nl_client - who has a device's physical segment
 * @dev: the device
 * @ops: what to tell
 * @ctx: passed to them
 * @work: tells
 * @cuts: of the device's that it knows of: what it was told before is void, it says (io)
 * @noticed: of the device's that it was told of (io)
 * @fresh: it came while there was no FTL, and was told of nothing (io)
 * @full: it took less than there was, and has not kicked since (io)
 * @kicks: of it (io)
 * @gone: the device is (io)
 */
struct nl_client {
	struct nl_dev *dev;
	const struct nl_client_ops *ops;
	void *ctx;
	struct work_struct work;
	u64 cuts;
	u64 noticed;
	bool fresh;
	bool full;
	unsigned int kicks;
	bool gone;
};

/* --- telling ---------------------------------------------------------------------------------- */

/* The power is back, and it does not know that it went. Context: io held. */
static bool nl_client_missed(const struct nl_client *client)
{
	return client->dev->ftl && client->cuts != client->dev->cuts;
}

/* Is there something to tell? Context: io held. */
void nl_client_look(struct nl_dev *dev)
{
	struct nl_client *client = dev->client;

	if (!client || !dev->ftl)
		return;
	if (client->noticed != dev->cuts ||
	    (!nl_client_missed(client) && nl_name_untold(dev->ftl) && !client->full))
		queue_work(system_unbound_wq, &client->work);
}

/* There is an FTL again, in which all is as its client was told, if that is still there. */
void nl_client_start(struct nl_dev *dev)
{
	if (!dev->client || dev->client->fresh)
		nl_name_replay(dev->ftl);
	if (dev->client)
		dev->client->fresh = false;
	nl_client_look(dev);
}

/*
 * The device is removed, and nobody becomes its client any more: tell who is. He may wait for
 * what won't come.
 */
void nl_client_gone(struct nl_dev *dev)
{
	mutex_lock(&dev->io);
	if (dev->client) {
		dev->client->gone = true;
		queue_work(system_unbound_wq, &dev->client->work);
	}
	mutex_unlock(&dev->io);
}

static bool nl_client_is_gone(struct nl_client *client)
{
	bool gone;

	mutex_lock(&client->dev->io);
	gone = client->gone;
	mutex_unlock(&client->dev->io);
	return gone;
}

/*
 * @kicks: those that came before. Nothing for who is going: it is told to the next one; and nothing
 * for who does not know of a cut: he could not tell that from what he had before.
 */
static int nl_client_take(struct nl_client *client, struct nl_move *moves, bool *restarted,
			  unsigned int *kicks)
{
	struct nl_dev *dev = client->dev;
	int n = 0;

	mutex_lock(&dev->io);
	*restarted = dev->ftl && client->noticed != dev->cuts;
	if (*restarted)
		client->noticed = dev->cuts;
	*kicks = client->kicks;
	if (dev->client == client && dev->ftl && !nl_client_missed(client) && !client->full)
		n = nl_name_moves(dev->ftl, moves, NL_TELL);
	mutex_unlock(&dev->io);
	return max(n, 0);
}

/*
 * What it did not take. It may have made room, and kicked, between its refusal and this: nobody
 * would kick again, so what is put back here is told at once.
 */
static void nl_client_return(struct nl_client *client, const struct nl_move *moves,
			     unsigned int nr, unsigned int kicks)
{
	struct nl_dev *dev = client->dev;

	mutex_lock(&dev->io);
	client->full = client->kicks == kicks;
	for (; nr && dev->client == client && dev->ftl; nr--)
		nl_name_untell(dev->ftl, moves++);
	nl_client_look(dev);
	mutex_unlock(&dev->io);
}

static void nl_client_work(struct work_struct *work)
{
	struct nl_client *client = container_of(work, struct nl_client, work);
	struct nl_move moves[NL_TELL];
	unsigned int n, taken, kicks;
	bool restarted;

	if (nl_client_is_gone(client)) {
		if (client->ops->gone)
			client->ops->gone(client->ctx);
		return;
	}
	do {
		n = nl_client_take(client, moves, &restarted, &kicks);
		if (restarted && client->ops->restarted)
			client->ops->restarted(client->ctx);
		taken = n ? client->ops->moved(client->ctx, moves, n) : 0;
		if (taken < n)
			nl_client_return(client, moves + taken, n - taken, kicks);
		cond_resched();
	} while (n && taken == n);
}

/**
 * nl_client_kick - tell of what was not taken
 * @client: has room again
 *
 * Context: process context; sleeps.
 */
void nl_client_kick(struct nl_client *client)
{
	mutex_lock(&client->dev->io);
	client->full = false;
	client->kicks++;
	nl_client_look(client->dev);
	mutex_unlock(&client->dev->io);
}
EXPORT_SYMBOL_GPL(nl_client_kick);

/**
 * nl_client_heard - the client knows of a power cut
 * @client: it has forgotten all migrations that it was told of and has not acknowledged
 * @cuts: of nl_client_info(), after which it forgot them; after ops->restarted()
 *
 * Those that wait are told again, unless there was another cut meanwhile.
 * Context: process context, also from ops->restarted(); sleeps.
 */
void nl_client_heard(struct nl_client *client, u64 cuts)
{
	struct nl_dev *dev = client->dev;

	mutex_lock(&dev->io);
	if (dev->ftl && cuts == dev->cuts) {
		if (client->cuts != cuts)
			nl_name_replay(dev->ftl);
		client->cuts = cuts;
		client->full = false;
		client->kicks++;
		nl_client_look(dev);
	}
	mutex_unlock(&dev->io);
}
EXPORT_SYMBOL_GPL(nl_client_heard);

/**
 * nl_client_is_behind - the power was cut, is back, and the client has not said that it knows
 * @client: who
 *
 * Then it was told of that, too, when this returns.
 * Context: process context, not from its own ops, nor with a lock that these take; sleeps.
 * Return: so it is.
 */
bool nl_client_is_behind(struct nl_client *client)
{
	bool behind;

	mutex_lock(&client->dev->io);
	behind = nl_client_missed(client);
	mutex_unlock(&client->dev->io);
	/* That it was noticed may have been taken, and not told yet. */
	if (behind)
		flush_work(&client->work);
	return behind;
}
EXPORT_SYMBOL_GPL(nl_client_is_behind);

/* --- coming and going ------------------------------------------------------------------------- */

static int nl_client_enter(struct nl_dev *dev, struct nl_client *client)
{
	int err = 0;

	mutex_lock(&dev->io);
	if (dev->config.p[NL_P_FTL] != NL_FTL_NAMELESS)
		err = -EOPNOTSUPP;
	else if (dev->client)
		err = -EBUSY;
	if (!err) {
		dev->client = client;
		client->cuts = dev->cuts;
		client->noticed = dev->cuts;
		client->fresh = true;
		if (dev->ftl)
			nl_client_start(dev);
	}
	mutex_unlock(&dev->io);
	return err;
}

/* As nl_client_register(), of a device that can't go. The client has it open. */
struct nl_client *nl_client_attach(struct nl_dev *dev, const struct nl_client_ops *ops, void *ctx)
{
	struct nl_client *client = kzalloc(sizeof(*client), GFP_KERNEL);
	int err;

	if (!client)
		return ERR_PTR(-ENOMEM);
	client->dev = dev;
	client->ops = ops;
	client->ctx = ctx;
	INIT_WORK(&client->work, nl_client_work);
	err = nl_dev_use(dev) ? 0 : -EBUSY;
	if (!err) {
		config_item_get(&dev->item);
		err = nl_client_enter(dev, client);
		if (!err)
			return client;
		nl_dev_unuse(dev);
		config_item_put(&dev->item);
	}
	kfree(client);
	return ERR_PTR(err);
}

/**
 * nl_client_register - become the client of a device
 * @device: its name
 * @ops: what to tell; may be called before this returns
 * @ctx: passed to them
 *
 * All migrations that are not acknowledged are told. The device can't be deleted, but its directory
 * may be removed: then all requests fail with -EIO.
 * Context: process context; sleeps.
 * Return: the client; -ENODEV; -EOPNOTSUPP if its FTL is another; -EBUSY if there is a client, or
 * the device is being changed; -ENOMEM.
 */
struct nl_client *nl_client_register(const char *device, const struct nl_client_ops *ops, void *ctx)
{
	struct nl_dev *dev = nl_config_find(device);
	struct nl_client *client = ERR_PTR(-ENODEV);

	if (!dev)
		return client;
	mutex_lock(&dev->lock);
	if (dev->live)
		client = nl_client_attach(dev, ops, ctx);
	mutex_unlock(&dev->lock);
	config_item_put(&dev->item);
	return client;
}
EXPORT_SYMBOL_GPL(nl_client_register);

/**
 * nl_client_unregister - be it no more
 * @client: without requests under way; it is told of nothing after this
 *
 * Context: process context, not from its own ops; sleeps.
 */
void nl_client_unregister(struct nl_client *client)
{
	struct nl_dev *dev = client->dev;

	mutex_lock(&dev->io);
	dev->client = NULL;
	if (dev->ftl)
		nl_name_replay(dev->ftl);	/* what it was told counts no more */
	mutex_unlock(&dev->io);
	cancel_work_sync(&client->work);
	nl_dev_unuse(dev);
	config_item_put(&dev->item);
	kfree(client);
}
EXPORT_SYMBOL_GPL(nl_client_unregister);

/* --- requests --------------------------------------------------------------------------------- */

static int nl_client_call(struct nl_dev *dev, struct nl_client_io *io, unsigned int i,
			  struct nl_buf **buf, struct nl_io *when)
{
	struct nl_ftl *ftl = dev->ftl;

	switch (io->op) {
	case NL_CLIENT_READ:
		return nl_name_read(ftl, &io->name[i], buf, when);
	case NL_CLIENT_WRITE:
		return nl_name_write(ftl, io->old ? &io->old[i] : NULL, &io->name[i].meta, *buf,
				     &io->name[i].ppn, when);
	case NL_CLIENT_FREE:
		return nl_name_free(ftl, &io->name[i], when);
	}
	return -EINVAL;
}

/* One block, with the device's lock. *@due: when all so far is done. */
static int nl_client_locked(struct nl_dev *dev, struct nl_client_io *io, unsigned int i,
			    struct nl_buf **buf, u64 came, u64 *due)
{
	struct nl_io when = { .came = came };
	unsigned int noio;
	int err;

	mutex_lock(&dev->io);
	if (dev->off) {
		mutex_unlock(&dev->io);
		return -EIO;
	}
	nl_idle_seen(dev, came, io->op != NL_CLIENT_READ);
	noio = memalloc_noio_save();
	when.now = max(came, dev->ready);
	err = nl_client_call(dev, io, i, buf, &when);
	memalloc_noio_restore(noio);
	if (!err)
		*due = max(*due, when.done);
	nl_power_look(dev);
	mutex_unlock(&dev->io);
	return err == -ESHUTDOWN ? -EIO : err;
}

static int nl_client_block(struct nl_dev *dev, struct nl_client_io *io, unsigned int i, u64 came,
			   u64 *due)
{
	void *data = io->data + (size_t)i * dev->page_bytes;
	struct nl_buf *buf = NULL;
	int err;

	if (io->op == NL_CLIENT_WRITE) {
		buf = nl_buf_alloc_user(dev->page_bytes, false);
		if (!buf)
			return -ENOMEM;
		ek_copy(nl_buf_data(buf), data, dev->page_bytes);
	}
	err = nl_client_locked(dev, io, i, &buf, came, due);
	if (!err && io->op == NL_CLIENT_READ && buf)
		ek_copy(data, nl_buf_data(buf), dev->page_bytes);
	else if (!err && io->op == NL_CLIENT_READ)
		memset(data, 0, dev->page_bytes);
	if (!err || io->op == NL_CLIENT_WRITE)
		nl_buf_put(buf);
	return err;
}

static void nl_client_end(void *ctx, blk_status_t status)
{
	struct nl_client_io *io = ctx;

	io->end(io, status ? blk_status_to_errno(status) : io->error);
}

/* ns until a block may be begun. A guess, as no lock is held. */
static u64 nl_client_ahead(const struct nl_dev *dev)
{
	u64 booked = max(READ_ONCE(dev->ready), nl_timing_idle_at(&dev->flash.timing));
	u64 now = ktime_get_ns();

	return !READ_ONCE(dev->off) && booked > now + NL_AHEAD ? booked - now - NL_AHEAD : 0;
}

/*
 * Does nobody wait for what the task is doing? It is killed, or works for a ring that is closed,
 * which notifies its workers; a signal that stops or freezes a process is no reason, and stays
 * pending for a worker until it has nothing to do.
 */
bool nl_client_over(void)
{
	return fatal_signal_pending(current) ||
		(current->flags & PF_IO_WORKER && test_thread_flag(TIF_NOTIFY_SIGNAL));
}

/*
 * No request can be called off when it was begun, and io_uring waits for those of a ring that is
 * closed, for five minutes without complaint. So a block is begun when the flash has not much to do
 * before it; nor does it take long itself (nl_fit_block()). *@came: what time it is then. -EINTR.
 */
static int nl_client_turn(struct nl_dev *dev, u64 *came)
{
	u64 wait;

	while ((wait = nl_client_ahead(dev))) {
		if (nl_client_over())
			return -EINTR;
		schedule_timeout_killable(min_t(u64, nsecs_to_jiffies64(wait) + 1, NL_LOOK));
		*came = ktime_get_ns();
	}
	return 0;
}

/* Would a request have to wait for another one's turn? A guess, for who would rather not. */
bool nl_client_busy(const struct nl_client *client)
{
	return mutex_is_locked(&client->dev->io) || nl_client_ahead(client->dev);
}

/**
 * nl_client_submit - begin a request
 * @client: who
 * @io: the request; the client's again when io->end() is called, which may be before this returns
 *
 * Blocks are done in order. One that fails ends it; those before it are done, and io->done says how
 * many. When the power goes before the request's time it ends with -EIO, and any of it may be done;
 * -EBADMSG, the flash of a block can't be read, is of that block alone.
 * Context: process context; sleeps, for the flash only when that has more to do than 10 seconds
 * take: a signal that kills ends that with -EINTR.
 * Return: 0, and io->end() is called; -ENOMEM or -EINVAL, and it is not.
 */
int nl_client_submit(struct nl_client *client, struct nl_client_io *io)
{
	struct nl_dev *dev = client->dev;
	u64 came = ktime_get_ns(), due = came;
	struct nl_req *req;
	int err = 0;

	if (!io->nr || !io->name || (!io->data && io->op != NL_CLIENT_FREE))
		return -EINVAL;
	io->error = 0;
	req = nl_req_alloc_other(&dev->due, nl_client_end, io);
	if (!req)
		return -ENOMEM;
	for (io->done = 0; io->done < io->nr; io->done++) {
		err = nl_client_turn(dev, &came);
		if (!err)
			err = nl_client_block(dev, io, io->done, came, &due);
		if (err)
			break;
	}
	io->error = err;
	req->due = due;
	nl_due_at(&dev->due, req);
	return 0;
}
EXPORT_SYMBOL_GPL(nl_client_submit);

/**
 * struct nl_sync - a request whose client waits for it
 * @io: it
 * @over: it is
 * @left: who waits and who ends it: the later one frees it
 */
struct nl_sync {
	struct nl_client_io io;
	struct completion over;
	refcount_t left;
};

static void nl_sync_put(struct nl_sync *sync)
{
	if (refcount_dec_and_test(&sync->left))
		kfree(sync);
}

/* In any context; who waited may have been killed. */
static void nl_sync_end(struct nl_client_io *io, int err)
{
	struct nl_sync *sync = container_of(io, struct nl_sync, io);

	io->error = err;
	complete(&sync->over);
	nl_sync_put(sync);
}

static struct nl_sync *nl_sync_alloc(void)
{
	struct nl_sync *sync = kzalloc(sizeof(*sync), GFP_KERNEL);

	if (!sync)
		return NULL;
	init_completion(&sync->over);
	refcount_set(&sync->left, 2);
	return sync;
}

/* The request was begun. */
static int nl_sync_wait(struct nl_sync *sync)
{
	int err = wait_for_completion_killable(&sync->over) ? -EINTR : sync->io.error;

	nl_sync_put(sync);
	return err;
}

/*
 * A request whose end is waited for, and io->end() not called. Context: process context; sleeps.
 * Return: what it would be told, or nl_client_submit() returns; -EINTR, who waits is killed, and
 * what was begun goes on without him.
 */
int nl_client_do(struct nl_client *client, struct nl_client_io *io)
{
	struct nl_sync *sync = nl_sync_alloc();
	int err;

	if (!sync)
		return -ENOMEM;
	sync->io = *io;
	sync->io.end = nl_sync_end;
	err = nl_client_submit(client, &sync->io);
	if (err) {
		kfree(sync);
		return err;
	}
	io->done = sync->io.done;
	return nl_sync_wait(sync);
}

/**
 * nl_client_acknowledge - the client uses these old names no more
 * @client: who
 * @moves: what it was told, of blocks with no request under way; those that don't wait any more
 *	are passed over
 * @nr: of them
 *
 * Context: process context; sleeps.
 * Return: 0, -EIO while the power is off; -ECONNRESET, it was cut, and until nl_client_heard() what
 * the client was told is void.
 */
int nl_client_acknowledge(struct nl_client *client, const struct nl_move *moves, unsigned int nr)
{
	struct nl_dev *dev = client->dev;
	int err = 0;

	mutex_lock(&dev->io);
	if (dev->off)
		err = -EIO;
	else if (nl_client_missed(client))
		err = -ECONNRESET;
	for (; nr && !err; nr--, moves++)
		nl_name_acknowledge(dev->ftl, moves->from, &moves->meta);
	mutex_unlock(&dev->io);
	return err;
}
EXPORT_SYMBOL_GPL(nl_client_acknowledge);

/* *@due: when they have been read. */
static int nl_client_list_locked(struct nl_dev *dev, u32 *from, struct nl_name *names,
				 unsigned int max, u64 *due)
{
	struct nl_io io = { .came = ktime_get_ns() };
	int n = -EIO;

	mutex_lock(&dev->io);
	io.now = max(io.came, dev->ready);
	io.done = io.now;
	if (!dev->off)
		n = nl_name_list(dev->ftl, from, names, max, &io);
	mutex_unlock(&dev->io);
	*due = io.done;
	return n;
}

/**
 * nl_client_list - what valid blocks there are
 * @client: who
 * @from: 0 at first; then, where to go on
 * @names: result
 * @max: of them
 *
 * Their OOB is read, behind the start, and waited for as any request is.
 * Context: process context; sleeps.
 * Return: how many, 0 at the end; -EIO; -ENOMEM; -EINTR, it is killed.
 */
int nl_client_list(struct nl_client *client, u32 *from, struct nl_name *names, unsigned int max)
{
	struct nl_dev *dev = client->dev;
	struct nl_sync *sync = nl_sync_alloc();
	struct nl_req *req;
	int n, err;

	if (!sync)
		return -ENOMEM;
	sync->io.end = nl_sync_end;
	req = nl_req_alloc_other(&dev->due, nl_client_end, &sync->io);
	if (!req) {
		kfree(sync);
		return -ENOMEM;
	}
	n = nl_client_list_locked(dev, from, names, max, &req->due);
	nl_due_at(&dev->due, req);
	err = nl_sync_wait(sync);
	return n < 0 ? n : err ?: n;
}
EXPORT_SYMBOL_GPL(nl_client_list);

/**
 * nl_client_block_bytes - how large a block is
 * @client: who
 *
 * That stays as it is, whether the power is on or not.
 * Context: any.
 * Return: bytes.
 */
unsigned int nl_client_block_bytes(const struct nl_client *client)
{
	return client->dev->page_bytes;
}
EXPORT_SYMBOL_GPL(nl_client_block_bytes);

/**
 * nl_client_info - what the device is
 * @client: who
 * @info: result
 *
 * Context: process context; sleeps.
 * Return: 0, -EIO while the power is off.
 */
int nl_client_info(struct nl_client *client, struct nl_names_info *info)
{
	struct nl_dev *dev = client->dev;
	struct nl_ftl_stat stat;
	int err = -EIO;

	memset(info, 0, sizeof(*info));
	mutex_lock(&dev->io);
	if (!dev->off) {
		nl_ftl_stat(dev->ftl, &stat);
		info->block_bytes = dev->page_bytes;
		info->addresses = dev->flash.geo.nr_pages;
		info->space = dev->logical_pages;
		info->used = stat.mapped + stat.valid;
		info->valid = stat.valid;
		info->waiting = stat.waiting;
		info->cuts = dev->cuts;
		err = 0;
	}
	mutex_unlock(&dev->io);
	return err;
}
EXPORT_SYMBOL_GPL(nl_client_info);
