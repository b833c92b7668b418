// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices in files: a head with the line that creates the device, and the image of its flash. Only
 * what nobody has open is saved, so the file is on no file system that waits for the device.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kstrtox.h>
#include <linux/ktime.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <evenkeel/label.h>
#include <evenkeel/nameless_device_format.h>

#include "dev.h"

#define NL_IMAGE_CHUNK	(256u << 10)

/**
 * struct nl_stream - a file, read or written in order through a buffer
 * @file: it
 * @pos: of the file
 * @used: bytes of @buffer that are to be written, or were handed out
 * @filled: bytes of @buffer that were read
 * @buffer: NL_IMAGE_CHUNK bytes
 */
struct nl_stream {
	struct file *file;
	loff_t pos;
	size_t used;
	size_t filled;
	u8 *buffer;
};

static void nl_stream_close(struct nl_stream *stream)
{
	fput(stream->file);
	kvfree(stream->buffer);
}

static int nl_stream_check(struct nl_dev *dev, struct nl_stream *stream, const char *fd, bool write)
{
	const struct inode *inode = file_inode(stream->file);

	if (!(stream->file->f_mode & (write ? FMODE_WRITE : FMODE_READ)))
		return nl_fail(dev, -EBADF, "%s: not open for %s", fd,
			       write ? "writing" : "reading");
	/* It would be written to its end, and read from its start. */
	if (write && stream->file->f_flags & O_APPEND)
		return nl_fail(dev, -EINVAL, "%s: open for appending", fd);
	/* What others have the other end of ends when they want, and is not synced. */
	if (!S_ISREG(inode->i_mode) && !S_ISBLK(inode->i_mode))
		return nl_fail(dev, -EINVAL, "%s: neither a file nor a block device", fd);
	/* The lock is held that the device's own files want. */
	if (inode->i_sb == dev->item.ci_dentry->d_sb)
		return nl_fail(dev, -EINVAL, "%s: is no file to keep a device in", fd);
	return 0;
}

/*
 * What the caller has open, by its number: who has written to a file of configfs must not look a
 * path up, which may lead there, and wait for who removes a directory and waits for the write.
 */
static int nl_stream_open(struct nl_dev *dev, struct nl_stream *stream, const char *fd, bool write)
{
	int err, number;

	memset(stream, 0, sizeof(*stream));
	err = kstrtoint(fd, 10, &number);
	if (err)
		return nl_fail(dev, err, "%s: not the number of an open file", fd);
	stream->buffer = kvmalloc(NL_IMAGE_CHUNK, GFP_KERNEL);
	if (!stream->buffer)
		return -ENOMEM;
	stream->file = fget(number);
	if (!stream->file) {
		kvfree(stream->buffer);
		return nl_fail(dev, -EBADF, "%s: not the number of an open file", fd);
	}
	err = nl_stream_check(dev, stream, fd, write);
	if (err)
		nl_stream_close(stream);
	return err;
}

static int nl_stream_drain(struct nl_stream *stream)
{
	size_t at = 0;
	ssize_t n;

	while (at < stream->used) {
		if (fatal_signal_pending(current))
			return -EINTR;
		n = kernel_write(stream->file, stream->buffer + at, stream->used - at,
				 &stream->pos);
		if (n <= 0)
			return n ?: -EIO;
		at += n;
	}
	stream->used = 0;
	return 0;
}

static int nl_put_bytes(void *ctx, const void *data, size_t len)
{
	struct nl_stream *stream = ctx;
	int err;

	while (len) {
		size_t n = min(len, NL_IMAGE_CHUNK - stream->used);

		memcpy(stream->buffer + stream->used, data, n);
		stream->used += n;
		data += n;
		len -= n;
		if (stream->used < NL_IMAGE_CHUNK)
			continue;
		err = nl_stream_drain(stream);
		if (err)
			return err;
	}
	return 0;
}

static int nl_stream_fill(struct nl_stream *stream)
{
	ssize_t n;

	if (fatal_signal_pending(current))
		return -EINTR;
	n = kernel_read(stream->file, stream->buffer, NL_IMAGE_CHUNK, &stream->pos);
	if (n <= 0)
		return n ?: -EINVAL;
	stream->filled = n;
	stream->used = 0;
	return 0;
}

static int nl_get_bytes(void *ctx, void *data, size_t len)
{
	struct nl_stream *stream = ctx;
	int err;

	while (len) {
		size_t n = min(len, stream->filled - stream->used);

		if (!n) {
			err = nl_stream_fill(stream);
			if (err)
				return err;
			continue;
		}
		memcpy(data, stream->buffer + stream->used, n);
		stream->used += n;
		data += n;
		len -= n;
	}
	return 0;
}

