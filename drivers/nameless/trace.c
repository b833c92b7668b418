// SPDX-License-Identifier: GPL-2.0-only
#include "dev.h"

#define CREATE_TRACE_POINTS
#include "nameless_trace.h"

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
		break;
	default:
		trace_nameless_erase(devt, event);
	}
}
