// SPDX-License-Identifier: GPL-2.0-only
/*
 * What single operations on files cost: fsops ops COUNT ROUNDS NAME=DIRECTORY...,
 * fsops fill DIRECTORY NAMES, fsops pieces FILE EXTENTS, fsops mail DIRECTORY COUNT. Prints a JSON
 * line for each that was measured, at its end.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCK		4096
#define MAX_FS		16
#define SAMPLES		1000

static char buffer[BLOCK] __attribute__((aligned(BLOCK)));
static unsigned long count;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Numbers that repeat. */
static unsigned long any(unsigned long below)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static char *name(char kind, unsigned long i)
{
	static char text[2][32];
	static int which;

	which ^= 1;
	snprintf(text[which], sizeof(text[which]), "%c%08lu", kind, i);
	return text[which];
}

/* What the loop itself takes is in all of them: a name and a call. */
static void op_create(void)
{
	for (unsigned long i = 0; i < count; i++) {
		int fd = open(name('f', i), O_CREAT | O_EXCL | O_RDWR, 0644);

		if (fd < 0 || close(fd))
			err(1, "create");
	}
}

static void op_rename(void)
{
	for (unsigned long i = 0; i < count; i++)
		if (rename(name('f', i), name('g', i)))
			err(1, "rename");
}

static void op_unlink(void)
{
	for (unsigned long i = 0; i < count; i++)
		if (unlink(name('g', i)))
			err(1, "unlink");
}

static void op_mkdir(void)
{
	for (unsigned long i = 0; i < count; i++)
		if (mkdir(name('d', i), 0755))
			err(1, "mkdir");
}

static void op_rmdir(void)
{
	for (unsigned long i = 0; i < count; i++)
		if (rmdir(name('d', i)))
			err(1, "rmdir");
}

/* A file for what is done to content; opened and closed outside of what is timed. */
static int file;

static void one_append(void)
{
	if (write(file, buffer, BLOCK) != BLOCK)
		err(1, "append");
}

static void op_append(void)
{
	for (unsigned long i = 0; i < count; i++)
		one_append();
}

static void op_append_fsync(void)
{
	for (unsigned long i = 0; i < count; i++) {
		one_append();
		if (fsync(file))
			err(1, "fsync");
	}
}

static void op_read(void)
{
	for (unsigned long i = 0; i < count; i++)
		if (pread(file, buffer, BLOCK, any(count) * BLOCK) != BLOCK)
			err(1, "read");
}

static void op_overwrite(void)
{
	for (unsigned long i = 0; i < count; i++)
		if (pwrite(file, buffer, BLOCK, any(count) * BLOCK) != BLOCK)
			err(1, "overwrite");
}

static const struct {
	const char *name;
	void (*fn)(void);
	const char *begins, *ends;	/* its file is made anew, removed */
} ops[] = {
	{ "create", op_create, NULL, NULL },
	{ "rename", op_rename, NULL, NULL },
	{ "unlink", op_unlink, NULL, NULL },
	{ "mkdir", op_mkdir, NULL, NULL },
	{ "rmdir", op_rmdir, NULL, NULL },
	{ "append", op_append, "a", NULL },
	{ "read", op_read, NULL, NULL },
	{ "overwrite", op_overwrite, NULL, "a" },
	{ "append+fsync", op_append_fsync, "b", "b" },
};

#define OPS	(sizeof(ops) / sizeof(ops[0]))

static void measure(const char *fs, unsigned int op, int round)
{
	uint64_t from;

	if (ops[op].begins) {
		file = open(ops[op].begins, O_CREAT | O_EXCL | O_RDWR | O_APPEND, 0644);
		if (file < 0)
			err(1, "%s: %s", fs, ops[op].begins);
	}
	from = now();
	ops[op].fn();
	from = now() - from;
	if (round >= 0)
		printf("{\"fs\": \"%s\", \"op\": \"%s\", \"round\": %d, \"ns\": %.1f}\n",
		       fs, ops[op].name, round, (double)from / count);
	if (ops[op].begins && op + 1 < OPS && !ops[op + 1].begins && !ops[op].ends)
		return;
	if (ops[op].ends) {
		close(file);
		if (unlink(ops[op].ends))
			err(1, "%s: %s", fs, ops[op].ends);
	}
}

/* Operations one after the other on one file system, then on the next; the first round warms up. */
static void all_ops(int rounds, char **fs, int nr)
{
	char *dir[MAX_FS];

	for (int i = 0; i < nr; i++) {
		dir[i] = strchr(fs[i], '=');
		if (!dir[i])
			errx(2, "%s: NAME=DIRECTORY", fs[i]);
		*dir[i]++ = 0;
	}
	for (int round = -1; round < rounds; round++)
		for (int i = 0; i < nr; i++) {
			if (chdir(dir[i]))
				err(1, "%s", dir[i]);
			for (unsigned int op = 0; op < OPS; op++)
				measure(fs[i], op, round);
		}
}

