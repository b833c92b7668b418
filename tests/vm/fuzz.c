// SPDX-License-Identifier: GPL-2.0-only
/*
 * Table lines, messages and metadata that are nearly right, against the kernel.
 *
 *   fuzz lines SECONDS SEED DISK...		the first disks carry the pool, the rest is blank
 *   fuzz messages SECONDS SEED POOL
 *   fuzz media SECONDS SEED META... -- MEMBER...
 *   fuzz image SECONDS SEED START SIZE HEAD	scmfs in reserved memory, behind HEAD bytes of struct pages
 *
 * Whatever is refused is refused with an errno that is expected of it, a line in the
 * kernel log, and nothing written; whatever is taken works.  Exits with 1 at the
 * first that is not so, after printing the input.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "dm.h"
#include "fuzz.h"

static uint64_t random_state;
char fuzz_input[FUZZ_LINE];

uint64_t rnd(uint64_t n)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return n ? z % n : z;
}

uint64_t odd_number(void)
{
	static const uint64_t odd[] = { 0, 1, 2, 3, 7, 8, 127, 128, 4095, 4096, 8192, 65536, 1000000 };

	switch (rnd(4)) {
	case 0:
		return odd[rnd(sizeof(odd) / sizeof(*odd))];
	case 1:
		return ~rnd(3);
	case 2:
		return (1ULL << rnd(64)) + rnd(3) - 1;
	default:
		return rnd(0) >> rnd(64);
	}
}

/* What a word of a structure may be instead: nearly what it was, or some odd number. */
uint64_t hurt_word(uint64_t w)
{
	uint64_t v = odd_number();

	switch (rnd(6)) {
	case 0:
		return w ^ 1ULL << rnd(64);
	case 1:
		return w + rnd(9) - 4;
	case 2:
		return (w & ~0xffffffffULL) | (v & 0xffffffff);
	case 3:
		return (w & 0xffffffffULL) | v << 32;
	default:
		return v;
	}
}

void wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n# input: %.4000s\n", fuzz_input);
	exit(1);
}

/* ---- what the kernel says ---- */

static int kmsg = -1;

void log_mark(void)
{
	if (kmsg < 0)
		kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		wrong("/dev/kmsg: %s", strerror(errno));
}

/* What device-mapper says of every target that fails, whether or not that has said why. */
static bool is_generic(const char *record)
{
	return strstr(record, "Unknown error") || strstr(record, "error adding target to table") ||
	       strstr(record, "preresume failed");
}

/* Has anybody whose lines begin with @who said why since the mark? */
bool log_says_why(const char *who)
{
	char record[8193];
	int tries = 1000;
	ssize_t n;

	do {
		while ((n = read(kmsg, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
			if (n < 0)
				continue;
			record[n] = 0;
			if (strstr(record, who) && !is_generic(record))
				return true;
		}
		/* a record that another CPU has begun holds up those behind it */
		usleep(10000);
	} while (tries--);
	return false;
}

/* ---- disks ---- */

uint64_t written(char *const *disk, int nr)
{
	unsigned long long f[12], sum = 0;
	char path[256];
	FILE *file;
	int i;

	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "/sys/block/emudisk!%s/stat", strrchr(disk[i], '/') + 1);
		file = fopen(path, "r");
		if (!file || fscanf(file, "%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu",
				    f, f + 1, f + 2, f + 3, f + 4, f + 5, f + 6, f + 7, f + 8, f + 9, f + 10,
				    f + 11) != 12)
			wrong("%s: %s", path, strerror(errno));
		fclose(file);
		sum += f[4] + f[11];
	}
	return sum;
}

/* ---- words ---- */

