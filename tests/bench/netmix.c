// SPDX-License-Identifier: GPL-2.0-only
/*
 * A load of file operations like that of the NetApp traces in Wu and Reddy: kinds of operations in the
 * proportions of their table I, requests of the mean sizes of table II. What the tables don't say is chosen here
 * and marked so. Each process has files of its own and a sequence of operations that follows from the seed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum kind {
	CREATE, CLOSE, RENAME, UNLINK, QPATHINFO, QFILEINFO, QFSINFO, SFILEINFO, FIND, WRITE, READ,
	FLUSH, KINDS
};

struct mix {
	const char *name;
	unsigned int count;
};

/* table I, "NetApp Traces" */
static const struct mix netapp[KINDS] = {
	[CREATE] = { "NTCreateX", 46614 },	[CLOSE] = { "Close", 46610 },
	[RENAME] = { "Rename", 145 },		[UNLINK] = { "Unlink", 29 },
	[QPATHINFO] = { "Qpathinfo", 99896 },	[QFILEINFO] = { "Qfileinfo", 22506 },
	[QFSINFO] = { "Qfsinfo", 37255 },	[SFILEINFO] = { "Sfileinfo", 50527 },
	[FIND] = { "Find", 34393 },		[WRITE] = { "WriteX", 47626 },
	[READ] = { "ReadX", 43044 },		[FLUSH] = { "Flush", 118 },
};

/*
 * SPECsfs 3.0 with NFS version 3, percent: LOOKUP 27, ACCESS 7 and READLINK 7 are path queries, READDIR 2 and
 * READDIRPLUS 9 are listings.  A server opens and closes nothing; what has to be opened here is so when it is needed.
 */
static const struct mix nfs[KINDS] = {
	[CREATE] = { "CREATE", 1 },		[CLOSE] = { "Close", 1 },
	[RENAME] = { "RENAME", 0 },		[UNLINK] = { "REMOVE", 1 },
	[QPATHINFO] = { "LOOKUP", 41 },		[QFILEINFO] = { "GETATTR", 11 },
	[QFSINFO] = { "FSSTAT", 1 },		[SFILEINFO] = { "SETATTR", 1 },
	[FIND] = { "READDIR", 11 },		[WRITE] = { "WRITE", 9 },
	[READ] = { "READ", 18 },		[FLUSH] = { "COMMIT", 5 },
};

static const struct mix *mix = netapp;

struct choice {
	unsigned int bytes, ppm;
};

/* The means are table II's, 18105 and 6204; how they come about is not in it. */
static const struct choice read_sizes[] = { { 4096, 532000 }, { 16384, 300000 }, { 65536, 168000 } };
static const struct choice write_sizes[] = {
	{ 1024, 99700 }, { 4096, 765000 }, { 16384, 120000 }, { 65536, 15300 }
};
/* Chosen: most files are small, most bytes in large ones; 24 MB for a process. */
static const struct choice file_sizes[] = {
	{ 4096, 400000 }, { 16384, 250000 }, { 65536, 200000 }, { 262144, 100000 }, { 1048576, 50000 }
};

#define DIRS		8
#define FILES		256
#define HANDLES		8
#define LARGEST		65536
#define SEQUENTIAL	70	/* percent of requests that continue where the last one ended; chosen */
#define APPEND		20	/* percent of writes at the end of the file; chosen */
#define MISSING		10	/* percent of path queries for a name that isn't there; chosen */
#define PHASES		16
#define PROCESSES	64
#define BUCKETS		(64 * 8)

struct histogram {
	_Atomic uint32_t n[BUCKETS];
};

struct numbers {
	_Atomic uint64_t ops[KINDS], ns[KINDS], bytes[2];
	struct histogram all, data;
};

/* Seen by all processes. */
struct shared {
	_Atomic int phase;	/* -1: end */
	struct numbers numbers[PHASES];
};

struct file {
	unsigned int nominal;	/* size when it was made */
	uint64_t size;
	bool there, renamed;
};

