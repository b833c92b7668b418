// SPDX-License-Identifier: GPL-2.0-only
/* A plan that is not carried out at all is a failure, and one for other members is given up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../commands.h"
#include "../dm.h"
#include "../interrupt.h"
#include "../msg.h"
#include "../plan_gather.h"
#include "../volume.h"
#include "../window.h"
#include "capture.h"
#include "ktap.h"

#define MOVES	4

/* --- the machine: two members, and a plan of as many moves from one to the other --- */

static struct {
	int refuses;			/* so many of the first moves */
	bool stays;			/* what is moved is not there afterwards */
	unsigned int changes_after;	/* so many moves, another is member 1; 0: none */
	unsigned int nr_moved, nr_measured;
	bool at[MOVES];
} now;

int volume_look(struct volume *v, const char *name, unsigned int what)
{
	unsigned int i;

	memset(v, 0, sizeof(*v));
	v->name = name;
	v->st.nr_devs = 2;
	v->st.mode = MODE_RW;
	v->st.extent_sectors = 256;
	v->st.policy_args = "";
	for (i = 0; i < 2; i++) {
		v->st.dev[i].present = true;
		v->st.dev[i].major = 254;
		v->st.dev[i].minor = 3 + i;
	}
	if (now.changes_after && now.nr_moved >= now.changes_after)
		v->st.dev[1].minor = 9;
	return EXIT_OK;
}

void volume_free(struct volume *v)
{
	memset(v, 0, sizeof(*v));
}

uint64_t status_setting(const struct status *st, const char *key, uint64_t otherwise)
{
	return 0;
}

int window_measure(struct window *w, const char *name, double seconds)
{
	now.nr_measured++;
	w->requests = 100;
	w->mean_ns = 1000;
	return EXIT_OK;
}

double window_mean(const struct window *w, const struct window *as)
{
	return w->mean_ns;
}

int known_read(struct known *k, const struct volume *v)
{
	return EXIT_OK;
}

void known_free(struct known *k)
{
}

void plan_gather(struct plan *p, struct known *k, const struct volume *v, const struct window *w,
		 unsigned long budget)
{
	p->nr_members = 2;
}

void plan_make(struct plan *p, unsigned long most)
{
	unsigned int i;

	p->move = xcalloc(MOVES, sizeof(*p->move));
	p->nr_moves = MOVES;
	for (i = 0; i < MOVES; i++)
		p->move[i] = (struct plan_move){ .le = i, .from = 0, .to = 1 };
}

void plan_free(struct plan *p)
{
	free(p->move);
}

int dm_message(const char *name, const char *text, char **reply, char **why)
{
	unsigned long long le;

	if (sscanf(text, "entry %llu", &le) == 1) {
		*reply = xstrdup(now.at[le] ? "1 5" : "0 5");
		return 0;
	}
	if (sscanf(text, "move %llu", &le) != 1)
		return 0;
	now.nr_moved++;
	if (now.refuses-- > 0) {
		*why = xasprintf("no way for %llu", le);
		return -EINVAL;
	}
	now.at[le] = !now.stays;
	return 0;
}

int command_help(void)
{
	return EXIT_OK;
}

int bad_option(char **argv)
{
	return EXIT_USAGE;
}

/* --- the tests --- */

static char told[512];

static int run(const char *budget)
{
	char option[32], *argv[] = { "optimize", "vol", option, NULL };
	struct capture c;
	int ret;

	snprintf(option, sizeof(option), "--budget=%s", budget);
	capture_begin(&c, stderr);
	optind = 0;
	ret = cmd_optimize(3, argv);
	capture_end(&c, told, sizeof(told));
	told[strcspn(told, "\n")] = 0;
	return ret;
}

static void ends(const char *title, int status, const char *why)
{
	int ret = run("1G");

	ktap_ok(ret == status && strstr(told, why) && !*why == !*told, "%s: status %d: %s", title,
		ret, told);
	ktap_ok(now.nr_measured == (status ? 1 : 2), "%s: measured %u times", title,
		now.nr_measured);
	memset(&now, 0, sizeof(now));
}

static void refuses(const char *budget, int status)
{
	int ret = run(budget);

	ktap_ok(ret == status && strstr(told, "--budget") && !now.nr_measured,
		"--budget %s: status %d: %s", budget, ret, told);
	memset(&now, 0, sizeof(now));
}

int main(void)
{
	ktap_begin();
	ends("all are moved", EXIT_OK, "");
	now.refuses = MOVES - 1;
	ends("some are moved", EXIT_OK, "");
	now.refuses = MOVES;
	ends("none is taken", EXIT_FAILED, "extent 0 to member 1: no way for 0");
	now.stays = true;
	ends("none arrives", EXIT_FAILED, "none of 4");
	now.changes_after = 2;
	ends("a member is another device", EXIT_FAILED, "have changed");
	refuses("x", EXIT_USAGE);
	refuses("", EXIT_USAGE);
	refuses("0", EXIT_USAGE);
	refuses("1K", EXIT_FAILED);	/* less than an extent, which only the volume tells */
	return ktap_end();
}
