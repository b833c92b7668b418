// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workload. No two operations on one sector are in flight together, so a
 * sector's history is a sequence; neighbours race as they like.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dm.h"
#include "oracle.h"

#define UNKNOWN		UINT64_MAX	/* a sector's version after a failed write */

static struct {
	struct workload w;
	int fd, dsync_fd;
	uint64_t sectors, granularity;
	atomic_bool stop;
	struct log *log;
	uint64_t *version;		/* per sector, of the live device */
	uint8_t *busy;
	pthread_mutex_t lock;		/* busy, version, log->nr_ops against each other */
	atomic_ullong tick;
	atomic_uint wrong, failed[OP_KINDS], acked[OP_KINDS], moved;
} run = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now_seq(void)
{
	char text[512] = "", *now;
	int fd;

	if (!run.w.seq_path)
		return 0;
	/* configfs fills an open file's buffer once */
	fd = open(run.w.seq_path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || !(now = strstr(text, "now ")))
		die(run.w.seq_path);
	close(fd);
	return strtoull(now + 4, NULL, 0);
}

/* An operation gets its range, its place in the log and its first stamps. */
static struct op *begin(enum kind kind, uint64_t sector, uint32_t nr)
{
	struct op *op = NULL;
	uint64_t i;

	pthread_mutex_lock(&run.lock);
	for (i = 0; i < nr; i++)
		if (run.busy[sector + i])
			goto out;
	if (atomic_load(&run.log->nr_ops) == run.log->max_ops)
		goto out;
	memset(run.busy + sector, 1, nr);
	op = &run.log->op[atomic_fetch_add(&run.log->nr_ops, 1)];
	op->kind = kind;
	op->sector = sector;
	op->nr = nr;
	op->start_tick = ++run.tick;
out:
	pthread_mutex_unlock(&run.lock);
	if (op)
		op->start_seq = now_seq();
	return op;
}

static void end(struct op *op, int error)
{
	uint64_t version = op - run.log->op + 1, i;

	op->error = error;
	op->end_seq = now_seq();
	if (op->kind == OP_DISCARD)
		version = 0;
	if (error || op->partial)
		version = UNKNOWN;
	pthread_mutex_lock(&run.lock);
	op->end_tick = ++run.tick;
	for (i = 0; i < op->nr; i++) {
		run.version[op->sector + i] = version;
		run.busy[op->sector + i] = 0;
	}
	pthread_mutex_unlock(&run.lock);
	if (error && run.w.stop_at_error)
		run.stop = true;
	atomic_fetch_add(error ? &run.failed[op->kind] : &run.acked[op->kind], 1);
}

static void do_write(void *buf, uint64_t sector, uint32_t nr, bool fua)
{
	struct op *op = begin(fua ? OP_FUA : OP_WRITE, sector, nr);
	ssize_t n;

	if (!op)
		return;
	for (uint32_t i = 0; i < nr; i++)
		tag_sector(buf + i * SECTOR, run.log->seed, sector + i, op - run.log->op + 1);
	n = pwrite(fua ? run.dsync_fd : run.fd, buf, nr * SECTOR, sector * SECTOR);
	end(op, n == (ssize_t)(nr * SECTOR) ? 0 : n < 0 ? errno : EIO);
}

static void do_flush(void)
{
	struct op *op = begin(OP_FLUSH, 0, 0);

	if (op)
		end(op, fdatasync(run.fd) ? errno : 0);
}

static void do_discard(uint64_t sector, uint32_t nr, bool aligned)
{
	uint64_t g = run.granularity / SECTOR, range[2];
	struct op *op;

	if (aligned && g) {
		sector -= sector % g;
		nr = nr < g ? g : nr - nr % g;
		if (sector + nr > run.sectors)
			return;
	}
	op = begin(OP_DISCARD, sector, nr);
	if (!op)
		return;
	op->partial = !aligned || !g;
	range[0] = sector * SECTOR;
	range[1] = nr * SECTOR;
	end(op, ioctl(run.fd, BLKDISCARD, range) ? errno : 0);
}

/*
 * A device that can't flush any more may have lost what it acknowledged, and show what was there
 * before until somebody is told: where errors are expected, who reads that is to be told by a flush
 * of its own.
 */
static bool is_of_before(uint64_t id, uint64_t want)
{
	return run.w.stop_at_error && id < want && fdatasync(run.fd);
}

/* Reads under the range lock of a write, so what has to be there is known. */
static void do_read(void *buf, uint64_t sector, uint32_t nr)
{
	uint64_t want[MAX_IO], id = 0;
	const char *why;
	uint32_t i;
	ssize_t n;

	pthread_mutex_lock(&run.lock);
	for (i = 0; i < nr && !run.busy[sector + i]; i++)
		want[i] = run.version[sector + i];
	nr = i;
	memset(run.busy + sector, 1, nr);
	pthread_mutex_unlock(&run.lock);
	n = nr ? pread(run.fd, buf, nr * SECTOR, sector * SECTOR) : 0;
	for (i = 0; i < nr; i++) {
		if (n != (ssize_t)(nr * SECTOR) && run.w.stop_at_error)
			break;
		why = n == (ssize_t)(nr * SECTOR) ?
			read_tag(buf + i * SECTOR, run.log->seed, sector + i, &id) : "not readable";
		if (!why && !run.w.lossy && want[i] != UNKNOWN && id != want[i] && !is_of_before(id, want[i]))
			why = "of another time";
		if (why && run.wrong++ < 10)
			printf("# live read of sector %" PRIu64 ": %s (has %" PRIu64 ", wants %" PRIu64 ")\n",
			       sector + i, why, id, want[i]);
	}
	pthread_mutex_lock(&run.lock);
	memset(run.busy + sector, 0, nr);
	pthread_mutex_unlock(&run.lock);
}

