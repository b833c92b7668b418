// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of a nameless device's physical segment, which knows what it wrote.
 *
 *	names DEVICE STATE fill N | churn N SEED | verify | recover | free | refused | deaf N SEED
 *	names DEVICE STATE heat N SEED | drain | late N SEED | cut | unflushed | stuck
 *	names DEVICE STATE ring-churn N SEED | plain-churn N SEED | poor-churn N SEED
 *	names DEVICE STATE ring-refused
 *	names DEVICE STATE readonly | lose | gone DIRECTORY
 *
 * STATE is a file with the names and versions of all blocks. Exit status 3: the power went; then
 * `recover` holds what the device lists against what may have been done.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <libnameless.h>

#define BLOCKS	4096
#define BATCH	8
#define POWER	3

/* @maybe: the version that a cut may have left, 0: it may be gone; @open: one of these */
struct block {
	uint32_t there, open, version, maybe;
	struct nl_name name;
};

static struct block blocks[BLOCKS];
static uint32_t nr, versions;
static struct nl_names_info info;
static unsigned char data[NL_IO_MAX * 65536];
static struct nameless *device;
static bool busy[BLOCKS];	/* a request under way has it */
static unsigned long long moved, acked, random_state;

static void die(const char *what, uint32_t block)
{
	fprintf(stderr, "%s, block %u: %s\n", what, block, strerror(errno));
	exit(1);
}

static uint32_t any(uint32_t below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % below;
}

static void state(const char *path, bool save)
{
	FILE *f = fopen(path, save ? "w" : "r");
	size_t n;

	if (!f && !save)
		return;
	n = f && save ? fwrite(&nr, 4, 1, f) + fwrite(&versions, 4, 1, f) +
			fwrite(blocks, sizeof(blocks), 1, f) :
	    f ? fread(&nr, 4, 1, f) + fread(&versions, 4, 1, f) +
			fread(blocks, sizeof(blocks), 1, f) : 0;
	if (n != 3 || fclose(f))
		die("state", 0);
}

static struct nl_meta meta_of(uint32_t i)
{
	return (struct nl_meta){ { i, 0x6e616d656c657373ULL, i * 7 } };
}

static void put_content(unsigned char *to, uint32_t i, uint32_t version)
{
	uint32_t *word = (void *)to, w;

	for (w = 0; w < info.block_bytes / 4; w++)
		word[w] = w % 2 ? version : i;
}

/* The version, 0 if it is none. */
static uint32_t content(const unsigned char *from, uint32_t i)
{
	const uint32_t *word = (const void *)from;
	uint32_t w;

	for (w = 0; w < info.block_bytes / 4; w++)
		if (word[w] != (w % 2 ? word[1] : i))
			return 0;
	return word[1];
}

/* The kernel's own errors for the library's: -1 and errno. */
static int result(int err)
{
	if (err < 0)
		errno = -err;
	return err < 0 ? -1 : err;
}

/* What the library would not ask for. */
static int ask(unsigned long request, void *arg)
{
	return ioctl(nameless_fd(device), request, arg);
}

/* Any @n blocks from @first on, all there or none: written or overwritten. */
static int put(uint32_t first, uint32_t n)
{
	struct nl_name names[BATCH] = { 0 }, old[BATCH];
	bool there = blocks[first].there;
	uint32_t i;
	int r;

	for (i = 0; i < n; i++) {
		struct block *b = &blocks[first + i];

		b->open = 1;
		b->maybe = ++versions;
		names[i].meta = meta_of(first + i);
		old[i] = b->name;
		put_content(data + i * info.block_bytes, first + i, b->maybe);
	}
	r = result(there ? nameless_overwrite(device, names, old, data, n, NULL) :
		   nameless_write(device, names, data, n, NULL));
	if (r)
		return r;
	for (i = 0; i < n; i++)
		blocks[first + i] = (struct block){ 1, 0, blocks[first + i].maybe, 0, names[i] };
	return 0;
}

