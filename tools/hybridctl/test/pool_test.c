// SPDX-License-Identifier: GPL-2.0-only
/* Which of several devices with the label of one place is taken, however they are found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../dm.h"
#include "../msg.h"
#include "../pool.h"
#include "../table.h"
#include "../udev_db.h"
#include "capture.h"
#include "image.h"
#include "ktap.h"
#include "wrapped.h"

#define MEMBER		((u64)IMAGE_META * 512)
#define END		((u64)IMAGE_SECTORS * 512)
#define BLOCK		4096

/* --- the machine: devices that are image files --- */

enum {
	OTHER,		/* what the pool has besides */
	MEANT,
	COPY,
	SNAP, SNAP_2,	/* snapshots of MEANT */
	BELOW,		/* MEANT lies on it */
	LEFT, LEFT_2,	/* was replaced, and was not wiped; and a copy of it */
	LEG,		/* has the signature of what it is part of */
	PART,		/* what was replaced, of which only the member is left */
	NR_DEVICES
};

static const char letter[NR_DEVICES + 1] = "OMCSsBRrLP";
static char path[NR_DEVICES][KTAP_NAME + 16];

static struct {
	unsigned int found[NR_DEVICES], nr;	/* by the scan, in this order */
	unsigned int to_come;			/* a bit each */
	bool private;				/* these are not, but private */
	bool active;				/* on OTHER and MEANT */
	unsigned int place;			/* that MEANT has */
} machine;

static dev_t number(unsigned int i)
{
	return makedev(0xfff, i + 1);
}

static unsigned int device(dev_t rdev)
{
	return minor(rdev) - 1;
}

bool __wrap_bdev_is_snapshot(dev_t rdev)
{
	return device(rdev) == SNAP || device(rdev) == SNAP_2;
}

bool __wrap_bdev_is_above(dev_t upper, dev_t lower)
{
	return device(upper) == MEANT && device(lower) == BELOW;
}

void __wrap_bdev_for_each(void (*fn)(void *ctx, dev_t rdev), void *ctx)
{
	unsigned int i;

	for (i = 0; i < machine.nr; i++)
		fn(ctx, number(machine.found[i]));
}

char *__wrap_bdev_path(dev_t rdev)
{
	return xstrdup(path[device(rdev)]);
}

const char *__wrap_bdev_stalled(dev_t rdev)
{
	(void)rdev;
	return NULL;
}

bool __wrap_udev_db_is_to_come(dev_t rdev)
{
	return !machine.private && machine.to_come >> device(rdev) & 1;
}

bool __wrap_udev_db_is_private(dev_t rdev)
{
	return machine.private && machine.to_come >> device(rdev) & 1;
}

int __wrap_bdev_open(struct bdev *dev, const char *name, unsigned int flags)
{
	int err = __real_bdev_open(dev, name, (flags & ~BDEV_LOOK) | BDEV_FILES);
	unsigned int i;

	for (i = 0; !err && i < NR_DEVICES; i++)
		if (!strcmp(name, path[i]))
			dev->rdev = number(i);
	return err;
}

int __wrap_bdev_open_same(struct bdev *dev, const char *name, dev_t rdev, unsigned int flags)
{
	(void)rdev;
	return __wrap_bdev_open(dev, name, flags);
}

int __wrap_dm_list_hybrid(struct dm_dev **devs, unsigned int *nr)
{
	*devs = xcalloc(1, sizeof(**devs));
	*nr = machine.active;
	if (machine.active)
		(*devs)->name = xstrdup("vol");
	return 0;
}

int __wrap_dm_list_unfinished(struct dm_dev **devs, unsigned int *nr)
{
	*devs = NULL;
	*nr = 0;
	return 0;
}

int __wrap_dm_get_table(const char *name, char **params, uint64_t *sectors)
{
	struct table t = { .nr_meta = 2, .nr_devs = 2, .extent_sectors = IMAGE_EXTENT,
			   .features = "0", .policy = "stripe 0" };
	char *dev[2];
	unsigned int i;

	(void)name;
	for (i = 0; i < 2; i++) {
		dev[i] = xasprintf("%u:%u", major(number(0)),
				   minor(number(i == machine.place ? MEANT : OTHER)));
		t.meta[i].dev = dev[i];
		t.dev[i].dev = dev[i];
		t.dev[i].start = IMAGE_META;
	}
	*params = table_build(&t);
	*sectors = 0;
	free(dev[0]);
	free(dev[1]);
	return 0;
}

static void another_uuid(struct ek_label *label)
{
	label->area_uuid[3] ^= 0x55;
}

