// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <linux/bio.h>
#include <evenkeel/label.h>
#include <evenkeel/scmfs_format.h>
#include <evenkeel/tenant.h>
#include "crash.h"
#include "flush.h"
#include "head.h"
#include "ktap.h"
#include "label.h"
#include "order.h"
#include "store.h"
#include "transfer.h"

/* --- labels ------------------------------------------------------------------------------------ */

static u8 range[M2_HEAD_BYTES] __aligned(64), before[M2_HEAD_BYTES];

static struct m2_label_info sample(void)
{
	struct m2_label_info info = {
		.name = "log", .range_bytes = 512 << 20, .data_offset = 10 << 20,
		.data_bytes = 502 << 20, .ctime = 1700000000,
	};

	memset(info.uuid, 0x17, sizeof(info.uuid));
	return info;
}

static bool same(const struct m2_label_info *a, const struct m2_label_info *b)
{
	return !memcmp(a->uuid, b->uuid, M2_UUID_SIZE) && !strcmp(a->name, b->name) &&
	       a->generation == b->generation && a->range_bytes == b->range_bytes &&
	       a->data_offset == b->data_offset && a->data_bytes == b->data_bytes &&
	       a->ctime == b->ctime && a->flags == b->flags;
}

static void round_trip(void)
{
	struct m2_label_info a = sample(), b;

	memset(range, 0, sizeof(range));
	CHECK(m2_label_read(range, &b) == -ENODATA);
	m2_label_write(range, &a, NULL, NULL);
	CHECK(a.generation == 1 && !m2_label_read(range, &b) && same(&a, &b));
	a.flags = M2_LABEL_FRESH;
	m2_label_write(range, &a, NULL, NULL);
	CHECK(!m2_label_read(range, &b) && same(&a, &b) && b.generation == 2);
}

static void bit_flips(void)
{
	struct m2_label_info a = sample(), b;
	unsigned int i;

	memset(range, 0, sizeof(range));
	m2_label_write(range, &a, NULL, NULL);
	for (i = 0; i < sizeof(struct m2_label) * 8; i++) {
		range[i / 8] ^= 1 << i % 8;
		CHECK(!m2_label_read(range, &b) && same(&a, &b) && b.newest == 1, "bit %u", i);
		range[M2_LABEL_STRIDE + i / 8] ^= 1 << i % 8;
		CHECK(m2_label_read(range, &b) == (i < 64 ? -EINVAL : -EUCLEAN), "bit %u of both", i);
		range[i / 8] ^= 1 << i % 8;
		CHECK(!m2_label_read(range, &b) && b.newest == 0, "bit %u of the second", i);
		range[M2_LABEL_STRIDE + i / 8] ^= 1 << i % 8;
	}
}

static void foreign(void)
{
	struct m2_label_info info;
	unsigned int i;

	memset(range, 0, sizeof(range));
	range[M2_HEAD_BYTES - 1] = 1;
	CHECK(m2_label_read(range, &info) == -EINVAL);
	memset(range, 0, sizeof(range));
	range[1024 + 0x38] = 0x53;	/* ext4 */
	CHECK(m2_label_read(range, &info) == -EINVAL);
	for (i = 0; i < sizeof(range); i++)
		range[i] = get_random_u32();
	CHECK(m2_label_read(range, &info) == -EINVAL);
}

static int with(void (*change)(struct m2_label *))
{
	struct m2_label_info info = sample();
	struct m2_label *label = (struct m2_label *)range;

	memset(range, 0, sizeof(range));
	m2_label_write(range, &info, NULL, NULL);
	memset(range + M2_LABEL_STRIDE, 0, sizeof(*label));
	change(label);
	label->csum = cpu_to_le32(ek_checksum(label, sizeof(*label), &label->csum));
	return m2_label_read(range, &info);
}

static void nothing(struct m2_label *l) { }
static void version(struct m2_label *l) { l->version = cpu_to_le32(2); }
static void incompat(struct m2_label *l) { l->incompat = cpu_to_le64(1); }
static void endless(struct m2_label *l) { memset(l->name, 'x', M2_NAME_SIZE); }
static void nameless(struct m2_label *l) { l->name[0] = 0; }
static void offset(struct m2_label *l) { l->data_offset = l->range_bytes; }
static void early(struct m2_label *l) { l->data_offset = cpu_to_le64(4096); }
static void too_long(struct m2_label *l) { l->data_bytes = cpu_to_le64(503 << 20); }
static void wraps(struct m2_label *l) { l->data_bytes = cpu_to_le64(-4096ULL); }
static void odd(struct m2_label *l) { l->data_bytes = cpu_to_le64(4095); }

static void fields(void)
{
	CHECK(with(nothing) == 0);
	CHECK(with(version) == -EPROTONOSUPPORT);
	CHECK(with(incompat) == -EPROTONOSUPPORT);
	CHECK(with(endless) == -EUCLEAN);
	CHECK(with(nameless) == -EUCLEAN);
	CHECK(with(offset) == -EUCLEAN);
	CHECK(with(early) == -EUCLEAN);
	CHECK(with(too_long) == -EUCLEAN);
	CHECK(with(wraps) == -EUCLEAN);
	CHECK(with(odd) == -EUCLEAN);
}

struct change {
	struct m2_label_info old, new;
	bool blank;		/* there was none before */
	bool seen_old, seen_new;
	u32 last;
};

