// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests under way: by io_uring if the library was built with it and the kernel lets us, else one
 * after the other, as they are submitted.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#ifdef HAVE_LIBURING
#include <liburing.h>
#endif

#include "internal.h"

/**
 * struct nameless_ring - requests under way
 * @dev: of this device
 * @depth: so many at most
 * @ready: without io_uring: those of them, all of which are done, a circle
 * @first: the oldest of them
 * @under_way: that were submitted, and not waited for
 * @async: there is io_uring
 * @uring: it
 */
struct nameless_ring {
	struct nameless *dev;
	unsigned int depth, first;
	struct under_way under_way;
	struct nameless_request **ready;
	bool async;
#ifdef HAVE_LIBURING
	struct io_uring uring;
#endif
};

static unsigned long command_of(const struct nameless_request *req)
{
	switch (req->op) {
	case NAMELESS_READ:
		return NL_IOC_READ;
	case NAMELESS_WRITE:
		return NL_IOC_WRITE;
	case NAMELESS_FREE:
		return NL_IOC_FREE;
	}
	return 0;
}

/*
 * What is done without an error is done whole: anything else is not what the kernel means. What the
 * device did before the power went it may not have told: its answer is there from the beginning on.
 */
static void complete(struct nameless_request *req, int result)
{
	req->done = result == -EIO ? 0 : req->io.done;
	req->result = !result && req->done != req->nr ? -EIO : result;
}

#ifdef HAVE_LIBURING
static void prepare(const struct nameless_ring *ring, struct io_uring_sqe *sqe,
		    unsigned long command, const struct nl_names_io *io)
{
	struct nl_names_uring uring = { .io = (uintptr_t)io };

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = ring->dev->names;
	sqe->cmd_op = command;
	memcpy(sqe->cmd, &uring, sizeof(uring));
}

/*
 * Kernels without such commands say EINVAL to this one, drivers without them EOPNOTSUPP, policies
 * what they like; ours has no query among them, and says so.
 */
static bool takes_commands(struct nameless_ring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
	struct io_uring_cqe *cqe;
	bool ours;

	if (!sqe)
		return false;
	prepare(ring, sqe, NL_IOC_INFO, NULL);
	if (io_uring_submit_and_wait(&ring->uring, 1) != 1 ||
	    io_uring_peek_cqe(&ring->uring, &cqe))
		return false;
	ours = cqe->res == -ENOTTY;
	io_uring_cqe_seen(&ring->uring, cqe);
	return ours;
}

static void open_uring(struct nameless_ring *ring)
{
	if (io_uring_queue_init(ring->depth, &ring->uring, 0))
		return;
	ring->async = takes_commands(ring);
	if (!ring->async)
		io_uring_queue_exit(&ring->uring);
}

/* The kernel takes SQEs in order, and not always all at once. */
static int submit_all(struct nameless_ring *ring)
{
	int n = 0;

	while (n >= 0 && io_uring_sq_ready(&ring->uring)) {
		n = io_uring_submit(&ring->uring);
		if (n == -EINTR)
			n = 0;
		else if (n == -EAGAIN || n == -EBUSY || !n)
			return -ENOMEM;
	}
	return n < 0 ? n : 0;
}

/*
 * An SQE that the kernel did not take stays in the queue, and goes with the next one: it becomes
 * one that does nothing, and whose completion nobody waits for.
 */
static int submit_uring(struct nameless_ring *ring, struct nameless_request *req)
{
	int err = submit_all(ring);
	struct io_uring_sqe *sqe;

	if (err)
		return err;
	sqe = io_uring_get_sqe(&ring->uring);
	if (!sqe)
		return -EAGAIN;
	prepare(ring, sqe, command_of(req), &req->io);
	io_uring_sqe_set_data(sqe, req);
	err = submit_all(ring);
	if (err) {
		io_uring_prep_nop(sqe);
		io_uring_sqe_set_data(sqe, NULL);
	}
	return err;
}

