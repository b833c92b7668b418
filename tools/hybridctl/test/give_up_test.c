// SPDX-License-Identifier: GPL-2.0-only
/* What is given up of a member that is there, and how often it comes back meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../dm.h"
#include "../extents.h"
#include "../give_up.h"
#include "../msg.h"
#include "../owner.h"
#include "../pool.h"
#include "../sole.h"
#include "capture.h"
#include "ktap.h"

#define EXTENT_SECTORS	128
#define EXTENT		(EXTENT_SECTORS * SECTOR_SIZE)
#define GRANULE		4096
#define GRANULES	(EXTENT / GRANULE)
#define ALL		((1u << GRANULES) - 1)

/* The only extent that there is: a bit for each of its granules. */
static struct {
	unsigned int bad;	/* can't be read */
	unsigned int away;	/* likewise, since its label was asked for, and till it is again */
	unsigned int nr_asked;
	unsigned int gone;	/* was discarded */
	unsigned int nr_discards;
	bool dead;		/* nor can its label */
	bool unheard;		/* what is printed does not get out */
} now;

/* --- what is asked of the others --- */

static unsigned int granules(uint64_t offset, uint64_t len)
{
	return ((1u << len / GRANULE) - 1) << offset / GRANULE;
}

int bdev_read(const struct bdev *dev, uint64_t offset, void *buf, size_t len)
{
	unsigned int fails = now.bad | (now.nr_asked == 1 ? now.away : 0);

	return granules(offset, len) & fails ? -EIO : 0;
}

int bdev_discard(const struct bdev *dev, uint64_t offset, uint64_t len)
{
	now.bad &= ~granules(offset, len);
	now.gone |= granules(offset, len);
	now.nr_discards++;
	return 0;
}

enum live_answer live_answers(const struct table_area *a)
{
	if (now.dead)
		return LIVE_DEAD;
	now.nr_asked++;
	return LIVE_ANSWERS;
}

int bdev_flush(const struct bdev *dev)
{
	return 0;
}

void *bdev_buffer(size_t len)
{
	return xcalloc(1, len);
}

int bdev_open(struct bdev *dev, const char *path, unsigned int flags)
{
	return -ENOENT;
}

void bdev_close(struct bdev *dev)
{
}

bool bdev_has_holders(dev_t rdev)
{
	return false;
}

int area_find(const struct bdev *dev, struct area *area, int *head_err)
{
	return 0;
}

char *owner_of(const struct bdev *dev, const struct area *area, int nr)
{
	return NULL;
}

int pools_scan_owned(struct pools *pools, uint64_t least)
{
	return -ENOMEM;
}

void pools_quietly(bool is)
{
}

void pool_settle(struct pool *pool)
{
}

void pools_free(struct pools *pools)
{
}

int sole_open(struct bdev *dev, const char *name)
{
	memset(dev, 0, sizeof(*dev));
	dev->sectors = EXTENT_SECTORS;
	return 0;
}

bool sole_is(const char *name)
{
	return true;
}

bool live_standing(const char *name, unsigned int nr_devs, struct standing *s)
{
	return false;
}

int dm_get_table(const char *name, char **params, uint64_t *sectors)
{
	*params = xstrdup("");
	*sectors = EXTENT_SECTORS;
	return 0;
}

bool table_parse(const char *params, struct table *t, char *why, unsigned long why_size)
{
	memset(t, 0, sizeof(*t));
	t->nr_devs = 1;
	t->dev[0].dev = "8:0";
	return true;
}

void table_free(struct table *t)
{
}

int dm_message(const char *name, const char *message, char **reply, char **why)
{
	*reply = xstrdup("0 0 0");
	return 0;
}

void extents_ask(struct extents *e, const char *name, const char *question)
{
	static struct extent_range all = { .nr = 1 };

	memset(e, 0, sizeof(*e));
	e->range = &all;
	e->nr = 1;
}

void extents_free(struct extents *e)
{
}

/* --- the tests --- */

static void be_unheard(void)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	dup2(full, STDOUT_FILENO);
	close(full);
	puts("what was given up before");
	fflush(stdout);
}

static int give_up_first(uint64_t *bytes)
{
	struct live l = { .name = "v", .sectors = EXTENT_SECTORS };
	char said[4096];
	struct capture out, err;
	int ret;

	l.t.nr_devs = 1;
	l.t.dev[0].dev = "8:0";
	l.st.nr_devs = 1;
	l.st.extent_sectors = EXTENT_SECTORS;
	l.st.dev[0].present = true;
	now.nr_discards = 0;
	now.nr_asked = 0;
	now.gone = 0;
	capture_begin(&out, stdout);
	capture_begin(&err, stderr);
	if (now.unheard)
		be_unheard();
	ret = give_up(&l, 0, bytes);
	capture_end(&err, said, sizeof(said));
	capture_end(&out, said, sizeof(said));
	clearerr(stdout);
	return ret;
}

static void gives_up(const char *title, unsigned int bad, unsigned int away, unsigned int gone)
{
	uint64_t bytes;
	int ret;

	now.bad = bad;
	now.away = away;
	ret = give_up_first(&bytes);
	ktap_ok(!ret && now.gone == gone && bytes == (uint64_t)__builtin_popcount(gone) * GRANULE,
		"%s: 0x%x", title, gone);
}

static void test_bad(void)
{
	gives_up("what can be read stays", 0, 0, 0);
	gives_up("what can't goes", 0x28, 0, 0x28);
	gives_up("nothing can be read", ALL, 0, ALL);
	ktap_ok(now.nr_discards == 1, "as a whole, so that nothing is left to be moved");
}

/* What is back when its label is asked for is read once more before it is given up. */
static void test_away(void)
{
	gives_up("a part comes back with the label", 0, 0x8, 0);
	gives_up("and another does not", 0x20, 0x8, 0x20);
	gives_up("all comes back with the label", 0, ALL, 0);
	gives_up("and a part does not", 0x20, ALL, 0x20);
}

static void test_dead(void)
{
	uint64_t bytes;

	now.dead = true;
	now.bad = ALL;
	ktap_ok(give_up_first(&bytes) == EXIT_FAILED && !now.gone && !bytes,
		"nor can the label be read: nothing goes");
	now.dead = false;
}

static void test_unheard(void)
{
	uint64_t bytes;

	now.unheard = true;
	now.bad = ALL;
	ktap_ok(give_up_first(&bytes) == EXIT_FAILED && !now.gone && !bytes,
		"nobody reads what goes: nothing does");
	now.unheard = false;
}

int main(void)
{
	ktap_begin();
	test_bad();
	test_away();
	test_dead();
	test_unheard();
	return ktap_end();
}
