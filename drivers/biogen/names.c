// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: evenkeel_biogen_names
 *
 * One more way of evenkeel_biogen's, `names`: the device is one of the nameless FTL, and bios go to
 * its physical segment. What is written for the first time gets a name, then it is overwritten. All
 * jobs on a device are on one file, whose pointers are in the virtual segment, as a file system
 * would have them. They are written behind a round if `commit` requests were done since, and behind
 * each in which blocks migrated; those migrations are acknowledged then.
 *
 * What is written to `recover`, DEVICE, makes the pointers of a file after a power cut: those that
 * were written are read and held against all names that the device lists. Reading gives the
 * nanoseconds, how many blocks there are, and how many blocks of pointers were wrong.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <compat/blkdev.h>
#include <evenkeel/nameless_client.h>

#include "biogen.h"
#include "names_table.h"

#define GEN_MOVES	4096u	/* that wait for the end of a round */
#define GEN_LISTED	640u	/* names at one go, of which the planes read many side by side */
#define GEN_MAGIC	0x62696f67656eULL

static unsigned int commit;
module_param(commit, uint, 0644);
MODULE_PARM_DESC(commit, "requests after which pointers are written; 0: never (0)");

static unsigned int committed;
module_param(committed, uint, 0644);
MODULE_PARM_DESC(committed, "blocks of pointers that were written because of that");

static unsigned int moved;
module_param(moved, uint, 0644);
MODULE_PARM_DESC(moved, "migrations that were told");

static unsigned int moved_written;
module_param(moved_written, uint, 0644);
MODULE_PARM_DESC(moved_written, "blocks of pointers that were written because of those");

static unsigned int most_moves;
module_param(most_moves, uint, 0644);
MODULE_PARM_DESC(most_moves, "migrations that waited at once at the end of a round");

/* A request. Of a write @name gets the address while it is submitted. */
struct gen_name {
	struct nl_client_io io;
	struct nl_name name;
	struct nl_name old;
	struct bio *bio;
};

/**
 * struct gen_names - a job
 * @client: of the device
 * @request: as many as the job's depth
 * @used: of these in this round
 * @since: requests since pointers were written
 * @lock: of what is below
 * @move: migrations told and not looked at
 * @nr_moves: of these
 * @full: more were told than there was room for
 */
struct gen_names {
	struct nl_client *client;
	struct gen_name *request;
	unsigned int used;
	unsigned int since;
	spinlock_t lock;	/* protects @move, @nr_moves and @full */
	struct nl_move *move;
	unsigned int nr_moves;
	bool full;
};

/* protects gen_table, of the last job's device, and gen_recovery; held for a whole job */
static DEFINE_MUTEX(gen_names_lock);
static struct gen_table gen_table;
static char gen_recovery[64];

static struct nl_meta gen_meta(u32 place)
{
	return (struct nl_meta){ { place, GEN_MAGIC, 0 } };
}

static unsigned int gen_names_moved(void *ctx, const struct nl_move *moves, unsigned int nr)
{
	struct gen_names *names = ctx;
	unsigned int n;

	spin_lock(&names->lock);
	n = min(nr, GEN_MOVES - names->nr_moves);
	names->full |= n < nr;
	memcpy(names->move + names->nr_moves, moves, n * sizeof(*moves));
	names->nr_moves += n;
	spin_unlock(&names->lock);
	return n;
}

static const struct nl_client_ops gen_client_ops = { .moved = gen_names_moved };

/* --- requests --------------------------------------------------------------------------------- */

static void gen_names_end(struct nl_client_io *io, int err)
{
	struct gen_name *request = container_of(io, struct gen_name, io);

	request->bio->bi_status = errno_to_blk_status(err);
	gen_done(request->bio);
}

