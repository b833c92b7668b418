// SPDX-License-Identifier: GPL-2.0-only
/* Many requests at a time, through the kernel's asynchronous I/O. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emudisk.h"

#define BIGGEST		65536u
#define AREA		(4u << 20)	/* written and read back */
#define DISK		(16u << 20)	/* churned */
#define VERIFY_DEPTH	8u
#define CHURN_DEPTH	16u
#define MOST_THREADS	8u

struct request {
	struct iocb cb;
	unsigned char *data;
	uint32_t at, len;
};

struct job {
	const struct load *load;
	unsigned int number, depth, idle, nr_pieces;
	int fd;
	aio_context_t context;
	struct request request[CHURN_DEPTH], *free[CHURN_DEPTH];
	struct { uint32_t at, len; } *piece;
	uint64_t random;
	pthread_t thread;
	const char *what;		/* went wrong, with errno */
	int error;
};

static struct job job[MOST_THREADS];
static unsigned int nr_jobs;

/* So many bytes a thread may churn by now; what is left waits for the next cut. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	uint64_t bytes;
} allowed = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

static uint64_t rnd(struct job *j, uint64_t below)
{
	return mix(j->random++) % below;
}

static bool failed(struct job *j, const char *what, int error)
{
	if (!j->what) {
		j->what = what;
		j->error = error;
	}
	return false;
}

static bool begin(struct job *j)
{
	j->fd = disk_open(j->load->name, O_RDWR);
	if (j->fd < 0 || syscall(SYS_io_setup, j->depth, &j->context))
		return failed(j, "starting", errno);
	for (j->idle = 0; j->idle < j->depth; j->idle++) {
		j->free[j->idle] = &j->request[j->idle];
		j->request[j->idle].data = buffer(BIGGEST);
	}
	return true;
}

static void end(struct job *j)
{
	if (j->context)
		syscall(SYS_io_destroy, j->context);
	if (j->fd >= 0)
		close(j->fd);
	for (unsigned int i = 0; i < j->depth; i++)
		free(j->request[i].data);
	free(j->piece);
}

static bool submit(struct job *j, int op, uint32_t at, uint32_t len)
{
	struct request *r = j->free[--j->idle];
	struct iocb *cb = &r->cb;

	memset(cb, 0, sizeof(*cb));
	r->at = at;
	r->len = len;
	cb->aio_data = (uintptr_t)r;
	cb->aio_fildes = j->fd;
	cb->aio_lio_opcode = op;
	cb->aio_buf = (uintptr_t)r->data;
	cb->aio_nbytes = len;
	cb->aio_offset = at;
	if (syscall(SYS_io_submit, j->context, 1, &cb) == 1)
		return true;
	j->idle++;
	return failed(j, "submitting", errno);
}

/* The next that is done; *result: bytes or a negative errno. */
static struct request *reap(struct job *j, long long *result)
{
	struct io_event event;
	struct request *r;
	long n;

	do {
		n = syscall(SYS_io_getevents, j->context, 1, 1, &event, NULL);
	} while (n < 0 && errno == EINTR);
	if (n != 1) {
		failed(j, "waiting", errno);
		return NULL;
	}
	r = (void *)(uintptr_t)event.data;
	j->free[j->idle++] = r;
	*result = event.res;
	return r;
}

/* What is written to a place is told by the seed, the disk and the place. */
static uint64_t pattern(const struct job *j, uint64_t at)
{
	return mix(seed + ((uint64_t)j->load->number << 48) + at);
}

static void fill(const struct job *j, unsigned char *data, uint32_t at, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 8)
		*(uint64_t *)(data + i) = pattern(j, at + i);
}

static bool is_there(const struct job *j, const struct request *r)
{
	for (uint32_t i = 0; i < r->len; i += 8)
		if (*(uint64_t *)(r->data + i) != pattern(j, r->at + i))
			return false;
	return true;
}

/* The area in pieces of all sizes, in any order. */
static void cut_up(struct job *j)
{
	uint32_t at = 0;

	j->piece = calloc(AREA / j->load->lbs, sizeof(*j->piece));
	if (!j->piece)
		abort();
	while (at < AREA) {
		uint32_t len = (1 + rnd(j, BIGGEST / j->load->lbs)) * j->load->lbs;

		j->piece[j->nr_pieces].at = at;
		j->piece[j->nr_pieces++].len = len < AREA - at ? len : AREA - at;
		at += len;
	}
	for (unsigned int i = j->nr_pieces - 1; i; i--) {
		unsigned int other = rnd(j, i + 1);
		__typeof__(*j->piece) one = j->piece[i];

		j->piece[i] = j->piece[other];
		j->piece[other] = one;
	}
}

