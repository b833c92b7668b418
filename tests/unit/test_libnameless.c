// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libnameless tells of migrations while requests are under way. The device is a pipe: its
 * reader gets what a device tells. Its controls are below: a query tells of cuts, and each request
 * ends with an error, as it would anywhere, or as a test has it. The block device is a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ktap.h"
#include "../../tools/libnameless/internal.h"

#define BLOCKS	12u
#define DEPTH	6u
#define BLOCK	4096u
#define DISK	(8 * BLOCK)

/**
 * struct rig - a client
 * @dev: its device
 * @device: the other end: what it tells is written there
 * @ring: a ring
 * @req: its requests, one block each
 * @name: of each, and the names that they write over
 * @busy: these are under way
 * @random: state
 */
struct rig {
	struct nameless dev;
	int device;
	struct nameless_ring *ring;
	struct nameless_request req[DEPTH];
	struct nl_name name[DEPTH], old[DEPTH];
	bool busy[DEPTH];
	unsigned long long random;
};

static uint64_t cuts;		/* of the device */
static unsigned int queries;	/* that it had */
static int (*control)(unsigned long cmd, void *arg);

int ioctl(int file, unsigned long cmd, ...)
{
	va_list args;
	void *arg;
	int err;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	(void)file;
	if (cmd == NL_IOC_INFO) {
		queries++;
		*(struct nl_names_info *)arg = (struct nl_names_info){ .cuts = cuts };
		return 0;
	}
	if (cmd == NL_IOC_CUTS || cmd == BLKGETSIZE64) {
		*(uint64_t *)arg = cmd == NL_IOC_CUTS ? cuts : DISK;
		return 0;
	}
	err = control ? control(cmd, arg) : ENOTTY;
	errno = err;
	return err ? -1 : 0;
}

static unsigned int any(struct rig *rig, unsigned int below)
{
	rig->random = rig->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (rig->random >> 33) % below;
}

static void open_pipe(struct rig *rig)
{
	int file[2];

	CHECK(!pipe2(file, O_NONBLOCK | O_CLOEXEC));
	rig->dev.names = file[0];
	rig->device = file[1];
}

static void rig_init(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	rig->random = ktap_seed;
	cuts = queries = 0;
	control = NULL;
	open_pipe(rig);
	rig->dev.block_bytes = BLOCK;
	rig->dev.disk = memfd_create("disk", MFD_CLOEXEC);
	CHECK(rig->dev.disk >= 0 && !ftruncate(rig->dev.disk, DISK));
	pthread_mutex_init(&rig->dev.lock, NULL);
	pthread_mutex_init(&rig->dev.telling, NULL);
	CHECK(!nameless_ring_open(&rig->dev, DEPTH, &rig->ring));
	CHECK(!nameless_ring_is_async(rig->ring));
}

static void rig_destroy(struct rig *rig)
{
	nameless_ring_close(rig->ring);
	CHECK(!rig->dev.rings);
	close(rig->dev.names);
	close(rig->dev.disk);
	close(rig->device);
	free(rig->dev.kept);
}

static struct nl_meta meta_of(unsigned int block)
{
	return (struct nl_meta){ { block, 1, 2 } };
}

/* A block moved. */
static void move(struct rig *rig, unsigned int block, unsigned int from)
{
	struct nl_move move = { .from = from, .to = from + 1, .meta = meta_of(block) };

	CHECK(write(rig->device, &move, sizeof(move)) == sizeof(move));
}

static void begin(struct rig *rig, unsigned int i, enum nameless_op op, unsigned int block,
		  unsigned int old)
{
	rig->name[i].meta = meta_of(block);
	rig->old[i].meta = meta_of(old);
	rig->req[i] = (struct nameless_request){
		.op = op, .nr = 1, .names = &rig->name[i],
		.old = op == NAMELESS_WRITE && old != block ? &rig->old[i] : NULL,
	};
	CHECK(!nameless_ring_submit(rig->ring, &rig->req[i]));
	rig->busy[i] = true;
}

/* Which request that was. */
static unsigned int end(struct rig *rig)
{
	struct nameless_request *req = NULL;
	unsigned int i;

	CHECK(!nameless_ring_wait(rig->ring, &req));
	i = req - rig->req;
	CHECK(req->result == -ENOTTY && i < DEPTH && rig->busy[i]);
	rig->busy[i] = false;
	return i;
}

