/* SPDX-License-Identifier: GPL-2.0-only */
/* For those who store to persistent memory by other means than scm.c's own functions. */
#ifndef EVENKEEL_SCM_RECORD_H
#define EVENKEEL_SCM_RECORD_H

#include <evenkeel/scm.h>

bool scm_recording(void);
void scm_record(enum scm_event_type type, const void *dst, const void *src, size_t len);

#endif
