// SPDX-License-Identifier: GPL-2.0-only
/* Flash that refuses what flash refuses, its clockwork, its image. */
#include <linux/crc32c.h>
#include <linux/slab.h>
#include <evenkeel/nameless_format.h>
#include "ktap.h"
#include "flash.h"

static struct nl_flash flash;
static u8 oob[64];

static struct nl_config small(void)
{
	struct nl_config config = { .p = {
		[NL_P_PACKAGES] = 2, [NL_P_DIES] = 1, [NL_P_PLANES] = 2, [NL_P_BLOCKS] = 3,
		[NL_P_PAGES] = 4, [NL_P_PAGE_SIZE] = 512, [NL_P_OOB_SIZE] = 64, [NL_P_LOG] = 50,
		[NL_P_READ] = 25000, [NL_P_PROGRAM] = 200000, [NL_P_ERASE] = 1500000,
		[NL_P_BUS_CONTROL] = 2000, [NL_P_BUS_DATA] = 10000,
		[NL_P_RAM] = 1000, [NL_P_REGISTER] = 1000,
	} };

	return config;
}

static void begin(const struct nl_config *config)
{
	CHECK(!nl_flash_create(&flash, config));
}

static int program(u32 ppn, u8 value)
{
	struct nl_buf *buf = value ? nl_buf_alloc(flash.geo.page_bytes, false) : NULL;
	u64 when = 0;
	int r;

	if (buf)
		memset(nl_buf_data(buf), value, flash.geo.page_bytes);
	memset(oob, value, sizeof(oob));
	r = nl_flash_program(&flash, ppn, NL_FOR_HOST, &when, buf, oob);
	nl_buf_put(buf);
	return r;
}

/* What a page holds, or the error of its reading. */
static int look(u32 ppn)
{
	struct nl_buf *buf = NULL;
	u64 when = 0;
	int r = nl_flash_read(&flash, ppn, NL_FOR_HOST, &when, &buf, oob);
	u8 *data;

	if (r)
		return r;
	if (!buf)
		return oob[0] ? -EDOM : 0;
	data = nl_buf_data(buf);
	r = data[0] == data[511] && data[0] == oob[0] && oob[0] == oob[63] ? data[0] : -EDOM;
	nl_buf_put(buf);
	return r;
}

static int erase(u32 block)
{
	u64 when = 0;

	return nl_flash_erase(&flash, block, NL_FOR_GC, &when);
}

static void test_rules(void)
{
	struct nl_config config = small();

	begin(&config);
	CHECK(look(0) == -ENODATA);
	CHECK(!program(0, 7) && look(0) == 7);
	CHECK(!program(1, 0) && !look(1));
	CHECK(program(0, 8) == -EINVAL && flash.violations == 1 && look(0) == 7);
	CHECK(program(3, 8) == -EINVAL && flash.violations == 2 && look(3) == -ENODATA);
	CHECK(!program(2, 9) && !program(3, 10));
	CHECK(program(4 * 12, 1) == -EINVAL && erase(12) == -EINVAL);
	CHECK(!erase(0) && look(0) == -ENODATA && !flash.block[0].oob);
	CHECK(!program(0, 11) && look(0) == 11);
	CHECK(flash.block[0].erases == 1 && flash.stored == 1);
	nl_flash_mark_bad(&flash, 0);
	CHECK(look(0) == 11);
	CHECK(program(1, 1) == -EINVAL && erase(0) == -EINVAL);
	nl_flash_destroy(&flash);
	CHECK(!shim_allocated, "%ld left", shim_allocated);
}

static void test_age(void)
{
	struct nl_config config = small();
	u32 i, bad = 0;

	config.p[NL_P_ENDURANCE] = 5;
	config.p[NL_P_FACTORY_BAD] = 3;
	begin(&config);
	for (i = 0; i < 12; i++)
		bad += nl_flash_is_bad(&flash, i);
	CHECK(bad == 3);
	for (i = 0; nl_flash_is_bad(&flash, i); i++)
		;
	CHECK(!program(4 * i, 3));
	CHECK(!erase(i) && !erase(i) && !erase(i) && !erase(i) && !erase(i));
	CHECK(!program(4 * i, 3));
	CHECK(erase(i) == -EIO && nl_flash_is_bad(&flash, i) && look(4 * i) == -ENODATA);
	CHECK(!flash.violations);
	nl_flash_destroy(&flash);
}

