// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <evenkeel/range_format.h>

#include "../common/looks.h"
#include "image.h"
#include "phys.h"
#include "shim.h"

#ifndef BLKGETSIZE64
#define BLKGETSIZE64	_IOR(0x12, 114, size_t)
#endif

static bool fail(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", path, what, strerror(errno));
	return false;
}

static bool find_size(struct image *im)
{
	struct stat st;

	if (fstat(im->fd, &st))
		return fail(im->path, "stat");
	im->size = st.st_size;
	if (S_ISBLK(st.st_mode) && ioctl(im->fd, BLKGETSIZE64, &im->size))
		return fail(im->path, "size");
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode)) {
		fprintf(stderr, "%s: neither a file nor a block device\n", im->path);
		return false;
	}
	im->rest = im->size & 4095;
	im->size &= ~4095ULL;
	if (!im->size)
		fprintf(stderr, "%s: empty\n", im->path);
	return im->size;
}

/* A device that is mounted can't be opened exclusively. */
static int open_flags(const char *path, enum image_use use)
{
	struct stat st;
	int flags = use == IMAGE_WRITE ? O_RDWR : O_RDONLY;

	if (use == IMAGE_WRITE && !stat(path, &st) && S_ISBLK(st.st_mode))
		flags |= O_EXCL;
	return flags | O_CLOEXEC;
}

/* --- what can't be read is a signal where memory is mapped --- */

static struct image *mapped;		/* by this program, which has one */

/* Of a signal handler; @text has room for 21 bytes. */
static const char *decimal(uint64_t n, char *text)
{
	char *at = text + 20;

	*at = '\0';
	do {
		at--;
		*at = '0' + n % 10;
		n /= 10;
	} while (n);
	return at;
}

static void tell(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

/*
 * A page that the device can't give, a file that has become shorter or has no room for what is
 * written. What was written so far stays, as after a cut: each repair leaves less wrong.
 */
static void unreadable(int sig, siginfo_t *info, void *context)
{
	uint64_t at = (uint8_t *)info->si_addr - mapped->base;
	char text[21];

	if ((uint8_t *)info->si_addr < mapped->base || at >= mapped->size) {
		signal(sig, SIG_DFL);	/* not ours: once more, and it ends the program */
		return;
	}
	tell(mapped->path);
	tell(": can't be accessed at byte ");
	tell(decimal(at, text));
	tell("\n");
	_exit(mapped->status);
}

static void expect_bad_memory(struct image *im)
{
	struct sigaction action = { .sa_sigaction = unreadable, .sa_flags = SA_SIGINFO };

	mapped = im;
	setvbuf(stdout, NULL, _IOLBF, 0);	/* what was said before is not lost with it */
	sigaction(SIGBUS, &action, NULL);
}

/*
 * What is stored here is in a page cache, which writes it back in any order. So a fence, which is
 * what the engine's order rests on, waits until all of it is on the media. Who can't have that ends
 * as at a cut: what comes next would rest on what is not there.
 */
static void sync_mapped(void)
{
	if (!msync(mapped->base, mapped->size, MS_SYNC))
		return;
	fail(mapped->path, "write");
	exit(mapped->status);
}

static bool map(struct image *im, enum image_use use, uint64_t offset)
{
	int prot = use == IMAGE_READ ? PROT_READ : PROT_READ | PROT_WRITE;
	/* Of a copy hardly any page is written: it need not fit into memory as a whole. */
	int flags = use == IMAGE_COPY ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;

	im->base = mmap(NULL, im->size, prot, flags, im->fd, offset);
	if (im->base == MAP_FAILED)
		return fail(im->path, "map");
	expect_bad_memory(im);
	return true;
}

/* Of a file or a block device what is stored gets to the media by the page cache. */
static bool open_file(struct image *im, enum image_use use)
{
	im->fd = open(im->path, open_flags(im->path, use));
	if (im->fd < 0)
		return fail(im->path, "open");
	if (flock_patiently(im->fd, use == IMAGE_WRITE ? LOCK_EX : LOCK_SH)) {
		fail(im->path, "in use");
		goto close;
	}
	if (find_size(im) && map(im, use, 0)) {
		shim_fence = use == IMAGE_WRITE ? sync_mapped : NULL;
		return true;
	}
close:
	close(im->fd);
	return false;
}

/* Is it such memory, and nobody's? */
static bool find_phys(const char *path, struct phys *p)
{
	const char *wrong = phys_parse(path, p);
	FILE *iomem;

	if (!wrong) {
		iomem = fopen("/proc/iomem", "re");
		if (!iomem)
			return fail(path, "/proc/iomem");
		wrong = phys_check(p, iomem);
		fclose(iomem);
	}
	if (wrong)
		fprintf(stderr, "%s: %s\n", path, wrong);
	return !wrong;
}

/*
 * Of reserved memory it is in the memory itself: the engine's flushes and fences are all there is
 * to it. A mount of what is open here is kept off by nobody, but a kernel that is strict about its
 * memory takes the mapping away by it, and this program ends as at a cut.
 */
static bool open_phys(struct image *im, enum image_use use)
{
	struct flock lock = { .l_type = use == IMAGE_WRITE ? F_WRLCK : F_RDLCK };
	struct phys p;

	if (!find_phys(im->path, &p))
		return false;
	/* Without O_SYNC, which would have it uncached. */
	im->fd = open("/dev/mem", (use == IMAGE_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (im->fd < 0)
		return fail(im->path, "/dev/mem");
	lock.l_start = p.start;
	lock.l_len = p.bytes;
	if (fcntl(im->fd, F_OFD_SETLK, &lock)) {
		fail(im->path, "in use");
		goto close;
	}
	im->size = p.bytes - scm_range_data(p.bytes, 0);
	im->is_memory = true;
	if (map(im, use, p.start + p.bytes - im->size))
		return true;
close:
	close(im->fd);
	return false;
}

bool image_open(struct image *im, const char *path, enum image_use use)
{
	im->path = path;
	return phys_is_name(path) ? open_phys(im, use) : open_file(im, use);
}

bool image_close(struct image *im)
{
	bool ok = true;

	shim_fence = NULL;
	if (!im->is_memory && fcntl(im->fd, F_GETFL) & O_RDWR)
		ok = !msync(im->base, im->size, MS_SYNC) && !fsync(im->fd);
	if (!ok)
		fail(im->path, "write");
	munmap(im->base, im->size);
	close(im->fd);
	return ok;
}

bool output_is_out(const char *tool)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	fprintf(stderr, "%s: can't write what is to be said: %s\n", tool, strerror(errno));
	return false;
}

bool parse_size(const char *text, uint64_t *size)
{
	static const char units[] = "KMGTPE";
	const char *unit;
	char *end;

	errno = 0;
	*size = strtoull(text, &end, 0);
	if (end == text || errno || *text == '-')
		return false;
	if (!*end)
		return true;
	unit = strchr(units, toupper((unsigned char)*end));
	if (!unit || end[1] || *size > UINT64_MAX >> 10 * (unit - units + 1))
		return false;
	*size <<= 10 * (unit - units + 1);
	return true;
}

bool parse_uuid(const char *text, uint8_t *uuid)
{
	unsigned int i, byte;

	for (i = 0; i < 16; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return false;
		if (!strspn(text, "0123456789abcdefABCDEF") || sscanf(text, "%2x", &byte) != 1)
			return false;
		uuid[i] = byte;
		text += 2;
	}
	return !*text;
}

void print_uuid(const uint8_t *uuid, char *text)
{
	unsigned int i;

	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*text++ = '-';
		text += sprintf(text, "%02x", uuid[i]);
	}
}
