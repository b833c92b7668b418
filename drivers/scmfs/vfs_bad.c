// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bad memory: what is known of it when the file system is mounted, and what the kernel reports
 * afterwards. It takes such a page out of its map of the memory, so a load or store through that is
 * an oops and no machine check any more; whoever reads, writes or zeroes asks sfs_good() before.
 *
 *	memory_failure()		sfs_failed()
 *	tells				the blocks are bad; free ones are set aside
 *	kills who has it mapped
 *	unmaps the page			nobody touches it any more
 *
 * Who was past the question by then does touch it. What is told while it is being mounted, before
 * there is a file system that could remember it, is kept until there is.
 */
#include <linux/fs.h>
#include <linux/mutex.h>

#include "vfs.h"

/* It can't go on without; the next mount is refused, if the device knows by then. */
static void sfs_end_for_good(struct sfs_sb *s, u64 at, const char *why)
{
	WRITE_ONCE(s->shut, true);
	WRITE_ONCE(s->writable, false);
	pr_err("scmfs: bad memory at byte %llu, %s: shut down\n", at, why);
}

static void sfs_note_bad(struct sfs_sb *s, u64 at, u64 len)
{
	u64 head = le64_to_cpu(scmfs_super(s->fs)->first_data_block) << SCMFS_BLOCK_SHIFT;

	if (at >= s->bytes)
		return;
	if (scmfs_set_bad(s->fs, at, min(len, s->bytes - at))) {
		sfs_end_for_good(s, at, "and no memory to remember it");
		return;
	}
	WRITE_ONCE(s->bad, true);
	if (at < head)
		sfs_end_for_good(s, at, "where its metadata is");
	else
		pr_err_ratelimited("scmfs: bad memory at byte %llu: what a file has there is lost\n",
				   at);
}

/* The file system is not all of the range. */
static void sfs_note_failed(struct sfs_sb *s, u64 offset, u64 bytes)
{
	u64 before = s->base - s->mem.addr;

	if (offset >= before)
		sfs_note_bad(s, offset - before, bytes);
}

/*
 * The kernel has found some; it tells before it takes the page out of its map, and kills who has it
 * mapped: a page is of one file.
 */
static int sfs_failed(struct scm_range *range, u64 offset, u64 bytes, int flags)
{
	struct sfs_sb *s = container_of(range, struct sfs_sb, mem);

	mutex_lock(&s->bad_lock);
	if (s->bad_told) {
		sfs_note_failed(s, offset, bytes);
	} else {
		if (s->nr_bad_early < SFS_BAD_EARLY)
			s->bad_early[s->nr_bad_early] = (struct sfs_bad_part){ offset, bytes };
		s->nr_bad_early++;
	}
	mutex_unlock(&s->bad_lock);
	return -EOPNOTSUPP;
}

/* Before the memory is got. */
void sfs_bad_init(struct sfs_sb *s)
{
	mutex_init(&s->bad_lock);
	s->mem.failed = sfs_failed;
}

static void sfs_note_early(struct sfs_sb *s)
{
	unsigned int i;

	for (i = 0; i < min(s->nr_bad_early, SFS_BAD_EARLY); i++)
		sfs_note_failed(s, s->bad_early[i].offset, s->bad_early[i].bytes);
	if (s->nr_bad_early > SFS_BAD_EARLY)
		sfs_end_for_good(s, s->bad_early[0].offset, "and more than can be remembered");
}

static u64 sfs_next_bad(void *ctx, u64 from, u64 to, u64 *bytes)
{
	struct sfs_sb *s = ctx;

	return scm_range_next_bad(&s->mem, from, to, bytes);
}

/* For the engine, before there is a file system that could be told. */
struct scmfs_bad_list sfs_bad_list(struct sfs_sb *s)
{
	return (struct scmfs_bad_list){ .next = sfs_next_bad, .ctx = s };
}

/**
 * sfs_bad_begin - from now on what is bad is known
 * @s: its file system has just been opened
 */
void sfs_bad_begin(struct sfs_sb *s)
{
	u64 at = le64_to_cpu(scmfs_super(s->fs)->first_data_block) << SCMFS_BLOCK_SHIFT, len;

	mutex_lock(&s->bad_lock);
	while ((at = scm_range_next_bad(&s->mem, at, s->bytes, &len)) < s->bytes) {
		sfs_note_bad(s, at, len);
		at += len;
	}
	sfs_note_early(s);
	s->bad_told = true;
	mutex_unlock(&s->bad_lock);
}

/* Before it is closed, or saved: what is told meanwhile is not noted. */
void sfs_bad_end(struct sfs_sb *s)
{
	mutex_lock(&s->bad_lock);
	s->bad_told = false;
	mutex_unlock(&s->bad_lock);
}
