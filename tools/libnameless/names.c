// SPDX-License-Identifier: GPL-2.0-only
/* The physical segment: NAME:names, one ioctl for up to NL_IO_MAX blocks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

#define FOLDER "/dev/nameless/"

static int control(const struct nameless *dev, unsigned long request, void *arg)
{
	return ioctl(dev->names, request, arg) ? -errno : 0;
}

/* --- coming and going ------------------------------------------------------------------------- */

static int open_names(struct nameless *dev)
{
	struct nl_names_info info;
	char *path;
	int err;

	if (asprintf(&path, "%s:names", dev->path) < 0)
		return -ENOMEM;
	dev->names = open(path, dev->access | O_NONBLOCK | O_CLOEXEC);
	err = dev->names < 0 ? -errno : 0;
	free(path);
	if (err)
		return err;
	/* A query ends the notice of a cut: none can be due before this, the first one. */
	err = control(dev, NL_IOC_INFO, &info);
	if (err) {
		close(dev->names);
		return err;
	}
	dev->block_bytes = info.block_bytes;
	dev->cuts = info.cuts;
	return 0;
}

int nameless_open(const char *device, int flags, struct nameless **result)
{
	struct nameless *dev;
	int err = -ENOMEM;

	if (!*device || flags & ~O_ACCMODE)
		return -EINVAL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return err;
	dev->access = flags;
	dev->disk = -1;
	if (asprintf(&dev->path, "%s%s", strchr(device, '/') ? "" : FOLDER, device) >= 0) {
		err = open_names(dev);
		if (!err) {
			pthread_mutex_init(&dev->lock, NULL);
			pthread_mutex_init(&dev->telling, NULL);
			*result = dev;
			return 0;
		}
		free(dev->path);
	}
	free(dev);
	return err;
}

void nameless_close(struct nameless *dev)
{
	if (!dev)
		return;
	if (dev->disk >= 0)
		close(dev->disk);
	close(dev->names);
	pthread_mutex_destroy(&dev->lock);
	pthread_mutex_destroy(&dev->telling);
	free(dev->kept);
	free(dev->path);
	free(dev);
}

int nameless_fd(const struct nameless *dev)
{
	return dev->names;
}

int nameless_query(struct nameless *dev, struct nl_names_info *info)
{
	int err;

	/* What is read before this is of the time before, what is read after it is not. */
	pthread_mutex_lock(&dev->telling);
	err = control(dev, NL_IOC_INFO, info);
	if (!err)
		moves_queried(dev, info->cuts);
	pthread_mutex_unlock(&dev->telling);
	return err;
}

/* --- requests --------------------------------------------------------------------------------- */

/* What the kernel is asked for at once is bounded; what the caller asks for is not. */
static int request_all(struct nameless *dev, unsigned long cmd, struct nl_names_io io,
		       unsigned int *done)
{
	unsigned int nr = io.nr, all = 0;
	int err = 0;

	while (!err && all < nr) {
		io.nr = nr - all < NL_IO_MAX ? nr - all : NL_IO_MAX;
		io.done = 0;
		err = control(dev, cmd, &io);
		/* the answer is there from the beginning on: of a power cut it knows nothing */
		all += err == -EIO ? 0 : io.done;
		io.names += (uint64_t)io.nr * sizeof(struct nl_name);
		io.old += io.old ? (uint64_t)io.nr * sizeof(struct nl_name) : 0;
		io.data += (uint64_t)io.nr * dev->block_bytes;
	}
	if (done)
		*done = all;
	return err;
}

/* Another thread is told of no migrations of these blocks meanwhile. */
static int request(struct nameless *dev, unsigned long cmd, struct nl_names_io io,
		   unsigned int *done)
{
	struct nameless_request blocks = {
		.nr = io.nr, .names = (void *)(uintptr_t)io.names,
		.old = (void *)(uintptr_t)io.old,
	}, *req = &blocks;
	struct under_way call = { .req = &req, .nr = 1 };
	int err;

	under_way_begin(dev, &call);
	err = request_all(dev, cmd, io, done);
	under_way_end(dev, &call);
	return err;
}

int nameless_write(struct nameless *dev, struct nl_name *names, const void *data, unsigned int nr,
		   unsigned int *done)
{
	struct nl_names_io io = {
		.names = (uintptr_t)names, .data = (uintptr_t)data, .nr = nr,
	};

	return request(dev, NL_IOC_WRITE, io, done);
}

int nameless_overwrite(struct nameless *dev, struct nl_name *names, const struct nl_name *old,
		       const void *data, unsigned int nr, unsigned int *done)
{
	struct nl_names_io io = {
		.names = (uintptr_t)names, .old = (uintptr_t)old, .data = (uintptr_t)data, .nr = nr,
	};

	return request(dev, NL_IOC_WRITE, io, done);
}

int nameless_read(struct nameless *dev, const struct nl_name *names, void *data, unsigned int nr,
		  unsigned int *done)
{
	struct nl_names_io io = {
		.names = (uintptr_t)names, .data = (uintptr_t)data, .nr = nr,
	};

	return request(dev, NL_IOC_READ, io, done);
}

int nameless_free(struct nameless *dev, const struct nl_name *names, unsigned int nr,
		  unsigned int *done)
{
	struct nl_names_io io = { .names = (uintptr_t)names, .nr = nr };

	return request(dev, NL_IOC_FREE, io, done);
}

/* --- migrations and lists --------------------------------------------------------------------- */

static int acknowledge_all(struct nameless *dev, const struct nl_move *moves, unsigned int nr)
{
	struct nl_names_acks acks = { .reserved = 0 };
	unsigned int at;
	int err = 0;

	for (at = 0; !err && at < nr; at += acks.nr) {
		acks.moves = (uintptr_t)(moves + at);
		acks.nr = nr - at < NL_IO_MAX ? nr - at : NL_IO_MAX;
		err = control(dev, NL_IOC_ACK, &acks);
	}
	return err;
}

/*
 * The device takes what was told before a cut for void until a query. Who calls this may not know
 * of that, when another thread asked: the lock is held so that none does meanwhile.
 */
int nameless_acknowledge(struct nameless *dev, const struct nl_move *moves, unsigned int nr)
{
	int err;

	pthread_mutex_lock(&dev->telling);
	err = dev->reset ? -ECONNRESET : acknowledge_all(dev, moves, nr);
	pthread_mutex_unlock(&dev->telling);
	return err;
}

int nameless_list(struct nameless *dev, uint32_t *from, struct nl_name *names, unsigned int max)
{
	struct nl_names_list list = {
		.names = (uintptr_t)names, .nr = max < NL_IO_MAX ? max : NL_IO_MAX, .from = *from,
	};
	int err = control(dev, NL_IOC_LIST, &list);

	if (err)
		return err;
	*from = list.from;
	return (int)list.nr;
}
