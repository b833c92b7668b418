// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to a nameless device's physical segment by io_uring, as no library would make them.
 *
 *	rings DEVICE refused | kinds | modes | short | links | unlinked | reuse
 *	rings DEVICE exits | unmapped | thread | cut | crowd
 *	rings DEVICE closed DIRECTORY | removed DIRECTORY
 *	rings DEVICE pace N DEPTH
 *
 * The last two lines are about what is under way: the device has to be a slow one.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <libnameless.h>

#define MANY 16

/* A request with room for what it needs. */
struct slot {
	struct nl_names_io io;
	struct nl_name names[NL_IO_MAX];
	struct nl_name old[NL_IO_MAX];
};

static const char *device_name;
static struct nameless *device;
static struct nl_names_info info;
static struct io_uring ring;
static struct slot slots[MANY + 1];
static unsigned char *data;		/* NL_IO_MAX blocks for each slot */
static uint64_t serial;

static void die(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static void is(const char *what, long is, long wanted)
{
	if (is == wanted)
		return;
	fprintf(stderr, "%s: %ld instead of %ld (%s)\n", what, is, wanted,
		strerror(is < 0 ? (int)-is : 0));
	exit(1);
}

/* Who had it open before may not have let go of it yet, although all requests were answered. */
static void open_device(int flags)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int err, tries = 10000;

	while ((err = nameless_open(device_name, flags, &device)) == -EBUSY && --tries)
		nanosleep(&pause, NULL);
	if (!tries)
		die("who had it open has it still", err);
	if (!err)
		err = nameless_query(device, &info);
	if (err)
		die(device_name, err);
}

static void open_ring(unsigned int entries, unsigned int flags)
{
	int err = io_uring_queue_init(entries, &ring, flags);

	if (err)
		die("io_uring", err);
}

static unsigned char *data_of(const struct slot *slot)
{
	return data + (size_t)(slot - slots) * NL_IO_MAX * info.block_bytes;
}

/* @nr blocks that nobody wrote before. */
static struct slot *fresh(unsigned int at, unsigned int nr)
{
	struct slot *slot = &slots[at];
	unsigned int i;

	memset(slot, 0, sizeof(*slot));
	slot->io = (struct nl_names_io){
		.names = (uintptr_t)slot->names, .data = (uintptr_t)data_of(slot), .nr = nr,
	};
	for (i = 0; i < nr; i++) {
		slot->names[i].meta.word[0] = ++serial;
		memset(data_of(slot) + (size_t)i * info.block_bytes, (int)serial, info.block_bytes);
	}
	return slot;
}

static struct io_uring_sqe *sqe_of(struct slot *slot, unsigned int op)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	struct nl_names_uring command = { .io = (uintptr_t)(slot ? &slot->io : NULL) };

	if (!sqe)
		die("no SQE", 0);
	memset(sqe, 0, ring.flags & IORING_SETUP_SQE128 ? 2 * sizeof(*sqe) : sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = nameless_fd(device);
	sqe->cmd_op = op;
	memcpy(sqe->cmd, &command, sizeof(command));
	io_uring_sqe_set_data(sqe, slot);
	return sqe;
}

static void submit(void)
{
	while (io_uring_sq_ready(&ring)) {
		int n = io_uring_submit(&ring);

		if (n < 0 && n != -EINTR)
			die("submit", n);
	}
}

static int reap(struct slot **slot)
{
	struct io_uring_cqe *cqe;
	int err, res;

	do
		err = io_uring_wait_cqe(&ring, &cqe);
	while (err == -EINTR);
	if (err)
		die("wait", err);
	res = cqe->res;
	if (slot)
		*slot = io_uring_cqe_get_data(cqe);
	io_uring_cqe_seen(&ring, cqe);
	return res;
}

static int now(void)
{
	submit();
	return reap(NULL);
}

static int ask(struct slot *slot, unsigned int op)
{
	sqe_of(slot, op);
	return now();
}

