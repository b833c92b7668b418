// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: metadata that is written at a flush
 *
 * A host that has the FTL has memory for its map, and no OOB that it could rely on (zhang-2013
 * 5.2.1), so the map is written at a flush, to blocks that are for nothing else (5.3.4,
 * split_pool.c). Of these the generation that counts has some: first all of the map, then what each
 * commit changed. When there is no room for a commit the next generation is written in blocks that
 * the last one has not; it counts from its last page on, and the blocks of the one before are free
 * then.
 *
 * A flash page to which the committed map refers must be there as long as that map counts. So when
 * the map leaves a page that was there at the last commit, the page is not dead but held: live, as
 * GC sees it, until the next commit. What was programmed since is dead at once, as no start will
 * ask for it. A block is erased only when nothing in it is live, so never between a commit and the
 * next one that it would miss.
 *
 *	write  1: page 7 is at 40, program 40
 *	flush:    program "7 is at 40"
 *	write  2: page 7 is at 41, program 41		40 is held
 *	write  3: page 7 is at 42, program 42		41 is dead
 *	cut here: page 7 is at 40
 *	flush:    program "7 is at 42"			40 is dead
 *
 * A commit is the whole of it or nothing: parts are numbered, and a start takes none of one that is
 * not complete. After a start nothing is added to a generation, as the page behind its last one may
 * be torn and look erased: the first commit begins another one.
 *
 * The program of a commit begins when all that it refers to is in the flash (@until), and the erase
 * of what it sets free begins when the commit is: deadlines follow the order that a device whose
 * power goes has to keep.
 */
#include <linux/bitops.h>
#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "check.h"
#include "ftl_page.h"

/*
 * Blocks: the least that a generation takes, as much again for commits, the next generation, and
 * some that may fail.
 */
#define NL_SPLIT_SPARE	2u
#define NL_SPLIT_BAD	4u	/* and, where blocks are bad from the factory, more that may */

static u32 nl_split_all(const struct nl_geometry *geo, u32 logical_pages)
{
	return DIV_ROUND_UP(nl_split_bits(geo, logical_pages), nl_split_room(geo));
}

u32 nl_split_blocks(const struct nl_geometry *geo, const struct nl_config *config,
		    u32 logical_pages)
{
	u32 one = DIV_ROUND_UP(nl_split_all(geo, logical_pages), geo->pages);

	return 3 * one + NL_SPLIT_SPARE + min_t(u64, config->p[NL_P_FACTORY_BAD], NL_SPLIT_BAD);
}

u32 nl_split_csum(const struct nl_ftl *ftl, void *page)
{
	struct nl_split_page *head = page;
	__le32 csum = head->csum;
	u32 sum;

	head->csum = 0;
	sum = ~crc32c(~0, page, ftl->geo->page_bytes);
	head->csum = csum;
	return sum;
}

static u32 nl_split_all_bits(const struct nl_ftl *ftl)
{
	return nl_split_bits(ftl->geo, ftl->logical_pages);
}

int nl_split_init(struct nl_page_ftl *f)
{
	struct nl_ftl *ftl = &f->ftl;
	struct nl_split *s = kzalloc(sizeof(*s), NL_GFP_IO);

	if (!s)
		return -ENOMEM;
	f->split = s;
	s->nr = nl_split_blocks(ftl->geo, &ftl->config, ftl->logical_pages);
	s->pages = nl_split_all(ftl->geo, ftl->logical_pages);
	s->failed = NL_NONE;
	s->whole = true;
	s->block = kvcalloc(s->nr, sizeof(*s->block), NL_GFP_IO);
	s->used = kvcalloc(s->nr, sizeof(*s->used), NL_GFP_IO);
	s->gen.block = kvcalloc(s->nr, sizeof(u32), NL_GFP_IO);
	s->next.block = kvcalloc(s->nr, sizeof(u32), NL_GFP_IO);
	s->committed = kvcalloc(ftl->geo->nr_blocks, sizeof(u32), NL_GFP_IO);
	if (nl_marks_init(&s->changed, nl_split_all_bits(ftl)) ||
	    nl_marks_init(&s->held, ftl->geo->nr_pages) ||
	    !s->block || !s->used || !s->gen.block || !s->next.block || !s->committed)
		return -ENOMEM;
	return 0;
}

