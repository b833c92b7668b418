// SPDX-License-Identifier: GPL-2.0-only
/* Finds the areas of hybrid pools on a device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include <evenkeel/store.h>

#include "area.h"
#include "layout.h"

char *area_text(char *buf, uint32_t role, uint32_t index)
{
	snprintf(buf, AREA_TEXT, "%s %u", role == EK_ROLE_META ? "metadata area" : "member", index);
	return buf;
}

char *uuid_text(char *buf, const uint8_t *uuid)
{
	uuid_unparse_lower(uuid, buf);
	return buf;
}

const char *area_label_error(int err)
{
	switch (err) {
	case 0:
		return "good";
	case -ENODATA:
		return "missing (all zero)";
	case -EINVAL:
		return "overwritten by something else";
	case -EUCLEAN:
		return "damaged";
	case -EPROTONOSUPPORT:
		return "of a version or with features that are not known here";
	default:
		return strerror(-err);
	}
}

/* I/O errors are -EIO, so they are told from what ek_label_decode() returns. */
static int read_label(const struct bdev *dev, uint64_t offset, struct ek_label_info *info,
		      struct ek_label *label)
{
	if (bdev_read(dev, offset, label, sizeof(*label)))
		return -EIO;
	return ek_label_decode(label, info);
}

#define BLOCK_SECTORS	(EK_BLOCK_SIZE / SECTOR_SIZE)

/* Areas are whole blocks: what says otherwise would have the next one read off their bounds. */
static bool at(const struct bdev *dev, const struct ek_label_info *info, uint64_t start)
{
	return info->area_start == start && info->area_sectors >= 2 * BLOCK_SECTORS &&
	       !(info->area_sectors % BLOCK_SECTORS) && info->area_sectors <= dev->sectors - start;
}

static void read_copy(const struct bdev *dev, struct area *area, struct ek_label *label)
{
	struct ek_label_info copy;
	uint64_t offset = area->info.area_start * SECTOR_SIZE +
			  ek_label_copy_offset(area->info.area_sectors);

	memset(&copy, 0, sizeof(copy));
	area->copy_err = read_label(dev, offset, &copy, label);
	if (!area->copy_err && !area->head_err) {
		area->differ = memcmp(copy.area_uuid, area->info.area_uuid, EK_UUID_SIZE) ||
			       memcmp(copy.pool_uuid, area->info.pool_uuid, EK_UUID_SIZE) ||
			       copy.area_start != area->info.area_start ||
			       copy.area_sectors != area->info.area_sectors ||
			       copy.role != area->info.role || copy.index != area->info.index;
	}
}

/* Whatever else a label says may have changed meanwhile. */
static bool is_same(const struct ek_label_info *a, const struct ek_label_info *b)
{
	return a->role == b->role && a->index == b->index &&
	       !memcmp(a->pool_uuid, b->pool_uuid, EK_UUID_SIZE) &&
	       !memcmp(a->area_uuid, b->area_uuid, EK_UUID_SIZE);
}

/* And of the same sectors. */
static bool is_of(const struct ek_label_info *a, const struct ek_label_info *b)
{
	return is_same(a, b) && a->area_start == b->area_start &&
	       a->area_sectors == b->area_sectors;
}

/*
 * @a is as a label at the device's start has it, and lies elsewhere (area_lead_to()).  Only if its
 * own label says so as well, or that one's copy: who maps a member alone sees its label at the
 * start, and data where that would lead to.
 */
static int follow(const struct bdev *dev, struct area *a, struct ek_label *label)
{
	const struct ek_label_info said = a->info;
	int err = 0;

	if (!said.area_start || said.area_start % BLOCK_SECTORS ||
	    said.area_start > dev->sectors || !at(dev, &said, said.area_start))
		return -EUCLEAN;
	a->head_err = read_label(dev, said.area_start * SECTOR_SIZE, &a->info, label);
	if (a->head_err)
		err = read_label(dev, said.area_start * SECTOR_SIZE +
				 ek_label_copy_offset(said.area_sectors), &a->info, label);
	/* Zeroes: a wipe was cut before it came to the start. */
	if (err == -EIO || (err == -ENODATA && a->head_err == -ENODATA))
		return err;
	return !err && is_of(&a->info, &said) ? 0 : -EUCLEAN;
}

