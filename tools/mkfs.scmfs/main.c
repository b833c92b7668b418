// SPDX-License-Identifier: GPL-2.0-only
/* mkfs.scmfs: make a file system in persistent memory, or in an image of it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine_internal.h"
#include "feature_names.h"
#include "file.h"
#include "image.h"
#include "phys.h"
#include "../common/stdio_fds.h"

static const char usage[] =
	"usage: mkfs.scmfs [OPTION]... DEVICE|FILE\n"
	"\n"
	"Make an scmfs file system. Sizes take the suffixes K, M, G and T.\n"
	"\n"
	"  -f, --force          also over something else\n"
	"  -L, --label TEXT     name it, 32 bytes at most\n"
	"  -U, --uuid UUID      its UUID; a random one by default\n"
	"  -N, --inodes NUMBER  files that it can have; one for 16 KiB by default\n"
	"  -l, --lanes NUMBER   tasks that can change it at once, 1 to 64; 16 by default\n"
	"  -O, --features LIST  ^unwritten,^xattr: without these, for what does not know them\n"
	"  -s, --size SIZE      make a FILE so large first; use so much of the DEVICE\n"
	"  -q, --quiet          say nothing\n"
	"  -h, --help           show this\n"
	"  -V, --version        show the version\n";

static const struct option options[] = {
	{ "force", no_argument, NULL, 'f' },
	{ "label", required_argument, NULL, 'L' },
	{ "uuid", required_argument, NULL, 'U' },
	{ "inodes", required_argument, NULL, 'N' },
	{ "lanes", required_argument, NULL, 'l' },
	{ "features", required_argument, NULL, 'O' },
	{ "size", required_argument, NULL, 's' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

struct args {
	struct scmfs_format_params p;
	uint64_t size;
	bool force, quiet;
};

static int wrong(const char *what, const char *arg)
{
	fprintf(stderr, "mkfs.scmfs: %s: %s\n", what, arg);
	return 1;
}

static int parse(int c, const char *arg, struct args *a)
{
	uint64_t n;

	switch (c) {
	case 'f':
		a->force = true;
		return 0;
	case 'L':
		a->p.label = arg;
		return strlen(arg) > SCMFS_LABEL_SIZE ? wrong("label too long", arg) : 0;
	case 'U':
		return parse_uuid(arg, a->p.uuid) ? 0 : wrong("not a UUID", arg);
	case 'N':
		return parse_size(arg, &n) && (a->p.nr_inodes = n) ? 0 : wrong("not a number", arg);
	case 'l':
		if (!parse_size(arg, &n) || !n || n > EKU_MAX_LANES)
			return wrong("not 1 to 64", arg);
		a->p.lanes = n;
		return 0;
	case 'O':
		n = 0;
		if (!parse_without(arg, &n))
			return wrong("not known", arg);
		a->p.without |= n;
		return 0;
	case 's':
		return parse_size(arg, &a->size) ? 0 : wrong("not a size", arg);
	case 'q':
		a->quiet = true;
		return 0;
	}
	fputs(usage, stderr);
	return 1;
}

/* Where the last bytes begin that are looked at, and zeroed. */
static uint64_t tail_of(const struct image *im)
{
	return im->size - min_t(uint64_t, im->size, SCMFS_TAIL_BYTES);
}

/*
 * By a page. What can't be read is bad memory: nobody finds anything there, and a store to where
 * it is mapped would end the program.
 */
static u64 next_bad(void *ctx, u64 from, u64 to, u64 *bytes)
{
	const struct image *im = ctx;
	uint8_t page[SCMFS_BLOCK_SIZE];

	for (; from < to; from += sizeof(page)) {
		if (pread(im->fd, page, sizeof(page), from) == sizeof(page))
			continue;
		*bytes = sizeof(page);
		return from;
	}
	return to;
}

/* Each piece of [@from, @to) but for bad memory; false once @each is. */
static bool each_good(struct image *im, u64 from, u64 to, bool (*each)(uint8_t *at, u64 len))
{
	u64 bytes, bad;

	for (; from < to; from = bad + bytes) {
		bytes = 0;
		bad = next_bad(im, from, to, &bytes);
		if (!each(im->base + from, bad - from))
			return false;
		if (bad == to)
			break;
	}
	return true;
}

static bool is_blank(uint8_t *at, u64 len)
{
	return !memchr_inv(at, 0, len);
}

static bool make_blank(uint8_t *at, u64 len)
{
	memset(at, 0, len);
	return true;
}

/* What is behind the last page is in no file system of ours, but may end another format. */
static bool rest_is_blank(const struct image *im)
{
	uint8_t rest[SCMFS_BLOCK_SIZE] = {};

	return !im->rest || (pread(im->fd, rest, im->rest, im->size) == im->rest &&
			     !memchr_inv(rest, 0, im->rest));
}

static bool make_rest_blank(const struct image *im)
{
	static const uint8_t zeroes[SCMFS_BLOCK_SIZE];

	return !im->rest || rest_is_blank(im) ||
	       (pwrite(im->fd, zeroes, im->rest, im->size) == im->rest && !fsync(im->fd));
}

/* Whatever it is: only zeroes are free for the taking. Other formats begin and end there. */
static bool may_overwrite(struct image *im, const struct args *a)
{
	uint64_t look = min_t(uint64_t, im->size, FILE_LOOK);

	return a->force || (!memchr_inv(im->base, 0, look) &&
			    each_good(im, tail_of(im), im->size, is_blank) && rest_is_blank(im)) ||
	       file_refused(im->path);
}

