// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies of a user's bytes, instruction by instruction: no store to the memory may be left in the
 * cache alone, whatever becomes of the source on the way. The memory is there twice; the copy sees
 * it where each access is a fault, is looked at, and done by a single step.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "scm_user.h"
#include "ktap.h"

#define PAGE	4096u
#define PAGES	3u
#define SIZE	(PAGES * PAGE)
#define STEP	0x100	/* of the flags: trap behind the next instruction */

enum store { NO_STORE, NON_TEMPORAL, CACHED, FLUSH };

struct fixup {
	s32 from, to;
};

extern const struct fixup __start_shim_extable[], __stop_shim_extable[];

static u8 *traced, *memory, *source;
static bool dirty[SIZE];	/* in the cache, not flushed */
static bool stored[SIZE];
static u8 *brought_in;		/* the source's page that somebody maps when it was missed */
static unsigned int faults, odd;

/* What the instruction at @code does to the memory, and to how many bytes of it. */
static enum store decode(const u8 *code, unsigned int *len)
{
	bool word = *code == 0x66, wide = false;

	if (word)
		code++;
	if ((*code & 0xf0) == 0x40)
		wide = *code++ & 8;
	*len = wide ? 8 : word ? 2 : 4;
	if (code[0] == 0x0f && code[1] == 0xc3)
		return NON_TEMPORAL;
	if (code[0] == 0x0f && code[1] == 0xae)		/* clwb, clflushopt, clflush */
		return FLUSH;
	if (code[0] == 0x89)
		return CACHED;
	if (code[0] != 0x88)
		return NO_STORE;
	*len = 1;
	return CACHED;
}

static void note(enum store what, size_t at, unsigned int len)
{
	size_t line = at / SCM_LINE * SCM_LINE;

	if (what == FLUSH) {
		memset(dirty + line, 0, SCM_LINE);
	} else if (what == NO_STORE || at + len > SIZE) {
		odd++;
	} else {
		memset(dirty + at, what == CACHED, len);
		memset(stored + at, 1, len);
	}
}

static void go_on_elsewhere(greg_t *ip)
{
	const struct fixup *f;

	for (f = __start_shim_extable; f < __stop_shim_extable; f++)
		if ((greg_t)&f->from + f->from == *ip) {
			*ip = (greg_t)&f->to + f->to;
			return;
		}
	abort();
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
	u8 *at = info->si_addr;
	enum store what;
	unsigned int len;

	if (at >= traced && at < traced + SIZE) {
		what = decode((u8 *)reg[REG_RIP], &len);
		note(what, at - traced, len);
		mprotect(traced, SIZE, PROT_READ | PROT_WRITE);
		reg[REG_EFL] |= STEP;
		return;
	}
	faults++;
	if (brought_in)
		mprotect(brought_in, PAGE, PROT_READ);
	brought_in = NULL;
	go_on_elsewhere(&reg[REG_RIP]);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	mprotect(traced, SIZE, PROT_NONE);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~STEP;
}

static void set_up(void)
{
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	int fd = memfd_create("memory", MFD_CLOEXEC);
	unsigned int i;

	if (fd < 0 || ftruncate(fd, SIZE))
		abort();
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	traced = mmap(NULL, SIZE, PROT_NONE, MAP_SHARED, fd, 0);
	source = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || traced == MAP_FAILED || source == MAP_FAILED)
		abort();
	for (i = 0; i < SIZE; i++)
		source[i] = get_random_u32() | 1;
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGTRAP, &step, NULL);
	close(fd);
}

static noinline size_t copy(size_t to, size_t from, size_t len)
{
	faults = 0;
	odd = 0;
	memset(memory, 0, SIZE);
	memset(dirty, 0, sizeof(dirty));
	memset(stored, 0, sizeof(stored));
	return scm_user_copy(traced + to, source + from, len);
}

static bool only(size_t to, size_t from, size_t done)
{
	size_t i;

	for (i = 0; i < SIZE; i++) {
		bool within = i >= to && i < to + done;

		if (!CHECK(!dirty[i], "byte %zu lies in the cache", i) ||
		    !CHECK(stored[i] == within, "byte %zu", i) ||
		    !CHECK(memory[i] == (within ? source[from + i - to] : 0), "byte %zu", i))
			return false;
	}
	return CHECK(!odd, "%u accesses that are no store", odd);
}

/* Ends of either kind, more often than their number would have it. */
static size_t some(size_t most)
{
	return get_random_u32() % (get_random_u32() % 2 ? most : 24);
}

static void there(void)
{
	unsigned int i;

	mprotect(source, SIZE, PROT_READ);
	for (i = 0; i < 300 && !ktap_failing(); i++) {
		size_t to = some(200), from = some(200), len = some(600), done = copy(to, from, len);

		CHECK(done == len && !faults, "%zu of %zu", done, len);
		if (!only(to, from, done))
			ktap_note("%zu bytes from %zu to %zu", len, from, to);
	}
}

/* The second page of the source is missing. */
static void missing(bool comes)
{
	unsigned int i;

	for (i = 0; i < 300 && !ktap_failing(); i++) {
		size_t to = some(200), len = 1 + some(600), before = some(len + 1), done;

		before = min(before, len);
		mprotect(source + PAGE, PAGE, PROT_NONE);
		brought_in = comes ? source + PAGE : NULL;
		done = copy(to, PAGE - before, len);
		brought_in = NULL;
		mprotect(source + PAGE, PAGE, PROT_READ);
		CHECK(done <= len && (faults > 0) == (before < len), "%u faults", faults);
		if (before < len && !comes)
			CHECK(done <= before && done + 8 > before, "%zu of %zu", done, before);
		if (!only(to, PAGE - before, done))
			ktap_note("%zu bytes to %zu, %zu of them there", len, to, before);
	}
}

static void ends(void)
{
	missing(false);
}

static void returns(void)
{
	missing(true);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	shim_seed(ktap_seed);
	set_up();
	ktap_run("scm: a user's bytes pass the cache or are flushed, at any alignment", there);
	ktap_run("scm: so they do up to a page that isn't there, and no other is stored", ends);
	ktap_run("scm: and where that page comes while it is missed", returns);
	return ktap_done();
}
