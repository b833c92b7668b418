// SPDX-License-Identifier: GPL-2.0-only
/*
 * The crash oracle: knows what a block device may hold after a power cut.
 *
 * `run` writes tagged sectors with several threads, flushes, discards and moves
 * extents, and keeps a log of what was asked and acknowledged, with the
 * recorder's sequence number before and after each operation.  `check` reads a
 * device that was cut at a given sequence number and judges every sector by the
 * log:
 *
 *   base    the last operation on the sector that an acknowledged flush (or its
 *	     own FUA) covers at that point
 *   legal   base, and whatever was begun after it
 *
 * Anything else is wrong: a lost write, another sector's or another run's data,
 * a sector of two halves, zeroes that nobody asked for.
 *
 * No two operations on one sector are in flight together (struct ranges), so a
 * sector's history is a sequence; neighbours race as they like.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECTOR		512u
#define MAX_IO		256u		/* sectors */
#define TAG_MAGIC	0x6b6c6165764e4551ULL
#define LOG_MAGIC	0x676f4c6b6c656545ULL
#define UNKNOWN		UINT64_MAX	/* a sector's version after a failed write */

enum kind { OP_WRITE, OP_FUA, OP_FLUSH, OP_DISCARD, OP_KINDS };

static const char *const kind_name[] = { "write", "fua", "flush", "discard" };

/* end_tick 0: never acknowledged; error: acknowledged as failed. */
struct op {
	uint32_t kind;
	uint32_t nr;
	uint64_t sector;
	int32_t error;
	uint32_t partial;		/* a discard that may leave what it covers */
	uint64_t start_tick, end_tick;	/* order among operations */
	uint64_t start_seq, end_seq;	/* place in the recording */
};

struct log {
	uint64_t magic;
	uint64_t seed;
	uint64_t dev_sectors;
	uint64_t max_ops;
	uint64_t first_seq, last_seq;
	atomic_ullong nr_ops;
	struct op op[];
};

struct tag {
	uint64_t magic;
	uint64_t seed;
	uint64_t sector;
	uint64_t id;			/* 1 + index of the operation in the log */
	uint32_t crc;			/* of the sector with this field zero */
	uint32_t reserved;
};

static void die(const char *what)
{
	fprintf(stderr, "oracle: %s: %s\n", what, strerror(errno));
	exit(2);
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint64_t next(uint64_t *state)
{
	return mix((*state)++);
}

static uint32_t crc_table[256];

static void crc_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
		crc_table[i] = c;
	}
}

static uint32_t crc32c(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint32_t c = ~0u;

	while (len--)
		c = crc_table[(c ^ *p++) & 0xff] ^ c >> 8;
	return ~c;
}

static void tag_sector(void *buf, uint64_t seed, uint64_t sector, uint64_t id)
{
	struct tag *tag = buf;
	uint64_t *word = buf, state = mix(seed ^ id << 32 ^ sector);

	for (size_t i = sizeof(*tag) / 8; i < SECTOR / 8; i++)
		word[i] = state += 0x9e3779b97f4a7c15ULL;
	*tag = (struct tag) { .magic = TAG_MAGIC, .seed = seed, .sector = sector, .id = id };
	tag->crc = crc32c(buf, SECTOR);
}

/* What is in a sector: its version (0: zeroes), or why it is none. */
static const char *read_tag(void *buf, uint64_t seed, uint64_t sector, uint64_t *id)
{
	static const uint8_t zero[SECTOR];
	struct tag *tag = buf, seen;

	*id = 0;
	if (!memcmp(buf, zero, SECTOR))
		return NULL;
	seen = *tag;
	if (seen.magic != TAG_MAGIC)
		return "not a tag";
	*id = seen.id;
	tag->crc = 0;
	if (crc32c(buf, SECTOR) != seen.crc)
		return "torn";
	if (seen.seed != seed)
		return "another run's";
	if (seen.sector != sector)
		return "another sector's";
	return NULL;
}

