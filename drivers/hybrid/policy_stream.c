// SPDX-License-Identifier: GPL-2.0-only
/* The detector of sequential access; see policy_stream.h. */
#include <linux/kernel.h>
#include "policy_stream.h"

/* Where the access goes on; otherwise the one that was not seen for longest. */
static struct hy_stream *find(struct hy_streams *s, u64 sector, u32 step, bool *goes_on)
{
	struct hy_stream *oldest = s->stream, *i;

	for (i = s->stream; i < s->stream + HY_STREAMS; i++) {
		*goes_on = i->seen && sector >= i->last && sector - i->last <= step;
		if (*goes_on)
			return i;
		if (s->clock - i->seen > s->clock - oldest->seen)
			oldest = i;
	}
	return oldest;
}

/**
 * hy_streams_access - an access, those of a program in order
 * @s: the detector
 * @sector: where it begins
 * @extent_sectors: an extent's size
 *
 * Return: is it one of many that are one behind the other, over more than an extent?
 */
bool hy_streams_access(struct hy_streams *s, u64 sector, u32 extent_sectors)
{
	struct hy_stream *i;
	bool goes_on;

	s->clock++;
	i = find(s, sector, extent_sectors, &goes_on);
	if (!goes_on)
		*i = (struct hy_stream){ .first = sector };
	else if (sector > i->last && i->steps < HY_STREAM_STEPS)
		i->steps++;
	i->last = sector;
	i->seen = s->clock ? s->clock : 1;
	return i->steps == HY_STREAM_STEPS && sector - i->first >= extent_sectors;
}
