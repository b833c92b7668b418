// SPDX-License-Identifier: GPL-2.0-only
/* Device-mapper through libdevmapper. */
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <linux/dm-ioctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dm.h"
#include "klog.h"
#include "memlock.h"
#include "msg.h"

/* What libdevmapper complained about last; it would print it otherwise. */
static char complaint[256];

__attribute__((format(printf, 5, 6)))
static void keep_complaint(int level, const char *file, int line, int dm_errno,
			   const char *fmt, ...)
{
	va_list ap;

	(void)file;
	(void)line;
	(void)dm_errno;
	if ((level & 7) > 3 || complaint[0])
		return;
	va_start(ap, fmt);
	vsnprintf(complaint, sizeof(complaint), fmt, ap);
	va_end(ap);
}

#define UUID_ROOM	130	/* device-mapper's own limit, and a zero */

static struct dm_task *task_for(int type, const char *name)
{
	struct dm_task *task;

	dm_log_with_errno_init(keep_complaint);
	complaint[0] = 0;
	task = dm_task_create(type);
	if (task && name && !dm_task_set_name(task, name)) {
		dm_task_destroy(task);
		return NULL;
	}
	return task;
}

static int task_errno(struct dm_task *task)
{
	int err = task ? dm_task_get_errno(task) : 0;

	return -(err ? err : EIO);
}

/* @reason: the kernel's, or NULL; @said: by libdevmapper. */
static char *why_of(char *reason, const char *said, int err)
{
	if (reason)
		return reason;
	return xstrdup(err == -EIO && said[0] ? said : strerror(-err));
}

static char *explain(int mark, int err)
{
	return why_of(klog_reason(mark), complaint, err);
}

/* What udev is still at work on; 0: nothing. */
static uint32_t cookie;

/* Run a task that makes device nodes come or go; dm_settle() waits for udev. */
static int run(struct dm_task *task)
{
	if (!dm_task_set_cookie(task, &cookie, 0) || !dm_task_run(task))
		return task_errno(task);
	return 0;
}

void dm_settle(void)
{
	if (cookie)
		dm_udev_wait(cookie);
	cookie = 0;
	dm_task_update_nodes();
}

static int run_and_settle(struct dm_task *task)
{
	int err = run(task);

	dm_settle();
	return err;
}

int dm_watch(void)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = dm_watch_on(fd);
	if (err)
		close(fd);
	return err ? err : fd;
}

int dm_watch_on(int fd)
{
	struct dm_ioctl arg = { .version = { 4, 37, 0 }, .data_size = sizeof(arg) };

	return ioctl(fd, DM_DEV_ARM_POLL, &arg) ? -errno : 0;
}

int dm_reachable(void)
{
	struct dm_task *task = task_for(DM_DEVICE_VERSION, NULL);
	int err = 0;

	if (!task || !dm_task_run(task))
		err = task_errno(task);
	if (task)
		dm_task_destroy(task);
	return err;
}

/* @uuid has room for one. */
static int look_up(const char *name, struct dm_dev *dev, char *uuid)
{
	struct dm_task *task = task_for(DM_DEVICE_INFO, name);
	struct dm_info info;
	const char *text;
	int ret;

	if (!task)
		return -EINVAL;
	if (!dm_task_run(task)) {
		ret = task_errno(task);
		if (ret == -ENXIO)
			ret = 0;
	} else if (!dm_task_get_info(task, &info)) {
		ret = -EIO;
	} else {
		ret = info.exists;
		if (ret && dev)
			*dev = (struct dm_dev){
				.major = info.major, .minor = info.minor,
				.open_count = info.open_count, .suspended = info.suspended,
				.live = info.live_table, .loaded = info.inactive_table,
			};
		text = ret && uuid ? dm_task_get_uuid(task) : NULL;
		if (uuid)
			snprintf(uuid, UUID_ROOM, "%s", text ? text : "");
	}
	dm_task_destroy(task);
	return ret;
}

int dm_lookup(const char *name, struct dm_dev *dev)
{
	return look_up(name, dev, NULL);
}