static void *buffer(void)
{
	void *p;

	if (posix_memalign(&p, 4096, MAX_IO * SECTOR))
		die("memory");
	return p;
}

static struct log *log_map(const char *path, uint64_t max_ops)
{
	size_t bytes = sizeof(struct log) + max_ops * sizeof(struct op);
	int fd = open(path, max_ops ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0600);
	struct stat st;
	struct log *log;

	if (fd < 0 || (max_ops && ftruncate(fd, bytes)) || fstat(fd, &st))
		die(path);
	log = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (log == MAP_FAILED)
		die(path);
	close(fd);
	if (!max_ops && log->magic != LOG_MAGIC) {
		errno = EINVAL;
		die(path);
	}
	return log;
}

/* --- run ------------------------------------------------------------------------- */

static struct {
	const char *dev, *seq_path, *dm_name;
	int fd, dsync_fd, dm_fd;
	uint64_t ops, sectors, extents, granularity;
	unsigned int members, threads, moves, flushes, discards, align;
	bool stop_at_error;
	atomic_bool stop;
	struct log *log;
	uint64_t *version;		/* per sector, of the live device */
	uint8_t *busy;
	pthread_mutex_t lock;		/* busy, version, log->nr_ops against each other */
	atomic_ullong tick;
	atomic_uint wrong, failed[OP_KINDS], acked[OP_KINDS], moved;
} run = { .dm_fd = -1, .ops = 2000, .threads = 4, .moves = 12, .flushes = 8,
	  .discards = 8, .align = 1, .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now_seq(void)
{
	char text[512] = "", *now;
	int fd;

	if (!run.seq_path)
		return 0;
	/* configfs fills an open file's buffer once */
	fd = open(run.seq_path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || !(now = strstr(text, "now ")))
		die(run.seq_path);
	close(fd);
	return strtoull(now + 4, NULL, 0);
}

static int dm_message(const char *text)
{
	struct {
		struct dm_ioctl io;
		struct dm_target_msg msg;
		char text[128];
	} m = { .io = { .version = { 4, 0, 0 }, .data_size = sizeof(m),
			.data_start = sizeof(struct dm_ioctl) } };

	strncpy(m.io.name, run.dm_name, sizeof(m.io.name) - 1);
	strncpy(m.msg.message, text, sizeof(m.text) - 1);
	return ioctl(run.dm_fd, DM_TARGET_MSG, &m);
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
	if (error && run.stop_at_error)
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
		if (n != (ssize_t)(nr * SECTOR) && run.stop_at_error)
			break;
		why = n == (ssize_t)(nr * SECTOR) ?
			read_tag(buf + i * SECTOR, run.log->seed, sector + i, &id) : "not readable";
		if (!why && want[i] != UNKNOWN && id != want[i])
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

	snprintf(text, sizeof(text), "move %" PRIu64 " %u", next(rng) % run.extents,
		 (unsigned int)(next(rng) % run.members));
	run.moved += !dm_message(text);
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
		nr = (nr + run.align - 1) / run.align * run.align;
		sector = pick_sector(&rng, nr) / run.align * run.align;
		dice = next(&rng) % 100;
		if (dice < run.flushes) {
			do_flush();
		} else if ((dice -= run.flushes) < run.discards) {
			do_discard(sector, nr, next(&rng) % 4);
		} else if ((dice -= run.discards) < run.moves) {
			if (run.dm_fd >= 0)
				do_move(&rng);
		} else if ((dice -= run.moves) < 2) {
			if (run.dm_fd >= 0)
				dm_message(dice ? "checkpoint" : "commit");
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
		die(run.dev);
	run.sectors = bytes / SECTOR;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/discard_granularity",
		 (unsigned int)(st.st_rdev >> 8 & 0xfff), (unsigned int)(st.st_rdev & 0xff));
	run.granularity = read_number(path);
}

static int cmd_run(const char *log_path, uint64_t seed)
{
	pthread_t thread[64];
	uintptr_t i;

	run.fd = open(run.dev, O_RDWR | O_DIRECT);
	run.dsync_fd = open(run.dev, O_RDWR | O_DIRECT | O_DSYNC);
	if (run.fd < 0 || run.dsync_fd < 0)
		die(run.dev);
	find_geometry();
	if (run.dm_name && (run.dm_fd = open("/dev/mapper/control", O_RDWR)) < 0)
		die("/dev/mapper/control");
	run.log = log_map(log_path, run.ops);
	run.log->magic = LOG_MAGIC;
	run.log->seed = seed;
	run.log->dev_sectors = run.sectors;
	run.log->max_ops = run.ops;
	run.log->first_seq = now_seq();
	run.version = calloc(run.sectors, sizeof(*run.version));
	run.busy = calloc(run.sectors, 1);
	if (!run.version || !run.busy)
		die("memory");
	for (i = 0; i < run.threads; i++)
		if (pthread_create(&thread[i], NULL, worker, (void *)i))
			die("thread");
	for (i = 0; i < run.threads; i++)
		pthread_join(thread[i], NULL);
	run.log->last_seq = now_seq();
	printf("# seed %" PRIu64 ": recorded %" PRIu64 " to %" PRIu64 ", moves asked %u", seed,
	       run.log->first_seq, run.log->last_seq, run.moved);
	for (i = 0; i < OP_KINDS; i++)
		printf(", %s %u (%u failed)", kind_name[i], run.acked[i], run.failed[i]);
	printf("\n");
	return run.wrong ? 1 : 0;
}

/* --- check ----------------------------------------------------------------------- */

struct history {
	struct log *log;
	uint64_t point;
	uint64_t covered_tick;		/* what ended before it is durable */
	uint64_t *first;		/* per sector, into index; one more at the end */
	uint32_t *index;		/* operations on a sector, in order */
};

static bool acked_at(const struct history *h, const struct op *op)
{
	return op->end_tick && !op->error && op->end_seq <= h->point;
}

static bool durable_at(const struct history *h, const struct op *op)
{
	if (!op->end_tick || op->error || op->partial)
		return false;
	return op->end_tick < h->covered_tick || (op->kind == OP_FUA && acked_at(h, op));
}

static void history_build(struct history *h, struct log *log, uint64_t point)
{
	uint64_t i, j, n = log->nr_ops, total = 0;
	uint64_t *fill;

	*h = (struct history) { .log = log, .point = point };
	h->first = calloc(log->dev_sectors + 1, sizeof(*h->first));
	fill = calloc(log->dev_sectors + 1, sizeof(*fill));
	if (!h->first || !fill)
		die("memory");
	for (i = 0; i < n; i++) {
		const struct op *op = &log->op[i];

		if (op->kind == OP_FLUSH && acked_at(h, op) && op->start_tick > h->covered_tick)
			h->covered_tick = op->start_tick;
		for (j = 0; j < op->nr; j++)
			fill[op->sector + j]++;
	}
	for (i = 0; i < log->dev_sectors; i++) {
		h->first[i] = total;
		total += fill[i];
		fill[i] = h->first[i];
	}
	h->first[i] = total;
	h->index = calloc(total + 1, sizeof(*h->index));
	if (!h->index)
		die("memory");
	/* the log is in order of start_tick, and so is every sector's part of it */
	for (i = 0; i < n; i++)
		for (j = 0; j < log->op[i].nr; j++)
			h->index[fill[log->op[i].sector + j]++] = i;
	free(fill);
}

static bool legal(const struct history *h, uint64_t sector, uint64_t id)
{
	uint64_t i = h->first[sector + 1], begin = h->first[sector];

	while (i-- > begin) {
		const struct op *op = &h->log->op[h->index[i]];
		bool durable = durable_at(h, op);

		if (op->start_seq >= h->point && !durable)
			continue;
		if (id == (op->kind == OP_DISCARD ? 0 : h->index[i] + 1))
			return true;
		if (durable)
			return false;
	}
	return !id;
}

static void explain(const struct history *h, uint64_t sector, uint64_t id, const char *why)
{
	printf("# sector %" PRIu64 " holds version %" PRIu64 ": %s; at %" PRIu64 " its history is\n",
	       sector, id, why, h->point);
	for (uint64_t i = h->first[sector]; i < h->first[sector + 1]; i++) {
		const struct op *op = &h->log->op[h->index[i]];

		if (op->start_seq < h->point)
			printf("#   version %u %s%s of %" PRIu64 "+%u, recording %" PRIu64 " to %" PRIu64 "%s%s\n",
			       h->index[i] + 1, op->partial ? "partial " : "", kind_name[op->kind],
			       op->sector, op->nr, op->start_seq, op->end_seq,
			       op->error ? ", failed" : "", durable_at(h, op) ? ", durable" : "");
	}
}

/* The device still takes writes and gives them back. */
static int write_anew(int fd, struct log *log, void *buf, uint64_t point)
{
	uint64_t rng = mix(log->seed ^ point), sector, id;
	uint32_t nr;

	for (int i = 0; i < 8; i++) {
		nr = 8 * (1 + next(&rng) % 8);
		sector = next(&rng) % (log->dev_sectors - nr) / 8 * 8;
		for (uint32_t j = 0; j < nr; j++)
			tag_sector(buf + j * SECTOR, ~log->seed, sector + j, i + 1);
		if (pwrite(fd, buf, nr * SECTOR, sector * SECTOR) != (ssize_t)(nr * SECTOR) ||
		    pread(fd, buf, nr * SECTOR, sector * SECTOR) != (ssize_t)(nr * SECTOR)) {
			printf("# a new write of %" PRIu64 "+%u failed: %s\n", sector, nr, strerror(errno));
			return 1;
		}
		for (uint32_t j = 0; j < nr; j++)
			if (read_tag(buf + j * SECTOR, ~log->seed, sector + j, &id) || id != i + 1u) {
				printf("# a new write of %" PRIu64 "+%u reads back wrong\n", sector, nr);
				return 1;
			}
	}
	if (fdatasync(fd)) {
		printf("# a new flush failed: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}

static int cmd_check(const char *dev, const char *log_path, uint64_t point, bool rewrite)
{
	struct log *log = log_map(log_path, 0);
	int fd = open(dev, (rewrite ? O_RDWR : O_RDONLY) | O_DIRECT);
	uint64_t sector, id, i, wrong = 0;
	void *buf = buffer();
	struct history h;
	const char *why;
	ssize_t n;

	if (fd < 0)
		die(dev);
	history_build(&h, log, point);
	for (sector = 0; sector < log->dev_sectors; sector += n / SECTOR) {
		n = pread(fd, buf, MAX_IO * SECTOR, sector * SECTOR);
		if (n <= 0) {
			printf("# sector %" PRIu64 " can't be read: %s\n", sector, strerror(errno));
			return 1;
		}
		for (i = 0; i < (uint64_t)n / SECTOR && sector + i < log->dev_sectors; i++) {
			why = read_tag(buf + i * SECTOR, log->seed, sector + i, &id);
			if (!why && !legal(&h, sector + i, id))
				why = "not legal there and then";
			if (why && wrong++ < 5)
				explain(&h, sector + i, id, why);
		}
	}
	if (wrong)
		printf("# %" PRIu64 " sectors are wrong\n", wrong);
	else if (rewrite)
		wrong = write_anew(fd, log, buf, point);
	return wrong ? 1 : 0;
}

/* --- points ---------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Just before and at each acknowledgement of a flush or FUA, where a lie would
 * show, and random ones between; @count of them, in order.
 */
static int cmd_points(const char *log_path, uint64_t seed, uint64_t count)
{
	struct log *log = log_map(log_path, 0);
	uint64_t n = log->nr_ops, nr = 0, i, rng = mix(seed), last = UNKNOWN;
	uint64_t *sharp = calloc(2 * n + 1, sizeof(*sharp)), *point = calloc(count, sizeof(*point));

	if (!sharp || !point)
		die("memory");
	for (i = 0; i < n; i++) {
		const struct op *op = &log->op[i];

		if ((op->kind != OP_FLUSH && op->kind != OP_FUA) || !op->end_tick || op->error)
			continue;
		sharp[nr++] = op->end_seq;
		sharp[nr++] = op->start_seq;
	}
	for (i = 0; i < count; i++) {
		if (nr && i % 4)
			point[i] = sharp[next(&rng) % nr];
		else
			point[i] = next(&rng) % (log->last_seq + 1);
	}
	qsort(point, count, sizeof(*point), compare);
	for (i = 0; i < count; i++)
		if (point[i] != last)
			printf("%" PRIu64 "\n", last = point[i]);
	return 0;
}

static void usage(void)
{
	fputs("usage: oracle run DEVICE --log FILE --seed N [--ops N] [--threads N] [--seq FILE]\n"
	      "\t[--dm NAME --extents N --members N] [--moves PERCENT] [--flushes PERCENT]\n"
	      "\t[--discards PERCENT] [--align SECTORS] [--stop-at-error]\n"
	      "       oracle check DEVICE --log FILE --point SEQ [--write]\n"
	      "       oracle points --log FILE --seed N --count N\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "log", 1, NULL, 'l' }, { "seed", 1, NULL, 's' }, { "ops", 1, NULL, 'o' },
		{ "threads", 1, NULL, 't' }, { "seq", 1, NULL, 'q' }, { "dm", 1, NULL, 'd' },
		{ "extents", 1, NULL, 'e' }, { "members", 1, NULL, 'm' }, { "moves", 1, NULL, 'v' },
		{ "flushes", 1, NULL, 'f' }, { "discards", 1, NULL, 'c' }, { "point", 1, NULL, 'p' },
		{ "count", 1, NULL, 'n' }, { "write", 0, NULL, 'w' }, { "align", 1, NULL, 'a' },
		{ "stop-at-error", 0, NULL, 'x' }, { }
	};
	uint64_t seed = 1, point = 0, count = 100;
	const char *log = NULL;
	bool rewrite = false;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	crc_init();
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		uint64_t number = optarg ? strtoull(optarg, NULL, 0) : 0;

		switch (c) {
		case 'l': log = optarg; break;
		case 's': seed = number; break;
		case 'o': run.ops = number; break;
		case 't': run.threads = number > 64 ? 64 : number; break;
		case 'q': run.seq_path = optarg; break;
		case 'd': run.dm_name = optarg; break;
		case 'e': run.extents = number; break;
		case 'm': run.members = number; break;
		case 'v': run.moves = number; break;
		case 'f': run.flushes = number; break;
		case 'c': run.discards = number; break;
		case 'p': point = number; break;
		case 'n': count = number; break;
		case 'a': run.align = number ? number : 1; break;
		case 'w': rewrite = true; break;
		case 'x': run.stop_at_error = true; break;
		default: usage();
		}
	}
	argv += optind;
	argc -= optind;
	if (!argc || !log || (run.dm_name && (!run.members || !run.extents)))
		usage();
	if (argc == 2 && !strcmp(argv[0], "run")) {
		run.dev = argv[1];
		return cmd_run(log, seed);
	}
	if (argc == 2 && !strcmp(argv[0], "check"))
		return cmd_check(argv[1], log, point, rewrite);
	if (argc == 1 && !strcmp(argv[0], "points"))
		return cmd_points(log, seed, count);
	usage();
}
