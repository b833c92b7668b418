// SPDX-License-Identifier: GPL-2.0-only
/* Whether a device is a member, and what becomes of one that joins or has left. */
#include <errno.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <evenkeel/store.h>

#include "../dm.h"
#include "../extents.h"
#include "../give_up.h"
#include "../interrupt.h"
#include "../leftover.h"
#include "../lock.h"
#include "../member.h"
#include "../msg.h"
#include "../owner.h"
#include "capture.h"
#include "ktap.h"

#define POOL	'p'
#define MEMBER	'm'

/* The only device that there is, and the superblock of the pool. */
static struct {
	int open_err;
	const char *stalled;
	struct area area;
	const char *instead;	/* what is on the device by now */
	int nr_areas;			/* -errno: it can't be read */
	unsigned int nr_read;
	int super_err;
	uint8_t member;			/* the uuid of member 1 */
	unsigned int nr_disks;		/* like it */
	bool held;			/* by another device */
	unsigned int nr_wiped;
	int signal;			/* that comes while one that joins is wiped; 0: none */
	unsigned int nr_undone, nr_reloaded;
	bool swapped;			/* the path is a member's when it is opened to be taken */
	bool freed;			/* likewise, and till then in use */
	uint64_t commit_ms;		/* 0: as it is unless it is set */
	bool tells;			/* the kernel, what is on its way back */
	unsigned int nr_looks;		/* at the volume */
	unsigned int returns_at;	/* the look that finds one extent less in use */
	unsigned int returning;		/* likewise, extents; each is seen so for as many looks */
} now;

/* --- what is asked of the others --- */

int __wrap_stat(const char *path, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFBLK;
	st->st_rdev = makedev(8, 0);
	return 0;
}

/* The size of logical blocks, which is all that is asked so. */
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	va_start(ap, request);
	*va_arg(ap, int *) = 512;
	va_end(ap);
	return 0;
}

const char *bdev_stalled(dev_t rdev)
{
	return now.stalled;
}

int bdev_open(struct bdev *dev, const char *path, unsigned int flags)
{
	memset(dev, 0, sizeof(*dev));
	if (now.open_err)
		return now.open_err;
	dev->path = xstrdup(path);
	dev->rdev = makedev(8, 0);
	dev->sectors = 65536;
	dev->fd = -1;
	return 0;
}

int bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags)
{
	return bdev_open(dev, path, flags);
}

void bdev_close(struct bdev *dev)
{
	free(dev->path);
	memset(dev, 0, sizeof(*dev));
}

const char *bdev_error(int err)
{
	return strerror(-err);
}

int bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len)
{
	return 0;
}

int bdev_flush(const struct bdev *dev)
{
	return 0;
}

char *bdev_path(dev_t rdev)
{
	return xstrdup("disk");
}

void *bdev_buffer(size_t len)
{
	return xcalloc(1, len);
}

bool bdev_has_holders(dev_t rdev)
{
	return now.held;
}

bool bdev_is_above(dev_t upper, dev_t lower)
{
	return false;
}

void bdev_for_each(void (*fn)(void *ctx, dev_t rdev), void *ctx)
{
	unsigned int i;

	for (i = 0; i < now.nr_disks; i++)
		fn(ctx, makedev(8, i));
}

int area_find(const struct bdev *dev, struct area *area, int *head_err)
{
	now.nr_read++;
	*head_err = now.nr_areas < 0 ? -EIO : 0;
	if (now.nr_areas > 0)
		*area = now.area;
	return now.nr_areas;
}

const char *area_label_error(int err)
{
	return strerror(-err);
}

int fresh_open(struct bdev *dev, const char *path, const struct fresh *how)
{
	if (now.freed)
		now.open_err = 0;
	if (now.swapped)
		memset(now.area.info.area_uuid, MEMBER, EK_UUID_SIZE);
	return bdev_open(dev, path, 0);
}

int fresh_in_use(const char *path, dev_t rdev)
{
	return EXIT_FAILED;
}

int fresh_wipe(struct wipe *w, const char *path, dev_t rdev, uint64_t start, uint64_t sectors,
	       uint64_t head)
{
	if (now.signal)
		raise(now.signal);
	return 0;
}

struct wipe *wipe_new(void)
{
	return xcalloc(1, 1);
}

int wipe_undo(struct wipe *w)
{
	now.nr_undone++;
	return 0;
}

void wipe_free(struct wipe *w)
{
	free(w);
}

bool leftover_is(const struct ek_super *sb, const struct area *a)
{
	return a->info.area_uuid[0] != now.member;
}

