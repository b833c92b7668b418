// SPDX-License-Identifier: GPL-2.0-only
/* See interrupt.h. */
#include <stddef.h>

#include "interrupt.h"

volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

void catch_interrupts(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal }, is;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &is) && is.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}