static void gen_names_submit(struct gen_job *job, struct bio *bio)
{
	struct gen_names *names = job->private;
	struct gen_name *request = &names->request[names->used++];
	u32 place = bio->bi_iter.bi_sector / (PAGE_SIZE / SECTOR_SIZE);
	u32 ppn = gen_table_get(&gen_table, place);
	bool write = op_is_write(bio_op(bio));
	int err;

	*request = (struct gen_name){
		.name = { .ppn = ppn, .meta = gen_meta(place) },
		.old = { .ppn = ppn, .meta = gen_meta(place) },
		.bio = bio,
		.io = { .op = write ? NL_CLIENT_WRITE : NL_CLIENT_READ, .nr = 1,
			.data = page_address(bio_first_page_all(bio)), .end = gen_names_end },
	};
	request->io.name = &request->name;
	if (write && ppn != GEN_NO_NAME)
		request->io.old = &request->old;
	err = nl_client_submit(names->client, &request->io);
	if (err) {
		gen_names_end(&request->io, err);
		return;
	}
	/* The address is there, the time is not: another request for this place may come now. */
	if (write && request->io.done)
		gen_table_set(&gen_table, place, request->name.ppn);
}

/* Nothing is under way, so who has the old name here is who moved. */
static int gen_names_take(struct gen_job *job, unsigned int nr)
{
	struct gen_names *names = job->private;
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++) {
		u32 place = names->move[i].meta.word[0];

		if (place < gen_table.nr && gen_table_get(&gen_table, place) == names->move[i].from)
			gen_table_move(&gen_table, place, names->move[i].to);
	}
	moved += nr;
	err = gen_table_write(&gen_table, gen_table.moved, job->bdev, &moved_written);
	return err ?: nl_client_acknowledge(names->client, names->move, nr);
}

static int gen_names_look(struct gen_job *job)
{
	struct gen_names *names = job->private;
	unsigned int nr;
	bool full;
	int err;

	spin_lock(&names->lock);
	nr = names->nr_moves;
	spin_unlock(&names->lock);
	if (!nr)
		return 0;
	most_moves = max(most_moves, nr);
	err = gen_names_take(job, nr);
	spin_lock(&names->lock);
	names->nr_moves -= nr;
	memmove(names->move, names->move + nr, names->nr_moves * sizeof(*names->move));
	full = names->full;
	names->full = false;
	spin_unlock(&names->lock);
	if (full)
		nl_client_kick(names->client);
	return err;
}

