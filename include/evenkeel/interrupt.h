/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EVENKEEL_INTERRUPT_H
#define _EVENKEEL_INTERRUPT_H

#include <linux/sched/signal.h>

/**
 * ek_interrupted - is somebody waiting for this task to end what it is at?
 *
 * signal_pending() says so as well where the task is only to stop for a while: for the terminal's
 * Ctrl-Z, or as the machine suspends, which has no signal at all. What then ended early would be an
 * error that nobody asked for. The sets are read without a lock: who is missed is seen next time.
 * Context: process context.
 * Return: there is a signal that isn't blocked, and not one to stop.
 */
static inline bool ek_interrupted(void)
{
	sigset_t stop, set;

	if (likely(!signal_pending(current)))
		return false;
	siginitset(&stop, sigmask(SIGSTOP) | sigmask(SIGTSTP) | sigmask(SIGTTIN) |
		   sigmask(SIGTTOU));
	sigorsets(&set, &current->pending.signal, &current->signal->shared_pending.signal);
	sigandnsets(&set, &set, &current->blocked);
	sigandnsets(&set, &set, &stop);
	return !sigisemptyset(&set);
}

#endif
