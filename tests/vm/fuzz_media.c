// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damage to a pool's labels and metadata, half of it with checksums that fit, and
 * what becomes of the pool.  The disks are restored for each try.
 */
#include <evenkeel/label.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dm.h"
#include "fuzz.h"

#define DISKS		6
#define MIB		(1u << 20)
#define SECTORS		4096u	/* of the pool's device */

struct disk {
	char *path;
	int fd;
	size_t len;
	u8 *good;		/* as saved */
	u8 *now;		/* damaged */
	bool meta;
};

static struct disk disk[DISKS];
static int nr_disks, nr_meta;

static u8 *buffer(size_t len)
{
	void *p;

	if (posix_memalign(&p, EK_BLOCK_SIZE, len))
		wrong("no memory");
	return p;
}

static void transfer(struct disk *d, u64 at, u8 *buf, size_t len, bool out)
{
	while (len) {
		size_t n = len < MIB ? len : MIB;
		ssize_t done = out ? pwrite(d->fd, buf, n, at) : pread(d->fd, buf, n, at);

		if (done != (ssize_t)n)
			wrong("%s: %s", d->path, strerror(errno));
		at += n;
		buf += n;
		len -= n;
	}
}

static void disk_open(struct disk *d, char *path, bool meta)
{
	u64 bytes;

	d->path = path;
	d->meta = meta;
	d->fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (d->fd < 0 || ioctl(d->fd, BLKGETSIZE64, &bytes))
		wrong("%s: %s", path, strerror(errno));
	d->len = bytes;
	d->good = buffer(bytes);
	d->now = buffer(bytes);
	transfer(d, 0, d->good, d->len, false);
}

void disk_blank(const char *path)
{
	struct disk d = { };
	u8 *zero;

	disk_open(&d, (char *)path, false);
	zero = memset(d.now, 0, d.len);
	transfer(&d, 0, zero, d.len, true);
	close(d.fd);
	free(d.good);
	free(d.now);
}

int device_works(const char *node, uint64_t seed, bool strict)
{
	static u8 *buf, *again;
	int fd = open(node, O_RDWR | O_DIRECT | O_CLOEXEC), err = 0;
	u64 at = seed % (SECTORS / 128) * 128 * 512, done;

	if (fd < 0)
		return -1;
	if (!buf) {
		buf = buffer(MIB);
		again = buffer(MIB);
	}
	for (done = 0; done < SECTORS * 512ULL && !(strict && err); done += 65536)
		if (pread(fd, buf, 65536, done) != 65536)
			err = errno;
	memset(buf, seed, 65536);
	if (!err || !strict) {
		if (pwrite(fd, buf, 65536, at) != 65536)
			err = errno;
		else if (pread(fd, again, 65536, at) != 65536)
			err = errno;
		else if (memcmp(buf, again, 65536))
			wrong("what was written is not what is read at %llu", (unsigned long long)at);
	}
	if (fsync(fd))
		err = errno;
	close(fd);
	errno = err;
	return err ? -1 : 0;
}

/* ---- damage ---- */

static struct ek_super *super_of(struct disk *d, unsigned int slot)
{
	return (void *)(d->now + MIB + (slot ? 65536 : 0));
}

static void seal(struct disk *d, void *block, const char *what)
{
	struct ek_super *sb;
	unsigned int slot;

	if (!strcmp(what, "label")) {
		struct ek_label *l = block;

		l->csum = cpu_to_le32(ek_checksum(l, sizeof(*l), &l->csum));
	} else if (!strcmp(what, "superblock")) {
		sb = block;
		sb->csum = cpu_to_le32(ek_checksum(sb, sizeof(*sb), &sb->csum));
	} else if (!strcmp(what, "journal")) {
		struct ek_journal_block *j = block;

		j->csum = cpu_to_le32(ek_checksum(j, sizeof(*j), &j->csum));
	} else if (!strcmp(what, "page")) {
		struct ek_page *p = block;

		p->csum = cpu_to_le32(ek_checksum(p, sizeof(*p), &p->csum));
	} else {	/* a page table: whichever superblock names it */
		for (slot = 0; slot < 2; slot++) {
			size_t room = d->now + d->len - (u8 *)block;
			u64 bytes;

			sb = super_of(d, slot);
			if ((u8 *)block != d->now + le64_to_cpu(sb->table_offset[slot]))
				continue;
			bytes = le64_to_cpu(sb->table_bytes);	/* this may be damaged, too */
			sb->table_csum = cpu_to_le32(~crc32c(~0, block, bytes < room ? bytes : room));
			sb->csum = cpu_to_le32(ek_checksum(sb, sizeof(*sb), &sb->csum));
		}
	}
}