static const char *const names[] = {
	"-", "0", "wardrop", "static", "stripe", "fill", "concentrate", "nosuch", "shares", "50,50", "100", "alpha", "preset",
	"period_ms", "candidates", "cooldown_ms", "movers", "low_free", "commit_ms", "cache_extents", "read_only",
	"no_discard_passdown", "set", "policy", "move", "entry", "commit", "checkpoint", "samples", "concentrations", "sublun", "fast",
	"auto", "@x", "+1", "-1", "pin", "unpin", "explain", "counts", "lost", "holds", "cache", "metadata", "resync", "leave",
	"stay", "evacuate", "remove", "vacate", "asymmetry", "unified", "delta",
	"0x10", "1\\ 2", "\\", "%s%n", "/dev/null", "/dev", "/", "253:0", "8:0", "99999:0", "0:0",
};

static void random_word(char *word, size_t room)
{
	size_t len;

	switch (rnd(8)) {
	case 0:		/* garbage, long at times */
		len = 1 + rnd(rnd(8) ? 12 : room - 1);
		for (size_t i = 0; i < len; i++)
			word[i] = 1 + rnd(255);
		word[len] = 0;
		break;
	case 1:		/* one long word */
		len = 1 + rnd(rnd(4) ? 100 : room - 1);
		memset(word, 'a' + rnd(26), len);
		word[len] = 0;
		break;
	case 2:
	case 3:
	case 4:
		snprintf(word, room, "%s%llu", rnd(12) ? "" : "-", (unsigned long long)odd_number());
		break;
	default:
		snprintf(word, room, "%s", names[rnd(sizeof(names) / sizeof(*names))]);
	}
}

#define WORDS	4096

/* One to four words dropped, doubled, exchanged or replaced; the result in fuzz_input. */
static void mutate_words(const char *line, unsigned int keep)
{
	static char copy[FUZZ_LINE], fresh[4][4096];
	char *word[WORDS], *rest = copy, *w, *swap;
	unsigned int nr = 0, n, i, j, made = 0;
	size_t at = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	while (nr < WORDS - 8 && (w = strsep(&rest, " ")))
		word[nr++] = w;
	for (n = 1 + rnd(rnd(3) ? 1 : 4); n && nr > keep; n--) {
		i = keep + rnd(nr - keep);
		j = keep + rnd(nr - keep);
		switch (rnd(6)) {
		case 0:
			memmove(word + i, word + i + 1, (--nr - i) * sizeof(*word));
			break;
		case 1:
			memmove(word + i + 1, word + i, (nr++ - i) * sizeof(*word));
			break;
		case 2:
			swap = word[i];
			word[i] = word[j];
			word[j] = swap;
			break;
		case 3:		/* cut */
			if (!rnd(4))
				nr = i;
			break;
		default:
			random_word(fresh[made], sizeof(fresh[made]));
			word[i] = fresh[made++];
		}
	}
	for (i = 0; i < nr; i++)
		at += snprintf(fuzz_input + at, sizeof(fuzz_input) - at, "%s%s", i ? " " : "", word[i]);
	if (!rnd(50))		/* as many words as the ioctl takes */
		while (at < sizeof(fuzz_input) - 4)
			at += sprintf(fuzz_input + at, " %llu", (unsigned long long)rnd(10));
}

/* ---- ioctls without the limits of dm.c ---- */

struct big {
	struct dm_ioctl io;
	char data[FUZZ_LINE + 4096];
};

static int big_ioctl(struct big *b, const char *name, unsigned long what, size_t used)
{
	static int control = -1;

	if (control < 0)
		control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	b->io.version[0] = DM_VERSION_MAJOR;
	b->io.data_start = offsetof(struct big, data);
	b->io.data_size = sizeof(*b) - sizeof(b->data) + used;
	strcpy(b->io.name, name);
	return ioctl(control, what, b) ? errno : 0;
}

static int load(const char *name, uint64_t start, uint64_t length, const char *target, const char *words)
{
	static struct big b;
	struct dm_target_spec *spec = (void *)b.data;
	size_t len = strlen(words) + 1;

	memset(&b, 0, sizeof(b.io) + sizeof(*spec));
	b.io.target_count = 1;
	spec->sector_start = start;
	spec->length = length;
	strcpy(spec->target_type, target);
	memcpy(b.data + sizeof(*spec), words, len);
	return big_ioctl(&b, name, DM_TABLE_LOAD, sizeof(*spec) + len);
}

