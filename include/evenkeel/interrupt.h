/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EVENKEEL_INTERRUPT_H
#define _EVENKEEL_INTERRUPT_H

#include <linux/freezer.h>
#include <linux/sched/signal.h>

/**
 * ek_interrupted - is somebody waiting for this task to end what it is at?
 *
 * signal_pending() says so as well where the terminal's Ctrl-Z only stops the task for a while.
 * What then ended early would be an error that nobody asked for. The machine's suspend is waiting,
 * though: it gives up after some seconds, and would not be had beside what takes longer. The sets
 * are read without a lock: who is missed is seen next time.
 * Context: process context.
 * Return: all tasks are to freeze, or there is a signal that isn't blocked, and not one to stop.
 */
static inline bool ek_interrupted(void)
{
	sigset_t stop, set;

	if (likely(!signal_pending(current)))
		return false;
	if (freezing(current))
		return true;
	siginitset(&stop, sigmask(SIGSTOP) | sigmask(SIGTSTP) | sigmask(SIGTTIN) |
		   sigmask(SIGTTOU));
	sigorsets(&set, &current->pending.signal, &current->signal->shared_pending.signal);
	sigandnsets(&set, &set, &current->blocked);
	sigandnsets(&set, &set, &stop);
	return !sigisemptyset(&set);
}

#endif
