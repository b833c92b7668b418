// SPDX-License-Identifier: GPL-2.0-only
/* Labels, the offline check and the layout, on image files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "../commands.h"
#include "../layout.h"
#include "../offline.h"
#include "image.h"
#include "ktap.h"

static char dir[KTAP_NAME];

#define MAP(l, m, p)	{ .le = (l), .member = (m), .pe = (p), .valid = 1 }
#define FREE(m, p)	{ .free = true, .member = (m), .pe = (p) }

/* Check both files (or only the first) and compare with what must come out. */
static void expect(struct image_set *set, int files, const char *what, uint64_t errors,
		   uint64_t warnings, uint64_t mapped, const char *text)
{
	char *paths[2] = { set->path[0], set->path[1] };
	struct pools pools;
	struct check c;
	uint64_t i;
	bool found = !text;

	if (!ktap_ok(!offline_pools(&pools, paths, files) && pools.nr == 1, "%s: one pool", what))
		return;
	ktap_ok(!check_pool(&c, &pools.pool[0]), "%s: runs", what);
	for (i = 0; i < c.errors.nr && i < FINDINGS_KEPT; i++) {
		found = found || strstr(c.errors.text[i], text);
		printf("# error: %s\n", c.errors.text[i]);
	}
	for (i = 0; i < c.warnings.nr && i < FINDINGS_KEPT; i++) {
		found = found || strstr(c.warnings.text[i], text);
		printf("# warning: %s\n", c.warnings.text[i]);
	}
	ktap_ok(c.errors.nr == errors && c.warnings.nr == warnings && c.mapped == mapped,
		"%s: %llu errors, %llu warnings, %llu mapped", what, (unsigned long long)c.errors.nr,
		(unsigned long long)c.warnings.nr, (unsigned long long)c.mapped);
	ktap_ok(found, "%s: says '%s'", what, text ? text : "");
	findings_free(&c.errors);
	findings_free(&c.warnings);
	pools_free(&pools);
}

int command_help(void)
{
	return EXIT_OK;
}

int bad_option(char **argv)
{
	(void)argv;
	return EXIT_USAGE;
}

/* Does dump --map come to its end, and say that it did? */
static bool dumps(struct image_set *set)
{
	char *argv[] = { "dump", "--map", set->path[0], set->path[1], NULL };
	char line[512], last[512] = "";
	FILE *out = tmpfile();
	int was = dup(1), status;

	fflush(stdout);
	dup2(fileno(out), 1);
	optind = 0;
	status = cmd_dump(4, argv);
	fflush(stdout);
	dup2(was, 1);
	close(was);
	rewind(out);
	while (fgets(line, sizeof(line), out))
		strcpy(last, line);
	fclose(out);
	return !status && !strcmp(last, "end\n");
}

static void complete(struct image_set *set, const char *what, bool all, bool dumped)
{
	char *paths[2] = { set->path[0], set->path[1] };
	struct pools pools;
	struct check c;

	if (!ktap_ok(!offline_pools(&pools, paths, 2) && pools.nr == 1, "%s: one pool", what))
		return;
	ktap_ok(!check_pool(&c, &pools.pool[0]) && c.complete == all, "%s: %scomplete", what,
		all ? "" : "not ");
	findings_free(&c.errors);
	findings_free(&c.warnings);
	pools_free(&pools);
	ktap_ok(dumps(set) == dumped, "%s: %sdumped", what, dumped ? "" : "not ");
}

static void test_clean(void)
{
	static const struct image_change first[] = { MAP(0, 0, 0), MAP(7, 1, 3) };
	static const struct image_change moved[] = { MAP(7, 0, 1), FREE(1, 3), MAP(8, 1, 3) };
	struct image_set set;

	image_make(&set, dir);
	expect(&set, 2, "empty", 0, 0, 0, NULL);
	image_journal(&set, first, 2);
	expect(&set, 2, "journal", 0, 0, 2, NULL);
	image_journal(&set, moved, 3);
	expect(&set, 2, "migration", 0, 0, 3, NULL);
	expect(&set, 1, "one device", 0, 1, 3, "not given, so not checked: metadata area 1, member 1");
	image_checkpoint(&set, first, 1, 1);
	expect(&set, 2, "checkpoint", 0, 0, 1, NULL);
	image_close(&set);
}

