/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HYBRIDCTL_MONITOR_H
#define HYBRIDCTL_MONITOR_H

#include <stdint.h>

/*
 * A line for how the volume is, and one for each change, until it is stopped, a signal comes, or
 * there were @count lines; 0: without end.  An exit status, with what is wrong printed.
 */
int monitor_events(const char *name, uint64_t count);

#endif
