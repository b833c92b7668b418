// SPDX-License-Identifier: GPL-2.0-only
/* Judges and wipes devices that are to become part of a pool. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "area.h"
#include "fresh.h"
#include "loop.h"
#include "msg.h"
#include "quote.h"
#include "signature.h"
#include "udev_db.h"

#define AREA_TAIL	(1u << 20)	/* where others keep their copies */

int fresh_in_use(const char *path, dev_t rdev)
{
	char *user = bdev_users(rdev);
	int ret = fail("%s: in use%s%s", path, user ? ": " : "", user ? user : "");

	free(user);
	return ret;
}

static int check_volatile(const struct fresh *how, const char *path, dev_t rdev)
{
	char *found = how->volatile_ok ? NULL : bdev_volatile(rdev);

	if (!found)
		return EXIT_OK;
	fail("%s: %s is a RAM disk, RAM set aside, or a file in memory: its content is lost with the power (use --volatile-ok)",
	     path, found);
	free(found);
	return EXIT_FAILED;
}

/* multipath may have let it go for the moment; past it one path would be written to. */
static int check_path(const struct fresh *how, const char *path, dev_t rdev)
{
	if (how->force || !udev_db_is(rdev, "DM_MULTIPATH_DEVICE_PATH", "1"))
		return EXIT_OK;
	return fail("%s: is a path of a multipath device (use --force)", path);
}

static int check_ours(const struct fresh *how, const struct bdev *dev)
{
	struct area area[AREA_MAX];
	char uuid[UUID_TEXT];
	int head_err, nr = area_find(dev, area, &head_err);

	if (nr < 0)
		return fail("%s: can't be read: %s", dev->path, strerror(-nr));
	if (how->force)
		return EXIT_OK;
	if (nr && how->leftover != dev->rdev)
		return fail("%s: belongs to the hybrid volume %s, pool %s (use --force)", dev->path,
			    name_clean(area[0].info.name),
			    uuid_text(uuid, area[0].info.pool_uuid));
	if (head_err == -EUCLEAN || head_err == -EPROTONOSUPPORT)
		return fail("%s: has a hybrid label that is %s (use --force)", dev->path,
			    area_label_error(head_err));
	return EXIT_OK;
}

static int check_signature(const struct fresh *how, const struct bdev *dev)
{
	const char *path = dev->path;
	char *what = NULL, *self;
	int ret;

	if (how->force)
		return EXIT_OK;
	/* Opened anew, not for direct I/O, but not by a path that may be another's by now. */
	self = xasprintf("/proc/self/fd/%d", dev->fd);
	ret = signature_find(self, &what);
	free(self);
	if (ret < 0)
		return fail("%s: can't be probed for signatures: %s", path, strerror(-ret));
	if (!ret)
		return EXIT_OK;
	fail("%s: has %s %s (use --force)", path, signature_article(what), what);
	free(what);
	return EXIT_FAILED;
}

/* Who holds one loop device of a file does not hold the other. */
static int check_loop(const struct bdev *dev)
{
	char *user = loop_users_beside(dev->rdev);

	if (!user)
		return EXIT_OK;
	fail("%s: in use: the same file is behind %s", dev->path, user);
	free(user);
	return EXIT_FAILED;
}

static int judge(const struct bdev *dev, const struct fresh *how)
{
	if (check_loop(dev))
		return EXIT_FAILED;
	if (check_volatile(how, dev->path, dev->rdev) || check_path(how, dev->path, dev->rdev))
		return EXIT_FAILED;
	if (dev->sectors < FRESH_MEMBER_HEAD / SECTOR_SIZE)
		return fail("%s: too small", dev->path);
	return check_ours(how, dev) ? EXIT_FAILED : check_signature(how, dev);
}

int fresh_open(struct bdev *dev, const char *path, const struct fresh *how)
{
	const char *stalled;
	struct stat st;
	int err;

	if (stat(path, &st))
		return fail("%s: %s", path, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return fail("%s: not a block device", path);
	/* A write to it would wait for one that the volume can't end before it. */
	if (how->volume && bdev_lies_on(st.st_rdev, how->volume))
		return fail("%s: lies on the volume itself", path);
	/* Reading it might take for ever, with the devices' lock held. */
	stalled = bdev_stalled(st.st_rdev);
	if (stalled)
		return fail("%s: can't be looked at, %s", path, stalled);
	err = bdev_open_same(dev, path, st.st_rdev, BDEV_WRITE | BDEV_EXCL);
	if (err == -EBUSY)
		return fresh_in_use(path, st.st_rdev);
	if (err)
		return fail("%s: %s", path, bdev_error(err));
	err = judge(dev, how);
	if (err)
		bdev_close(dev);
	return err;
}

struct between {
	uint64_t from, to;	/* bytes of the device */
	uint64_t *wiped;	/* blocks */
	unsigned int nr;
	uint64_t *at;
};

static bool lies_elsewhere(const void *ctx, uint64_t offset)
{
	const struct between *b = ctx;
	unsigned int i;

	*b->at = offset;
	/* One that is still known is known by something else than what is there. */
	for (i = 0; i < b->nr; i++)
		if (b->wiped[i] == offset / EK_BLOCK_SIZE)
			return true;
	return offset < b->from || offset >= b->to;
}

/*
 * What others have in between is seen beside our label, or instead of it, by who does not know
 * that: VMFS begins after a MiB or two, LUKS2 keeps copies of its header up to 4 MiB from the
 * start, from which it is brought back, and a firmware's RAID may be more than a MiB from the end.
 */
static int wipe_signatures(struct wipe *w, const char *path, dev_t rdev, uint64_t from, uint64_t to)
{
	uint64_t at = 0;
	struct between between = { .from = from, .to = to, .at = &at };
	char *what;
	int ret;

	/* One may hide another. */
	while ((ret = signature_find_but(path, lies_elsewhere, &between, &what)) > 0) {
		free(what);
		at /= EK_BLOCK_SIZE;
		between.wiped = xrealloc(between.wiped, (between.nr + 1) * sizeof(at));
		between.wiped[between.nr++] = at;
		ret = wipe_range(w, path, rdev, at * EK_BLOCK_SIZE, EK_BLOCK_SIZE);
		if (ret) {
			free(between.wiped);
			return ret;
		}
	}
	free(between.wiped);
	/* What can't be read is known to nobody. */
	return ret == -EIO ? 0 : ret;
}

int fresh_wipe(struct wipe *w, const char *path, dev_t rdev, uint64_t start, uint64_t sectors,
	       uint64_t head)
{
	uint64_t bytes = sectors * SECTOR_SIZE / EK_BLOCK_SIZE * EK_BLOCK_SIZE;
	uint64_t tail = bytes < AREA_TAIL ? bytes : AREA_TAIL;
	/* No block of ours, but others' metadata may end with the device. */
	uint64_t rest = sectors * SECTOR_SIZE - bytes;
	int err;

	if (head > bytes)
		head = bytes;
	start *= SECTOR_SIZE;
	err = wipe_range(w, path, rdev, start, head);
	if (!err)
		err = wipe_range(w, path, rdev, start + bytes - tail, tail + rest);
	if (!err)
		err = wipe_signatures(w, path, rdev, start + head, start + bytes - tail);
	if (err == -EINTR)
		fail("%s: interrupted while it was wiped", path);
	else if (err)
		fail("%s: can't be wiped: %s", path, bdev_error(err));
	return err;
}