static int gen_names_round(struct gen_job *job, unsigned int bios)
{
	struct gen_names *names = job->private;
	int err = gen_names_look(job);

	names->used = 0;
	names->since += bios;
	if (err || !commit || names->since < commit)
		return err;
	names->since = 0;
	return gen_table_write(&gen_table, gen_table.dirty, job->bdev, &committed);
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void gen_names_free(struct gen_names *names)
{
	kvfree(names->request);
	kvfree(names->move);
	kfree(names);
}

/* A device on which nothing has a name is another one. */
static int gen_names_file(struct gen_job *job, struct nl_client *client)
{
	struct nl_names_info info;
	int err = nl_client_info(client, &info);

	if (err)
		return err;
	if (info.block_bytes != PAGE_SIZE || job->area / PAGE_SIZE > info.space)
		return -EINVAL;
	if (!info.valid)
		return gen_table_make(&gen_table, job->path, info.space);
	return strcmp(gen_table.device, job->path) || gen_table.nr != info.space ? -ESTALE : 0;
}

static int gen_names_begin(struct gen_job *job)
{
	struct gen_names *names = kzalloc(sizeof(*names), GFP_KERNEL);
	int err = -ENOMEM;

	if (!names)
		return err;
	mutex_lock(&gen_names_lock);
	spin_lock_init(&names->lock);
	names->request = kvcalloc(job->depth, sizeof(*names->request), GFP_KERNEL);
	names->move = kvcalloc(GEN_MOVES, sizeof(*names->move), GFP_KERNEL);
	if (!names->request || !names->move)
		goto out;
	err = -EINVAL;
	if (job->bytes != PAGE_SIZE)
		goto out;
	names->client = nl_client_register(kbasename(job->path), &gen_client_ops, names);
	err = PTR_ERR_OR_ZERO(names->client);
	if (err)
		goto out;
	err = gen_names_file(job, names->client);
	if (err) {
		nl_client_unregister(names->client);
		goto out;
	}
	job->private = names;
	return 0;
out:
	mutex_unlock(&gen_names_lock);
	gen_names_free(names);
	return err;
}

static void gen_names_finish(struct gen_job *job)
{
	struct gen_names *names = job->private;

	nl_client_unregister(names->client);
	mutex_unlock(&gen_names_lock);
	gen_names_free(names);
}

static const struct gen_way gen_names_way = {
	.name = "names",
	.submit = gen_names_submit,
	.begin = gen_names_begin,
	.round = gen_names_round,
	.end = gen_names_finish,
};

/* --- after a cut ------------------------------------------------------------------------------ */

static unsigned int gen_nothing_moved(void *ctx, const struct nl_move *moves, unsigned int nr)
{
	return 0;
}

static const struct nl_client_ops gen_recovery_ops = { .moved = gen_nothing_moved };

/* What the pointers say against what there is. Return: blocks that there are. */
static int gen_recover_all(struct nl_client *client)
{
	struct nl_name *names = kvcalloc(GEN_LISTED, sizeof(*names), GFP_KERNEL);
	u32 from = 0;
	int n, i, all = 0;

	if (!names)
		return -ENOMEM;
	while ((n = nl_client_list(client, &from, names, GEN_LISTED)) > 0) {
		for (i = 0; i < n; i++) {
			u32 place = names[i].meta.word[0];

			if (names[i].meta.word[1] == GEN_MAGIC && place < gen_table.nr &&
			    gen_table_get(&gen_table, place) != names[i].ppn)
				gen_table_set(&gen_table, place, names[i].ppn);
		}
		all += n;
		cond_resched();
	}
	kvfree(names);
	return n ?: all;
}

static int gen_recover_on(struct nl_client *client, struct block_device *bdev, const char *path)
{
	struct nl_names_info info;
	u64 begin = ktime_get_ns();
	u32 written = 0;
	int all, err = nl_client_info(client, &info);

	if (!err)
		err = gen_table_make(&gen_table, path, info.space);
	if (!err)
		err = gen_table_read(&gen_table, bdev);
	if (err) {
		gen_table_drop(&gen_table);
		return err;
	}
	all = gen_recover_all(client);
	if (all < 0)
		return all;
	err = gen_table_write(&gen_table, gen_table.dirty, bdev, &written);
	sprintf(gen_recovery, "%llu %d %u", ktime_get_ns() - begin, all, written);
	return err;
}

static int gen_recover(const char *text, const struct kernel_param *param)
{
	struct compat_bdev opened;
	struct block_device *bdev;
	struct nl_client *client;
	char path[64];
	int err;

	if (sscanf(text, "%63s", path) != 1)
		return -EINVAL;
	mutex_lock(&gen_names_lock);
	bdev = compat_bdev_open(&opened, path, &gen_table);
	err = PTR_ERR_OR_ZERO(bdev);
	if (err)
		goto out;
	client = nl_client_register(kbasename(path), &gen_recovery_ops, NULL);
	err = PTR_ERR_OR_ZERO(client);
	if (!err) {
		err = gen_recover_on(client, bdev, path);
		nl_client_unregister(client);
	}
	compat_bdev_close(&opened);
out:
	mutex_unlock(&gen_names_lock);
	return err;
}

static int gen_recovered(char *text, const struct kernel_param *param)
{
	int n;

	mutex_lock(&gen_names_lock);
	n = sprintf(text, "%s\n", gen_recovery);
	mutex_unlock(&gen_names_lock);
	return n;
}

static const struct kernel_param_ops gen_recover_ops = {
	.set = gen_recover, .get = gen_recovered,
};
module_param_cb(recover, &gen_recover_ops, NULL, 0600);
MODULE_PARM_DESC(recover, "DEVICE; read: nanoseconds, blocks, blocks of pointers that were wrong");

static int __init gen_names_init(void)
{
	return gen_way_add(&gen_names_way);
}

static void __exit gen_names_exit(void)
{
	gen_way_remove();
	mutex_lock(&gen_names_lock);	/* a parameter may be at work */
	gen_table_drop(&gen_table);
	mutex_unlock(&gen_names_lock);
}

module_init(gen_names_init);
module_exit(gen_names_exit);

MODULE_DESCRIPTION("blocks without names for the generator of bios");
MODULE_AUTHOR("Evenkeel");
MODULE_LICENSE("GPL");
