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

#define SPACE	" \t\n"

struct line {
	const char *name, *size, *dax;
};

/* 1: a device, 0: nothing, -1: something else. */
static int read_line(char *text, struct line *l)
{
	const char *option, *more;
	char *save;

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
static bool is_on(const struct line *l, dev_t rdev)
{
	struct stat st;

	return !stat(l->dax, &st) && S_ISBLK(st.st_mode) && st.st_rdev == rdev;
}

static bool is_there(const char *name)
{
	char *info = attr_read(name, "info"), state[16] = "empty";

	if (info)
		info_get(info, "state", state, sizeof(state));
	free(info);
	return strcmp(state, "empty");
}

static int make(const struct line *l)
{
	char *text;
	int err;

	if (setup())
		return EXIT_FAILED;
	if (is_there(l->name))
		return EXIT_OK;
	if (asprintf(&text, "%s dax=%s", l->size, l->dax) < 0)
		return complain("%s", strerror(ENOMEM));
	err = device_make(l->name, "create", text);
	free(text);
	return err;
}

int cmd_configured(int argc, char **argv)
{
	char *text = NULL;
	struct line l;
	struct stat st;
	size_t size = 0;
	unsigned int nr = 0;
	int is, err = EXIT_OK;
	FILE *f;

	if (argc != 2 || *argv[0] == '-' || *argv[1] == '-')
		return usage();
	if (stat(argv[1], &st) || !S_ISBLK(st.st_mode))
		return complain("%s: not a block device", argv[1]);
	f = fopen(argv[0], "re");
	if (!f)
		return complain("%s: %s", argv[0], strerror(errno));
	while (getline(&text, &size, f) > 0) {
		nr++;
		is = read_line(text, &l);
		if (is < 0)
			err |= complain("%s: line %u: not NAME SIZE --dax DEVICE", argv[0], nr);
		else if (is && is_on(&l, st.st_rdev))
			err |= make(&l);
	}
	free(text);
	fclose(f);
	return err;
}
