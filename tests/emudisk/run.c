// SPDX-License-Identifier: GPL-2.0-only
/* Programs, most of all emuctl. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emudisk.h"

#define WORDS	32

char *said;
static char line[512];		/* what was started last */

static void take_output(int out)
{
	struct stat st;
	ssize_t n;

	free(said);
	if (fstat(out, &st) || !(said = calloc(1, st.st_size + 1)))
		abort();
	n = pread(out, said, st.st_size, 0);
	if (n > 0 && said[n - 1] == '\n')
		said[n - 1] = 0;
}

/* Exit status; 127 if it can't be started. */
static int start(char **words)
{
	posix_spawn_file_actions_t files;
	static int out = -1;
	int status = 0, error;
	pid_t pid;

	if (out < 0)
		out = memfd_create("said", MFD_CLOEXEC);
	if (ftruncate(out, 0) || lseek(out, 0, SEEK_SET))
		abort();
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_adddup2(&files, out, 2);
	error = posix_spawnp(&pid, *words, &files, NULL, words, environ);
	posix_spawn_file_actions_destroy(&files);
	if (error) {
		wrong("%s: %s", *words, strerror(error));
		return 127;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	take_output(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Status of a line of words, which may not hold blanks. */
static int run_line(const char *program, const char *fmt, va_list args)
{
	char copy[sizeof(line)], *words[WORDS + 1] = { NULL }, *save;
	unsigned int n = 0;

	if (*program)
		words[n++] = (char *)program;
	vsnprintf(line, sizeof(line), fmt, args);
	strcpy(copy, line);
	for (char *w = strtok_r(copy, " ", &save); w && n < WORDS; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	return start(words);
}

#define RUN_LINE(status, program, fmt)	do {		\
	va_list args;					\
							\
	va_start(args, fmt);				\
	(status) = run_line(program, fmt, args);	\
	va_end(args);					\
} while (0)

bool program(const char *fmt, ...)
{
	int status;

	RUN_LINE(status, "", fmt);
	return !status || wrong("%s: status %d: %s", line, status, said);
}

bool emuctl(const char *fmt, ...)
{
	int status;

	RUN_LINE(status, "emuctl", fmt);
	return !status || wrong("emuctl %s: status %d: %s", line, status, said);
}

static bool failed(int status)
{
	if (!status)
		return wrong("succeeded: emuctl %s", line);
	if (status > 2)
		return wrong("emuctl %s: status %d: %s", line, status, said);
	return *said || wrong("failed silently: emuctl %s", line);
}

bool refused(const char *fmt, ...)
{
	int status;

	RUN_LINE(status, "emuctl", fmt);
	return failed(status);
}

bool misused(const char *fmt, ...)
{
	int status;

	RUN_LINE(status, "emuctl", fmt);
	return failed(status) && (status == 2 || wrong("emuctl %s: status %d", line, status));
}

bool refused_at_once(const char *fmt, ...)
{
	int status;

	setenv("EMUCTL_PATIENCE_MS", "100", 1);
	RUN_LINE(status, "emuctl", fmt);
	unsetenv("EMUCTL_PATIENCE_MS");
	return failed(status);
}

long long shown(const char *name, const char *key)
{
	long long value = -1;
	json_t *root, *one;

	if (!emuctl("list %s --json", name))
		return -1;
	root = json_loads(said, 0, NULL);
	one = json_object_get(json_array_get(json_object_get(root, "devices"), 0), key);
	if (json_is_integer(one))
		value = json_integer_value(one);
	else
		wrong("%s: no %s", name, key);
	json_decref(root);
	return value;
}

/* By configfs itself: while a program starts what is under way may end. -1: there is no such disk. */
static long in_flight(const char *name)
{
	char path[64], text[1024] = "", *at;
	int fd;

	snprintf(path, sizeof(path), CONFIGFS "/%s/info", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		*text = 0;
	if (fd >= 0)
		close(fd);
	at = strstr(text, "\ninflight ");
	return at ? strtol(at + strlen("\ninflight "), NULL, 10) : -1;
}

bool one_in_flight(const char *name)
{
	unsigned int ms = 60000;
	long n;

	while (!(n = in_flight(name)) && ms--)
		usleep(1000);
	return n == 1 || wrong("%s: %ld in flight", name, n);
}
