// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem2mctl configured: what a file asks for on a pmem device that appeared, with nobody to see it.
 * The first byte says what fails, the second what there is already of the name that files have most
 * often; the rest is the file. What is made must be what its line says and never anything more,
 * what is there stays, and a line that is none, or could not be done, is told by the status.
 */
#include <linux/errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <evenkeel/name.h>

#include "fuzz.h"
#include "mem2mctl.h"
#include "wide.h"
#include "words.h"

#define HEAD		2u
#define MOST		128u	/* devices */
#define NAME_MOST	25u
#define NO_SETUP	0x1
#define MEMORY_BUSY	0x2
#define UNREADABLE	0x4

#define FILE_NAME	"mem2m.conf"
#define OURS		"/dev/pmem0"
#define LINK		"/dev/disk/ours"
#define OTHER		"/dev/pmem1"
#define OUR_NAME	"later"

enum state { EMPTY, LIVE, CHANGING, GONE_IDLE, GONE_OPEN };

struct made {
	char name[NAME_MOST + 1], beneath[16];
	enum state state;
	unsigned __int128 bytes;
};

struct devices {
	struct made dev[MOST];
	unsigned int nr;
};

static struct devices now;
static bool running;	/* and not the fuzzer, which has a corpus to open */
static uint8_t fails;
static const uint8_t *file;
static size_t file_len;
static const char *locked;
static unsigned int changes;

static struct made *find(struct devices *d, const char *name)
{
	unsigned int i;

	for (i = 0; i < d->nr; i++)
		if (!strcmp(d->dev[i].name, name))
			return &d->dev[i];
	return NULL;
}

static struct made *add(struct devices *d, const char *name, enum state state, const char *beneath)
{
	struct made *dev = &d->dev[d->nr++];

	MUST(d->nr <= MOST && strlen(name) <= NAME_MOST && strlen(beneath) < sizeof(dev->beneath));
	memset(dev, 0, sizeof(*dev));
	strcpy(dev->name, name);
	strcpy(dev->beneath, beneath);
	dev->state = state;
	return dev;
}

static void drop(struct devices *d, struct made *dev)
{
	*dev = d->dev[--d->nr];
	memset(&d->dev[d->nr], 0, sizeof(*dev));
}

static bool may_be_name(const char *name)
{
	return *name && ek_name_ok(name, NAME_MOST);
}

static bool may_be_size(const char *text, unsigned __int128 *bytes)
{
	return wide_size(text, bytes) && *bytes && !(*bytes % 4096) &&
	       *bytes <= (unsigned __int128)1 << 50;
}

/* ---- the machine, as the tool meets it ---- */

static ssize_t read_nothing(void *cookie, char *text, size_t size)
{
	errno = EIO;
	return -1;
}

static const cookie_io_functions_t unreadable = { .read = read_nothing };

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (!running)
		return __real_fopen(path, mode);
	MUST(!strcmp(path, FILE_NAME));
	return fails & UNREADABLE ? fopencookie(NULL, mode, unreadable) :
	       fmemopen((void *)file, file_len, mode);
}

int __real_stat(const char *path, struct stat *st);
int __wrap_stat(const char *path, struct stat *st);
int __wrap_stat(const char *path, struct stat *st)
{
	if (!running)
		return __real_stat(path, st);
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFBLK;
	if (!strcmp(path, OURS) || !strcmp(path, LINK))
		st->st_rdev = makedev(259, 0);
	else if (!strcmp(path, OTHER))
		st->st_rdev = makedev(259, 1);
	else
		return -1;
	return 0;
}

int complain(const char *fmt, ...)
{
	char *text;
	va_list args;

	va_start(args, fmt);
	MUST(vasprintf(&text, fmt, args) > 0);
	va_end(args);
	MUST(!strstr(text, "; --force "), "%s", text);
	free(text);
	return EXIT_FAILED;
}

int usage(void)
{
	abort();
}

int setup_within(long patience_ms)
{
	return fails & NO_SETUP ? complain("no configfs") : 0;
}

void device_lock(const char *name)
{
	MUST(!locked);
	locked = name;
}

void device_unlock(const char *name)
{
	MUST(locked == name);
	locked = NULL;
}

/* Of a device by that name, which is locked, or there is no telling what becomes of it. */
static struct made *locked_one(const char *name)
{
	MUST(locked && !strcmp(locked, name));
	changes++;
	return find(&now, name);
}

