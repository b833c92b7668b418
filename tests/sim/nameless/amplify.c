// SPDX-License-Identifier: GPL-2.0-only
/*
 * nameless-amplify [--json] [--all]
 *
 * Write amplification of uniform random writes against what theory and others' simulation say,
 * and the mapping tables' bytes against zhang-2013 table 4.3, which --all goes through to its end:
 * that takes 2 GB of memory.
 *
 * FIFO: a / (a + W(-a e^-a)) with a = raw / logical, net of the reserve. Greedy: figures of a
 * simulation with the same 256 blocks of 64 pages, 3 of them reserve.
 */
#include <math.h>
#include <linux/kernel.h>
#include "ktap.h"
#include "ftl.h"

#define BLOCKS	256u
#define PAGES	64u
#define RESERVE	3u

static bool json, all;
static u64 state;

static u64 random_below(u64 below)
{
	u64 z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return ((z ^ (z >> 31)) >> 11) % below;
}

/* The solution of w e^w = x in (-1, 0). */
static double lambert(double x)
{
	double w = 0;
	int i;

	for (i = 0; i < 500; i++)
		w -= (w * exp(w) - x) / (exp(w) * (w + 1));
	return w;
}

static double fifo_theory(double a)
{
	return a / (a + lambert(-a * exp(-a)));
}

static u64 programs(const struct nl_flash *flash)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < NL_NR_CAUSES; i++)
		sum += flash->count[NL_PROGRAM][i];
	return sum;
}

static void write_random(struct nl_ftl *ftl, u32 pages, u64 nr)
{
	struct nl_io io = { .now = 0 };

	for (; nr; nr--) {
		io.now++;
		if (!CHECK(!nl_ftl_write(ftl, random_below(pages), NULL, 0, &io)))
			return;
	}
}

static double amplification(enum nl_gc_kind gc, u32 pages)
{
	struct nl_config config = { .p = {
		[NL_P_PACKAGES] = 1, [NL_P_DIES] = 1, [NL_P_PLANES] = 1, [NL_P_BLOCKS] = BLOCKS,
		[NL_P_PAGES] = PAGES, [NL_P_PAGE_SIZE] = 4096, [NL_P_OOB_SIZE] = 64,
		[NL_P_RESERVE] = RESERVE, [NL_P_LOG] = 50, [NL_P_GC] = gc,
	} };
	struct nl_io io = { .now = 0 };
	struct nl_flash flash;
	struct nl_ftl *ftl;
	u64 before, nr = 60ULL * pages;
	double result;
	u32 i;

	state = ktap_seed;
	CHECK(!nl_flash_create(&flash, &config));
	CHECK(!nl_ftl_open(&ftl, &flash, &config, pages, &io));
	for (i = 0; i < pages; i++)
		nl_ftl_write(ftl, i, NULL, 0, &io);
	write_random(ftl, pages, 20ULL * pages);
	before = programs(&flash);
	write_random(ftl, pages, nr);
	result = (double)(programs(&flash) - before) / nr;
	CHECK(!nl_ftl_check(ftl, NULL, NULL));
	nl_ftl_destroy(ftl);
	nl_flash_destroy(&flash);
	return result;
}

static const struct {
	u32 permille;		/* raw over-provisioning */
	double greedy;		/* simulated by others */
} points[] = { { 100, 5.90 }, { 250, 2.72 } };

static void report(const char *gc, u32 permille, double got, double want)
{
	double off = got / want - 1;

	if (json)
		printf("{\"what\": \"amplification\", \"gc\": \"%s\", "
		       "\"overprovisioning\": %.2f, \"got\": %.4f, \"expected\": %.4f, "
		       "\"off\": %.4f}\n",
		       gc, permille / 1000., got, want, off);
	else
		ktap_note("%s at %u%%: %.3f, expected %.3f, %+.2f%%", gc, permille / 10, got, want,
			  100 * off);
	CHECK(fabs(off) <= .03);
}

static void test_fifo(void)
{
	u32 i, pages;

	for (i = 0; i < ARRAY_SIZE(points); i++) {
		pages = BLOCKS * PAGES * 1000 / (1000 + points[i].permille);
		report("fifo", points[i].permille, amplification(NL_GC_FIFO, pages),
		       fifo_theory((double)(BLOCKS - RESERVE) * PAGES / pages));
	}
}