/* A pool with one extent.  Return: where the page of the map is that has it. */
static u64 make_one(struct image_set *set)
{
	static const struct image_change one[] = { MAP(0, 0, 0) };

	image_make(set, dir);
	image_checkpoint(set, one, 1, 1);
	return image_page_offset(set);
}

/* Labels are no part of the map. */
static void test_complete(void)
{
	struct image_set set;
	u64 page;

	page = make_one(&set);
	complete(&set, "clean", true, true);
	image_spoil(&set, 0, 100, 4);
	complete(&set, "label damaged", true, true);
	image_spoil(&set, 0, page + 100, 1);
	complete(&set, "page damaged on one mirror", true, true);
	image_spoil(&set, 1, page + 100, 1);
	complete(&set, "page damaged on both", false, false);
	image_close(&set);
}

/* One that was to take a place: it counts for nothing, but the pool is complete with it. */
static void test_unnamed(void)
{
	static const struct image_change one[] = { MAP(0, 0, 0) };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		unsigned int k = i & 1;
		struct image_set set;
		struct pools pools;
		char *paths[2] = { set.path[0], set.path[1] };

		image_make(&set, dir);
		image_journal(&set, one, 1);
		if (i & 2)
			image_leave(&set, k);
		image_new_area(&set, k);
		ktap_ok(!offline_pools(&pools, paths, 2) && pools.nr == 1, "unnamed %u: one pool",
			i);
		ktap_ok(pools.pool[0].meta[!k].there, "unnamed %u: the one that counts is there",
			i);
		ktap_ok(pools.pool[0].meta[k].there == !!(i & 2), "unnamed %u: only if stale", i);
		pools_free(&pools);
		image_close(&set);
	}
}

static void expect_lack(struct image_set *set, int files, const char *what, const char *missing,
			bool stale_only)
{
	char *paths[2] = { set->path[0], set->path[1] }, *text;
	struct pools pools;

	if (!ktap_ok(!offline_pools(&pools, paths, files) && pools.nr == 1, "%s: one pool", what))
		return;
	text = pool_missing(&pools.pool[0]);
	ktap_ok(text && !strcmp(text, missing), "%s: without %s", what, text ? text : "nothing");
	free(text);
	ktap_ok(pool_lacks_stale_only(&pools.pool[0]) == stale_only, "%s: that %s be done without",
		what, stale_only ? "can" : "can't");
	if (stale_only) {
		pools.pool[0].to_come = 3;
		ktap_ok(!pool_lacks_stale_only(&pools.pool[0]), "%s: not if it is to come", what);
	}
	pools_free(&pools);
}

/* Metadata that was left out before is no loss, if nothing else is missing. */
static void test_stale(void)
{
	static const struct image_change one[] = { MAP(0, 0, 0) };
	static const char * const area[] = { "metadata area 0", "metadata area 1" };
	struct image_set set;
	unsigned int k;

	for (k = 0; k < 2; k++) {
		image_make(&set, dir);
		image_journal(&set, one, 1);
		image_wipe_area(&set, k);
		expect_lack(&set, 2, "a mirror is gone", area[k], false);
		image_close(&set);
		image_make(&set, dir);
		image_leave(&set, k);
		image_wipe_area(&set, k);
		expect_lack(&set, 2, "a stale mirror is gone", area[k], true);
		image_close(&set);
	}
	image_make(&set, dir);
	image_leave(&set, 1);
	expect_lack(&set, 1, "with a member", "metadata area 1, member 1", false);
	image_close(&set);
}

static void test_map(void)
{
	static const struct image_change twice[] = { MAP(0, 0, 0), MAP(1, 0, 0) };
	static const struct image_change freed[] = { MAP(0, 0, 0), MAP(1, 0, 1), FREE(0, 1) };
	struct image_set set;

	image_make(&set, dir);
	image_journal(&set, twice, 2);
	expect(&set, 2, "doubly mapped", 1, 0, 2, "another has, too");
	image_close(&set);
	image_make(&set, dir);
	image_journal(&set, freed, 3);
	expect(&set, 2, "mapped and free", 1, 0, 2, "marked free");
	image_close(&set);
	image_make(&set, dir);
	image_checkpoint(&set, freed, 2, 5);
	expect(&set, 2, "leaked", 0, 1, 2, "3 extents marked used that nothing maps");
	image_close(&set);
}