char *attr_read(const char *name, const char *attr)
{
	static const char *const state[] = { "empty", "live", "making", "live", "live" };
	const struct made *dev = find(&now, name);
	char *text;

	MUST(!strcmp(attr, "info"));
	if (!dev)
		return NULL;
	MUST(asprintf(&text, "state %s\ngone %u\nbeneath %s\n", state[dev->state],
		      dev->state >= GONE_IDLE, dev->beneath) > 0);
	return text;
}

int device_dir_make(const char *name, bool *made)
{
	const struct made *dev = locked_one(name);

	*made = !dev && may_be_name(name);
	if (*made)
		add(&now, name, EMPTY, "");
	return *made || (dev && dev->state == EMPTY) ? EXIT_OK : complain("%s: no", name);
}

int device_dir_remove(const char *name)
{
	struct made *dev = locked_one(name);

	MUST(dev && dev->state == EMPTY);
	drop(&now, dev);
	return EXIT_OK;
}

int attr_write_patiently(const char *name, const char *attr, const char *text)
{
	struct made *dev = locked_one(name);

	MUST(!strcmp(attr, "release") && !strcmp(text, "1") && dev && dev->state >= GONE_IDLE);
	if (dev->state == GONE_OPEN)
		return EBUSY;
	dev->state = EMPTY;
	return 0;
}

/* The module's own reader says what it was asked for. */
int attr_write_waiting(const char *name, const char *attr, const char *text, bool patient,
		       bool progress)
{
	struct made *dev = locked_one(name);
	char *error = malloc(M2_ERROR_LEN), *copy = strdup(text);
	struct m2_settings s;
	int err;

	MUST(!strcmp(attr, "create") && !progress && dev && dev->state == EMPTY);
	err = m2_words_create(&s, copy, error) ? EINVAL : fails & MEMORY_BUSY ? EBUSY : 0;
	if (!err) {
		MUST(s.dax && !s.force && !s.has_phys && strlen(s.dax) < sizeof(dev->beneath));
		dev->state = LIVE;
		dev->bytes = s.bytes;
		strcpy(dev->beneath, s.dax);
	}
	free(copy);
	free(error);
	return err;
}

char *attr_error(const char *name, int err)
{
	return strdup("pmem0: isn't blank and has no label; --force overwrites it");
}

void owner_of_device(const char *path, char *text, size_t size)
{
	snprintf(text, size, "by mem2m other");
}

void owner_of_range(uint64_t start, uint64_t bytes, char *text, size_t size)
{
	abort();
}

int attr_explain(const char *name, int err)
{
	abort();
}

int cmd_delete(int argc, char **argv)
{
	abort();
}

int cmd_list(int argc, char **argv)
{
	abort();
}

int devices_main(int argc, char **argv)
{
	abort();
}

/* ---- what is to come of it ---- */

/* Its words between blanks, up to a comment: their number, of which @most are kept. */
static unsigned int words_of(char *line, char **word, unsigned int most)
{
	unsigned int nr = 0;

	for (;; nr++) {
		while (*line == ' ' || *line == '\t')
			*line++ = 0;
		if (!*line || *line == '#')
			break;
		if (nr < most)
			word[nr] = line;
		while (*line && *line != ' ' && *line != '\t' && *line != '#')
			line++;
	}
	*line = 0;
	return nr;
}

static bool create(struct devices *d, char **word)
{
	struct made *dev = find(d, word[0]);
	unsigned __int128 bytes;

	if (fails & MEMORY_BUSY || !may_be_name(word[0]) || !may_be_size(word[1], &bytes))
		return false;
	if (!dev)
		dev = add(d, word[0], LIVE, "");
	dev->state = LIVE;
	dev->bytes = bytes;
	strcpy(dev->beneath, word[3]);
	return true;
}

static bool ask(struct devices *d, char **word)
{
	struct made *dev = find(d, word[0]);

	if (fails & NO_SETUP)
		return false;
	if (dev && dev->state == LIVE)
		return strcmp(dev->beneath, OTHER);
	if (dev && dev->state == CHANGING)
		return true;
	if (dev && dev->state == GONE_OPEN)
		return false;
	if (dev && dev->state == GONE_IDLE)
		drop(d, dev);
	return create(d, word);
}

/* One line, @whole: there is no NUL in it. */
static bool ask_line(struct devices *d, char *line, bool whole)
{
	unsigned int nr;
	char *word[4];

	if (!whole)
		return false;
	nr = words_of(line, word, 4);
	if (!nr)
		return true;
	if (nr != 4 || strcmp(word[2], "--dax"))
		return false;
	return (strcmp(word[3], OURS) && strcmp(word[3], LINK)) || ask(d, word);
}