/* --- saving ----------------------------------------------------------------------------------- */

/* The line that creates the device, in the form of nl_dev_show_params(). */
static int nl_head_fill(struct nl_dev *dev, struct nl_device_head *head)
{
	size_t at;
	char *params = (char *)get_zeroed_page(GFP_KERNEL), *c;

	if (!params)
		return -ENOMEM;
	nl_dev_show_params(dev, params);
	for (c = params; *c; c++)
		*c = *c == ' ' ? '=' : *c == '\n' ? ' ' : *c;
	head->magic = cpu_to_le64(NL_DEVICE_MAGIC);
	head->version = cpu_to_le32(NL_DEVICE_VERSION);
	at = scnprintf(head->text, NL_DEVICE_TEXT, "%llu preset=%s %s",
		       (u64)dev->logical_pages << dev->page_shift, dev->preset->name, params);
	free_page((unsigned long)params);
	if (at == NL_DEVICE_TEXT - 1)
		return -E2BIG;
	head->csum = cpu_to_le32(ek_checksum(head, sizeof(*head), &head->csum));
	return 0;
}

static int nl_save_head(struct nl_dev *dev, struct nl_stream *stream)
{
	struct nl_device_head *head = kzalloc(sizeof(*head), GFP_KERNEL);
	int err;

	if (!head)
		return -ENOMEM;
	err = nl_head_fill(dev, head);
	if (!err)
		err = nl_put_bytes(stream, head, sizeof(*head));
	kfree(head);
	return err;
}

/*
 * Of a read-only device what is in the flash is all that there will ever be; unless that is only
 * found with metadata that could not be written.  What is still read out of the buffer is lost by
 * the stop: that is said first, to who may want to copy it.
 */
static int nl_stop_read_only(struct nl_dev *dev)
{
	u32 buffered = nl_ftl_buffered(dev->ftl);

	if (!buffered || dev->warned)
		return 0;
	dev->warned = true;
	return nl_fail(dev, -EROFS,
		       "read-only, and %u pages are only in the buffer; copy them, or save again without",
		       buffered);
}

static int nl_stop_ftl(struct nl_dev *dev)
{
	struct nl_io io = { .now = ktime_get_ns() };
	unsigned int noio = memalloc_noio_save();	/* who has io must not wait for I/O */
	int err = nl_ftl_stop(dev->ftl, &io);

	memalloc_noio_restore(noio);
	if (err == -EROFS && !nl_ftl_behind(dev->ftl)) {
		err = nl_stop_read_only(dev);
		if (err)
			return err;
	} else if (err) {
		nl_power_look(dev);
		if (err == -EIO)
			return nl_fail(dev, err,
				       "data were lost since the last flush; save again for what is left");
		return nl_fail(dev, err, "what is buffered can't be written (error %d)", -err);
	}
	nl_power_off(dev);
	dev->cuts--;
	return 0;
}

/*
 * Stop the FTL cleanly and take the power away. *@stopped: it was on. What could not be stopped
 * goes on: it still has what it could not write.
 */
static int nl_stop(struct nl_dev *dev, bool *stopped)
{
	int err = 0;

	mutex_lock(&dev->io);
	*stopped = dev->ftl;
	if (dev->ftl)
		err = nl_stop_ftl(dev);
	mutex_unlock(&dev->io);
	return err;
}

/*
 * The power back after a stop. That was no cut: one that was asked for is still to come, as many
 * operations from here as there were left. Context: lock and io held.
 */
static int nl_start_again(struct nl_dev *dev)
{
	u64 left = nl_flash_cut_left(&dev->flash);
	enum nl_tear tear = dev->flash.cut_tear;
	int err = nl_power_on(dev);

	if (err)
		return err;
	if (left != NL_NO_CUT)
		nl_flash_cut(&dev->flash, left, tear);
	nl_idle_seen(dev, ktime_get_ns(), true);
	return 0;
}

/* Nobody has the device open: io would keep nobody out, but be held over a file system's locks. */
static int nl_save_flash(struct nl_dev *dev, struct nl_stream *stream)
{
	bool stopped;
	int err = nl_stop(dev, &stopped), failed;

	if (err)
		return err;
	err = nl_flash_save(&dev->flash, nl_put_bytes, stream);
	if (!stopped)
		return err;
	mutex_lock(&dev->io);
	failed = nl_start_again(dev);
	mutex_unlock(&dev->io);
	return failed ?: err;
}