static int drop(uint32_t i)
{
	struct block *b = &blocks[i];

	if (!b->there)
		return 0;
	b->open = 1;
	b->maybe = 0;
	if (result(nameless_free(device, &b->name, 1, NULL)))
		return -1;
	memset(b, 0, sizeof(*b));
	return 0;
}

static int check_one(uint32_t i)
{
	if (!blocks[i].there)
		return 0;
	if (result(nameless_read(device, &blocks[i].name, data, 1, NULL)))
		return -1;
	if (content(data, i) == blocks[i].version)
		return 0;
	errno = EUCLEAN;
	die("content", i);
	return -1;
}

/* Take what moved, and acknowledge all of it but for some when @lazy. */
static void listen(bool lazy)
{
	struct nl_move moves[16];
	int n = result(nameless_moves(device, moves, 16, 0)), i;
	uint32_t keep = 0;

	if (n < 0 && errno != ECONNRESET)
		die("migrations", 0);
	for (i = 0; i < n; i++) {
		struct block *b = &blocks[moves[i].meta.word[0] % BLOCKS];

		errno = EINPROGRESS;
		if (busy[b - blocks])
			die("told of a block with a request under way", b - blocks);
		moved++;
		if (lazy && any(4) == 0)
			continue;
		if (b->there && b->name.ppn == moves[i].from)
			b->name.ppn = moves[i].to;
		moves[keep++] = moves[i];
	}
	acked += keep;
	if (result(nameless_acknowledge(device, moves, keep)) && errno != EIO &&
	    errno != ECONNRESET)
		die("acknowledge", 0);
}

static int churn(uint32_t rounds, bool hears)
{
	while (rounds--) {
		uint32_t i = any(nr), n = 1;
		int r;

		if (any(4))
			i = any(nr / 8);	/* hot */
		while (n < BATCH && i + n < nr && blocks[i + n].there == blocks[i].there && any(4))
			n++;
		r = any(16) == 0 ? drop(i) : any(8) == 0 ? check_one(i) : put(i, n);
		if (r && errno == EIO)
			return POWER;
		if (r)
			die("request", i);
		if (hears && any(8) == 0)
			listen(true);
	}
	return 0;
}

/*
 * Look at a migration late, when its block was overwritten again and again: it must not be at its
 * old address then, as it would be taken for what was there before. For @rounds of them.
 */
static int late(uint32_t rounds)
{
	struct nl_move move;
	uint32_t i, tries;

	while (rounds) {
		if (nameless_moves(device, &move, 1, 0) != 1) {
			if (put(any(nr / 8), 1))
				die("overwrite", rounds);
			continue;
		}
		i = move.meta.word[0] % BLOCKS;
		for (tries = blocks[i].there ? 500 : 0; tries; tries--) {
			if (put(i, 1))
				die("overwrite", i);
			errno = EADDRINUSE;
			if (blocks[i].name.ppn == move.from)
				die("it is where it was, and who was told does not know", i);
		}
		if (result(nameless_acknowledge(device, &move, 1)))
			die("acknowledge", i);
		rounds--;
	}
	return 0;
}

/* Overwrite a few of the blocks, hearing nothing: all others are cold, and migrate for good. */
static int heat(uint32_t rounds)
{
	while (rounds--)
		if (put(any(nr / 8), 1))
			die("overwrite", rounds);
	return 0;
}

static int verify(void)
{
	uint32_t i, there = 0;

	for (i = 0; i < nr; i++) {
		if (check_one(i))
			die("read", i);
		there += blocks[i].there;
	}
	if (nameless_query(device, &info) || info.valid != there)
		die("there are not as many blocks as were written", info.valid);
	return 0;
}

