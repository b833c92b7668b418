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

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
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

void block_interrupts(sigset_t *mask)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < NR; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, mask);
}

static volatile sig_atomic_t reader_gone;

static void on_pipe(int sig)
{
	(void)sig;
	reader_gone = 1;
}

/* Not ignored: what a program ignores is so in those that it starts. */
void outlive_readers(void)
{
	struct sigaction action = { .sa_handler = on_pipe, .sa_flags = SA_RESTART }, was;

	if (!sigaction(SIGPIPE, NULL, &was) && was.sa_handler != SIG_IGN)
		sigaction(SIGPIPE, &action, NULL);
}

void end_with_readers(void)
{
	if (!reader_gone)
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

bool sleep_interruptibly(double seconds, struct pollfd *fds, unsigned int nr)
{
	struct timespec t = { .tv_sec = (time_t)seconds };
	sigset_t mask;
	bool ready;

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	block_interrupts(&mask);
	/* From here on they come in ppoll() alone. */
	ready = !interrupted && ppoll(fds, nr, &t, &mask) > 0;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return ready;
}
