// SPDX-License-Identifier: GPL-2.0-only
/* What happens to a pool while its lock is waited for is seen when it is had. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../dm.h"
#include "../live.h"
#include "../lock.h"
#include "../msg.h"
#include "capture.h"
#include "ktap.h"

#define MAX	3

/* Active volumes: a name each, and the pool's uuid; '-': not a hybrid volume, '?': no label. */
struct world {
	const char *name;
	char pool;
};

static struct world now[MAX];
static const struct world *meanwhile;	/* what it is once the lock is had */
static char locked;

static const struct world *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < MAX; i++)
		if (now[i].name && !strcmp(now[i].name, name))
			return &now[i];
	return NULL;
}

bool live_pool(const char *name, struct ek_label_info *info)
{
	const struct world *w = find(name);

	if (!w || w->pool == '-' || w->pool == '?')
		return false;
	memset(info->pool_uuid, w->pool, EK_UUID_SIZE);
	return true;
}

int dm_get_table(const char *name, char **params, uint64_t *sectors)
{
	const struct world *w = find(name);

	if (!w)
		return -ENXIO;
	if (w->pool == '-')
		return -EMEDIUMTYPE;
	*params = xstrdup("");
	*sectors = 8;
	return 0;
}

int dm_list_hybrid(struct dm_dev **devs, unsigned int *nr)
{
	unsigned int i;

	*devs = xcalloc(MAX, sizeof(**devs));
	*nr = 0;
	for (i = 0; i < MAX; i++)
		if (now[i].name && now[i].pool != '-')
			(*devs)[(*nr)++].name = xstrdup(now[i].name);
	return 0;
}

void dm_free_list(struct dm_dev *devs, unsigned int nr)
{
	while (nr)
		free(devs[--nr].name);
	free(devs);
}

/* Nobody asks for these. */
int dm_lookup(const char *name, struct dm_dev *dev)
{
	abort();
}

uint64_t bdev_seq(dev_t rdev)
{
	abort();
}

int lock_pool(const uint8_t *uuid, const char *name)
{
	(void)name;
	locked = *uuid;
	memcpy(now, meanwhile, sizeof(now));
	return EXIT_OK;
}

void unlock_pool(void)
{
	locked = 0;
}

/* live_lock("p") with what it prints, pools before and after. */
static int lock(const struct world *before, const struct world *after, char *text, size_t len)
{
	struct capture c;
	int ret;

	memcpy(now, before, sizeof(now));
	meanwhile = after;
	locked = 0;
	capture_begin(&c, stderr);
	ret = live_lock("p");
	capture_end(&c, text, len);
	text[strcspn(text, "\n")] = 0;
	return ret;
}

static void goes_on(const char *title, const struct world *before, const struct world *after,
		    char pool)
{
	char text[256];
	int ret = lock(before, after, text, sizeof(text));

	ktap_ok(ret == EXIT_OK && !*text && locked == pool, "%s", title);
}

static void refuses(const char *title, const struct world *after, const char *why)
{
	static const struct world before[MAX] = { { "p", 'a' }, { "q", 'b' } };
	char text[256];
	int ret = lock(before, after, text, sizeof(text));

	ktap_ok(ret == EXIT_FAILED && strstr(text, why) && !locked, "%s: %s", title, text);
}

int main(void)
{
	static const struct world same[MAX] = { { "p", 'a' }, { "q", 'b' } };
	static const struct world other_stopped[MAX] = { { "p", 'a' } };
	static const struct world stopped[MAX] = { { "q", 'b' } };
	static const struct world renamed[MAX] = { { "new", 'a' }, { "q", 'b' } };
	static const struct world replaced[MAX] = { { "p", 'c' }, { "q", 'b' } };
	static const struct world swapped[MAX] = { { "q", 'a' }, { "p", 'b' } };
	static const struct world linear[MAX] = { { "p", '-' }, { "q", 'b' } };
	static const struct world unread[MAX] = { { "p", '?' }, { "q", 'b' } };

	ktap_begin();
	goes_on("nothing has happened", same, same, 'a');
	goes_on("another one was stopped", same, other_stopped, 'a');
	goes_on("without a label there is no lock, and nothing to look at", unread, unread, 0);
	refuses("stopped", stopped, "p: has been stopped meanwhile");
	refuses("renamed", renamed, "p: has been renamed to new meanwhile");
	refuses("stopped, and another has the name", replaced,
		"p: another pool has that name by now; the one that had it has been stopped");
	refuses("names were swapped", swapped,
		"p: another pool has that name by now; the one that had it is q");
	refuses("another target has the name", linear, "p: something that is no hybrid volume");
	refuses("its label can't be read any more", unread, "p: no label of its metadata");
	return ktap_end();
}
