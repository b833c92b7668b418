// SPDX-License-Identifier: GPL-2.0-only
/* Making, changing and removing an emulated disk. All of it with emu_mutex held. */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <compat/blkdev.h>

#include "emudisk.h"

/* Everything that key=value can say; parsed as a whole before any of it takes effect. */
struct emu_settings {
	u64 p[EMU_NR_PARAMS];
	u64 dilate;
	u64 seed;
	u64 lbs;
	u64 cache_size;
	enum emu_cache cache;
	unsigned int fail;
	u64 fail_start, fail_len, fail_after, fail_drop;
	unsigned int given;		/* GIVEN_*: of the keys that requests change, too */
	bool stall;
	bool on;
};

#define GIVEN_FAIL	BIT(0)
#define GIVEN_RANGE	BIT(1)
#define GIVEN_AFTER	BIT(2)
#define GIVEN_DROP	BIT(3)

static const char * const emu_cache_names[] = {
	[EMU_CACHE_NONE] = "none", [EMU_CACHE_THROUGH] = "through",
	[EMU_CACHE_VOLATILE] = "volatile",
};

static const struct {
	const char *name;
	unsigned int mask;
} emu_fail_names[] = {
	{ "none", 0 },
	{ "read", EMU_FAIL_READ },
	{ "write", EMU_FAIL_WRITE },
	{ "flush", EMU_FAIL_FLUSH },
	{ "all", EMU_FAIL_READ | EMU_FAIL_WRITE | EMU_FAIL_FLUSH },
};

static int emu_open(struct gendisk *disk)
{
	struct emu_dev *dev = disk->private_data;

	return READ_ONCE(dev->shut) ? -EBUSY : 0;
}

COMPAT_DISK_OPEN(emu_open)

static const struct block_device_operations emu_fops = {
	.owner = THIS_MODULE,
	.open = compat_emu_open,
	.submit_bio = emu_submit_bio,
};

/**
 * emu_fail - put an error into words
 * @error: EMU_ERROR_LEN bytes
 * @err: negative error number
 * @fmt: what the user gets to read
 *
 * Return: @err.
 */
int emu_fail(char *error, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(error, EMU_ERROR_LEN, fmt, args);
	va_end(args);
	return err;
}

/**
 * emu_word - take the next key=value from a line
 * @args: the rest of the line, advanced; NULL is an empty one
 * @key: result
 * @value: result
 * @error: text of a failure
 *
 * Return: 1 when there was one, 0 at the end, -EINVAL for a word without an equals sign.
 */
int emu_word(char **args, char **key, char **value, char *error)
{
	char *word;

	do {
		word = strsep(args, " ");
		if (!word)
			return 0;
	} while (!*word);
	*key = word;
	*value = strchr(word, '=');
	if (!*value)
		return emu_fail(error, -EINVAL, "%s: not key=value", word);
	*(*value)++ = 0;
	return 1;
}

static int emu_set_fail(struct emu_settings *s, const char *value)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(emu_fail_names); i++) {
		if (!strcmp(value, emu_fail_names[i].name)) {
			s->fail = emu_fail_names[i].mask;
			s->given |= GIVEN_FAIL;
			return 0;
		}
	}
	return -EINVAL;
}

static int emu_set_fail_range(struct emu_settings *s, char *value)
{
	char *len = strchr(value, '+');

	if (!len)
		return -EINVAL;
	*len++ = 0;
	if (kstrtoull(value, 0, &s->fail_start) || kstrtoull(len, 0, &s->fail_len) ||
	    s->fail_start + s->fail_len < s->fail_start)
		return -EINVAL;
	s->given |= GIVEN_RANGE;
	return 0;
}

static int emu_set_count(struct emu_settings *s, u64 *count, unsigned int key, const char *value)
{
	s->given |= key;
	return kstrtoull(value, 0, count);
}

static int emu_set_cache(struct emu_settings *s, const char *value)
{
	int i = match_string(emu_cache_names, ARRAY_SIZE(emu_cache_names), value);

	if (i < 0)
		return -EINVAL;
	s->cache = i;
	return 0;
}

static int emu_set_bool(bool *flag, const char *value)
{
	return kstrtobool(value, flag);
}

static int emu_set_lbs(struct emu_settings *s, const char *value)
{
	if (emu_parse(EMU_SIZE, value, &s->lbs) || (s->lbs != 512 && s->lbs != 4096))
		return -EINVAL;
	return 0;
}

