// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power cuts of scmfs, as the kernel runs it. One range of reserved memory is mounted, and what the
 * modules do to it is recorded (drivers/gate/record.c) while calls are made. For each call contents
 * that a cut during it, or after it, may have left are drawn by lot (tests/unit/crash.h), put into
 * another range and mounted there: what is seen has to be as before or after the call, after it if
 * it had returned, without a fault to fsck.scmfs, and of use. Some of these mounts are recorded and
 * cut as well.
 *
 * Each call is made with data=atomic or without, as a lot says, and those that write in place with
 * both. Now and then the machine has one CPU while it is recorded and all of them when it is
 * recovered, or the other way round.
 *
 *	scmcuts SEED SECONDS MOST START OTHER SIZE HEAD [gc]
 *
 * EVENKEEL_CUTS_ONLY is a part of the names of those calls that are made, all others are not.
 *
 * MOST contents at each fence; ranges of SIZE bytes, of which HEAD are struct pages. With gc the
 * calls are those beside which garbage is collected, which needs several units of 2 MiB.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <evenkeel/scm.h>

#include "../../../drivers/gate/record.h"
#include "check.h"
#include "crash.h"
#include "engine.h"
#include "cuts.h"

#define HERE		"/tmp/cuts.here"
#define THERE		"/tmp/cuts.there"
#define IMAGE		"/tmp/cuts.image"
#define CHUNK		(4u << 20)	/* of what is recorded, at a time */
#define USE_EACH	3		/* of the contents is used */
#define FSCK_EACH	50		/* of them goes through the program as well */
#define SAVED		3		/* mounts to be cut, of each round */
#define STEPS		128		/* room for */
#define LANES		8		/* of the log, at most */
#define SHORT		30		/* seconds; in no more than that CUT_SOME is done */
#define SOME		4		/* once in so many rounds */
#define CPUS_EACH	8		/* of the calls, and several at once, are recovered on other CPUs */
#define CPU		"/sys/devices/system/cpu/cpu1/online"

/* A range of reserved memory, and where it is mounted. */
struct range {
	const char *top;
	u64 start;
	char options[80];
};

static struct range here = { .top = HERE }, there = { .top = THERE };
static u64 head, bytes;		/* of struct pages, and behind them of a file system */
static unsigned int most;
static u8 *image;		/* where the recording begins */
static u8 *copy, *content;
static int node = -1;
static struct scm_log recorded;
static const char *doing = "begin";

/* What is judged: contents during one call. */
struct cut {
	const struct op *op;
	struct tree *before, *after;
	u32 done;		/* events when it had returned */
	bool parts;		/* op->path, or what was called at once, may be half way */
	bool nested;		/* the mount after it is cut: what it is to be is as far as it was */
	bool returned;
	bool saved;
	u64 nr_before, nr_after, nr_parts;
};

/* What is done in a round. */
struct step {
	const struct op *op;
	bool atomic;		/* with data=atomic */
};

struct saved {
	u8 *image;
	struct cut cut;
};

static const struct op *calls;
static unsigned int nr_calls;
static bool is_short;
static const char *only;	/* of their names; NULL: all */

static struct saved saved[SAVED];
static unsigned int nr_saved;

static struct {
	u64 rounds, calls, fences, states, before, after, same, parts, used, fsck, mounts, nested, atomic, tasks;
	u64 on_more, on_fewer;	/* contents recovered on more CPUs than they were left by, and on fewer */
} nr;

void wrong(const char *fmt, ...)
{
	int err = errno;
	va_list args;

	printf("# %s: ", doing);
	va_start(args, fmt);
	errno = err;
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	exit(1);
}

static u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

/* --- ranges -------------------------------------------------------------------------------------- */

