// SPDX-License-Identifier: GPL-2.0-only
/*
 * Areas and their labels: where an area ends, what is in it, and the writing of
 * labels when a pool is made.
 *
 * Making a pool can be cut anywhere:
 *   0 superblocks of an earlier pool are	cut after: nothing is labelled, and the next
 *     zeroed, if nothing was labelled yet	resume looks at labels only
 *   1 metadata labels, marked as forming	cut after: the next resume begins again,
 *   2 member labels				with the same pool uuid, so members
 *   3 an empty pool in the metadata areas	labelled already are known as ours
 *   4 metadata labels, no longer forming
 *
 * A disk of a pool in use may be dead: it fails each read, or, pulled, has no size any more.  A
 * table that still has it would be refused for its label, and with a second one that is dead no
 * table could leave out either.  So an area that answers nothing is what the live pool knows it to
 * be, if that has it on the same open device, which no other one can have become; nothing else may
 * be without a label (hy_labels_adopt()).  One that answers is judged by what it says.
 */
#include <linux/atomic.h>
#include "hybrid.h"

#define HY_PROBE_HEAD	(128u << 10)
#define HY_PROBE_TAIL	(64u << 10)
#define HY_LABEL_FORMING 1	/* ek_label.reserved0 */

static sector_t dev_sectors(struct hy_area *a)
{
	return bdev_nr_sectors(a->dev->bdev);
}

/* The end of an area: where the next one on its device begins. */
static sector_t area_end(struct hy_table *t, struct hy_area *a)
{
	sector_t end = dev_sectors(a);
	unsigned int i;

	for (i = 0; i < t->nr_meta + t->nr_members; i++) {
		struct hy_area *b = i < t->nr_meta ? &t->meta[i] : &t->member[i - t->nr_meta];

		if (b != a && b->dev && b->dev->bdev == a->dev->bdev && b->start >= a->start)
			end = min(end, b->start);
	}
	return end;
}

/**
 * hy_areas_check - find where areas end and whether they make sense
 * @t: a table whose areas are open
 * @error: why not
 *
 * Of a device that has no size any more the labels' reader takes care.
 * Context: constructor; no I/O.
 * Return: 0 or -EINVAL.
 */
int hy_areas_check(struct hy_table *t, char **error)
{
	unsigned int i;

	for (i = 0; i < t->nr_meta + t->nr_members; i++) {
		bool meta = i < t->nr_meta;
		struct hy_area *a = meta ? &t->meta[i] : &t->member[i - t->nr_meta];
		sector_t end;
		u64 extents;

		if (!a->dev || !dev_sectors(a))
			continue;
		end = area_end(t, a);
		if (end == a->start && end < dev_sectors(a)) {
			*error = "two areas begin at the same sector";
			return -EINVAL;
		}
		if (end <= a->start || end - a->start < (2 * EK_AREA_HEAD_BYTES >> SECTOR_SHIFT)) {
			*error = meta ? "metadata area too small" : "member too small";
			return -EINVAL;
		}
		a->sectors = round_down(end - a->start, EK_BLOCK_SIZE >> SECTOR_SHIFT);
		if (bdev_logical_block_size(a->dev->bdev) > EK_BLOCK_SIZE) {
			*error = "logical blocks larger than 4096 bytes";
			return -EINVAL;
		}
		if (meta)
			continue;
		extents = ek_member_extents(a->sectors, t->extent_sectors);
		if (!extents) {
			*error = "member too small";
			return -EINVAL;
		}
		if (extents > EK_MAX_MEMBER_EXTENTS) {
			*error = "member too large for the extent size";
			return -EINVAL;
		}
	}
	return 0;
}

static int block_io(struct hy_area *a, u64 offset, struct page *page, blk_opf_t opf)
{
	struct bio_vec bvec;
	struct bio bio;
	int r;

	bio_init(&bio, a->dev->bdev, &bvec, 1, opf);
	bio.bi_iter.bi_sector = a->start + (offset >> SECTOR_SHIFT);
	__bio_add_page(&bio, page, EK_BLOCK_SIZE, 0);
	r = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return r;
}

