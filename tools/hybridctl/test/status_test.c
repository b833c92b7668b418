// SPDX-License-Identifier: GPL-2.0-only
/* The parsers: status and table lines, sizes, kernel messages; good and bad input. */
#include <stdlib.h>
#include <string.h>

#include "../klog.h"
#include "../msg.h"
#include "../status.h"
#include "../table.h"
#include "../units.h"
#include "ktap.h"

#define POOL	"rw - 256 10/8000 3/512 "
#define META	"2 A S "
#define DEV0	"254:3 active 7/4000 900000 875000 80000 120000 200000 300000 5 7 "
#define DEV1	"- failed 3/4000 100000 125000 5000000 0 9000000 0 0 3 "
#define MOVES	"12 0>1 9 8 1 1048576 2 2 cooldown 5 nospace 0 "
#define COUNTS	"4 30 2 0 "
#define POLICY	"wardrop 4 alpha 10 floor 2"
#define GOOD	POOL META "2 " DEV0 DEV1 MOVES COUNTS POLICY

static void test_good(void)
{
	struct status st;
	char why[128];

	if (!ktap_ok(status_parse(GOOD, &st, why, sizeof(why)), "status: a full line"))
		return;
	ktap_ok(st.mode == MODE_RW && !st.needs_check && st.extent_sectors == 256 &&
		st.mapped == 10 && st.logical == 8000, "status: pool");
	ktap_ok(st.journal_used == 3 && st.journal_total == 512 && st.nr_meta == 2 &&
		st.meta[0] == 'A' && st.meta[1] == 'S', "status: metadata");
	ktap_ok(st.nr_devs == 2 && st.dev[0].present && st.dev[0].major == 254 &&
		st.dev[0].minor == 3 && st.dev[0].used == 7 && st.dev[0].target_ppm == 875000 &&
		st.dev[0].write_p99_ns == 300000 && st.dev[0].inflight == 5 &&
		st.dev[0].allocations == 7, "status: a member");
	ktap_ok(!st.dev[1].present && st.dev[1].state == DEV_FAILED &&
		st.dev[1].read_ns == 5000000, "status: a lost member");
	ktap_ok(st.tokens == 12 && st.from == 0 && st.to == 1 && st.started == 9 &&
		st.bytes == 1048576 && st.queued == 2, "status: migrations");
	ktap_ok(st.nr_reasons == 2 && !strcmp(st.reason[1].name, "nospace") &&
		st.reason[0].count == 5, "status: reasons");
	ktap_ok(st.flushes == 4 && st.commits == 30 && st.checkpoints == 2 && !st.errors,
		"status: counts");
	ktap_ok(!strcmp(st.policy, "wardrop") && !strcmp(st.policy_args, "alpha 10 floor 2"),
		"status: policy");
	status_free(&st);
}

static const char * const also_good[] = {
	"ro needs_check 128 0/1 0/8 1 A 1 8:0 active 0/9 0 0 0 0 0 0 0 0 0 - 0 0 0 0 0 0 0 0 0 1 fill 0",
	"fail - 8192 1/1 8/8 1 F 1 - failed 1/9 0 0 0 0 0 0 0 0 "
	"18446744073709551615 - 0 0 0 0 0 0 0 0 0 1 stripe 0",
};