/* One migration: its old address; 0: none. */
static unsigned int told(struct rig *rig)
{
	struct nl_move move;
	int n = nameless_moves(&rig->dev, &move, 1, 0);

	CHECK(n == 0 || n == 1);
	return n == 1 ? move.from : 0;
}

static void test_kept(void)
{
	static const enum nameless_op ops[] = { NAMELESS_READ, NAMELESS_WRITE, NAMELESS_FREE };
	struct rig rig;
	unsigned int i;

	rig_init(&rig);
	for (i = 0; i < 3 && !ktap_failing(); i++) {
		begin(&rig, i, ops[i], 1, 1);
		move(&rig, 1, 10);
		move(&rig, 2, 20);
		move(&rig, 1, 11);
		CHECK(told(&rig) == 0);		/* it is read one at a time: the first is kept */
		CHECK(told(&rig) == 20 && told(&rig) == 0 && told(&rig) == 0);
		move(&rig, 1, 12);
		CHECK(end(&rig) == i);
		CHECK(told(&rig) == 10 && told(&rig) == 11 && told(&rig) == 12 && !told(&rig));
	}
	begin(&rig, 0, NAMELESS_WRITE, 1, 3);
	move(&rig, 3, 30);
	move(&rig, 1, 10);
	CHECK(!told(&rig) && !told(&rig));
	begin(&rig, 1, NAMELESS_READ, 3, 3);
	end(&rig);
	CHECK(told(&rig) == 10 && !told(&rig));
	end(&rig);
	CHECK(told(&rig) == 30 && !told(&rig));
	rig_destroy(&rig);
}

/* Requests of all rings count, until their ring has gone; one that was refused does not. */
static void test_rings(void)
{
	struct nameless_request req = { .op = NAMELESS_READ, .nr = 0 };
	struct nameless_ring *other;
	struct rig rig;

	rig_init(&rig);
	other = rig.ring;
	begin(&rig, 0, NAMELESS_FREE, 1, 1);
	CHECK(!nameless_ring_open(&rig.dev, 1, &rig.ring));
	CHECK(nameless_ring_submit(rig.ring, &req) == -EINVAL);
	begin(&rig, 1, NAMELESS_FREE, 2, 2);
	CHECK(nameless_ring_submit(rig.ring, &rig.req[2]) == -EINVAL);
	rig.req[2] = rig.req[1];
	rig.req[2].reserved[1] = 1;
	CHECK(nameless_ring_submit(rig.ring, &rig.req[2]) == -EINVAL);
	rig.req[2].reserved[1] = 0;
	CHECK(nameless_ring_submit(rig.ring, &rig.req[2]) == -EAGAIN);
	move(&rig, 1, 10);
	move(&rig, 2, 20);
	CHECK(!told(&rig) && !told(&rig));
	nameless_ring_close(other);
	CHECK(told(&rig) == 10 && !told(&rig));
	end(&rig);
	CHECK(told(&rig) == 20 && !told(&rig));
	rig_destroy(&rig);
}

static struct rig *in_a_call;

/* As another thread would be told. */
static int moves_in_a_call(unsigned long cmd, void *arg)
{
	struct nl_names_io *io = arg;

	(void)cmd;
	move(in_a_call, 1, 10);
	move(in_a_call, 9, 90);
	CHECK(!told(in_a_call) && told(in_a_call) == 90 && !told(in_a_call));
	io->done = io->nr;
	return 0;
}

/* So do migrations of a block that any other call has to do with. */
static void test_calls(void)
{
	struct nl_name names[] = { { .meta = meta_of(2) }, { .meta = meta_of(1) } };
	struct nl_name other[] = { { .meta = meta_of(3) }, { .meta = meta_of(4) } };
	struct rig rig;
	char data[2];

	rig_init(&rig);
	in_a_call = &rig;
	control = moves_in_a_call;
	CHECK(!nameless_write(&rig.dev, names, data, 2, NULL) && told(&rig) == 10);
	CHECK(!nameless_read(&rig.dev, names, data, 2, NULL) && told(&rig) == 10);
	CHECK(!nameless_free(&rig.dev, names, 2, NULL) && told(&rig) == 10);
	CHECK(!nameless_overwrite(&rig.dev, other, names, data, 2, NULL) && told(&rig) == 10);
	CHECK(!nameless_overwrite(&rig.dev, names, other, data, 2, NULL) && told(&rig) == 10);
	CHECK(!told(&rig));
	rig_destroy(&rig);
}