static int emu_set_dilate(struct emu_settings *s, const char *value)
{
	char *text = kasprintf(GFP_KERNEL, "%sus", value);	/* three decimals */
	int err;

	if (!text)
		return -ENOMEM;
	err = emu_parse(EMU_TIME, text, &s->dilate);
	kfree(text);
	return err ?: s->dilate && s->dilate <= 1000000 ? 0 : -ERANGE;
}

/* Keys that mean the same on every device. 1 when it was one of them. */
static int emu_set_common(struct emu_settings *s, const char *key, char *value)
{
	int err;

	if (!strcmp(key, "dilate"))
		err = emu_set_dilate(s, value);
	else if (!strcmp(key, "stall"))
		err = emu_set_bool(&s->stall, value);
	else if (!strcmp(key, "power"))
		err = emu_set_bool(&s->on, value);
	else if (!strcmp(key, "fail"))
		err = emu_set_fail(s, value);
	else if (!strcmp(key, "fail_range"))
		err = emu_set_fail_range(s, value);
	else if (!strcmp(key, "fail_after"))
		err = emu_set_count(s, &s->fail_after, GIVEN_AFTER, value);
	else if (!strcmp(key, "fail_drop"))
		err = emu_set_count(s, &s->fail_drop, GIVEN_DROP, value);
	else if (!strcmp(key, "cache_size"))
		err = emu_parse(EMU_SIZE, value, &s->cache_size);
	else
		return 0;
	return err ?: 1;
}

static int emu_set_fixed(struct emu_settings *s, const char *key, char *value)
{
	int err;

	if (!strcmp(key, "seed"))
		err = kstrtoull(value, 0, &s->seed);
	else if (!strcmp(key, "lbs"))
		err = emu_set_lbs(s, value);
	else if (!strcmp(key, "cache"))
		err = emu_set_cache(s, value);
	else
		return 0;
	return err ?: 1;
}

static int emu_set_param(struct emu_dev *dev, struct emu_settings *s, const char *key,
			 const char *value)
{
	enum emu_kind kind = dev->preset->kind;
	int i = emu_param_find(kind, key), err;

	if (i < 0)
		return emu_fail(dev->error, -EINVAL, "%s has no key %s", dev->preset->name, key);
	if (dev->live && emu_params[i].fixed)
		return emu_fail(dev->error, -EINVAL, "%s can be given at add only", key);
	err = emu_parse(emu_params[i].unit, value, &s->p[i]);
	if (err)
		return emu_fail(dev->error, err, "%s=%s: bad value", key, value);
	err = emu_param_check(kind, i, s->p[i]);
	if (err)
		return emu_fail(dev->error, err, "%s=%s: out of range", key, value);
	return 0;
}

static int emu_parse_settings(struct emu_dev *dev, struct emu_settings *s, char *args)
{
	char *key, *value;
	int err;

	while ((err = emu_word(&args, &key, &value, dev->error)) > 0) {
		err = emu_set_common(s, key, value);
		if (!err) {
			err = emu_set_fixed(s, key, value);
			if (err > 0 && dev->live)
				return emu_fail(dev->error, -EINVAL,
						"%s can be given at add only", key);
		}
		if (err < 0)
			return emu_fail(dev->error, err, "%s=%s: bad value", key, value);
		if (err)
			continue;
		err = emu_set_param(dev, s, key, value);
		if (err)
			return err;
	}
	return err;
}

static void emu_get_settings(struct emu_dev *dev, struct emu_settings *s)
{
	memcpy(s->p, dev->model->p, sizeof(s->p));
	s->dilate = dev->dilate;
	s->seed = dev->seed;
	s->lbs = dev->lbs;
	s->cache = dev->cache;
	s->cache_size = dev->cache_size;
	s->stall = dev->stall;
	s->on = !dev->off;
}

/* Only what was given: requests have counted on meanwhile, or dropped the disk. */
static void emu_apply_faults(struct emu_dev *dev, const struct emu_settings *s)
{
	if (s->given & GIVEN_RANGE) {
		dev->fail_start = s->fail_start;
		dev->fail_len = s->fail_len;
	}
	if (s->given & GIVEN_AFTER)
		dev->fail_after = s->fail_after;
	if (s->given & GIVEN_DROP)
		dev->fail_drop = s->fail_drop;
	if (s->given & GIVEN_FAIL)
		dev->fail = s->fail;
}