/* A block that is worth damaging, by the geometry of the undamaged superblock. */
static u8 *pick(struct disk *d, const char **what, unsigned int *span)
{
	const struct ek_super *sb = (void *)(d->good + MIB);
	u64 at;

	*what = "label";
	*span = 232;
	if (!d->meta || !rnd(5))
		return d->now + (rnd(2) ? 0 : ek_label_copy_offset(d->len / 512));
	switch (rnd(4)) {
	case 0:
		*what = "superblock";
		*span = 400;
		return (u8 *)super_of(d, rnd(2));
	case 1:
		*what = "table";
		*span = 16;
		return d->now + le64_to_cpu(sb->table_offset[rnd(2)]);
	case 2:
		*what = "journal";
		*span = rnd(2) ? 64 : 320;
		return d->now + le64_to_cpu(sb->journal_offset) + rnd(rnd(2) ? 3 : 8) * EK_BLOCK_SIZE;
	default:
		*what = "page";
		*span = rnd(2) ? 96 : EK_BLOCK_SIZE;
		at = rnd(2) ? rnd(4) : 2 * le64_to_cpu(sb->nr_pages) - 1 - rnd(6);
		return d->now + le64_to_cpu(sb->pages_offset) + at * EK_BLOCK_SIZE;
	}
}

static void hurt(u8 *block, unsigned int span)
{
	unsigned int at = rnd(span - 8) & (rnd(4) ? ~3u : ~0u), i;
	u64 w;

	if (!rnd(6))
		for (i = rnd(64); i && at + i < span; i--)
			block[at + i] = rnd(0);
	memcpy(&w, block + at, 8);
	w = hurt_word(w);
	memcpy(block + at, &w, 8);
}

static void damage(void)
{
	unsigned int n, span, at = 0;
	const char *what;
	int i;

	for (i = 0; i < nr_disks; i++)
		memcpy(disk[i].now, disk[i].good, disk[i].len);
	*fuzz_input = 0;
	for (n = 1 + rnd(rnd(2) ? 1 : 5); n; n--) {
		struct disk *d = &disk[rnd(4) ? rnd(nr_meta) : rnd(nr_disks)];
		u8 *block = pick(d, &what, &span);
		bool sealed = rnd(8);

		for (i = 1 + rnd(2); i; i--)
			hurt(block, span);
		if (sealed)
			seal(d, block, what);
		at += snprintf(fuzz_input + at, sizeof(fuzz_input) - at, "%s of %s at %zu%s; ", what, d->path,
			       block - d->now, sealed ? "" : ", checksum wrong");
	}
}

/* ---- tries ---- */

static void write_all(bool good)
{
	int i;

	/* Members: only what is the pool's own; the data matters to nobody here. */
	for (i = 0; i < nr_disks; i++) {
		u8 *from = good ? disk[i].good : disk[i].now;
		u64 tail = disk[i].len - 65536;

		transfer(&disk[i], 0, from, disk[i].meta ? disk[i].len : 65536, true);
		if (!disk[i].meta)
			transfer(&disk[i], tail, from + tail, 65536, true);
	}
}

/* No forged map leads a write to a member's label or its copy. */
static void check_labels(void)
{
	static u8 *block;
	int i;

	if (!block)
		block = buffer(EK_BLOCK_SIZE);
	for (i = nr_meta; i < nr_disks; i++) {
		u64 copy = ek_label_copy_offset(disk[i].len / 512);

		transfer(&disk[i], 0, block, EK_BLOCK_SIZE, false);
		if (memcmp(block, disk[i].now, EK_BLOCK_SIZE))
			wrong("the label of %s was written", disk[i].path);
		transfer(&disk[i], copy, block, EK_BLOCK_SIZE, false);
		if (memcmp(block, disk[i].now + copy, EK_BLOCK_SIZE))
			wrong("the label's copy of %s was written", disk[i].path);
	}
}