/* How much of the image to use, 0: it is smaller than that. */
static uint64_t use_of(const struct image *im, uint64_t wanted)
{
	if (!wanted)
		return im->size;
	if (wanted > im->size) {
		wrong("smaller than that", im->path);
		return 0;
	}
	return wanted < SCMFS_BLOCK_SIZE ? SCMFS_BLOCK_SIZE : wanted & ~(SCMFS_BLOCK_SIZE - 1ULL);
}

/* A copy of the super block is looked for at the end of all of the memory; NULL: that is @size. */
static void *behind(const struct image *im, uint64_t size)
{
	uint64_t last = (im->size & ~(SCMFS_BLOCK_SIZE - 1ULL)) - SCMFS_BLOCK_SIZE;

	return last >= size ? im->base + last : NULL;
}

/*
 * A former file system goes first, in a page cache, too; behind what this one takes it may have had
 * a copy: cut short, this would be mended to be that one, which it is not any more. And all that
 * other formats have there is found as long as it is there; but it may be content of the former
 * one, which has to be gone by then.
 */
static bool forget_former(struct image *im, uint64_t size)
{
	void *end = behind(im, size);

	memset(im->base, 0, SCMFS_BLOCK_SIZE);
	if (end)
		memset(end, 0, SCMFS_BLOCK_SIZE);
	if (msync(im->base, im->size, MS_SYNC))
		return false;
	if (end)
		each_good(im, max_t(uint64_t, size, tail_of(im)), im->size - SCMFS_BLOCK_SIZE,
			  make_blank);
	return !msync(im->base, im->size, MS_SYNC) && make_rest_blank(im);
}

/* On a disk that is full a store to what a file has no block for ends the program. */
static bool has_room(const struct image *im, u64 head, u64 size)
{
	uint64_t tail = size - min_t(uint64_t, size, SCMFS_TAIL_BYTES);
	struct stat st;

	if (fstat(im->fd, &st))
		return false;
	if (!S_ISREG(st.st_mode))
		return true;
	errno = posix_fallocate(im->fd, 0, head);
	if (!errno)
		errno = posix_fallocate(im->fd, tail, size - tail);
	tail = max_t(uint64_t, size, tail_of(im));
	if (!errno && tail < im->size)
		errno = posix_fallocate(im->fd, tail, im->size - tail);
	return !errno;
}

static int format(struct image *im, struct args *a)
{
	const struct scmfs_bad_list bad = { .next = next_bad, .ctx = im };
	uint64_t size = use_of(im, a->size);
	const char *reason;
	u64 head;
	struct scmfs *fs;
	int r;

	if (!size)
		return 1;
	/* What can't be made changes nothing. */
	a->p.bad = &bad;
	r = scmfs_format_head(size, &a->p, &head);
	if (!r && !has_room(im, head, size))
		return wrong(strerror(errno), im->path);
	if (!r && !forget_former(im, size))
		return wrong(strerror(errno), im->path);
	if (!r)
		r = scmfs_format(im->base, size, &a->p);
	if (!r)		/* opened and closed once it has valid maps, and can be mounted read-only */
		r = scmfs_open(im->base, size, 0, &fs, NULL, &reason);
	if (r)
		return wrong(r == -ENOSPC ? "too small" : "can't be made so", im->path);
	scmfs_close(fs);
	if (behind(im, size))
		memcpy(behind(im, size), im->base, SCMFS_BLOCK_SIZE);
	return 0;
}

static void report(const struct image *im)
{
	const struct scmfs_super *s = (const void *)im->base;
	char uuid[37];

	print_uuid(s->uuid, uuid);
	printf("%s: %llu blocks of 4 KiB, %llu for files; %llu inodes; UUID %s\n", im->path,
	       le64_to_cpu(s->nr_blocks),
	       le64_to_cpu(s->nr_blocks) - 1 - le64_to_cpu(s->first_data_block),
	       le64_to_cpu(s->nr_inodes) - 1, uuid);
}

static void random_uuid(uint8_t *uuid)
{
	if (getrandom(uuid, SCMFS_UUID_SIZE, 0) != SCMFS_UUID_SIZE)
		return;		/* formatting makes up one */
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static int make_on(const char *path, struct args *a)
{
	struct timespec now;
	struct image im = { .status = 1 };
	int r;

	if (!image_open(&im, path, IMAGE_WRITE))
		return 1;
	if (!may_overwrite(&im, a)) {
		image_close(&im);
		return 1;
	}
	if (!memchr_inv(a->p.uuid, 0, sizeof(a->p.uuid)))
		random_uuid(a->p.uuid);
	clock_gettime(CLOCK_REALTIME, &now);
	a->p.now = now.tv_sec * 1000000000LL + now.tv_nsec;
	a->p.uid = getuid();
	a->p.gid = getgid();
	r = format(&im, a);
	if (!r && !a->quiet)
		report(&im);
	return !image_close(&im) || r;
}

static int make(const char *path, struct args *a)
{
	struct file_before before = { 0 };
	int r;

	if (phys_is_name(path))
		return wrong("in reserved memory one is made by mount -o init", path);
	if (a->size && !file_enlarge(path, a->size, a->force, &before))
		return 1;
	r = make_on(path, a);
	if (r)
		file_take_back(path, &before);
	return r;
}

int main(int argc, char **argv)
{
	struct args a = { 0 };
	int c;

	keep_stdio();
	while ((c = getopt_long(argc, argv, "fL:U:N:l:O:s:qhV", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (c == 'V') {
			puts("mkfs.scmfs " EVENKEEL_VERSION);
			return 0;
		}
		if (parse(c, optarg, &a))
			return 1;
	}
	if (optind != argc - 1) {
		fputs(usage, stderr);
		return 1;
	}
	c = make(argv[optind], &a);
	return output_is_out("mkfs.scmfs") ? c : 1;
}