static void emu_apply_settings(struct emu_dev *dev, const struct emu_settings *s)
{
	dev->seed = s->seed;
	dev->lbs = s->lbs;
	dev->cache = s->cache;
	spin_lock_irq(&dev->lock);
	memcpy(dev->model->p, s->p, sizeof(s->p));
	emu_model_retune(dev->model);
	dev->cache_size = s->cache_size;
	emu_apply_faults(dev, s);
	if (s->stall)
		dev->stall = true;
	spin_unlock_irq(&dev->lock);
	if (dev->dilate != s->dilate)
		emu_engine_dilate(dev, s->dilate);
	if (dev->stall && !s->stall)
		emu_engine_unstall(dev);
}

static int emu_apply_power(struct emu_dev *dev, bool on)
{
	struct emu_survival survival = { .keep = EMU_KEEP_NONE };

	if (on == !dev->off)
		return 0;
	if (!on)
		return emu_cut(dev, &survival, dev->error);
	emu_power_on(dev);
	return 0;
}

/**
 * emu_dev_set - change parameters of a live device, all of them or none
 * @dev: the device
 * @args: key=value words
 *
 * Return: 0 or a negative error number with dev->error set.
 */
int emu_dev_set(struct emu_dev *dev, char *args)
{
	struct emu_settings *s;
	int err;

	if (!dev->live)
		return emu_fail(dev->error, -ENODEV, "not created yet");
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	emu_get_settings(dev, s);
	err = emu_parse_settings(dev, s, args);
	if (!err)
		err = emu_apply_power(dev, s->on);
	if (!err)
		emu_apply_settings(dev, s);
	kfree(s);
	return err;
}

struct emu_dev *emu_dev_alloc(const char *name)
{
	struct emu_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	strscpy(dev->name, name, sizeof(dev->name));
	INIT_LIST_HEAD(&dev->node);
	INIT_LIST_HEAD(&dev->pending);
	INIT_LIST_HEAD(&dev->taken);
	mutex_init(&dev->write_mutex);
	xa_init(&dev->pages);
	xa_init(&dev->durable);
	xa_init(&dev->base);
	emu_engine_init(dev);
	return dev;
}

void emu_dev_free(struct emu_dev *dev)
{
	kvfree(dev->model);
	kfree(dev);
}

static void emu_init_settings(struct emu_dev *dev, struct emu_settings *s)
{
	memset(s, 0, sizeof(*s));
	memcpy(s->p, dev->preset->param, sizeof(s->p));
	s->dilate = 1000;
	s->seed = 1;
	s->lbs = 512;
	s->cache = EMU_CACHE_NONE;
	s->cache_size = 256ULL << 20;
	s->given = GIVEN_FAIL | GIVEN_RANGE | GIVEN_AFTER | GIVEN_DROP;
	s->on = true;
}

/*
 * As a SATA drive has it.  Without, it would be 255, and device-mapper would make requests of them
 * that no real drive gets.
 */
#define EMU_MAX_SECTORS	65535

static int emu_add_disk(struct emu_dev *dev)
{
	struct queue_limits lim = {
		.logical_block_size = dev->lbs,
		.physical_block_size = 4096,
		.max_hw_sectors = EMU_MAX_SECTORS,
		.max_hw_discard_sectors = UINT_MAX >> SECTOR_SHIFT,
		.max_write_zeroes_sectors = UINT_MAX >> SECTOR_SHIFT,
		.discard_granularity = dev->lbs,
	};
	unsigned int features = COMPAT_DISK_NOWAIT | COMPAT_DISK_IO_STAT;
	struct gendisk *disk;
	int err;

	if (dev->cache == EMU_CACHE_VOLATILE || dev->model->p[EMU_P_WCACHE])
		features |= COMPAT_DISK_WRITE_CACHE;
	if (dev->preset->kind == EMU_KIND_HDD)
		features |= COMPAT_DISK_ROTATIONAL;
	disk = compat_alloc_disk(&lim, features);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	snprintf(disk->disk_name, DISK_NAME_LEN, EMU_PREFIX "%s", dev->name);
	disk->fops = &emu_fops;
	disk->private_data = dev;
	set_capacity(disk, dev->sectors);
	dev->disk = disk;
	list_add_tail(&dev->node, &emu_devs);
	emu_nr_devs++;
	emu_record_new_dev(dev);
	err = add_disk(disk);
	if (err) {
		list_del_init(&dev->node);
		emu_nr_devs--;
		put_disk(disk);
		dev->disk = NULL;
	}
	return err;
}

