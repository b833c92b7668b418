// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: the recorder
 *
 * While it runs, every write, flush and discard of every device is appended to one list, numbered
 * at submission and at completion from one sequence. At its start each device's content becomes
 * its base: from then on the first change of a page saves what was there (emu_dev.base).
 *
 * Replaying to SEQ puts the base back and applies, in order, what was durable at SEQ plus a chosen
 * part of what had been submitted and was not. Per device, durable is what completed before the
 * submission of a flush that completed by SEQ, and what was FUA and completed by SEQ.
 */
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "emudisk.h"

static DEFINE_SPINLOCK(emu_log_lock);
static LIST_HEAD(emu_log);
static u64 emu_log_events, emu_log_bytes, emu_log_start, emu_log_end, emu_log_mark;
static bool emu_log_kept;		/* bases are armed */
bool emu_recording;

static const char * const emu_op_names[] = {
	[EMU_READ] = "read", [EMU_WRITE] = "write", [EMU_FLUSH] = "flush",
	[EMU_DISCARD] = "discard", [EMU_ZEROES] = "zeroes",
};

/**
 * emu_record_add - append an event if the recorder runs
 * @entry: the event; the log takes a reference
 *
 * Context: the device's lock held, or emu_mutex for a mark.
 */
void emu_record_add(struct emu_entry *entry)
{
	unsigned long flags;

	if (!READ_ONCE(emu_recording))
		return;
	refcount_inc(&entry->refs);
	spin_lock_irqsave(&emu_log_lock, flags);
	list_add_tail(&entry->log, &emu_log);
	emu_log_events++;
	emu_log_bytes += struct_size(entry, pages, entry->nr_pages) +
			 ((u64)entry->nr_pages << PAGE_SHIFT);
	spin_unlock_irqrestore(&emu_log_lock, flags);
}

static void emu_record_del(struct emu_entry *entry)
{
	spin_lock_irq(&emu_log_lock);
	list_del_init(&entry->log);
	emu_log_events--;
	emu_log_bytes -= struct_size(entry, pages, entry->nr_pages) +
			 ((u64)entry->nr_pages << PAGE_SHIFT);
	spin_unlock_irq(&emu_log_lock);
	emu_entry_put(entry);
}

/* A device added while bases are kept has its own from now. */
void emu_record_new_dev(struct emu_dev *dev)
{
	dev->base_armed = emu_log_kept;
	dev->tracked = dev->base_armed || dev->cache != EMU_CACHE_NONE;
}

bool emu_record_has(struct emu_dev *dev)
{
	struct emu_entry *entry;
	bool has = false;

	spin_lock_irq(&emu_log_lock);
	list_for_each_entry(entry, &emu_log, log) {
		if (entry->dev == dev) {
			has = true;
			break;
		}
	}
	spin_unlock_irq(&emu_log_lock);
	return has;
}

/**
 * emu_record_drop_dev - forget all events of a device
 * @dev: it takes no more bios
 *
 * Context: emu_mutex held.
 */
void emu_record_drop_dev(struct emu_dev *dev)
{
	struct emu_entry *entry, *next;

	list_for_each_entry_safe(entry, next, &emu_log, log)
		if (entry->dev == dev)
			emu_record_del(entry);
}

static int emu_record_start(char *error)
{
	struct emu_dev *dev;

	if (emu_recording)
		return emu_fail(error, -EBUSY, "recording already");
	if (emu_log_kept)
		return emu_fail(error, -EBUSY, "a log is kept: record clear first");
	if (list_empty(&emu_devs))
		return emu_fail(error, -ENODEV, "there are no devices to record");
	emu_lock_all();
	list_for_each_entry(dev, &emu_devs, node) {
		dev->base_armed = true;
		WRITE_ONCE(dev->tracked, true);
	}
	/* writers in place have seen that, or are done */
	synchronize_rcu();
	emu_log_kept = true;
	emu_log_start = atomic64_inc_return(&emu_seq);
	emu_log_end = 0;
	emu_log_mark = 0;
	WRITE_ONCE(emu_recording, true);
	emu_unlock_all();
	return 0;
}

static int emu_record_stop(char *error)
{
	if (!emu_recording)
		return emu_fail(error, -EINVAL, "not recording");
	emu_lock_all();
	WRITE_ONCE(emu_recording, false);
	emu_log_end = atomic64_inc_return(&emu_seq);
	emu_unlock_all();
	return 0;
}

static int emu_record_clear(char *error)
{
	struct emu_entry *entry, *next;
	struct emu_dev *dev;

	if (emu_recording)
		return emu_fail(error, -EBUSY, "recording: stop first");
	emu_lock_all();
	list_for_each_entry_safe(entry, next, &emu_log, log)
		emu_record_del(entry);
	list_for_each_entry(dev, &emu_devs, node) {
		dev->base_armed = false;
		emu_pages_destroy(dev, &dev->base);
		WRITE_ONCE(dev->tracked, dev->cache != EMU_CACHE_NONE);
	}
	emu_log_kept = false;
	emu_unlock_all();
	return 0;
}