bool leftover_may_be_wiped(const struct area *a)
{
	return a->head_err != -EINVAL;
}

int leftover_wipe(const struct bdev *dev, const struct area *a)
{
	now.nr_wiped++;
	return now.area.head_err == -EINVAL ? -EINVAL : 0;
}

char *owner_instead(const struct bdev *dev)
{
	return now.instead ? xstrdup(now.instead) : NULL;
}

int lock_devices(void)
{
	return EXIT_OK;
}

void unlock_devices(void)
{
}

void unlock_pool(void)
{
}

int dm_lookup(const char *name, struct dm_dev *dev)
{
	return 0;
}

int dm_list_hybrid(struct dm_dev **devs, unsigned int *nr)
{
	*devs = NULL;
	*nr = 0;
	return 0;
}

void dm_free_list(struct dm_dev *devs, unsigned int nr)
{
}

int dm_clear(const char *name)
{
	return 0;
}

int live_super(const struct live *l, struct ek_super *sb)
{
	if (now.super_err)
		return now.super_err;
	memset(sb, 0, sizeof(*sb));
	sb->nr_members = cpu_to_le32(2);
	memset(sb->member[0].uuid, 'o', EK_UUID_SIZE);
	memset(sb->member[1].uuid, now.member, EK_UUID_SIZE);
	return EXIT_OK;
}

bool live_uses(const struct live *l, dev_t rdev)
{
	return false;
}

bool live_is_member(const struct live *l, dev_t rdev)
{
	return false;
}

dev_t live_rdev(const struct live *l)
{
	return makedev(254, 0);
}

int live_look(struct live *l)
{
	if (now.returning && ++now.nr_looks % now.returns_at == 0) {
		now.returning--;
		l->st.dev[1].used--;
	}
	return EXIT_OK;
}

bool live_standing(const char *name, unsigned int nr_devs, struct standing *s)
{
	memset(s, 0, sizeof(*s));
	s->dev[1].returning = now.returning;
	return now.tells;
}

/* Nobody waits here. */
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *rest)
{
	return 0;
}

bool live_is_leaving(const struct live *l, unsigned int i)
{
	return false;
}

int live_metadata_on(const struct live *l, unsigned int i)
{
	return -1;
}

int live_message(const struct live *l, const char *verb, unsigned int i)
{
	return EXIT_OK;
}

void live_put(struct live *l, unsigned int i, dev_t rdev, uint64_t start)
{
}

void live_put_none(struct live *l, unsigned int i)
{
}

int live_reload(struct live *l, uint64_t sectors)
{
	now.nr_reloaded++;
	return EXIT_OK;
}

unsigned int table_make_place(struct table *t, unsigned int i)
{
	return 0;
}

bool table_has_share(const struct table *t, unsigned int i)
{
	return false;
}

bool table_move_fast(struct table *t, unsigned int from, int to)
{
	return false;
}

bool table_move_pins(struct table *t, unsigned int from, int to)
{
	return false;
}

uint64_t status_setting(const struct status *st, const char *key, uint64_t otherwise)
{
	return now.commit_ms ? now.commit_ms : otherwise;
}

const char *status_dev_state_name(enum status_dev_state state)
{
	return "";
}

int give_up(const struct live *l, unsigned int i, uint64_t *bytes)
{
	return EXIT_OK;
}

void extents_ask(struct extents *e, const char *name, const char *question)
{
}

void extents_free(struct extents *e)
{
}

/* --- the tests --- */

static void put(char pool, char uuid)
{
	memset(&now, 0, sizeof(now));
	now.member = MEMBER;
	now.nr_areas = 1;
	now.nr_disks = 1;
	now.area.info.role = EK_ROLE_MEMBER;
	now.area.info.index = 1;
	memset(now.area.info.pool_uuid, pool, EK_UUID_SIZE);
	memset(now.area.info.area_uuid, uuid, EK_UUID_SIZE);
}

static struct live volume(void)
{
	struct live l = { .name = "v" };

	memset(l.info.pool_uuid, POOL, EK_UUID_SIZE);
	return l;
}

static void is_none(const char *title, bool none)
{
	struct live l = volume();

	ktap_ok(member_judge_none(&l, "disk") == (none ? EXIT_OK : EXIT_FAILED), "%s: %s", title,
		none ? "may be taken" : "is left alone");
}

