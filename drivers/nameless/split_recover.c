// SPDX-License-Identifier: GPL-2.0-only
/*
 * The newest metadata that is complete. Nothing is written but the first generation of all, to
 * flash that has none.
 *
 * What has metadata is found by the first page of each block that can be read: a read for each, and
 * those of all planes at once. Of a block of data nothing else is read.
 *
 * Generations are looked at from the highest number down. One that is not complete was cut off
 * while it was written, and the one before it is untouched; unless commits followed it: then it was
 * complete, and to take the one before would be to show what is older than a flush. That is
 * refused, and so is a commit behind one that can't be read.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "ftl_page.h"

/**
 * struct nl_split_find - what the blocks of the metadata hold
 * @f: the FTL
 * @io: its start
 * @number: per block of the pool: the generation that has it
 * @place: and where in that it is
 * @later: there is a page that was not the first generation's, or can't be told from one
 * @data: there is a page of data
 * @blank: the page that was looked at last is, or looks, erased
 */
struct nl_split_find {
	struct nl_page_ftl *f;
	struct nl_io *io;
	u64 *number;
	u32 *place;
	bool later;
	bool data;
	bool blank;
};

enum nl_split_sight { NL_SIGHT_NOTHING, NL_SIGHT_METADATA, NL_SIGHT_DATA };

/* Numbers that there is an end of: none that are written ever come near. */
#define NL_SPLIT_LAST	(U64_MAX / 2)

static bool nl_split_is_whole(const struct nl_page_ftl *f, struct nl_buf *buf)
{
	const struct nl_split_page *head = buf ? nl_buf_data(buf) : NULL;

	return head && head->magic == cpu_to_le64(NL_SPLIT_MAGIC) &&
	       le32_to_cpu(head->csum) == nl_split_csum(&f->ftl, nl_buf_data(buf));
}

static bool nl_split_is_sane(const struct nl_page_ftl *f, const struct nl_rec *rec,
			     const struct nl_split_page *head)
{
	u32 parts = le32_to_cpu(head->parts), words = le32_to_cpu(head->words);

	return le64_to_cpu(head->gen) == rec->seq && rec->seq && rec->seq < NL_SPLIT_LAST &&
	       le64_to_cpu(head->seq) < NL_SPLIT_LAST && le32_to_cpu(head->index) == rec->lpn &&
	       le32_to_cpu(head->pages) == f->split->pages &&
	       le32_to_cpu(head->nr_blocks) == f->ftl.geo->nr_blocks &&
	       words <= nl_split_room(f->ftl.geo) && !(parts && words % 2) &&
	       (rec->lpn < f->split->pages ? !parts : le32_to_cpu(head->part) < parts);
}

/* Of a later version there may be what changes the meaning of all. */
static bool nl_split_is_known(const struct nl_split_page *head)
{
	return head->version == cpu_to_le32(NL_SPLIT_VERSION) && !head->reserved &&
	       !(head->flags & ~cpu_to_le32(NL_SPLIT_FIRST));
}

/* What a page of this FTL is. -EMEDIUMTYPE: metadata of another version. */
static int nl_split_see(struct nl_split_find *find, const struct nl_rec *rec, struct nl_buf *buf)
{
	if (rec->type == NL_OOB_DATA)
		return NL_SIGHT_DATA;
	if (rec->type != NL_OOB_SPLIT)
		return -EMEDIUMTYPE;
	if (nl_split_is_whole(find->f, buf)) {
		if (!nl_split_is_known(nl_buf_data(buf)))
			return -EMEDIUMTYPE;
		if (nl_split_is_sane(find->f, rec, nl_buf_data(buf)))
			return NL_SIGHT_METADATA;
	}
	find->later = true;
	return NL_SIGHT_NOTHING;
}

/*
 * A page: enum nl_split_sight, of metadata with *@buf and a reference, nothing if it can't be read
 * or is damaged; an error, -EMEDIUMTYPE if it is another FTL's.
 */
