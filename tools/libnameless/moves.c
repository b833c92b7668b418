// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migrations. A block's are kept back while a request of a ring, or a call of another thread's, has
 * its name or gives it one:
 *
 *	a write of block m is done, at 5	its completion is in the ring, nobody looked yet
 *	m moves to 9, the caller is told	his m has no address, or an older one: not his
 *	he acknowledges				5 is no name of m any more
 *	he waits for the write			m is at 5, it says
 *
 * and a request that waits for its turn in a worker of the kernel's has an old name which would be
 * acknowledged before it is looked at. When the caller has waited for a request he knows what it
 * gave, and what he is told then is of a name that he has, or no more: the device sees to that.
 *
 * Blocks are told apart by their metadata here. Who gives many the same is told later, that is all.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define BATCH	256u	/* migrations that are read at once */

/* --- what is under way ------------------------------------------------------------------------ */

void under_way_begin(struct nameless *dev, struct under_way *call)
{
	pthread_mutex_lock(&dev->telling);
	call->next = dev->rings;
	dev->rings = call;
	pthread_mutex_unlock(&dev->telling);
}

void under_way_end(struct nameless *dev, struct under_way *call)
{
	struct under_way **at;

	pthread_mutex_lock(&dev->telling);
	for (at = &dev->rings; *at != call; at = &(*at)->next)
		;
	*at = call->next;
	pthread_mutex_unlock(&dev->telling);
}

int under_way_open(struct nameless *dev, struct under_way *ring, unsigned int depth)
{
	ring->nr = 0;
	ring->req = calloc(depth, sizeof(*ring->req));
	if (!ring->req)
		return -ENOMEM;
	under_way_begin(dev, ring);
	return 0;
}

void under_way_close(struct nameless *dev, struct under_way *ring)
{
	under_way_end(dev, ring);
	free(ring->req);
}

void under_way_add(struct nameless *dev, struct under_way *ring, struct nameless_request *req)
{
	pthread_mutex_lock(&dev->telling);
	req->at = ring->nr;
	ring->req[ring->nr++] = req;
	pthread_mutex_unlock(&dev->telling);
}

void under_way_remove(struct nameless *dev, struct under_way *ring, struct nameless_request *req)
{
	struct nameless_request *last;

	pthread_mutex_lock(&dev->telling);
	last = ring->req[--ring->nr];
	ring->req[req->at] = last;
	last->at = req->at;
	pthread_mutex_unlock(&dev->telling);
}

static bool is_same(const struct nl_meta *a, const struct nl_meta *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool is_of(const struct nameless_request *req, const struct nl_meta *meta)
{
	unsigned int i;

	for (i = 0; i < req->nr; i++)
		if (is_same(&req->names[i].meta, meta) ||
		    (req->old && is_same(&req->old[i].meta, meta)))
			return true;
	return false;
}

static bool is_under_way(const struct nameless *dev, const struct nl_meta *meta)
{
	const struct under_way *ring;
	unsigned int i;

	for (ring = dev->rings; ring; ring = ring->next)
		for (i = 0; i < ring->nr; i++)
			if (is_of(ring->req[i], meta))
				return true;
	return false;
}

/* --- migrations ------------------------------------------------------------------------------- */

static int make_room(struct nameless *dev, unsigned int more)
{
	unsigned int room = dev->nr_kept + more;
	struct nl_move *kept;

	if (room <= dev->room)
		return 0;
	kept = realloc(dev->kept, room * sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	dev->kept = kept;
	dev->room = room;
	return 0;
}

/* What was read before a cut, and kept, is void: all comes again. */
static int forget(struct nameless *dev)
{
	dev->nr_kept = 0;
	dev->reset = false;
	dev->told = true;
	return -ECONNRESET;
}

/*
 * A query takes the notice of a cut, and read() says nothing of it any more. Whoever asked, for
 * whatever reason, the one that notes migrations has to hear of it: once, here or by read().
 */
void moves_queried(struct nameless *dev, uint64_t cuts)
{
	if (dev->cuts != cuts)
		dev->reset |= !dev->told;
	dev->cuts = cuts;
	dev->told = false;
}

/* What is read goes behind what was kept. */
static int take(struct nameless *dev, unsigned int max)
{
	unsigned int more = max < BATCH ? max : BATCH;
	ssize_t len;
	int err;

	if (dev->reset)
		return forget(dev);
	err = make_room(dev, more);
	if (err)
		return err;
	len = read(dev->names, dev->kept + dev->nr_kept, more * sizeof(*dev->kept));
	if (len < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (!len)
		return forget(dev);
	dev->nr_kept += len / sizeof(*dev->kept);
	return 0;
}

/* Those of one block in the order in which they came, as it stays back with all of them or none. */
static unsigned int give(struct nameless *dev, struct nl_move *moves, unsigned int max)
{
	unsigned int i, n = 0, left = 0;

	for (i = 0; i < dev->nr_kept; i++)
		if (n < max && !is_under_way(dev, &dev->kept[i].meta))
			moves[n++] = dev->kept[i];
		else
			dev->kept[left++] = dev->kept[i];
	dev->nr_kept = left;
	return n;
}

static int tell(struct nameless *dev, struct nl_move *moves, unsigned int max)
{
	unsigned int n;
	int err;

	pthread_mutex_lock(&dev->telling);
	err = take(dev, max);
	n = give(dev, moves, max);
	pthread_mutex_unlock(&dev->telling);
	return n ? (int)n : err;
}

int nameless_moves(struct nameless *dev, struct nl_move *moves, unsigned int max, int timeout_ms)
{
	struct pollfd file = { .fd = dev->names, .events = POLLIN | POLLPRI };
	int r;

	if (!max)
		return -EINVAL;
	r = tell(dev, moves, max);
	if (r || !timeout_ms)
		return r;
	r = poll(&file, 1, timeout_ms);
	if (r <= 0)
		return r ? -errno : 0;
	return tell(dev, moves, max);
}
