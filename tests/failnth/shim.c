// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loaded before a program's own libraries: runs the program once for each number
 * that comes in, in a child whose allocation of that number fails.  What it costs
 * to start a program is paid once, and none of it fails.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim.h"

static uint32_t *left;
static int file = -1;

static void arm(uint32_t nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	file = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (file < 0 || write(file, text, len) != len)
		_exit(SHIM_BROKEN);
}

__attribute__((destructor)) static void report(void)
{
	char text[16] = "";

	if (file < 0)
		return;
	if (pread(file, text, sizeof(text) - 1, 0) > 0)
		*left = strtoul(text, NULL, 10);
	pwrite(file, "0", 1, 0);
}

__attribute__((constructor)) static void serve(void)
{
	struct shim_answer answer;
	uint32_t nth;
	pid_t pid;

	unsetenv("LD_PRELOAD");
	left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while (left != MAP_FAILED && read(SHIM_IN, &nth, sizeof(nth)) == sizeof(nth)) {
		*left = SHIM_UNKNOWN;
		pid = fork();
		if (!pid) {
			arm(nth);
			return;
		}
		if (pid < 0 || waitpid(pid, &answer.status, 0) != pid)
			break;
		answer.left = *left;
		if (write(SHIM_OUT, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}