static void test_failures(void)
{
	struct nl_config config = small();

	begin(&config);
	flash.fail_program = 2;
	CHECK(!program(0, 1) && program(1, 2) == -EIO);
	CHECK(look(0) == 1 && look(1) == -EBADMSG && look(2) == -ENODATA);
	CHECK(!program(2, 3) && look(2) == 3);
	flash.fail_erase = 1;
	CHECK(erase(0) == -EIO && nl_flash_is_bad(&flash, 0));
	CHECK(!flash.violations);
	nl_flash_destroy(&flash);
}

static void cut_program(enum nl_tear tear, int reads, int again)
{
	struct nl_config config = small();

	begin(&config);
	CHECK(!program(0, 1));
	nl_flash_cut(&flash, 1, tear);
	CHECK(!program(1, 2) && program(2, 3) == -ESHUTDOWN);
	CHECK(look(0) == -ESHUTDOWN && erase(1) == -ESHUTDOWN && program(4, 1) == -ESHUTDOWN);
	CHECK(nl_flash_mark_bad(&flash, 1) == -ESHUTDOWN);
	nl_flash_power_on(&flash);
	CHECK(look(0) == 1 && look(1) == 2 && look(2) == reads && look(3) == -ENODATA);
	CHECK(program(2, 4) == again);
	CHECK(!program(3, 5) && look(3) == 5);
	CHECK(!erase(0) && !program(0, 6));
	nl_flash_destroy(&flash);
}

static void cut_erase(enum nl_tear tear, int reads, int again)
{
	struct nl_config config = small();

	begin(&config);
	CHECK(!program(0, 1));
	nl_flash_cut(&flash, 0, tear);
	CHECK(erase(0) == -ESHUTDOWN);
	nl_flash_power_on(&flash);
	CHECK(look(0) == reads && program(1, 2) == again);
	CHECK(!erase(0) && look(0) == -ENODATA && !program(0, 1));
	nl_flash_destroy(&flash);
}

static void test_cuts(void)
{
	cut_program(NL_TEAR_NOT, -ENODATA, 0);
	cut_program(NL_TEAR_BLANK, -ENODATA, -EIO);
	cut_program(NL_TEAR_ERROR, -EBADMSG, -EINVAL);
	cut_erase(NL_TEAR_NOT, 1, 0);
	cut_erase(NL_TEAR_BLANK, -ENODATA, -EIO);
	cut_erase(NL_TEAR_ERROR, -EBADMSG, -EINVAL);
}

/* Table 3.1's latencies; planes 0 and 1 are on one bus, 2 and 3 on another. */
static void test_times(void)
{
	struct nl_config config = small();
	struct nl_timing *t = &flash.timing;
	u64 program_ns = 1000 + 12000 + 1000 + 200000, read_ns = 2000 + 25000 + 1000 + 10000 + 1000;

	begin(&config);
	CHECK(nl_timing_op(t, NL_PROGRAM, NL_FOR_HOST, 0, 1000) == 1000 + program_ns);
	CHECK(nl_timing_op(t, NL_PROGRAM, NL_FOR_HOST, 2, 1000) == 1000 + program_ns);
	/* the bus is taken for 12 us, the plane for all of it */
	CHECK(nl_timing_op(t, NL_PROGRAM, NL_FOR_HOST, 1, 1000) == 1000 + 12000 + program_ns);
	CHECK(nl_timing_op(t, NL_READ, NL_FOR_HOST, 0, 1000) == 1000 + program_ns + read_ns);
	nl_timing_reset(t);
	/* a read keeps the bus only while it carries: a program fits in between */
	CHECK(nl_timing_op(t, NL_READ, NL_FOR_HOST, 0, 0) == read_ns);
	CHECK(nl_timing_op(t, NL_PROGRAM, NL_FOR_HOST, 1, 1000) == 1000 + program_ns);
	CHECK(nl_timing_op(t, NL_ERASE, NL_FOR_GC, 3, 0) == 2000 + 1500000);
	CHECK(nl_timing_idle_at(t) == 1502000);
	CHECK(t->busy[NL_ERASE][NL_FOR_GC] == 1502000);
	CHECK(t->busy[NL_READ][NL_FOR_HOST] == 2 * (read_ns - 1000));
	CHECK(nl_timing_copy(&config) == read_ns + program_ns);
	config.p[NL_P_ERASE] = 7;
	nl_timing_retune(t, &config);
	CHECK(nl_timing_op(t, NL_ERASE, NL_FOR_GC, 3, 0) == 1502000 + 2007);
	nl_flash_destroy(&flash);
}