static void look_label(u8 *now, u32 point, void *arg)
{
	struct change *change = arg;
	struct m2_label_info info;
	int r = m2_label_read(now, &info);

	if (r) {
		CHECK(change->blank && point < change->last, "point %u: error %d", point, r);
		return;
	}
	CHECK(same(&info, &change->new) || (!change->blank && same(&info, &change->old)),
	      "point %u: generation %llu", point, info.generation);
	CHECK(point < change->last || same(&info, &change->new));
	CHECK(m2_head_is_ours(now, &info), "point %u: taken for somebody else's", point);
	change->seen_old |= same(&info, &change->old);
	change->seen_new |= same(&info, &change->new);
}

/* What @change->old is on @before becomes another; the power may go at any time. */
static u64 change_label(struct change *change)
{
	struct scm_log log;
	u64 states;

	memcpy(range, before, sizeof(range));
	change->new = change->old;
	change->new.data_bytes -= 4096;
	crash_log_init(&log, range, sizeof(range), 64, 65536);
	scm_record_start(&log);
	m2_label_write(range, &change->new, NULL, NULL);
	scm_record_stop();
	CHECK(!log.full);
	change->last = log.nr_events;
	states = crash_each(&log, before, 300, look_label, change);
	CHECK(change->seen_new && (change->blank || change->seen_old));
	crash_log_free(&log);
	return states;
}

static void crash_label(void)
{
	struct change change = { .old = sample() };
	unsigned int bad;
	u64 states = 0;

	/* both copies whole, then one of them bad, as the last power cut left it */
	for (bad = 0; bad < 3; bad++) {
		struct m2_label_info info = sample();

		memset(range, 0, sizeof(range));
		m2_label_write(range, &info, NULL, NULL);
		if (bad)
			range[(bad - 1) * M2_LABEL_STRIDE + 100] ^= 1;
		memcpy(before, range, sizeof(range));
		change = (struct change){ .blank = false };
		CHECK(!m2_label_read(before, &change.old));
		states += change_label(&change);
	}
	ktap_note("%llu states", states);
}

/* The generation after the last one is the first: whoever wrote that label, it can be changed. */
static void crash_last(void)
{
	struct change change = { .blank = false };
	struct m2_label_info info = sample();

	memset(range, 0, sizeof(range));
	info.generation = U64_MAX - 1;
	m2_label_write(range, &info, NULL, NULL);
	memcpy(before, range, sizeof(range));
	CHECK(!m2_label_read(before, &change.old) && change.old.generation == U64_MAX);
	change_label(&change);
	CHECK(change.new.generation == 1);
}

static void crash_first(void)
{
	struct change change = { .old = sample(), .blank = true };

	change.old.flags = M2_LABEL_FRESH;	/* as the first one has, until both copies last */
	memset(before, 0, sizeof(before));
	change_label(&change);
}

/* Settles so many times, and what was settled is kept in @before. */
static int settle(void *left)
{
	if (!(*(unsigned int *)left)--)
		return -EIO;
	memcpy(before, range, sizeof(range));
	return 0;
}

static void look_whole(u8 *now, u32 point, void *arg)
{
	struct m2_label_info info;

	CHECK(!m2_label_read(now, &info), "%u settled, point %u", *(unsigned int *)arg, point);
}

static void says(const struct m2_label_info *info, u64 bytes, const char *name)
{
	struct m2_label_info found;

	CHECK(!m2_label_read(range, &found) && found.data_bytes == bytes &&
	      !strcmp(found.name, name));
	CHECK(found.generation == info->generation);
}

/* A change that failed is none, for whoever looks next; one whose first copy is durable is. */
static void failed_change(void)
{
	struct m2_label_info info = sample(), other;
	u64 bytes = info.data_bytes;
	unsigned int left = 0;

	memset(range, 0, sizeof(range));
	CHECK(m2_label_write(range, &info, settle, &left) == -EIO);
	CHECK(m2_label_read(range, &other) == -ENODATA, "the first label of all");
	CHECK(!m2_label_write(range, &info, NULL, NULL));
	left = 0;
	info.data_bytes = bytes / 2 & ~4095ULL;
	CHECK(m2_label_write(range, &info, settle, &left) == -EIO);
	says(&info, bytes, "log");
	/* Over another device's label */
	other = info;
	strcpy(other.name, "new");
	left = 0;
	CHECK(m2_label_write(range, &other, settle, &left) == -EIO);
	says(&other, bytes, "log");
	info.generation = other.generation;
	left = 1;
	CHECK(!m2_label_write(range, &info, settle, &left));
	says(&info, info.data_bytes, "log");
}

/* The change after one of which only @settled copies were made durable; the rest may be torn. */
static void change_after_failure(unsigned int settled)
{
	struct m2_label_info info = sample();
	unsigned int left = settled, i;
	struct scm_log log;

	memset(range, 0, sizeof(range));
	CHECK(!m2_label_write(range, &info, NULL, NULL));
	memcpy(before, range, sizeof(range));
	CHECK(m2_label_write(range, &info, settle, &left) == (settled ? 0 : -EIO));
	for (i = 0; i < sizeof(range); i += M2_LABEL_STRIDE)
		if (memcmp(before + i, range + i, sizeof(struct m2_label)))
			before[i + 100] ^= 1;
	crash_log_init(&log, range, sizeof(range), 64, 65536);
	scm_record_start(&log);
	CHECK(!m2_label_write(range, &info, NULL, NULL));
	scm_record_stop();
	CHECK(!log.full);
	crash_each(&log, before, 300, look_whole, &settled);
	crash_log_free(&log);
}

static void failed_settle(void)
{
	change_after_failure(0);
	change_after_failure(1);
}