void nl_split_destroy(struct nl_page_ftl *f)
{
	struct nl_split *s = f->split;

	if (!s)
		return;
	kvfree(s->block);
	kvfree(s->used);
	kvfree(s->gen.block);
	kvfree(s->next.block);
	nl_marks_free(&s->changed);
	nl_marks_free(&s->held);
	kvfree(s->committed);
	kfree(s);
}

/* --- what is not committed -------------------------------------------------------------------- */

void nl_split_changed(struct nl_page_ftl *f, u32 lpn)
{
	if (f->split)
		nl_marks_set(&f->split->changed, lpn);
}

void nl_split_erased(struct nl_page_ftl *f, u32 block)
{
	if (f->split)
		nl_marks_set(&f->split->changed, f->ftl.logical_pages + block);
}

void nl_split_opened(struct nl_page_ftl *f, u32 block)
{
	nl_split_erased(f, block);	/* it may have been now */
	if (f->split)
		f->split->committed[block] = 0;
}

void nl_split_programmed(struct nl_page_ftl *f, u32 block, u64 when)
{
	if (!f->split)
		return;
	nl_marks_set(&f->split->changed, f->ftl.logical_pages + f->ftl.geo->nr_blocks + block);
	f->split->until = max(f->split->until, when);
}

void nl_split_leave(struct nl_page_ftl *f, u32 ppn)
{
	struct nl_split *s = f->split;

	if (nl_page_of(f->ftl.geo, ppn) >= s->committed[nl_block_of(f->ftl.geo, ppn)]) {
		nl_page_dead(&f->ftl, ppn);
		return;
	}
	nl_marks_set(&s->held, ppn);
}

bool nl_split_holds(const struct nl_page_ftl *f, u32 ppn)
{
	return f->split && nl_marks_has(&f->split->held, ppn);
}

/* What a start would find is what there is. */
static void nl_split_committed(struct nl_page_ftl *f)
{
	struct nl_ftl *ftl = &f->ftl;
	struct nl_split *s = f->split;
	u32 newest = ftl->logical_pages + ftl->geo->nr_blocks, i;

	/* Of the others no page was programmed since. */
	for (i = nl_marks_next(&s->changed, newest); i < s->changed.bits;
	     i = nl_marks_next(&s->changed, i + 1))
		s->committed[i - newest] = ftl->blocks.bk[i - newest].fill;
	nl_marks_clear(&s->changed);
	for (i = nl_marks_next(&s->held, 0); i < s->held.bits; i = nl_marks_next(&s->held, i + 1)) {
		nl_marks_unset(&s->held, i);
		nl_page_dead(ftl, i);
	}
	nl_marks_clear(&s->held);
}

/* --- writing it ------------------------------------------------------------------------------- */

static void nl_split_head(struct nl_page_ftl *f, const struct nl_gen *gen, void *page, u32 part,
			  u32 parts, u32 words)
{
	struct nl_split_page *head = page;

	head->magic = cpu_to_le64(NL_SPLIT_MAGIC);
	head->version = cpu_to_le32(NL_SPLIT_VERSION);
	head->gen = cpu_to_le64(gen->number);
	head->seq = cpu_to_le64(f->ftl.seq);
	head->index = cpu_to_le32(gen->index);
	head->pages = cpu_to_le32(f->split->pages);
	head->part = cpu_to_le32(part);
	head->parts = cpu_to_le32(parts);
	head->words = cpu_to_le32(words);
	head->nr_blocks = cpu_to_le32(f->ftl.geo->nr_blocks);
	head->flags = cpu_to_le32(f->split->gen.number ? 0 : NL_SPLIT_FIRST);
	head->csum = cpu_to_le32(nl_split_csum(&f->ftl, page));
}

/* The next page of a generation. -EIO: the program failed, in its last block. */
static int nl_split_put(struct nl_page_ftl *f, struct nl_gen *gen, struct nl_buf *buf, u64 *when)
{
	struct nl_rec rec = { .type = NL_OOB_SPLIT, .lpn = gen->index, .seq = gen->number };
	u32 pages = f->ftl.geo->pages;
	int r = 0;

	if (gen->index == gen->nr * pages)
		r = nl_split_take(f, gen, when);
	if (r)
		return r;
	r = nl_media_program(&f->ftl, nl_ppn(f->ftl.geo, gen->block[gen->nr - 1],
					     gen->index % pages), NL_FOR_META, when, buf, &rec);
	if (!r)
		gen->index++;
	return r;
}

