// SPDX-License-Identifier: GPL-2.0-only
/*
 * Raw flash that whoever made it wanted, under the FTL of the host: a used device's metadata, OOB,
 * blocks and marks of bad ones are edited as the input says, with sums that are right where it
 * wants that. The start is refused with an error that says why, or what it gives is consistent: but
 * for pages whose OOB the input had a hand in, nothing is found, and what is written and flushed
 * then is there after a cut. Four bytes say what device, then six each are an edit: what, which
 * page (two bytes), which byte or field, and two to put there.
 */
#include <string.h>
#include <linux/slab.h>

#include "fuzz.h"
#include "ktap.h"
#include "nameless/rig.h"
#include "flash_internal.h"
#include "ftl_page.h"

#define PAGES	60u
#define HEAD	4u
#define EDIT	6u

enum { OOB, OOB_SUMMED, FIELD, WORD, DATA, PLACE, COPY, SPOIL, ERASE, STATE, NR };

/* Something in several generations, with trims, what is not flushed, blocks that failed. */
static void use(struct rig *rig, const uint8_t *in)
{
	struct nl_io io = { .now = 1 };
	uint32_t i;

	for (i = 0; i < 20u + in[1]; i++) {
		if (i == in[2])
			rig->flash.fail_program = 1;
		rig_write(rig, i * 7 % PAGES, i % 5 ? 0 : NL_FUA);
	}
	rig_trim(rig, 3, 5);
	rig_flush(rig);
	for (i = 0; i < in[3] / 2 % 8u; i++)
		rig_write(rig, i, 0);
	if (in[3] & 1)
		nl_ftl_stop(rig->ftl, &io);
	nl_ftl_destroy(rig->ftl);
	rig->ftl = NULL;
}

static uint8_t *oob_of(struct nl_flash *flash, uint32_t ppn)
{
	return flash->block[ppn / flash->geo.pages].oob + ppn % flash->geo.pages * flash->geo.oob_bytes;
}

static bool is_metadata(struct nl_flash *flash, uint32_t ppn)
{
	return nl_flash_peek(flash, ppn) && flash->data[ppn] &&
	       ((struct nl_oob *)oob_of(flash, ppn))->type == NL_OOB_SPLIT;
}

/* One of the metadata's pages, or any if there are none or the input says so. */
static uint32_t page_of(struct nl_flash *flash, uint32_t where)
{
	uint32_t nr = 0, i;

	for (i = 0; i < flash->geo.nr_pages; i++)
		nr += is_metadata(flash, i);
	if (!nr || where >= 0xc000)
		return where % flash->geo.nr_pages;
	where %= nr;
	for (i = 0; !is_metadata(flash, i) || where--; i++)
		;
	return i;
}

/* Copies share a buffer. */
static void *own_data(struct nl_flash *flash, uint32_t ppn)
{
	struct nl_buf *buf = nl_buf_alloc(flash->geo.page_bytes, false);

	memcpy(nl_buf_data(buf), nl_buf_data(flash->data[ppn]), flash->geo.page_bytes);
	nl_buf_put(flash->data[ppn]);
	flash->data[ppn] = buf;
	return nl_buf_data(buf);
}

static void sum_oob(void *to)
{
	struct nl_oob *oob = to;

	oob->csum = 0;
	oob->csum = cpu_to_le32(~crc32c(~0, oob, sizeof(*oob)));
}

static void sum_page(struct nl_flash *flash, void *to)
{
	struct nl_split_page *head = to;

	head->csum = 0;
	head->csum = cpu_to_le32(~crc32c(~0, to, flash->geo.page_bytes));
}

/* Numbers that decoders get wrong, and small ones. */
static uint64_t odd(const uint8_t *in)
{
	unsigned int state = in[4];

	return in[5] & 0x80 ? fuzz_odd(&state) : in[4] | (in[5] & 0x7f) << 8;
}

static void edit_field(struct nl_split_page *head, uint8_t field, uint64_t to)
{
	__le64 *wide[] = { &head->gen, &head->seq };
	__le32 *narrow[] = { &head->version, &head->index, &head->pages, &head->part, &head->parts, &head->words,
			     &head->nr_blocks, &head->flags };

	field %= ARRAY_SIZE(wide) + ARRAY_SIZE(narrow);
	if (field < ARRAY_SIZE(wide))
		*wide[field] = cpu_to_le64(to);
	else
		*narrow[field - ARRAY_SIZE(wide)] = cpu_to_le32(to);
}

/* Page and OOB say that it is elsewhere: of another generation, or in another place of it. */
static void edit_place(struct nl_split_page *head, struct nl_oob *oob, uint8_t how, uint64_t to)
{
	if (how & 1) {
		head->index = cpu_to_le32(to);
		oob->lpn = cpu_to_le64((uint32_t)to);
	} else {
		to = how & 2 ? le64_to_cpu(head->gen) + (int8_t)to : to;
		head->gen = cpu_to_le64(to);
		oob->seq = cpu_to_le64(to);
	}
	sum_oob(oob);
}

