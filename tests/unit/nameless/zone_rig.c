// SPDX-License-Identifier: GPL-2.0-only
/* See zone_rig.h. */
#include "zone_rig.h"

struct stamp {
	u32 lpn;
	u32 generation;
	u32 check;
};

struct nl_config zrig_config(u32 planes, u32 pages, u32 blocks, u32 zones, u32 spare)
{
	struct nl_config config = { .p = {
		[NL_P_PACKAGES] = planes, [NL_P_DIES] = 1, [NL_P_PLANES] = 1,
		[NL_P_PAGES] = pages, [NL_P_PAGE_SIZE] = 512, [NL_P_OOB_SIZE] = 64,
		[NL_P_READ] = 25000, [NL_P_PROGRAM] = 200000, [NL_P_ERASE] = 1500000,
		[NL_P_BUS_CONTROL] = 2000, [NL_P_BUS_DATA] = 10000,
		[NL_P_RAM] = 1000, [NL_P_REGISTER] = 1000,
		[NL_P_LOG] = 50, [NL_P_FTL] = NL_FTL_ZONED, [NL_P_ZONE_BLOCKS] = blocks,
	} };
	struct nl_zone_shape shape;

	CHECK(!nl_zone_shape(&shape, &config));
	CHECK(!nl_config_fit(&config, zones * shape.size));
	config.p[NL_P_BLOCKS] += spare;
	return config;
}

int zrig_open(struct zrig *b)
{
	struct nl_io io = { .now = b->now };
	int r = nl_ftl_open(&b->ftl, &b->flash, &b->config, b->zones * b->shape.size, &io);

	if (r)
		b->ftl = NULL;
	return r;
}

void zrig_init(struct zrig *b, const struct nl_config *config, u32 zones, u64 seed)
{
	memset(b, 0, sizeof(*b));
	b->config = *config;
	b->zones = zones;
	b->random = seed;
	CHECK(zones <= ZRIG_ZONES && !nl_zone_shape(&b->shape, config));
	CHECK(!nl_flash_create(&b->flash, config));
	CHECK(!zrig_open(b));
}

void zrig_destroy(struct zrig *b)
{
	if (b->ftl)
		nl_ftl_destroy(b->ftl);
	nl_flash_destroy(&b->flash);
}

u64 zrig_random(struct zrig *b, u64 below)
{
	u64 z = b->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return ((z ^ (z >> 31)) >> 11) % below;
}

struct nl_zone_info zrig_look(struct zrig *b, u32 zone)
{
	struct nl_zone_info info;

	nl_zone_look(b->ftl, zone, &info);
	return info;
}

static void report(void *ctx, const char *text)
{
	ktap_note("%s", text);
}

/* Pages before the pointer are this generation's, all others zeros. */
static bool zone_reads(struct zrig *b, u32 zone, u32 pointer)
{
	u32 page, lpn = zone * b->shape.size;
	const struct stamp *stamp;
	bool ok = true;

	for (page = 0; page < b->shape.size && ok; page++) {
		struct nl_io io = { .now = b->now };
		struct nl_buf *buf = NULL;
		int r = nl_ftl_read(b->ftl, lpn + page, &buf, &io);

		if (page >= pointer) {
			ok = CHECK(!r && !buf, "zone %u page %u behind %u: %d", zone, page, pointer,
				   r);
		} else if (CHECK(!r && buf, "zone %u page %u before %u: %d", zone, page, pointer,
				 r)) {
			stamp = nl_buf_data(buf);
			ok = CHECK(stamp->lpn == lpn + page &&
				   stamp->generation == b->zone[zone].generation &&
				   stamp->check == ~stamp->lpn,
				   "zone %u page %u has page %u of generation %u, not %u", zone,
				   page, stamp->lpn, stamp->generation,
				   b->zone[zone].generation);
		} else {
			ok = false;
		}
		nl_buf_put(buf);
	}
	return ok;
}

/* What a start found is allowed, and lasts from now on. */
static bool zone_settle(struct zrig *b, u32 zone)
{
	struct nl_zone_info info = zrig_look(b, zone);
	struct zrig_zone *m = &b->zone[zone];
	bool full = info.state == NL_ZONE_FULL;

	if (info.state == NL_ZONE_OFFLINE) {
		*m = (struct zrig_zone){ .generation = m->generation };
		return true;
	}
	if (m->resetting && !info.pointer && !full) {
		*m = (struct zrig_zone){ .generation = m->generation + 1 };
	} else if (info.state != NL_ZONE_READONLY) {
		if (m->finishing && full)
			m->finished = true;
		CHECK(full == (m->finished || info.pointer == b->shape.capacity),
		      "zone %u is %s with %u pages", zone, nl_zone_names[info.state],
		      info.pointer);
	}
	m->resetting = false;
	m->finishing = false;
	if (!CHECK(info.pointer >= m->least && info.pointer <= m->most,
		   "zone %u: pointer %u, not from %u to %u", zone, info.pointer, m->least, m->most))
		return false;
	m->least = info.pointer;
	m->most = info.pointer;
	return zone_reads(b, zone, info.pointer);
}

