// SPDX-License-Identifier: GPL-2.0-only
/*
 * The judgement: which versions of a sector may be there after a cut.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"

struct history {
	struct log *log;
	uint64_t point;
	uint64_t covered_tick;		/* what ended before it is durable */
	uint32_t *flush, nr_flushes;	/* of the log: acknowledged; NULL: none has failed */
	uint32_t *failure, nr_failures;	/* flushes and FUA writes that failed */
	uint64_t *first;		/* per sector, into index; one more at the end */
	uint32_t *index;		/* operations on a sector, in order */
};

static bool acked_at(const struct history *h, const struct op *op)
{
	return op->end_tick && !op->error && op->end_seq <= h->point;
}

/*
 * Told or not, a failure may be of anything acknowledged before its end: a flush that ended well
 * covers only what no failure has come between.
 */
static bool covered(const struct history *h, const struct op *op)
{
	uint64_t until = UINT64_MAX;
	uint32_t i;

	if (!h->failure)
		return op->end_tick < h->covered_tick;
	for (i = 0; i < h->nr_failures; i++) {
		const struct op *f = &h->log->op[h->failure[i]];

		if (f->end_tick > op->end_tick && f->start_tick < until)
			until = f->start_tick;
	}
	for (i = 0; i < h->nr_flushes; i++) {
		const struct op *f = &h->log->op[h->flush[i]];

		if (f->start_tick > op->end_tick && f->end_tick < until)
			return true;
	}
	return false;
}

static bool durable_at(const struct history *h, const struct op *op)
{
	if (!op->end_tick || op->error || op->partial)
		return false;
	return (op->kind == OP_FUA && acked_at(h, op)) || covered(h, op);
}

/* Only where something has failed it matters which flush covers what. */
static void find_failures(struct history *h)
{
	uint64_t i, n = h->log->nr_ops;

	for (i = 0; i < n; i++) {
		const struct op *op = &h->log->op[i];

		if ((op->kind != OP_FLUSH && op->kind != OP_FUA) || !op->end_tick)
			continue;
		if (op->error && !h->failure) {
			h->failure = calloc(n, sizeof(*h->failure));
			h->flush = calloc(n, sizeof(*h->flush));
			if (!h->failure || !h->flush)
				die("memory");
		}
		if (op->error)
			h->failure[h->nr_failures++] = i;
	}
	for (i = 0; h->flush && i < n; i++)
		if (h->log->op[i].kind == OP_FLUSH && acked_at(h, &h->log->op[i]))
			h->flush[h->nr_flushes++] = i;
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
	find_failures(h);
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

/* What the device holds, against the log as of @point; 0 or 1. */
int check_device(const char *dev, struct log *log, uint64_t point, bool rewrite)
{
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
			wrong = 1;
			break;
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
	close(fd);
	free(buf);
	free(h.first);
	free(h.index);
	free(h.failure);
	free(h.flush);
	return wrong ? 1 : 0;
}

/* Sectors of which at the end one version only is legal, and one with data. */
int cmd_settled(const char *log_path)
{
	struct history h;
	uint64_t sector;

	history_build(&h, log_map(log_path, 0), UINT64_MAX);
	for (sector = 0; sector < h.log->dev_sectors; sector++) {
		const struct op *last;

		if (h.first[sector] == h.first[sector + 1])
			continue;
		last = &h.log->op[h.index[h.first[sector + 1] - 1]];
		if ((last->kind == OP_WRITE || last->kind == OP_FUA) && durable_at(&h, last))
			printf("%" PRIu64 "\n", sector);
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Every acknowledgement of a flush or FUA, where a lie would show, if @every;
 * and @count more in order: just before and at one of them, or random.
 */
int cmd_points(const char *log_path, uint64_t seed, uint64_t count, bool every)
{
	struct log *log = log_map(log_path, 0);
	uint64_t n = log->nr_ops, nr = 0, i, rng = mix(seed), last = UINT64_MAX, acks = 0;
	uint64_t *sharp = calloc(2 * n + 1, sizeof(*sharp)), *point = calloc(n + count, sizeof(*point));

	if (!sharp || !point)
		die("memory");
	for (i = 0; i < n; i++) {
		const struct op *op = &log->op[i];

		if ((op->kind != OP_FLUSH && op->kind != OP_FUA) || !op->end_tick || op->error)
			continue;
		sharp[nr++] = op->end_seq;
		sharp[nr++] = op->start_seq;
		if (every)
			point[acks++] = op->end_seq;
	}
	for (i = 0; i < count; i++) {
		if (nr && i % 4)
			point[acks + i] = sharp[next(&rng) % nr];
		else
			point[acks + i] = next(&rng) % (log->last_seq + 1);
	}
	count += acks;
	qsort(point, count, sizeof(*point), compare);
	for (i = 0; i < count; i++)
		if (point[i] != last)
			printf("%" PRIu64 "\n", last = point[i]);
	return 0;
}
