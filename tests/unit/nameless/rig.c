// SPDX-License-Identifier: GPL-2.0-only
#include <linux/slab.h>
#include "../ktap.h"
#include "rig.h"
#include "raw.h"

struct stamp {
	u64 lpn;
	u32 version;
	u32 check;
};

u32 rig_map_chunks, rig_map_entries;
bool rig_across;

static int across_read(void *raw, u32 ppn, enum nl_cause cause, u64 now, u64 *when,
		       struct nl_buf **buf, void *oob)
{
	return nl_raw_read(raw, ppn, cause, now, when, buf, oob);
}

static int across_program(void *raw, u32 ppn, enum nl_cause cause, u64 now, u64 *when,
			  struct nl_buf *buf, const void *oob)
{
	return nl_raw_program(raw, ppn, cause, now, when, buf, oob);
}

static int across_erase(void *raw, u32 block, enum nl_cause cause, u64 now, u64 *when)
{
	return nl_raw_erase(raw, block, cause, now, when);
}

static int across_mark_bad(void *raw, u32 block)
{
	return nl_raw_mark_bad(raw, block);
}

static bool across_is_bad(void *raw, u32 block)
{
	return nl_raw_is_bad(raw, block);
}

static bool across_peek(void *raw, u32 ppn, void *oob)
{
	return nl_raw_peek(raw, ppn, oob);
}

static const struct nl_raw_ops across = {
	.read = across_read, .program = across_program, .erase = across_erase,
	.mark_bad = across_mark_bad, .is_bad = across_is_bad, .peek = across_peek,
};

struct nl_config rig_tiny(enum nl_ftl_kind kind, u32 planes, u32 pages_per_block, u32 pages,
			  u32 spare)
{
	struct nl_config config = { .p = {
		[NL_P_PACKAGES] = planes, [NL_P_DIES] = 1, [NL_P_PLANES] = 1,
		[NL_P_PAGES] = pages_per_block, [NL_P_PAGE_SIZE] = 512, [NL_P_OOB_SIZE] = 64,
		[NL_P_READ] = 25000, [NL_P_PROGRAM] = 200000, [NL_P_ERASE] = 1500000,
		[NL_P_BUS_CONTROL] = 2000, [NL_P_BUS_DATA] = 10000,
		[NL_P_RAM] = 1000, [NL_P_REGISTER] = 1000,
		[NL_P_FTL] = kind, [NL_P_LOG] = 50,
		[NL_P_MAP_CACHE] = rig_map_chunks * rig_map_entries * sizeof(u32),
	}, .map_entries = rig_map_entries };

	CHECK(!nl_config_fit(&config, pages));
	config.p[NL_P_BLOCKS] += spare;
	return config;
}

void rig_init(struct rig *rig, const struct nl_config *config, u32 pages, u64 seed)
{
	memset(rig, 0, sizeof(*rig));
	rig->config = *config;
	rig->pages = pages;
	rig->random = seed;
	rig->page = calloc(pages, sizeof(*rig->page));
	CHECK(!nl_flash_create(&rig->flash, config));
	if (rig_across)
		CHECK(!nl_port_create(&rig->port, config, &across, &rig->flash));
}

void rig_destroy(struct rig *rig)
{
	if (rig->ftl)
		nl_ftl_destroy(rig->ftl);
	if (rig->port.raw)
		nl_flash_destroy(&rig->port);
	nl_flash_destroy(&rig->flash);
	free(rig->page);
}

u64 rig_random(struct rig *rig, u64 below)
{
	u64 z = rig->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return ((z ^ (z >> 31)) >> 11) % below;
}

int rig_open(struct rig *rig)
{
	struct nl_io io = { .now = rig->now };
	struct nl_flash *flash = rig->port.raw ? &rig->port : &rig->flash;
	int r;

	if (rig->port.raw)
		nl_flash_power_on(flash);	/* the host knows nothing */
	r = nl_ftl_open(&rig->ftl, flash, &rig->config, rig->pages, &io);

	if (r)
		rig->ftl = NULL;
	return r;
}