/* A migration of a block that a request is about. */
static void kept_back(struct rig *rig)
{
	rig_init(rig);
	begin(rig, 0, NAMELESS_WRITE, 1, 1);
	move(rig, 1, 10);
	CHECK(!told(rig));
}

/* After a cut nothing is told that was so before it. */
static void test_cut(void)
{
	struct nl_move moves[4];
	struct rig rig;

	kept_back(&rig);
	close(rig.device);	/* the reader finds its end, as after a cut */
	CHECK(nameless_moves(&rig.dev, moves, 4, 0) == -ECONNRESET);
	end(&rig);
	CHECK(nameless_moves(&rig.dev, moves, 4, 0) == -ECONNRESET);
	rig.device = -1;
	CHECK(nameless_moves(&rig.dev, moves, 0, 0) == -EINVAL);
	rig_destroy(&rig);
}

/* A query that takes the notice of a cut: what was kept is void, and its teller says so, once. */
static void test_queried_cut(void)
{
	struct nl_names_info info;
	struct nl_move moves[4];
	struct rig rig;

	kept_back(&rig);
	CHECK(!nameless_query(&rig.dev, &info));	/* no cut: nothing is forgotten */
	end(&rig);
	CHECK(told(&rig) == 10 && !told(&rig));

	begin(&rig, 0, NAMELESS_WRITE, 1, 1);
	move(&rig, 1, 20);
	CHECK(!nameless_moves(&rig.dev, moves, 4, 0));
	cuts++;
	end(&rig);
	CHECK(!nameless_query(&rig.dev, &info) && info.cuts == 1);
	move(&rig, 2, 30);
	CHECK(nameless_moves(&rig.dev, moves, 4, 0) == -ECONNRESET);
	CHECK(!nameless_query(&rig.dev, &info));
	CHECK(told(&rig) == 30 && !told(&rig));

	/* the device itself said so before the query did */
	cuts++;
	close(rig.device);
	CHECK(nameless_moves(&rig.dev, moves, 4, 0) == -ECONNRESET);
	close(rig.dev.names);
	open_pipe(&rig);
	CHECK(!nameless_query(&rig.dev, &info));
	CHECK(!told(&rig));
	rig_destroy(&rig);
}

static int discard(unsigned long cmd, void *arg)
{
	(void)arg;
	return cmd == BLKDISCARD ? 0 : ENOTTY;
}

/* One or the other: both wait for a flush. */
static int change(struct rig *rig, bool discards)
{
	static const char data[BLOCK];

	return discards ? nameless_discard(&rig->dev, BLOCK, BLOCK) :
			  nameless_pwrite(&rig->dev, data, BLOCK, BLOCK);
}

/* What a cut took out of the write buffer was not flushed, though every call returned 0. */
static void test_unflushed(void)
{
	struct rig rig;
	bool discards = false;

	rig_init(&rig);
	control = discard;
	do {
		CHECK(!nameless_flush(&rig.dev));
		cuts++;		/* nothing waits for a flush */
		CHECK(!nameless_flush(&rig.dev));
		CHECK(!change(&rig, discards) && !change(&rig, discards));
		CHECK(!nameless_flush(&rig.dev));
		CHECK(!change(&rig, discards));
		cuts++;
		CHECK(!change(&rig, discards));
		CHECK(nameless_flush(&rig.dev) == -EIO);
		CHECK(nameless_flush(&rig.dev) == -EIO);
		CHECK(!change(&rig, discards));	/* all of it again */
		CHECK(!nameless_flush(&rig.dev));
		discards = !discards;
	} while (discards);
	CHECK(!queries);	/* nameless_moves() has to tell of the cuts yet */
	rig_destroy(&rig);
}

/* A call that is under way when the device is flushed is of the next flush, too. */
static void test_unflushed_under_way(void)
{
	struct rig rig;

	rig_init(&rig);
	CHECK(!change(&rig, false));
	rig.dev.unflushed.busy++;
	CHECK(!nameless_flush(&rig.dev));
	rig.dev.unflushed.busy--;
	cuts++;
	CHECK(nameless_flush(&rig.dev) == -EIO);
	rig_destroy(&rig);
}

static int acknowledges(unsigned long cmd, void *arg)
{
	return cmd == NL_IOC_ACK ? 0 : ENOTTY;
}