static int message(const char *name, const char *words)
{
	static struct big b;
	struct dm_target_msg *msg = (void *)b.data;
	size_t len = strlen(words) + 1;

	memset(&b, 0, sizeof(b.io) + sizeof(*msg));
	memcpy(msg->message, words, len);
	return big_ioctl(&b, name, DM_TARGET_MSG, sizeof(*msg) + len);
}

/* ---- the three ---- */

static bool among(int err, const int *set)
{
	for (; *set; set++)
		if (err == *set)
			return true;
	return false;
}

static bool over(time_t deadline)
{
	return time(NULL) >= deadline;
}

/*
 * Lines that name the pool or two blank disks.  A line that is taken is cleared again,
 * or now and then resumed, which either works or has its reason.
 */
static int lines(time_t deadline, char **disk, int nr)
{
	static const char *const policy[] = {
		"0 fill 0", "1 no_discard_passdown static 4 shares 40,60 movers 3", "0 asymmetry 0",
		"0 unified 2 delta 0", "2 cache_extents 8 concentrate 4 sublun 1 fast 0",
	};
	static const int expected[] = { EINVAL, ENODEV, ENXIO, ENOENT, ENOTDIR, EISDIR, ENOTBLK, EROFS,
					EBUSY, EOVERFLOW, ENAMETOOLONG, EACCES, 0 };
	static const int unresumed[] = { EINVAL, EUCLEAN, EROFS, EBUSY, ENXIO, 0 };
	unsigned int tried = 0, taken = 0, resumed = 0;
	char node[32], line[4096], base[1024];
	int err;

	snprintf(line, sizeof(line), "0 8 error");
	if (dm_make("f", line, node, sizeof(node)))
		wrong("f: %s", strerror(errno));
	/* on a slow machine there may be time for few, and few are right */
	while (!over(deadline) || tried <= 20 || (!taken && tried < 3000)) {
		uint64_t before, length = rnd(6) ? 4096 : odd_number();
		bool blank = nr > 4 && !rnd(3);

		snprintf(base, sizeof(base), "1 %s 0 128 2 %s 0 %s 0 %s", disk[blank ? 3 : 0],
			 disk[blank ? 4 : 1], disk[blank ? 1 + rnd(2) : 2],
			 policy[rnd(sizeof(policy) / sizeof(*policy))]);
		mutate_words(base, 0);
		before = written(disk, nr);
		log_mark();
		err = load("f", 0, length, "hybrid", fuzz_input);
		tried++;
		if (err && !among(err, expected))
			wrong("length %llu: refused with %s", (unsigned long long)length, strerror(err));
		if (err && !log_says_why("device-mapper: "))
			wrong("length %llu: %s, and not a word why", (unsigned long long)length, strerror(err));
		if (written(disk, nr) != before)
			wrong("length %llu: a load wrote to the disks", (unsigned long long)length);
		if (err)
			continue;
		taken++;
		if (rnd(3) || dm_suspend("f", 0)) {
			dm_clear("f");
			continue;
		}
		resumed++;
		if (dm_resume("f")) {
			if (!among(errno, unresumed))
				wrong("resumed with %s", strerror(errno));
			dm_clear("f");
			dm_resume("f");
		} else if (dm_line("f", 0, line, sizeof(line)) || status_grammar(line)) {
			wrong("status: %s", line);
		}
		if (dm_load("f", "0 8 error") || dm_suspend("f", 0) || dm_resume("f"))
			wrong("the device does not take another table: %s", strerror(errno));
		for (int i = 3; i < nr; i++)
			disk_blank(disk[i]);
	}
	if (dm_unmake("f", 1))
		wrong("f: %s", strerror(errno));
	printf("# %u lines, %u taken, %u of them resumed\n", tried, taken, resumed);
	return tried > 20 && taken ? 0 : 1;
}