/* Whatever is booked: transfers of a bus never overlap, planes go on in order, nothing is early. */
static void test_contention(void)
{
	struct nl_config config = small();
	u64 now = 0, last[4] = { 0 }, done, least[NL_NR_OPS] = { 39000, 214000, 1502000 };
	u32 i, plane, op, bus, s;

	begin(&config);
	shim_seed(ktap_seed);
	for (i = 0; i < 20000 && !ktap_failing(); i++) {
		now += get_random_u32() % 40000;
		nl_timing_begin(&flash.timing, now);
		plane = get_random_u32() % 4;
		op = get_random_u32() % 16 ? get_random_u32() % 2 : NL_ERASE;
		done = nl_timing_op(&flash.timing, op, NL_FOR_HOST, plane, now);
		CHECK(done >= now + least[op]);
		CHECK(flash.timing.plane_free[plane] > last[plane]);
		last[plane] = flash.timing.plane_free[plane];
		for (bus = 0; bus < 2; bus++) {
			const struct nl_bus *b = &flash.timing.bus[bus];

			CHECK(b->nr <= NL_BUS_SPANS);
			for (s = 0; s < b->nr; s++)
				CHECK(b->span[s].from < b->span[s].to &&
				      (!s || b->span[s - 1].to < b->span[s].from));
		}
	}
	nl_flash_destroy(&flash);
}

static u8 image[65536];
static size_t image_len, image_at;

static int put(void *ctx, const void *data, size_t len)
{
	if (image_len + len > sizeof(image))
		return -ENOSPC;
	memcpy(image + image_len, data, len);
	image_len += len;
	return 0;
}

static int get(void *ctx, void *data, size_t len)
{
	if (image_at + len > image_len)
		return -ENODATA;
	memcpy(data, image + image_at, len);
	image_at += len;
	return 0;
}

static int load(const struct nl_config *config)
{
	begin(config);
	image_at = 0;
	return nl_flash_load(&flash, get, NULL);
}

static void image_version(u32 version)
{
	struct nl_image_header *head = (void *)image;

	head->version = cpu_to_le32(version);
	head->csum = 0;
	head->csum = cpu_to_le32(~crc32c(~0, head, sizeof(*head)));
}

static void test_image(void)
{
	struct nl_config config = small();
	size_t i;
	int r;

	image_len = 0;
	begin(&config);
	CHECK(!program(0, 1) && !program(1, 0) && !program(2, 3) && !program(8, 4));
	CHECK(!erase(2) && !program(8, 5));
	nl_flash_mark_bad(&flash, 3);
	nl_flash_cut(&flash, 0, NL_TEAR_ERROR);
	CHECK(program(9, 1) == -ESHUTDOWN);
	nl_flash_power_on(&flash);
	CHECK(!program(16, 1) && !program(44, 6));
	nl_flash_cut(&flash, 0, NL_TEAR_BLANK);
	CHECK(erase(4) == -ESHUTDOWN);
	nl_flash_power_on(&flash);
	CHECK(!nl_flash_save(&flash, put, NULL));
	nl_flash_destroy(&flash);

	CHECK(!load(&config) && image_at == image_len);
	CHECK(look(0) == 1 && !look(1) && look(2) == 3 && look(3) == -ENODATA && look(8) == 5);
	CHECK(look(9) == -EBADMSG && look(16) == -ENODATA && program(16, 1) == -EIO);
	CHECK(nl_flash_is_bad(&flash, 3) && flash.block[2].erases == 1);
	CHECK(!program(3, 9));
	nl_flash_destroy(&flash);

	for (i = 0; i < image_len; i++) {	/* cut short, or one bit of it changed */
		size_t whole = image_len;

		image_len = i;
		CHECK(load(&config) == -ENODATA, "%zu bytes", i);
		nl_flash_destroy(&flash);
		image_len = whole;
		image[i] ^= 1 << i % 8;
		r = load(&config);
		CHECK(r, "byte %zu", i);
		nl_flash_destroy(&flash);
		image[i] ^= 1 << i % 8;
	}
	config.p[NL_P_PAGES] = 8;
	CHECK(load(&config) == -ERANGE);
	nl_flash_destroy(&flash);
	config.p[NL_P_PAGES] = 4;
	image_version(1);
	image[image_len - 200] ^= 1;		/* data, which version 1 has no sums of */
	CHECK(!load(&config) && look(0) == 1);
	nl_flash_destroy(&flash);
	image_version(3);
	CHECK(load(&config) == -EOPNOTSUPP);
	nl_flash_destroy(&flash);
	CHECK(!shim_allocated, "%ld left", shim_allocated);
}