static int label_store(struct hy_area *a, u64 offset, struct page *page)
{
	blk_opf_t opf = REQ_OP_WRITE | REQ_FUA | REQ_META | REQ_SYNC;

	return hy_preflush(a->dev, &opf) ?: block_io(a, offset, page, opf);
}

static bool page_is_zero(struct page *page)
{
	return !memchr_inv(page_address(page), 0, EK_BLOCK_SIZE);
}

/* 1: nothing but zeroes where anything would be known by; 0: something; < 0: error. */
static int area_is_blank(struct hy_area *a, struct page *page, bool but_labels)
{
	u64 bytes = (u64)a->sectors << SECTOR_SHIFT;
	u64 copy = ek_label_copy_offset(a->sectors);
	u64 o;
	int r;

	for (o = 0; o < HY_PROBE_HEAD + HY_PROBE_TAIL; o += EK_BLOCK_SIZE) {
		u64 at = o < HY_PROBE_HEAD ? o : bytes - HY_PROBE_TAIL + (o - HY_PROBE_HEAD);

		if (but_labels && (at == 0 || at == copy))
			continue;
		r = block_io(a, at, page, REQ_OP_READ);
		if (r)
			return r;
		if (!page_is_zero(page))
			return 0;
	}
	return 1;
}

/* A bad sector may be -ENODATA, which is no label that is not there. */
static int read_block(struct hy_area *a, u64 offset, struct page *page)
{
	return a->sectors && !block_io(a, offset, page, REQ_OP_READ) ? 0 : -EIO;
}

/*
 * Read an area's label, or its copy if the first is damaged.  As
 * ek_label_decode(); -ENODATA when both are zero; -EIO when neither can be read.
 */
static int label_read(struct hy_area *a, struct page *page, struct ek_label_info *info,
		      bool *forming)
{
	struct ek_label *label = page_address(page);
	int r, r2;

	r = read_block(a, 0, page);
	if (!r) {
		*forming = le32_to_cpu(label->reserved0) & HY_LABEL_FORMING;
		r = ek_label_decode(label, info);
		if (!r || r == -EPROTONOSUPPORT)
			return r;
	}
	r2 = read_block(a, ek_label_copy_offset(a->sectors), page);
	if (r2)
		return r;
	*forming = le32_to_cpu(label->reserved0) & HY_LABEL_FORMING;
	r2 = ek_label_decode(label, info);
	/* A label that has only its copy left is good if the first is damaged, not foreign. */
	if (!r2 && r != -EINVAL)
		return 0;
	return r == -EIO ? -EUCLEAN : r;
}

/**
 * hy_area_is_labelled - is its label there?
 * @a: an area of a table that is in use
 *
 * Context: sleeps.
 * Return: 0; -EUCLEAN: another label; -ENOMEM; why it can't be read.
 */
int hy_area_is_labelled(struct hy_area *a)
{
	struct page *page = alloc_page(GFP_NOIO);
	struct ek_label_info info;
	bool forming;
	int r;

	if (!page)
		return -ENOMEM;
	r = label_read(a, page, &info, &forming);
	if (!r && memcmp(info.area_uuid, a->uuid, EK_UUID_SIZE))
		r = -EUCLEAN;
	__free_page(page);
	return r;
}

/* dm prints it when the constructor has returned: nothing of the table is left then. */
static char *name_unread(struct hy_table *t, unsigned int i)
{
	static char text[8][96];
	static atomic_t turn;
	char *own = text[(unsigned int)atomic_inc_return(&turn) % ARRAY_SIZE(text)];
	bool meta = i < t->nr_meta;
	struct hy_area *a = meta ? &t->meta[i] : &t->member[i - t->nr_meta];

	snprintf(own, sizeof(text[0]), "cannot read the label of %s %u on %pg",
		 meta ? "metadata area" : "member", meta ? i : i - t->nr_meta, a->dev->bdev);
	return own;
}

/* One that answers nothing is refused, if no live pool may know it. */
static int refuse_unread(struct hy_table *t, char **error)
{
	unsigned int i;

	for (i = 0; i < t->nr_meta + t->nr_members; i++) {
		if (!(i < t->nr_meta ? &t->meta[i] : &t->member[i - t->nr_meta])->unread)
			continue;
		*error = name_unread(t, i);
		return -EIO;
	}
	return 0;
}