static u32 rig_latest(const struct rig_page *page)
{
	return page->nr ? page->since[page->nr - 1] : page->flushed;
}

static void rig_add(struct rig_page *page, u32 version)
{
	if (rig_latest(page) == version)
		return;
	CHECK(page->nr < RIG_SINCE);
	page->since[page->nr++] = version;
}

static void rig_lasts(struct rig_page *page, u32 version)
{
	page->flushed = version;
	page->nr = 0;
}

static struct nl_buf *rig_buf(struct rig *rig, u32 lpn, u32 version)
{
	struct nl_buf *buf = nl_buf_alloc(rig->config.p[NL_P_PAGE_SIZE], rig->flash.nowait);
	struct stamp *stamp = nl_buf_data(buf);

	memset(stamp, version, rig->config.p[NL_P_PAGE_SIZE]);
	stamp->lpn = lpn;
	stamp->version = version;
	stamp->check = ~version;
	return buf;
}

/* The version that a page reads as; ~0 if that is no version of it. */
static u32 rig_look(struct rig *rig, u32 lpn, int *result)
{
	struct nl_io io = { .now = rig->now };
	const struct stamp *stamp;
	struct nl_buf *buf = NULL;
	u32 version = ~0u;

	*result = nl_ftl_read(rig->ftl, lpn, &buf, &io);
	if (*result)
		return ~0u;
	if (!buf)
		return 0;
	stamp = nl_buf_data(buf);
	if (stamp->lpn == lpn && stamp->check == ~stamp->version)
		version = stamp->version;
	nl_buf_put(buf);
	return version;
}

bool rig_is_own(struct rig *rig, u32 lpn)
{
	int r;
	u32 version = rig_look(rig, lpn, &r);

	return r == -EIO || (!r && version != ~0u);
}

/* A write that failed may be there: it was programmed, and what says so was not. */
static bool rig_shows(struct rig *rig, u32 lpn, u32 version)
{
	int r;

	return rig->config.p[NL_P_FTL] == NL_FTL_SPLIT && rig_look(rig, lpn, &r) == version;
}

static bool rig_lasts_at_once(const struct rig *rig)
{
	return !rig->config.p[NL_P_BUFFER] && rig->config.p[NL_P_FTL] != NL_FTL_SPLIT;
}

int rig_write(struct rig *rig, u32 lpn, u32 flags)
{
	struct nl_io io = { .now = ++rig->now };
	u32 version = ++rig->version;
	struct nl_buf *buf = rig_buf(rig, lpn, version);
	int r = nl_ftl_write(rig->ftl, lpn, buf, flags, &io);

	nl_buf_put(buf);
	if (!r || r == -ESHUTDOWN || rig_shows(rig, lpn, version))
		rig_add(&rig->page[lpn], version);
	if (!r && (rig_lasts_at_once(rig) || flags == NL_FUA))
		rig_lasts(&rig->page[lpn], version);
	CHECK(r || io.done >= io.now);
	return r;
}

int rig_trim(struct rig *rig, u32 lpn, u32 count)
{
	struct nl_io io = { .now = ++rig->now };
	int r = nl_ftl_trim(rig->ftl, lpn, count, &io);

	for (; !r && count; count--)
		rig_add(&rig->page[lpn++], 0);
	return r;
}

int rig_flush(struct rig *rig)
{
	struct nl_io io = { .now = ++rig->now };
	int r = nl_ftl_flush(rig->ftl, &io);
	u32 i;

	for (i = 0; i < rig->pages && !r; i++)
		rig_lasts(&rig->page[i], rig_latest(&rig->page[i]));
	return r;
}

bool rig_read(struct rig *rig, u32 lpn)
{
	int r;
	u32 version = rig_look(rig, lpn, &r);

	if (r == -ESHUTDOWN)
		return true;
	return CHECK(!r && version == rig_latest(&rig->page[lpn]),
		     "page %u: %d, version %u, not %u", lpn, r, version,
		     rig_latest(&rig->page[lpn]));
}

static void rig_report(void *ctx, const char *text)
{
	ktap_note("%s", text);
}

