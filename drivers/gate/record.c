// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: evenkeel_record
 *
 * The recorder of scm.c, for programs: whoever has /dev/evenkeel-record open writes "START SIZE" to
 * it, physical addresses, and reads what the modules store to that memory, flush and fence, as
 * struct record_event. It is never installed. tests/crash/scmfs is its user.
 *
 * The memory need not be mapped when recording begins: its address in the direct map, where
 * scm_range_map() will have it, follows from the physical one.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <evenkeel/scm.h>

#include "record.h"

#define LINE	64u	/* room for what is written */

static unsigned int events = SZ_128K;
module_param(events, uint, 0444);
MODULE_PARM_DESC(events, "room for events (131072)");

static unsigned int bytes = SZ_16M;
module_param(bytes, uint, 0444);
MODULE_PARM_DESC(bytes, "room for what is stored, bytes (16777216)");

/* Readers in turn; the log itself changes under them, but only behind nr_events. */
static DEFINE_MUTEX(record_lock);
static bool in_use, recording;
static struct scm_log log;
static u32 told;

static bool is_store(const struct scm_event *event)
{
	return event->type == SCM_STORE || event->type == SCM_STORE_NT;
}

static int begin(u64 start, u64 size)
{
	int err;

	if (recording)
		return -EBUSY;
	log = (struct scm_log){ .base = phys_to_virt(start), .len = size, .max_events = events,
				.max_bytes = bytes };
	log.event = kvcalloc(events, sizeof(*log.event), GFP_KERNEL);
	log.bytes = kvmalloc(bytes, GFP_KERNEL);
	told = 0;
	err = log.event && log.bytes ? scm_record_start(&log) : -ENOMEM;
	if (err) {
		kvfree(log.event);
		kvfree(log.bytes);
		return err;
	}
	recording = true;
	return 0;
}

static void end(void)
{
	if (!recording)
		return;
	scm_record_stop();
	kvfree(log.event);
	kvfree(log.bytes);
	recording = false;
}

static int record_open(struct inode *inode, struct file *file)
{
	int err = 0;

	mutex_lock(&record_lock);
	if (in_use)
		err = -EBUSY;
	in_use = true;
	mutex_unlock(&record_lock);
	return err ?: stream_open(inode, file);
}

static int record_release(struct inode *inode, struct file *file)
{
	mutex_lock(&record_lock);
	end();
	in_use = false;
	mutex_unlock(&record_lock);
	return 0;
}

static ssize_t record_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	long long start, size;
	char line[LINE];
	int err;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buf, len))
		return -EFAULT;
	line[len] = 0;
	if (sscanf(line, "%lli %lli", &start, &size) != 2 || start <= 0 || size <= 0)
		return -EINVAL;
	mutex_lock(&record_lock);
	err = begin(start, size);
	mutex_unlock(&record_lock);
	return err ?: len;
}

/* Return: bytes of it, -EMSGSIZE: no room for all of it, or another negative error number. */
static ssize_t tell(const struct scm_event *event, char __user *to, size_t room)
{
	const struct record_event head = { .type = event->type, .len = event->len,
					   .offset = event->offset, .task = event->task };
	size_t body = is_store(event) ? event->len : 0;

	if (sizeof(head) + body > room)
		return -EMSGSIZE;
	if (copy_to_user(to, &head, sizeof(head)) ||
	    copy_to_user(to + sizeof(head), log.bytes + event->data, body))
		return -EFAULT;
	return sizeof(head) + body;
}

/* Whole events, in their order; none: what was recorded has been read. */
static ssize_t tell_some(char __user *buf, size_t len)
{
	/* pairs with smp_store_release() in scm_log_add() */
	u32 nr = smp_load_acquire(&log.nr_events);
	ssize_t done = 0, n = 0;

	if (READ_ONCE(log.full))
		return -EOVERFLOW;
	for (; told < nr; told++) {
		n = tell(log.event + told, buf + done, len - done);
		if (n < 0)
			break;
		done += n;
	}
	return done ?: n;
}

static ssize_t record_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	ssize_t done = -EINVAL;

	mutex_lock(&record_lock);
	if (recording)
		done = tell_some(buf, len);
	mutex_unlock(&record_lock);
	return done;
}

static const struct file_operations record_fops = {
	.owner = THIS_MODULE,
	.open = record_open,
	.release = record_release,
	.read = record_read,
	.write = record_write,
};

static struct miscdevice record_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "evenkeel-record",
	.fops = &record_fops,
	.mode = 0600,
};
module_misc_device(record_misc);

MODULE_DESCRIPTION("what is done to persistent memory, for the tests");
MODULE_AUTHOR("Evenkeel");
MODULE_LICENSE("GPL");
