/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

/* A signal asked for the end: what runs for long looks at it. */
extern volatile sig_atomic_t interrupted;

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT set @interrupted and end a sleep (no SA_RESTART),
 * and nothing else.  One that was ignored before (nohup) stays ignored.
 */
void catch_interrupts(void);
/* They do what they did before; @interrupted stays. */
void let_interrupts(void);
/* These signals wait; @mask: as it was until then. */
void block_interrupts(sigset_t *mask);
/*
 * From now on a write whose reader has gone fails, and nothing else: what is under way, a device
 * wiped and not yet a member, is brought to an end.  One that ignored that before goes on to.
 */
void outlive_readers(void);
/* At the end: as any program does whose reader has gone; if none has, nothing. */
void end_with_readers(void);
/*
 * Sleep for so long, or until a file is ready (@fds may be NULL), or one of these signals comes, or
 * has come: none is lost between a look at @interrupted and the sleep.  True: a file is ready.
 */
bool sleep_interruptibly(double seconds, struct pollfd *fds, unsigned int nr);

#endif
