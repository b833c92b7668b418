/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EVENKEEL_RANGE_INTERNAL_H
#define EVENKEEL_RANGE_INTERNAL_H

/* Who says no to hibernation beside reserved memory, or waits: as long as the module is there. */
int scm_range_init(void);
void scm_range_exit(void);

#endif