char *dm_pool_uuid(const char *name)
{
	const size_t prefix = strlen(DM_UUID_PREFIX);
	char uuid[UUID_ROOM];

	if (look_up(name, NULL, uuid) <= 0 || strncmp(uuid, DM_UUID_PREFIX, prefix))
		return NULL;
	return xstrdup(uuid + prefix);
}

/* Is the table that was loaded, and not resumed, one hybrid target? */
static bool has_loaded_hybrid(const char *name)
{
	struct dm_task *task = task_for(DM_DEVICE_TABLE, name);
	char *target = NULL, *params = NULL;
	uint64_t start, length;
	bool is = false;

	if (task && dm_task_query_inactive_table(task) && dm_task_no_flush(task) &&
	    dm_task_run(task))
		is = !dm_get_next_target(task, NULL, &start, &length, &target, &params) &&
		     target && !strcmp(target, DM_TARGET);
	if (task)
		dm_task_destroy(task);
	return is;
}

bool dm_is_unfinished(const char *name, const char *uuid)
{
	char its[UUID_ROOM];
	struct dm_dev dev;

	if (look_up(name, &dev, its) <= 0 || dev.live)
		return false;
	if (uuid ? strcmp(its, uuid) : *its && strncmp(its, DM_UUID_PREFIX, strlen(DM_UUID_PREFIX)))
		return false;
	return !dev.loaded || has_loaded_hybrid(name);
}

/* A path is "MAJOR:MINOR", what has become of it, and how often it failed: "8:16 A 0". */
static bool is_usable_path(const char *dev, const char *state)
{
	unsigned int ma, mi;
	char rest;

	return dev && sscanf(dev, "%u:%u%c", &ma, &mi, &rest) == 2 && !strcmp(state, "A");
}

static bool has_usable_path(const char *status)
{
	char *copy = xstrdup(status), *rest = copy, *word, *last = NULL;
	bool found = false;

	while (!found && (word = strsep(&rest, " "))) {
		found = is_usable_path(last, word);
		last = word;
	}
	free(copy);
	return found;
}

bool dm_has_path(dev_t rdev)
{
	struct dm_task *task = task_for(DM_DEVICE_STATUS, NULL);
	char *target = NULL, *status = NULL;
	uint64_t start, length;
	void *next = NULL;
	bool has = true;

	if (task && dm_task_set_major_minor(task, major(rdev), minor(rdev), 0) &&
	    dm_task_no_flush(task) && dm_task_run(task)) {
		do {
			next = dm_get_next_target(task, next, &start, &length, &target, &status);
			if (target && !strcmp(target, "multipath") && status)
				has &= has_usable_path(status);
		} while (next);
	}
	if (task)
		dm_task_destroy(task);
	return has;
}

bool dm_is_snapshot(dev_t rdev)
{
	struct dm_task *task = task_for(DM_DEVICE_STATUS, NULL);
	char *target = NULL, *status = NULL;
	uint64_t start, length;
	bool is = false;

	if (task && dm_task_set_major_minor(task, major(rdev), minor(rdev), 0) &&
	    dm_task_no_flush(task) && dm_task_run(task)) {
		dm_get_next_target(task, NULL, &start, &length, &target, &status);
		is = target && !strcmp(target, "snapshot");
	}
	if (task)
		dm_task_destroy(task);
	return is;
}

static int get_params(int type, const char *name, char **params, uint64_t *sectors)
{
	char *target = NULL, *text = NULL;
	uint64_t start = 0, length = 0;
	struct dm_task *task;
	int err, there;
	void *next;

	there = dm_lookup(name, NULL);
	if (there <= 0)
		return there ? there : -ENXIO;
	task = task_for(type, name);
	if (!task)
		return -ENOMEM;
	/* Looking must not write: no flush before. */
	if (!dm_task_no_flush(task) || !dm_task_run(task)) {
		err = task_errno(task);
		goto out;
	}
	err = -EMEDIUMTYPE;
	next = dm_get_next_target(task, NULL, &start, &length, &target, &text);
	if (!next && target && !strcmp(target, DM_TARGET)) {
		*params = xstrdup(text ? text : "");
		*sectors = length;
		err = 0;
	}
out:
	dm_task_destroy(task);
	return err;
}