static const struct {
	const char *what, *line;
} bad[] = {
	{ "empty", "" },
	{ "a blank before", " " GOOD },
	{ "a blank behind", GOOD " " },
	{ "two blanks", POOL " " META "2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "a line end", GOOD "\n" },
	{ "a tab", POOL META "2\t" DEV0 DEV1 MOVES COUNTS POLICY },
	{ "unknown mode", "rx - 256 10/8000 3/512 " META "2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "needs_check otherwise", "rw check 256 10/8000 3/512 " META "2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "extent no power of two", "rw - 257 10/8000 3/512 " META "2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "extent too small", "rw - 64 10/8000 3/512 " META "2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "mapped above logical", "rw - 256 9/8 3/512 " META "2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "no slash", "rw - 256 10 3/512 " META "2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "sign", "rw - 256 +1/8 3/512 " META "2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "leading zero", "rw - 0256 1/8 3/512 " META "2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "overflow", "rw - 256 1/18446744073709551616 3/512 " META "2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "no metadata", POOL "0 2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "three metadata areas", POOL "3 A A A 2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "metadata state", POOL "1 X 2 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "no members", POOL META "0 " MOVES COUNTS POLICY },
	{ "fewer members", POOL META "3 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "more members", POOL META "1 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "33 members", POOL META "33 " DEV0 DEV1 MOVES COUNTS POLICY },
	{ "member number", POOL META "1 8 active 0/9 0 0 0 0 0 0 0 0 0 - 0 0 0 0 0 0 " COUNTS POLICY },
	{ "share above one", POOL META "1 8:0 active 0/9 1000001 0 0 0 0 0 0 0 0 - 0 0 0 0 0 0 " COUNTS POLICY },
	{ "member state", POOL META "1 8:0 gone 0/9 0 0 0 0 0 0 0 0 0 - 0 0 0 0 0 0 " COUNTS POLICY },
	{ "direction to itself", POOL META "2 " DEV0 DEV1 "1 0>0 0 0 0 0 0 0 " COUNTS POLICY },
	{ "direction past the members", POOL META "2 " DEV0 DEV1 "1 0>2 0 0 0 0 0 0 " COUNTS POLICY },
	{ "fewer reasons", POOL META "2 " DEV0 DEV1 "1 - 0 0 0 0 0 2 busy 1 " COUNTS POLICY },
	{ "a reason twice", POOL META "2 " DEV0 DEV1 "1 - 0 0 0 0 0 2 busy 1 busy 2 " COUNTS POLICY },
	{ "no policy", POOL META "2 " DEV0 DEV1 MOVES "4 30 2 0" },
	{ "no argument count", POOL META "2 " DEV0 DEV1 MOVES COUNTS "fill" },
	{ "odd arguments", POOL META "2 " DEV0 DEV1 MOVES COUNTS "fill 1 a" },
	{ "fewer arguments", POOL META "2 " DEV0 DEV1 MOVES COUNTS "fill 2 a" },
	{ "more arguments", POOL META "2 " DEV0 DEV1 MOVES COUNTS "fill 0 a 1" },
};

static void test_bad(void)
{
	struct status st;
	char why[128], *cut;
	size_t i, len;
	bool ok;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ok = status_parse(bad[i].line, &st, why, sizeof(why));
		ktap_ok(!ok, "status refused: %s", bad[i].what);
		if (ok)
			status_free(&st);
	}
	/* A prefix that ends within the last number is a line of its own right. */
	len = strlen(GOOD);
	for (i = 0, ok = false; i < len && !ok; i++) {
		cut = strndup(GOOD, i);
		ok = status_parse(cut, &st, why, sizeof(why));
		if (ok)
			status_free(&st);
		free(cut);
	}
	ktap_ok(!ok, "status refused: every prefix");
}

/* Any single byte changed: no crash, no leak (sanitizers watch). */
static void test_mangled(void)
{
	char line[] = GOOD, why[128];
	unsigned int parsed = 0;
	struct status st;
	size_t i;
	int byte;

	for (i = 0; i < sizeof(line) - 1; i++) {
		char old = line[i];

		for (byte = 1; byte < 256; byte++) {
			line[i] = byte;
			if (status_parse(line, &st, why, sizeof(why))) {
				parsed++;
				status_free(&st);
			}
		}
		line[i] = old;
	}
	ktap_ok(parsed > sizeof(line), "status: bytes changed, %u lines still parse", parsed);
}

static void moved(const char *before, unsigned int from, int to, const char *after)
{
	char *line = xasprintf("1 /dev/a 0 128 2 /dev/b 0 /dev/c 8 0 %s", before), why[96];
	struct table t;
	bool changed;

	if (!table_parse(line, &t, why, sizeof(why))) {
		ktap_ok(false, "table: pins: %s", why);
	} else {
		changed = table_move_pins(&t, from, to);
		ktap_ok(changed == !!strcmp(before, after) && !strcmp(t.policy, after),
			"table: pins of %u to %d: %s", from, to, t.policy);
		table_free(&t);
	}
	free(line);
}