/* --- how a range becomes a device, and grows --------------------------------------------------- */

#define BEGIN	M2_HEAD_BYTES
#define PAGES	3
#define FOREIGN	0xa5

static u8 place[BEGIN + PAGES * 4096] __aligned(64), place_before[sizeof(place)];

/* What is done to @place, where only the first @settles settle anything. */
struct doing {
	struct m2_label_info label;
	unsigned int settles, settled;
	struct scm_log *log;
};

static int do_settle(void *ctx)
{
	struct doing *doing = ctx;

	if (doing->settled == doing->settles)
		return -EIO;
	doing->settled++;
	return 0;
}

static int do_write(void *ctx)
{
	struct doing *doing = ctx;

	return m2_label_write(place, &doing->label, do_settle, doing);
}

static int do_zero(void *ctx, u64 from, u64 to)
{
	void *unit = place;
	struct m2_store all = { .unit = &unit, .persistent = true };

	m2_store_init(&all, sizeof(place), sizeof(place));
	m2_store_clear(&all, from, to - from);
	return 0;
}

static struct m2_means means(struct doing *doing)
{
	return (struct m2_means){
		.write = do_write, .zero = do_zero, .settle = do_settle, .ctx = doing,
	};
}

static bool is_zero(const u8 *now, u64 from, u64 to)
{
	return from == to || !memchr_inv(now + from, 0, to - from);
}

/* Where a whole device is found, there is nothing of before, neither in it nor around it. */
static bool nothing_of_before(const u8 *now, const struct m2_label_info *found)
{
	u64 len = sizeof(struct m2_label), begin = found->data_offset;

	return is_zero(now, len, M2_LABEL_STRIDE) && is_zero(now, M2_LABEL_STRIDE + len, begin) &&
	       is_zero(now, begin, begin + found->data_bytes);
}

enum seen { BEFORE, UNFINISHED, WHOLE };

static enum seen look_at(const u8 *now)
{
	struct m2_label_info found;

	if (m2_label_read(now, &found) || strcmp(found.name, "log"))
		return BEFORE;
	return found.flags & M2_LABEL_FRESH ? UNFINISHED : WHOLE;
}

struct making {
	bool seen[WHOLE + 1];
	u32 head, last;		/* events of the label and all, of all */
};

static void look_made(u8 *now, u32 point, void *arg)
{
	struct m2_label_info found;
	struct making *making = arg;
	enum seen seen = look_at(now);

	making->seen[seen] = true;
	if (seen == WHOLE && !m2_label_read(now, &found))
		CHECK(nothing_of_before(now, &found) && m2_head_is_ours(now, &found),
		      "point %u", point);
	CHECK(point < making->head || seen != BEFORE, "point %u: no label", point);
	CHECK(point < making->last || seen == WHOLE, "point %u: not finished", point);
}

static struct m2_label_info small(const char *name, u64 bytes)
{
	struct m2_label_info info = sample();

	strcpy(info.name, name);
	info.range_bytes = sizeof(place);
	info.data_offset = BEGIN;
	info.data_bytes = bytes;
	return info;
}

/* Another device, all of which was written to. */
static void make_before(void)
{
	struct m2_label_info old = small("old", PAGES * 4096);

	memset(place, FOREIGN, sizeof(place));
	CHECK(!m2_label_write(place, &old, NULL, NULL));
	memcpy(place_before, place, sizeof(place));
}

/* All of create, over a device of before, as @doing lets it. */
static int make(struct doing *doing, struct making *making)
{
	struct m2_means by = means(doing);
	struct m2_label_info old;
	int err;

	CHECK(!m2_label_read(place, &old));
	doing->label = small("log", PAGES * 4096);
	doing->label.generation = old.generation;
	doing->label.newest = old.newest;
	doing->label.flags = M2_LABEL_FRESH;
	err = m2_order_head(&by, &doing->label);
	if (making)
		making->head = doing->log->nr_events;
	return err ?: m2_order_data(&by, &doing->label);
}

static void crash_create(void)
{
	struct making making = {};
	struct scm_log log;
	struct doing doing = { .settles = UINT_MAX, .log = &log };
	u64 states;

	make_before();
	crash_log_init(&log, place, sizeof(place), 4096, 1 << 20);
	scm_record_start(&log);
	CHECK(!make(&doing, &making));
	scm_record_stop();
	CHECK(!log.full && !(doing.label.flags & M2_LABEL_FRESH));
	making.last = log.nr_events;
	states = crash_some(&log, place_before, 0, 400, look_made, &making);
	CHECK(making.seen[BEFORE] && making.seen[UNFINISHED] && making.seen[WHOLE]);
	ktap_note("%llu states", states);
	crash_log_free(&log);
}

/*
 * Each settle in turn is the first that fails.  The memory has all that was stored; without a
 * whole device in it, what is there is whose it was, or to be begun anew.
 */
static void create_fails(void)
{
	struct m2_label_info found;
	struct doing doing;
	unsigned int n;
	int err;

	for (n = 0; ; n++) {
		doing = (struct doing){ .settles = n };
		make_before();
		err = make(&doing, NULL);
		if (!err)
			break;
		CHECK(err == -EIO, "settle %u: %d", n, err);
		CHECK(doing.label.flags & M2_LABEL_FRESH);
		CHECK(look_at(place) == (n ? UNFINISHED : BEFORE), "settle %u", n);
		CHECK(n || (!m2_label_read(place, &found) && !strcmp(found.name, "old") &&
			    place[BEGIN] == FOREIGN));
	}
	/* the label, both copies of which needn't, the head, the data, the label */
	CHECK(n >= 4, "%u", n);
	CHECK(!m2_label_read(place, &found) && nothing_of_before(place, &found) &&
	      m2_head_is_ours(place, &found));
}