/*
 * How many writes ago the newest data of a block was written, as far as a word has it. What OOB
 * says of a page that GC moved goes into that unseen: it may be anything.
 */
static u32 nl_split_age(const struct nl_ftl *ftl, u32 block)
{
	u64 newest = ftl->blocks.bk[block].newest;

	return newest < ftl->seq ? min_t(u64, ftl->seq - newest, U32_MAX) : 0;
}

static u32 nl_split_word(const struct nl_page_ftl *f, u32 i)
{
	const struct nl_ftl *ftl = &f->ftl;

	if (i < ftl->logical_pages)
		return f->map[i];
	i -= ftl->logical_pages;
	return i < ftl->geo->nr_blocks ? nl_flash_erases(ftl->flash, i) :
					 nl_split_age(ftl, i - ftl->geo->nr_blocks);
}

/* Page @n of all of it. */
static void nl_split_fill_all(struct nl_page_ftl *f, void *page, u32 n)
{
	u32 room = nl_split_room(f->ftl.geo), first = n * room, i;
	u32 words = min(room, nl_split_all_bits(&f->ftl) - first);

	for (i = 0; i < words; i++)
		nl_split_words(page)[i] = cpu_to_le32(nl_split_word(f, first + i));
	nl_split_head(f, &f->split->next, page, 0, 0, words);
}

/* What changed, from bit *@bit on. */
static void nl_split_fill_part(struct nl_page_ftl *f, void *page, u32 part, u32 parts, u32 *bit)
{
	u32 room = nl_split_room(f->ftl.geo) / 2, n;

	for (n = 0; n < room; n++) {
		*bit = nl_marks_next(&f->split->changed, *bit);
		if (*bit >= f->split->changed.bits)
			break;
		nl_split_words(page)[2 * n] = cpu_to_le32(nl_split_what(&f->ftl, *bit));
		nl_split_words(page)[2 * n + 1] = cpu_to_le32(nl_split_word(f, *bit));
		(*bit)++;
	}
	nl_split_head(f, &f->split->gen, page, part, parts, 2 * n);
}

static struct nl_buf *nl_split_page(struct nl_ftl *ftl)
{
	struct nl_buf *buf = nl_buf_alloc(ftl->geo->page_bytes, ftl->flash->nowait);

	if (buf)
		memset(nl_buf_data(buf), 0, ftl->geo->page_bytes);
	return buf;
}

/*
 * Pages that a commit may still take, with enough blocks left for the next generation, and one that
 * may fail when it is erased for that.
 */
static u64 nl_split_left(const struct nl_page_ftl *f)
{
	const struct nl_split *s = f->split;
	u32 unused = nl_split_unused(f), next = DIV_ROUND_UP(s->pages, f->ftl.geo->pages) + 1;

	return (u64)(s->gen.nr + unused - min(unused, next)) * f->ftl.geo->pages - s->gen.index;
}

/* -ENOSPC: no room for it, or all at once is less. */
static int nl_split_append(struct nl_page_ftl *f, u64 *when)
{
	struct nl_split *s = f->split;
	u32 parts = DIV_ROUND_UP(s->changed.nr, nl_split_room(f->ftl.geo) / 2), part, bit = 0;
	struct nl_buf *buf;
	int r = 0;

	if (s->whole || parts > s->pages || parts > nl_split_left(f))
		return -ENOSPC;
	for (part = 0; part < parts && !r; part++) {
		buf = nl_split_page(&f->ftl);
		if (!buf) {
			r = -ENOMEM;
			break;
		}
		nl_split_fill_part(f, nl_buf_data(buf), part, parts, &bit);
		r = nl_split_put(f, &s->gen, buf, when);
		nl_buf_put(buf);
	}
	/* Nothing may follow what is not complete. */
	if (r && (part || r == -EIO))
		s->whole = true;
	if (r == -EIO)
		s->failed = s->gen.block[s->gen.nr - 1];
	return r;
}