enum outcome { REFUSED, UNRESUMED, FAULTY, WHOLE, OUTCOMES };

static enum outcome use(const char *node)
{
	char line[DM_LINE_ROOM];
	int r = device_works(node, rnd(0), false), err = errno;

	if (r && err != EIO && err != EROFS && err != ENOSPC && err != ENODATA && err != EPERM)
		wrong("I/O: %s", strerror(err));
	if (dm_line("p", 0, line, sizeof(line)) || status_grammar(line))
		wrong("status: %s", line);
	if (dm_message("p", "checkpoint") && !r && !strstr(line, " hybrid ro "))
		wrong("it works but makes no checkpoint (%s): %s", strerror(errno), line);
	return r ? FAULTY : WHOLE;
}

/* Does the pool open, and then, does it work? */
static enum outcome try(const char *table, char **path)
{
	enum outcome o = REFUSED;
	uint64_t before;
	char node[32];

	write_all(false);
	before = written(path, nr_disks);
	log_mark();
	if (dm_make("p", "0 8 error", node, sizeof(node)))
		wrong("p: %s", strerror(errno));
	if (dm_load("p", table)) {
		if (errno != EINVAL && errno != EROFS)
			wrong("refused with %s", strerror(errno));
		if (written(path, nr_disks) != before)
			wrong("refused, but written to");
	} else if (dm_suspend("p", 0) || dm_resume("p")) {
		o = UNRESUMED;
		if (errno != EUCLEAN && errno != EINVAL && errno != EPROTONOSUPPORT && errno != EIO)
			wrong("not resumed: %s", strerror(errno));
	} else {
		o = use(node);
	}
	if (o <= UNRESUMED && !log_says_why("device-mapper: "))
		wrong("refused without a word why");
	if (dm_unmake("p", 1))
		wrong("can't be removed: %s", strerror(errno));
	check_labels();
	return o;
}

static void make_table(char *table, size_t room)
{
	int at, i;

	at = snprintf(table, room, "0 %u hybrid %d", SECTORS, nr_meta);
	for (i = 0; i < nr_meta; i++)
		at += snprintf(table + at, room - at, " %s 0", disk[i].path);
	at += snprintf(table + at, room - at, " 128 %d", nr_disks - nr_meta);
	for (; i < nr_disks; i++)
		at += snprintf(table + at, room - at, " %s 0", disk[i].path);
	snprintf(table + at, room - at, " 0 fill 2 commit_ms 50");
}

int media(time_t deadline, char **arg, int nr)
{
	static const char *const name[OUTCOMES] = { "refused", "not resumed", "with faults", "whole" };
	unsigned int count[OUTCOMES] = { }, tried = 0;
	char *path[DISKS], table[1024];
	int i;

	for (i = 0; i < nr && nr_disks < DISKS; i++) {
		if (!strcmp(arg[i], "--")) {
			nr_meta = nr_disks;
			continue;
		}
		path[nr_disks] = arg[i];
		disk_open(&disk[nr_disks++], arg[i], !nr_meta);
	}
	make_table(table, sizeof(table));
	for (i = 0; i < nr_disks; i++)
		memcpy(disk[i].now, disk[i].good, disk[i].len);
	strcpy(fuzz_input, "nothing damaged");
	if (try(table, path) != WHOLE)
		wrong("the undamaged pool does not work");
	/* on a slow machine there may be time for few, and with mirrored metadata most are mended */
	while (time(NULL) < deadline || tried <= 10 ||
	       (tried < 100 && (!count[WHOLE] || count[WHOLE] == tried))) {
		damage();
		count[try(table, path)]++;
		tried++;
	}
	write_all(true);
	printf("# %u damaged pools", tried);
	for (i = 0; i < OUTCOMES; i++)
		printf(", %u %s", count[i], name[i]);
	putchar('\n');
	return count[WHOLE] && count[WHOLE] < tried ? 0 : 1;
}