/* The file of that name, as the first of a set. */
static void change(const char *name, void (*how)(struct image_set *one))
{
	struct image_set one = { .fd = { -1, -1 } };
	FILE *f = fopen(name, "r+e");

	if (!f)
		abort();
	one.fd[0] = fileno(f);
	how(&one);
	fclose(f);
}

static void relabel(struct image_set *one)
{
	const u64 at[] = { 0, MEMBER - BLOCK, MEMBER, END - BLOCK };
	unsigned int i;

	for (i = 0; i < sizeof(at) / sizeof(*at); i++)
		image_relabel(one, 0, at[i], another_uuid);
}

static void unlabel(struct image_set *one)
{
	image_spoil(one, 0, 0, BLOCK);
	image_spoil(one, 0, MEMBER - BLOCK, BLOCK);
}

static void sign(struct image_set *one)
{
	image_md(one, 0);
}

static void name_it(unsigned int i, const struct image_set *set)
{
	if (link(set->path[i == OTHER ? !machine.place : machine.place], path[i]))
		abort();
}

static void make_machine(struct image_set *set, char *dir, unsigned int place)
{
	unsigned int i;

	image_make(set, dir);
	memset(&machine, 0, sizeof(machine));
	machine.place = place;
	for (i = 0; i < NR_DEVICES; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%c", dir, letter[i]);
	for (i = OTHER; i <= BELOW; i++)
		name_it(i, set);
	image_copy(set, place, path[LEFT]);
	change(path[LEFT], relabel);
	if (link(path[LEFT], path[LEFT_2]))
		abort();
	image_copy(set, place, path[LEG]);
	change(path[LEG], sign);
	image_copy(set, place, path[PART]);
	change(path[PART], relabel);
	change(path[PART], unlabel);
}

static void close_machine(struct image_set *set)
{
	unsigned int i;

	for (i = 0; i < NR_DEVICES; i++)
		unlink(path[i]);
	image_close(set);
}

/* --- who is taken --- */

struct which {
	const char *found;	/* letters */
	const char *alike;	/* nobody knows which of these is meant; NULL: MEANT it is */
	bool passed;		/* a snapshot is said to be passed over */
};

static bool is_taken(const struct pool *p, unsigned int i)
{
	const struct pool_area *meta = &p->meta[machine.place];
	const struct pool_area *member = &p->member[machine.place];

	return meta->there && member->there && meta->rdev == number(i) && member->rdev == number(i);
}

/* Are the two that a conflict is told of among @letters? */
static bool tells(const char *conflict, const char *letters)
{
	unsigned int i, nr = 0;

	for (i = 0; i < NR_DEVICES; i++) {
		char *word = xasprintf("%s ", path[i]);

		if (strchr(letters, letter[i]))
			nr += !!strstr(conflict, word);
		else if (strstr(conflict, word))
			nr = 9;
		free(word);
	}
	return nr == 2;
}

static bool is_right(const struct which *w, char *why, size_t size)
{
	struct pools pools;
	char text[700];
	struct capture c;
	struct pool *p;
	char *missing;
	bool right;

	capture_begin(&c, stderr);
	right = !pools_scan(&pools);
	capture_end(&c, text, sizeof(text));
	if (!right || pools.nr != 1)
		return false;
	p = pools.pool;
	missing = pool_missing(p);
	if (machine.active || !w->alike)
		right = !p->conflict && !p->alike && is_taken(p, MEANT);
	else
		right = p->conflict && p->alike && tells(p->conflict, w->alike);
	right = right && !missing && !p->active == !machine.active &&
		(machine.active || w->alike || w->passed == !!strstr(text, "is a snapshot"));
	snprintf(why, size, "%s; %s; %s", p->member[machine.place].path,
		 p->conflict ? p->conflict : "no conflict", text);
	free(missing);
	pools_free(&pools);
	return right;
}

/* All orders of what is found from the @first on. */
static void permute(const struct which *w, unsigned int first)
{
	char why[2048] = "", order[NR_DEVICES + 1] = "";
	unsigned int i, swap;

	if (first == machine.nr) {
		for (i = 0; i < machine.nr; i++)
			order[i] = letter[machine.found[i]];
		if (!ktap_ok(is_right(w, why, sizeof(why)), "place %u%s: %s: %s", machine.place,
			     machine.active ? ", active" : "", order,
			     w->alike ? "nobody knows which" : "the one that is meant"))
			printf("# %s\n", why);
		return;
	}
	for (i = first; i < machine.nr; i++) {
		swap = machine.found[first];
		machine.found[first] = machine.found[i];
		machine.found[i] = swap;
		permute(w, first + 1);
		machine.found[i] = machine.found[first];
		machine.found[first] = swap;
	}
}

static void find(const char *letters)
{
	for (machine.nr = 0; letters[machine.nr]; machine.nr++)
		machine.found[machine.nr] = strchr(letter, letters[machine.nr]) - letter;
}

static void test_orders(void)
{
	static const struct which of[] = {
		{ "OMS", NULL, true }, { "OMSs", NULL, true }, { "ORMS", NULL, true },
		{ "ORrM", NULL, false }, { "OMB", NULL, false }, { "OMBS", NULL, true },
		{ "OMC", "MC", false }, { "ORMC", "MC", false }, { "OSs", "Ss", false },
		{ "OMCS", "MC", false },
	};
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(*of); i++) {
		find(of[i].found);
		permute(&of[i], 0);
	}
}