static void do_move(uint64_t *rng)
{
	char text[64];

	snprintf(text, sizeof(text), "move %" PRIu64 " %u", next(rng) % run.w.extents,
		 (unsigned int)(next(rng) % run.w.members));
	run.moved += !dm_message(run.w.dm_name, text);
}

/* Half of the operations fall into an eighth of the device, so that versions pile up. */
static uint64_t pick_sector(uint64_t *rng, uint32_t nr)
{
	uint64_t room = run.sectors - nr + 1;

	if (next(rng) % 2 && room > 8)
		room /= 8;
	return next(rng) % room;
}

static void *worker(void *arg)
{
	uint64_t rng = mix(run.log->seed + (uintptr_t)arg), sector;
	void *buf = buffer();
	unsigned int dice;
	uint32_t nr;

	while (!run.stop && atomic_load(&run.log->nr_ops) < run.log->max_ops) {
		switch (next(&rng) % 4) {
		case 0: nr = 1 + next(&rng) % MAX_IO; break;
		case 1: nr = 8 * (1 + next(&rng) % 8); break;
		default: nr = 1 + next(&rng) % 16;
		}
		nr = (nr + run.w.align - 1) / run.w.align * run.w.align;
		sector = pick_sector(&rng, nr) / run.w.align * run.w.align;
		dice = next(&rng) % 100;
		if (dice < run.w.flushes) {
			do_flush();
		} else if ((dice -= run.w.flushes) < run.w.discards) {
			do_discard(sector, nr, next(&rng) % 4);
		} else if ((dice -= run.w.discards) < run.w.moves) {
			if (run.w.dm_name)
				do_move(&rng);
		} else if ((dice -= run.w.moves) < 2) {
			if (run.w.dm_name)
				dm_message(run.w.dm_name, dice ? "checkpoint" : "commit");
		} else if (dice < 12) {
			do_read(buf, sector, nr);
		} else {
			do_write(buf, sector, nr, dice < 17);
		}
	}
	free(buf);
	return NULL;
}

static uint64_t read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die(path);
	close(fd);
	return strtoull(text, NULL, 0);
}

static void find_geometry(void)
{
	char path[128];
	struct stat st;
	uint64_t bytes;

	if (fstat(run.fd, &st) || ioctl(run.fd, BLKGETSIZE64, &bytes))
		die(run.w.dev);
	run.sectors = bytes / SECTOR;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/discard_granularity",
		 (unsigned int)(st.st_rdev >> 8 & 0xfff), (unsigned int)(st.st_rdev & 0xff));
	run.granularity = read_number(path);
}

/* Whatever takes as long as something else: that ends it. */
static void on_term(int sig)
{
	(void)sig;
	run.stop = true;
}

int cmd_run(const struct workload *workload)
{
	const struct sigaction term = { .sa_handler = on_term, .sa_flags = SA_RESTART };
	pthread_t thread[64];
	uintptr_t i;

	run.w = *workload;
	run.fd = open(run.w.dev, O_RDWR | O_DIRECT);
	run.dsync_fd = open(run.w.dev, O_RDWR | O_DIRECT | O_DSYNC);
	if (run.fd < 0 || run.dsync_fd < 0)
		die(run.w.dev);
	find_geometry();
	run.log = log_map(run.w.log, run.w.ops);
	run.log->seed = run.w.seed;
	run.log->dev_sectors = run.sectors;
	run.log->max_ops = run.w.ops;
	run.log->first_seq = now_seq();
	run.version = calloc(run.sectors, sizeof(*run.version));
	run.busy = calloc(run.sectors, 1);
	if (!run.version || !run.busy)
		die("memory");
	if (sigaction(SIGTERM, &term, NULL))
		die("sigaction");
	for (i = 0; i < run.w.threads; i++)
		if (pthread_create(&thread[i], NULL, worker, (void *)i))
			die("thread");
	for (i = 0; i < run.w.threads; i++)
		pthread_join(thread[i], NULL);
	run.log->last_seq = now_seq();
	printf("# seed %" PRIu64 ": recorded %" PRIu64 " to %" PRIu64 ", moves asked %u", run.w.seed,
	       run.log->first_seq, run.log->last_seq, run.moved);
	for (i = 0; i < OP_KINDS; i++)
		printf(", %s %u (%u failed)", kind_name[i], run.acked[i], run.failed[i]);
	printf("\n");
	return run.wrong ? 1 : 0;
}