static void test_none(void)
{
	put(POOL, MEMBER);
	is_none("a member", false);
	put(POOL, 'x');
	is_none("one that left", true);
	put(POOL, MEMBER);
	now.nr_areas = 0;
	is_none("without a label", true);
	put(POOL, MEMBER);
	now.open_err = -EBUSY;
	is_none("in use, which is for others to refuse", true);

	/* What nobody knows is not to be overwritten. */
	put(POOL, MEMBER);
	now.super_err = EXIT_FAILED;
	is_none("a label, and no superblock", false);
	put(POOL, MEMBER);
	now.nr_areas = -EIO;
	is_none("one that can't be read", false);
	put(POOL, MEMBER);
	now.nr_areas = 0;
	now.super_err = EXIT_FAILED;
	is_none("neither a label nor a superblock", true);
}

static void test_stalled(void)
{
	struct live l = volume();

	put(POOL, MEMBER);
	now.stalled = "it is suspended";
	is_none("suspended", false);
	ktap_ok(!now.nr_read, "suspended: not read");
	put(POOL, 'x');
	ktap_ok(member_leftover(&l, "disk") == makedev(8, 0), "what is left of a member");
	put(POOL, 'x');
	now.stalled = "it is suspended";
	ktap_ok(!member_leftover(&l, "disk") && !now.nr_read, "suspended: not looked at");
}

/* Member 1, which is out already, is removed once more: what is said. */
static int remove_again(char said[1024])
{
	struct live l = volume();
	struct capture c;
	int ret;

	l.st.nr_devs = 2;
	l.t.nr_devs = 2;
	l.st.dev[1].state = DEV_REMOVED;
	l.t.dev[0].dev = "8:16";
	l.t.dev[1].dev = "-";
	capture_begin(&c, stderr);
	ret = member_remove(&l, 1, MEMBER_ADD_OR_FORCE);
	capture_end(&c, said, 1024);
	return ret;
}

/* What was only found is not wiped, as it may be a copy; @times: so often what does is told. */
static void removed_again(const char *title, int ret, unsigned int times)
{
	const char *at;
	char said[1024];
	bool done = remove_again(said) == ret;

	for (at = said; (at = strstr(at, "\"hybridctl remove v disk\" wipes it")); at++)
		times--;
	ktap_ok(done && !now.nr_wiped && !times, "removed again: %s", title);
}

static void test_remove_again(void)
{
	put(POOL, 'x');
	removed_again("the label that was left is told, and left", EXIT_OK, 1);
	put(POOL, 'x');
	now.nr_areas = 0;
	removed_again("nothing was left", EXIT_OK, 0);
	put(POOL, 'x');
	now.area.info.index = 0;
	removed_again("what another member left is not looked for", EXIT_OK, 0);
	put(POOL, MEMBER);
	removed_again("a label that the superblock names is none", EXIT_OK, 0);
	put(POOL, 'x');
	now.held = true;
	removed_again("what is in use is passed over", EXIT_OK, 0);
	put(POOL, 'x');
	now.stalled = "it is suspended";
	removed_again("what would not answer is passed over", EXIT_OK, 0);
	ktap_ok(!now.nr_read, "removed again: what would not answer is not read");
	put(POOL, 'x');
	now.area.head_err = -ENODATA;
	removed_again("of a label only the copy", EXIT_OK, 1);
	put(POOL, 'x');
	now.area.head_err = -EINVAL;
	removed_again("no command is told that would not wipe it", EXIT_OK, 0);
	put(POOL, 'x');
	now.nr_disks = 2;
	removed_again("two of them", EXIT_OK, 2);
	put(POOL, 'x');
	now.super_err = EXIT_FAILED;
	removed_again("without a superblock nobody knows", EXIT_FAILED, 0);
}

/* The label is another's: what there is, and how that goes if it is not needed. */
static void left_alone(const char *instead, const char *told)
{
	struct live l = volume();
	struct capture c;
	char said[1024];
	int ret;

	put(POOL, 'x');
	now.area.head_err = -EINVAL;
	now.area.info.area_start = 2048;
	now.instead = instead;
	capture_begin(&c, stderr);
	ret = member_forget(&l, "disk");
	capture_end(&c, said, sizeof(said));
	ktap_ok(ret == EXIT_FAILED && strstr(said, told), "left alone: %s", said);
}