struct growing {
	u32 last;
	bool seen_old, seen_new;
};

static void look_grown(u8 *now, u32 point, void *arg)
{
	struct growing *growing = arg;
	struct m2_label_info found;

	CHECK(!m2_label_read(now, &found) && !strcmp(found.name, "log"), "point %u", point);
	CHECK(m2_head_is_ours(now, &found), "point %u: taken for somebody else's", point);
	CHECK(now[BEGIN] == 1 && now[BEGIN + 4095] == 1, "point %u: what was written", point);
	if (found.data_bytes == 4096) {
		growing->seen_old = true;
		CHECK(point < growing->last);
		return;
	}
	growing->seen_new = true;
	CHECK(found.data_bytes == PAGES * 4096, "point %u", point);
	CHECK(is_zero(now, BEGIN + 4096, BEGIN + found.data_bytes), "point %u", point);
}

/* A device of a page; behind its end is what was there before it shrank. */
static void make_small(struct doing *doing)
{
	memset(place, 0, sizeof(place));
	memset(place + BEGIN, 1, PAGES * 4096);
	doing->label = small("log", 4096);
	CHECK(!m2_label_write(place, &doing->label, NULL, NULL));
	memcpy(place_before, place, sizeof(place));
}

static void crash_grow(void)
{
	struct growing growing = {};
	struct doing doing = { .settles = UINT_MAX };
	struct m2_means by = means(&doing);
	struct scm_log log;

	make_small(&doing);
	crash_log_init(&log, place, sizeof(place), 4096, 1 << 20);
	scm_record_start(&log);
	CHECK(!m2_order_resize(&by, &doing.label, PAGES * 4096));
	scm_record_stop();
	CHECK(!log.full);
	growing.last = log.nr_events;
	crash_some(&log, place_before, 0, 400, look_grown, &growing);
	CHECK(growing.seen_old && growing.seen_new);
	crash_log_free(&log);
}

static void grow_fails(void)
{
	struct growing growing = { .last = 1 };
	struct m2_means by;
	struct doing doing;
	unsigned int n;

	for (n = 0; n < 2; n++) {
		doing = (struct doing){ .settles = n };
		by = means(&doing);
		make_small(&doing);
		CHECK(m2_order_resize(&by, &doing.label, PAGES * 4096) == -EIO, "settle %u", n);
		CHECK(doing.label.data_bytes == 4096);
		look_grown(place, 0, &growing);
		CHECK(!growing.seen_new);
	}
	doing.settles = UINT_MAX;
	CHECK(!m2_order_resize(&by, &doing.label, PAGES * 4096));
	look_grown(place, 1, &growing);
	CHECK(growing.seen_new);
	CHECK(!m2_order_resize(&by, &doing.label, 4096));
	CHECK(doing.label.data_bytes == 4096 && place[BEGIN] == 1);
}

/* --- flushes that are done together ------------------------------------------------------------ */

#define MOST	4

/* What happened, in order: f a flush, F one that failed, a b ... a transfer, A B ... an end. */
struct beneath {
	char said[64];
	unsigned int fails;	/* which flush does, from 1 on */
	unsigned int flushes;
	unsigned int bad;	/* which transfer does, from 1 on */
	struct bio bio[MOST];
};

static struct beneath beneath;

static void say(char c)
{
	CHECK(strlen(beneath.said) < sizeof(beneath.said) - 1);
	beneath.said[strlen(beneath.said)] = c;
}

static int flush_beneath(void *ctx)
{
	bool fails = ++beneath.flushes == beneath.fails;

	say(fails ? 'F' : 'f');
	return fails ? -EIO : 0;
}

static blk_status_t transfer_beneath(void *ctx, struct bio *bio)
{
	unsigned int i = bio - beneath.bio;

	say('a' + i);
	return i + 1 == beneath.bad ? BLK_STS_IOERR : BLK_STS_OK;
}

void bio_endio(struct bio *bio)
{
	say('A' + (bio - beneath.bio));
}

/* Those of @opf until one that is 0; @errors: a bit for each that is to end with one. */
static void joined(unsigned int fails, unsigned int bad, const unsigned int *opf, const char *said,
		   unsigned int errors)
{
	const struct m2_beneath by = { .flush = flush_beneath, .transfer = transfer_beneath };
	struct bio_list bios = {};
	unsigned int i, n;

	memset(&beneath, 0, sizeof(beneath));
	beneath.fails = fails;
	beneath.bad = bad;
	for (n = 0; n < MOST && opf[n]; n++) {
		beneath.bio[n].bi_opf = opf[n];
		bio_list_add(&bios, &beneath.bio[n]);
	}
	m2_flush_joined(&by, &bios);
	CHECK(!bios.head, "all are ended");
	CHECK(!strcmp(beneath.said, said), "%s, not %s", beneath.said, said);
	for (i = 0; i < n; i++)
		CHECK(!!beneath.bio[i].bi_status == !!(errors & BIT(i)), "bio %u of %s", i, said);
}