/* The area that begins at @pos; or that the label there leads to. */
static int read_area(const struct bdev *dev, struct area *a, uint64_t pos, struct ek_label *label)
{
	int err;

	memset(a, 0, sizeof(*a));
	err = read_label(dev, pos * SECTOR_SIZE, &a->info, label);
	if (!err && !at(dev, &a->info, pos))
		err = pos ? -EUCLEAN : follow(dev, a, label);
	return err;
}

/* From @pos on by labels. */
static uint64_t walk_forward(const struct bdev *dev, struct area *area, int *nr, uint64_t pos,
			     int *head_err, struct ek_label *label)
{
	int err;

	while (*nr < AREA_MAX && pos + BLOCK_SECTORS <= dev->sectors) {
		struct area *a = &area[*nr];

		err = read_area(dev, a, pos, label);
		if (!pos)
			*head_err = err;
		if (err)
			break;
		read_copy(dev, a, label);
		pos = a->info.area_start + a->info.area_sectors;
		(*nr)++;
	}
	return pos;
}

/* From the end of the device down to @stop, by the labels' copies. */
static void walk_back(const struct bdev *dev, struct area *area, int *nr, uint64_t stop,
		      struct ek_label *label)
{
	uint64_t end = dev->sectors / BLOCK_SECTORS * BLOCK_SECTORS;
	struct ek_label_info head;

	while (*nr < AREA_MAX && end >= stop + 2 * BLOCK_SECTORS) {
		struct area *a = &area[*nr];

		memset(a, 0, sizeof(*a));
		if (read_label(dev, (end / BLOCK_SECTORS - 1) * EK_BLOCK_SIZE, &a->info, label) ||
		    a->info.area_start < stop || a->info.area_start >= end ||
		    a->info.area_start % BLOCK_SECTORS ||
		    a->info.area_sectors != end - a->info.area_start)
			break;
		a->head_err = read_label(dev, a->info.area_start * SECTOR_SIZE, &head, label);
		end = a->info.area_start;
		(*nr)++;
	}
}

#define SUPER_STRIDE	(64u << 10)
#define SUPERS_END	(EK_AREA_HEAD_BYTES + 2 * SUPER_STRIDE)

/*
 * Where the area at the start of @dev ends, as create carves it for what a superblock there has
 * room for, and of which @pool.  Sectors, and a hint only: a label has to be there.  0: there is no
 * superblock.
 */
static uint64_t end_of_first(const struct bdev *dev, struct ek_super *sb, uint8_t *pool)
{
	uint64_t offset;

	for (offset = EK_AREA_HEAD_BYTES; offset < SUPERS_END; offset += SUPER_STRIDE)
		if (offset + sizeof(*sb) <= dev->sectors * SECTOR_SIZE &&
		    !bdev_read(dev, offset, sb, sizeof(*sb)) &&
		    le64_to_cpu(sb->magic) == EK_SUPER_MAGIC &&
		    le32_to_cpu(sb->csum) == ek_checksum(sb, sizeof(*sb), &sb->csum)) {
			memcpy(pool, sb->pool_uuid, EK_UUID_SIZE);
			return (ek_super_area_bytes(sb) + LAYOUT_ALIGN - 1) / LAYOUT_ALIGN *
			       (LAYOUT_ALIGN / SECTOR_SIZE);
		}
	return 0;
}

/*
 * Who makes a partition table writes where the first label was, and over the last copy, and to
 * nothing in between: there the metadata area's copy is followed by the label of the member.
 */
static void look_inside(const struct bdev *dev, struct area *area, int *nr, int head_err,
			struct ek_label *label)
{
	/* As large as a label, and done with before one is read. */
	uint8_t pool[EK_UUID_SIZE];
	uint64_t end = end_of_first(dev, (void *)label, pool);
	int i, ignored;

