// SPDX-License-Identifier: GPL-2.0-only
/* A member is who it is when the pool's lock is had, not who it was before that was waited for. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../commands.h"
#include "../dm.h"
#include "../ext_meta.h"
#include "../live.h"
#include "../msg.h"
#include "../volume.h"
#include "ktap.h"

/* --- the machine: members /dev/old and /dev/stays, until the lock has been waited for --- */

static struct {
	const char *first;		/* member 0's path */
	const char *meanwhile;		/* what it is once the lock is had */
	bool locked, refused;
	unsigned int nr_looks, looks_unlocked, nr_sent, sent_unlocked, scans_unlocked;
	char sent[64];
} now;

int need_volume(const char *name)
{
	return EXIT_OK;
}

int live_lock(const char *name)
{
	if (now.refused)
		return EXIT_FAILED;
	now.locked = true;
	now.first = now.meanwhile;
	return EXIT_OK;
}

void live_warn_kept(const char *name)
{
}

int volume_look(struct volume *v, const char *name, unsigned int what)
{
	memset(v, 0, sizeof(*v));
	v->name = name;
	v->st.nr_devs = 2;
	v->st.extent_sectors = 256;
	v->st.policy_args = "pin 0+8:1";
	v->path[0] = xstrdup(now.first);
	v->path[1] = xstrdup("/dev/stays");
	now.nr_looks++;
	now.looks_unlocked += !now.locked;
	return EXIT_OK;
}

void volume_free(struct volume *v)
{
	free(v->path[0]);
	free(v->path[1]);
}

int dm_message(const char *name, const char *text, char **reply, char **why)
{
	now.nr_sent++;
	now.sent_unlocked += !now.locked;
	snprintf(now.sent, sizeof(now.sent), "%s", text);
	return 0;
}

int ext_meta_find(const char *path, uint64_t unit, struct ranges *r)
{
	now.scans_unlocked += !now.locked;
	ranges_add(r, 0, 8);
	ranges_settle(r);
	return EXIT_OK;
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

static int run(const char *words, const char *meanwhile)
{
	char *line = xasprintf("pin vol %s", words), *rest = line, *argv[8];
	int argc = 0, ret;

	while (argc < 7 && (argv[argc] = strsep(&rest, " ")))
		argc++;
	argv[argc] = NULL;
	memset(&now, 0, sizeof(now));
	now.first = "/dev/old";
	now.meanwhile = meanwhile;
	now.refused = !meanwhile;
	optind = 0;
	ret = cmd_pin(argc, argv);
	free(line);
	return ret;
}

static void pins(const char *words, const char *sent)
{
	int ret = run(words, "/dev/old");

	ktap_ok(ret == EXIT_OK && !strcmp(now.sent, sent), "%s: %s", words, sent);
	ktap_ok(!now.looks_unlocked && !now.sent_unlocked && !now.scans_unlocked,
		"%s: with the lock all along", words);
}

static void pins_none(const char *words, const char *meanwhile, int status, const char *why)
{
	int ret = run(words, meanwhile);

	ktap_ok(ret == status && !now.nr_sent, "%s: %s", words, why);
}

static void shows(const char *words)
{
	int ret = run(words, "/dev/old");

	ktap_ok(ret == EXIT_OK && !now.nr_sent && !now.locked, "%s: nobody is waited for", words);
}

int main(void)
{
	ktap_begin();
	pins("0 1M /dev/old", "pin 0 2048 0");
	pins("0 1M 1", "pin 0 2048 1");
	pins("--ext4-metadata /dev/old", "set pin 0+8:0");
	pins("--remove 0 1M", "unpin 0 2048");
	pins("--remove", "unpin");
	pins_none("0 1M /dev/old", "/dev/new", EXIT_FAILED, "it has been replaced meanwhile");
	pins_none("--ext4-metadata /dev/old", "/dev/new", EXIT_FAILED,
		  "it has been replaced meanwhile");
	pins_none("0 1M /dev/old", NULL, EXIT_FAILED, "the lock can't be had");
	shows("--json");
	shows("--ext4-metadata /dev/old --dry-run");
	pins_none("abc 1M 1", "/dev/old", EXIT_USAGE, "not an offset");
	pins_none("0 1000 1", "/dev/old", EXIT_USAGE, "not a multiple of 512");
	pins_none("--remove 0 0", "/dev/old", EXIT_USAGE, "no length");
	return ktap_end();
}