static int label_error(int r, bool meta, char **error)
{
	switch (r) {
	case -EUCLEAN:
		*error = meta ? "metadata label is damaged" : "member label is damaged";
		break;
	case -EPROTONOSUPPORT:
		*error = "label of an unknown version or with unknown features";
		break;
	case -ENODATA:
	case -EINVAL:
		*error = meta ? "metadata area holds something else (not zero, no label)" :
				"member holds something else (not zero, no label of this pool)";
		break;
	default:
		*error = meta ? "cannot read the metadata label" : "cannot read a member's label";
		return r;
	}
	return -EINVAL;
}

/*
 * Members that joined later are not in the labels of those before, nor is a second metadata area:
 * what a label says of how many there are is a lower bound, the superblock knows.
 */
static int label_matches(struct hy_table *t, struct hy_area *a, struct ek_label_info *info,
			 u32 role, u32 index, const u8 *uuid, char **error)
{
	if (memcmp(info->pool_uuid, uuid, EK_UUID_SIZE))
		*error = role == EK_ROLE_META ? "metadata areas are of different pools" :
						"member of another pool";
	else if (info->role != role)
		*error = "a metadata area where a member is expected, or the reverse";
	else if (info->index != index)
		*error = "areas are not in the order they were made in";
	else if (info->nr_members > t->nr_members || info->nr_meta > t->nr_meta)
		*error = "number of members or metadata areas is not the pool's";
	else if (info->extent_sectors != t->extent_sectors)
		*error = "extent size is not the pool's";
	else if (info->area_start != a->start || info->area_sectors > a->sectors)
		*error = "an area begins elsewhere or is shorter than when it was made";
	else
		return 0;
	return -EINVAL;
}

/* Look at the metadata labels: are they a pool's, or blank? */
static int meta_labels(struct hy_table *t, struct page *page, u8 *uuid, bool *blank,
		       bool *forming, char **error)
{
	unsigned int i, seen = 0, blanks = 0;

	/* Once one says that it is complete, all were written before. */
	*forming = true;
	for (i = 0; i < t->nr_meta; i++) {
		struct ek_label_info info;
		bool f;
		int r;

		if (!t->meta[i].dev)
			continue;
		r = label_read(&t->meta[i], page, &info, &f);
		if (r == -ENODATA) {
			r = area_is_blank(&t->meta[i], page, false);
			if (r <= 0)
				return label_error(r ? r : -EINVAL, true, error);
			blanks++;
			continue;
		}
		t->meta[i].unread = r == -EIO;
		if (t->meta[i].unread)
			continue;
		if (r)
			return label_error(r, true, error);
		if (!seen++)
			memcpy(uuid, info.pool_uuid, EK_UUID_SIZE);
		r = label_matches(t, &t->meta[i], &info, EK_ROLE_META, i, uuid, error);
		if (r)
			return r;
		*forming &= f;
		t->meta[i].sectors = info.area_sectors;
		memcpy(t->meta[i].uuid, info.area_uuid, EK_UUID_SIZE);
	}
	*forming &= seen > 0;
	if (!seen && !blanks) {
		*error = "no metadata area is there";
		return refuse_unread(t, error) ?: -EINVAL;
	}
	/* The first labels of a pool being made can be cut between the two. */
	if (seen && blanks && !*forming) {
		*error = "one metadata area is blank, the other is not";
		return -EINVAL;
	}
	*blank = !seen;
	return 0;
}

static int member_label(struct hy_table *t, unsigned int i, struct page *page, const u8 *uuid,
			bool blank, bool forming, char **error)
{
	struct hy_area *a = &t->member[i];
	struct ek_label_info info;
	bool f;
	int r = label_read(a, page, &info, &f);

	if (!blank && !r) {
		r = label_matches(t, a, &info, EK_ROLE_MEMBER, i, uuid, error);
		if (!r) {
			a->sectors = info.area_sectors;
			memcpy(a->uuid, info.area_uuid, EK_UUID_SIZE);
		}
		return r;
	}
	if (!r) {
		*error = "member of another pool";
		return -EINVAL;
	}
	a->unread = r == -EIO;
	if (a->unread)
		return 0;
	if (r != -ENODATA || (!blank && !forming))
		return label_error(r, false, error);
	r = area_is_blank(a, page, forming);
	return r > 0 ? 0 : label_error(r ? r : -EINVAL, false, error);
}