static void test_pins(void)
{
	static const char some[] = "fill 4 pin 0+2/10*3:1,7+1:0,30+4:11,40+1:1 low_free 0";

	moved(some, 1, 2, "fill 4 pin 0+2/10*3:2,7+1:0,30+4:11,40+1:2 low_free 0");
	moved(some, 1, -1, "fill 4 pin 7+1:0,30+4:11 low_free 0");
	moved(some, 11, 1, "fill 4 pin 0+2/10*3:1,7+1:0,30+4:1,40+1:1 low_free 0");
	moved(some, 3, 1, some);
	moved("fill 2 pin 5+1:1", 1, -1, "fill 2 pin none");
	moved("fill 2 pin none", 1, 0, "fill 2 pin none");
	moved("fill 0", 1, 0, "fill 0");
}

enum change { FAST, SHARES };

static void changed(enum change what, const char *before, unsigned int a, int b, const char *after)
{
	char *line = xasprintf("1 8:0 0 256 3 8:0 6144 8:16 0 8:32 0 0 %s", before), why[128];
	struct table t;
	bool is;

	if (!table_parse(line, &t, why, sizeof(why))) {
		ktap_ok(false, "table: %s: %s", before, why);
	} else {
		is = what == FAST ? table_move_fast(&t, a, b) : table_swap_shares(&t, a, b);
		ktap_ok(is == !!strcmp(before, after) && !strcmp(t.policy, after),
			what == FAST ? "table: the fast one: %s" : "table: shares: %s", t.policy);
		table_free(&t);
	}
	free(line);
}

/* Member 2, of three, is new. */
static void joins(const char *before, const char *after, unsigned int how)
{
	char *line = xasprintf("1 8:0 0 256 3 8:0 6144 8:16 0 8:32 0 0 %s", before), why[128];
	struct table t;
	bool is;

	is = table_parse(line, &t, why, sizeof(why)) && table_make_place(&t, 2) == how;
	ktap_ok(is && !strcmp(t.policy, after), "table: a member joins: %s", t.policy);
	table_free(&t);
	free(line);
}

static void test_place(void)
{
	changed(FAST, "concentrate 4 fast 1 share 30", 1, 2, "concentrate 4 fast 2 share 30");
	changed(FAST, "concentrate 2 fast 1", 1, -1, "concentrate 2 fast auto");
	changed(FAST, "concentrate 2 fast 11", 1, 2, "concentrate 2 fast 11");
	changed(FAST, "concentrate 2 fast auto", 0, 2, "concentrate 2 fast auto");
	changed(FAST, "concentrate 0", 0, 2, "concentrate 0");
	changed(SHARES, "static 2 shares 80,20", 0, 2, "static 2 shares 0,20,80");
	changed(SHARES, "static 4 shares 60.5,19.5,20 low_free 0", 1, 2,
		"static 4 shares 60.5,20,19.5 low_free 0");
	changed(SHARES, "static 0", 1, 2, "static 0");
	joins("static 2 shares 80,20", "static 2 shares 80,20,0", TABLE_HAS_NO_SHARE);
	joins("static 2 shares 80,0,20", "static 2 shares 80,0,20", 0);
	joins("static 2 shares 80,20,0", "static 2 shares 80,20,0", TABLE_HAS_NO_SHARE);
	joins("static 0", "static 0", 0);
	joins("concentrate 4 fast 2 pin 0+2:2,4+1:1", "concentrate 4 fast auto pin 4+1:1",
	      TABLE_FAST_IS_AUTO);
}