static unsigned int valid(void)
{
	struct nl_names_info this;
	int err = nameless_query(device, &this);

	if (err)
		die("query", err);
	return this.valid;
}

static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap", errno);
	return at;
}

/* A page, and none after it. */
static void *last_page(int protection)
{
	unsigned char *at = map(8192);

	if (munmap(at + 4096, 4096) || mprotect(at, 4096, protection))
		die("mmap", errno);
	return at;
}

/* --- what can't be ---------------------------------------------------------------------------- */

static void bad_numbers(void)
{
	static const uint32_t numbers[] = { 0, NL_IO_MAX + 1, 0x08000001, 0x80000000, ~0u };
	static const unsigned int ops[] = { NL_IOC_WRITE, NL_IOC_READ, NL_IOC_FREE };
	unsigned int i, j;
	struct slot *slot;

	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		for (j = 0; j < 3; j++) {
			slot = fresh(0, 1);
			slot->io.nr = numbers[i];
			is("a number of blocks", ask(slot, ops[j]), -EINVAL);
		}
	slot = fresh(0, 1);
	slot->io.old = slot->io.names;
	is("a read over something", ask(slot, NL_IOC_READ), -EINVAL);
	is("a free over something", ask(slot, NL_IOC_FREE), -EINVAL);
	slot = fresh(0, 2);
	slot->names[1].reserved = 1;
	is("a name's reserved field", ask(slot, NL_IOC_WRITE), -EINVAL);
	slot = fresh(0, 1);
	slot->io.old = (uintptr_t)slot->old;
	slot->old[0].reserved = 1;
	is("an old name's reserved field", ask(slot, NL_IOC_WRITE), -EINVAL);
}

static void bad_commands(void)
{
	static const unsigned int ops[] = {
		NL_IOC_INFO, NL_IOC_LIST, NL_IOC_ACK, NL_IOC_CUTS, 0, 1, ~0u, _IO(NL_IOC, 1),
		_IOWR(NL_IOC, 6, struct nl_names_io),
	};
	struct iovec room = { .iov_base = data, .iov_len = 4096 };
	struct slot *slot = fresh(0, 1);
	struct io_uring_sqe *sqe;
	unsigned int i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		is("another command", ask(slot, ops[i]), -ENOTTY);
	sqe = sqe_of(slot, NL_IOC_WRITE);
	((struct nl_names_uring *)sqe->cmd)->reserved = 1;
	is("the command's reserved field", now(), -EINVAL);
	if (io_uring_register_buffers(&ring, &room, 1))
		die("register", errno);
	sqe = sqe_of(slot, NL_IOC_WRITE);
	sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
	is("a registered buffer", now(), -EINVAL);
}

/* Where nothing may be touched. */
static const uint64_t nowhere[] = {
	0, 8, 0x00007ffffffff000, 0x0000800000000000, 0xffff888000000000, ~0ull - 7,
};

static void bad_pointers(void)
{
	char *page = last_page(PROT_READ | PROT_WRITE);
	unsigned int i, before = valid();
	struct io_uring_sqe *sqe;
	struct slot *slot;

	for (i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
		sqe = sqe_of(NULL, NL_IOC_WRITE);
		((struct nl_names_uring *)sqe->cmd)->io = nowhere[i];
		is("a request nowhere", now(), -EFAULT);
		slot = fresh(0, 2);
		slot->io.names = nowhere[i];
		is("names nowhere", ask(slot, NL_IOC_WRITE), -EFAULT);
		slot = fresh(0, 2);
		slot->io.data = nowhere[i];
		is("data nowhere", ask(slot, NL_IOC_WRITE), -EFAULT);
		if (!nowhere[i])
			continue;
		slot = fresh(0, 2);
		slot->io.old = nowhere[i];
		is("old names nowhere", ask(slot, NL_IOC_WRITE), -EFAULT);
	}
	sqe = sqe_of(NULL, NL_IOC_WRITE);
	((struct nl_names_uring *)sqe->cmd)->io = (uintptr_t)(page + 4096 - 24);
	is("part of a request", now(), -EFAULT);
	is("nothing was written", valid(), before);
}

