// SPDX-License-Identifier: GPL-2.0-only
/* What is where in a region: made, and checked before it is believed. */
#include <linux/math64.h>
#include <linux/random.h>
#include <evenkeel/label.h>

#include "engine_internal.h"

#define INODE_BYTES	16384u	/* of the region for each, by default */

static u64 round_block(u64 bytes)
{
	return round_up(bytes, (u64)SCMFS_BLOCK_SIZE);
}

static u64 map_bytes(u64 bits)
{
	return round_block(DIV_ROUND_UP(bits, 64) * 8);
}

static u64 nr_units(u64 nr_blocks)
{
	return DIV_ROUND_UP(nr_blocks, SCMFS_UNIT_BLOCKS);
}

/* The sizes are set: fill in what follows from them. */
static void lay_out(struct scmfs_super *s)
{
	u64 blocks = le64_to_cpu(s->nr_blocks), inodes = le64_to_cpu(s->nr_inodes);
	u64 at = SCMFS_BLOCK_SIZE;

	s->log_offset = cpu_to_le64(at);
	at += ek_undo_bytes(le32_to_cpu(s->log_lanes));
	s->block_map_offset = cpu_to_le64(at);
	at += map_bytes(blocks);
	s->inode_map_offset = cpu_to_le64(at);
	at += map_bytes(inodes);
	s->wear_offset = cpu_to_le64(at);
	at += round_block(nr_units(blocks) * 8);
	s->inode_offset = cpu_to_le64(at);
	at += round_block(inodes * sizeof(struct scmfs_inode));
	s->first_data_block = cpu_to_le64(at >> SCMFS_BLOCK_SHIFT);
}

static bool zero_uuid(const u8 *uuid)
{
	return !memchr_inv(uuid, 0, SCMFS_UUID_SIZE);
}

static u64 salt_of(const u8 *uuid)
{
	u64 words[2];

	memcpy(words, uuid, sizeof(words));
	return ek_undo_hash(SCMFS_SUPER_MAGIC, words, 2);
}

static int plan(struct scmfs_super *s, u64 size, const struct scmfs_format_params *p)
{
	u64 blocks = min_t(u64, size >> SCMFS_BLOCK_SHIFT, SCMFS_MAX_BLOCKS);
	u64 inodes = p->nr_inodes ? p->nr_inodes : max_t(u64, size / INODE_BYTES, 64);
	u32 lanes = p->lanes ? p->lanes : size < 16u << 20 ? 2 : 16;
	u64 random[2];

	if (blocks < SCMFS_MIN_BLOCKS)
		return -ENOSPC;
	if (inodes < 2 || inodes > SCMFS_MAX_INODES || lanes > EKU_MAX_LANES)
		return -EINVAL;
	memset(s, 0, sizeof(*s));
	s->magic = cpu_to_le64(SCMFS_SUPER_MAGIC);
	s->version = cpu_to_le32(SCMFS_VERSION);
	s->incompat = cpu_to_le64(SCMFS_INCOMPAT_KNOWN & ~p->without);
	s->region_bytes = cpu_to_le64(size);
	s->nr_blocks = cpu_to_le64(blocks);
	s->nr_inodes = cpu_to_le64(inodes);
	s->log_lanes = cpu_to_le32(lanes);
	s->block_size = cpu_to_le32(SCMFS_BLOCK_SIZE);
	s->ctime = cpu_to_le64(div_u64(p->now, 1000000000));
	memcpy(s->uuid, p->uuid, SCMFS_UUID_SIZE);
	if (zero_uuid(s->uuid)) {
		random[0] = get_random_u64();
		random[1] = get_random_u64();
		memcpy(s->uuid, random, SCMFS_UUID_SIZE);
		s->uuid[6] = (s->uuid[6] & 0x0f) | 0x40;
		s->uuid[8] = (s->uuid[8] & 0x3f) | 0x80;
	}
	s->salt = cpu_to_le64(salt_of(s->uuid));
	if (p->label)
		memcpy(s->label, p->label, strnlen(p->label, SCMFS_LABEL_SIZE));
	lay_out(s);
	if (le64_to_cpu(s->first_data_block) + 2 > blocks)
		return -ENOSPC;
	s->csum = cpu_to_le32(ek_checksum(s, sizeof(*s), &s->csum));
	return 0;
}

static void zero(u8 *base, u64 from, u64 to)
{
	u64 n;

	for (; from < to; from += n) {
		n = min_t(u64, to - from, SCMFS_UNIT_SIZE);
		scm_zero_nt(base + from, n);
		cond_resched();
	}
}