/*
 * add_disk() looks for partitions, with emu_mutex held and beyond the reach of signals: of a slow
 * disk, for hours. So the disk has its speed from then on. Nothing is in the model at that moment,
 * as one without latencies keeps nothing.
 */
static int emu_add_disk_quickly(struct emu_dev *dev)
{
	enum emu_kind kind = dev->model->kind;
	int err;

	dev->model->kind = EMU_KIND_NULL;
	err = emu_add_disk(dev);
	spin_lock_irq(&dev->lock);
	dev->model->kind = kind;
	spin_unlock_irq(&dev->lock);
	return err;
}

static int emu_parse_device(struct emu_dev *dev, char **args)
{
	char *model = strsep(args, " "), *size = strsep(args, " ");
	u64 bytes;

	if (!model || !size)
		return emu_fail(dev->error, -EINVAL, "MODEL and SIZE are needed");
	dev->preset = emu_preset_find(model);
	if (!dev->preset)
		return emu_fail(dev->error, -EINVAL, "no model %s (see emuctl models)", model);
	if (emu_parse(EMU_SIZE, size, &bytes) || !bytes || bytes >> 60)
		return emu_fail(dev->error, -EINVAL, "%s: bad size", size);
	if (bytes & 4095)
		return emu_fail(dev->error, -EINVAL, "%s: not a multiple of 4K", size);
	dev->sectors = bytes >> SECTOR_SHIFT;
	return 0;
}

static int emu_dev_build(struct emu_dev *dev, struct emu_settings *s, char *args)
{
	int err;

	err = emu_parse_device(dev, &args);
	if (err)
		return err;
	emu_init_settings(dev, s);
	err = emu_parse_settings(dev, s, args);
	if (err)
		return err;
	if (s->stall)	/* the partition scan would wait for ever */
		return emu_fail(dev->error, -EINVAL, "stall can be set on a live device only");
	dev->model = kvzalloc(sizeof(*dev->model), GFP_KERNEL);
	if (!dev->model)
		return -ENOMEM;
	emu_model_init(dev->model, dev->preset, dev->sectors, s->seed);
	emu_apply_settings(dev, s);
	dev->off = !s->on;
	emu_dev_unshut(dev);
	err = emu_add_disk_quickly(dev);
	if (err) {
		kvfree(dev->model);
		dev->model = NULL;
		return emu_fail(dev->error, err, "the block layer refuses the disk");
	}
	return 0;
}

/**
 * emu_dev_create - make the disk of a new device
 * @dev: fresh from emu_dev_alloc()
 * @args: MODEL SIZE [key=value]...
 *
 * Return: 0 or a negative error number with dev->error set and nothing made.
 */
int emu_dev_create(struct emu_dev *dev, char *args)
{
	struct emu_settings *s;
	int err;

	if (dev->live)
		return emu_fail(dev->error, -EBUSY, "created already");
	if (emu_nr_devs == EMU_MAX_DEVS)
		return emu_fail(dev->error, -ENOSPC, "no more than %d devices", EMU_MAX_DEVS);
	s = kmalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	err = emu_dev_build(dev, s, args);
	kfree(s);
	dev->live = !err;
	return err;
}

/**
 * emu_dev_shut - let nobody open a disk that is closed
 * @dev: a live device
 *
 * Context: emu_mutex held. Whoever is opening the disk is not waited for: a scan for partitions may
 * hang on a stalled disk, which does not go on without emu_mutex.
 * Return: false if it is open, or being opened or closed. Otherwise emu_dev_unshut() is due.
 */
bool emu_dev_shut(struct emu_dev *dev)
{
	struct gendisk *disk = dev->disk;

	if (!mutex_trylock(&disk->open_mutex))
		return false;
	WRITE_ONCE(dev->shut, !disk_openers(disk));
	mutex_unlock(&disk->open_mutex);
	return dev->shut;
}

void emu_dev_unshut(struct emu_dev *dev)
{
	WRITE_ONCE(dev->shut, false);
}

/**
 * emu_dev_destroy - remove the disk with its content, whoever has it open
 * @dev: the device
 */
