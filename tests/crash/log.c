// SPDX-License-Identifier: GPL-2.0-only
/*
 * What both sides of the oracle know: the sectors' tags and the log.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oracle.h"

#define TAG_MAGIC	0x6b6c6165764e4551ULL
#define LOG_MAGIC	0x676f4c6b6c656545ULL

const char *const kind_name[] = { "write", "fua", "flush", "discard" };

struct tag {
	uint64_t magic;
	uint64_t seed;
	uint64_t sector;
	uint64_t id;			/* 1 + index of the operation in the log */
	uint64_t sum;			/* of the sector with this field zero */
};

void die(const char *what)
{
	fprintf(stderr, "oracle: %s: %s\n", what, strerror(errno));
	exit(2);
}

uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

uint64_t next(uint64_t *state)
{
	return mix((*state)++);
}

/* 64 bits over a sector's words: a checksum that is quick in an emulator. */
static uint64_t sector_sum(const void *buf)
{
	const uint64_t *word = buf;
	uint64_t sum = 0;

	for (size_t i = 0; i < SECTOR / 8; i++) {
		sum = (sum ^ word[i]) * 0xff51afd7ed558ccdULL;
		sum ^= sum >> 29;
	}
	return sum;
}

void tag_sector(void *buf, uint64_t seed, uint64_t sector, uint64_t id)
{
	struct tag *tag = buf;
	uint64_t *word = buf, state = mix(seed ^ id << 32 ^ sector);

	for (size_t i = sizeof(*tag) / 8; i < SECTOR / 8; i++)
		word[i] = state += 0x9e3779b97f4a7c15ULL;
	*tag = (struct tag) { .magic = TAG_MAGIC, .seed = seed, .sector = sector, .id = id };
	tag->sum = sector_sum(buf);
}

/* What is in a sector: its version (0: zeroes), or why it is none. */
const char *read_tag(void *buf, uint64_t seed, uint64_t sector, uint64_t *id)
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
	tag->sum = 0;
	if (sector_sum(buf) != seen.sum)
		return "torn";
	if (seen.seed != seed)
		return "another run's";
	if (seen.sector != sector)
		return "another sector's";
	return NULL;
}

void *buffer(void)
{
	void *p;

	if (posix_memalign(&p, 4096, MAX_IO * SECTOR))
		die("memory");
	return p;
}

struct log *log_map(const char *path, uint64_t max_ops)
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
	if (max_ops)
		log->magic = LOG_MAGIC;
	if (!max_ops && log->magic != LOG_MAGIC) {
		errno = EINVAL;
		die(path);
	}
	return log;
}

