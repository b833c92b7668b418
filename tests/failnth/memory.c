// SPDX-License-Identifier: GPL-2.0-only
/* Creating, resizing and deleting memory devices; reserved memory is at 512 MiB. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"

#define DIR	"/sys/kernel/config/mem2m/f"
#define NODE	"/sys/block/mem2m!f"
#define SIZE	"4M"

static const struct device memory = { .dir = DIR, .node = NODE };

static unsigned long long sectors(void)
{
	unsigned long long n = 0;
	FILE *f = fopen(NODE "/size", "re");

	if (f && fscanf(f, "%llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

static int try_dir(const struct op *op)
{
	(void)op;
	return mkdir(DIR, 0755);
}

static void after_dir(const struct op *op, int error)
{
	(void)op;
	if (!access(DIR, F_OK) == !!error)
		wrong("%s, but it is %sthere", strerror(error), error ? "" : "not ");
}

static int try_resize(const struct op *op)
{
	(void)op;
	return say(DIR "/resize", "1M");
}

static void after_resize(const struct op *op, int error)
{
	unsigned long long n = sectors();

	(void)op;
	if ((n == 2048) != !error)
		wrong("%s, and it has %llu sectors", strerror(error), n);
	if (error && say(DIR "/resize", "1M"))
		wrong("and not the next time either: %s", strerror(errno));
}

void memory_end(void)
{
	device_remove(&memory);
}

#define RESERVED "4M phys=512M force"
#define PMEM "4M dax=/dev/pmem0 force"

const struct op memory_ops[] = {
	{ "mem2m: a directory", device_absent, try_dir, NULL, after_dir, .device = &memory },
	{ "mem2m: create", device_empty, device_create, NULL, device_created, SIZE, .device = &memory },
	{ "mem2m: resize", device_made, try_resize, NULL, after_resize, SIZE, .device = &memory },
	{ "mem2m: delete", device_made, device_delete, NULL, device_deleted, SIZE, .device = &memory },
	{ "mem2m: create of reserved memory", device_empty, device_create, NULL, device_created,
	  RESERVED, .device = &memory },
	{ "mem2m: delete of reserved memory", device_made, device_delete, NULL, device_deleted,
	  RESERVED, .device = &memory },
	{ "mem2m: create on pmem", device_empty, device_create, NULL, device_created,
	  PMEM, .device = &memory, .thin = 8 },
	{ "mem2m: delete on pmem", device_made, device_delete, NULL, device_deleted,
	  PMEM, .device = &memory },
	{ }
};