void emu_dev_destroy(struct emu_dev *dev)
{
	if (!dev->live)
		return;
	dev->live = false;
	/* nothing may wait for a stalled request while the disk goes */
	emu_engine_stop(dev);
	del_gendisk(dev->disk);
	emu_engine_stop(dev);
	list_del_init(&dev->node);
	emu_nr_devs--;
	emu_track_forget(dev);
	emu_record_drop_dev(dev);
	emu_pages_destroy(dev, &dev->pages);
	emu_pages_destroy(dev, &dev->durable);
	emu_pages_destroy(dev, &dev->base);
	put_disk(dev->disk);
	dev->disk = NULL;
	/* the directory is still there, and may get another disk */
	kvfree(dev->model);
	dev->model = NULL;
	memset(&dev->stats, 0, sizeof(dev->stats));
}

static ssize_t emu_show_stats(struct emu_dev *dev, char *page, ssize_t at)
{
	struct emu_stats s;
	unsigned int inflight, i;

	spin_lock_irq(&dev->lock);
	s = dev->stats;
	inflight = dev->inflight;
	if (inflight)
		s.busy_ns += ktime_get_ns() - s.busy_since;
	spin_unlock_irq(&dev->lock);
	at += sysfs_emit_at(page, at,
			    "reads %llu\nread_sectors %llu\nwrites %llu\nwrite_sectors %llu\n"
			    "flushes %llu\ndiscards %llu\ndiscard_sectors %llu\nerrors %llu\n"
			    "busy_ns %llu\ninflight %u\nlate_us",
			    s.ios[EMU_READ], s.sectors[EMU_READ],
			    s.ios[EMU_WRITE], s.sectors[EMU_WRITE], s.ios[EMU_FLUSH],
			    s.ios[EMU_DISCARD] + s.ios[EMU_ZEROES],
			    s.sectors[EMU_DISCARD] + s.sectors[EMU_ZEROES],
			    s.errors, s.busy_ns, inflight);
	for (i = 0; i < EMU_LATE_BUCKETS; i++)
		at += sysfs_emit_at(page, at, " %llu", s.late[i]);
	return at + sysfs_emit_at(page, at, "\n");
}

static const char *emu_fail_name(unsigned int mask)
{
	unsigned int i = 0;

	while (emu_fail_names[i].mask != mask)
		i++;
	return emu_fail_names[i].name;
}

/**
 * emu_dev_show - state and statistics as lines of key and value
 * @dev: the device
 * @page: PAGE_SIZE bytes
 *
 * Return: length, or -ENODEV.
 */
ssize_t emu_dev_show(struct emu_dev *dev, char *page)
{
	ssize_t at = 0;

	if (!dev->live)
		return -ENODEV;
	at += sysfs_emit_at(page, at, "model %s\nsize %llu\nlbs %u\ncache %s\npower %s\nopen %u\n",
			    dev->preset->name, (u64)dev->sectors << SECTOR_SHIFT, dev->lbs,
			    emu_cache_names[dev->cache], dev->off ? "off" : "on",
			    disk_openers(dev->disk));
	at += sysfs_emit_at(page, at,
			    "stall %u\nfail %s\nfail_range %llu+%llu\nfail_after %llu\n"
			    "fail_drop %llu\nmemory %lu\nunflushed %llu\n",
			    dev->stall, emu_fail_name(dev->fail), dev->fail_start, dev->fail_len,
			    dev->fail_after, dev->fail_drop,
			    atomic_long_read(&dev->nr_pages) << PAGE_SHIFT, dev->pending_bytes);
	return emu_show_stats(dev, page, at);
}

/**
 * emu_dev_show_params - the timing parameters as lines of key and value
 * @dev: the device
 * @page: PAGE_SIZE bytes
 *
 * Return: length, or -ENODEV.
 */
ssize_t emu_dev_show_params(struct emu_dev *dev, char *page)
{
	ssize_t at = 0;
	int i;

	if (!dev->live)
		return -ENODEV;
	at += sysfs_emit_at(page, at, "seed %llu\ndilate %llu.%03llu\ncache_size %llu\n", dev->seed,
			    dev->dilate / 1000, dev->dilate % 1000, dev->cache_size);
	for (i = 0; i < EMU_NR_PARAMS; i++) {
		if (!(emu_params[i].kinds & (1 << dev->preset->kind)))
			continue;
		if (emu_params[i].unit == EMU_ELEVATOR)
			at += sysfs_emit_at(page, at, "%s %s\n", emu_params[i].name,
					    emu_elevator_names[dev->model->p[i]]);
		else
			at += sysfs_emit_at(page, at, "%s %llu\n", emu_params[i].name,
					    dev->model->p[i]);
	}
	return at;
}