static int nl_split_look(struct nl_split_find *find, u32 block, u32 page, struct nl_buf **buf)
{
	struct nl_ftl *ftl = &find->f->ftl;
	u64 when = find->io->now;
	struct nl_rec rec;
	int r = nl_flash_read(ftl->flash, nl_ppn(ftl->geo, block, page), NL_FOR_RECOVERY, &when,
			      buf, ftl->oob);

	nl_io_wait(find->io, when);
	find->blank = r == -ENODATA;
	if (r)
		return r == -ENODATA || r == -EBADMSG ? 0 : r;
	r = nl_oob_decode(ftl, ftl->oob, &rec);
	if (!r)
		r = nl_split_see(find, &rec, *buf);
	if (r != NL_SIGHT_METADATA)
		nl_buf_put(*buf);
	return r;
}

/* It is the pool's, as it has a page of metadata. */
static int nl_split_found(struct nl_split_find *find, u32 block, const struct nl_split_page *head)
{
	struct nl_split *s = find->f->split;
	u32 i = s->have;
	int r = nl_split_add(find->f, block);

	if (r)
		return r;
	find->f->ftl.blocks.bk[block].flags |= NL_DIRTY;
	find->number[i] = le64_to_cpu(head->gen);
	find->place[i] = le32_to_cpu(head->index) / find->f->ftl.geo->pages;
	find->later |= !(le32_to_cpu(head->flags) & NL_SPLIT_FIRST);
	s->last = max(s->last, find->number[i]);
	return 0;
}

/* Whose a block is: its first page that can be read says so, unless an erased one is before. */
static int nl_split_survey_block(struct nl_split_find *find, u32 block)
{
	u32 pages = find->f->ftl.geo->pages, page;
	int r = NL_SIGHT_NOTHING;
	struct nl_buf *buf;

	for (page = 0; page < pages && r == NL_SIGHT_NOTHING; page++) {
		r = nl_split_look(find, block, page, &buf);
		if (find->blank)
			return 0;
	}
	find->data |= r == NL_SIGHT_DATA;
	if (r != NL_SIGHT_METADATA)
		return min(r, 0);
	r = nl_split_found(find, block, nl_buf_data(buf));
	nl_buf_put(buf);
	return r;
}

static int nl_split_survey(struct nl_split_find *find)
{
	struct nl_ftl *ftl = &find->f->ftl;
	u32 i;
	int r = 0;

	for (i = 0; i < ftl->geo->nr_blocks && !r; i++) {
		if (ftl->blocks.bk[i].use != NL_USE_BAD)
			r = nl_split_survey_block(find, i);
		cond_resched();
	}
	return r;
}

/*
 * Blocks of a generation, NL_NONE where one is missing; as far as there are any. -EUCLEAN: two of
 * them say that they are the same.
 */
static int nl_split_gather(struct nl_split_find *find, u64 number)
{
	struct nl_split *s = find->f->split;
	u32 i;

	s->gen.number = number;
	s->gen.nr = 0;
	for (i = 0; i < s->nr; i++)
		s->gen.block[i] = NL_NONE;
	for (i = 0; i < s->have; i++) {
		s->used[i] = find->number[i] == number && find->place[i] < s->nr;
		if (!s->used[i])
			continue;
		if (s->gen.block[find->place[i]] != NL_NONE)
			return -EUCLEAN;
		s->gen.block[find->place[i]] = s->block[i];
		s->gen.nr = max(s->gen.nr, find->place[i] + 1);
	}
	return 0;
}

/* Page @n of the generation: 1 and *@buf with a reference, 0 if it can't be read. */
static int nl_split_read(struct nl_split_find *find, u32 n, struct nl_buf **buf)
{
	struct nl_split *s = find->f->split;
	u32 pages = find->f->ftl.geo->pages, block = s->gen.block[n / pages];
	const struct nl_split_page *head;
	int r;

	if (block == NL_NONE)
		return 0;
	r = nl_split_look(find, block, n % pages, buf);
	if (r != NL_SIGHT_METADATA)
		return r == NL_SIGHT_DATA ? -EUCLEAN : r;
	head = nl_buf_data(*buf);
	if (le64_to_cpu(head->gen) == s->gen.number && le32_to_cpu(head->index) == n)
		return 1;
	nl_buf_put(*buf);
	return 0;
}

/* Blocks behind the last page that can be read have nothing of it, whatever they say. */
static void nl_split_end_at(struct nl_split *s, u32 nr)
{
	u32 n, i;

	for (n = nr; n < s->gen.nr; n++)
		for (i = 0; i < s->have; i++)
			if (s->block[i] == s->gen.block[n])
				s->used[i] = false;	/* to be erased, as all that were found */
	s->gen.nr = min(s->gen.nr, nr);
}