/* Nobody has it mounted; it is mapped for each copy, as a mount takes mappings away. */
static u8 *map_range(const struct range *r)
{
	int fd = open("/dev/mem", O_RDWR | O_CLOEXEC);
	u8 *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, r->start + head);

	NEED(fd >= 0 && p != MAP_FAILED && !close(fd));
	return p;
}

static void put(const struct range *r, const u8 *from)
{
	u8 *p = map_range(r);

	memcpy(p, from, bytes);
	NEED(!munmap(p, bytes));
}

static void get(const struct range *r, u8 *to)
{
	u8 *p = map_range(r);

	memcpy(to, p, bytes);
	NEED(!munmap(p, bytes));
}

static void mount_range(const struct range *r, const char *more)
{
	char options[160];

	snprintf(options, sizeof(options), "%s%s", r->options, more);
	if (mount("none", r->top, "scmfs", 0, options))
		wrong("mount %s: %m", r->top);
	nr.mounts++;
}

static void set_atomic(bool atomic)
{
	NEED(!mount(NULL, here.top, NULL, MS_REMOUNT, atomic ? "data=atomic" : "data=inplace"));
}

static void unmount_range(const struct range *r)
{
	if (umount(r->top))
		wrong("umount %s: %m", r->top);
}

void unmount_here(void)
{
	NEED(!chdir("/"));
	unmount_range(&here);
}

void mount_here(void)
{
	mount_range(&here, "");
	NEED(!chdir(here.top));
}

/* --- what is recorded ---------------------------------------------------------------------------- */

static void *grown(void *p, size_t size)
{
	p = realloc(p, size);
	NEED(p);
	return p;
}

/* Return: where the next one begins. */
static const u8 *take(const u8 *from)
{
	struct record_event head;
	struct scm_event *e;
	size_t body;

	memcpy(&head, from, sizeof(head));
	from += sizeof(head);
	if (recorded.nr_events == recorded.max_events) {
		recorded.max_events = 2 * recorded.max_events + 1024;
		recorded.event = grown(recorded.event, recorded.max_events * sizeof(*e));
	}
	body = head.type == SCM_STORE || head.type == SCM_STORE_NT ? head.len : 0;
	if (recorded.nr_bytes + body > recorded.max_bytes) {
		recorded.max_bytes = 2 * recorded.max_bytes + body;
		recorded.bytes = grown(recorded.bytes, recorded.max_bytes);
	}
	e = &recorded.event[recorded.nr_events++];
	*e = (struct scm_event){ .type = head.type, .len = head.len, .offset = head.offset,
				 .data = recorded.nr_bytes, .task = head.task };
	memcpy(recorded.bytes + recorded.nr_bytes, from, body);
	recorded.nr_bytes += body;
	return from + body;
}

/* All there is; everything that was asked for has returned. */
static u32 drain(void)
{
	static u8 buf[CHUNK];
	const u8 *p;
	ssize_t n;

	while ((n = read(node, buf, sizeof(buf))) > 0)
		for (p = buf; p < buf + n;)
			p = take(p);
	if (n < 0)
		wrong("what is recorded: %m");
	return recorded.nr_events;
}

static void begin_record(const struct range *r)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%#llx %#llx\n", r->start + head, bytes);

	node = open(RECORD_NODE, O_RDWR | O_CLOEXEC);
	if (node < 0 || write(node, line, len) != len)
		wrong(RECORD_NODE ": %m");
	recorded.len = bytes;
	recorded.nr_events = 0;
	recorded.nr_bytes = 0;
}

static void end_record(void)
{
	drain();
	NEED(!close(node));
}

/* --- contents ------------------------------------------------------------------------------------ */

static void say(const char *text)
{
	printf("# fsck: %s\n", text);
}

/* What fsck.scmfs finds in it; it is repaired. */
static void check_content(u8 *c, const char *which, bool closed)
{
	struct scmfs_check check = { .say = say };
	const char *reason = "";
	int r = scmfs_check(c, bytes, &check, &reason);

	if (r || check.found)
		wrong("%s: %d %s, %llu faults", which, r, reason, check.found);
	if (closed && check.recovered)
		wrong("%s: not closed", which);
}