/**
 * hy_labels_check - refuse what is not this pool's
 * @t: table; sizes of its areas become what the labels say
 * @pool_uuid: set when the pool exists already, or was being made
 * @state: HY_LABELS_NEW: to be formatted
 * @error: set on failure
 *
 * Areas of a pool that is made which answer nothing are marked, for hy_labels_adopt().
 * Context: constructor; reads labels, writes nothing.
 * Return: 0, -EINVAL, -ENOMEM, an I/O error.
 */
int hy_labels_check(struct hy_table *t, u8 *pool_uuid, enum hy_label_state *state,
		    char **error)
{
	struct page *page = alloc_page(GFP_KERNEL);
	bool blank, forming;
	unsigned int i;
	int r;

	*error = "out of memory";
	if (!page)
		return -ENOMEM;
	memset(pool_uuid, 0, EK_UUID_SIZE);
	r = meta_labels(t, page, pool_uuid, &blank, &forming, error);
	for (i = 0; !r && i < t->nr_members; i++) {
		if (t->member[i].dev) {
			r = member_label(t, i, page, pool_uuid, blank, forming, error);
		} else if (blank || forming) {
			*error = "a new pool needs all its members";
			r = -EINVAL;
		}
	}
	*state = blank || forming ? HY_LABELS_NEW : HY_LABELS_OURS;
	if (!r && *state == HY_LABELS_NEW)
		r = refuse_unread(t, error);
	__free_page(page);
	return r;
}

static void adopt_meta(struct hy_area *a, const struct hy_area *own)
{
	if (!a->unread || !own->dev || own->dev->bdev != a->dev->bdev || own->start != a->start)
		return;
	a->sectors = own->sectors;
	memcpy(a->uuid, own->uuid, EK_UUID_SIZE);
	a->unread = false;
}

static void adopt_member(struct hy_pool *pool, struct hy_area *a, unsigned int i)
{
	struct hy_member *m = &pool->member[i];

	if (!a->unread || i >= pool->nr_members || m->bdev != a->dev->bdev ||
	    m->area_start != a->start)
		return;
	a->sectors = m->area_sectors;
	memcpy(a->uuid, ek_store_super(pool->store)->member[i].uuid, EK_UUID_SIZE);
	a->unread = false;
}

/**
 * hy_labels_adopt - what answers nothing is what the live pool has there
 * @pool: the table's; NULL: there is none yet
 * @t: its labels have been looked at
 * @error: set on failure
 *
 * Not where the table's resume would forget what the pool knows: it would fail on what is adopted.
 * Context: constructor; @pool's state_sem held; no I/O.
 * Return: 0, -EIO: of something nobody knows what it is.
 */
int hy_labels_adopt(struct hy_pool *pool, struct hy_table *t, char **error)
{
	bool known = pool && pool->loaded && !hy_pool_loads_anew(pool, t);
	unsigned int i;

	for (i = 0; known && i < t->nr_meta; i++)
		adopt_meta(&t->meta[i], &pool->meta[i]);
	for (i = 0; known && i < t->nr_members; i++)
		adopt_member(pool, &t->member[i], i);
	return refuse_unread(t, error);
}

static int label_write(struct hy_area *a, struct page *page, const struct ek_label_info *info,
		       bool forming)
{
	struct ek_label *label = page_address(page);
	int r;

	ek_label_encode(info, label);
	if (forming) {
		label->reserved0 = cpu_to_le32(HY_LABEL_FORMING);
		label->csum = cpu_to_le32(ek_checksum(label, sizeof(*label), &label->csum));
	}
	r = label_store(a, 0, page);
	if (!r)
		r = block_io(a, ek_label_copy_offset(a->sectors), page,
			     REQ_OP_WRITE | REQ_FUA | REQ_META | REQ_SYNC);
	return r;
}