static void flushes(void)
{
	enum { PRE = REQ_OP_WRITE | REQ_PREFLUSH, FUA = REQ_OP_WRITE | REQ_FUA, BOTH = PRE | FUA };
	static const unsigned int pre[MOST] = { PRE }, fua[MOST] = { FUA },
		flush[MOST] = { REQ_OP_FLUSH, REQ_OP_FLUSH }, mixed[MOST] = { PRE, FUA, BOTH };

	joined(0, 0, pre, "faA", 0);
	joined(0, 0, fua, "afA", 0);
	joined(0, 0, flush, "fabAB", 0);
	joined(0, 0, mixed, "fabcfABC", 0);
	/* Without the flush before it none is done that asked for it; the others are. */
	joined(1, 0, pre, "FA", 1);
	joined(1, 0, flush, "FAB", 3);
	joined(1, 0, mixed, "FbfABC", 5);
	/* Without the flush behind it none lasts that asked for it. */
	joined(1, 0, fua, "aFA", 1);
	joined(2, 0, mixed, "fabcFABC", 6);
	/* What is not written needs no flush. */
	joined(0, 1, fua, "aA", 1);
	joined(0, 2, mixed, "fabcfABC", 2);
}

/* --- what is in a range ------------------------------------------------------------------------ */

#define STEPS	6

static u8 *make_range(void)
{
	u8 *start = aligned_alloc(4096, STEPS * SCM_TENANT_STEP);

	memset(start, 0, STEPS * SCM_TENANT_STEP);
	return start;
}

static int find(const u8 *start, u64 but, struct scm_tenant *tenant)
{
	return scm_tenant_find(start, STEPS * SCM_TENANT_STEP, but, tenant);
}

static void tenants_mem2m(void)
{
	struct m2_label_info info = sample();
	u8 *start = make_range(), *at = start + 4 * SCM_TENANT_STEP;
	struct scm_tenant tenant;

	CHECK(find(start, U64_MAX, &tenant) == -ENOENT);
	m2_label_write(at, &info, NULL, NULL);
	CHECK(!find(start, U64_MAX, &tenant));
	CHECK(!strcmp(tenant.name, "mem2m log") && tenant.offset == 4 * SCM_TENANT_STEP);
	CHECK(tenant.bytes == info.range_bytes);
	CHECK(find(start, 4 * SCM_TENANT_STEP, &tenant) == -ENOENT);
	at[100] ^= 1;
	CHECK(!find(start, U64_MAX, &tenant), "the other copy");
	at[M2_LABEL_STRIDE + 100] ^= 1;
	CHECK(find(start, U64_MAX, &tenant) == -ENOENT, "none of them whole");
	at[100] ^= 1;
	CHECK(!find(start, U64_MAX, &tenant));
	info.flags = M2_LABEL_FRESH;
	m2_label_write(at, &info, NULL, NULL);
	CHECK(find(start, U64_MAX, &tenant) == -ENOENT, "without content");
	info.flags = 0;
	m2_label_write(at, &info, NULL, NULL);
	shim_bad_memory = start + 2 * SCM_TENANT_STEP + 10;
	CHECK(find(start, U64_MAX, &tenant) == -EIO && tenant.offset == 2 * SCM_TENANT_STEP);
	shim_bad_memory = NULL;
	free(start);
}

static bool found_at(const u8 *at, const u8 *bad)
{
	struct scm_tenant tenant;
	int err;

	shim_bad_memory = bad;
	err = scm_tenant_at(at, &tenant);
	shim_bad_memory = NULL;
	return !err && !strcmp(tenant.name, "mem2m log") && tenant.bytes == 512 << 20;
}

/* One bad line hides nobody whose other label is whole, and leaves open who there may be. */
static void tenants_bad(void)
{
	struct m2_label_info info = sample();
	u8 *at = make_range();
	struct scm_tenant tenant;

	m2_label_write(at, &info, NULL, NULL);
	CHECK(found_at(at, at + 100), "the first label");
	CHECK(found_at(at, at + M2_LABEL_STRIDE + 100), "the second one");
	CHECK(found_at(at, at + 1024), "what may be a super block");
	at[M2_LABEL_STRIDE + 100] ^= 1;
	shim_bad_memory = at + 100;
	CHECK(scm_tenant_at(at, &tenant) == -EIO, "one bad, the other one damaged");
	memset(at, 0, SCM_TENANT_HEAD);
	shim_bad_memory = at + M2_LABEL_STRIDE;
	CHECK(scm_tenant_at(at, &tenant) == -EIO, "one bad, the other one blank");
	shim_bad_memory = NULL;
	free(at);
}

static void tenants_scmfs(void)
{
	u8 *start = make_range();
	struct scmfs_super *super = (void *)(start + 5 * SCM_TENANT_STEP);
	struct scm_tenant tenant;

	super->magic = cpu_to_le64(SCMFS_SUPER_MAGIC);
	super->region_bytes = cpu_to_le64(77 << 12);
	CHECK(!find(start, U64_MAX, &tenant) && !tenant.bytes, "damaged");
	super->csum = cpu_to_le32(ek_checksum(super, sizeof(*super), &super->csum));
	CHECK(!find(start, U64_MAX, &tenant) && tenant.bytes == 77 << 12);
	CHECK(!strcmp(tenant.name, "an scmfs file system") && tenant.offset == 5 * SCM_TENANT_STEP);
	super->magic ^= 1;
	CHECK(find(start, U64_MAX, &tenant) == -ENOENT);
	free(start);
}

/* --- the store --------------------------------------------------------------------------------- */

static struct m2_store make_store(u64 bytes, u64 unit, bool persistent)
{
	struct m2_store store = { .persistent = persistent };
	unsigned int i;