static void edit_data(struct nl_flash *flash, uint32_t ppn, const uint8_t *in)
{
	void *page = own_data(flash, ppn);
	uint8_t *byte = page;

	switch (in[0] % NR) {
	case FIELD:
		edit_field(page, in[3], odd(in));
		break;
	case WORD:
		nl_split_words(page)[in[3] % nl_split_room(&flash->geo)] = cpu_to_le32(odd(in));
		break;
	case PLACE:
		edit_place(page, (struct nl_oob *)oob_of(flash, ppn), in[3], odd(in));
		break;
	default:
		byte[(in[3] | in[5] << 8) % flash->geo.page_bytes] = in[4];
		return;		/* with a sum that is wrong */
	}
	sum_page(flash, page);
}

static void spoil(struct nl_flash *flash, uint32_t ppn, bool blank)
{
	if (flash->data[ppn]) {
		nl_buf_put(flash->data[ppn]);
		flash->stored--;
	}
	flash->data[ppn] = blank ? NL_PAGE_BLANK : NL_PAGE_ERROR;
}

/* A page that was there once is there again. */
static void copy(struct nl_flash *flash, uint32_t from, uint32_t to)
{
	if (from == to || !nl_flash_peek(flash, to))
		return;
	nl_buf_put(flash->data[to]);
	flash->stored += !flash->data[to];
	flash->data[to] = flash->data[from];
	nl_buf_get(flash->data[to]);
	memcpy(oob_of(flash, to), oob_of(flash, from), flash->geo.oob_bytes);
}

static void edit(struct nl_flash *flash, const uint8_t *in)
{
	uint32_t ppn = page_of(flash, in[1] | in[2] << 8);
	uint8_t what = in[0] % NR;
	u64 when = 0;

	if (what == STATE || what == ERASE) {
		if (what == STATE)
			flash->block[ppn / flash->geo.pages].state ^= NL_BLOCK_BAD;
		else if (!nl_flash_is_bad(flash, ppn / flash->geo.pages))
			nl_flash_erase(flash, ppn / flash->geo.pages, NL_FOR_HOST, &when);
		return;
	}
	if (!nl_flash_peek(flash, ppn))
		return;
	switch (what) {
	case OOB:
	case OOB_SUMMED:
		oob_of(flash, ppn)[in[3] % NL_OOB_BYTES] = in[4];
		if (what == OOB_SUMMED)
			sum_oob(oob_of(flash, ppn));
		break;
	case COPY:
		if (flash->data[ppn])
			copy(flash, ppn, page_of(flash, in[4] | in[5] << 8));
		break;
	case SPOIL:
		spoil(flash, ppn, in[4] & 1);
		break;
	default:
		if (flash->data[ppn])
			edit_data(flash, ppn, in);
	}
}

/* Whose a page is its OOB says, and that the input may have written. */
static void report(void *ctx, const char *text)
{
	MUST(strstr(text, "has no record") || strstr(text, " is type "), "%s", text);
}

static bool why(int r)
{
	return r == -EIO || r == -EMEDIUMTYPE || r == -EUCLEAN || r == -EROFS;
}

/* 0 when all pages were written, and flushed. */
static int overwrite(struct rig *rig)
{
	uint32_t i;
	int r = 0;

	for (i = 0; i < 3 * PAGES && !r; i++)
		r = rig_write(rig, i * 11 % PAGES, 0);
	r = r ? r : rig_flush(rig);
	MUST(!r || why(r), "%d", r);
	return r;
}

static void try(struct rig *rig)
{
	struct nl_io io = { .now = 5 };
	struct nl_buf *buf;
	uint32_t i;
	int r;

	nl_ftl_check(rig->ftl, report, NULL);
	for (i = 0; i < PAGES; i++) {
		r = nl_ftl_read(rig->ftl, i, &buf, &io);
		MUST(!r || r == -EIO, "%d", r);
		if (!r)
			nl_buf_put(buf);
	}
	r = nl_ftl_gc(rig->ftl, &io);
	MUST(r >= 0 || why(r), "%d", r);
	r = overwrite(rig);
	nl_ftl_check(rig->ftl, report, NULL);
	if (!r)
		MUST(rig_verify(rig) && rig_crash(rig));
	MUST(!rig->port.violations && !rig->flash.violations && !rig->flash.refused);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nl_config config;
	struct rig rig;
	size_t i;
	int r;

	if (size < HEAD)
		return 0;
	rig_across = true;
	config = rig_tiny(NL_FTL_SPLIT, 1 + data[0] % 3, 4 + data[0] / 4 % 4, PAGES, 4 + data[0] / 16 % 8);
	rig_init(&rig, &config, PAGES, 1);
	MUST(!rig_open(&rig));
	use(&rig, data);
	rig.flash.fail_program = 0;
	for (i = HEAD; i + EDIT <= size; i += EDIT)
		edit(&rig.flash, &data[i]);
	r = rig_open(&rig);
	MUST(!r || why(r), "%d", r);
	if (!r)
		try(&rig);
	rig_destroy(&rig);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	size_t i, size = HEAD + EDIT * (nr / NR);
	unsigned int state = nr + 1;

	if (nr >= 4 * NR)
		return 0;
	for (i = 0; i < size; i++)
		data[i] = fuzz_random(&state, 256);
	for (i = HEAD; i < size; i += EDIT)
		data[i] = nr;
	data[3] = nr;
	return size;
}