/* What can't be told is not done. */
static void no_room_for_answers(void)
{
	unsigned int before = valid();
	struct slot *slot = fresh(0, 1), *there = fresh(1, 1);
	unsigned char *page = last_page(PROT_READ);
	struct io_uring_sqe *sqe;

	slot->io.names = (uintptr_t)page;
	is("a name that can't be told", ask(slot, NL_IOC_WRITE), -EFAULT);
	sqe = sqe_of(NULL, NL_IOC_WRITE);
	slot = fresh(0, 1);
	if (mprotect(page, 4096, PROT_READ | PROT_WRITE))
		die("mprotect", errno);
	memcpy(page, &slot->io, sizeof(slot->io));
	if (mprotect(page, 4096, PROT_READ))
		die("mprotect", errno);
	((struct nl_names_uring *)sqe->cmd)->io = (uintptr_t)page;
	is("a result that can't be told", now(), -EFAULT);
	is("nothing was written", valid(), before);
	is("a write", ask(there, NL_IOC_WRITE), 0);
	there->io.data = (uintptr_t)page;
	is("a read to where nothing may be written", ask(there, NL_IOC_READ), -EFAULT);
	there->io.data = (uintptr_t)page + 4096 - info.block_bytes / 2;
	is("a read to where half of it is", ask(there, NL_IOC_READ), -EFAULT);
	is("a free", ask(there, NL_IOC_FREE), 0);
}

static void bad_names(void)
{
	struct slot *slot = fresh(0, 4), *other = fresh(1, 1);
	unsigned char *block = data_of(slot);
	struct nl_name stale;

	is("a write", ask(slot, NL_IOC_WRITE), 0);
	is("its blocks", slot->io.done, 4);
	/* the first two are right */
	slot->names[2].meta.word[1]++;
	memset(block, 0, 4 * (size_t)info.block_bytes);
	is("a forged name", ask(slot, NL_IOC_READ), -ESTALE);
	is("the blocks before it", slot->io.done, 2);
	is("their data", block[0] + 1 == block[info.block_bytes] && block[0], 1);
	is("no more data", block[2 * info.block_bytes], 0);
	other->io.old = (uintptr_t)&slot->names[2];
	is("a forged overwrite", ask(other, NL_IOC_WRITE), -ESTALE);
	slot->io.names = (uintptr_t)&slot->names[2];
	slot->io.nr = 1;
	is("a forged free", ask(slot, NL_IOC_FREE), -ESTALE);
	is("nothing is freed", slot->io.done, 0);
	slot->names[2].meta.word[1]--;
	stale = slot->names[2];
	slot->names[2].ppn = ~0u;
	is("an address beyond the end", ask(slot, NL_IOC_READ), -ESTALE);
	slot->names[2] = stale;
	other->io.old = (uintptr_t)&stale;
	is("an overwrite", ask(other, NL_IOC_WRITE), 0);
	is("a stale name", ask(slot, NL_IOC_READ), -ESTALE);
	is("a stale overwrite", ask(other, NL_IOC_WRITE), -ESTALE);
	is("a stale free", ask(slot, NL_IOC_FREE), -ESTALE);
	slot->names[2] = other->names[0];
	slot->io.names = (uintptr_t)slot->names;
	slot->io.nr = 4;
	is("a free", ask(slot, NL_IOC_FREE), 0);
	is("a second one", ask(slot, NL_IOC_FREE), -ESTALE);
}

static void refused(void)
{
	unsigned int before;

	open_device(O_RDWR);
	open_ring(4, 0);
	before = valid();
	bad_numbers();
	bad_commands();
	bad_pointers();
	no_room_for_answers();
	bad_names();
	is("blocks", valid(), before);
}

/* --- kinds of rings --------------------------------------------------------------------------- */