/* What a query has made void is not acknowledged by who does not know that yet. */
static void test_void_acknowledged(void)
{
	struct nl_move move = { .from = 1, .to = 2 };
	struct nl_names_info info;
	struct rig rig;

	rig_init(&rig);
	control = acknowledges;
	CHECK(!nameless_acknowledge(&rig.dev, &move, 1));
	cuts++;
	CHECK(!nameless_query(&rig.dev, &info));
	CHECK(nameless_acknowledge(&rig.dev, &move, 1) == -ECONNRESET);
	CHECK(nameless_acknowledge(&rig.dev, &move, 1) == -ECONNRESET);
	CHECK(nameless_moves(&rig.dev, &move, 1, 0) == -ECONNRESET);
	CHECK(!nameless_acknowledge(&rig.dev, &move, 1));
	rig_destroy(&rig);
}

static int failure;

static int power_goes(unsigned long cmd, void *arg)
{
	struct nl_names_io *io = arg;

	(void)cmd;
	io->done = io->nr;
	return io->nr == NL_IO_MAX ? 0 : failure;
}

/* What a request was told before the power went is not known to be done. */
static void test_done(void)
{
	static struct nl_name names[2 * NL_IO_MAX];
	static char data[2 * NL_IO_MAX];
	struct nameless_request *req;
	unsigned int done;
	struct rig rig;

	rig_init(&rig);
	control = power_goes;
	for (failure = EIO; failure; failure = failure == EIO ? ESTALE : 0) {
		unsigned int told = failure == EIO ? 0 : 1;

		begin(&rig, 0, NAMELESS_WRITE, 1, 1);
		CHECK(!nameless_ring_wait(rig.ring, &req) && req->result == -failure);
		CHECK(req->done == told);
		CHECK(nameless_write(&rig.dev, names, data, NL_IO_MAX + 1, &done) == -failure);
		CHECK(done == NL_IO_MAX + told);
	}
	rig_destroy(&rig);
}

/* Each is told once, in its block's order, and none of a block that is under way. */
static void test_any(void)
{
	unsigned int next[BLOCKS] = { 0 }, seen[BLOCKS] = { 0 }, round, i, b, left = DEPTH;
	struct nl_move moves[7];
	struct rig rig;
	int n, k;

	rig_init(&rig);
	for (round = 0; round < 40000 && !ktap_failing(); round++) {
		switch (any(&rig, 4)) {
		case 0:
			for (i = 0; i < DEPTH && rig.busy[i]; i++)
				;
			if (i == DEPTH)
				break;
			begin(&rig, i, any(&rig, 3), any(&rig, BLOCKS), any(&rig, BLOCKS));
			left--;
			break;
		case 1:
			if (left < DEPTH) {
				end(&rig);
				left++;
			}
			break;
		case 2:
			b = any(&rig, BLOCKS);
			if (next[b] - seen[b] < 100)
				move(&rig, b, next[b]++);
			break;
		default:
			n = nameless_moves(&rig.dev, moves, 1 + any(&rig, 7), 0);
			CHECK(n >= 0);
			for (k = 0; k < n; k++) {
				b = moves[k].meta.word[0];
				CHECK(moves[k].from == seen[b]++);
				for (i = 0; i < DEPTH; i++)
					CHECK(!rig.busy[i] ||
					      (rig.name[i].meta.word[0] != b &&
					       (!rig.req[i].old || rig.old[i].meta.word[0] != b)));
			}
		}
	}
	while (left++ < DEPTH)
		end(&rig);
	while ((n = nameless_moves(&rig.dev, moves, 7, 0)) > 0)
		for (k = 0; k < n; k++)
			CHECK(moves[k].from == seen[moves[k].meta.word[0]]++);
	for (b = 0; b < BLOCKS; b++)
		CHECK(seen[b] == next[b] && seen[b] > 100, "block %u: %u of %u", b, seen[b], next[b]);
	rig_destroy(&rig);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("migrations of a block wait for its requests", test_kept);
	ktap_run("of all rings, while they are there", test_rings);
	ktap_run("so they do for any other call", test_calls);
	ktap_run("a cut ends what was kept", test_cut);
	ktap_run("a query that tells of a cut ends it, too", test_queried_cut);
	ktap_run("and what is void then is not acknowledged", test_void_acknowledged);
	ktap_run("a flush tells of a cut that took what was written", test_unflushed);
	ktap_run("also of what was written while it flushed", test_unflushed_under_way);
	ktap_run("what the power went under is not done", test_done);
	ktap_run("any requests and migrations", test_any);
	return ktap_done();
}