static bool reap_whole(struct job *j, int op)
{
	long long result;
	struct request *r = reap(j, &result);

	if (!r)
		return false;
	if (result != r->len)
		return failed(j, op == IOCB_CMD_PREAD ? "reading" : "writing", result < 0 ? -result : EIO);
	if (op == IOCB_CMD_PREAD && !is_there(j, r))
		return failed(j, "comparing", EILSEQ);
	return true;
}

static bool sweep(struct job *j, int op)
{
	for (unsigned int i = 0; i < j->nr_pieces; i++) {
		if (!j->idle && !reap_whole(j, op))
			return false;
		if (op == IOCB_CMD_PWRITE)
			fill(j, j->free[j->idle - 1]->data, j->piece[i].at, j->piece[i].len);
		else
			memset(j->free[j->idle - 1]->data, 0, j->piece[i].len);
		if (!submit(j, op, j->piece[i].at, j->piece[i].len))
			return false;
	}
	while (j->idle < j->depth)
		if (!reap_whole(j, op))
			return false;
	return true;
}

static void *write_and_read(void *arg)
{
	struct job *j = arg;

	cut_up(j);
	if (begin(j) && sweep(j, IOCB_CMD_PWRITE))
		sweep(j, IOCB_CMD_PREAD);
	end(j);
	return NULL;
}

static void churn_one(struct job *j, unsigned int *writes)
{
	uint32_t len = (1 + rnd(j, BIGGEST / j->load->lbs)) * j->load->lbs;
	uint32_t at = rnd(j, (DISK - len) / j->load->lbs + 1) * j->load->lbs;
	bool read = rnd(j, 2);

	submit(j, read ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE, at, len);
	if (!read && ++*writes % 8 == 0)
		fsync(j->fd);		/* may fail, as may all the others */
}

/* How many bytes its request had; it may have failed. */
static uint32_t reap_churned(struct job *j)
{
	long long result;
	struct request *r = reap(j, &result);

	return r ? r->len : 0;
}

static void wait_for_more(uint64_t bytes)
{
	pthread_mutex_lock(&allowed.lock);
	while (bytes >= allowed.bytes)
		pthread_cond_wait(&allowed.more, &allowed.lock);
	pthread_mutex_unlock(&allowed.lock);
}

static void *churn(void *arg)
{
	uint64_t bytes = 0;
	unsigned int writes = 0;
	struct job *j = arg;

	if (begin(j)) {
		while (!j->what && bytes < AREA) {
			wait_for_more(bytes);
			while (j->idle && !j->what)
				churn_one(j, &writes);
			while (!j->what && j->idle < j->depth / 2)
				bytes += reap_churned(j);
		}
		while (!j->what && j->idle < j->depth)
			reap_churned(j);
	}
	end(j);
	return NULL;
}

static bool start_jobs(const struct load *load, unsigned int nr, unsigned int each, unsigned int depth,
		       void *(*run)(void *))
{
	memset(job, 0, sizeof(job));
	for (nr_jobs = 0; nr_jobs < nr * each; nr_jobs++) {
		struct job *j = &job[nr_jobs];

		j->load = &load[nr_jobs / each];
		j->number = nr_jobs;
		j->depth = depth;
		j->random = mix(seed + nr_jobs);
		if (pthread_create(&j->thread, NULL, run, j))
			abort();
	}
	return true;
}

static bool end_jobs(void)
{
	bool good = true;

	for (unsigned int i = 0; i < nr_jobs; i++) {
		pthread_join(job[i].thread, NULL);
		if (job[i].what)
			good = wrong("%s: %s: %s", job[i].load->name, job[i].what, strerror(job[i].error));
	}
	return good;
}

bool queued_load(const struct load *load, unsigned int nr)
{
	return start_jobs(load, nr, 1, VERIFY_DEPTH, write_and_read) && end_jobs();
}

bool churn_begin(const struct load *load, unsigned int nr)
{
	allowed.bytes = 0;
	return start_jobs(load, nr, 2, CHURN_DEPTH, churn);
}

void churn_more(unsigned int percent)
{
	pthread_mutex_lock(&allowed.lock);
	allowed.bytes = (uint64_t)AREA * percent / 100;
	pthread_cond_broadcast(&allowed.more);
	pthread_mutex_unlock(&allowed.lock);
}

bool churn_end(void)
{
	churn_more(100);
	return end_jobs();
}