static void run_fsck(const u8 *c)
{
	int fd = open(IMAGE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;

	NEED(fd >= 0 && write(fd, c, bytes) == (ssize_t)bytes && !close(fd));
	status = system("fsck.scmfs -n -q " IMAGE);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		wrong("fsck.scmfs ends with %#x", status);
	nr.fsck++;
}

/* Nothing is left but the root. */
static void check_empty(void)
{
	struct statvfs v;
	struct stat st;

	NEED(!statvfs(there.top, &v) && !stat(there.top, &st));
	if (v.f_files - v.f_ffree != 1)
		wrong("%lu inodes are left", (long)(v.f_files - v.f_ffree));
	if (v.f_blocks - v.f_bfree != (u64)st.st_blocks / 8)
		wrong("%lu blocks are left, the root has %lu", (long)(v.f_blocks - v.f_bfree), (long)st.st_blocks / 8);
}

/* Of a call that had not returned. */
static bool half_done(const struct cut *cut, const struct tree *t)
{
	const struct op *op = cut->op;

	if (op->how & CUT_CAPS && tree_without_rights(t, cut->before, cut->after, op->path, false))
		return true;
	if (op->how & CUT_MODE && tree_without_rights(t, cut->before, cut->after, op->path, true))
		return true;
	if (op->how & CUT_EACH)
		return tree_each(t, cut->before, cut->after, cut->parts);
	return cut->parts && tree_between(t, cut->before, cut->after, op->path);
}

static void judge(struct cut *cut, u32 point)
{
	struct tree *t = tree_see(there.top);
	bool returned = cut->nested ? cut->returned : point >= cut->done;

	if (tree_same(t, cut->after)) {
		cut->nr_after++;
	} else if (!returned && tree_same(t, cut->before)) {
		cut->nr_before++;
	} else if (!returned && half_done(cut, t)) {
		cut->nr_parts++;
	} else {
		tree_explain(t, cut->before, cut->after);
		if (!cut->nested)
			printf("# event %u of %u\n", point, cut->done);
		wrong(returned ? "it had returned, and is not done" : "neither before nor after");
	}
	tree_free(t);
}

static void look(u8 *c, u32 point, void *arg)
{
	struct cut *cut = arg;

	nr.states++;
	memcpy(copy, c, bytes);
	check_content(copy, "as the cut left it", false);
	if (nr.states % FSCK_EACH == 1)
		run_fsck(c);
	put(&there, c);
	mount_range(&there, "");
	judge(cut, point);
	if (nr.states % USE_EACH == 0) {
		tree_use(there.top);
		check_empty();
		nr.used++;
	}
	unmount_range(&there);
	get(&there, copy);
	check_content(copy, "mounted and unmounted", true);
	if (!cut->nested && !cut->saved && nr_saved < SAVED && get_random_u32() % 16 == 0) {
		struct saved *s = &saved[nr_saved++];

		cut->saved = true;
		s->image = malloc(bytes);
		NEED(s->image);
		memcpy(s->image, c, bytes);
		s->cut = *cut;
		s->cut.nested = true;
		s->cut.returned = point >= cut->done;
	}
}

/* --- CPUs ---------------------------------------------------------------------------------------- */

/* Has it a second one, and may that go? */
static bool has_cpus(void)
{
	return !access(CPU, W_OK);
}

static void use_cpus(bool all)
{
	int f = open(CPU, O_WRONLY | O_CLOEXEC);

	NEED(f >= 0 && write(f, all ? "1" : "0", 1) == 1 && !close(f));
}

/* --- rounds -------------------------------------------------------------------------------------- */

/* Who has done something from event @from on. */
static u32 tasks_since(u32 from)
{
	u32 i, j, tasks = 0;

	for (i = from; i < recorded.nr_events; i++) {
		for (j = from; j < i && recorded.event[j].task != recorded.event[i].task; j++)
			;
		tasks += j == i;
	}
	return tasks;
}

static void count(const struct cut *cut, u32 from, bool same)
{
	u32 i, fences = 0;

	for (i = from; i < cut->done; i++)
		fences += recorded.event[i].type == SCM_FENCE;
	nr.calls++;
	nr.fences += fences;
	nr.parts += cut->nr_parts;
	if (same) {
		nr.same += cut->nr_after;
		return;
	}
	nr.before += cut->nr_before;
	nr.after += cut->nr_after;
	if (!fences || !cut->nr_after || !(cut->nr_before + cut->nr_parts))
		wrong("%u fences, seen %llu times as before it, %llu as after it", fences, cut->nr_before,
		      cut->nr_after);
}

static void do_step(const struct step *step)
{
	const struct op *op = step->op;
	struct cut cut = { .op = op };
	bool others = has_cpus() && (op->how & CUT_EACH || get_random_u32() % CPUS_EACH == 0);
	bool all = get_random_u32() % 2;
	u64 states = nr.states;
	char text[100];
	u32 from;

	snprintf(text, sizeof(text), "%s%s", op->name, step->atomic ? ", data=atomic" : "");
	doing = text;
	cut.parts = op->how & CUT_PARTS && !(op->how & CUT_WRITES && step->atomic);
	set_atomic(step->atomic);
	op->prepare();
	cut.before = tree_see(here.top);
	if (others)
		use_cpus(all);
	from = drain();
	op->run();
	cut.done = drain();
	if (others)
		use_cpus(!all);
	cut.after = tree_see(here.top);
	crash_some(&recorded, image, from, most, look, &cut);
	if (others)
		use_cpus(true);
	*(all ? &nr.on_fewer : &nr.on_more) += others ? nr.states - states : 0;
	nr.atomic += step->atomic ? nr.states - states : 0;
	nr.tasks = max(nr.tasks, (u64)tasks_since(from));
	count(&cut, from, tree_same(cut.before, cut.after));
	doing = op->name;
	if (op->end)
		op->end();
	drain();
	if (cut.saved)
		return;		/* they are its now */
	tree_free(cut.before);
	tree_free(cut.after);
}

/* Nothing was stored that is not recorded. */
static void compare_recorded(void)
{
	u64 i;

	get(&here, content);
	memcpy(copy, image, bytes);
	crash_none(&recorded, copy);
	for (i = 0; i < bytes; i += 8)
		if (memcmp(content + i, copy + i, 8))
			wrong("byte %llu was changed, and nobody recorded it", i);
}

/* What a cut left is recovered by a mount that is cut itself. */
static void cut_mount(struct saved *s)
{
	u64 before = nr.states;
	struct tree *seen;

	doing = s->cut.op->name;
	put(&there, s->image);
	begin_record(&there);
	mount_range(&there, "");
	end_record();
	seen = tree_see(there.top);
	unmount_range(&there);
	/* What this mount showed somebody may have seen: a cut of it leads to nothing else. */
	tree_free(s->cut.before);
	tree_free(s->cut.after);
	s->cut.before = seen;
	s->cut.after = seen;
	crash_some(&recorded, s->image, 0, most, look, &s->cut);
	nr.nested += nr.states - before;
	tree_free(seen);
	free(s->image);
}

static void add_step(struct step *step, unsigned int *nr_steps, const struct op *op, bool atomic)
{
	unsigned int at = get_random_u32() % (*nr_steps + 1);

	NEED(*nr_steps < STEPS);
	step[(*nr_steps)++] = step[at];
	step[at] = (struct step){ op, atomic };
}

/* All calls, in any order. */
static unsigned int draw_steps(struct step *step)
{
	unsigned int i, nr_steps = 0;

	for (i = 0; i < nr_calls; i++) {
		bool atomic = get_random_u32() % 2;

		if (only ? !strstr(calls[i].name, only) :
		    is_short && calls[i].how & CUT_SOME && get_random_u32() % SOME)
			continue;
		add_step(step, &nr_steps, &calls[i], atomic);
		if (calls[i].how & CUT_WRITES && !(is_short && calls[i].how & (CUT_EACH | CUT_SOME)))
			add_step(step, &nr_steps, &calls[i], !atomic);
	}
	return nr_steps;
}

/* With a log for any number of CPUs, as other machines may have made it. */
static void format_here(void)
{
	const struct scmfs_format_params p = { .lanes = 1 + get_random_u32() % LANES };

	memset(image, 0, bytes);
	NEED(!scmfs_format(image, bytes, &p));
	put(&here, image);
}

static void one_round(u64 deadline)
{
	struct step step[STEPS];
	unsigned int nr_steps = draw_steps(step), i;

	doing = "begin";
	format_here();
	begin_record(&here);
	mount_here();
	for (i = 0; i < nr_steps && (!nr.rounds || now_ms() < deadline); i++)
		do_step(&step[i]);
	doing = "end";
	unmount_here();
	end_record();
	compare_recorded();
	for (i = 0; i < nr_saved; i++)
		cut_mount(&saved[i]);
	nr_saved = 0;
	nr.rounds++;
}

static void range_init(struct range *r, const char *start, const char *size)
{
	r->start = strtoull(start, NULL, 0);
	snprintf(r->options, sizeof(r->options), "phys=%s,size=%s", start, size);
	if (mkdir(r->top, 0755) && errno != EEXIST)
		wrong("%s: %m", r->top);
}

int main(int argc, char **argv)
{
	u64 deadline;

	if (argc != 8 && (argc != 9 || strcmp(argv[8], "gc")))
		wrong("usage: scmcuts SEED SECONDS MOST START OTHER SIZE HEAD [gc]");
	calls = argc == 9 ? gc_ops : ops;
	nr_calls = argc == 9 ? nr_gc_ops : nr_ops;
	setvbuf(stdout, NULL, _IOLBF, 0);
	shim_seed(strtoull(argv[1], NULL, 0));
	deadline = now_ms() + strtoull(argv[2], NULL, 0) * 1000;
	only = getenv("EVENKEEL_CUTS_ONLY");
	is_short = strtoull(argv[2], NULL, 0) <= SHORT;
	most = strtoul(argv[3], NULL, 0);
	head = strtoull(argv[7], NULL, 0);
	bytes = strtoull(argv[6], NULL, 0) - head;
	range_init(&here, argv[4], argv[6]);
	range_init(&there, argv[5], argv[6]);
	umask(0);
	image = malloc(bytes);
	copy = aligned_alloc(4096, bytes);
	content = malloc(bytes);
	NEED(image && copy && content);
	do
		one_round(deadline);
	while (now_ms() < deadline);
	if (!only && (!(nr.before + nr.parts) || !nr.after || !nr.used || !nr.fsck || nr.tasks < 2 ||
	    (calls == ops && !(nr.nested && nr.atomic))))
		wrong("something was not met at all");
	printf("# %llu rounds, %llu calls, %llu fences, %llu mounts\n", nr.rounds, nr.calls, nr.fences, nr.mounts);
	printf("# %llu states: %llu as before, %llu as after, %llu half way, %llu where nothing changes, %llu of mounts cut\n",
	       nr.states, nr.before, nr.after, nr.parts, nr.same, nr.nested);
	printf("# %llu used, %llu by fsck.scmfs, %llu of data=atomic, calls by up to %llu tasks\n", nr.used, nr.fsck,
	       nr.atomic, nr.tasks);
	printf("# %llu recovered on more CPUs than they were left by, %llu on fewer\n", nr.on_more, nr.on_fewer);
	return 0;
}