static void test_damage(void)
{
	struct image_set set;
	u64 page;

	page = make_one(&set);
	image_spoil(&set, 0, page + 100, 1);
	expect(&set, 2, "page damaged on one mirror", 1, 0, 1, "metadata area 0: page 0: damaged");
	image_spoil(&set, 1, page + 200, 1);
	expect(&set, 2, "page damaged on both", 3, 1, 0, "page 0 (extents 0 to 507): damaged");
	image_close(&set);

	image_make(&set, dir);
	image_spoil(&set, 0, 100, 4);
	expect(&set, 2, "label damaged", 1, 0, 0, "label of metadata area 0 is damaged");
	image_spoil(&set, 1, IMAGE_SECTORS * 512ull - 4096 + 300, 4);
	expect(&set, 2, "copy damaged", 2, 0, 0, "the label's copy of member 1 is damaged");
	image_close(&set);

	image_make(&set, dir);
	image_spoil(&set, 0, EK_AREA_HEAD_BYTES, 131072);
	image_spoil(&set, 1, EK_AREA_HEAD_BYTES, 131072);
	expect(&set, 2, "superblocks lost", 1, 0, 0, "metadata: ");
	image_close(&set);

	image_make(&set, dir);
	image_spoil(&set, 1, EK_AREA_HEAD_BYTES, 131072);
	expect(&set, 2, "superblocks of one area lost", 0, 1, 0, "metadata area 1 has no superblock");
	image_close(&set);
}

static void another_uuid(struct ek_label *label)
{
	label->area_uuid[3] ^= 1;
}

/* Labels that are whole, and not what they should be. */
static void test_labels(void)
{
	const u64 member = IMAGE_META * 512ull, end = IMAGE_SECTORS * 512ull - 4096;
	struct image_set set, alike;
	struct pools pools;
	char *path = set.path[0], block[4096];

	image_make(&set, dir);
	image_relabel(&set, 0, end, another_uuid);
	expect(&set, 2, "labels differ", 1, 0, 0, "label of member 0 and its copy differ");
	image_close(&set);

	image_make(&set, dir);
	image_of_extents(&set, 2 * IMAGE_EXTENT);
	expect(&set, 2, "other extents", 1, 0, 0, "of different pools or shapes");
	image_close(&set);

	image_make(&set, dir);
	image_shrunk(&set, 1);
	expect(&set, 2, "a smaller member", 1, 0, 0, "the superblock says");
	image_close(&set);

	image_make(&set, dir);
	ktap_ok(!ftruncate(set.fd[1], 2 * member), "a shorter device: made");
	expect(&set, 2, "a shorter device", 0, 1, 0, "not given, so not checked: member 1");
	image_close(&set);

	image_make(&set, dir);
	alike = set;
	snprintf(alike.path[1], sizeof(alike.path[1]), "%.200s.copy", set.path[0]);
	image_copy(&set, 0, alike.path[1]);
	expect(&alike, 2, "two alike", 1, 1, 0, "carry the same label");
	unlink(alike.path[1]);
	image_close(&set);

	/* The second half of a disk, as a partition: what its label says lies elsewhere. */
	image_make(&set, dir);
	ktap_ok(pread(set.fd[0], block, sizeof(block), member) == sizeof(block) &&
		pwrite(set.fd[0], block, sizeof(block), 0) == sizeof(block) &&
		!ftruncate(set.fd[0], end + 4096 - member), "a label in another place: made");
	ktap_ok(offline_pools(&pools, &path, 1), "a label in another place: refused");
	image_close(&set);
}

static void test_states(void)
{
	struct image_set set;

	image_make(&set, dir);
	image_leave(&set, 1);
	expect(&set, 2, "stale", 0, 1, 0, "metadata area 1 is stale");
	image_close(&set);
	image_make(&set, dir);
	image_flags(&set, EK_SUPER_NEEDS_CHECK, 0);
	expect(&set, 2, "needs a check", 0, 1, 0, "needing a check");
	image_close(&set);
}

static void test_none(void)
{
	struct image_set set;
	struct pools pools;
	char *path;

	image_make(&set, dir);
	if (ftruncate(set.fd[0], 0) || ftruncate(set.fd[0], 1 << 20))
		ktap_ok(false, "truncate");
	path = set.path[0];
	ktap_ok(offline_pools(&pools, &path, 1), "no label: refused");
	image_close(&set);
}