/* Everything but the super blocks. The maps are not valid: opening makes them. */
static void make_empty(u8 *base, const struct scmfs_super *s, const struct scmfs_format_params *p)
{
	u64 inode_offset = le64_to_cpu(s->inode_offset);
	struct scmfs_state state = {
		.inode_high = cpu_to_le64(SCMFS_ROOT_INO + 1),
		.high_check = cpu_to_le64(~(SCMFS_ROOT_INO + 1ULL)),
	};
	struct scmfs_inode root = {
		.mode_links = cpu_to_le64(scmfs_mode_links(SCMFS_IFDIR | 0755, 2)),
		.mtime = cpu_to_le64(p->now),
		.ctime = cpu_to_le64(p->now),
		.parent = cpu_to_le64(SCMFS_ROOT_INO),
		.atime = cpu_to_le64(p->now),
		.btime = cpu_to_le64(p->now),
		.uid = cpu_to_le32(p->uid),
		.gid = cpu_to_le32(p->gid),
		.generation = cpu_to_le32(1),
		.magic = cpu_to_le16(SCMFS_INODE_MAGIC),
	};

	ek_undo_format(base + le64_to_cpu(s->log_offset), le32_to_cpu(s->log_lanes));
	zero(base, le64_to_cpu(s->block_map_offset),
	     le64_to_cpu(s->first_data_block) << SCMFS_BLOCK_SHIFT);
	scm_copy_nt(base + inode_offset + SCMFS_ROOT_INO * sizeof(root), &root, sizeof(root));
	scm_copy_nt(base + SCMFS_STATE_OFFSET, &state, sizeof(state));
}

/*
 * Other formats end where a device does, and would still be found there: before it is this one, by
 * its magic, this must be gone for good, and after what was there is no file system any more, whose
 * content it may be. The last block is zeroed with the first.
 */
static void zero_tail(u8 *base, const struct scmfs_super *s, const struct scmfs_bad_list *bad)
{
	u64 end = (le64_to_cpu(s->nr_blocks) - 1) << SCMFS_BLOCK_SHIFT, bytes, good;
	u64 at = le64_to_cpu(s->first_data_block) << SCMFS_BLOCK_SHIFT;

	if (end > SCMFS_TAIL_BYTES - SCMFS_BLOCK_SIZE)
		at = max_t(u64, at, end - (SCMFS_TAIL_BYTES - SCMFS_BLOCK_SIZE));
	while (at < end) {
		good = bad ? bad->next(bad->ctx, at, end, &bytes) : end;
		good = min_t(u64, good, end);
		zero(base, at, round_down(good, (u64)SCMFS_BLOCK_SIZE));
		at = good < end ? round_block(good + bytes) : end;
	}
}

int scmfs_format(void *base, u64 size, const struct scmfs_format_params *p)
{
	struct scmfs_super s;
	u64 last;
	int r = plan(&s, size, p);

	if (r)
		return r;
	last = (le64_to_cpu(s.nr_blocks) - 1) << SCMFS_BLOCK_SHIFT;
	/* What was there must not be found half overwritten. */
	scm_zero_nt(base, SCMFS_BLOCK_SIZE);
	scm_zero_nt((u8 *)base + last, SCMFS_BLOCK_SIZE);
	scm_fence();
	zero_tail(base, &s, p->bad);
	make_empty(base, &s, p);
	scm_copy_nt((u8 *)base + 8, (u8 *)&s + 8, sizeof(s) - 8);
	scm_fence();
	scmfs_write_word((__le64 *)base, SCMFS_SUPER_MAGIC);
	scm_copy_nt((u8 *)base + last, &s, sizeof(s));
	scm_fence();
	return 0;
}

int scmfs_format_head(u64 size, const struct scmfs_format_params *p, u64 *bytes)
{
	struct scmfs_super s;
	int r = plan(&s, size, p);

	if (!r)
		*bytes = le64_to_cpu(s.first_data_block) << SCMFS_BLOCK_SHIFT;
	return r;
}

/* ---- is it one? ----------------------------------------------------------------------------- */

static int say(const char **reason, const char *text, int r)
{
	*reason = text;
	return r;
}

/* All that is computed from the sizes is where it belongs. */
static bool laid_out(const struct scmfs_super *s)
{
	struct scmfs_super want = *s;

	if (le64_to_cpu(s->nr_blocks) < SCMFS_MIN_BLOCKS ||
	    le64_to_cpu(s->nr_blocks) > SCMFS_MAX_BLOCKS ||
	    le64_to_cpu(s->nr_inodes) < 2 || le64_to_cpu(s->nr_inodes) > SCMFS_MAX_INODES ||
	    !le32_to_cpu(s->log_lanes) || le32_to_cpu(s->log_lanes) > EKU_MAX_LANES ||
	    le64_to_cpu(s->region_bytes) >> SCMFS_BLOCK_SHIFT < le64_to_cpu(s->nr_blocks))
		return false;
	lay_out(&want);
	return !memcmp(&want, s, sizeof(want)) &&
		le64_to_cpu(s->first_data_block) + 2 <= le64_to_cpu(s->nr_blocks);
}