static void forget(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	if (fd < 0 || write(fd, "2", 1) != 1)
		err(1, "drop_caches");
	close(fd);
}

static void told(const char *what, unsigned long nr, const char *op, uint64_t ns)
{
	printf("{\"%s\": %lu, \"op\": \"%s\", \"ns\": %.1f}\n", what, nr, op,
	       (double)ns / SAMPLES);
}

/* The last of @names are made; some are looked up, which were forgotten; one comes and goes. */
static void samples(unsigned long names)
{
	struct stat st;
	uint64_t from = now();

	for (unsigned long i = names - SAMPLES; i < names; i++)
		if (mknod(name('f', i), S_IFREG | 0644, 0))
			err(1, "mknod");
	told("names", names, "create", now() - from);
	forget();
	from = now();
	for (int i = 0; i < SAMPLES; i++)
		if (stat(name('f', any(names)), &st))
			err(1, "stat");
	told("names", names, "lookup", now() - from);
	from = now();
	for (int i = 0; i < SAMPLES; i++)
		if (unlink(name('f', names - 1)) || mknod(name('f', names - 1), S_IFREG | 0644, 0))
			err(1, "unlink");
	told("names", names, "unlink, create", now() - from);
}

static void fill(const char *dir, unsigned long most)
{
	unsigned long made = 0, next;

	if (chdir(dir) || open(".", O_RDONLY) < 0)	/* which stays open */
		err(1, "%s", dir);
	for (next = 2 * SAMPLES;; next = next * 4 < most ? next * 4 : most) {
		for (; made < next - SAMPLES; made++)
			if (mknod(name('f', made), S_IFREG | 0644, 0))
				err(1, "mknod");
		samples(next);
		made = next;
		if (next == most)
			return;
	}
}

static void in_piece(unsigned long piece, bool write)
{
	off_t at = piece * 2 * BLOCK;	/* a hole behind each */

	if ((write ? pwrite(file, buffer, BLOCK, at) : pread(file, buffer, BLOCK, at)) != BLOCK)
		err(1, "piece %lu", piece);
}

static void pieces(const char *path, unsigned long most)
{
	unsigned long made = 0, next;
	uint64_t from;

	file = open(path, O_CREAT | O_EXCL | O_RDWR, 0644);
	if (file < 0)
		err(1, "%s", path);
	for (next = 2 * SAMPLES;; next = next * 4 < most ? next * 4 : most) {
		for (; made < next - SAMPLES; made++)
			in_piece(made, true);
		from = now();
		for (; made < next; made++)
			in_piece(made, true);
		told("extents", next, "grow", now() - from);
		from = now();
		for (int i = 0; i < SAMPLES; i++)
			in_piece(any(next), false);
		told("extents", next, "read", now() - from);
		if (next == most)
			return;
	}
}

/* A new file of 4 KiB that is durable, as a mail server makes it. */
static void one_mail(unsigned long i)
{
	file = open(name('m', i), O_CREAT | O_EXCL | O_WRONLY, 0644);
	if (file < 0)
		err(1, "create");
	one_append();
	if (fsync(file) || close(file))
		err(1, "fsync");
}

/* Three rounds, of which the first one warms up. */
static void mail(const char *dir, unsigned long most)
{
	uint64_t from;

	if (chdir(dir))
		err(1, "%s", dir);
	for (int round = -1; round < 2; round++) {
		from = now();
		for (unsigned long i = 0; i < most; i++)
			one_mail(i);
		from = now() - from;
		if (round >= 0)
			printf("{\"files\": %lu, \"round\": %d, \"ns\": %.1f}\n", most, round,
			       (double)from / most);
		for (unsigned long i = 0; i < most; i++)
			if (unlink(name('m', i)))
				err(1, "unlink");
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	if (argc == 4 && !strcmp(argv[1], "fill")) {
		fill(argv[2], strtoul(argv[3], NULL, 0));
	} else if (argc == 4 && !strcmp(argv[1], "pieces")) {
		pieces(argv[2], strtoul(argv[3], NULL, 0));
	} else if (argc == 4 && !strcmp(argv[1], "mail")) {
		mail(argv[2], strtoul(argv[3], NULL, 0));
	} else if (argc >= 5 && argc - 4 <= MAX_FS && !strcmp(argv[1], "ops")) {
		count = strtoul(argv[2], NULL, 0);
		all_ops(atoi(argv[3]), argv + 4, argc - 4);
	} else {
		errx(2, "usage: fsops ops COUNT ROUNDS NAME=DIRECTORY... | "
		     "fill DIRECTORY NAMES | pieces FILE EXTENTS | mail DIRECTORY COUNT");
	}
	return 0;
}