static void found(const struct nl_name *name, unsigned char *seen)
{
	uint32_t i = name->meta.word[0], version;
	struct block *b = &blocks[i % BLOCKS];

	errno = EUCLEAN;
	if (i >= nr || seen[i]++)
		die("listed twice", i);
	if (result(nameless_read(device, name, data, 1, NULL)))
		die("listed and not there", i);
	version = content(data, i);
	if (!version || (!(b->there && version == b->version) &&
			 !(b->open && version == b->maybe)))
		die("content after a cut", i);
	*b = (struct block){ 1, 0, version, 0, *name };
}

/* Every valid block is one that may be; every one that has to be is there, by its old name, too. */
static int recover(void)
{
	static unsigned char seen[BLOCKS];
	struct nl_name names[16];
	uint32_t i, from = 0;
	int n, k;

	for (i = 0; i < nr; i++)
		if (!blocks[i].open && check_one(i))
			die("its old name", i);
	do {
		n = result(nameless_list(device, &from, names, 16));
		if (n < 0)
			die("list", 0);
		for (k = 0; k < n; k++)
			found(&names[k], seen);
	} while (n);
	for (i = 0; i < nr; i++) {
		errno = ENOENT;
		if (!seen[i] && blocks[i].there && !(blocks[i].open && !blocks[i].maybe))
			die("lost", i);
		if (!seen[i])
			memset(&blocks[i], 0, sizeof(blocks[i]));
	}
	return verify();
}

static void fails(const char *what, int r, int why)
{
	if (r != -1 || errno != why) {
		fprintf(stderr, "%s: %d, %s\n", what, r, strerror(errno));
		exit(1);
	}
}

/* --- many requests under way ------------------------------------------------------------------ */

#define DEPTH 24

static struct nameless_request requests[DEPTH];
static struct nl_name ring_names[DEPTH], ring_old[DEPTH];

/* Block @i is written, overwritten, read or freed by request @r. */
static void prepare(uint32_t r, uint32_t i, enum nameless_op op)
{
	struct nameless_request *req = &requests[r];
	struct block *b = &blocks[i];

	*req = (struct nameless_request){
		.op = op, .nr = 1, .names = &ring_names[r], .user = b,
		.data = data + (size_t)r * info.block_bytes,
	};
	ring_names[r] = op == NAMELESS_WRITE ? (struct nl_name){ .meta = meta_of(i) } : b->name;
	if (op == NAMELESS_READ)
		return;
	b->open = 1;
	b->maybe = op == NAMELESS_WRITE ? ++versions : 0;
	if (op == NAMELESS_FREE)
		return;
	put_content(req->data, i, b->maybe);
	ring_old[r] = b->name;
	req->old = b->there ? &ring_old[r] : NULL;
}

/* Some request that is done: which one; -1: the power went. */
static int finish(struct nameless_ring *ring)
{
	struct nameless_request *req;
	struct block *b;
	uint32_t i;

	if (result(nameless_ring_wait(ring, &req)))
		die("wait", 0);
	b = req->user;
	i = b - blocks;
	busy[i] = false;
	if (req->result == -EIO)
		return -1;
	errno = -req->result;
	if (req->result || req->done != 1)
		die("request in the ring", i);
	errno = EUCLEAN;
	if (req->op == NAMELESS_READ && content(req->data, i) != b->version)
		die("content read through the ring", i);
	if (req->op == NAMELESS_WRITE)
		*b = (struct block){ 1, 0, b->maybe, 0, *req->names };
	else if (req->op == NAMELESS_FREE)
		memset(b, 0, sizeof(*b));
	return req - requests;
}

/* As if no more files could be opened, which a ring is. */
static int open_poorly(struct nameless_ring **ring)
{
	struct rlimit limit, none;
	int file = dup(0), err;

	if (file < 0 || close(file) || getrlimit(RLIMIT_NOFILE, &limit))
		die("files", 0);
	none = (struct rlimit){ .rlim_cur = file, .rlim_max = limit.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &none))
		die("RLIMIT_NOFILE", 0);
	err = nameless_ring_open(device, DEPTH, ring);
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("RLIMIT_NOFILE", 0);
	return err;
}