static void test_greedy(void)
{
	u32 i, pages;

	for (i = 0; i < ARRAY_SIZE(points); i++) {
		pages = BLOCKS * PAGES * 1000 / (1000 + points[i].permille);
		report("greedy", points[i].permille, amplification(NL_GC_GREEDY, pages),
		       points[i].greedy);
	}
}

#define MB (1u << 20)
#define KB (1u << 10)

static const struct {
	const char *name;
	u64 bytes;
	double page, hybrid;	/* table 4.3, bytes */
} images[] = {
	{ "328 MB", 328ULL * MB, 328. * KB, 38. * KB },
	{ "2 GB", 2048ULL * MB, 2. * MB, 235. * KB },
	{ "10 GB", 10240ULL * MB, 10. * MB, 1.1 * MB },
	{ "100 GB", 102400ULL * MB, 100. * MB, 11. * MB },
	{ "400 GB", 409600ULL * MB, 400. * MB, 46. * MB },
	{ "1 TB", 1048576ULL * MB, 1024. * MB, 118. * MB },
};

static void tables(enum nl_ftl_kind kind, u64 bytes, struct nl_ftl_stat *stat)
{
	struct nl_config config = nl_preset_find("ssd1")->config;
	struct nl_io io = { .now = 0 };
	struct nl_flash flash;
	struct nl_ftl *ftl;
	/* the hybrid one's 5% log area is part of the table's size */
	u64 pages = kind == NL_FTL_HYBRID ? bytes / 4096 * 95 / 100 : bytes / 4096;

	config.p[NL_P_FTL] = kind;
	CHECK(!nl_config_fit(&config, pages));
	CHECK(!nl_flash_create(&flash, &config));
	CHECK(!nl_ftl_open(&ftl, &flash, &config, pages, &io));
	nl_ftl_stat(ftl, stat);
	nl_ftl_destroy(ftl);
	nl_flash_destroy(&flash);
}

static void table_row(u32 row, enum nl_ftl_kind kind, const struct nl_ftl_stat *stat)
{
	const char *name = images[row].name;
	double want = kind == NL_FTL_PAGE ? images[row].page : images[row].hybrid;
	const u64 *map = stat->map_bytes;
	double got = map[NL_MAP_PAGE] + map[NL_MAP_BLOCK] + map[NL_MAP_LOG];

	if (json)
		printf("{\"what\": \"table\", \"where\": \"userspace\", \"image\": \"%s\", "
		       "\"bytes\": %llu, \"ftl\": \"%s\", "
		       "\"page\": %llu, \"block\": %llu, \"log\": %llu, \"chain\": %llu, "
		       "\"table_4_3\": %.0f}\n",
		       name, (unsigned long long)images[row].bytes, nl_ftl_names[kind],
		       (unsigned long long)map[NL_MAP_PAGE],
		       (unsigned long long)map[NL_MAP_BLOCK], (unsigned long long)map[NL_MAP_LOG],
		       (unsigned long long)map[NL_MAP_CHAIN], want);
	else
		ktap_note("%s %s: %.0f KB, and %.0f KB of chains; table 4.3 has %.0f KB", name,
			  nl_ftl_names[kind], got / KB, map[NL_MAP_CHAIN] / 1024., want / KB);
	CHECK(fabs(got / want - 1) < .05);
}

static void test_tables(void)
{
	struct nl_ftl_stat stat;
	u32 i;

	for (i = 0; i < (all ? ARRAY_SIZE(images) : 3); i++) {
		tables(NL_FTL_PAGE, images[i].bytes, &stat);
		table_row(i, NL_FTL_PAGE, &stat);
		tables(NL_FTL_HYBRID, images[i].bytes, &stat);
		table_row(i, NL_FTL_HYBRID, &stat);
	}
}

int main(int argc, char **argv)
{
	for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
		json |= !strcmp(argv[1], "--json");
		all |= !strcmp(argv[1], "--all");
	}
	ktap_init(argc, argv);
	ktap_run("FIFO write amplification is within 3% of the formula", test_fifo);
	ktap_run("greedy write amplification is within 3% of what others simulated", test_greedy);
	ktap_run("mapping tables are within 5% of table 4.3", test_tables);
	return ktap_done();
}
