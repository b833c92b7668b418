// SPDX-License-Identifier: GPL-2.0-only
/* What there is to see, as lines of a key and its value; and the check of every invariant. */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "dev.h"
#include "zones.h"

#define NL_BARS	32	/* of the histogram of erases */

/**
 * nl_dev_show - what the device is
 * @dev: the device, live
 * @page: of a file of configfs
 *
 * Context: lock held.
 * Return: length.
 */
ssize_t nl_dev_show(struct nl_dev *dev, char *page)
{
	const struct nl_geometry *geo = &dev->flash.geo;
	struct nl_zone_shape shape;
	ssize_t at = 0;

	at += sysfs_emit_at(page, at, "size %llu\npreset %s\nftl %s\npower %s\nopen %d\n",
			    (u64)dev->logical_pages << dev->page_shift, dev->preset->name,
			    nl_ftl_names[dev->config.p[NL_P_FTL]], dev->off ? "off" : "on",
			    max(READ_ONCE(dev->users), 0));
	at += sysfs_emit_at(page, at, "page_bytes %u\noob_bytes %u\nnr_planes %u\n",
			    geo->page_bytes, geo->oob_bytes, geo->nr_planes);
	at += sysfs_emit_at(page, at, "nr_blocks %u\nflash_pages %u\n", geo->nr_blocks,
			    geo->nr_pages);
	if (dev->on)
		at += sysfs_emit_at(page, at, "on %s\n", nl_raw_name(dev->on));
	if (nl_is_zoned(dev) && !nl_zone_shape(&shape, &dev->config))
		at += sysfs_emit_at(page, at, "nr_zones %u\nzone_bytes %llu\nzone_capacity %llu\n",
				    dev->logical_pages / shape.size,
				    (u64)shape.size << dev->page_shift,
				    (u64)shape.capacity << dev->page_shift);
	return at;
}

/**
 * nl_dev_show_params - the parameters, as create and set take them
 * @dev: the device, live
 * @page: of a file of configfs
 *
 * Context: lock held.
 * Return: length.
 */
ssize_t nl_dev_show_params(struct nl_dev *dev, char *page)
{
	ssize_t at = 0;
	int i;

	for (i = 0; i < NL_NR_PARAMS; i++) {
		at += sysfs_emit_at(page, at, "%s ", nl_params[i].name);
		at += nl_emit(page, at, nl_params[i].unit, dev->config.p[i]);
		at += sysfs_emit_at(page, at, "\n");
	}
	return at;
}

static ssize_t nl_show_matrix(char *page, ssize_t at, const char *what,
			      const u64 value[NL_NR_OPS][NL_NR_CAUSES])
{
	int op, cause;

	for (op = 0; op < NL_NR_OPS; op++) {
		at += sysfs_emit_at(page, at, "%s_%s", what, nl_op_names[op]);
		for (cause = 0; cause < NL_NR_CAUSES; cause++)
			at += sysfs_emit_at(page, at, " %llu", value[op][cause]);
		at += sysfs_emit_at(page, at, "\n");
	}
	return at;
}

static ssize_t nl_show_zones(const struct nl_ftl_stat *stat, char *page, ssize_t at)
{
	int i;

	for (i = 0; i < NL_NR_ZONE_STATES; i++)
		at += sysfs_emit_at(page, at, "zones_%s %u\n", nl_zone_names[i], stat->zones[i]);
	return at + sysfs_emit_at(page, at,
				  "zone_spare %u\nzone_resets %llu\nzone_moves %llu\n"
				  "zone_refused %llu\nzone_lost %llu\n", stat->zone_spare,
				  stat->zone_resets, stat->zone_moves, stat->zone_refused,
				  stat->zone_lost);
}