struct handle {
	int fd, file;		/* fd -1: free */
	uint64_t at;
};

struct process {
	struct shared *shared;
	const char *top;
	unsigned int number;
	uint64_t random;
	struct file files[FILES];
	struct handle handles[HANDLES];
	unsigned int early_creates, early_closes;
	char *buffer;
};

struct phase {
	unsigned int processes;
	double seconds;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* splitmix64 */
static uint64_t draw(struct process *p)
{
	uint64_t z = p->random += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static unsigned int below(struct process *p, unsigned int n)
{
	return draw(p) % n;
}

static bool percent(struct process *p, unsigned int n)
{
	return below(p, 100) < n;
}

static unsigned int choose(struct process *p, const struct choice *from, unsigned int n)
{
	unsigned int x = below(p, 1000000), i;

	for (i = 0; i < n - 1 && x >= from[i].ppm; i++)
		x -= from[i].ppm;
	return from[i].bytes;
}

#define CHOOSE(p, from) choose(p, from, sizeof(from) / sizeof((from)[0]))

static enum kind choose_kind(struct process *p)
{
	static unsigned int total;
	unsigned int x;
	enum kind k;

	if (!total)
		for (k = 0; k < KINDS; k++)
			total += mix[k].count;
	x = below(p, total);
	for (k = 0; x >= mix[k].count; k++)
		x -= mix[k].count;
	return k;
}

/* --- histograms: eight buckets for each power of two --- */

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int top;

	if (ns < 8)
		return ns;
	top = 63 - __builtin_clzll(ns);
	return top * 8 + ((ns >> (top - 3)) & 7);
}

static double bucket_ns(unsigned int b)
{
	return b < 8 ? b : (8 + b % 8 + 0.5) * (double)(1ull << (b / 8 - 3));
}

static double percentile(const struct histogram *h, double part)
{
	uint64_t total = 0, sum = 0;
	unsigned int b;

	for (b = 0; b < BUCKETS; b++)
		total += h->n[b];
	for (b = 0; b < BUCKETS; b++) {
		sum += h->n[b];
		if (sum && sum >= part * total)
			return bucket_ns(b);
	}
	return 0;
}

/* --- files --- */

static void dir_name(struct process *p, unsigned int file, char *path, size_t size)
{
	snprintf(path, size, "%s/p%02u/d%u", p->top, p->number, file % DIRS);
}

static void file_name(struct process *p, unsigned int file, bool renamed, char *path, size_t size)
{
	snprintf(path, size, "%s/p%02u/d%u/file%03u.%c", p->top, p->number, file % DIRS, file, renamed ? 'b' : 'a');
}

static void draw_sizes(struct process *p)
{
	for (int i = 0; i < FILES; i++)
		p->files[i].nominal = CHOOSE(p, file_sizes);
	p->files[0].nominal = 1048576;	/* there is one for every request */
}

static void make_files(struct process *p)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/p%02u", p->top, p->number);
	if (mkdir(path, 0755))
		err(1, "%s", path);
	for (unsigned int i = 0; i < DIRS; i++) {
		dir_name(p, i, path, sizeof(path));
		if (mkdir(path, 0755))
			err(1, "%s", path);
	}
	for (unsigned int i = 0; i < FILES; i++) {
		file_name(p, i, false, path, sizeof(path));
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (fd < 0)
			err(1, "%s", path);
		for (unsigned int at = 0; at < p->files[i].nominal; at += 4096)
			if (write(fd, p->buffer, 4096) != 4096)
				err(1, "%s", path);
		close(fd);
	}
}

static void find_files(struct process *p)
{
	char path[4096];
	struct stat st;

	for (unsigned int i = 0; i < FILES; i++) {
		struct file *f = &p->files[i];

		for (int renamed = 0; renamed < 2 && !f->there; renamed++) {
			file_name(p, i, renamed, path, sizeof(path));
			if (stat(path, &st))
				continue;
			*f = (struct file){ .nominal = f->nominal, .size = st.st_size,
					    .there = true, .renamed = renamed };
		}
	}
}

