// SPDX-License-Identifier: GPL-2.0-only
/*
 * Getting gigabytes takes its time. A child waits in the kernel; this process shows how far it
 * is, hands signals on to it, and is there to clean up.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mem2mctl.h"

#define LOOK_MS	100

static volatile sig_atomic_t child;

static void hand_on(int sig)
{
	if (child > 0)
		kill(child, sig);
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

#define NR_SIGNALS	(sizeof(signals) / sizeof(*signals))

/* Who ignores one (nohup) goes on to. */
static void handle(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler }, is;
	size_t i;

	for (i = 0; i < NR_SIGNALS; i++)
		if (!sigaction(signals[i], NULL, &is) && is.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

static void hold(sigset_t *before)
{
	sigset_t ours;
	size_t i;

	sigemptyset(&ours);
	for (i = 0; i < NR_SIGNALS; i++)
		sigaddset(&ours, signals[i]);
	sigprocmask(SIG_BLOCK, &ours, before);
}

static void show(const char *dev)
{
	char *info = attr_read(dev, "info");
	uint64_t total = info ? info_number(info, "total") : 0;

	if (total)
		fprintf(stderr, "\r%s: %llu of %llu MiB ", dev,
			(unsigned long long)(info_number(info, "done") >> 20),
			(unsigned long long)(total >> 20));
	free(info);
}

/* Exit status of the child, which is the errno; -1: it was killed. */
static int wait_for_child(const char *dev, bool progress)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	bool shown = false;
	int status;
	pid_t pid;

	while (!(pid = waitpid(child, &status, progress ? WNOHANG : 0)) ||
	       (pid < 0 && errno == EINTR)) {
		if (pid)
			continue;
		show(dev);
		shown = true;
		nanosleep(&pause, NULL);
	}
	if (shown)
		fputs("\r\033[K", stderr);
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Not for nobody: without this process there is no one to say what came of it, or to clean up. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EINTR);
}

int attr_write_waiting(const char *dev, const char *attr, const char *text, bool patient,
		       bool progress)
{
	sighandler_t broken = signal(SIGPIPE, SIG_IGN);	/* nobody looks at how far it is */
	const pid_t parent = getpid();
	sigset_t before;
	int err;

	/* Held until the child is known: it may be at work before fork() returns here. */
	hold(&before);
	handle(hand_on);
	child = fork();
	err = errno;
	if (!child) {
		handle(SIG_DFL);
		end_with(parent);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0) {
		handle(SIG_DFL);
		signal(SIGPIPE, broken);
		return err;
	}
	if (!child)
		_exit((patient ? attr_write_patiently : attr_write)(dev, attr, text));
	err = wait_for_child(dev, progress);
	child = 0;
	handle(SIG_DFL);
	signal(SIGPIPE, broken);
	return err < 0 ? EINTR : err;
}
