// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a mounted scmfs tells of itself, asked by somebody who means no good.
 *
 *	told DIR	exits with 0: each question has the answer that evenkeel/scmfs.h promises
 *	told DIR shut	the same of one that was shut down: EIO
 */
#define _GNU_SOURCE
#include <errno.h>
#include <evenkeel/scmfs.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096u
#define NEED(condition) do { if (!(condition)) fail(__LINE__, #condition); } while (0)

static int fd;
static unsigned char *page;	/* what follows it can't be touched */

static const struct question {
	unsigned long cmd;
	unsigned int size;
	int admin;
	unsigned int least;	/* bytes of the first version */
} questions[] = {
	{ SCMFS_IOC_INFO, sizeof(struct scmfs_info), 0, 136 },
	{ SCMFS_IOC_FILE_INFO, sizeof(struct scmfs_file_info), 0, 24 },
	{ SCMFS_IOC_ROOM, sizeof(struct scmfs_room), 1, 32 },
	{ SCMFS_IOC_WEAR, sizeof(struct scmfs_words), 1, 48 },
	{ SCMFS_IOC_USED, sizeof(struct scmfs_words), 1, 48 },
	{ SCMFS_IOC_GC, sizeof(struct scmfs_gc_info), 1, 152 },
};

#define QUESTIONS	(sizeof(questions) / sizeof(*questions))

__attribute__((noreturn)) static void fail(int line, const char *what)
{
	printf("# line %d: %s (%s)\n", line, what, strerrorname_np(errno));
	exit(1);
}

/* @len bytes at the end of the page, of which the first say @size. */
static void *at_end(unsigned int len, uint32_t size)
{
	unsigned char *p = page + PAGE - len;

	memset(page, 0, PAGE);
	memcpy(p, &size, len < sizeof(size) ? len : sizeof(size));
	return p;
}

static int answers(unsigned long cmd, void *arg, int wanted)
{
	errno = 0;
	return ioctl(fd, cmd, arg) ? errno == wanted : !wanted;
}

static void sizes(const struct question *q)
{
	struct scmfs_head *head;
	unsigned char *p;

	NEED(answers(q->cmd, at_end(q->size, q->size), 0));
	head = at_end(q->size, q->size);
	NEED(answers(q->cmd, head, 0) && head->size == q->size);
	NEED(answers(q->cmd, at_end(q->size, 0), EINVAL));
	NEED(answers(q->cmd, at_end(q->size, q->least - 1), EINVAL));
	/* one from before it grew: it gets what it knows */
	head = at_end(q->least, q->least);
	NEED(answers(q->cmd, head, 0) && head->size == q->least);
	NEED(answers(q->cmd, at_end(q->size, PAGE + 1), EINVAL));
	NEED(answers(q->cmd, at_end(q->size, UINT32_MAX), EINVAL));
	/* one that is to come: what isn't known is zero, and told to be so */
	head = at_end(PAGE, PAGE);
	NEED(answers(q->cmd, head, 0) && head->size == q->size);
	p = at_end(q->size + 8, q->size + 8);
	NEED(answers(q->cmd, p, 0) && !memcmp(p + q->size, "\0\0\0\0\0\0\0", 8));
	p = at_end(q->size + 8, q->size + 8);
	p[q->size + 7] = 1;
	NEED(answers(q->cmd, p, E2BIG));
	head = at_end(q->size, q->size);
	head->flags = 1;
	NEED(answers(q->cmd, head, EINVAL));
}

static void pointers(const struct question *q)
{
	NEED(answers(q->cmd, NULL, EFAULT));
	NEED(answers(q->cmd, (void *)-4096L, EFAULT));
	NEED(answers(q->cmd, at_end(3, q->size), EFAULT));
	NEED(answers(q->cmd, at_end(4, q->size), EFAULT));
	NEED(answers(q->cmd, at_end(q->size - 1, q->size), EFAULT));
	NEED(answers(q->cmd, at_end(q->size, q->size + 1), EFAULT));
	/* at an odd address */
	NEED(answers(q->cmd, at_end(q->size + 1, q->size), 0));
}

static struct scmfs_words *words_at_end(uint64_t from, void *words, uint32_t nr)
{
	struct scmfs_words *w = at_end(sizeof(*w), sizeof(*w));

	w->from = from;
	w->words = (uintptr_t)words;
	w->nr = nr;
	return w;
}

/* As many words as there are, to the last one. */
static uint64_t all_words(unsigned long cmd, unsigned int step, uint64_t *end)
{
	uint64_t word[SCMFS_LOOK_MAX], nr = 0;
	struct scmfs_words *w;

	do {
		w = words_at_end(nr * step, word, SCMFS_LOOK_MAX);
		NEED(answers(cmd, w, 0) && w->nr <= SCMFS_LOOK_MAX);
		nr += w->nr;
	} while (w->nr);
	NEED(w->first < w->end);
	*end = w->end;
	return nr;
}