/*
 * Any requests, no two of them on one block, until @rounds were done or the power goes. What moves
 * meanwhile is noted at once: it is of no block that has a request under way.
 */
static int ring_churn(uint32_t rounds, bool async, bool poor)
{
	uint32_t free_ones[DEPTH], vacant = DEPTH, i;
	struct nameless_ring *ring;
	bool off = false;
	int r;

	if (result(poor ? open_poorly(&ring) : nameless_ring_open(device, DEPTH, &ring)))
		die("ring", 0);
	if (nameless_ring_is_async(ring) != async)
		die("io_uring", async);
	for (i = 0; i < DEPTH; i++)
		free_ones[i] = i;
	while ((rounds && !off) || vacant < DEPTH) {
		i = any(nr);
		if (rounds && !off && vacant && !busy[i]) {
			enum nameless_op op = blocks[i].there && any(4) == 0 ? NAMELESS_READ :
				blocks[i].there && any(9) == 0 ? NAMELESS_FREE : NAMELESS_WRITE;

			r = free_ones[--vacant];
			prepare(r, i, op);
			busy[i] = true;
			if (result(nameless_ring_submit(ring, &requests[r])))
				die("submit", i);
			rounds--;
			if (!any(8))
				listen(true);
			continue;
		}
		r = finish(ring);
		off |= r < 0;
		/* Which request failed is no matter: nothing more is begun. */
		if (r < 0)
			r = 0;
		free_ones[vacant++] = r;
	}
	nameless_ring_close(ring);
	return off ? POWER : 0;
}

/* Requests that can't be: what io_uring says is what the ioctl says. */
static int ring_refused(void)
{
	struct nl_name name;
	struct nameless_request req = {
		.op = NAMELESS_READ, .nr = 1, .names = &name, .data = data,
	}, *other;
	struct nameless_ring *ring;
	uint32_t i = 0;

	while (i < nr && !blocks[i].there)
		i++;
	name = blocks[i % BLOCKS].name;
	if (result(nameless_ring_open(device, 1, &ring)))
		die("ring", 0);
	name.meta.word[1]++;
	if (result(nameless_ring_submit(ring, &req)))
		die("submit", 0);
	fails("one too many", result(nameless_ring_submit(ring, &req)), EAGAIN);
	if (result(nameless_ring_wait(ring, &other)) || other != &req)
		die("wait", 0);
	fails("forged metadata", result(req.result), ESTALE);
	name.meta.word[1]--;
	req.data = (void *)strtoul("8", NULL, 0);
	if (result(nameless_ring_submit(ring, &req)) || result(nameless_ring_wait(ring, &other)))
		die("submit", 0);
	fails("a bad pointer", result(req.result), EFAULT);
	fails("nothing under way", result(nameless_ring_wait(ring, &other)), ENODATA);
	req.nr = NL_IO_MAX + 1;
	fails("too much", result(nameless_ring_submit(ring, &req)), EINVAL);
	nameless_ring_close(ring);
	return 0;
}

static int refused(const char *name_of_it)
{
	struct nameless *other;
	struct nl_name name = blocks[0].name, old = name;
	struct nl_names_io io = { .names = (uintptr_t)&name, .data = (uintptr_t)data, .nr = 1 };

	fails("a second client", result(nameless_open(name_of_it, O_RDWR, &other)), EBUSY);
	name.meta.word[2]++;
	fails("forged metadata", result(nameless_read(device, &name, data, 1, NULL)), ESTALE);
	fails("a forged free", result(nameless_free(device, &name, 1, NULL)), ESTALE);
	fails("a forged overwrite", result(nameless_overwrite(device, &old, &name, data, 1, NULL)),
	      ESTALE);
	old = blocks[0].name;
	io.old = (uintptr_t)&name;
	fails("a read over something", ask(NL_IOC_READ, &io), EINVAL);
	io.old = 0;
	name = old;
	name.ppn = ~0u;
	fails("an address beyond the end", result(nameless_read(device, &name, data, 1, NULL)),
	      ESTALE);
	name = old;
	name.reserved = 1;
	fails("what is reserved", ask(NL_IOC_READ, &io), EINVAL);
	name.reserved = 0;
	if (put(0, 1))
		die("overwrite", 0);
	fails("a stale name", name.ppn == blocks[0].name.ppn ? (errno = ESTALE, -1) :
	      result(nameless_read(device, &name, data, 1, NULL)), ESTALE);
	io.nr = 0;
	fails("nothing", ask(NL_IOC_READ, &io), EINVAL);
	io.nr = NL_IO_MAX + 1;
	fails("too much", ask(NL_IOC_READ, &io), EINVAL);
	io.nr = 1;
	io.data = 8;
	fails("a bad pointer", ask(NL_IOC_WRITE, &io), EFAULT);
	fails("another ioctl", ask(_IO(NL_IOC, 99), &io), ENOTTY);
	return 0;
}