/* --- operations --- */

static void open_file(struct process *p, unsigned int file)
{
	struct file *f = &p->files[file];
	struct handle *h;
	char path[4096];

	for (h = p->handles; h->fd >= 0; h++)
		;
	file_name(p, file, f->renamed, path, sizeof(path));
	h->fd = open(path, O_RDWR | O_CREAT, 0644);
	if (h->fd < 0)
		err(1, "%s", path);
	if (!f->there)
		*f = (struct file){ .nominal = f->nominal, .there = true, .renamed = f->renamed };
	h->file = file;
	h->at = 0;
}

static void close_handle(struct process *p, int h)
{
	if (close(p->handles[h].fd))
		err(1, "close");
	p->handles[h].fd = -1;
}

static bool big_enough(const struct process *p, unsigned int file, uint64_t bytes)
{
	return p->files[file].there && p->files[file].size >= bytes;
}

static int opened(const struct process *p)
{
	int n = 0;

	for (int i = 0; i < HANDLES; i++)
		n += p->handles[i].fd >= 0;
	return n;
}

static void do_close(struct process *p)
{
	int i;

	do
		i = below(p, HANDLES);
	while (p->handles[i].fd < 0);
	close_handle(p, i);
}

/* Of a file with so many bytes; of one that was unlinked, which comes back, if any will do. */
static void do_create(struct process *p, uint64_t bytes)
{
	unsigned int start = below(p, FILES), i;

	for (i = 0; !bytes && i < FILES; i++) {
		if (!p->files[i].there) {
			open_file(p, i);
			return;
		}
	}
	for (i = 0; i < FILES; i++) {
		if (big_enough(p, (start + i) % FILES, bytes)) {
			open_file(p, (start + i) % FILES);
			return;
		}
	}
	errx(1, "no file has %llu bytes", (unsigned long long)bytes);
}

static struct handle *find_handle(struct process *p, uint64_t bytes)
{
	unsigned int start = below(p, HANDLES);

	for (unsigned int i = 0; i < HANDLES; i++) {
		struct handle *h = &p->handles[(start + i) % HANDLES];

		if (h->fd >= 0 && big_enough(p, h->file, bytes))
			return h;
	}
	return NULL;
}

static uint64_t position(struct process *p, struct handle *h, unsigned int bytes)
{
	uint64_t size = p->files[h->file].size;

	if (h->at + bytes <= size && percent(p, SEQUENTIAL))
		return h->at;
	return (draw(p) % (size - bytes + 1)) & ~4095ull;
}

static void do_read(struct process *p, struct handle *h, unsigned int bytes)
{
	uint64_t at = position(p, h, bytes);

	if (pread(h->fd, p->buffer, bytes, at) != bytes)
		err(1, "read");
	h->at = at + bytes;
}

static void do_write(struct process *p, struct handle *h, unsigned int bytes)
{
	struct file *f = &p->files[h->file];
	uint64_t at;

	if (percent(p, APPEND) && f->size < f->nominal + LARGEST)
		at = f->size;
	else
		at = position(p, h, bytes);
	if (pwrite(h->fd, p->buffer, bytes, at) != bytes)
		err(1, "write");
	h->at = at + bytes;
	if (h->at > f->size)
		f->size = h->at;
}

static void do_sfileinfo(struct process *p, struct handle *h)
{
	struct file *f = &p->files[h->file];

	if (f->size <= f->nominal) {
		if (futimens(h->fd, NULL))
			err(1, "futimens");
		return;
	}
	if (ftruncate(h->fd, f->nominal))
		err(1, "ftruncate");
	f->size = f->nominal;
}

static void do_rename(struct process *p)
{
	unsigned int file = below(p, FILES);
	struct file *f = &p->files[file];
	char from[4096], to[4096];

	if (!f->there)
		return;
	file_name(p, file, f->renamed, from, sizeof(from));
	file_name(p, file, !f->renamed, to, sizeof(to));
	if (rename(from, to))
		err(1, "%s", to);
	f->renamed = !f->renamed;
}