static bool expect(struct devices *d)
{
	const uint8_t *at = file, *end = file + file_len, *nl;
	bool ok = true;
	char *line;

	if (fails & UNREADABLE)
		return false;
	for (; at < end; at = nl + 1) {
		nl = memchr(at, '\n', end - at);
		nl = nl ? nl : end;
		line = fuzz_string(at, nl - at);
		ok &= ask_line(d, line, strlen(line) == (size_t)(nl - at));
		free(line);
	}
	return ok;
}

static void check_same(const struct devices *d)
{
	const struct made *a;
	struct made *b;
	unsigned int i;

	MUST(d->nr == now.nr);
	for (i = 0; i < d->nr; i++) {
		a = &d->dev[i];
		b = find(&now, a->name);
		MUST(b && a->state == b->state && a->bytes == b->bytes, "%s", a->name);
		MUST(!strcmp(a->beneath, b->beneath), "%s: %s", a->name, b->beneath);
	}
}

static int configured(void)
{
	char *argv[] = { FILE_NAME, OURS, NULL };
	int err;

	running = true;
	err = cmd_configured(2, argv);
	running = false;
	MUST(!locked && !configfs.about && (err == EXIT_OK || err == EXIT_FAILED));
	return err;
}

static void begin(uint8_t there)
{
	memset(&now, 0, sizeof(now));
	there %= 7;
	if (there)
		add(&now, OUR_NAME, there > 5 ? LIVE : there - 1,
		    there == 1 ? "" : there > 5 ? OTHER : OURS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct devices want;
	bool ok;

	if (size < HEAD)
		return 0;
	fails = data[0] & (NO_SETUP | MEMORY_BUSY | UNREADABLE);
	file = data + HEAD;
	file_len = size - HEAD;
	begin(data[1]);
	want = now;
	ok = expect(&want);
	MUST(ok == !configured());
	check_same(&want);
	/* udev asks again whenever it has an event: there is no more to do. */
	if (ok) {
		changes = 0;
		MUST(!configured() && !changes);
		check_same(&want);
	}
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const struct {
		const char *text;
		uint8_t fails, there;
	} in[] = {
		{ "later 32M --dax /dev/pmem0\n" },
		{ "# what is to be there\n\n later\t32M --dax /dev/pmem0\t# at boot\n", 0, 1 },
		{ "later 32M --dax /dev/pmem0\n", 0, 2 },
		{ "later 32M --dax /dev/disk/ours", 0, 3 },
		{ "later 32M --dax /dev/pmem0\n", 0, 4 },
		{ "later 32M --dax /dev/pmem0\n", 0, 5 },
		{ "later 32M --dax /dev/pmem0\n", 0, 6 },
		{ "later 32M --dax /dev/pmem1\n", 0, 6 },
		{ "later 32M --dax /dev/pmem0\n", NO_SETUP, 1 },
		{ "later 32M --dax /dev/pmem0\n", MEMORY_BUSY, 1 },
		{ "later 32M --dax /dev/pmem0\n", UNREADABLE },
		{ "later 32M --dax /dev/pmem0 --force\n" }, { "later 32M --phys 1G\n" },
		{ "later 32M --dax=/dev/pmem0\n" }, { "--dax /dev/pmem0 later 32M\n" },
		{ "later force --dax /dev/pmem0\nlater 5000 --dax /dev/pmem0\n" },
		{ "a 0x1000 --dax /dev/pmem0\nb 1P --dax /dev/disk/ours\na 4K --dax /dev/pmem0\n" },
		{ "-a 4K --dax /dev/pmem0\n.. 4K --dax /dev/pmem0\na/b 4K --dax /dev/pmem0\n" },
		{ "abcdefghijklmnopqrstuvwxy 4K --dax /dev/pmem0\n" },
		{ "abcdefghijklmnopqrstuvwxyz 4K --dax /dev/pmem0\n" },
		{ "later 32M --dax /dev/pmem0 # 4K\r\n" }, { "later 32M --dax /dev/pmem0\r\n" },
		{ "lat" }, { "#" },
	};

	if (nr > sizeof(in) / sizeof(*in))
		return 0;
	memset(data, 0, HEAD);
	if (nr == sizeof(in) / sizeof(*in)) {	/* a file whose blocks never got to the disk */
		memset(data + HEAD, 0, 64);
		return HEAD + 64;
	}
	data[0] = in[nr].fails;
	data[1] = in[nr].there;
	strcpy((char *)data + HEAD, in[nr].text);
	return HEAD + strlen(in[nr].text);
}