bool zrig_settle(struct zrig *b)
{
	bool ok = CHECK(!nl_ftl_check(b->ftl, report, NULL));
	u32 zone;

	for (zone = 0; zone < b->zones && ok; zone++)
		ok = zone_settle(b, zone);
	return ok;
}

/* Everything reads as it has to. */
bool zrig_verify(struct zrig *b)
{
	bool ok = CHECK(!nl_ftl_check(b->ftl, report, NULL));
	u32 zone;

	for (zone = 0; zone < b->zones && ok; zone++) {
		struct nl_zone_info info = zrig_look(b, zone);
		struct zrig_zone *m = &b->zone[zone];

		if (info.state == NL_ZONE_OFFLINE) {
			*m = (struct zrig_zone){ .generation = m->generation };
			continue;
		}
		ok = CHECK(info.pointer >= m->least && info.pointer <= m->most) &&
		     zone_reads(b, zone, info.pointer);
	}
	return ok;
}

int zrig_write(struct zrig *b, u32 lpn, u32 flags)
{
	u32 zone = lpn / b->shape.size, page = lpn % b->shape.size;
	struct nl_buf *buf = nl_buf_alloc(b->config.p[NL_P_PAGE_SIZE], false);
	struct nl_io io = { .now = ++b->now };
	struct zrig_zone *m = &b->zone[zone];
	struct stamp *stamp;
	int r;

	stamp = nl_buf_data(buf);
	memset(stamp, 0, b->config.p[NL_P_PAGE_SIZE]);
	*stamp = (struct stamp){ .lpn = lpn, .generation = m->generation, .check = ~lpn };
	r = nl_ftl_write(b->ftl, lpn, buf, flags, &io);
	nl_buf_put(buf);
	if (!r || r == -ESHUTDOWN)
		m->most = max(m->most, page + 1);
	if (!r && (flags & NL_FUA || !b->config.p[NL_P_BUFFER]))
		m->least = page + 1;
	return r;
}

int zrig_append(struct zrig *b, u32 zone, u32 count, u32 flags)
{
	u32 lpn;
	int r = nl_zone_append(b->ftl, zone, count, &lpn);

	for (; !r && count; count--)
		r = zrig_write(b, lpn++, flags);
	return r;
}

int zrig_flush(struct zrig *b)
{
	struct nl_io io = { .now = ++b->now };
	int r = nl_ftl_flush(b->ftl, &io);
	u32 zone;

	for (zone = 0; zone < b->zones && !r; zone++)
		b->zone[zone].least = zrig_look(b, zone).pointer;
	return r;
}

int zrig_manage(struct zrig *b, u32 zone, enum nl_zone_op op)
{
	struct nl_io io = { .now = ++b->now };
	struct zrig_zone *m = &b->zone[zone];
	enum nl_zone_state state = zrig_look(b, zone).state;
	int r;

	r = nl_zone_manage(b->ftl, zone, op, &io);
	if (r == -ESHUTDOWN) {
		m->resetting = op == NL_ZONE_RESET;
		m->finishing = op == NL_ZONE_FINISH;
	} else if (op == NL_ZONE_RESET && state != NL_ZONE_EMPTY && (!r || r == -EIO)) {
		*m = (struct zrig_zone){ .generation = m->generation + 1 };
	} else if (!r && op == NL_ZONE_FINISH) {
		m->least = zrig_look(b, zone).pointer;
		m->finished = m->least < b->shape.capacity;
		m->most = m->least;
	}
	return r;
}

/* Power off and on; the start is cut at its @start-th operation if that is not ~0. */
bool zrig_crash(struct zrig *b, u64 start, enum nl_tear tear)
{
	int r;

	nl_flash_power_off(&b->flash);
	if (b->ftl)
		nl_ftl_destroy(b->ftl);
	b->ftl = NULL;
	nl_flash_power_on(&b->flash);
	if (start != NL_NO_CUT)
		nl_flash_cut(&b->flash, start, tear);
	r = zrig_open(b);
	if (r == -ESHUTDOWN) {
		nl_flash_power_on(&b->flash);
		r = zrig_open(b);
	}
	nl_flash_power_on(&b->flash);
	return CHECK(!r, "open after a cut: %d", r) && zrig_settle(b);
}