/**
 * hy_labels_write - label the metadata areas, and the members too
 * @pool: whose uuid
 * @t: areas
 * @name: the pool's
 * @forming: the pool is not complete: metadata areas only say so
 * @member_uuid: the members' uuids; NULL: metadata labels only
 *
 * Context: resume; writes.
 * Return: 0 or an error.
 */
int hy_labels_write(struct hy_pool *pool, struct hy_table *t, const char *name, bool forming,
		    u8 (*member_uuid)[EK_UUID_SIZE])
{
	struct ek_label_info info = {
		.nr_members = t->nr_members,
		.nr_meta = t->nr_meta,
		.extent_sectors = t->extent_sectors,
		.ctime = ktime_get_real_seconds(),
	};
	struct page *page = alloc_page(GFP_NOIO);
	unsigned int i;
	int r = 0;

	if (!page)
		return -ENOMEM;
	memcpy(info.pool_uuid, pool->uuid, EK_UUID_SIZE);
	strscpy(info.name, name, sizeof(info.name));
	for (i = 0; !r && i < (member_uuid ? t->nr_members : t->nr_meta); i++) {
		struct hy_area *a = member_uuid ? &t->member[i] : &t->meta[i];

		info.role = member_uuid ? EK_ROLE_MEMBER : EK_ROLE_META;
		info.index = i;
		info.area_start = a->start;
		info.area_sectors = a->sectors;
		if (member_uuid)
			memcpy(info.area_uuid, member_uuid[i], EK_UUID_SIZE);
		else	/* metadata areas are told apart by their index */
			memcpy(info.area_uuid, pool->uuid, EK_UUID_SIZE);
		r = label_write(a, page, &info, forming && !member_uuid);
	}
	__free_page(page);
	return r;
}

/* Is this block a label that is complete?  Left in @page. */
static bool label_is_final(struct hy_area *a, u64 offset, struct page *page)
{
	struct ek_label *label = page_address(page);
	struct ek_label_info info;

	return !block_io(a, offset, page, REQ_OP_READ) && !ek_label_decode(label, &info) &&
	       !(le32_to_cpu(label->reserved0) & HY_LABEL_FORMING);
}

static int settle_area(struct hy_area *a, struct page *page)
{
	u64 copy = ek_label_copy_offset(a->sectors);
	struct ek_label *label = page_address(page);
	bool first = label_is_final(a, 0, page);
	struct ek_label_info info;
	bool forming;
	int r;

	if (label_is_final(a, copy, page))
		return first ? 0 : label_store(a, 0, page);
	if (first)
		return label_is_final(a, 0, page) ? label_store(a, copy, page) : -EIO;
	r = label_read(a, page, &info, &forming);
	if (r)
		return r;
	label->reserved0 = 0;
	label->csum = cpu_to_le32(ek_checksum(label, sizeof(*label), &label->csum));
	r = label_store(a, 0, page);
	return r ? r : label_store(a, copy, page);
}

/**
 * hy_labels_settle - no metadata label says "forming" any more, none is damaged
 * @t: table of a pool that has been loaded
 *
 * What a cut left behind while the pool was made must not be taken for a pool to
 * be made again, much later: no data is taken before one area says otherwise.
 * The other one, if it can't be read or written, is the store's to deal with.
 *
 * Context: resume; writes only what is not as it should be.
 * Return: 0 or an error; after one, no area is known to be settled.
 */
int hy_labels_settle(struct hy_table *t)
{
	struct page *page = alloc_page(GFP_NOIO);
	struct ek_label_info info;
	unsigned int i, settled = 0;
	int r, error = -EIO;
	bool forming;

	if (!page)
		return -ENOMEM;
	for (i = 0; i < t->nr_meta; i++) {
		if (!t->meta[i].dev)
			continue;
		r = settle_area(&t->meta[i], page);
		if (r)
			DMWARN("the labels of metadata area %u can't be mended: error %d", i, r);
		/* One of two copies is enough. */
		if (!r || (!label_read(&t->meta[i], page, &info, &forming) && !forming))
			settled++;
		else
			error = r;
	}
	__free_page(page);
	return settled ? 0 : error;
}