/* All that waits, which is more than the file keeps, though one read() has nowhere to put it. */
static int drain(void)
{
	struct pollfd poll_fd = { .fd = nameless_fd(device), .events = POLLIN };
	unsigned long long waiting = info.waiting;
	void *nowhere = (void *)strtoul("8", NULL, 0);	/* or the compiler knows */

	alarm(120);
	if (waiting <= 256 || poll(&poll_fd, 1, -1) != 1)
		die("too few wait", waiting);
	fails("a read to nowhere", read(nameless_fd(device), nowhere, sizeof(struct nl_move)), EFAULT);
	while (acked < waiting && poll(&poll_fd, 1, -1) == 1)
		listen(false);
	if (nameless_query(device, &info) || info.waiting || acked != waiting)
		die("not all came", acked);
	return 0;
}

static void power(const char *name, const char *how)
{
	char command[128];

	snprintf(command, sizeof(command), how, name);
	if (system(command))
		die(command, 0);
}

/*
 * A cut under a client that was told of migrations, and more wait: it hears of that first, and of
 * all of them, once, when it has asked what there is. Until then what it was told is not at its old
 * address again, however often it is overwritten.
 */
static int cut(const char *name)
{
	struct pollfd poll_fd = { .fd = nameless_fd(device), .events = POLLPRI };
	struct nl_move move;
	uint64_t cuts = info.cuts;
	uint32_t i, tries;

	while (info.waiting < 8)
		if (put(any(nr / 8), 1) || nameless_query(device, &info))
			die("overwrite", info.waiting);
	if (nameless_moves(device, &move, 1, 60000) != 1)
		die("none is told", 0);
	power(name, "nlctl cut %s --off");
	power(name, "nlctl power %s on");
	if (poll(&poll_fd, 1, 60000) != 1)
		die("no notice of a cut", 0);
	fails("before the notice was taken", result(nameless_moves(device, &move, 1, 0)), ECONNRESET);
	fails("and again", result(nameless_moves(device, &move, 1, 0)), ECONNRESET);
	fails("what was told before", result(nameless_acknowledge(device, &move, 1)), ECONNRESET);
	i = move.meta.word[0] % BLOCKS;
	for (tries = 500; tries; tries--) {
		if (put(i, 1))
			die("overwrite", i);
		errno = EADDRINUSE;
		if (blocks[i].name.ppn == move.from)
			die("it is where it was, and who was told does not know of the cut", i);
	}
	if (nameless_query(device, &info) || info.cuts != cuts + 1)
		die("cuts", info.cuts);
	if (nameless_query(device, &info))	/* without what was over */
		die("query", 0);
	poll_fd.events = POLLIN;
	while (acked < info.waiting && poll(&poll_fd, 1, 60000) == 1)
		listen(false);
	if (acked != info.waiting || moved != acked || nameless_query(device, &info) || info.waiting)
		die("not all came, once", acked);
	return verify();
}

static void *cut_again(void *path)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, "\n", 1) != 1)
		die("cut", 0);
	close(fd);
	return NULL;
}

