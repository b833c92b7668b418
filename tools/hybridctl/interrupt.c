// SPDX-License-Identifier: GPL-2.0-only
/* See interrupt.h. */
#include <stddef.h>
#include <time.h>

#include "interrupt.h"

volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define NR	(sizeof(signals) / sizeof(*signals))
static struct sigaction before[NR];

void catch_interrupts(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	size_t i;

	for (i = 0; i < NR; i++)
		if (!sigaction(signals[i], NULL, &before[i]) && before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

void let_interrupts(void)
{
	size_t i;

	for (i = 0; i < NR; i++)
		sigaction(signals[i], &before[i], NULL);
}

bool sleep_interruptibly(double seconds, struct pollfd *fds, unsigned int nr)
{
	struct timespec t = { .tv_sec = (time_t)seconds };
	sigset_t set, mask;
	bool ready;
	size_t i;

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	sigemptyset(&set);
	for (i = 0; i < NR; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &mask);
	/* From here on they come in ppoll() alone. */
	ready = !interrupted && ppoll(fds, nr, &t, &mask) > 0;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return ready;
}