/*
 * 1 if the generation counts: gen.index is then the first page that can't be read. 0 if it never
 * did; -EIO if something can be read behind that page, in a block that is there: pages are
 * programmed in order, and none after one that failed, so it was there and is damaged. (One of
 * whose blocks one is missing never counted, or is another one's now.)
 */
static int nl_split_measure(struct nl_split_find *find)
{
	struct nl_split *s = find->f->split;
	u32 n, pages = find->f->ftl.geo->pages, end = s->gen.nr * pages;
	struct nl_buf *buf;
	int r;

	s->gen.index = end;
	for (n = 0; n < end; n++) {
		r = nl_split_read(find, n, &buf);
		if (r < 0)
			return r;
		if (r)
			nl_buf_put(buf);
		else if (s->gen.index == end)
			s->gen.index = n;
		if (r && s->gen.index < n &&
		    (n >= s->pages || s->gen.block[s->gen.index / pages] != NL_NONE))
			return -EIO;
	}
	if (s->gen.index < s->pages)
		return 0;
	nl_split_end_at(s, DIV_ROUND_UP(s->gen.index, pages));
	return 1;
}

/* A word of a page of the metadata. */
static int nl_split_set(struct nl_page_ftl *f, const struct nl_split_page *head, u32 what,
			u32 value)
{
	struct nl_ftl *ftl = &f->ftl;
	u64 seq = le64_to_cpu(head->seq);
	u32 block;

	if (what < ftl->logical_pages) {
		if (value != NL_UNMAPPED && value >= ftl->geo->nr_pages)
			return -EUCLEAN;
		f->map[what] = value;
		return 0;
	}
	block = what & ~NL_SPLIT_NEWEST;
	if (!(what & NL_SPLIT_BLOCK) || block >= ftl->geo->nr_blocks)
		return -EUCLEAN;
	if ((what & NL_SPLIT_NEWEST) == NL_SPLIT_BLOCK) {
		nl_flash_recall(ftl->flash, block, value);
		return 0;
	}
	if (value > seq)
		return -EUCLEAN;
	ftl->blocks.bk[block].newest = seq - value;
	return 0;
}

static int nl_split_apply_all(struct nl_page_ftl *f, void *page, u32 n)
{
	u32 room = nl_split_room(f->ftl.geo), first = n * room, i;
	const struct nl_split_page *head = page;
	u32 words = le32_to_cpu(head->words);
	u32 bits = nl_split_bits(f->ftl.geo, f->ftl.logical_pages);
	int r = 0;

	if (words != min(room, bits - first))
		return -EUCLEAN;
	for (i = 0; i < words && !r; i++)
		r = nl_split_set(f, head, nl_split_what(&f->ftl, first + i),
				 le32_to_cpu(nl_split_words(page)[i]));
	return r;
}

static int nl_split_apply_part(struct nl_page_ftl *f, void *page)
{
	const struct nl_split_page *head = page;
	const __le32 *word = nl_split_words(page);
	u32 i;
	int r = 0;

	for (i = 0; i < le32_to_cpu(head->words) && !r; i += 2)
		r = nl_split_set(f, head, le32_to_cpu(word[i]), le32_to_cpu(word[i + 1]));
	return r;
}

/* Page @n, of a commit that is there as a whole or of what comes before them all. */
static int nl_split_apply(struct nl_split_find *find, u32 n)
{
	struct nl_page_ftl *f = find->f;
	const struct nl_split_page *head;
	struct nl_buf *buf;
	int r = nl_split_read(find, n, &buf);

	if (r <= 0)
		return r < 0 ? r : -EIO;
	head = nl_buf_data(buf);
	f->ftl.seq = max_t(u64, f->ftl.seq, le64_to_cpu(head->seq));
	r = n < f->split->pages ? nl_split_apply_all(f, nl_buf_data(buf), n) :
				  nl_split_apply_part(f, nl_buf_data(buf));
	nl_buf_put(buf);
	return r;
}