/*
 * The power goes and is back between a virtual write, or a discard, and its flush. That says so,
 * and leaves the notice for who waits for it.
 */
static int unflushed(const char *name)
{
	struct pollfd poll_fd = { .fd = nameless_fd(device), .events = POLLPRI };
	uint64_t cuts = info.cuts, at = 1100ULL * info.block_bytes;	/* nobody else writes there */
	struct nl_move move;
	char path[128];
	int i;

	snprintf(path, sizeof(path), "/sys/kernel/config/nameless/%s/cut", name);
	for (i = 0; i < 2; i++, cuts++) {
		if (result(nameless_pwrite(device, data, info.block_bytes, at)) ||
		    result(nameless_flush(device)))
			die("flush", i);
		if (i ? nameless_discard(device, info.block_bytes, at) :
			nameless_pwrite(device, data, info.block_bytes, at))
			die("change", i);
		cut_again(path);
		fails("what a cut took", result(nameless_flush(device)), EIO);
		fails("and again", result(nameless_flush(device)), EIO);
		if (nameless_discard(device, info.block_bytes, at) || nameless_flush(device))
			die("flush behind it", i);
		errno = ETIME;
		if (poll(&poll_fd, 1, 60000) != 1 || !(poll_fd.revents & POLLPRI))
			die("the notice is gone", i);
		fails("the notice", result(nameless_moves(device, &move, 1, 0)), ECONNRESET);
		if (nameless_query(device, &info) || info.cuts != cuts + 1)
			die("cuts", info.cuts);
	}
	return 0;
}

/* A page that is not there until somebody gives it; *@file: who does. NULL: not on this kernel. */
static void *page_to_come(int *file)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*file = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (*file < 0 && errno == ENOSYS)
		return NULL;
	range.range.start = (uintptr_t)page;
	range.range.len = 4096;
	if (*file < 0 || page == MAP_FAILED || ioctl(*file, UFFDIO_API, &api) ||
	    ioctl(*file, UFFDIO_REGISTER, &range))
		die("userfaultfd", 0);
	return page;
}

static void *read_into(void *page)
{
	ssize_t n = read(nameless_fd(device), page, sizeof(struct nl_move));

	errno = n < 0 ? errno : EIO;
	if (n != sizeof(struct nl_move))
		die("who was stuck", 0);
	return NULL;
}

static void nothing(int number)
{
	(void)number;
}

/* One reader's memory does not come: another one does not wait for ever, or not at all. */
static int stuck(void)
{
	struct sigaction action = { .sa_handler = nothing };
	/* more than once, should the first come before what it is to end has begun */
	struct itimerval alarm_each = { .it_interval.tv_sec = 1, .it_value.tv_sec = 1 }, no_alarm = { 0 };
	struct uffdio_zeropage give = { .range.len = 4096 };
	struct pollfd fault = { .events = POLLIN };
	struct pollfd told = { .fd = nameless_fd(device), .events = POLLIN };
	struct nl_move move;
	pthread_t reader;
	sigset_t alarms;
	void *page = page_to_come(&fault.fd);

	if (!page)
		return 0;
	while (!info.waiting)
		if (put(any(nr / 8), 1) || nameless_query(device, &info))
			die("overwrite", info.waiting);
	if (poll(&told, 1, 60000) != 1)		/* of what has happened by then */
		die("a migration to be told of", info.waiting);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	if (pthread_sigmask(SIG_BLOCK, &alarms, NULL) ||
	    pthread_create(&reader, NULL, read_into, page) ||
	    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL) || poll(&fault, 1, 60000) != 1)
		die("reader", 0);
	fails("a read that must not wait", read(nameless_fd(device), &move, sizeof(move)), EAGAIN);
	if (sigaction(SIGALRM, &action, NULL) || fcntl(nameless_fd(device), F_SETFL, 0))
		die("F_SETFL", 0);
	if (setitimer(ITIMER_REAL, &alarm_each, NULL))
		die("setitimer", 0);
	fails("a read that a signal ends", read(nameless_fd(device), &move, sizeof(move)), EINTR);
	if (setitimer(ITIMER_REAL, &no_alarm, NULL))
		die("setitimer", 0);
	give.range.start = (uintptr_t)page;
	if (ioctl(fault.fd, UFFDIO_ZEROPAGE, &give) || pthread_join(reader, NULL))
		die("its page", 0);
	return 0;	/* what it has is not noted, nor acknowledged: it comes again */
}