/* What it has in use is meant, and beside it a copy is nothing to complain of. */
static void test_active(void)
{
	static const struct which of[] = { { "OMC", NULL, false }, { "ORCM", NULL, false } };
	struct pools pools;
	size_t i;

	machine.active = true;
	for (i = 0; i < sizeof(of) / sizeof(*of); i++) {
		find(of[i].found);
		permute(&of[i], 0);
	}
	for (i = 0; i < sizeof(of) / sizeof(*of); i++) {
		find(of[i].found);
		if (!ktap_ok(!pools_scan(&pools) && pools.nr == 1, "active: one pool"))
			continue;
		pool_settle(pools.pool);
		ktap_ok(!pools.pool->conflict && is_taken(pools.pool, MEANT),
			"active: settled: %s", of[i].found);
		pools_free(&pools);
	}
	machine.active = false;
}

/* --- what udev has yet to look at --- */

static bool is_complete(const struct pool *p)
{
	char *missing = pool_missing(p);

	free(missing);
	return !missing;
}

/* @awaited: NULL: nothing is waited for; empty: what is there is not taken at all. */
static void comes(const char *what, const char *there, const char *later, const char *awaited)
{
	struct capture c;
	struct pools pools;
	struct pool *p;
	char *all = xasprintf("%s%s", later, there), text[8192];
	unsigned int i;
	int err;

	find(all);
	for (i = 0; i < strlen(later); i++)
		machine.to_come |= 1u << machine.found[i];
	capture_begin(&c, stderr);
	err = pools_scan_with(&pools, number(OTHER));
	capture_end(&c, text, sizeof(text));
	if (ktap_ok(!err && pools.nr == 1, "%s is to come: one pool", what)) {
		p = pools.pool;
		ktap_ok(is_complete(p) == !(awaited && !*awaited), "%s is to come: complete or not", what);
		ktap_ok(awaited && *awaited ? p->awaited && strstr(p->awaited, awaited) : !p->awaited,
			"%s is to come: %s", what, p->awaited ? p->awaited : "nothing is waited for");
		pools_free(&pools);
	}
	machine.to_come = 0;
	free(all);
}

static void test_to_come(void)
{
	char *meant = xasprintf("%u is on %s, too", machine.place, path[MEANT]);

	comes("the original of a copy", "OC", "M", meant);
	comes("the original of a snapshot", "OS", "M", "");
	comes("the original of two", "OSs", "M", "");
	comes("the original, beside what was replaced", "ORC", "M", meant);
	/* Neither would be taken. */
	comes("a snapshot", "OM", "S", NULL);
	comes("what lies beneath", "OM", "B", NULL);
	comes("a part of another device", "OM", "L", NULL);
	/* Metadata may tell that they are later, a member is what metadata name. */
	comes("another one without metadata", "OM", "P", NULL);
	comes("another one with metadata", "OM", "R", "metadata area");
	machine.private = true;
	comes("what is private, the original of a copy,", "OC", "M", meant);
	comes("what is private, a leg,", "OM", "B", NULL);
	machine.private = false;
	free(meant);
}

int main(void)
{
	char dir[KTAP_NAME];
	struct image_set set;
	unsigned int place;

	setbuf(stdout, NULL);
	ktap_begin();
	if (!mkdtemp(ktap_name(dir, "/tmp"))) {
		puts("Bail out! no directory");
		return 1;
	}
	for (place = 0; place < 2; place++) {
		make_machine(&set, dir, place);
		test_orders();
		test_active();
		test_to_come();
		close_machine(&set);
	}
	rmdir(dir);
	return ktap_end();
}
