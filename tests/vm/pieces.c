// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files whose blocks are taken out, replaced and moved, beside readers who remember where they were.
 *
 *	pieces DIR SEED STEPS	exits with 0: nobody has read what is not the file's
 *
 * Each file has one who changes it, and knows what is in it: he compares. Readers, each by file
 * descriptors of his own and in all sizes, know whose a word is, and that a read sees each block as
 * it was at one moment. Somebody else takes every block that becomes free.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK	4096u
#define WORDS	(BLOCK / sizeof(uint64_t))
#define BLOCKS	200u		/* of a file, at most */
#define FILES	3u
#define READERS	3u
#define STRANGER	0xeeu	/* whose words are in no file that is read */

struct file {
	pthread_t thread;
	unsigned int nr;
	unsigned int seed;
	int fd;
	uint64_t version;
	uint64_t word[BLOCKS];	/* that each block is full of; 0: zeroes */
	unsigned int blocks;
	uint64_t *buf;
};

static struct file files[FILES];
static unsigned int steps;
static _Atomic bool over;
static _Atomic unsigned long reads;

#define NEED(condition) do { if (!(condition)) fail(__LINE__, #condition, 0); } while (0)

__attribute__((noreturn)) static void fail(int line, const char *what, uint64_t word)
{
	printf("# line %d: %s (%s; %#llx)\n", line, what, strerrorname_np(errno), (unsigned long long)word);
	exit(1);
}

static unsigned int rnd(unsigned int *seed, unsigned int below)
{
	return rand_r(seed) % below;
}

static int open_file(unsigned int nr, int flags)
{
	char name[20];
	int fd;

	sprintf(name, "file%u", nr);
	fd = open(name, flags | O_CLOEXEC, 0600);
	NEED(fd >= 0);
	return fd;
}

/* --- who changes a file ------------------------------------------------------------------------- */

static void check(struct file *f, unsigned int from, unsigned int nr)
{
	unsigned int i;
	ssize_t len;

	if (from >= f->blocks)
		return;
	if (nr > f->blocks - from)
		nr = f->blocks - from;
	len = pread(f->fd, f->buf, nr * BLOCK, (off_t)from * BLOCK);
	NEED(len == (ssize_t)(nr * BLOCK));
	for (i = 0; i < nr * WORDS; i++)
		if (f->buf[i] != f->word[from + i / WORDS])
			fail(__LINE__, "what is in the file is not what was written", f->buf[i]);
}

static void fill(struct file *f, unsigned int from, unsigned int nr)
{
	uint64_t word = (uint64_t)(f->nr + 1) << 56 | ++f->version;
	unsigned int i;

	for (i = 0; i < nr * WORDS; i++)
		f->buf[i] = word;
	NEED(pwrite(f->fd, f->buf, nr * BLOCK, (off_t)from * BLOCK) == (ssize_t)(nr * BLOCK));
	for (i = from; i < from + nr; i++)
		f->word[i] = word;
	if (f->blocks < from + nr)
		f->blocks = from + nr;
}

static void zero(struct file *f, int mode, unsigned int from, unsigned int nr)
{
	NEED(!fallocate(f->fd, mode | FALLOC_FL_KEEP_SIZE, (off_t)from * BLOCK, nr * BLOCK));
	for (; nr && from < f->blocks; from++, nr--)
		f->word[from] = 0;
}

static void collapse(struct file *f, unsigned int from, unsigned int nr)
{
	if (from + nr >= f->blocks)
		return;
	NEED(!fallocate(f->fd, FALLOC_FL_COLLAPSE_RANGE, (off_t)from * BLOCK, nr * BLOCK));
	memmove(f->word + from, f->word + from + nr, (f->blocks - from - nr) * sizeof(*f->word));
	f->blocks -= nr;
	memset(f->word + f->blocks, 0, nr * sizeof(*f->word));
}

static void insert(struct file *f, unsigned int from, unsigned int nr)
{
	if (from >= f->blocks || f->blocks + nr > BLOCKS)
		return;
	NEED(!fallocate(f->fd, FALLOC_FL_INSERT_RANGE, (off_t)from * BLOCK, nr * BLOCK));
	memmove(f->word + from + nr, f->word + from, (f->blocks - from) * sizeof(*f->word));
	memset(f->word + from, 0, nr * sizeof(*f->word));
	f->blocks += nr;
}

static void cut(struct file *f, unsigned int to, unsigned int grow)
{
	NEED(!ftruncate(f->fd, (off_t)to * BLOCK) && !ftruncate(f->fd, (off_t)(to + grow) * BLOCK));
	if (to < BLOCKS)
		memset(f->word + to, 0, (BLOCKS - to) * sizeof(*f->word));
	f->blocks = to + grow;
}