	if (!end || end > dev->sectors)
		return;
	memset(area, 0, sizeof(*area));
	area->head_err = head_err;
	if (!read_label(dev, end * SECTOR_SIZE - EK_BLOCK_SIZE, &area->info, label) &&
	    area->info.role == EK_ROLE_META && at(dev, &area->info, 0) &&
	    area->info.area_sectors == end)
		*nr = 1;
	walk_forward(dev, area, nr, end, &ignored, label);
	for (i = 0; i < *nr; i++) {
		area[i].inside = true;
		/* A superblock of before, and labels that came later. */
		if (memcmp(area[i].info.pool_uuid, pool, EK_UUID_SIZE))
			*nr = i;
	}
}

int area_label_read(const struct bdev *dev, uint64_t offset, struct ek_label_info *info)
{
	struct ek_label *label = bdev_buffer(sizeof(*label));
	int err = read_label(dev, offset, info, label);

	free(label);
	return err;
}

static int write_durably(const struct bdev *dev, uint64_t offset, const struct ek_label *label)
{
	int err = bdev_write(dev, offset, label, sizeof(*label));

	return err ? err : bdev_flush(dev);
}

int area_label_write(const struct bdev *dev, const struct ek_label_info *info)
{
	struct ek_label *label = bdev_buffer(2 * sizeof(*label));
	const uint64_t start = info->area_start * SECTOR_SIZE;
	const uint64_t offset[] = { start, start + ek_label_copy_offset(info->area_sectors) };
	struct ek_label_info there;
	int i, err = 0, good = -1;

	for (i = 0; i < 2; i++)
		if (!read_label(dev, offset[i], &there, label + i) && is_of(&there, info))
			good = good < 0 ? i : 2;
	if (good < 0)
		ek_label_encode(info, label);
	for (i = 0; i < 2 && good < 2 && !err; i++)
		if (i != good)
			err = write_durably(dev, offset[i], label + (good > 0));
	free(label);
	return err;
}

bool area_is_led_to(const struct bdev *dev, const struct ek_label_info *info)
{
	struct ek_label_info first;

	return !area_label_read(dev, 0, &first) && is_same(&first, info) &&
	       first.area_start == info->area_start;
}

int area_lead_to(const struct bdev *dev, const struct ek_label_info *info)
{
	struct ek_label *label = bdev_buffer(sizeof(*label));
	int err;

	if (info)
		ek_label_encode(info, label);
	err = write_durably(dev, 0, label);
	free(label);
	return err;
}

int area_is_still(const struct bdev *dev, const struct area *area)
{
	struct ek_label *label = bdev_buffer(sizeof(*label));
	uint64_t offset = area->info.area_start * SECTOR_SIZE;
	struct ek_label_info now;
	int err;

	if (area->head_err)
		offset += ek_label_copy_offset(area->info.area_sectors);
	memset(&now, 0, sizeof(now));
	err = read_label(dev, offset, &now, label);
	free(label);
	if (err == -EIO)
		return err;
	return !err && is_same(&now, &area->info) ? 0 : -EREMCHG;
}

int area_find(const struct bdev *dev, struct area *area, int *head_err)
{
	struct ek_label *label = bdev_buffer(sizeof(*label));
	uint64_t pos;
	int nr = 0;

	*head_err = -ENODATA;
	pos = walk_forward(dev, area, &nr, 0, head_err, label);
	walk_back(dev, area, &nr, pos, label);
	free(label);
	return !nr && *head_err == -EIO ? -EIO : nr;
}

int area_find_inside(const struct bdev *dev, struct area *area, int *head_err)
{
	int nr = area_find(dev, area, head_err);
	struct ek_label *label;

	/* Only where something else, or nothing, is: a label that is there has the first word. */
	if (nr || (*head_err != -EINVAL && *head_err != -ENODATA))
		return nr;
	label = bdev_buffer(sizeof(*label));
	look_inside(dev, area, &nr, *head_err, label);
	free(label);
	return nr;
}
