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
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "dm.h"
#include "interrupt.h"
#include "monitor.h"
#include "msg.h"
#include "status.h"

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

/* 1: a line was told; 0: none; -1: it is not there any more, or a failure that was printed. */
static int look(const char *name, struct status *st, bool first, int *failed)
{
	char *params, *text, why[128];
	struct status now;
	uint64_t sectors;
	int err;

	err = dm_get_status(name, &params, &sectors);
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
	text = changes(first ? NULL : st, &now);
	status_free(st);
	*st = now;
	if (text)
		tell(name, text);
	free(text);
	return !!text;
}

/* The signals that end it come in ppoll() alone, so none is between a look at them and that. */
static void block_signals(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, before);
}

int monitor_events(const char *name, uint64_t count)
{
	struct pollfd fd = { .events = POLLIN };
	struct status st = { .nr_devs = 0 };
	int told = 0, failed = EXIT_OK;
	uint64_t lines = 0;
	bool first = true;
	sigset_t before;

	fd.fd = dm_watch();
	if (fd.fd < 0)
		return fail("device-mapper's events can't be had: %s", strerror(-fd.fd));
	catch_interrupts();
	block_signals(&before);
	while (!interrupted && !ferror(stdout)) {
		/* Before the look: what comes after it is not missed. */
		failed = dm_watch_on(fd.fd) ? fail("device-mapper's events can't be had") :
					      EXIT_OK;
		told = failed ? -1 : look(name, &st, first, &failed);
		first = false;
		lines += told == 1;
		if (told < 0 || (count && lines >= count))
			break;
		ppoll(&fd, 1, NULL, &before);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	status_free(&st);
	close(fd.fd);
	return failed;
}