/* There is no device to move to: nothing else of this pool fails. */
static bool is_move_to_removed(const char *pool)
{
	char line[4096];

	return !strncmp(fuzz_input + strspn(fuzz_input, " "), "move", 4) && !dm_line(pool, 0, line, sizeof(line)) &&
	       strstr(line, " removed ");
}

static int messages(time_t deadline, const char *pool)
{
	static const char *const base[] = {
		"set period_ms 500", "set alpha 10", "set movers 3", "set candidates 100", "set low_free 7",
		"policy stripe", "policy fill cooldown_ms 100", "policy static shares 50,30,20 commit_ms 100",
		"policy wardrop alpha 1 beta 100", "policy concentrate sublun 1 fast 1", "concentrations",
		"move 0 1", "move 3 0", "counts 0", "counts 9", "entry 0", "entry 63", "commit",
		"checkpoint", "samples", "set commit_ms 1000", "set migrate_kbps 0", "set shares 40,40,20",
		"policy asymmetry", "policy unified delta 0", "set cache_extents 8", "set pin 1+2:0",
		"pin 0 128 0", "pin 256 512 1", "unpin", "unpin 0 128", "explain 0", "lost 0", "holds 0 0",
		"cache", "metadata", "metadata resync 0", "metadata leave 0", "evacuate 1", "stay 1",
		"metadata leave 1", "metadata resync 1", "metadata vacate 1", "evacuate 2", "stay 2", "remove 2",
		"reinstate 0", "reinstate 1", "members",
	};
	static const int expected[] = { EINVAL, ENOENT, EBUSY, EAGAIN, ENOSPC, ENODATA, EALREADY, 0 };
	unsigned int tried = 0, taken = 0;
	char line[4096], node[64];
	int err;

	snprintf(node, sizeof(node), "/dev/mapper/%s", pool);
	while (!over(deadline) || tried <= 50 || ((!taken || taken == tried) && tried < 1000)) {
		if (rnd(3))
			mutate_words(base[rnd(sizeof(base) / sizeof(*base))], rnd(4) ? 1 : 0);
		else
			snprintf(fuzz_input, sizeof(fuzz_input), "%s", base[rnd(sizeof(base) / sizeof(*base))]);
		log_mark();
		err = message(pool, fuzz_input);
		tried++;
		taken += !err;
		if (err && !among(err, expected) && !(err == EIO && is_move_to_removed(pool)))
			wrong("refused with %s", strerror(err));
		if (err == EINVAL && !log_says_why("device-mapper: "))
			wrong("refused without a word why");
		if (tried % 16)
			continue;
		if (dm_line(pool, 0, line, sizeof(line)) || status_grammar(line))
			wrong("status: %s", line);
		if (strncmp(strstr(line, "hybrid ") + 7, "rw ", 3))
			wrong("the pool is not rw any more: %s", line);
		if (dm_line(pool, DM_STATUS_TABLE_FLAG, line, sizeof(line)))
			wrong("no table: %s", strerror(errno));
		/* with all members on their way out there is no room for a first write */
		message(pool, "stay 0");
		message(pool, "stay 1");
		message(pool, "stay 2");
		if (device_works(node, rnd(0), true))
			wrong("the pool does not work: %s", strerror(errno));
	}
	printf("# %u messages, %u taken\n", tried, taken);
	return tried > 50 && taken && taken < tried ? 0 : 1;
}

int main(int argc, char **argv)
{
	time_t deadline = time(NULL) + (argc > 2 ? atoi(argv[2]) : 0);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 5)
		return 2;
	random_state = strtoull(argv[3], NULL, 10);
	if (!strcmp(argv[1], "lines"))
		return lines(deadline, argv + 4, argc - 4);
	if (!strcmp(argv[1], "messages"))
		return messages(deadline, argv[4]);
	if (!strcmp(argv[1], "media"))
		return media(deadline, argv + 4, argc - 4);
	if (!strcmp(argv[1], "image") && argc == 7)
		return image(deadline, argv[4], argv[5], argv[6]);
	return 2;
}