/* Who is told of a cut by the query's answer has ended its notice by that, however early he asks. */
static int told(const char *name, uint32_t times)
{
	struct nl_names_acks acks = { .nr = 1 };
	struct nl_move none = { .from = 1, .to = 2 };
	struct nl_names_info query;
	uint64_t cuts = info.cuts;
	pthread_t cutter;
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/config/nameless/%s/cut", name);
	acks.moves = (uintptr_t)&none;
	for (; times; times--, cuts++) {
		if (pthread_create(&cutter, NULL, cut_again, path))
			die("thread", 0);
		do
			if (ask(NL_IOC_INFO, &query) && errno != EIO)
				die("query", times);
		while (query.cuts == cuts);
		if (ask(NL_IOC_ACK, &acks))
			die("acknowledged behind the query that told of the cut", times);
		pthread_join(cutter, NULL);
	}
	return nameless_query(device, &info);
}

/* A device that is open for reading only changes nothing, one for writing only shows nothing. */
static int readonly(const char *name)
{
	struct nl_name block = { 0 };
	struct nl_move move = { 0 };
	uint32_t from = 0;

	if (result(nameless_open(name, O_RDONLY, &device)))
		die("open to read", 0);
	fails("a write", result(nameless_write(device, &block, data, 1, NULL)), EBADF);
	fails("a free", result(nameless_free(device, &block, 1, NULL)), EBADF);
	fails("an acknowledgement", result(nameless_acknowledge(device, &move, 1)), EBADF);
	fails("a virtual write", result(nameless_pwrite(device, data, 4096, 0)), EBADF);
	nameless_close(device);
	if (result(nameless_open(name, O_WRONLY, &device)))
		die("open to write", 0);
	fails("a read", result(nameless_read(device, &block, data, 1, NULL)), EBADF);
	fails("a list", result(nameless_list(device, &from, &block, 1)), EBADF);
	fails("migrations", result(nameless_moves(device, &move, 1, 0)), EBADF);
	nameless_close(device);
	return 0;
}

/* A block, whosever it is, is freed. */
static int lose(const char *name)
{
	struct nl_name block;
	uint32_t from = 0;

	if (result(nameless_open(name, O_RDWR, &device)) ||
	    result(nameless_list(device, &from, &block, 1)) != 1 ||
	    result(nameless_free(device, &block, 1, NULL)))
		die("free", 0);
	nameless_close(device);
	return 0;
}

/* By the library, which polls, or in read() itself. What moves meanwhile is not waited for. */
static void wait_for_nothing(bool by_poll)
{
	int file = nameless_fd(device), r;
	struct nl_move move;

	alarm(20);
	if (!by_poll && fcntl(file, F_SETFL, 0))
		die("F_SETFL", 0);
	do
		r = by_poll ? result(nameless_moves(device, &move, 1, -1)) :
			      (int)read(file, &move, sizeof(move));
	while (r > 0 && !result(nameless_acknowledge(device, &move, 1)));
	fails("a wait", r, EIO);
	exit(0);
}

/* Or it never will: who has ended waits for nothing. */
static bool sleeps(pid_t pid)
{
	char path[64], status = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%*d %*s %c", &status) != 1 || fclose(f))
		die("status", pid);
	errno = ECHILD;
	if (status == 'Z')
		die("ended while nothing came", pid);
	return status == 'S';
}