/* Anybody can write a label. */
static void test_name(void)
{
	struct image_set set;
	struct pools pools;
	char *paths[2] = { set.path[0], set.path[1] };

	image_make(&set, dir);
	image_named(&set, "a b\\x20c\nd\377\033[2J");
	ktap_ok(!offline_pools(&pools, paths, 2) && pools.nr == 1 &&
		!strcmp(pools.pool[0].name, "a_b\\x20c_d___2J"), "name: what is in none");
	pools_free(&pools);
	image_close(&set);
}

static char *lay(struct layout *l, uint64_t a, uint64_t b)
{
	l->nr_members = 2;
	l->path[0] = "a";
	l->path[1] = "b";
	l->dev_sectors[0] = a;
	l->dev_sectors[1] = b;
	return layout_make(l);
}

static void test_layout(void)
{
	struct layout l = { 0 };
	char *why;

	why = lay(&l, 2ull << 21, 4ull << 21);
	ktap_ok(!why && l.carve && l.nr_meta == 2 && l.extent_sectors == 256 && l.start[0] &&
		!(l.start[0] % 2048) && l.start[1] == l.start[0] && l.logical < l.total &&
		l.logical > l.total * 98 / 100, "layout: metadata carved, reserve kept");
	memset(&l, 0, sizeof(l));
	why = lay(&l, 40ull << 31, 1ull << 31);
	ktap_ok(!why && l.extent_sectors == 1024, "layout: 40 TiB get extents of 512K");
	memset(&l, 0, sizeof(l));
	l.extent_sectors = 256;
	why = lay(&l, 40ull << 31, 1ull << 31);
	ktap_ok(why && strstr(why, "--extent 512K would fit"), "layout: says '%s'", why ? why : "");
	free(why);
	memset(&l, 0, sizeof(l));
	why = lay(&l, 4096, 1ull << 21);
	ktap_ok(why && strstr(why, "a: too small"), "layout: says '%s'", why ? why : "");
	free(why);
	memset(&l, 0, sizeof(l));
	l.size = 1ull << 40;
	why = lay(&l, 1ull << 21, 1ull << 21);
	ktap_ok(why && strstr(why, "more than the members hold"), "layout: says '%s'", why ? why : "");
	free(why);
	memset(&l, 0, sizeof(l));
	l.size = 131073;
	why = lay(&l, 1ull << 21, 1ull << 21);
	ktap_ok(!why && l.logical == 2, "layout: size rounded up");
	memset(&l, 0, sizeof(l));
	l.nr_meta = 1;
	l.meta_path[0] = "m";
	l.meta_sectors[0] = 2048;
	why = lay(&l, 1ull << 21, 1ull << 21);
	ktap_ok(why && strstr(why, "m: too small for the metadata"), "layout: says '%s'",
		why ? why : "");
	free(why);
}

/* What one of two looks at a pool found alone may be no damage. */
static void test_common(void)
{
	struct findings one = { .nr = 0 }, two = { .nr = 0 };
	unsigned int i;

	findings_add(&one, "journal: %s", "damaged");
	findings_add(&one, "page 1");
	findings_add(&two, "page 1");
	findings_add(&two, "page 2");
	findings_common(&two, &one);
	ktap_ok(two.nr == 1 && !strcmp(two.text[0], "page 1"), "findings: of two looks, in order");
	findings_free(&two);
	findings_add(&two, "a\nb");
	ktap_ok(!strcmp(two.text[0], "a\\012b"), "findings: a line stays one");
	findings_free(&two);
	findings_add(&two, "page 1");
	for (i = 0; i <= FINDINGS_KEPT; i++)
		findings_add(&one, "more");
	findings_common(&one, &two);
	ktap_ok(one.nr == 1 && !strcmp(one.text[0], "page 1"), "findings: more than are kept");
	for (i = 0; i <= FINDINGS_KEPT; i++) {
		findings_add(&one, "one %u", i);
		findings_add(&two, "two %u", i);
	}
	findings_common(&one, &two);
	ktap_ok(one.nr == FINDINGS_KEPT + 2, "findings: more than are kept of both: they count");
	findings_free(&one);
	findings_free(&two);
}

int main(void)
{
	setbuf(stdout, NULL);
	ktap_begin();
	if (!mkdtemp(ktap_name(dir, "/tmp"))) {
		puts("Bail out! no directory");
		return 1;
	}
	test_clean();
	test_unnamed();
	test_stale();
	test_map();
	test_complete();
	test_damage();
	test_labels();
	test_states();
	test_none();
	test_name();
	test_layout();
	test_common();
	rmdir(dir);
	return ktap_end();
}