	m2_store_init(&store, bytes, unit);
	store.unit = calloc(store.nr_units, sizeof(*store.unit));
	for (i = 0; i < store.nr_units; i++)
		store.unit[i] = calloc(1, min(unit, bytes - i * unit));
	return store;
}

static void free_store(struct m2_store *store)
{
	while (store->nr_units)
		free(store->unit[--store->nr_units]);
	free(store->unit);
}

static void one_store(u64 bytes, u64 unit, bool persistent)
{
	struct m2_store store = make_store(bytes, unit, persistent);
	u8 *flat = calloc(1, bytes), *buf = malloc(bytes);
	unsigned int i;

	CHECK(store.nr_units == DIV_ROUND_UP(bytes, unit));
	for (i = 0; i < 500; i++) {
		u64 at = get_random_u32() % bytes, len = get_random_u32() % (bytes - at) + 1, j;

		for (j = 0; j < len; j++)
			buf[j] = get_random_u32();
		if (i % 5 == 4) {
			m2_store_zero(&store, at, len);
			memset(flat + at, 0, len);
		} else {
			m2_store_write(&store, at, buf, len);
			memcpy(flat + at, buf, len);
		}
		CHECK(!m2_store_read(&store, 0, buf, bytes));
		if (!CHECK(!memcmp(buf, flat, bytes), "unit %llu", unit))
			break;
	}
	free(flat);
	free(buf);
	free_store(&store);
}

static void stores(void)
{
	one_store(10000, 4096, false);		/* a last unit that is smaller */
	one_store(12288, 4096, false);
	one_store(30000, 6000, false);		/* no power of two */
	one_store(3000, 4096, false);		/* smaller than a unit */
	one_store(10000, 16384, true);
}

/* As the driver does it, or leaving out what is quick. */
static bool quick;

static blk_status_t transfer(const struct m2_store *store, struct bio *bio, u64 *bad)
{
	if (quick && m2_transfer_plain(store, bio))
		return BLK_STS_OK;
	return m2_transfer(store, bio, bad);
}

static void both_ways(void (*test)(void))
{
	for (quick = false; test(), !quick; quick = true)
		;
}

static void bad_memory(void)
{
	struct m2_store store = make_store(8192, 8192, true);
	struct bio_vec vec[2];
	struct bio bio = { .bi_opf = REQ_OP_READ, .bi_io_vec = vec, .bi_vcnt = 2 };
	u8 buf[1024];
	u64 bad = 0;

	shim_bad_memory = store.unit[0] + 1600;
	vec[0] = (struct bio_vec){ buf, 512, 0 };
	vec[1] = (struct bio_vec){ buf + 512, 512, 0 };
	bio.bi_iter.bi_size = 1024;
	CHECK(transfer(&store, &bio, &bad) == BLK_STS_OK);
	bio.bi_iter.bi_sector = 2;
	CHECK(transfer(&store, &bio, &bad) == BLK_STS_IOERR && bad == 1600);
	shim_bad_memory = NULL;
	CHECK(transfer(&store, &bio, &bad) == BLK_STS_OK);
	free_store(&store);
}

/* Bios as splits leave them: of several vectors, begun and ended within one, of odd lengths. */
static void vectors(void)
{
	struct m2_store store = make_store(8192, 8192, false);
	struct bio_vec vec[5];
	u8 data[4096], expected[8192] = {};
	struct bio bio = { .bi_io_vec = vec };
	unsigned int i, n, skip, len, at;
	u64 bad;

	for (n = 0; n < 2000; n++) {
		for (i = 0, at = 0; i < ARRAY_SIZE(vec); i++, at += vec[i - 1].bv_len)
			vec[i] = (struct bio_vec){ data + at, 1 + get_random_u32() % 800, 0 };
		for (i = 0; i < at; i++)
			data[i] = get_random_u32();
		bio.bi_iter = (struct bvec_iter){ .bi_sector = get_random_u32() % 8,
						  .bi_idx = get_random_u32() % 5 };
		bio.bi_iter.bi_bvec_done = get_random_u32() % vec[bio.bi_iter.bi_idx].bv_len;
		skip = (u8 *)vec[bio.bi_iter.bi_idx].bv_page - data + bio.bi_iter.bi_bvec_done;
		len = 1 + get_random_u32() % (at - skip);
		bio.bi_iter.bi_size = len;
		bio.bi_opf = get_random_u32() % 2 ? REQ_OP_WRITE : REQ_OP_READ;
		if (bio.bi_opf == REQ_OP_WRITE)
			memcpy(expected + bio.bi_iter.bi_sector * 512, data + skip, len);
		CHECK(transfer(&store, &bio, &bad) == BLK_STS_OK);
		CHECK(!memcmp(store.unit[0], expected, sizeof(expected)));
		CHECK(!memcmp(data + skip, expected + bio.bi_iter.bi_sector * 512, len));
	}
	free_store(&store);
}

static blk_status_t at(struct m2_store *store, unsigned int op, u64 sector, unsigned int bytes)
{
	static u8 buf[65536];
	struct bio_vec vec = { buf, bytes, 0 };
	struct bio bio = { .bi_opf = op, .bi_io_vec = &vec, .bi_vcnt = bytes && op < 2 };
	u64 bad;

	bio.bi_iter.bi_sector = sector;
	bio.bi_iter.bi_size = bytes;
	return transfer(store, &bio, &bad);
}