static void words(unsigned long cmd, unsigned int step, unsigned int blocks)
{
	uint64_t word[SCMFS_LOOK_MAX + 1], end, all = all_words(cmd, step, &end);
	struct scmfs_words *w;

	NEED(all == (end + 1 + blocks - 1) / blocks);
	NEED(answers(cmd, words_at_end(0, NULL, 1), EFAULT));
	NEED(answers(cmd, words_at_end(0, (void *)-4096L, 1), EFAULT));
	NEED(answers(cmd, words_at_end(0, page + PAGE, 1), EFAULT));
	w = words_at_end(0, NULL, 0);
	NEED(answers(cmd, w, 0) && !w->nr);
	word[SCMFS_LOOK_MAX] = 0x5a5a;
	w = words_at_end(0, word, UINT32_MAX);
	NEED(answers(cmd, w, 0) && w->nr <= SCMFS_LOOK_MAX && word[SCMFS_LOOK_MAX] == 0x5a5a);
	w = words_at_end(all * step, NULL, SCMFS_LOOK_MAX);
	NEED(answers(cmd, w, 0) && !w->nr && w->end == end);
	w = words_at_end(-(uint64_t)step, NULL, SCMFS_LOOK_MAX);
	NEED(answers(cmd, w, 0) && !w->nr);
	w = words_at_end((all - 1) * step, word, SCMFS_LOOK_MAX);
	NEED(answers(cmd, w, 0) && w->nr == 1);
	w = words_at_end(0, word, 1);
	w->reserved = 1;
	NEED(answers(cmd, w, EINVAL));
	NEED(step == 1 || answers(cmd, words_at_end(step - 1, word, 1), EINVAL));
}

static void room(void)
{
	struct scmfs_room *r = at_end(sizeof(*r), sizeof(*r));

	r->from = UINT64_MAX;
	r->bytes = 1;
	r->files = 1;
	NEED(answers(SCMFS_IOC_ROOM, r, 0) && !r->from && !r->bytes && !r->files);
}

static void info(uint32_t flags)
{
	struct scmfs_info *i = at_end(sizeof(*i), sizeof(*i));

	NEED(answers(SCMFS_IOC_INFO, i, 0) && i->flags == flags);
	NEED(i->free <= i->all && i->all < i->memory && i->free_inodes < i->inodes);
	NEED(flags ? i->ram : !i->ram && !i->windows_made && !i->areas);
}

/* Nothing of what makes no sense is done. */
static void gc(void)
{
	static const struct {
		uint32_t set, low, high, whole;
	} wrong[] = {
		{ 0x100, 0, 0, 0 },
		{ 1u << 31, 0, 0, 0 },
		{ SCMFS_GC_SET_ON | SCMFS_GC_SET_OFF, 0, 0, 0 },
		{ SCMFS_GC_SET_START | SCMFS_GC_SET_STOP, 0, 0, 0 },
		{ SCMFS_GC_SET_ON | SCMFS_GC_SET_LOW, 99, 0, 0 },
		{ SCMFS_GC_SET_LOW | SCMFS_GC_SET_HIGH, 99, 101, 0 },
		{ SCMFS_GC_SET_HIGH, 0, UINT32_MAX, 0 },
		{ SCMFS_GC_SET_WHOLE, 0, 0, 101 },
	};
	struct scmfs_gc_info *g;
	unsigned int i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		g = at_end(sizeof(*g), sizeof(*g));
		g->set = wrong[i].set;
		g->low = wrong[i].low;
		g->high = wrong[i].high;
		g->whole = wrong[i].whole;
		NEED(answers(SCMFS_IOC_GC, g, EINVAL));
		g = at_end(sizeof(*g), sizeof(*g));
		NEED(answers(SCMFS_IOC_GC, g, 0) && !(g->flags & SCMFS_GC_ON) && g->low == 10 &&
		     g->high == 15 && g->whole == 50 && g->cold == 60 && !g->passes && !g->set);
	}
}

/* Without rights, on a file that was opened with them. */
static int as_nobody(void)
{
	unsigned int i;
	pid_t pid = fork();
	int status;

	NEED(pid >= 0);
	if (pid)
		return waitpid(pid, &status, 0) == pid && !status;
	NEED(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534));
	for (i = 0; i < QUESTIONS; i++)
		NEED(answers(questions[i].cmd, at_end(questions[i].size, questions[i].size),
			     questions[i].admin ? EPERM : 0));
	info(0);
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: told DIR [shut]\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(fd >= 0 && page != MAP_FAILED && !mprotect(page + PAGE, PAGE, PROT_NONE));
	for (i = 0; i < QUESTIONS; i++) {
		if (argc == 3) {
			NEED(answers(questions[i].cmd,
				     at_end(questions[i].size, questions[i].size), EIO));
			continue;
		}
		sizes(questions + i);
		pointers(questions + i);
	}
	if (argc == 3)
		return 0;
	NEED(answers(_IOWR(SCMFS_IOC, 99, struct scmfs_head), page, ENOTTY));
	NEED(answers(_IOWR(SCMFS_IOC, 32, struct scmfs_info), page, ENOTTY));
	words(SCMFS_IOC_WEAR, 1, 512);
	words(SCMFS_IOC_USED, 64, 64);
	room();
	info(SCMFS_INFO_ADMIN);
	gc();
	NEED(as_nobody());
	return 0;
}