static void change(struct file *f)
{
	unsigned int from = rnd(&f->seed, BLOCKS - 1), nr = 1 + rnd(&f->seed, 1 + rnd(&f->seed, 60));

	if (nr > BLOCKS - from)
		nr = BLOCKS - from;
	if (rnd(&f->seed, 2))	/* where it is is remembered */
		check(f, from, nr);
	switch (rnd(&f->seed, 12)) {
	case 0:
	case 1:
		zero(f, FALLOC_FL_PUNCH_HOLE, from, nr);
		break;
	case 2:
	case 3:
		zero(f, FALLOC_FL_ZERO_RANGE, from, nr);
		break;
	case 4:
	case 5:
		collapse(f, from, nr);
		break;
	case 6:
		insert(f, from, nr);
		break;
	case 7:
		cut(f, from, rnd(&f->seed, nr));
		break;
	default:
		fill(f, from, nr);
	}
	check(f, from, 1);
	check(f, from > 2 ? from - 2 : 0, nr + 4);
	check(f, from + nr, 1 + rnd(&f->seed, 8));
	if (!rnd(&f->seed, 8))
		check(f, 0, BLOCKS);
}

static void *changer(void *arg)
{
	struct file *f = arg;
	unsigned int i;

	for (i = 0; i < steps; i++)
		change(f);
	check(f, 0, BLOCKS);
	return NULL;
}

/* --- others ------------------------------------------------------------------------------------- */

/* @buf is what was read at @at of file @nr. */
static void judge(const uint64_t *buf, size_t words, off_t at, unsigned int nr)
{
	size_t i, word = at / sizeof(uint64_t);

	for (i = 0; i < words; i++) {
		if (buf[i] && buf[i] >> 56 != nr + 1)
			fail(__LINE__, "another file's", buf[i]);
		if (i && (word + i) % WORDS && buf[i] != buf[i - 1])
			fail(__LINE__, "parts of a block are of two moments", buf[i]);
	}
}

static void *reader(void *arg)
{
	static const size_t sizes[] = { 8, 512, BLOCK, 3 * BLOCK, 16 * BLOCK, BLOCKS * BLOCK };
	uint64_t *buf = malloc(BLOCKS * BLOCK);
	unsigned int seed = (uintptr_t)arg, nr;
	int fd[FILES];
	ssize_t len;
	off_t at;

	NEED(buf);
	for (nr = 0; nr < FILES; nr++)
		fd[nr] = open_file(nr, O_RDONLY);
	while (!over) {
		nr = rnd(&seed, FILES);
		at = (off_t)rnd(&seed, BLOCKS * WORDS) * sizeof(uint64_t);
		len = pread(fd[nr], buf, sizes[rnd(&seed, sizeof(sizes) / sizeof(*sizes))], at);
		NEED(len >= 0);
		judge(buf, len / sizeof(uint64_t), at, nr);
		reads++;
	}
	for (nr = 0; nr < FILES; nr++)
		close(fd[nr]);
	free(buf);
	return NULL;
}

/* What was given back is another file's at once. */
static void *stranger(void *arg)
{
	unsigned int seed = (uintptr_t)arg;
	char *buf = malloc(64 * BLOCK);
	int fd;

	NEED(buf);
	memset(buf, STRANGER, 64 * BLOCK);
	while (!over) {
		fd = open("stranger", O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
		NEED(fd >= 0);
		NEED(write(fd, buf, (1 + rnd(&seed, 64)) * BLOCK) > 0 || errno == ENOSPC);
		close(fd);
	}
	unlink("stranger");
	free(buf);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other[READERS + 1];
	unsigned int seed, i;

	if (argc != 4 || chdir(argv[1]))
		return 2;
	seed = strtoul(argv[2], NULL, 0);
	steps = atoi(argv[3]);
	for (i = 0; i < FILES; i++) {
		files[i].nr = i;
		files[i].seed = seed + i;
		files[i].fd = open_file(i, O_CREAT | O_TRUNC | O_RDWR);
		files[i].buf = malloc(BLOCKS * BLOCK);
		NEED(files[i].buf);
	}
	for (i = 0; i < READERS; i++)
		NEED(!pthread_create(other + i, NULL, reader, (void *)(uintptr_t)(seed + 100 + i)));
	NEED(!pthread_create(other + READERS, NULL, stranger, (void *)(uintptr_t)(seed + 200)));
	for (i = 0; i < FILES; i++)
		NEED(!pthread_create(&files[i].thread, NULL, changer, files + i));
	for (i = 0; i < FILES; i++)
		pthread_join(files[i].thread, NULL);
	over = true;
	for (i = 0; i <= READERS; i++)
		pthread_join(other[i], NULL);
	printf("# %lu reads\n", reads);
	return !reads;
}