/* What stays of the page of a torn program goes into images: never what was in memory before. */
static void test_torn_oob(void)
{
	struct nl_config config = small();
	const u8 *torn;

	image_len = 0;
	begin(&config);
	CHECK(!program(0, 1) && !nl_flash_save(&flash, put, NULL));
	nl_flash_destroy(&flash);

	CHECK(!load(&config));
	nl_flash_cut(&flash, 0, NL_TEAR_ERROR);
	CHECK(program(1, 2) == -ESHUTDOWN);
	nl_flash_power_on(&flash);
	image_len = 0;
	CHECK(!nl_flash_save(&flash, put, NULL));
	nl_flash_destroy(&flash);

	torn = image + sizeof(struct nl_image_header) + sizeof(struct nl_image_block) + 64;
	CHECK(torn[-1] == 1 && !memchr_inv(torn, 0, 64), "%d %d ...", torn[0], torn[1]);
	CHECK(!shim_allocated, "%ld left", shim_allocated);
}

static void test_config(void)
{
	struct nl_config config;
	struct nl_geometry geo;
	u32 i;

	for (i = 0; i < nl_nr_presets; i++) {
		config = nl_presets[i].config;
		CHECK(nl_preset_find(nl_presets[i].name) == &nl_presets[i]);
		CHECK(!nl_config_fit(&config, (4ULL << 30) / config.p[NL_P_PAGE_SIZE]));
		CHECK(!nl_geometry_init(&geo, &config));
		CHECK(geo.nr_pages > (4ULL << 30) / config.p[NL_P_PAGE_SIZE]);
		config.p[NL_P_BLOCKS] = 2;
		CHECK(nl_config_fit(&config, (4ULL << 30) / config.p[NL_P_PAGE_SIZE]) == -ENOSPC);
		config.p[NL_P_BLOCKS] = 1 << 24;
		CHECK(nl_geometry_init(&geo, &config) == -EFBIG);
		config.p[NL_P_PAGES] = 1;
		CHECK(nl_geometry_init(&geo, &config) == -ERANGE);
	}
	for (i = 0; i < NL_NR_PARAMS; i++) {
		CHECK(nl_params[i].name && nl_param_find(nl_params[i].name) == i);
		CHECK(nl_params[i].max == U64_MAX ||
		      nl_param_check(i, nl_params[i].max + 1) == -ERANGE);
	}
	CHECK(nl_param_find("none") == -ENOENT && !nl_preset_find("none"));
}

/* Memory that fails at any point is told, and nothing is kept. */
static void test_memory(void)
{
	struct nl_config config = small();
	u32 n;
	int r = -ENOMEM;

	for (n = 1; r == -ENOMEM && n < 50; n++) {
		shim_fail_alloc = n;
		r = nl_flash_create(&flash, &config);
		shim_fail_alloc = 0;
		if (!r)
			nl_flash_destroy(&flash);
		CHECK(!shim_allocated);
	}
	CHECK(!r && n > 4);
	begin(&config);
	shim_fail_alloc = 2;		/* the OOB */
	CHECK(program(0, 1) == -ENOMEM && look(0) == -ENODATA && !program(0, 1));
	nl_flash_destroy(&flash);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("what flash does not do is refused and counted", test_rules);
	ktap_run("blocks are bad from the factory and go bad at their endurance", test_age);
	ktap_run("programs and erases fail when they are told to", test_failures);
	ktap_run("a power cut leaves a page whole, torn or not begun", test_cuts);
	ktap_run("operations take what table 3.1 says", test_times);
	ktap_run("a bus carries one transfer at a time", test_contention);
	ktap_run("an image holds all that survives, and damage is seen", test_image);
	ktap_run("of a torn program's page an image holds nothing", test_torn_oob);
	ktap_run("parameters, presets and sizes", test_config);
	ktap_run("when memory fails nothing is kept", test_memory);
	return ktap_done();
}