int dm_get_status(const char *name, char **params, uint64_t *sectors)
{
	return get_params(DM_DEVICE_STATUS, name, params, sectors);
}

int dm_get_table(const char *name, char **params, uint64_t *sectors)
{
	return get_params(DM_DEVICE_TABLE, name, params, sectors);
}

static bool is_hybrid(const char *name)
{
	uint64_t sectors;
	char *params;

	if (dm_get_table(name, &params, &sectors))
		return false;
	free(params);
	return true;
}

static bool is_unfinished(const char *name)
{
	return dm_is_unfinished(name, NULL);
}

static void add(const char *name, bool (*is)(const char *name), struct dm_dev **devs,
		unsigned int *nr)
{
	struct dm_dev dev;

	if (dm_lookup(name, &dev) <= 0 || !is(name))
		return;
	dev.name = xstrdup(name);
	*devs = xrealloc(*devs, (*nr + 1) * sizeof(**devs));
	(*devs)[(*nr)++] = dev;
}

static int list(bool (*is)(const char *name), struct dm_dev **devs, unsigned int *nr)
{
	struct dm_task *task = task_for(DM_DEVICE_LIST, NULL);
	struct dm_names *names;
	int err = 0;

	*devs = NULL;
	*nr = 0;
	if (!task)
		return -ENOMEM;
	if (!dm_task_run(task)) {
		err = task_errno(task);
		goto out;
	}
	names = dm_task_get_names(task);
	if (!names || !names->dev)
		goto out;
	for (;;) {
		add(names->name, is, devs, nr);
		if (!names->next)
			break;
		names = (struct dm_names *)((char *)names + names->next);
	}
out:
	dm_task_destroy(task);
	return err;
}

int dm_list_hybrid(struct dm_dev **devs, unsigned int *nr)
{
	return list(is_hybrid, devs, nr);
}

int dm_list_unfinished(struct dm_dev **devs, unsigned int *nr)
{
	return list(is_unfinished, devs, nr);
}

void dm_free_list(struct dm_dev *devs, unsigned int nr)
{
	while (nr--)
		free(devs[nr].name);
	free(devs);
}

int dm_create(const char *name, const char *uuid, uint64_t sectors, const char *params,
	      char **why)
{
	struct dm_task *task = task_for(DM_DEVICE_CREATE, name);
	int err, mark = klog_mark();

	if (!task || (uuid && !dm_task_set_uuid(task, uuid)) ||
	    !dm_task_add_target(task, 0, sectors, DM_TARGET, params))
		err = -EINVAL;
	else
		err = run(task);	/* takes the device away if it fails */
	if (err) {
		*why = explain(mark, err);
		dm_settle();
	} else {
		free(klog_reason(mark));
	}
	if (task)
		dm_task_destroy(task);
	return err;
}

static int simple(int type, const char *name)
{
	struct dm_task *task = task_for(type, name);
	int err = 0;

	if (!task)
		return -ENOMEM;
	if (type == DM_DEVICE_REMOVE)
		err = run(task);
	else if (!dm_task_run(task))
		err = task_errno(task);
	dm_task_destroy(task);
	return err;
}

int dm_try(const char *name, uint64_t sectors, const char *params, char **why)
{
	struct dm_task *task;
	int err, mark;

	err = simple(DM_DEVICE_CREATE, name);
	if (err) {
		*why = xstrdup(strerror(-err));
		return err;
	}
	mark = klog_mark();
	task = task_for(DM_DEVICE_RELOAD, name);
	if (!task || !dm_task_add_target(task, 0, sectors, DM_TARGET, params))
		err = -EINVAL;
	else if (!dm_task_run(task))
		err = task_errno(task);
	if (err)
		*why = explain(mark, err);
	else
		free(klog_reason(mark));
	if (task)
		dm_task_destroy(task);
	simple(DM_DEVICE_REMOVE, name);
	if (err)
		dm_settle();
	return err;
}