static void do_unlink(struct process *p)
{
	unsigned int file = 1 + below(p, FILES - 1);
	struct file *f = &p->files[file];
	char path[4096];

	for (int i = 0; i < HANDLES; i++)
		if (p->handles[i].fd >= 0 && p->handles[i].file == (int)file)
			close_handle(p, i);
	if (!f->there)
		return;
	file_name(p, file, f->renamed, path, sizeof(path));
	if (unlink(path))
		err(1, "%s", path);
	f->there = false;
}

static void do_qpathinfo(struct process *p)
{
	unsigned int file = below(p, FILES);
	bool missing = percent(p, MISSING);
	char path[4096];
	struct stat st;

	file_name(p, file, p->files[file].renamed ^ missing, path, sizeof(path));
	if (stat(path, &st) && errno != ENOENT)
		err(1, "%s", path);
}

static void do_find(struct process *p)
{
	char path[4096];
	DIR *d;

	dir_name(p, below(p, DIRS), path, sizeof(path));
	d = opendir(path);
	if (!d)
		err(1, "%s", path);
	while (readdir(d))
		;
	closedir(d);
}

static void operate(struct process *p, enum kind kind, struct handle *h, unsigned int bytes)
{
	struct statvfs fs;
	struct stat st;
	int ret = 0;

	switch (kind) {
	case CREATE:
		do_create(p, bytes);
		break;
	case CLOSE:
		do_close(p);
		break;
	case RENAME:
		do_rename(p);
		break;
	case UNLINK:
		do_unlink(p);
		break;
	case QPATHINFO:
		do_qpathinfo(p);
		break;
	case QFILEINFO:
		ret = fstat(h->fd, &st);
		break;
	case QFSINFO:
		ret = statvfs(p->top, &fs);
		break;
	case SFILEINFO:
		do_sfileinfo(p, h);
		break;
	case FIND:
		do_find(p);
		break;
	case WRITE:
		do_write(p, h, bytes);
		break;
	case READ:
		do_read(p, h, bytes);
		break;
	case FLUSH:
		ret = fsync(h->fd);
		break;
	case KINDS:
		break;
	}
	if (ret)
		err(1, "%s", mix[kind].name);
}

static void count(struct numbers *n, enum kind kind, uint64_t ns, unsigned int bytes)
{
	atomic_fetch_add_explicit(&n->ops[kind], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&n->ns[kind], ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&n->all.n[bucket_of(ns)], 1, memory_order_relaxed);
	if (kind != READ && kind != WRITE)
		return;
	atomic_fetch_add_explicit(&n->bytes[kind == WRITE], bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&n->data.n[bucket_of(ns)], 1, memory_order_relaxed);
}

static void perform(struct process *p, int phase, enum kind kind, struct handle *h, unsigned int bytes)
{
	uint64_t begin = now_ns();

	operate(p, kind, h, bytes);
	count(&p->shared->numbers[phase], kind, now_ns() - begin, bytes);
}

/* What is done before its turn because something needs it is left out when its turn comes: proportions stay. */
static void make_room(struct process *p, int phase)
{
	if (opened(p) < HANDLES)
		return;
	perform(p, phase, CLOSE, NULL, 0);
	p->early_closes++;
}

static struct handle *need_handle(struct process *p, int phase, unsigned int bytes)
{
	struct handle *h = find_handle(p, bytes);

	if (h)
		return h;
	make_room(p, phase);
	perform(p, phase, CREATE, NULL, bytes);
	p->early_creates++;
	return find_handle(p, bytes);
}

static void turn(struct process *p, int phase, enum kind kind)
{
	unsigned int bytes = kind == READ ? CHOOSE(p, read_sizes) : kind == WRITE ? CHOOSE(p, write_sizes) : 0;
	struct handle *h = NULL;

	if (kind == CREATE && p->early_creates) {
		p->early_creates--;
		return;
	}
	if (kind == CLOSE && p->early_closes) {
		p->early_closes--;
		return;
	}
	if (kind == CREATE)
		make_room(p, phase);
	else if (kind == CLOSE || kind == QFILEINFO || kind == SFILEINFO || kind == WRITE || kind == READ ||
		 kind == FLUSH)
		h = need_handle(p, phase, bytes);
	perform(p, phase, kind, h, bytes);
}