static ssize_t nl_show_ftl(struct nl_dev *dev, char *page, ssize_t at)
{
	struct nl_ftl_stat stat;
	int i;

	memset(&stat, 0, sizeof(stat));
	nl_ftl_stat(dev->ftl, &stat);
	at += sysfs_emit_at(page, at,
			    "mode %s\nreads %llu\nwrites %llu\ntrims %llu\nflushes %llu\n"
			    "buffered %u\nmapped %u\nfree_blocks %u\nbad_blocks %u\n"
			    "min_blocks %u\nvictims %llu\nwear_swaps %llu\n",
			    stat.state == NL_FTL_RW ? "rw" : "ro", stat.reads, stat.writes,
			    stat.trims, stat.flushes, stat.buffered, stat.mapped, stat.free_blocks,
			    stat.bad_blocks, stat.min_blocks, stat.victims, stat.wear_swaps);
	at += sysfs_emit_at(page, at,
			    "valid %u\nwasted %llu\nmigrated %llu\nwaiting %u\nstalled %llu\n"
			    "stale %llu\nunreadable %u\nlost %llu\nunlisted %llu\n", stat.valid,
			    stat.wasted, stat.migrated, stat.waiting, stat.stalled, stat.stale,
			    stat.unreadable, stat.lost, stat.unlisted);
	if (stat.map_max)
		at += sysfs_emit_at(page, at,
				    "map_chunks %u\nmap_max %u\nmap_resident %u\nmap_dirty %u\n"
				    "map_most %u\nmap_hits %llu\nmap_misses %llu\nmap_in %llu\n"
				    "map_out %llu\nmap_rebuilt %llu\nmap_lost %llu\n",
				    stat.map_chunks, stat.map_max, stat.map_resident,
				    stat.map_dirty, stat.map_most, stat.map_hits, stat.map_misses,
				    stat.map_in, stat.map_out, stat.map_rebuilt, stat.map_lost);
	for (i = 0; i < NL_NR_MERGES; i++)
		at += sysfs_emit_at(page, at, "merges_%s %llu\n", nl_merge_names[i],
				    stat.merges[i]);
	for (i = 0; i < NL_NR_MAPS; i++)
		at += sysfs_emit_at(page, at, "map_bytes_%s %llu\n", nl_map_names[i],
				    stat.map_bytes[i]);
	if (nl_is_zoned(dev))
		at = nl_show_zones(&stat, page, at);
	if (stat.meta_blocks)
		at += sysfs_emit_at(page, at,
				    "commits %llu\nimages %llu\nmeta_blocks %u\nmeta_good %u\n"
				    "meta_rotated %llu\nheld %u\n", stat.commits, stat.images,
				    stat.meta_blocks, stat.meta_good, stat.meta_rotated, stat.held);
	at += sysfs_emit_at(page, at, "ftl_bytes %llu\nrecovered_by_scan %d\nrecovery_ns %llu\n",
			    stat.other_bytes, stat.recovered_by_scan, stat.recovery_ns);
	return at;
}

static ssize_t nl_show_due(struct nl_dev *dev, char *page, ssize_t at)
{
	u64 late[NL_LATE_BUCKETS], late_max;
	unsigned int inflight, i;

	spin_lock_irq(&dev->due.lock);
	memcpy(late, dev->due.late, sizeof(late));
	late_max = dev->due.late_max;
	inflight = dev->due.inflight;
	spin_unlock_irq(&dev->due.lock);
	at += sysfs_emit_at(page, at, "inflight %u\nlate_max_ns %llu\nlate_us", inflight, late_max);
	for (i = 0; i < NL_LATE_BUCKETS; i++)
		at += sysfs_emit_at(page, at, " %llu", late[i]);
	return at + sysfs_emit_at(page, at, "\n");
}

/**
 * nl_dev_show_stat - counters
 * @dev: the device, live
 * @page: of a file of configfs
 *
 * Those of the FTL are from its power-on; while power is off there are none.
 * Context: lock held; sleeps.
 * Return: length.
 */
ssize_t nl_dev_show_stat(struct nl_dev *dev, char *page)
{
	const struct nl_flash *flash = &dev->flash;
	int cause;
	ssize_t at = 0;

	mutex_lock(&dev->io);
	at += sysfs_emit_at(page, at, "power %s\nage_ns %llu\ncuts %llu\nerrors %lld\n",
			    dev->off ? "off" : "on", ktime_get_ns() - dev->made, dev->cuts,
			    atomic64_read(&dev->due.errors));
	at += sysfs_emit_at(page, at, "nr_planes %u\npage_bytes %u\ncauses", flash->geo.nr_planes,
			    flash->geo.page_bytes);
	for (cause = 0; cause < NL_NR_CAUSES; cause++)
		at += sysfs_emit_at(page, at, " %s", nl_cause_names[cause]);
	at += sysfs_emit_at(page, at, "\n");
	at = nl_show_matrix(page, at, "count", flash->count);
	at = nl_show_matrix(page, at, "busy_ns", flash->timing.busy);
	at += sysfs_emit_at(page, at,
			    "idle_in_merge_ns %llu\nflash_ops %llu\nviolations %llu\n"
			    "pages_stored %llu\nflash_bytes %llu\n",
			    flash->timing.idle_in_merge, flash->ops, flash->violations,
			    flash->stored, nl_flash_memory(flash));
	at += sysfs_emit_at(page, at, "gc_idle %s\nidle_steps %llu\n", nl_idle_state(dev),
			    dev->idle_steps);
	if (nl_is_raw(dev))
		at += sysfs_emit_at(page, at, "refused %llu\n", flash->refused);
	if (dev->ftl)
		at = nl_show_ftl(dev, page, at);
	mutex_unlock(&dev->io);
	return nl_show_due(dev, page, at);
}