static void ranges(void)
{
	struct m2_store store = make_store(8192, 8192, false);
	static const unsigned int ops[] = { REQ_OP_READ, REQ_OP_WRITE, REQ_OP_DISCARD,
					    REQ_OP_WRITE_ZEROES };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		CHECK(at(&store, ops[i], 15, 512) == BLK_STS_OK);
		CHECK(at(&store, ops[i], 0, 8192) == BLK_STS_OK);
		CHECK(at(&store, ops[i], 15, 1024) == BLK_STS_IOERR);
		CHECK(at(&store, ops[i], 16, 512) == BLK_STS_IOERR);
		CHECK(at(&store, ops[i], 1ULL << 54, 512) == BLK_STS_IOERR);
		CHECK(at(&store, ops[i], (1ULL << 55) - 1, 512) == BLK_STS_IOERR);
	}
	CHECK(at(&store, REQ_OP_WRITE | REQ_PREFLUSH, 0, 0) == BLK_STS_OK);
	CHECK(at(&store, REQ_OP_FLUSH, 0, 0) == BLK_STS_OK);
	CHECK(m2_transfer_plain(&store, &(struct bio){ .bi_opf = REQ_OP_FLUSH }) == false);
	CHECK(at(&store, REQ_OP_SECURE_ERASE, 0, 512) == BLK_STS_NOTSUPP);
	free_store(&store);
}

/* --- what lasts -------------------------------------------------------------------------------- */

#define SECTORS	8
#define BIOS	24

static struct {
	unsigned int op;
	unsigned int sector, sectors;
	u32 begin, end;			/* events */
} done[BIOS];
static unsigned int nr_done;

static void submit(struct m2_store *store, struct scm_log *log, unsigned int op, unsigned int sector,
		   unsigned int sectors)
{
	static u64 words[SECTORS * 64];
	struct bio_vec vec = { words, sectors * 512, 0 };
	struct bio bio = { .bi_opf = op, .bi_io_vec = &vec, .bi_vcnt = !!sectors };
	unsigned int i;
	u64 bad;

	/* a word says which bio it is of, from 1 */
	for (i = 0; i < sectors * 64; i++)
		words[i] = nr_done + 1;
	bio.bi_iter.bi_sector = sector;
	bio.bi_iter.bi_size = sectors * 512;
	done[nr_done].op = op;
	done[nr_done].sector = sector;
	done[nr_done].sectors = sectors;
	done[nr_done].begin = log->nr_events;
	CHECK(transfer(store, &bio, &bad) == BLK_STS_OK);
	done[nr_done++].end = log->nr_events;
}

/* Of which bio at least the words of a sector have to be: of one that has ended, or that is before @barrier. */
static u64 least_of(unsigned int sector, u32 point, unsigned int barrier)
{
	unsigned int w;

	for (w = nr_done; w; w--)
		if (sector >= done[w - 1].sector && sector < done[w - 1].sector + done[w - 1].sectors &&
		    (w - 1 < barrier || done[w - 1].end <= point))
			return w;
	return 0;
}

static void look_words(u8 *now, u32 point, void *arg)
{
	const u64 *word = (const u64 *)now;
	u64 newest = 0, least = 0;
	unsigned int i, barrier;

	for (i = 0; i < SECTORS * 64; i++)
		newest = max(newest, word[i]);
	/* what is there of a write with PREFLUSH, or after one, stands for all before it */
	for (barrier = newest; barrier; barrier--)
		if (done[barrier - 1].op & REQ_PREFLUSH)
			break;
	for (i = 0; i < SECTORS * 64; i++) {
		if (i % 64 == 0)
			least = least_of(i / 64, point, barrier ? barrier - 1 : 0);
		if (word[i] < least || word[i] > nr_done) {
			CHECK(false, "point %u, word %u: of bio %llu, at least %llu has to be there",
			      point, i, word[i], least);
			return;
		}
	}
}

static void crash_writes(void)
{
	static u8 zeroes[SECTORS * 512];
	static const unsigned int ops[] = { REQ_OP_WRITE, REQ_OP_WRITE, REQ_OP_WRITE | REQ_FUA,
		REQ_OP_WRITE | REQ_PREFLUSH, REQ_OP_WRITE | REQ_PREFLUSH | REQ_FUA };
	unsigned int round, i;
	u64 states = 0;

	for (round = 0; round < 8 && !ktap_failing(); round++) {
		struct m2_store store = make_store(SECTORS * 512, SECTORS * 512, true);
		struct scm_log log;

		free(store.unit[0]);
		store.unit[0] = aligned_alloc(64, SECTORS * 512);
		memset(store.unit[0], 0, SECTORS * 512);
		nr_done = 0;
		crash_log_init(&log, store.unit[0], SECTORS * 512, 1024, 1 << 20);
		scm_record_start(&log);
		for (i = 0; i < BIOS; i++) {
			unsigned int sector = get_random_u32() % SECTORS;

			if (get_random_u32() % 6 == 0)
				submit(&store, &log, REQ_OP_WRITE | REQ_PREFLUSH, 0, 0);
			else
				submit(&store, &log, ops[get_random_u32() % ARRAY_SIZE(ops)], sector,
				       1 + get_random_u32() % min(2u, SECTORS - sector));
		}
		scm_record_stop();
		CHECK(!log.full);
		states += crash_each(&log, zeroes, 20, look_words, NULL);
		crash_log_free(&log);
		free_store(&store);
	}
	ktap_note("%llu states", states);
}

/*
 * A file system's commit over files that are mapped: lines of the file's block are written back, which no
 * fence follows, and the record of the commit says with PREFLUSH that they come before it.
 */
#define FILE_SECTOR	0
#define RECORD_SECTOR	4