static void run_process(struct process *p)
{
	int phase;

	find_files(p);
	while ((phase = p->shared->phase) >= 0)
		turn(p, phase, choose_kind(p));
	_exit(0);
}

/* --- all of them --- */

static struct process *new_process(struct shared *shared, const char *top, unsigned int number, uint64_t seed)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		err(1, "memory");
	p->buffer = malloc(LARGEST);
	if (!p->buffer)
		err(1, "memory");
	memset(p->buffer, 0x5a, LARGEST);
	p->shared = shared;
	p->top = top;
	p->number = number;
	p->random = seed * 1000003 + number;
	for (int i = 0; i < HANDLES; i++)
		p->handles[i].fd = -1;
	draw_sizes(p);
	return p;
}

struct total {
	uint64_t ops, ns, bytes;
};

static struct total total_of(const struct shared *shared, int phases)
{
	struct total t = { 0 };

	for (int i = 0; i < phases; i++) {
		const struct numbers *n = &shared->numbers[i];

		for (int k = 0; k < KINDS; k++) {
			t.ops += n->ops[k];
			t.ns += n->ns[k];
		}
		t.bytes += n->bytes[0] + n->bytes[1];
	}
	return t;
}

static void print_interval(double seconds, const struct total *last, const struct total *now, double length)
{
	uint64_t ops = now->ops - last->ops;

	printf("{\"t\": %.3f, \"iops\": %.1f, \"mbps\": %.3f, \"mean_ms\": %.4f}", seconds, ops / length,
	       (now->bytes - last->bytes) / length / 1e6, ops ? (now->ns - last->ns) / 1e6 / ops : 0);
}

static void print_phase(const struct numbers *n, const struct phase *phase)
{
	uint64_t ops = 0, ns = 0, data = n->ops[READ] + n->ops[WRITE];

	for (int k = 0; k < KINDS; k++) {
		ops += n->ops[k];
		ns += n->ns[k];
	}
	printf("{\"processes\": %u, \"seconds\": %.3f, \"ops\": %llu, \"iops\": %.2f, \"mbps\": %.4f, ",
	       phase->processes, phase->seconds, (unsigned long long)ops, ops / phase->seconds,
	       (n->bytes[0] + n->bytes[1]) / phase->seconds / 1e6);
	printf("\"mean_ms\": %.5f, \"p99_ms\": %.5f, \"data_mean_ms\": %.5f, \"data_p99_ms\": %.5f, ",
	       ops ? ns / 1e6 / ops : 0, percentile(&n->all, .99) / 1e6,
	       data ? (n->ns[READ] + n->ns[WRITE]) / 1e6 / data : 0, percentile(&n->data, .99) / 1e6);
	printf("\"read_bytes\": %.0f, \"write_bytes\": %.0f, \"kinds\": {",
	       n->ops[READ] ? (double)n->bytes[0] / n->ops[READ] : 0,
	       n->ops[WRITE] ? (double)n->bytes[1] / n->ops[WRITE] : 0);
	for (int k = 0; k < KINDS; k++)
		printf("%s\"%s\": [%llu, %.5f]", k ? ", " : "", mix[k].name, (unsigned long long)n->ops[k],
		       n->ops[k] ? n->ns[k] / 1e6 / n->ops[k] : 0);
	printf("}}");
}

static int parse_phases(char *text, struct phase *phases)
{
	char *part, *save;
	int n = 0;

	for (part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save), n++) {
		struct phase *ph = &phases[n];

		if (n == PHASES || sscanf(part, "%u:%lf", &ph->processes, &ph->seconds) != 2 ||
		    !ph->processes || ph->processes > PROCESSES || ph->seconds <= 0 ||
		    (n && ph->processes < phases[n - 1].processes))
			errx(2, "phases are PROCESSES:SECONDS,..., not less processes than before: %s", part);
	}
	return n;
}