/* A mark is a word or more in a line of the log, which is what its reader takes it for. */
static bool emu_is_line(const char *text)
{
	for (; *text; text++)
		if (iscntrl(*text))
			return false;
	return true;
}

static int emu_record_mark(const char *text, char *error)
{
	struct emu_entry *entry;

	if (!emu_recording)
		return emu_fail(error, -EINVAL, "not recording");
	if (!*text)
		return emu_fail(error, -EINVAL, "a mark needs a text");
	if (!emu_is_line(text))
		return emu_fail(error, -EINVAL, "a mark has no control characters");
	entry = emu_entry_alloc(NULL, EMU_FLUSH, 0, 0);
	if (!entry)
		return -ENOMEM;
	entry->text = kstrdup(text, GFP_KERNEL);
	if (!entry->text) {
		emu_entry_put(entry);
		return -ENOMEM;
	}
	entry->mark = true;
	entry->submit = atomic64_inc_return(&emu_seq);
	entry->complete = entry->submit;
	emu_log_mark = entry->submit;
	emu_record_add(entry);
	emu_entry_put(entry);
	return 0;
}

/* Whoever opened a disk now would see its content change. */
static int emu_replay_shut(char *error)
{
	struct emu_dev *dev;

	if (!emu_log_kept)
		return emu_fail(error, -EINVAL, "nothing was recorded");
	if (emu_recording)
		return emu_fail(error, -EBUSY, "recording: stop first");
	/* Before any is shut, which those who open others would notice. */
	list_for_each_entry(dev, &emu_devs, node)
		if (disk_openers(dev->disk))
			return emu_fail(error, -EBUSY, "%s is open", dev->name);
	list_for_each_entry(dev, &emu_devs, node) {
		if (!emu_dev_shut(dev))
			return emu_fail(error, -EBUSY, "%s is open", dev->name);
		if (READ_ONCE(dev->inflight))
			return emu_fail(error, -EBUSY, "%s has I/O under way", dev->name);
	}
	return 0;
}

static void emu_replay_unshut(void)
{
	struct emu_dev *dev;

	list_for_each_entry(dev, &emu_devs, node)
		emu_dev_unshut(dev);
}

static int emu_replay_base(struct emu_dev *dev)
{
	unsigned long index;
	void *entry;
	int err;

	xa_for_each(&dev->base, index, entry) {
		err = emu_pages_put(dev, &dev->pages, index, xa_is_value(entry) ? NULL : entry);
		if (err)
			return err;
	}
	return 0;
}

static int emu_replay_settle(struct emu_dev *dev)
{
	unsigned long index;
	void *entry;
	int err;

	if (dev->cache == EMU_CACHE_NONE)
		return 0;
	xa_for_each(&dev->base, index, entry) {
		err = emu_pages_put(dev, &dev->durable, index, xa_load(&dev->pages, index));
		if (err)
			return err;
	}
	return 0;
}

static void emu_replay_flushes(u64 to)
{
	struct emu_entry *entry;
	struct emu_dev *dev;

	list_for_each_entry(dev, &emu_devs, node)
		dev->replay_seq = 0;
	list_for_each_entry(entry, &emu_log, log)
		if (entry->op == EMU_FLUSH && entry->dev && entry->complete &&
		    entry->complete <= to)
			entry->dev->replay_seq = max(entry->dev->replay_seq, entry->submit);
}

static int emu_replay_entry(struct emu_entry *entry, u64 to, const struct emu_survival *survival,
			    u64 rng)
{
	struct emu_dev *dev = entry->dev;
	bool done = entry->complete && entry->complete <= to, durable;

	if (entry->op == EMU_FLUSH || !entry->submit || entry->submit > to)
		return 0;
	durable = done && (entry->fua || entry->complete < dev->replay_seq);
	if (!durable && !emu_survives(survival, &rng))
		return 0;
	return emu_track_apply(dev, &dev->pages, entry, durable ? NULL : survival, &rng);
}

static int emu_replay(u64 to, const struct emu_survival *survival)
{
	u64 rng = survival->seed;
	struct emu_entry *entry;
	struct emu_dev *dev;
	int err;

	list_for_each_entry(dev, &emu_devs, node) {
		err = emu_track_settle(dev) ?: emu_replay_base(dev);
		if (err)
			return err;
	}
	emu_replay_flushes(to);
	list_for_each_entry(entry, &emu_log, log) {
		err = emu_replay_entry(entry, to, survival, emu_random(&rng));
		if (err)
			return err;
	}
	list_for_each_entry(dev, &emu_devs, node) {
		err = emu_replay_settle(dev);
		if (err)
			return err;
	}
	return 0;
}