static void look_commit(u8 *now, u32 point, void *arg)
{
	const u64 *file = (const u64 *)(now + FILE_SECTOR * 512);
	const u64 *record = (const u64 *)(now + RECORD_SECTOR * 512);
	bool *seen = arg;
	unsigned int i, there = 0;

	for (i = 0; i < 64; i++)
		there += !!record[i];
	*seen |= there;
	for (i = 0; there && i < 64; i++)
		if (file[i] != 1) {
			CHECK(false, "point %u: the record is there, word %u of the file is not", point, i);
			return;
		}
}

static void crash_commit(unsigned int flags, bool flush_first)
{
	static u8 zeroes[SECTORS * 512];
	struct m2_store store = make_store(SECTORS * 512, SECTORS * 512, true);
	struct scm_log log;
	bool seen = false;
	u64 file[64];
	unsigned int i;

	free(store.unit[0]);
	store.unit[0] = aligned_alloc(64, SECTORS * 512);
	memset(store.unit[0], 0, SECTORS * 512);
	for (i = 0; i < 64; i++)
		file[i] = 1;
	nr_done = 0;
	crash_log_init(&log, store.unit[0], SECTORS * 512, 1024, 1 << 20);
	scm_record_start(&log);
	scm_store(store.unit[0] + FILE_SECTOR * 512, file, sizeof(file));
	scm_flush(store.unit[0] + FILE_SECTOR * 512, sizeof(file));
	if (flush_first)
		submit(&store, &log, REQ_OP_FLUSH, 0, 0);
	submit(&store, &log, REQ_OP_WRITE | flags, RECORD_SECTOR, 1);
	scm_record_stop();
	CHECK(!log.full);
	crash_each(&log, zeroes, 300, look_commit, &seen);
	CHECK(seen);
	crash_log_free(&log);
	free_store(&store);
}

/* What is zeroed for a file system lasts on return. */
static void look_zeroes(u8 *now, u32 point, void *arg)
{
	if (point == *(u32 *)arg)
		CHECK(!memchr_inv(now + 512, 0, 1024) && now[511] && now[1536]);
}

static void crash_clear(void)
{
	struct m2_store store = make_store(SECTORS * 512, SECTORS * 512, true);
	static u8 ones[SECTORS * 512];
	struct scm_log log;
	u32 end;

	memset(ones, 1, sizeof(ones));
	free(store.unit[0]);
	store.unit[0] = aligned_alloc(64, SECTORS * 512);
	memcpy(store.unit[0], ones, sizeof(ones));
	crash_log_init(&log, store.unit[0], SECTORS * 512, 1024, 1 << 20);
	scm_record_start(&log);
	m2_store_clear(&store, 512, 1024);
	end = log.nr_events;
	scm_record_stop();
	CHECK(!log.full);
	crash_each(&log, ones, 20, look_zeroes, &end);
	crash_log_free(&log);
	free_store(&store);
}

static void crash_commits(void)
{
	crash_commit(REQ_PREFLUSH | REQ_FUA, false);
	crash_commit(REQ_PREFLUSH, false);
	crash_commit(REQ_FUA, true);
}

static void bad_memory_both_ways(void) { both_ways(bad_memory); }
static void vectors_both_ways(void) { both_ways(vectors); }
static void ranges_both_ways(void) { both_ways(ranges); }
static void crash_writes_both_ways(void) { both_ways(crash_writes); }
static void crash_commits_both_ways(void) { both_ways(crash_commits); }

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	shim_seed(ktap_seed);
	ktap_run("mem2m: a label that is written is read", round_trip);
	ktap_run("mem2m: a bit flip in one label leaves the other, in both none", bit_flips);
	ktap_run("mem2m: foreign content is told from a label", foreign);
	ktap_run("mem2m: unknown versions and impossible fields are refused", fields);
	ktap_run("mem2m: whenever the power goes, the old label is there or the new one", crash_label);
	ktap_run("mem2m: whenever the power goes, a label of the last generation is there or the next", crash_last);
	ktap_run("mem2m: whenever the power goes, a first label is there or none", crash_first);
	ktap_run("mem2m: whenever the power goes after a change that failed, there is a label", failed_settle);
	ktap_run("mem2m: a change that failed is none", failed_change);
	ktap_run("mem2m: whenever the power goes while one is made, nothing of before is in a device", crash_create);
	ktap_run("mem2m: a device that could not be made is none, or unfinished", create_fails);
	ktap_run("mem2m: whenever the power goes while one grows, what is new is zero", crash_grow);
	ktap_run("mem2m: a device that could not grow is as it was", grow_fails);
	ktap_run("mem2m: who wants a flush gets it once for all, or its error", flushes);
	ktap_run("mem2m: devices are found in a range, but for those without content", tenants_mem2m);
	ktap_run("mem2m: devices are found beside bad memory", tenants_bad);
	ktap_run("mem2m: file systems are found in a range, also damaged ones", tenants_scmfs);
	ktap_run("mem2m: units of any size hold what was written", stores);
	ktap_run("mem2m: split bios of several vectors read and write what is theirs", vectors_both_ways);
	ktap_run("mem2m: bad memory is an error of what reads it", bad_memory_both_ways);
	ktap_run("mem2m: what is beyond the end is an error", ranges_both_ways);
	ktap_run("mem2m: what was told as written is there whenever the power goes", crash_writes_both_ways);
	ktap_run("mem2m: what is zeroed for DAX is zero whenever the power goes", crash_clear);
	ktap_run("mem2m: a commit record is there only after what was written back before it", crash_commits_both_ways);
	return ktap_done();
}