static int nl_save_to(struct nl_dev *dev, char *path)
{
	struct nl_stream stream;
	int err;

	err = nl_stream_open(dev, &stream, path, true);
	if (err)
		return err;
	err = nl_save_head(dev, &stream);
	if (!err)
		err = nl_save_flash(dev, &stream);
	if (!err)
		err = nl_stream_drain(&stream);
	if (!err)
		err = vfs_fsync(stream.file, 0);
	nl_stream_close(&stream);
	if (err && !dev->error[0])
		nl_fail(dev, err, "%s: can't be written (error %d)", path, -err);
	return err;
}

/**
 * nl_dev_save - write a device that nobody has open into a file
 * @dev: the device, with its power on or off
 * @args: number of a file that the caller has open for writing: from its start
 *
 * What is on the flash is saved.
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number with the device's error set.
 */
int nl_dev_save(struct nl_dev *dev, char *args)
{
	int err;

	if (dev->on)
		return nl_fail(dev, -EOPNOTSUPP, "the flash of %s is that of %s: save that",
			       dev->name, nl_raw_name(dev->on));
	err = nl_dev_claim(dev);
	if (err)
		return err;
	err = nl_save_to(dev, args);
	nl_dev_unclaim(dev);
	return err;
}

/* --- loading ---------------------------------------------------------------------------------- */

static int nl_head_check(struct nl_dev *dev, struct nl_device_head *head, const char *path)
{
	if (head->magic != cpu_to_le64(NL_DEVICE_MAGIC))
		return nl_fail(dev, -EINVAL, "%s: holds no device", path);
	if (le32_to_cpu(head->csum) != ek_checksum(head, sizeof(*head), &head->csum) ||
	    strnlen(head->text, NL_DEVICE_TEXT) == NL_DEVICE_TEXT)
		return nl_fail(dev, -EUCLEAN, "%s: its head is damaged", path);
	if (le32_to_cpu(head->version) != NL_DEVICE_VERSION || head->incompat)
		return nl_fail(dev, -EOPNOTSUPP, "%s: of a newer version", path);
	return 0;
}

static int nl_load_head(struct nl_dev *dev, struct nl_stream *stream, const char *path)
{
	struct nl_device_head *head = kmalloc(sizeof(*head), GFP_KERNEL);
	int err;

	if (!head)
		return -ENOMEM;
	err = nl_get_bytes(stream, head, sizeof(*head));
	if (err)
		err = nl_fail(dev, err, "%s: holds no device", path);
	if (!err)
		err = nl_head_check(dev, head, path);
	if (!err)
		err = nl_dev_parse(dev, head->text);
	if (!err && dev->on) {
		nl_host_leave(dev);
		err = nl_fail(dev, -EUCLEAN, "%s: its head is damaged", path);
	}
	kfree(head);
	return err;
}

static const char *nl_why_not_loaded(int err)
{
	switch (err) {
	case -EINVAL:
		return "its flash is damaged or cut short";
	case -EOPNOTSUPP:
		return "its flash is of a newer version";
	case -ERANGE:
		return "its flash is not what its head says";
	case -ENOMEM:
		return "no memory for its data";
	default:
		return "can't be read";
	}
}

static int nl_load_flash(struct nl_dev *dev, struct nl_stream *stream, const char *path)
{
	int err;

	err = nl_dev_make_flash(dev);
	if (err)
		return err;
	err = nl_flash_load(&dev->flash, nl_get_bytes, stream);
	if (err)
		err = nl_fail(dev, err, "%s: %s", path, nl_why_not_loaded(err));
	else
		err = nl_dev_start(dev);
	if (err)
		nl_dev_drop_flash(dev);
	return err;
}

/**
 * nl_dev_load - make a device out of a file
 * @dev: fresh from nl_dev_alloc(), or deleted
 * @args: number of a file that the caller has open for reading: from its start
 *
 * Context: lock held; sleeps.
 * Return: 0 or a negative error number with the device's error set and nothing made.
 */
int nl_dev_load(struct nl_dev *dev, char *args)
{
	struct nl_stream stream;
	int err;

	if (dev->live)
		return nl_fail(dev, -EBUSY, "%s exists", dev->name);
	err = nl_stream_open(dev, &stream, args, false);
	if (err)
		return err;
	err = nl_load_head(dev, &stream, args);
	if (!err)
		err = nl_load_flash(dev, &stream, args);
	nl_stream_close(&stream);
	return err;
}