static int check_super(const struct scmfs_super *s, u64 size, const char **reason)
{
	if (le64_to_cpu(s->magic) != SCMFS_SUPER_MAGIC)
		return say(reason, "no scmfs file system", -EMEDIUMTYPE);
	if (le32_to_cpu(s->csum) != ek_checksum(s, sizeof(*s), &s->csum))
		return say(reason, "the super block is damaged", -EUCLEAN);
	if (le32_to_cpu(s->version) != SCMFS_VERSION)
		return say(reason, "its version is not known", -EPROTONOSUPPORT);
	if (le64_to_cpu(s->incompat) & ~SCMFS_INCOMPAT_KNOWN)
		return say(reason, "it has features that are not known", -EPROTONOSUPPORT);
	if (le32_to_cpu(s->block_size) != SCMFS_BLOCK_SIZE || !laid_out(s))
		return say(reason, "the super block makes no sense", -EUCLEAN);
	if (le64_to_cpu(s->nr_blocks) > size >> SCMFS_BLOCK_SHIFT)
		return say(reason, "the region is smaller than the file system", -ENOSPC);
	return 0;
}

/* Of what this code doesn't know it can be read, and is not to be changed by it. */
int scmfs_may_write(const struct scmfs_super *super, const char **reason)
{
	return super->ro_compat ? say(reason, "it has features that are not known: read-only",
				      -EPROTONOSUPPORT) : 0;
}

/* Nothing of anybody's: the first block may still have the state behind the super block. */
static bool is_wiped(const u8 *base)
{
	const u32 behind = SCMFS_STATE_OFFSET + sizeof(struct scmfs_state);

	return !memchr_inv(base, 0, SCMFS_STATE_OFFSET) &&
	       !memchr_inv(base + behind, 0, SCMFS_BLOCK_SIZE - behind);
}

/*
 * Where the super block was wiped the copy is believed if what it names is there. Who took the
 * memory for something else and left the last block alone has left the copy as well.
 */
static bool root_is_there(const void *base, const struct scmfs_super *super)
{
	const struct scmfs_inode *root = base + le64_to_cpu(super->inode_offset);

	root += SCMFS_ROOT_INO;
	return le16_to_cpu(root->magic) == SCMFS_INODE_MAGIC &&
	       scmfs_is_dir(scmfs_read(&root->mode_links));
}

static const void *last_block(const void *base, u64 size)
{
	return (const u8 *)base + (size & ~(u64)(SCMFS_BLOCK_SIZE - 1)) - SCMFS_BLOCK_SIZE;
}

int scmfs_probe_copy(const void *base, u64 size, struct scmfs_super *super, const char **reason)
{
	if (size < SCMFS_MIN_BLOCKS * (u64)SCMFS_BLOCK_SIZE)
		return say(reason, "the region is too small for a file system", -ENOSPC);
	memcpy(super, last_block(base, size), sizeof(*super));
	return check_super(super, size, reason);
}

int scmfs_probe(const void *base, u64 size, struct scmfs_super *super, bool *damaged,
		const char **reason)
{
	const struct scmfs_super *first = base;
	const char *ignored;
	int r;

	*damaged = false;
	*reason = "";
	if (size < SCMFS_MIN_BLOCKS * (u64)SCMFS_BLOCK_SIZE)
		return say(reason, "the region is too small for a file system", -ENOSPC);
	memcpy(super, base, sizeof(*super));
	r = check_super(super, size, reason);
	if (r != -EUCLEAN && r != -EMEDIUMTYPE)
		return r;
	if (!memchr_inv(base, 0, SCMFS_BLOCK_SIZE) &&
	    !memchr_inv(last_block(base, size), 0, sizeof(*super)))
		return say(reason, "the region is not formatted", -ENODATA);
	if (scmfs_probe_copy(base, size, super, &ignored))
		return r;
	if (le64_to_cpu(first->magic) != SCMFS_SUPER_MAGIC &&
	    !(is_wiped(base) && root_is_there(base, super)))
		return say(reason, "no scmfs file system, but the copy of its super block",
			   -EMEDIUMTYPE);
	*damaged = true;
	return say(reason, "the super block is damaged, its copy is not", -EUCLEAN);
}
