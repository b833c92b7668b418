// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices that are to be there whenever a pmem device is: udev's rule asks for them. A line of the
 * file is what follows "mem2mctl create": NAME SIZE --dax DEVICE.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mem2mctl.h"

#define SPACE		" \t\n"
#define PATIENCE_MS	30000	/* until configfs is mounted; udev has more */

/* What there is of that name: */
enum there {
	NOTHING,
	AS_ASKED,	/* on that device, or being changed: nobody can tell */
	GONE,		/* has no memory any more; that of its device may have come again */
	ANOTHER,	/* of something else */
};

/* 1: a device, 0: nothing, -1: something else. */
static int read_line(char *text, struct create *l)
{
	const char *option, *more;
	char *save;

	memset(l, 0, sizeof(*l));
	l->configured = true;
	text[strcspn(text, "#")] = 0;
	l->name = strtok_r(text, SPACE, &save);
	if (!l->name)
		return 0;
	l->size = strtok_r(NULL, SPACE, &save);
	option = strtok_r(NULL, SPACE, &save);
	l->dax = strtok_r(NULL, SPACE, &save);
	more = strtok_r(NULL, SPACE, &save);
	return l->dax && !more && !strcmp(option, "--dax") ? 1 : -1;
}

/* By another name, too: a link of udev's may be given. */
static bool leads_to(const char *path, dev_t rdev)
{
	struct stat st;

	return !stat(path, &st) && S_ISBLK(st.st_mode) && st.st_rdev == rdev;
}

static enum there judge(const char *info, dev_t rdev)
{
	char state[16], path[4096];

	info_get(info, "state", state, sizeof(state));
	if (!strcmp(state, "empty"))
		return NOTHING;
	if (strcmp(state, "live"))
		return AS_ASKED;
	if (info_number(info, "gone"))
		return GONE;
	if (!info_get(info, "beneath", path, sizeof(path)) || !leads_to(path, rdev))
		return ANOTHER;
	return AS_ASKED;
}

static enum there look(const char *name, dev_t rdev)
{
	char *info = attr_read(name, "info");
	enum there is = info ? judge(info, rdev) : NOTHING;

	free(info);
	return is;
}

/* Nothing is lost by that: its content is in the memory. */
static int delete_gone(const char *name)
{
	if (attr_write_patiently(name, "release", "1"))
		return complain("its memory went away: delete it");
	return device_dir_remove(name);
}

/* Locked. */
static int make(const struct create *l, dev_t rdev)
{
	enum there is = look(l->name, rdev);

	if (is == AS_ASKED)
		return EXIT_OK;
	if (is == ANOTHER)
		return complain("another %s exists, which is not on that", l->name);
	if (is == GONE && delete_gone(l->name))
		return EXIT_FAILED;
	return create_device(l);
}

/* @where: the line, by which whatever it fails of is told. */
static int see_to(const struct create *l, dev_t rdev, const char *where)
{
	static long patience_ms = PATIENCE_MS;
	char *about;
	int err;

	if (asprintf(&about, "%s: %s on %s", where, l->name, l->dax) < 0)
		return complain("%s", strerror(ENOMEM));
	configfs.about = about;
	err = setup_within(patience_ms);
	if (err)
		patience_ms = 0;
	/* Who makes it takes his time, and has the lock. */
	if (!err && look(l->name, rdev) != AS_ASKED) {
		device_lock(l->name);
		err = make(l, rdev);
		device_unlock(l->name);
	}
	configfs.about = NULL;
	free(about);
	return err;
}

/* Of @len bytes: a file that a power cut left behind may have nothing but zeroes. */
static int do_line(char *text, size_t len, dev_t rdev, const char *where)
{
	struct create l;
	int is = strlen(text) == len ? read_line(text, &l) : -1;

	if (is < 0)
		return complain("%s: not NAME SIZE --dax DEVICE", where);
	return is && leads_to(l.dax, rdev) ? see_to(&l, rdev, where) : EXIT_OK;
}

int cmd_configured(int argc, char **argv)
{
	char *text = NULL, *where;
	struct stat st;
	size_t size = 0;
	unsigned int nr = 0;
	int err = EXIT_OK;
	ssize_t len;
	FILE *f;

	if (argc != 2 || *argv[0] == '-' || *argv[1] == '-')
		return usage();
	if (stat(argv[1], &st) || !S_ISBLK(st.st_mode))
		return complain("%s: not a block device", argv[1]);
	f = fopen(argv[0], "re");
	if (!f)
		return complain("%s: %s", argv[0], strerror(errno));
	while ((len = getline(&text, &size, f)) > 0) {
		if (asprintf(&where, "%s: line %u", argv[0], ++nr) < 0) {
			err = complain("%s", strerror(ENOMEM));
			break;
		}
		err |= do_line(text, len, st.st_rdev, where);
		free(where);
	}
	if (ferror(f))
		err = complain("%s: can't be read", argv[0]);
	free(text);
	fclose(f);
	return err;
}