static int load(const char *name, uint64_t sectors, const char *params)
{
	struct dm_task *task = task_for(DM_DEVICE_RELOAD, name);
	int err = 0;

	if (!task || !dm_task_add_target(task, 0, sectors, DM_TARGET, params))
		err = -EINVAL;
	else if (!dm_task_run(task))
		err = task_errno(task);
	if (task)
		dm_task_destroy(task);
	return err;
}

static int resume(const char *name)
{
	struct dm_task *task = task_for(DM_DEVICE_RESUME, name);
	int err = -EINVAL;

	if (task && dm_task_skip_lockfs(task))
		err = run(task);
	if (task)
		dm_task_destroy(task);
	return err;
}

int dm_clear(const char *name)
{
	return simple(DM_DEVICE_CLEAR, name);
}

/*
 * After a resume that failed: what was there goes on, or it is said that it does not.  0: it is the
 * new table that goes on.
 */
static int go_back(const char *name, uint64_t sectors, const char *params)
{
	struct dm_dev dev;
	int err, old;

	/*
	 * It may be without a device that the one before still has, and that can't be opened any
	 * more: then the new one is all there is, and what it failed at may be over.
	 */
	old = load(name, sectors, params);
	err = resume(name);
	if (err || dm_lookup(name, &dev) <= 0 || dev.suspended)
		warn("%s: STAYS SUSPENDED, I/O to it waits: the table before can't be had back (see dmsetup resume)",
		     name);
	return old && !err ? 0 : -EIO;
}

/*
 * The new table is loaded.  From the resume on until one has succeeded nothing may be waited for
 * that is on the volume: neither a page of this program, nor the log that says what was wrong.
 */
static int swap_tables(const char *name, uint64_t sectors, const char *params, int mark,
		       char **why)
{
	char said[sizeof(complaint)];
	int err, end = klog_mark();
	bool back = false;

	memory_lock();
	err = resume(name);
	if (err) {
		klog_move(end);
		memcpy(said, complaint, sizeof(said));
		back = go_back(name, sectors, params);
	}
	memory_unlock();
	if (!err) {
		free(klog_reason_until(mark, end));
		return 0;
	}
	*why = why_of(klog_reason_until(mark, end), said, err);
	dm_settle();
	return back ? err : 0;
}

int dm_reload(const char *name, uint64_t sectors, const char *params, bool *tried, char **why)
{
	uint64_t old_sectors;
	char *old;
	int err, mark;

	*tried = false;
	err = dm_get_table(name, &old, &old_sectors);
	if (err) {
		*why = xstrdup(strerror(-err));
		return err;
	}
	dm_clear(name);
	mark = klog_mark();
	err = load(name, sectors, params);
	if (err) {
		*why = explain(mark, err);
		dm_clear(name);
	} else {
		*tried = true;
		err = swap_tables(name, old_sectors, old, mark, why);
	}
	free(old);
	return err;
}

int dm_remove(const char *name, char **why)
{
	int mark = klog_mark();
	int err = simple(DM_DEVICE_REMOVE, name);

	if (err)
		*why = explain(mark, err);
	else
		free(klog_reason(mark));
	dm_settle();
	return err;
}

int dm_set_uuid(const char *name, const char *uuid, char **why)
{
	struct dm_task *task = task_for(DM_DEVICE_RENAME, name);
	int err;

	if (!task || !dm_task_set_newuuid(task, uuid))
		err = -EINVAL;
	else
		err = run_and_settle(task);
	if (err)
		*why = xstrdup(complaint[0] ? complaint : strerror(-err));
	if (task)
		dm_task_destroy(task);
	return err;
}

int dm_message(const char *name, const char *message, char **reply, char **why)
{
	struct dm_task *task = task_for(DM_DEVICE_TARGET_MSG, name);
	int err = 0, mark = klog_mark();
	const char *answer;

	if (!task || !dm_task_set_sector(task, 0) || !dm_task_set_message(task, message))
		err = -EINVAL;
	else if (!dm_task_run(task))
		err = task_errno(task);
	if (err)
		*why = explain(mark, err);
	else
		free(klog_reason(mark));
	if (!err && reply) {
		answer = dm_task_get_message_response(task);
		*reply = answer ? xstrdup(answer) : NULL;
	}
	if (task)
		dm_task_destroy(task);
	return err;
}