static int wait_uring(struct nameless_ring *ring, struct nameless_request **req)
{
	struct io_uring_cqe *cqe;
	int err;

	for (*req = NULL; !*req; io_uring_cqe_seen(&ring->uring, cqe)) {
		do
			err = io_uring_wait_cqe(&ring->uring, &cqe);
		while (err == -EINTR);
		if (err)
			return err;
		*req = io_uring_cqe_get_data(cqe);
		if (*req)
			complete(*req, cqe->res);
	}
	return 0;
}

static void close_uring(struct nameless_ring *ring)
{
	io_uring_queue_exit(&ring->uring);
}
#else
static void open_uring(struct nameless_ring *ring)
{
	(void)ring;
}

static int submit_uring(struct nameless_ring *ring, struct nameless_request *req)
{
	(void)ring;
	(void)req;
	return -EOPNOTSUPP;
}

static int wait_uring(struct nameless_ring *ring, struct nameless_request **req)
{
	(void)ring;
	(void)req;
	return -EOPNOTSUPP;
}

static void close_uring(struct nameless_ring *ring)
{
	(void)ring;
}
#endif

int nameless_ring_open(struct nameless *dev, unsigned int depth, struct nameless_ring **result)
{
	struct nameless_ring *ring;

	if (!depth || depth > 4096)
		return -EINVAL;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->ready = calloc(depth, sizeof(*ring->ready));
	if (!ring->ready || under_way_open(dev, &ring->under_way, depth)) {
		free(ring->ready);
		free(ring);
		return -ENOMEM;
	}
	ring->dev = dev;
	ring->depth = depth;
	open_uring(ring);
	*result = ring;
	return 0;
}

void nameless_ring_close(struct nameless_ring *ring)
{
	struct nameless_request *req;

	if (!ring)
		return;
	/* The kernel has their memory until they are done: no want of something else ends that. */
	while (ring->under_way.nr) {
		int err = nameless_ring_wait(ring, &req);

		if (err && err != -EAGAIN && err != -EBUSY && err != -ENOMEM)
			break;
		if (err)
			sched_yield();
	}
	if (ring->async)
		close_uring(ring);
	under_way_close(ring->dev, &ring->under_way);
	free(ring->ready);
	free(ring);
}

bool nameless_ring_is_async(const struct nameless_ring *ring)
{
	return ring->async;
}

int nameless_ring_submit(struct nameless_ring *ring, struct nameless_request *req)
{
	unsigned int before = ring->under_way.nr;
	unsigned long command = command_of(req);
	int err = 0;

	if (!command || !req->nr || req->nr > NL_IO_MAX || req->reserved[0] || req->reserved[1] ||
	    req->reserved[2])
		return -EINVAL;
	if (before == ring->depth)
		return -EAGAIN;
	req->io = (struct nl_names_io){
		.names = (uintptr_t)req->names, .old = (uintptr_t)req->old,
		.data = (uintptr_t)req->data, .nr = req->nr,
	};
	under_way_add(ring->dev, &ring->under_way, req);
	if (ring->async) {
		err = submit_uring(ring, req);
		if (err)
			under_way_remove(ring->dev, &ring->under_way, req);
		return err;
	}
	complete(req, ioctl(ring->dev->names, command, &req->io) ? -errno : 0);
	ring->ready[(ring->first + before) % ring->depth] = req;
	return 0;
}

int nameless_ring_wait(struct nameless_ring *ring, struct nameless_request **req)
{
	int err = 0;

	if (!ring->under_way.nr)
		return -ENODATA;
	if (ring->async) {
		err = wait_uring(ring, req);
	} else {
		*req = ring->ready[ring->first];
		ring->first = (ring->first + 1) % ring->depth;
	}
	if (!err)
		under_way_remove(ring->dev, &ring->under_way, *req);
	return err;
}