static void round_trip(unsigned int flags)
{
	struct slot *slot = fresh(0, NL_IO_MAX);
	unsigned char *block = data_of(slot);
	unsigned int i;

	sqe_of(slot, NL_IOC_WRITE)->flags |= flags;
	is("a write", now(), 0);
	memset(block, 0, NL_IO_MAX * (size_t)info.block_bytes);
	sqe_of(slot, NL_IOC_READ)->flags |= flags;
	is("a read", now(), 0);
	for (i = 0; i < NL_IO_MAX; i++)
		is("what was written", block[i * info.block_bytes],
		   (unsigned char)slot->names[i].meta.word[0]);
	sqe_of(slot, NL_IOC_FREE)->flags |= flags;
	is("a free", now(), 0);
	is("blocks", slot->io.done, NL_IO_MAX);
}

static void kinds(void)
{
	static const unsigned int setups[] = {
		0, IORING_SETUP_SQE128, IORING_SETUP_CQE32,
		IORING_SETUP_SQE128 | IORING_SETUP_CQE32, IORING_SETUP_SQPOLL,
		IORING_SETUP_COOP_TASKRUN, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	struct io_uring_sqe *sqe;
	unsigned int i;
	int fd;

	open_device(O_RDWR);
	for (i = 0; i < sizeof(setups) / sizeof(*setups); i++) {
		open_ring(2, setups[i]);
		round_trip(0);
		round_trip(IOSQE_ASYNC);
		io_uring_queue_exit(&ring);
	}
	open_ring(2, IORING_SETUP_IOPOLL);
	is("a polled ring", (sqe_of(fresh(0, 1), NL_IOC_WRITE), now()), -EOPNOTSUPP);
	io_uring_queue_exit(&ring);
	open_ring(2, 0);
	fd = nameless_fd(device);
	if (io_uring_register_files(&ring, &fd, 1))
		die("register", errno);
	sqe = sqe_of(fresh(0, 1), NL_IOC_WRITE);
	sqe->fd = 0;
	sqe->flags |= IOSQE_FIXED_FILE;
	is("a registered file", now(), 0);
	is("its block goes", ask(&slots[0], NL_IOC_FREE), 0);
}

/* A file that is open for reading changes nothing, one for writing shows nothing. */
static void modes(void)
{
	open_device(O_RDONLY);
	open_ring(2, 0);
	is("a write", ask(fresh(0, 1), NL_IOC_WRITE), -EBADF);
	is("a free", ask(fresh(0, 1), NL_IOC_FREE), -EBADF);
	is("a read", ask(fresh(0, 1), NL_IOC_READ), -ESTALE);
	nameless_close(device);
	io_uring_queue_exit(&ring);
	open_device(O_WRONLY);
	open_ring(2, 0);
	is("a write", ask(fresh(0, 1), NL_IOC_WRITE), 0);
	is("a read", ask(&slots[0], NL_IOC_READ), -EBADF);
	is("a free", ask(&slots[0], NL_IOC_FREE), 0);
}

/* More under way than the ring has entries for: none is lost. */
static void short_ring(void)
{
	struct slot *slot;
	int i;

	open_device(O_RDWR);
	open_ring(1, 0);
	for (i = 0; i < MANY; i++) {
		sqe_of(fresh(i, 1), NL_IOC_WRITE);
		submit();
	}
	for (i = 0; i < MANY; i++) {
		is("a write", reap(&slot), 0);
		is("its block", slot->io.done, 1);
		slot->io.done = 2;	/* told once */
	}
	for (i = 0; i < MANY; i++) {
		is("told", slots[i].io.done, 2);
		is("a free", ask(&slots[i], NL_IOC_FREE), 0);
	}
}

/* In a chain each has what the one before gave, and what fails ends it. */
static void links(void)
{
	struct slot *first = fresh(0, 1), *second = fresh(1, 1), *stale = fresh(2, 1);
	struct slot *read = fresh(3, 1);
	struct slot *slot;
	int i, res;

	open_device(O_RDWR);
	open_ring(8, 0);
	second->io.old = first->io.names;
	stale->io.names = first->io.names;
	read->io.names = second->io.names;
	sqe_of(first, NL_IOC_WRITE)->flags |= IOSQE_IO_LINK | IOSQE_ASYNC;
	sqe_of(second, NL_IOC_WRITE)->flags |= IOSQE_IO_LINK | IOSQE_ASYNC;
	sqe_of(read, NL_IOC_READ)->flags |= IOSQE_IO_LINK | IOSQE_ASYNC;
	sqe_of(stale, NL_IOC_READ)->flags |= IOSQE_IO_LINK | IOSQE_ASYNC;
	sqe_of(NULL, NL_IOC_FREE);
	submit();
	for (i = 0; i < 5; i++) {
		res = reap(&slot);
		is("in a chain", res, slot == stale ? -ESTALE : slot ? 0 : -ECANCELED);
	}
	is("its data", data_of(read)[0], (unsigned char)second->names[0].meta.word[0]);
	is("its block goes", nameless_free(device, second->names, 1, NULL), 0);
}

/* All slots of the ring, as far as the kernel does not know. */
static void use_again(const struct io_uring_sqe *sqe)
{
	unsigned int i;

	for (i = 0; i < ring.sq.ring_entries; i++)
		ring.sq.sqes[i] = *sqe;
}

/*
 * Not said to be begun by a worker: what may come too late is done right, or not at all. Kernels
 * that keep copies of SQEs (6.1) do all of it right.
 */
static void unlinked(void)
{
	struct utsname kernel;
	bool all;
	struct slot *decoy = fresh(MANY, 1);
	struct io_uring_sqe other, *nop;
	struct slot *slot;
	int i, res, round;

	if (uname(&kernel))
		die("uname", errno);
	all = !strncmp(kernel.release, "6.1.", 4);
	open_device(O_RDWR);
	open_ring(4, 0);
	other = *sqe_of(decoy, NL_IOC_WRITE);
	is("a write", now(), 0);
	is("a free", ask(decoy, NL_IOC_FREE), 0);
	for (round = 0; round < 40; round++) {
		decoy->io.done = 0;
		nop = io_uring_get_sqe(&ring);
		io_uring_prep_nop(nop);
		io_uring_sqe_set_data(nop, NULL);
		nop->flags = IOSQE_IO_HARDLINK | (round % 2 ? IOSQE_ASYNC : 0);
		/* in a chain, its end, and a chain without one */
		sqe_of(fresh(0, 1), NL_IOC_WRITE)->flags |= IOSQE_IO_HARDLINK;
		sqe_of(fresh(1, 20), NL_IOC_WRITE);
		sqe_of(fresh(2, 1), NL_IOC_WRITE)->flags |= IOSQE_IO_LINK;
		submit();
		use_again(&other);
		for (i = 0; i < 4; i++) {
			res = reap(&slot);
			if (!slot)
				continue;
			if (all || (res != -EINVAL && res != -ECANCELED))
				is("a write", res, 0);
			is("its blocks", slot->io.done, res ? 0 : slot->io.nr);
			if (!res)
				is("a free", nameless_free(device, slot->names, slot->io.nr, NULL),
				   0);
		}
		is("a request that nobody made", decoy->io.done, 0);
	}
}

static bool stop;

/* Keeps the device's lock busy. */
static void *contend(void *unused)
{
	static struct nl_name names[NL_IO_MAX];
	static unsigned char room[NL_IO_MAX * 4096];
	int err = 0;

	(void)unused;
	while (!err && !__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		err = nameless_write(device, names, room, NL_IO_MAX, NULL);
		if (!err)
			err = nameless_free(device, names, NL_IO_MAX, NULL);
	}
	return (void *)(intptr_t)err;
}

/* A slot of the ring is the program's again when its request was submitted, not when it is done. */
static void reuse(void)
{
	struct slot *decoy = fresh(MANY, 1);
	struct io_uring_sqe other;
	struct slot *slot;
	pthread_t thread;
	void *err;
	int i, j, round;

	open_device(O_RDWR);
	open_ring(MANY, 0);
	other = *sqe_of(decoy, NL_IOC_WRITE);
	is("a write", now(), 0);
	is("a free", ask(decoy, NL_IOC_FREE), 0);
	if (pthread_create(&thread, NULL, contend, NULL))
		die("thread", errno);
	for (round = 0; round < 24; round++) {
		decoy->io.done = 0;
		for (i = 0; i < MANY; i++)
			sqe_of(fresh(i, i % 2 ? 20 : 1), NL_IOC_WRITE);
		submit();
		use_again(&other);
		for (i = 0; i < MANY; i++) {
			is("a write", reap(&slot), 0);
			is("its blocks", slot->io.done, slot->io.nr);
			slot->io.done = 0;	/* told once */
		}
		is("a request that nobody made", decoy->io.done, 0);
		for (i = 0; i < MANY; i++) {
			slot = &slots[i];
			memset(data_of(slot), 0, slot->io.nr * (size_t)info.block_bytes);
			is("a read", ask(slot, NL_IOC_READ), 0);
			for (j = 0; j < (int)slot->io.nr; j++)
				is("what was written", data_of(slot)[j * info.block_bytes],
				   (unsigned char)slot->names[j].meta.word[0]);
			is("a free", ask(slot, NL_IOC_FREE), 0);
		}
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	if (pthread_join(thread, &err))
		die("thread", errno);
	is("who was in the way", (intptr_t)err, 0);
	is("nothing is left", valid(), 0);
}

/* --- what is under way ------------------------------------------------------------------------ */

/* Every other one is begun by a worker. */
static unsigned int blocks_of(int i)
{
	return i % 2 ? 20 : 1;
}

static void begin_many(void)
{
	int i;

	open_device(O_RDWR);
	open_ring(MANY, 0);
	for (i = 0; i < MANY; i++)
		sqe_of(fresh(i, blocks_of(i)), NL_IOC_WRITE);
	submit();
}

/* The device goes on having a client until the last one is done, and can't be deleted. */
static void closed(const char *directory)
{
	struct nameless *other;
	struct slot *slot;
	char path[128];
	int i, release;

	snprintf(path, sizeof(path), "%s/release", directory);
	release = open(path, O_WRONLY);
	begin_many();
	nameless_close(device);
	is("another client", nameless_open(device_name, O_RDWR, &other), -EBUSY);
	is("a deletion", write(release, "1", 1) < 0 ? -errno : 0, -EBUSY);
	for (i = 0; i < MANY; i++) {
		is("a write", reap(&slot), 0);
		is("its blocks", slot->io.done, slot->io.nr);
	}
	open_device(O_RDWR);
	for (i = 0; i < MANY; i++)
		is("a free", ask(&slots[i], NL_IOC_FREE), 0);
}

/* The ring goes with requests under way: each is done or not, and the device is free again. */
static void exits(void)
{
	struct nl_name names[NL_IO_MAX];
	uint32_t from = 0;
	unsigned int before;
	int n;

	open_device(O_RDWR);
	before = info.valid;
	nameless_close(device);
	begin_many();
	nameless_close(device);
	io_uring_queue_exit(&ring);
	open_device(O_RDWR);
	is("at most all of them", info.valid <= before + MANY / 2 * 21, 1);
	do
		n = nameless_list(device, &from, names, NL_IO_MAX);
	while (n > 0 && !nameless_free(device, names, n, NULL));
	is("the list", n, 0);
	is("nothing is left", valid(), 0);
}

/* Memory goes as soon as it can. */
static void unmapped(void)
{
	struct slot *mine = map(sizeof(slots));
	struct nl_name names[NL_IO_MAX];
	uint32_t from = 0;
	int i, n, res;

	open_device(O_RDWR);
	open_ring(MANY, 0);
	for (i = 0; i < MANY; i++) {
		mine[i] = *fresh(i, blocks_of(i));
		mine[i].io.names = (uintptr_t)mine[i].names;
		sqe_of(&mine[i], NL_IOC_WRITE);
	}
	submit();
	if (munmap(mine, sizeof(slots)))
		die("munmap", errno);
	for (i = 0; i < MANY; i++) {
		res = reap(NULL);
		is("a write", res == 0 || res == -EFAULT ? 0 : res, 0);
	}
	do
		n = nameless_list(device, &from, names, NL_IO_MAX);
	while (n > 0 && !nameless_free(device, names, n, NULL));
	is("the list", n, 0);
	is("nothing is left", valid(), 0);
}

static void *begin_and_leave(void *unused)
{
	(void)unused;
	begin_many();
	return NULL;
}

/* Who submitted has gone, his process has not. */
static void thread(void)
{
	struct slot *slot;
	pthread_t other;
	int i, res;

	if (pthread_create(&other, NULL, begin_and_leave, NULL) || pthread_join(other, NULL))
		die("thread", errno);
	for (i = 0; i < MANY; i++) {
		res = reap(&slot);
		is("a write", res == 0 || res == -ECANCELED ? 0 : res, 0);
		is("its blocks", slot->io.done, res ? 0 : slot->io.nr);
		if (!res)
			is("a free", nameless_free(device, slot->names, slot->io.nr, NULL), 0);
	}
	is("nothing is left", valid(), 0);
}

static void power(const char *how)
{
	char command[128];

	snprintf(command, sizeof(command), how, device_name);
	if (system(command))
		die(command, 0);
}

/* All blocks that there are, once the power is back: freed. How many. */
static unsigned int free_all(void)
{
	struct nl_name names[NL_IO_MAX];
	unsigned int freed = 0;
	uint32_t from = 0;
	int n;

	while ((n = nameless_list(device, &from, names, NL_IO_MAX)) > 0) {
		is("a listed block", nameless_free(device, names, n, NULL), 0);
		freed += n;
	}
	is("the list", n, 0);
	return freed;
}

/* The power goes under them: each is answered once, and the file and the ring go on behind it. */
static void cut(void)
{
	struct pollfd file = { .events = POLLPRI };
	unsigned int failed = 0, answers[MANY] = { 0 };
	struct io_uring_cqe *cqe;
	struct nl_move move;
	struct slot *slot;
	uint64_t cuts;
	int i, res;

	begin_many();
	cuts = info.cuts;
	power("nlctl cut %s --off");
	power("nlctl power %s on");
	for (i = 0; i < MANY; i++) {
		res = reap(&slot);
		is("a write", res == -EIO ? 0 : res, 0);
		answers[slot - slots]++;
		failed += res != 0;
	}
	for (i = 0; i < MANY; i++)
		is("answers to one", answers[i], 1);
	is("no more answers", io_uring_peek_cqe(&ring, &cqe), -EAGAIN);
	is("the power went under some", failed > 0, 1);
	file.fd = nameless_fd(device);
	is("a notice of the cut", poll(&file, 1, 60000), 1);
	is("it", file.revents & POLLPRI, POLLPRI);
	is("migrations", nameless_moves(device, &move, 1, 0), -ECONNRESET);
	is("a query", nameless_query(device, &info), 0);
	is("cuts", info.cuts, cuts + 1);
	is("migrations then", nameless_moves(device, &move, 1, 0), 0);
	is("what is valid is listed", free_all(), info.valid);
	is("a write then", ask(fresh(0, 1), NL_IOC_WRITE), 0);
	is("its block", ask(&slots[0], NL_IOC_FREE), 0);
	is("nothing is left", valid(), 0);
}

/* A request that finds no place, in a thread that goes. */
static void *find_no_place(void *unused)
{
	const struct timespec pause = { .tv_nsec = 300000000 };

	(void)unused;
	open_ring(1, 0);
	sqe_of(fresh(MANY, 1), NL_IOC_WRITE)->flags |= IOSQE_ASYNC;
	submit();
	nanosleep(&pause, NULL);
	return NULL;
}

/*
 * In a process of its own, for a ring of its own. Not this one's end is what waits, as that kills
 * the worker, but the thread's: it calls its request off by a signal that does not.
 */
static void come_and_go(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, find_no_place, NULL) || pthread_join(thread, NULL))
		die("thread", errno);
	_exit(0);
}

