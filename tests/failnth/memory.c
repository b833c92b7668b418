// SPDX-License-Identifier: GPL-2.0-only
/* Memory devices, and the dm target upon them; reserved memory is at 512 MiB. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "dm.h"

#define DIR	"/sys/kernel/config/mem2m/f"
#define NODE	"/sys/block/mem2m!f"
#define SIZE	"4M"
#define RESERVED "4M phys=512M force"
#define PMEM	"4M dax=/dev/pmem0 force"

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

/* --- the dm target: 1 MiB of it --- */

#define TARGET	"failnth-mem2m"
#define LINE	"0 2048 mem2m f "

static void no_target(void)
{
	if (dm_unmake(TARGET, 1) && errno != ENXIO)
		die("removing the target");
}

/* Who has it open, or uses it, would be in the way. */
static void nobody_uses_it(const char *when)
{
	if (device_say(&memory, "release", "1"))
		wrong("%s, the memory device can't be deleted: %s", when, strerror(errno));
}

/* Of the first table of a device a thousand allocations are none of ours, so that is another. */
static void new_target(void)
{
	char node[32];

	no_target();
	if (dm_new(TARGET, node, sizeof(node)) || dm_load(TARGET, "0 8 error") || dm_clear(TARGET))
		die("a device");
}

static void is_refused(const struct op *op, const char *line)
{
	device_made(op);
	if (!dm_load(TARGET, line))
		wrong("%s is taken", line);
	else if (errno != EINVAL)
		wrong("%s: %s", line, strerror(errno));
	nobody_uses_it("after a table that was refused");
}

static void no_table(const struct op *op)
{
	static const struct op *last;

	if (last != op) {
		new_target();
		is_refused(op, LINE "8192");
		if (!strcmp(op->arg, PMEM))
			is_refused(op, LINE "1");	/* for DAX it has to be a multiple of a page */
	}
	last = op;
	device_made(op);
}

static int try_load(const struct op *op)
{
	(void)op;
	return dm_load(TARGET, LINE "2048");
}

static void after_load(const struct op *op, int error)
{
	(void)op;
	if (error) {
		nobody_uses_it("after a load that failed");
		return;
	}
	if (!device_say(&memory, "release", "1"))
		wrong("the memory device can be deleted though it is in a table");
	else if (dm_clear(TARGET))
		wrong("clear: %s", strerror(errno));
	else
		nobody_uses_it("after clear");
}

static void made_target(const struct op *op)
{
	char node[32];

	no_target();
	device_made(op);
	if (dm_make(TARGET, LINE "2048", node, sizeof(node)))
		die("a target");
}

static int try_unmake(const struct op *op)
{
	(void)op;
	return dm_unmake(TARGET, 0);
}

static void after_unmake(const struct op *op, int error)
{
	if (error && try_unmake(op))
		wrong("%s, and then: %s", strerror(error), strerror(errno));
	nobody_uses_it("after remove");
}

void memory_end(void)
{
	no_target();
	device_remove(&memory);
}

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
	{ "mem2m target: table load", no_table, try_load, NULL, after_load, SIZE,
	  .device = &memory, .thin = 2 },
	{ "mem2m target: table load on pmem", no_table, try_load, NULL, after_load, PMEM,
	  .device = &memory, .thin = 8 },
	{ "mem2m target: remove", made_target, try_unmake, NULL, after_unmake, SIZE,
	  .device = &memory, .thin = 4 },
	{ }
};