static int nl_split_write_all(struct nl_page_ftl *f, u64 *when)
{
	struct nl_split *s = f->split;
	struct nl_buf *buf;
	int r = 0;
	u32 n;

	s->next.number = ++s->last;
	s->next.index = 0;
	for (n = 0; n < s->pages && !r; n++) {
		buf = nl_split_page(&f->ftl);
		if (!buf)
			return -ENOMEM;
		nl_split_fill_all(f, nl_buf_data(buf), n);
		r = nl_split_put(f, &s->next, buf, when);
		nl_buf_put(buf);
	}
	return r;
}

/* It is written, and counts: what the one before had is free, but for a block that failed. */
static int nl_split_turn(struct nl_page_ftl *f)
{
	struct nl_split *s = f->split;
	u32 failed = s->failed;

	nl_split_drop(f, &s->gen);
	swap(s->gen, s->next);
	s->whole = false;
	s->images++;
	s->failed = NL_NONE;
	return failed == NL_NONE ? 0 : nl_split_retire(f, failed);
}

/*
 * Another generation. A block that fails takes what was written of it along: again, without it. If
 * that leaves too few, GC's last ones are taken, and from then on nothing but metadata is written.
 */
static int nl_split_image(struct nl_page_ftl *f, u64 *when)
{
	struct nl_split *s = f->split;
	u32 failed;
	int r;

	for (;;) {
		r = nl_split_write_all(f, when);
		if (!r)
			return nl_split_turn(f);
		failed = r == -EIO ? s->next.block[s->next.nr - 1] : NL_NONE;
		nl_split_drop(f, &s->next);
		if (failed != NL_NONE) {
			r = nl_split_retire(f, failed);
			if (r)
				return r;
		} else if (r == -ENOSPC && f->ftl.state != NL_FTL_RO) {
			f->ftl.state = NL_FTL_RO;
			nl_split_fill(f);
		} else {
			return r == -ENOSPC ? -EROFS : r;
		}
	}
}

bool nl_split_behind(const struct nl_page_ftl *f)
{
	return !f->split->gen.number || f->split->changed.nr;
}

int nl_split_commit(struct nl_page_ftl *f, u64 *when)
{
	struct nl_split *s = f->split;
	int r;

	if (!s)
		return 0;
	*when = max(*when, s->until);
	if (!nl_split_behind(f))
		return 0;
	r = nl_split_append(f, when);
	if (r == -ENOSPC || r == -EIO)
		r = nl_split_image(f, when);
	if (r)
		return r;
	s->commits++;
	s->until = max(s->until, *when);	/* the next one is not there before this one is */
	nl_split_committed(f);
	nl_split_fill(f);
	return 0;
}

int nl_split_release(struct nl_page_ftl *f, u64 *when)
{
	return f->split && f->split->held.nr ? nl_split_commit(f, when) : 0;
}

/* --- to see ----------------------------------------------------------------------------------- */

void nl_split_stat(const struct nl_page_ftl *f, struct nl_ftl_stat *stat)
{
	const struct nl_split *s = f->split;

	if (!s)
		return;
	stat->commits = s->commits;
	stat->images = s->images;
	stat->meta_blocks = s->nr;
	stat->meta_good = s->have;
	stat->meta_rotated = s->rotated;
	stat->held = s->held.nr;
	stat->other_bytes += sizeof(*s) + s->nr * (sizeof(*s->used) + 3 * sizeof(u32)) +
			     (BITS_TO_LONGS(nl_split_all_bits(&f->ftl)) +
			      BITS_TO_LONGS(f->ftl.geo->nr_pages)) * sizeof(long) +
			     (u64)f->ftl.geo->nr_blocks * sizeof(u32);
}

u32 nl_split_check(struct nl_checking *c, const struct nl_page_ftl *f)
{
	const struct nl_split *s = f->split;
	u32 i, held = 0, changed = 0;

	if (!s)
		return 0;
	for_each_set_bit(i, s->held.bit, f->ftl.geo->nr_pages) {
		held++;
		if (!nl_page_is_live(&f->ftl, i))
			nl_finding(c, "flash page %u is held, and dead", i);
	}
	if (held != s->held.nr)
		nl_finding(c, "%u flash pages are held, %u are counted", held, s->held.nr);
	for_each_set_bit(i, s->changed.bit, nl_split_all_bits(&f->ftl))
		changed++;
	if (changed != s->changed.nr)
		nl_finding(c, "%u changes, %u are counted", changed, s->changed.nr);
	nl_split_check_pool(c, f);
	return held;
}