static void set_up(struct process **all, unsigned int processes)
{
	for (unsigned int i = 0; i < processes; i++)
		make_files(all[i]);
	sync();
}

static void run_all(struct process **all, struct shared *shared, const struct phase *phases, int n, double interval)
{
	struct total last = { 0 }, now;
	uint64_t begin = now_ns(), end = begin, next;
	unsigned int started = 0;
	bool first = true;
	int status;

	printf("{\"series\": [");
	for (int i = 0; i < n; i++) {
		shared->phase = i;
		fflush(stdout);
		for (; started < phases[i].processes; started++) {
			pid_t pid = fork();

			if (pid < 0)
				err(1, "fork");
			if (!pid)
				run_process(all[started]);
		}
		end += phases[i].seconds * 1e9;
		for (next = now_ns(); next < end && interval; ) {
			uint64_t from = next;

			next += interval * 1e9;
			if (next > end)
				next = end;
			sleep_until(next);
			now = total_of(shared, n);
			printf("%s", first ? "" : ",\n ");
			print_interval((next - begin) / 1e9, &last, &now, (next - from) / 1e9);
			last = now;
			first = false;
		}
		sleep_until(end);
	}
	shared->phase = -1;
	while (wait(&status) > 0)
		if (status)
			errx(1, "a process failed");
	printf("],\n\"phases\": [");
	for (int i = 0; i < n; i++) {
		printf("%s", i ? ",\n " : "");
		print_phase(&shared->numbers[i], &phases[i]);
	}
	printf("]}\n");
}

static const char usage[] =
	"usage: netmix --directory DIR --setup PROCESSES [--seed N]\n"
	"       netmix --directory DIR --phases PROCESSES:SECONDS,... [--interval SECONDS] [--seed N] [--mix NAME]\n"
	"\n"
	"A load of file operations like a NetApp server's, after tables I and II of Wu and Reddy: first --setup makes\n"
	"the files of each process (24 MB), then phases follow one after the other. Prints JSON: for each phase\n"
	"operations a second, MB/s, mean and 99th percentile of the time of an operation and of reads and writes (data);\n"
	"for each --interval the same in a series. --seed (1) decides what is done, in which order. --mix nfs: operations in\n"
	"the proportions of SPECsfs 3.0, version 3 of NFS, instead.\n";

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "directory", required_argument, NULL, 'd' },	{ "setup", required_argument, NULL, 'S' },
		{ "phases", required_argument, NULL, 'p' },	{ "interval", required_argument, NULL, 'i' },
		{ "seed", required_argument, NULL, 's' },	{ "mix", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' }, { }
	};
	struct phase phases[PHASES];
	struct process *all[PROCESSES];
	const char *top = NULL;
	double interval = 0;
	unsigned int setup = 0, processes;
	uint64_t seed = 1;
	struct shared *shared;
	int c, n = 0;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			top = optarg;
			break;
		case 'S':
			setup = atoi(optarg);
			break;
		case 'p':
			n = parse_phases(optarg, phases);
			break;
		case 'i':
			interval = atof(optarg);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			if (strcmp(optarg, "netapp") && strcmp(optarg, "nfs"))
				errx(2, "--mix takes netapp or nfs");
			mix = strcmp(optarg, "nfs") ? netapp : nfs;
			break;
		case 'h':
			printf("%s", usage);
			return 0;
		default:
			return 2;
		}
	}
	if (!top || !setup == !n || setup > PROCESSES) {
		fprintf(stderr, "%s", usage);
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "memory");
	processes = setup ? setup : phases[n - 1].processes;
	for (unsigned int i = 0; i < processes; i++)
		all[i] = new_process(shared, top, i, seed);
	if (setup)
		set_up(all, setup);
	else
		run_all(all, shared, phases, n, interval);
	return 0;
}