static void test_forget(void)
{
	struct live l = volume();
	struct capture c;
	char said[300];
	int ret;

	put(POOL, 'x');
	ktap_ok(member_forget(&l, "disk") == EXIT_OK && now.nr_wiped == 1,
		"named itself: the label that was left is wiped");
	left_alone("ext4 signature", "has an ext4 signature by now: left alone (if that is not needed any more, wipefs wipes it)");
	left_alone("scmfs file system", "has an scmfs file system by now: left alone (if that is not needed any more, zeroes on the device in its first and its last 4 KiB end it)");
	left_alone(NULL, "zeroes in the 4 KiB from sector 2048 end it");
	put(POOL, 'x');
	now.nr_areas = -EIO;
	capture_begin(&c, stderr);
	ret = member_forget(&l, "disk");
	capture_end(&c, said, sizeof(said));
	ktap_ok(ret == EXIT_FAILED && strstr(said, "disk: can't be read: "), "unreadable: %s", said);
}

/* Before the kernel has the device: it does not join. */
static void pass_over(int sig)
{
}

static void interrupt_join(struct live *l, const struct fresh *how, int sig)
{
	sighandler_t before = signal(sig, pass_over);

	put('o', 'x');
	now.signal = sig;
	ktap_ok(member_add(l, "disk", how) < 0 && !now.nr_reloaded && now.nr_undone == 1,
		"interrupted by %s: what joins is as it was", strsignal(sig));
	ktap_ok(signal(sig, before) == pass_over, "interrupted by %s: caught no more",
		strsignal(sig));
	interrupted = 0;
}

static void test_interrupted(void)
{
	struct fresh how = { .force = true };
	struct live l = volume();

	l.st.nr_devs = 1;
	l.t.nr_devs = 1;
	interrupt_join(&l, &how, SIGHUP);
	interrupt_join(&l, &how, SIGQUIT);
	put('o', 'x');
	ktap_ok(member_add(&l, "disk", &how) == 1 && now.nr_reloaded == 1 && !now.nr_undone,
		"not interrupted: it joins");
}

/* By its path it was another one. */
static void test_swapped(void)
{
	struct fresh how = { .force = true };
	struct live l = volume();

	l.st.nr_devs = 1;
	l.t.nr_devs = 1;
	put(POOL, 'x');
	now.swapped = true;
	ktap_ok(member_add(&l, "disk", &how) < 0 && !now.nr_reloaded && !now.nr_wiped,
		"another one has the path when it is opened: a member is not wiped");
	put(POOL, MEMBER);
	now.open_err = -EBUSY;
	now.freed = true;
	ktap_ok(member_add(&l, "disk", &how) < 0 && !now.nr_reloaded && !now.nr_wiped,
		"in use when it is looked at: a member is not wiped");
}

/* Member 1 is lost, and all that it has is given up: @used extents, of which some return. */
static int give_up_lost(unsigned int used)
{
	struct live l = volume();
	struct capture c;
	char said[1024];
	int ret;

	l.st.nr_devs = 2;
	l.st.dev[0].present = true;
	l.st.dev[0].total = 64;
	l.st.dev[1].state = DEV_FAILED;
	l.st.dev[1].used = used;
	capture_begin(&c, stderr);
	ret = member_evacuate(&l, 1, EVACUATE_GIVE_UP);
	capture_end(&c, said, sizeof(said));
	ktap_ok(ret ? !!strstr(said, "extents stay on member 1") : !l.st.dev[1].used,
		ret ? "it is said what stays" : "nothing is left there");
	return ret;
}

static void returning(unsigned int nr, unsigned int at, bool tells)
{
	put(POOL, MEMBER);
	now.returning = nr;
	now.returns_at = at;
	now.tells = tells;
}

/* Looks are four a second. */
static void test_give_up_lost(void)
{
	returning(8, 1, true);
	ktap_ok(!give_up_lost(8), "given up: it is free soon");
	returning(1, 4000, true);
	ktap_ok(!give_up_lost(1), "given up: what is on its way back is waited for");
	returning(8, 40, false);
	ktap_ok(!give_up_lost(8), "given up: as long as something comes back nothing stays");
	returning(1, 4000, false);
	now.commit_ms = 3600000;
	ktap_ok(!give_up_lost(1), "given up: an older module's next commit is waited for");
	returning(1, 4000, false);
	ktap_ok(give_up_lost(1), "given up: but not for more than that");
	returning(0, 1, true);
	now.commit_ms = 3600000;
	ktap_ok(give_up_lost(1), "given up: what is not on its way stays");
	returning(0, 1, true);
	ktap_ok(!give_up_lost(0), "given up: nothing was there");
}

int main(void)
{
	ktap_begin();
	test_none();
	test_stalled();
	test_remove_again();
	test_forget();
	test_interrupted();
	test_swapped();
	test_give_up_lost();
	return ktap_end();
}
