// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small direct I/O on a block device, one request a call, with the errno as the
 * result: what dd can't do.
 *
 *   blkio write|fua DEVICE SECTOR COUNT SEED    pattern of SEED
 *   blkio verify DEVICE SECTOR COUNT SEED       0 if it is there; SEED 0: zeroes
 *   blkio discard|zero DEVICE SECTOR COUNT
 *   blkio flush DEVICE
 *   blkio size DEVICE                           in sectors, printed
 *   blkio digest DEVICE SECTOR COUNT            of the content, printed
 *   blkio nowait DEVICE SECTOR COUNT            read that must not block
 *   blkio nowait-write DEVICE SECTOR COUNT SEED
 *   blkio ahead DEVICE SECTOR COUNT             read ahead, not waited for
 *
 * Several of them may follow each other, separated by "--".  Exits with 0, or 1
 * after printing what failed and the errno's name, or 2.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define SECTOR	512u
#define CHUNK	2048u		/* sectors a request */

static void fill(uint8_t *buf, uint64_t sector, uint32_t nr, uint64_t seed)
{
	uint64_t *w = (uint64_t *)buf, i;

	for (i = 0; i < nr * (SECTOR / 8); i++)
		w[i] = seed ? (sector * (SECTOR / 8) + i + seed * 0x100000001ULL) *
			0x9e3779b97f4a7c15ULL : 0;
}

static uint64_t digest_of(const uint8_t *buf, uint32_t nr, uint64_t digest)
{
	const uint64_t *w = (const uint64_t *)buf;
	uint32_t i;

	for (i = 0; i < nr * (SECTOR / 8); i++)
		digest = (digest ^ w[i]) * 0x9e3779b97f4a7c15ULL + (digest >> 29);
	return digest;
}

/*
 * Two buffers of CHUNK, kept: a shell that has this as a command would else take
 * their page faults each time.  Its subshells do not inherit them, as that costs, too.
 */
static uint8_t *buffers(void)
{
	static uint8_t *buf;
	static pid_t owner;

	if (owner != getpid()) {
		buf = mmap(NULL, 2 * CHUNK * SECTOR, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (buf == MAP_FAILED)
			return NULL;
		madvise(buf, 2 * CHUNK * SECTOR, MADV_DONTFORK);
		owner = getpid();
	}
	return buf;
}

static int transfer(const char *what, int fd, uint64_t sector, uint64_t nr, uint64_t seed, int flags)
{
	uint8_t *buf = buffers(), *want;
	uint64_t digest = 0;
	int wr = flags >> 16;

	if (!buf)
		return ENOMEM;
	want = buf + CHUNK * SECTOR;
	flags &= 0xffff;
	while (nr) {
		uint32_t n = nr < CHUNK ? nr : CHUNK;
		struct iovec iov = { buf, n * SECTOR };
		ssize_t done;

		fill(wr ? buf : want, sector, n, seed);
		done = wr ? pwritev2(fd, &iov, 1, sector * SECTOR, flags) :
			preadv2(fd, &iov, 1, sector * SECTOR, flags);
		if (done < 0)
			return errno;
		if (done != (ssize_t)(n * SECTOR)) {
			printf("# %s: short, %zd of %u bytes\n", what, done, n * SECTOR);
			return EIO;
		}
		if (!wr && !strcmp(what, "verify") && memcmp(buf, want, n * SECTOR)) {
			uint32_t i = 0;

			while (!memcmp(buf + i * SECTOR, want + i * SECTOR, SECTOR))
				i++;
			printf("# verify: sector %llu differs\n", (unsigned long long)(sector + i));
			return EILSEQ;
		}
		if (!strcmp(what, "digest"))
			digest = digest_of(buf, n, digest);
		sector += n;
		nr -= n;
	}
	if (!strcmp(what, "digest"))
		printf("%016llx\n", (unsigned long long)digest);
	return 0;
}

static int print_size(int fd)
{
	uint64_t bytes;

	if (ioctl(fd, BLKGETSIZE64, &bytes))
		return errno;
	printf("%llu\n", (unsigned long long)(bytes / SECTOR));
	return 0;
}

static bool only_reads(const char *what)
{
	return !strcmp(what, "verify") || !strcmp(what, "nowait") || !strcmp(what, "digest") ||
		!strcmp(what, "size") || !strcmp(what, "ahead");
}

static int one(int argc, char **argv)
{
	uint64_t range[2], sector, nr, seed;
	const char *what = argv[0];
	int fd, err = 0;

	if (argc < 2)
		return EINVAL;
	sector = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	nr = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;
	fd = open(argv[1], O_DIRECT | O_CLOEXEC | (only_reads(what) ? O_RDONLY : O_RDWR) |
		  (!strcmp(what, "fua") ? O_DSYNC : 0));
	if (fd < 0)
		return errno;
	range[0] = sector * SECTOR;
	range[1] = nr * SECTOR;
	if (!strcmp(what, "write") || !strcmp(what, "fua"))
		err = transfer(what, fd, sector, nr, seed, 1 << 16);
	else if (!strcmp(what, "verify") || !strcmp(what, "digest"))
		err = transfer(what, fd, sector, nr, seed, 0);
	else if (!strcmp(what, "nowait"))
		err = transfer(what, fd, sector, nr, 0, RWF_NOWAIT);
	else if (!strcmp(what, "nowait-write"))
		err = transfer(what, fd, sector, nr, seed, RWF_NOWAIT | 1 << 16);
	else if (!strcmp(what, "discard"))
		err = ioctl(fd, BLKDISCARD, range) ? errno : 0;
	else if (!strcmp(what, "zero"))
		err = ioctl(fd, BLKZEROOUT, range) ? errno : 0;
	else if (!strcmp(what, "ahead"))
		err = posix_fadvise(fd, range[0], range[1], POSIX_FADV_WILLNEED);
	else if (!strcmp(what, "size"))
		err = print_size(fd);
	else if (!strcmp(what, "flush"))
		err = fdatasync(fd) ? errno : 0;
	else
		err = EINVAL;
	close(fd);
	return err;
}

int main(int argc, char **argv)
{
	int i, first = 1;

	for (i = 1; i <= argc; i++) {
		int err;

		if (i < argc && strcmp(argv[i], "--"))
			continue;
		err = one(i - first, argv + first);
		if (err) {
			printf("# %s %s: %s\n", argv[first], first + 2 < i ? argv[first + 2] : "",
			       strerrorname_np(err));
			return err == EINVAL && i - first < 2 ? 2 : 1;
		}
		first = i + 1;
	}
	return 0;
}