/* The device's directory is removed while one waits in read() and another one in poll(). */
static int gone(const char *name, const char *directory)
{
	int i, status, failed = 0;
	pid_t child[2];

	if (result(nameless_open(name, O_RDWR, &device)))
		die("open", 0);
	for (i = 0; i < 2; i++) {
		child[i] = fork();
		if (!child[i])
			wait_for_nothing(i);
	}
	for (i = 0; i < 2; i++)
		while (!sleeps(child[i]))
			;
	if (rmdir(directory))
		die(directory, 0);
	for (i = 0; i < 2; i++)
		failed |= waitpid(child[i], &status, 0) != child[i] || status;
	return failed;
}

static int run(int argc, char **argv)
{
	const char *what = argv[3];
	uint32_t n = argc > 4 ? atoi(argv[4]) : 0, i;
	int r = 0;

	random_state = argc > 5 ? atoll(argv[5]) : 1;
	if (!strcmp(what, "fill")) {
		for (nr = n, i = 0; i < n && !r; i += BATCH)
			r = put(i, BATCH);
		if (r)
			die("fill", i);
		return 0;
	}
	if (!strcmp(what, "churn"))
		return churn(n, true);
	if (!strcmp(what, "deaf"))
		return churn(n, false);
	if (!strcmp(what, "heat"))
		return heat(n);
	if (!strcmp(what, "cut"))
		return cut(argv[1]);
	if (!strcmp(what, "stuck"))
		return stuck();
	if (!strcmp(what, "unflushed"))
		return unflushed(argv[1]);
	if (!strcmp(what, "told"))
		return told(argv[1], n);
	if (!strcmp(what, "late"))
		return late(n);
	if (!strcmp(what, "verify"))
		return verify();
	if (!strcmp(what, "recover"))
		return recover();
	if (!strcmp(what, "refused"))
		return refused(argv[1]);
	if (!strcmp(what, "drain"))
		return drain();
	if (!strcmp(what, "ring-churn"))
		return ring_churn(n, true, false);
	if (!strcmp(what, "plain-churn"))
		return ring_churn(n, false, false);
	if (!strcmp(what, "poor-churn"))
		return ring_churn(n, false, true);
	if (!strcmp(what, "ring-refused"))
		return ring_refused();
	for (i = 0; !strcmp(what, "free") && i < nr && !r; i++)
		r = drop(i);
	return r;
}

/* io_uring goes on having the device for a moment: the next client need not know. */
static void leave(const char *name)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int err, tries = 10000;

	nameless_close(device);
	while ((err = nameless_open(name, O_RDWR, &device)) == -EBUSY && --tries)
		nanosleep(&pause, NULL);
	errno = EBUSY;
	if (!tries)
		die("the device still has its client", 0);
	if (!err)
		nameless_close(device);
}

int main(int argc, char **argv)
{
	struct pollfd poll_fd = { .events = POLLIN | POLLPRI };
	int r;

	if (argc < 4)
		return 2;
	alarm(200);	/* nothing takes that long, on a machine that is slow */
	if (!strcmp(argv[3], "readonly"))
		return readonly(argv[1]);
	if (!strcmp(argv[3], "lose"))
		return lose(argv[1]);
	if (!strcmp(argv[3], "gone"))
		return argc > 4 ? gone(argv[1], argv[4]) : 2;
	if (result(nameless_open(argv[1], O_RDWR, &device)) ||
	    result(nameless_query(device, &info))) {
		r = errno == EIO ? POWER : 1;	/* idle GC's operations count, too */
		perror(argv[1]);
		return r;
	}
	state(argv[2], false);
	r = run(argc, argv);
	poll_fd.fd = nameless_fd(device);
	while (!r && strcmp(argv[3], "deaf") && strcmp(argv[3], "heat") &&
	       poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLIN)
		listen(false);
	state(argv[2], true);
	if (strstr(argv[3], "ring"))
		leave(argv[1]);
	printf("%llu moved, %llu acknowledged\n", moved, acked);
	return r;
}