static void test_table(void)
{
	static const char line[] = "2 8:0 0 8:16 0 256 2 8:0 6144 - 0 1 no_discard_passdown static 2 shares 80,20";
	static const char * const wrong[] = {
		"", "2 8:0 0", "1 8:0 1 256 1 8:0 0 0 fill 0", "1 8:0 0 256 1 8:0 0 0 fill 0 x",
		"1 8:0 0 256 1 8:0 0 1 fill 0", "1 8:0 0 256 1 8:0 0 0 fill",
	};
	char why[128], *built;
	struct table t;
	size_t i;

	if (ktap_ok(table_parse(line, &t, why, sizeof(why)), "table: a full line")) {
		ktap_ok(t.nr_meta == 2 && t.nr_devs == 2 && t.dev[0].start == 6144 &&
			!strcmp(t.dev[1].dev, "-") && !strcmp(t.features, "1 no_discard_passdown") &&
			!strcmp(t.policy, "static 2 shares 80,20"), "table: its parts");
		built = table_build(&t);
		ktap_ok(!strcmp(built, line), "table: round trip");
		free(built);
		table_free(&t);
	}
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		bool ok = table_parse(wrong[i], &t, why, sizeof(why));

		ktap_ok(!ok, "table refused: '%s'", wrong[i]);
		if (ok)
			table_free(&t);
	}
}

static void test_policy(void)
{
	static char * const settings[] = { "alpha=10", "shares=80,20" };
	static char * const wrong[] = { "alpha", "=1", "a=", "a b=1", "a=b=c" };
	const char *bad_word;
	char *text;
	size_t i;

	text = table_policy("p", settings, 2, &bad_word);
	ktap_ok(text && !strcmp(text, "p 4 alpha 10 shares 80,20"), "policy words");
	free(text);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		text = table_policy("p", &wrong[i], 1, &bad_word);
		ktap_ok(!text && bad_word == wrong[i], "policy words refused: '%s'", wrong[i]);
		free(text);
	}
}

static void test_units(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "1", 1 }, { "128K", 131072 }, { "4m", 4194304 }, { "2GiB", 2ULL << 30 },
		{ "3T", 3ULL << 40 },
	};
	static const char * const wrong[] = { "", "K", "1.5G", "-1", "1X", "1KB", "99999999999P", "1 K" };
	char text[UNIT_TEXT], cells[11];
	uint64_t v;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(*good); i++)
		ktap_ok(parse_size(good[i].text, &v) && v == good[i].bytes, "size %s", good[i].text);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		ktap_ok(!parse_size(wrong[i], &v), "size refused: '%s'", wrong[i]);
	ktap_ok(!strcmp(human_bytes(text, 131072), "128K") &&
		!strcmp(human_bytes(text, 1610612736), "1.5G") &&
		!strcmp(human_ns(text, 80500), "80.5us") && !strcmp(human_ns(text, 0), "0ns"),
		"human units");
	bar(cells, 10, 500000, 800000);
	ktap_ok(!strcmp(cells, "#####...|."), "bar '%s'", cells);
	bar(cells, 10, 1000000, 1000000);
	ktap_ok(!strcmp(cells, "#########|"), "full bar '%s'", cells);
}

static void test_klog(void)
{
	int rank;
	const char *r;

	r = klog_match("device-mapper: table: 254:0: hybrid: Unknown policy (-EINVAL)", &rank);
	ktap_ok(r && !strcmp(r, "Unknown policy (-EINVAL)") && rank == 4, "kernel log: constructor");
	r = klog_match("device-mapper: hybrid: alpha must be below 1000", &rank);
	ktap_ok(r && !strcmp(r, "alpha must be below 1000") && rank == 3, "kernel log: message");
	ktap_ok(!klog_match("EXT4-fs (sda): mounted", &rank) && !rank, "kernel log: others' lines");
}

int main(void)
{
	struct status st;
	char why[128];
	size_t i;

	ktap_begin();
	test_good();
	for (i = 0; i < sizeof(also_good) / sizeof(*also_good); i++) {
		bool ok = status_parse(also_good[i], &st, why, sizeof(why));

		ktap_ok(ok, "status: '%.20s...'%s%s", also_good[i], ok ? "" : ": ", ok ? "" : why);
		if (ok)
			status_free(&st);
	}
	test_bad();
	test_mangled();
	test_table();
	test_pins();
	test_place();
	test_policy();
	test_units();
	test_klog();
	return ktap_end();
}
