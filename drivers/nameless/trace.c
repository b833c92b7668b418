// SPDX-License-Identifier: GPL-2.0-only
#include "dev.h"

#define CREATE_TRACE_POINTS
#include "nameless_trace.h"

static bool nl_moves(enum nl_cause cause)
{
	return cause == NL_FOR_GC || cause == NL_FOR_MERGE || cause == NL_FOR_WEAR;
}

/**
 * nl_trace - hand an operation of the flash to its tracepoint
 * @observer: the device
 * @event: the operation
 *
 * Context: io held.
 */
void nl_trace(void *observer, const struct nl_event *event)
{
	const struct nl_dev *dev = observer;
	dev_t devt = dev->disk ? disk_devt(dev->disk) : 0;

	switch (event->op) {
	case NL_READ:
		trace_nameless_read(devt, event);
		break;
	case NL_PROGRAM:
		trace_nameless_program(devt, event);
		if (nl_moves(event->cause))
			trace_nameless_migrate(devt, event);
		break;
	default:
		trace_nameless_erase(devt, event);
	}
}

/**
 * nl_trace_merges_begin - how many merges there were, if somebody wants to know
 * @dev: the device, with its power on
 * @merges: result, by kind
 *
 * Context: io held.
 */
void nl_trace_merges_begin(struct nl_dev *dev, u64 merges[NL_NR_MERGES])
{
	struct nl_ftl_stat stat;

	/* none, should it be switched on meanwhile */
	memset(merges, 0xff, sizeof(stat.merges));
	if (!trace_nameless_merge_enabled())
		return;
	nl_ftl_stat(dev->ftl, &stat);
	memcpy(merges, stat.merges, sizeof(stat.merges));
}

/**
 * nl_trace_merges_end - hand those that were done since to their tracepoint
 * @dev: the device
 * @merges: from nl_trace_merges_begin()
 *
 * Context: io held.
 */
void nl_trace_merges_end(struct nl_dev *dev, const u64 merges[NL_NR_MERGES])
{
	struct nl_ftl_stat stat;
	int i;

	if (!trace_nameless_merge_enabled() || !dev->ftl)
		return;
	nl_ftl_stat(dev->ftl, &stat);
	for (i = 0; i < NL_NR_MERGES; i++)
		if (stat.merges[i] > merges[i])
			trace_nameless_merge(disk_devt(dev->disk), i, stat.merges[i] - merges[i]);
}