/* Another ring's requests wait for the flash, in all places there are: who goes does not. */
static void crowd(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct timespec begun, ended;
	int i, status;
	pid_t child;

	open_device(O_RDWR);
	open_ring(MANY, 0);
	for (i = 0; i < MANY / 2; i++)
		sqe_of(fresh(i, NL_IO_MAX), NL_IOC_WRITE)->flags |= IOSQE_ASYNC;
	submit();
	while (valid() < info.valid + 40)	/* of a second each, in four planes */
		nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	child = fork();
	if (!child)
		come_and_go();
	if (waitpid(child, &status, 0) != child || status)
		die("child", errno);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	is("it waited for the flash", ended.tv_sec - begun.tv_sec > 5, 0);
}

/* The device goes under them: what was done by then says so, all else is answered with an error. */
static void removed(const char *directory)
{
	unsigned int failed = 0;
	struct slot *slot;
	int i, res;

	begin_many();
	is("the directory goes", rmdir(directory), 0);
	for (i = 0; i < MANY; i++) {
		res = reap(&slot);
		is("a write", res == -EIO ? 0 : res, 0);
		if (!res)
			is("its blocks", slot->io.done, slot->io.nr);
		failed += res != 0;
	}
	is("the device went under some", failed > 0, 1);
	is("another one", ask(fresh(0, 1), NL_IOC_WRITE), -EIO);
	is("a read", ask(fresh(0, 1), NL_IOC_READ), -EIO);
	nameless_close(device);
}