bool rig_check(struct rig *rig)
{
	CHECK(!rig->flash.refused, "%llu refused", (unsigned long long)rig->flash.refused);
	return CHECK(!nl_ftl_check(rig->ftl, rig_report, NULL));
}

bool rig_verify(struct rig *rig)
{
	bool ok = rig_check(rig);
	u32 i;

	for (i = 0; i < rig->pages && ok; i++)
		ok = rig_read(rig, i);
	return ok;
}

/* What is read after a cut: one of those that are allowed, and it is so for good. */
bool rig_settle(struct rig *rig, u32 lpn)
{
	struct rig_page *page = &rig->page[lpn];
	int r;
	u32 version = rig_look(rig, lpn, &r), i;
	bool allowed = !r && version == page->flushed;

	for (i = 0; i < page->nr && !r; i++)
		allowed |= version == page->since[i];
	if (!CHECK(allowed, "page %u: %d, version %u; flushed %u, %u since, last %u", lpn, r,
		   version, page->flushed, page->nr, rig_latest(page)))
		return false;
	rig_lasts(page, version);
	return true;
}

int rig_power_cycle(struct rig *rig, u64 cut, enum nl_tear tear)
{
	int r;

	nl_flash_power_off(&rig->flash);
	if (rig->ftl)
		nl_ftl_destroy(rig->ftl);
	rig->ftl = NULL;
	nl_flash_power_on(&rig->flash);
	nl_flash_cut(&rig->flash, cut, tear);
	r = rig_open(rig);
	nl_flash_power_on(&rig->flash);
	return r == -ESHUTDOWN ? rig_open(rig) : r;
}

bool rig_crash(struct rig *rig)
{
	bool ok;
	u32 i;
	int r;

	/* the start is cut, too, at each of its first operations in turn */
	rig->cut_start++;
	r = rig_power_cycle(rig, rig->cut_start % 5, rig->cut_start % NL_NR_TEARS);
	if (!CHECK(!r, "open after a cut: %d", r))
		return false;
	ok = rig_check(rig);
	for (i = 0; i < rig->pages && ok; i++)
		ok = rig_settle(rig, i);
	return ok;
}

bool rig_restart(struct rig *rig)
{
	struct nl_io io = { .now = ++rig->now };
	int r = nl_ftl_stop(rig->ftl, &io);
	u32 i;

	if (r == -ESHUTDOWN || r == -EROFS)
		return true;
	if (!CHECK(!r, "stop: %d", r))
		return false;
	for (i = 0; i < rig->pages; i++)
		rig_lasts(&rig->page[i], rig_latest(&rig->page[i]));
	nl_ftl_destroy(rig->ftl);
	rig->ftl = NULL;
	r = rig_open(rig);
	if (r == -ESHUTDOWN)
		return true;
	return CHECK(!r, "open after a stop: %d", r) && rig_verify(rig);
}

int rig_step(struct rig *rig)
{
	u32 lpn = rig_random(rig, rig->pages), left = rig->pages - lpn;
	struct nl_io io = { .now = ++rig->now };
	int r;

	switch (rig_random(rig, 20)) {
	case 11:
		if (rig_random(rig, 3 + rig->pages / 100))
			return rig_write(rig, lpn, 0);
		rig_restart(rig);
		return rig->flash.off ? -ESHUTDOWN : 0;
	case 0:
		return rig_trim(rig, lpn, 1 + rig_random(rig, left));
	case 1:
		return rig_trim(rig, lpn, 1);
	case 2:
		return rig_flush(rig);
	case 3:
		r = nl_ftl_gc(rig->ftl, &io);
		return r < 0 ? r : 0;
	case 4:
		rig_read(rig, lpn);
		return 0;
	case 5: case 6:
		return rig_write(rig, lpn, NL_FUA);
	case 7: case 8: case 9:	/* a run of them */
		for (r = 0; lpn < rig->pages && !r && rig_random(rig, 8); lpn++)
			r = rig_write(rig, lpn, 0);
		return r;
	default:
		return rig_write(rig, lpn, 0);
	}
}