static int emu_record_replay(char *args, char *error)
{
	struct emu_survival survival = { .keep = EMU_KEEP_NONE };
	u64 to = U64_MAX;
	char *key, *value;
	int err;

	while ((err = emu_word(&args, &key, &value, error)) > 0) {
		if (!strcmp(key, "to")) {
			if (kstrtoull(value, 0, &to))
				return emu_fail(error, -EINVAL, "to=%s: not a number", value);
			continue;
		}
		err = emu_survival_word(&survival, key, value, error);
		if (err == -ENOENT)
			return emu_fail(error, -EINVAL, "replay knows no %s=", key);
		if (err)
			return err;
	}
	if (err)
		return err;
	if (survival.tear && survival.keep != EMU_KEEP_RANDOM)
		return emu_fail(error, -EINVAL, "tear needs keep=random");
	err = emu_replay_shut(error);
	if (!err) {
		emu_lock_all();
		err = emu_replay(to, &survival);
		emu_unlock_all();
		if (err)
			emu_fail(error, err, "no memory: content undefined");
	}
	emu_replay_unshut();
	return err;
}

/**
 * emu_record_command - what is written to the record attribute
 * @command: start, stop, clear, mark TEXT, replay [to=SEQ] [keep=...] [seed=N] [tear=0|1]
 * @error: text of a failure
 *
 * Context: emu_mutex held; sleeps.
 * Return: 0 or a negative error number.
 */
int emu_record_command(char *command, char *error)
{
	char *verb = strsep(&command, " ");

	if (!strcmp(verb, "mark"))
		return emu_record_mark(command ?: "", error);
	if (!strcmp(verb, "replay"))
		return emu_record_replay(command, error);
	if (command && *command)
		return emu_fail(error, -EINVAL, "%s takes no arguments", verb);
	if (!strcmp(verb, "start"))
		return emu_record_start(error);
	if (!strcmp(verb, "stop"))
		return emu_record_stop(error);
	if (!strcmp(verb, "clear"))
		return emu_record_clear(error);
	return emu_fail(error, -EINVAL, "the recorder knows no %s", verb);
}

/**
 * emu_record_status - the recorder's state as lines of key and value
 * @page: PAGE_SIZE bytes
 *
 * Context: emu_mutex held.
 * Return: length.
 */
ssize_t emu_record_status(char *page)
{
	return sysfs_emit(page, "state %s\nevents %llu\nbytes %llu\nstart %llu\nend %llu\n"
			  "last_mark %llu\nnow %llu\n",
			  emu_recording ? "recording" : emu_log_kept ? "stopped" : "empty",
			  emu_log_events, emu_log_bytes, emu_log_kept ? emu_log_start : 0,
			  emu_log_end, emu_log_mark, (u64)atomic64_read(&emu_seq));
}

static void *emu_log_seq_start(struct seq_file *seq, loff_t *pos)
{
	mutex_lock(&emu_mutex);
	return emu_recording ? ERR_PTR(-EBUSY) : seq_list_start(&emu_log, *pos);
}

static void *emu_log_seq_next(struct seq_file *seq, void *v, loff_t *pos)
{
	return seq_list_next(v, &emu_log, pos);
}

static void emu_log_seq_stop(struct seq_file *seq, void *v)
{
	mutex_unlock(&emu_mutex);
}

static int emu_log_seq_show(struct seq_file *seq, void *v)
{
	struct emu_entry *entry = list_entry(v, struct emu_entry, log);

	seq_printf(seq, "%llu %llu ", entry->submit, entry->complete);
	if (entry->mark) {
		seq_printf(seq, "- mark 0 0 - %s\n", entry->text);
		return 0;
	}
	seq_printf(seq, "%s %s %llu %u %s%s%s\n", entry->dev->name, emu_op_names[entry->op],
		   entry->sector, entry->sectors, entry->fua ? "F" : "", entry->preflush ? "P" : "",
		   entry->fua || entry->preflush ? "" : "-");
	return 0;
}

static const struct seq_operations emu_log_seq_ops = {
	.start = emu_log_seq_start,
	.next = emu_log_seq_next,
	.stop = emu_log_seq_stop,
	.show = emu_log_seq_show,
};

static int emu_log_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;	/* misc left its own there */
	return seq_open(file, &emu_log_seq_ops);
}

static const struct file_operations emu_log_fops = {
	.owner = THIS_MODULE,
	.open = emu_log_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release,
};

static struct miscdevice emu_log_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "emudisk-log",
	.fops = &emu_log_fops,
	.mode = 0400,
};

int emu_record_init(void)
{
	return misc_register(&emu_log_misc);
}

void emu_record_exit(void)
{
	struct emu_entry *entry, *next;

	misc_deregister(&emu_log_misc);
	list_for_each_entry_safe(entry, next, &emu_log, log)
		emu_record_del(entry);
}
