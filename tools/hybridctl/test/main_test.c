// SPDX-License-Identifier: GPL-2.0-only
/* What the program says of itself, and what it ends with. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../commands.h"
#include "../dm.h"
#include "../msg.h"
#include "ktap.h"
#include "wrapped.h"

/* --- commands that do nothing but these --- */

#define NOTHING(name)					\
	int cmd_##name(int argc, char **argv)		\
	{						\
		return EXIT_OK;				\
	}

NOTHING(assemble)
NOTHING(evacuate)
NOTHING(reinstate)
NOTHING(remove)
NOTHING(detach)
NOTHING(attach)
NOTHING(add)
NOTHING(metadata)
NOTHING(grow)
NOTHING(replace)
NOTHING(stop)
NOTHING(identify)
NOTHING(status)
NOTHING(lost)
NOTHING(monitor)
NOTHING(set)
NOTHING(policy)
NOTHING(pin)
NOTHING(explain)
NOTHING(optimize)
NOTHING(record)
NOTHING(report)
NOTHING(check)
NOTHING(repair)
NOTHING(restore)
NOTHING(size)

/* Shared with the process that a command is. */
struct done {
	bool made;
};

static struct done *done;

int cmd_create(int argc, char **argv)
{
	note("Formatting");
	fail("or not");
	note("as it was");
	done->made = true;
	return EXIT_OK;
}

int cmd_list(int argc, char **argv)
{
	puts("all");
	return EXIT_OK;
}

int cmd_dump(int argc, char **argv)
{
	/* More than there is. */
	xrealloc(NULL, ~0ul >> 2);
	return EXIT_OK;
}

int dm_reachable(void)
{
	return 0;
}

int dm_get_table(const char *name, char **params, uint64_t *sectors)
{
	return -ENXIO;
}

unsigned int name_takes(const char *name)
{
	return 0;
}

/* Memory that is not there is none, and no reason to end. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:print_warnings=0";
}

/* --- the tests --- */

static char told[8192], complained[1024];

static size_t read_all(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = 0;
	return n > 0 ? n : 0;
}

/*
 * In a process of its own, as some end it; @out: where its output goes, -1: to @told.  Its status,
 * or a signal's number, negative.
 */
static int run_to(const char *words, int out)
{
	FILE *o = tmpfile(), *e = tmpfile();
	char line[128], *rest = line, *argv[8] = { "hybridctl" };
	int argc = 1, status;
	pid_t pid;

	snprintf(line, sizeof(line), "%s", words);
	while (*words && argc < 7 && (argv[argc] = strsep(&rest, " ")))
		argc++;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(out < 0 ? fileno(o) : out, STDOUT_FILENO);
		dup2(fileno(e), STDERR_FILENO);
		status = tool_main(argc, argv);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	read_all(fileno(o), told, sizeof(told));
	read_all(fileno(e), complained, sizeof(complained));
	/* The sanitizer has a word to say, too. */
	if (*complained == '=' && strchr(complained, '\n'))
		memmove(complained, strchr(complained, '\n') + 1,
			strlen(strchr(complained, '\n')));
	fclose(o);
	fclose(e);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int run(const char *words, const char *out)
{
	int fd = out ? open(out, O_WRONLY | O_CLOEXEC) : -1, ret = run_to(words, fd);

	if (out)
		close(fd);
	return ret;
}

/* What a command does is done to its end though nobody reads what it says. */
static void test_closed_pipe(void)
{
	int fd[2], ret;

	if (pipe(fd))
		abort();
	close(fd[0]);
	signal(SIGPIPE, SIG_DFL);
	done->made = false;
	ret = run_to("create", fd[1]);
	ktap_ok(done->made, "a closed pipe: the command comes to its end");
	ktap_ok(ret == -SIGPIPE && !strcmp(complained, "hybridctl: create: or not\n"),
		"a closed pipe: which is that of any program, %d: %s", ret, complained);
	signal(SIGPIPE, SIG_IGN);
	ret = run_to("create", fd[1]);
	ktap_ok(ret == EXIT_FAILED && strstr(complained, "standard output: "),
		"a closed pipe that whoever started it ignores: status %d: %s", ret, complained);
	signal(SIGPIPE, SIG_DFL);
	close(fd[1]);
}

static void tells(const char *words, const char *what)
{
	int ret = run(words, NULL);

	ktap_ok(ret == EXIT_OK && !strncmp(told, what, strlen(what)) && !*complained,
		"hybridctl %s: %.*s", words, (int)strcspn(told, "\n"), told);
}

static void complains(const char *words, const char *out, int status, const char *what)
{
	int ret = run(words, out);
	char *end = strchr(complained, '\n');

	ktap_ok(ret == status && !strncmp(complained, what, strlen(what)),
		"hybridctl %s: status %d: %.*s", words, ret, (int)strcspn(complained, "\n"),
		complained);
	ktap_ok(end && (status == EXIT_USAGE ? !strncmp(end, "\nTry '", 6) : !end[1]),
		"hybridctl %s: %s", words, status == EXIT_USAGE ? "and how it is helped" :
		"in one line");
}

int main(void)
{
	done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED)
		abort();
	ktap_begin();
	tells("--help", "Usage: hybridctl COMMAND");
	tells("-h", "Usage: hybridctl COMMAND");
	tells("help", "Usage: hybridctl COMMAND");
	tells("help create", "Usage: hybridctl create NAME DEV");
	tells("--help list", "Usage: hybridctl list");
	tells("--version", "hybridctl test\n");
	tells("-V", "hybridctl test\n");
	tells("list", "all\n");
	complains("", NULL, EXIT_USAGE, "hybridctl: no command given\n");
	complains("frob", NULL, EXIT_USAGE, "hybridctl: unknown command 'frob'\n");
	complains("help frob", NULL, EXIT_USAGE, "hybridctl: unknown command 'frob'\n");
	complains("help list dump", NULL, EXIT_USAGE, "hybridctl: help: one command");
	complains("list", "/dev/full", EXIT_FAILED,
		  "hybridctl: list: standard output: No space left on device\n");
	complains("--help", "/dev/full", EXIT_FAILED,
		  "hybridctl: standard output: No space left on device\n");
	complains("dump", NULL, EXIT_FAILED, "hybridctl: dump: out of memory\n");
	test_closed_pipe();
	return ktap_end();
}
