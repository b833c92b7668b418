// SPDX-License-Identifier: GPL-2.0-only
/*
 * hybridctl monitor --events: a line for each change of a volume's state.
 *
 * The kernel raises an event with each.  They are waited for as device-mapper's events of whichever
 * device, by poll(), and not by device-mapper's own call for one device: that one a signal can't
 * end if it comes just before it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "bdev.h"
#include "commands.h"
#include "dm.h"
#include "interrupt.h"
#include "monitor.h"
#include "msg.h"
#include "status.h"
#include "which.h"

struct line {
	char *text;	/* NULL: nothing has changed */
};

static void add(struct line *l, char *word)
{
	char *old = l->text;

	l->text = old ? xasprintf("%s, %s", old, word) : xstrdup(word);
	free(old);
	free(word);
}

static void compare_areas(struct line *l, const struct status *was, const struct status *now)
{
	unsigned int i;

	for (i = 0; i < now->nr_meta; i++)
		if (!was || i >= was->nr_meta || was->meta[i] != now->meta[i])
			add(l, xasprintf("metadata area %u %s", i,
					 status_meta_name(now->meta[i])));
}

static bool is_same(const struct status_dev *a, const struct status_dev *b)
{
	return a->state == b->state && a->present == b->present && a->major == b->major &&
	       a->minor == b->minor;
}

static void compare_members(struct line *l, const struct status *was, const struct status *now)
{
	const struct status_dev *d;
	unsigned int i;

	for (i = 0; i < now->nr_devs; i++) {
		d = &now->dev[i];
		if (was && i < was->nr_devs && is_same(&was->dev[i], d))
			continue;
		add(l, xasprintf("device %u %s", i, d->present || d->state == DEV_REMOVED ?
				 status_dev_state_name(d->state) : "lost"));
	}
}

/* All of it, if there was no look before. */
static char *changes(const struct status *was, const struct status *now)
{
	struct line l = { NULL };

	if (!was || was->mode != now->mode)
		add(&l, xstrdup(status_mode_name(now->mode)));
	if (was ? was->needs_check != now->needs_check : now->needs_check)
		add(&l, xstrdup(now->needs_check ? "needs_check" : "needs no check"));
	compare_members(&l, was, now);
	compare_areas(&l, was, now);
	return l.text;
}

static void tell(const char *name, const char *text)
{
	time_t now = time(NULL);
	struct tm tm;
	char at[32];

	localtime_r(&now, &tm);
	strftime(at, sizeof(at), "%FT%T%z", &tm);
	printf("%s %s: %s\n", at, name, text);
	fflush(stdout);
}

/* The volume that is watched, which others may rename, or stop and make another of its name. */
struct watched {
	char *name;	/* that it has now */
	uint64_t seq;	/* bdev_seq(); 0: not known */
	struct status st;
	bool first;	/* it was not looked at before */
};

static bool has_seq(const struct dm_dev *dev, const void *seq)
{
	return bdev_seq(makedev(dev->major, dev->minor)) == *(const uint64_t *)seq;
}

/* As look(): is it there, by which name? */
static int follow(struct watched *w)
{
	char *name, *text;

	if (w->first)
		w->seq = which_seq(w->name);
	if (w->first || !w->seq || which_seq(w->name) == w->seq)
		return 0;
	if (which_is(has_seq, &w->seq, &name) || !name) {
		tell(w->name, "stopped");
		return -1;
	}
	text = xasprintf("renamed to %s", name);
	tell(w->name, text);
	free(text);
	free(w->name);
	w->name = name;
	return 1;
}

/* 1: a line was told; 0: none; -1: it is not there any more, or a failure that was printed. */
static int look(struct watched *w, int *failed)
{
	char *params, *text, why[128];
	const char *name = w->name;
	struct status now;
	uint64_t sectors;
	int err;

	err = dm_get_status(name, &params, &sectors);
	/* Since follow(): that is an event, too. */
	if (err == -ENXIO && w->seq)
		return 0;
	if (err == -ENXIO || err == -EMEDIUMTYPE) {
		tell(name, "stopped");
		return -1;
	}
	if (err || !status_parse(params, &now, why, sizeof(why))) {
		*failed = err ? fail("%s: status: %s", name, strerror(-err)) :
				fail("%s: status line of the kernel not understood: %s", name, why);
		if (!err)
			free(params);
		return -1;
	}
	free(params);
	text = changes(w->first ? NULL : &w->st, &now);
	w->first = false;
	status_free(&w->st);
	w->st = now;
	if (text)
		tell(name, text);
	free(text);
	return !!text;
}

/* An event of any device; @mask: with the signals that end it.  false: nobody reads any more. */
static bool wait_event(int watch, const sigset_t *mask)
{
	struct pollfd fd[] = { { .fd = watch, .events = POLLIN }, { .fd = STDOUT_FILENO } };

	return ppoll(fd, 2, NULL, mask) < 0 || !(fd[1].revents & (POLLERR | POLLHUP));
}

/* Until @count lines are told; 0: for ever. */
static int watch(struct watched *w, int fd, uint64_t count, const sigset_t *mask)
{
	int failed = EXIT_OK, told;
	uint64_t lines = 0;

	while (!interrupted && !ferror(stdout)) {
		/* Before the look: what comes after it is not missed. */
		if (dm_watch_on(fd))
			return fail("device-mapper's events can't be had");
		told = follow(w);
		lines += told == 1;
		if (told >= 0 && !(count && lines >= count)) {
			told = look(w, &failed);
			lines += told == 1;
		}
		if (told < 0 || (count && lines >= count) || !wait_event(fd, mask))
			break;
	}
	return failed;
}

int monitor_events(const char *name, uint64_t count)
{
	struct watched w = { .name = xstrdup(name), .first = true };
	int fd = dm_watch(), ret;
	sigset_t before;

	if (fd < 0) {
		free(w.name);
		return fail("device-mapper's events can't be had: %s", strerror(-fd));
	}
	catch_interrupts();
	/* They come in ppoll() alone, so none is between a look at them and that. */
	block_interrupts(&before);
	ret = watch(&w, fd, count, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	status_free(&w.st);
	free(w.name);
	close(fd);
	return ret;
}
