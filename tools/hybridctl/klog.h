/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why the kernel refused: device-mapper's ioctls give only an errno, the text is
 * in the kernel's log.
 */
#ifndef HYBRIDCTL_KLOG_H
#define HYBRIDCTL_KLOG_H

/* Remember where the log ends; -1 if it can't be read. */
int klog_mark(void);
/*
 * The reason that device-mapper logged since the mark, without its prefixes, or
 * NULL.  Ends the mark; free() the text.
 */
char *klog_reason(int mark);
/* The mark is where the log ends by now; takes no memory. */
void klog_move(int mark);
/* As klog_reason(), of what was logged before another mark, which it ends, too. */
char *klog_reason_until(int mark, int end);
/* Out of one message: its reason and how telling it is (0: not device-mapper's). Pure. */
const char *klog_match(const char *message, int *rank);

#endif
