// SPDX-License-Identifier: GPL-2.0-only
/*
 * usage: emudisk-test		as root; prints KTAP
 *
 * EVENKEEL_SEED repeats a run.  One program does the I/O for all tests and starts few
 * others: starting one costs far more than the I/O in a machine that is emulated.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emudisk.h"

uint64_t seed;
char work[] = "/tmp/emudisk.XXXXXX";

static char notes[65536];
static unsigned int tests, failures;

bool wrong(const char *fmt, ...)
{
	size_t at = strlen(notes);
	va_list args;

	va_start(args, fmt);
	vsnprintf(notes + at, sizeof(notes) - at, fmt, args);
	va_end(args);
	at = strlen(notes);
	if (at + 1 < sizeof(notes))
		strcpy(notes + at, "\n");
	return false;
}

static void print_notes(void)
{
	for (char *line = strtok(notes, "\n"); line; line = strtok(NULL, "\n"))
		printf("# %s\n", line);
}

static unsigned int entries(const char *path, unsigned char type)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		n += *e->d_name != '.' && (!type || e->d_type == type);
	if (dir)
		closedir(dir);
	return n;
}

bool no_devices(void)
{
	return (!entries(CONFIGFS, DT_DIR) && !entries("/dev/emudisk", 0)) || wrong("devices are left");
}

static void reset(void)
{
	emuctl("record stop");
	emuctl("record clear");
	emuctl("del --all --force");
}

bool unload(const struct test *t)
{
	(void)t;
	if (!emuctl("add u mem 1M"))
		return false;
	if (!syscall(SYS_delete_module, "emudisk", O_NONBLOCK) || errno != EWOULDBLOCK)
		return wrong("unloading with a device: %s", strerror(errno));
	if (!emuctl("del --all"))
		return false;
	if (syscall(SYS_delete_module, "emudisk", O_NONBLOCK))
		return wrong("unloading: %s", strerror(errno));
	return !access(CONFIGFS, F_OK) ? wrong("it is still there") : emuctl("list");
}

static void run_all(const struct test *t)
{
	for (; t->title; t++) {
		bool good;

		if (t->reset)
			reset();
		*notes = 0;
		good = t->run(t);
		failures += !good;
		printf("%sok %u - %s\n", good ? "" : "not ", ++tests, t->title);
		if (!good)
			print_notes();
		fflush(stdout);
	}
}

int main(void)
{
	static const struct test last[] = {
		{ "unloading in the end", unload, .reset = true },
		{ }
	};
	const char *text = getenv("EVENKEEL_SEED");
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = text ? strtoull(text, NULL, 0) : (uint64_t)now.tv_nsec;
	printf("KTAP version 1\n# seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	if (!mkdtemp(work)) {
		printf("Bail out! %s: %s\n", work, strerror(errno));
		return 2;
	}
	run_all(content_tests);
	run_all(cut_tests);
	run_all(record_tests);
	run_all(fault_tests);
	run_all(last);
	rmdir(work);
	printf("1..%u\n# %u of %u passed, seed %llu\n", tests, tests - failures, tests,
	       (unsigned long long)seed);
	return failures != 0;
}