struct nl_erases {
	u32 least, most;
	u64 sum;
	u32 good;
	u32 width;
	u32 bar[NL_BARS];
};

static void nl_count_erases(struct nl_dev *dev, struct nl_erases *e)
{
	u32 b;

	e->least = U32_MAX;
	for (b = 0; b < dev->flash.geo.nr_blocks; b++) {
		u32 n = nl_flash_erases(&dev->flash, b);

		if (nl_flash_is_bad(&dev->flash, b))
			continue;
		e->good++;
		e->sum += n;
		e->least = min(e->least, n);
		e->most = max(e->most, n);
	}
	if (!e->good)
		e->least = 0;
	e->width = (e->most - e->least) / NL_BARS + 1;
	for (b = 0; b < dev->flash.geo.nr_blocks; b++)
		if (!nl_flash_is_bad(&dev->flash, b))
			e->bar[(nl_flash_erases(&dev->flash, b) - e->least) / e->width]++;
}

/**
 * nl_dev_show_erases - how often good blocks were erased
 * @dev: the device, live
 * @page: of a file of configfs
 *
 * Each line "erased N COUNT" is of the blocks that were erased at least N times, and less often
 * than the next line's.
 * Context: lock held; sleeps.
 * Return: length.
 */
ssize_t nl_dev_show_erases(struct nl_dev *dev, char *page)
{
	struct nl_erases e = { 0 };
	ssize_t at;
	u32 i;

	mutex_lock(&dev->io);
	nl_count_erases(dev, &e);
	mutex_unlock(&dev->io);
	at = sysfs_emit(page, "good %u\nleast %u\nmost %u\nsum %llu\nwidth %u\n", e.good, e.least,
			e.most, e.sum, e.width);
	for (i = 0; i < NL_BARS && e.least + i * e.width <= e.most; i++)
		at += sysfs_emit_at(page, at, "erased %u %u\n", e.least + i * e.width, e.bar[i]);
	return at;
}

/* --- the check -------------------------------------------------------------------------------- */

static void nl_note(void *ctx, const char *text)
{
	struct nl_dev *dev = ctx;
	size_t len = strlen(dev->findings);

	scnprintf(dev->findings + len, PAGE_SIZE - len, "%s\n", text);
}

/**
 * nl_dev_check - hold map, OOB, validity and free lists against each other
 * @dev: the device
 * @args: nothing but a 1
 *
 * Context: lock held; sleeps.
 * Return: 0 if all is well; -EUCLEAN with findings; another error.
 */
int nl_dev_check(struct nl_dev *dev, char *args)
{
	u32 broken = 0;
	int err = 0;

	if (strcmp(args, "1"))
		return nl_fail(dev, -EINVAL, "%s: 1", args);
	if (!dev->live)
		return nl_fail(dev, -ENODEV, "%s is not there", dev->name);
	if (!dev->findings)
		dev->findings = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (!dev->findings)
		return -ENOMEM;
	dev->findings[0] = 0;
	mutex_lock(&dev->io);
	if (dev->off)
		err = nl_fail(dev, -EIO, "the power of %s is off", dev->name);
	else if (dev->ftl)
		broken = nl_ftl_check(dev->ftl, nl_note, dev);
	if (dev->flash.violations) {
		nl_note(dev, dev->flash.violation);
		broken++;
	}
	mutex_unlock(&dev->io);
	if (broken)
		return nl_fail(dev, -EUCLEAN, "%u broken", broken);
	return err;
}

ssize_t nl_dev_show_findings(struct nl_dev *dev, char *page)
{
	ssize_t len = strscpy(page, dev->findings ?: "", PAGE_SIZE);

	return len < 0 ? PAGE_SIZE - 1 : len;
}