/* How long @n writes of a block take, @depth at a time. */
static void pace(unsigned int n, unsigned int depth)
{
	struct timespec begun, ended;
	unsigned int i;
	struct slot *slot;

	open_device(O_RDWR);
	open_ring(depth, 0);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (i = 0; i < depth; i++)
		sqe_of(fresh(i, 1), NL_IOC_WRITE);
	submit();
	for (i = 0; i < n; i++) {
		is("a write", reap(&slot), 0);
		is("a free", nameless_free(device, slot->names, 1, NULL), 0);
		if (i + depth < n) {
			sqe_of(fresh(slot - slots, 1), NL_IOC_WRITE);
			submit();
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	printf("%lld\n", (ended.tv_sec - begun.tv_sec) * 1000000LL +
	       (ended.tv_nsec - begun.tv_nsec) / 1000);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } what[] = {
		{ "refused", refused }, { "kinds", kinds }, { "modes", modes },
		{ "short", short_ring }, { "links", links }, { "exits", exits },
		{ "unmapped", unmapped }, { "thread", thread }, { "unlinked", unlinked },
		{ "reuse", reuse }, { "cut", cut }, { "crowd", crowd },
	};
	unsigned int i;

	if (argc < 3)
		return 2;
	device_name = argv[1];
	alarm(120);
	info.block_bytes = 4096;	/* as the tests make them */
	data = aligned_alloc(4096, (size_t)(MANY + 1) * NL_IO_MAX * 4096);
	if (!data)
		return 2;
	if (argc == 4 && (!strcmp(argv[2], "removed") || !strcmp(argv[2], "closed"))) {
		(*argv[2] == 'r' ? removed : closed)(argv[3]);
		return 0;
	}
	if (argc == 5 && !strcmp(argv[2], "pace") && atoi(argv[4]) <= MANY) {
		pace(atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	for (i = 0; i < sizeof(what) / sizeof(*what); i++)
		if (!strcmp(argv[2], what[i].name)) {
			what[i].run();
			return 0;
		}
	return 2;
}