/* Pages of the commit that begins at @n; 0 if it is not there as a whole. */
static int nl_split_parts(struct nl_split_find *find, u32 n)
{
	const struct nl_split *s = find->f->split;
	const struct nl_split_page *head;
	u32 part, parts = 1;
	struct nl_buf *buf;
	bool fits;
	int r;

	for (part = 0; part < parts; part++) {
		if (n + part >= s->gen.index)
			return 0;
		r = nl_split_read(find, n + part, &buf);
		if (r <= 0)
			return r < 0 ? r : -EIO;
		head = nl_buf_data(buf);
		if (!part)
			parts = le32_to_cpu(head->parts);
		fits = le32_to_cpu(head->part) == part && le32_to_cpu(head->parts) == parts;
		nl_buf_put(buf);
		if (!fits)
			return -EIO;
	}
	return parts;
}

static int nl_split_load(struct nl_split_find *find)
{
	const struct nl_split *s = find->f->split;
	int r = 0, parts;
	u32 n, end;

	for (n = 0; n < s->pages && !r; n++)
		r = nl_split_apply(find, n);
	while (!r && n < s->gen.index) {
		parts = nl_split_parts(find, n);
		if (parts <= 0)
			return parts;
		for (end = n + parts; n < end && !r; n++)
			r = nl_split_apply(find, n);
	}
	return r;
}

/* No metadata: then nothing may be there that metadata could be of. */
static int nl_split_fresh(struct nl_split_find *find)
{
	return find->later || find->data ? -EIO : nl_split_gather(find, 0);
}

/* The newest generation that counts, 1; 0 if there is none. */
static int nl_split_newest(struct nl_split_find *find)
{
	struct nl_split *s = find->f->split;
	u64 below = U64_MAX, number;
	u32 i;
	int r;

	for (;;) {
		number = 0;
		for (i = 0; i < s->have; i++)
			if (find->number[i] < below)
				number = max(number, find->number[i]);
		if (!number)
			return 0;
		r = nl_split_gather(find, number);
		if (!r)
			r = nl_split_measure(find);
		if (r)
			return r;
		below = number;
	}
}

static int nl_split_live(struct nl_page_ftl *f)
{
	struct nl_ftl *ftl = &f->ftl;
	u32 i, ppn;

	for (i = 0; i < ftl->logical_pages; i++) {
		ppn = f->map[i];
		if (ppn == NL_UNMAPPED)
			continue;
		if (ftl->blocks.bk[nl_block_of(ftl->geo, ppn)].use != NL_USE_HELD ||
		    nl_page_is_live(ftl, ppn))
			return -EUCLEAN;
		nl_page_live(ftl, ppn);
		f->mapped++;
	}
	return 0;
}

/* None goes on to be filled: the page after the last one may be torn and only look erased. */
static void nl_split_place(struct nl_page_ftl *f)
{
	struct nl_ftl *ftl = &f->ftl;
	struct nl_bk *bk;
	u32 i;

	ftl->blocks.erases = 0;
	for (i = 0; i < ftl->geo->nr_blocks; i++) {
		bk = &ftl->blocks.bk[i];
		if (bk->use != NL_USE_BAD)
			ftl->blocks.erases += nl_flash_erases(ftl->flash, i);
		if (bk->use != NL_USE_HELD)
			continue;
		if (bk->live) {
			bk->fill = ftl->geo->pages;
			f->split->committed[i] = ftl->geo->pages;
			nl_block_close(ftl, i);
		} else {
			bk->flags |= NL_DIRTY;
			nl_block_free(ftl, i);
		}
	}
	nl_split_fill(f);
	f->split->rotated = 0;
}

static int nl_split_start(struct nl_split_find *find)
{
	u64 when;
	int r = nl_split_survey(find);

	if (!r)
		r = nl_split_newest(find);
	if (r < 0)
		return r;
	r = r ? nl_split_load(find) : nl_split_fresh(find);
	if (!r)
		r = nl_split_live(find->f);
	if (r)
		return r;
	nl_split_place(find->f);
	when = find->io->done;
	r = nl_split_commit(find->f, &when);
	nl_io_wait(find->io, when);
	return r;
}

int nl_split_recover(struct nl_page_ftl *f, struct nl_io *io)
{
	struct nl_split_find find = { .f = f, .io = io };
	int r = -ENOMEM;

	find.number = kvcalloc(f->split->nr, sizeof(*find.number), NL_GFP_IO);
	find.place = kvcalloc(f->split->nr, sizeof(*find.place), NL_GFP_IO);
	if (find.number && find.place)
		r = nl_split_start(&find);
	kvfree(find.number);
	kvfree(find.place);
	return r;
}
