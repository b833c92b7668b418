// SPDX-License-Identifier: GPL-2.0-only
/* scmfs' options: the first line is a mount's, each further one a remount's; "ro" is VFS' own. */
#include <linux/errno.h>
#include <string.h>

#include "fuzz.h"
#include "options.h"
#include "wide.h"

#define SAID_DATA	0x01
#define SAID_ACL	0x02
#define SAID_GC		0x04
#define SAID_LOW	0x08
#define SAID_HIGH	0x10
#define SAID_WHOLE	0x20
#define SAID_COLD	0x40

/* Options, and which of those that a remount may change were among them. */
struct told {
	struct sfs_options options;
	struct p_log log;
	bool read_only;
	unsigned int said;
};

static const struct {
	const char *key;
	unsigned int said;
} keys[] = {
	{ "data", SAID_DATA }, { "acl", SAID_ACL }, { "noacl", SAID_ACL }, { "gc", SAID_GC },
	{ "gc_low", SAID_LOW }, { "gc_high", SAID_HIGH }, { "gc_whole", SAID_WHOLE },
	{ "gc_cold", SAID_COLD },
};

/* In arithmetic that is wider: a number that was taken is the one that the text says. */
static void check_size(const struct fs_parameter *param, u64 bytes)
{
	unsigned __int128 wide;

	MUST(wide_size(param->string, &wide) && wide == bytes, "%s=%s: %llu", param->key, param->string,
	     (unsigned long long)bytes);
}

/* What each says by itself. */
static void check_said(const struct sfs_options *o, unsigned int said, const struct fs_parameter *param)
{
	u32 value[] = { o->gc.low, o->gc.high, o->gc.whole, o->gc.cold };

	if (said == SAID_ACL)
		MUST(o->acl == !strcmp(param->key, "acl"));
	else if (said == SAID_DATA)
		MUST(o->atomic == !strcmp(param->string, "atomic"));
	else if (said == SAID_GC)
		MUST(o->gc.on == !strcmp(param->string, "on"));
	else
		MUST(value[__ffs(said / SAID_LOW)] == strtoull(param->string, NULL, 0), "%s=%s", param->key,
		     param->string);
}

static void check_taken(struct told *t, const struct fs_parameter *param)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(param->key, keys[i].key)) {
			t->said |= keys[i].said;
			check_said(&t->options, keys[i].said, param);
		}
	if (!strcmp(param->key, "phys"))
		check_size(param, t->options.phys);
	if (!strcmp(param->key, "size"))
		check_size(param, t->options.bytes);
	MUST(!t->options.force || t->options.init);
	MUST(t->options.named);
}

/* As VFS does it. */
static int take(struct told *t, char *word)
{
	struct fs_parameter param = { .key = word, .type = fs_value_is_flag };
	char *value = strchr(word, '=');
	int r;

	if (value == word)
		return 0;
	if (value) {
		*value = 0;
		param.type = fs_value_is_string;
		param.string = value + 1;
	}
	if (!strcmp(word, "ro") && !value) {
		t->read_only = true;
		return 0;
	}
	*t->log.text = 0;
	r = sfs_options_parse(&t->options, &t->log, &param);
	MUST(!r || r == -ENOPARAM || (r == -EINVAL && *t->log.text), "%s: %d", word, r);
	if (!r)
		check_taken(t, &param);
	return r;
}

static int take_all(struct told *t, char *line)
{
	char *word;
	int r = 0;

	memset(t, 0, sizeof(*t));
	t->log.prefix = "scmfs";
	sfs_options_init(&t->options);
	while (!r && (word = strsep(&line, ",")))
		if (*word)
			r = take(t, word);
	return r;
}

static void check_gc(const struct sfs_gc_options *gc)
{
	MUST(gc->low <= gc->high && gc->high <= 100 && gc->whole <= 100);
}

static bool same(const struct sfs_options *a, const struct sfs_options *b)
{
	return a->phys == b->phys && a->bytes == b->bytes && a->has_phys == b->has_phys &&
		a->atomic == b->atomic && a->acl == b->acl && a->gc.on == b->gc.on &&
		a->gc.low == b->gc.low && a->gc.high == b->gc.high && a->gc.whole == b->gc.whole &&
		a->gc.cold == b->gc.cold;
}

/* What is shown is whole, and can be mounted with for the same. */
static void check_shown(const struct sfs_options *o)
{
	char *text = malloc(SFS_OPTIONS_TEXT), *again = malloc(SFS_OPTIONS_TEXT);
	struct told t;

	sfs_options_show(o, text);
	MUST(strnlen(text, SFS_OPTIONS_TEXT) < SFS_OPTIONS_TEXT - 1);
	strcpy(again, text);
	MUST(!take_all(&t, again), "%s: %s", text, t.log.text);
	MUST(same(o, &t.options), "%s", text);
	sfs_options_show(&t.options, again);
	MUST(!strcmp(text, again), "\n%s\n%s", text, again);
	free(text);
	free(again);
}

/* What was named is as it was told, the rest as it was; where it is doesn't change. */
static void check_named(const struct sfs_options *was, const struct sfs_options *is,
			const struct told *t)
{
	const struct sfs_options *o = &t->options;

	MUST(is->phys == was->phys && is->bytes == was->bytes && is->has_phys == was->has_phys);
	MUST(is->init == was->init && is->force == was->force);
	MUST(is->atomic == (t->said & SAID_DATA ? o : was)->atomic);
	MUST(is->acl == (t->said & SAID_ACL ? o : was)->acl);
	MUST(is->gc.on == (t->said & SAID_GC ? o : was)->gc.on);
	MUST(is->gc.low == (t->said & SAID_LOW ? o : was)->gc.low);
	MUST(is->gc.high == (t->said & SAID_HIGH ? o : was)->gc.high);
	MUST(is->gc.whole == (t->said & SAID_WHOLE ? o : was)->gc.whole);
	MUST(is->gc.cold == (t->said & SAID_COLD ? o : was)->gc.cold);
}

static void remount(struct sfs_options *now, char *line)
{
	struct sfs_options all = *now;
	struct told t;

	if (take_all(&t, line))
		return;
	sfs_options_name(&all, &t.options);
	if (sfs_options_check_gc(&all, &t.log)) {
		MUST(*t.log.text);
		return;
	}
	check_gc(&all.gc);
	check_named(now, &all, &t);
	*now = all;
	check_shown(now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *rest = text, *line;
	struct told t;

	if (take_all(&t, strsep(&rest, "\n")))
		goto done;
	*t.log.text = 0;
	if (sfs_options_check(&t.options, t.read_only, &t.log)) {
		MUST(*t.log.text);
		goto done;
	}
	MUST(t.options.has_phys == (t.options.bytes != 0));
	MUST(!(t.options.init && t.read_only));
	check_gc(&t.options.gc);
	check_shown(&t.options);
	while ((line = strsep(&rest, "\n")))
		remount(&t.options, line);
done:
	free(text);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const text[] = {
		"phys=0x40000000,size=512M,init", "phys=1G,size=16M,init=force", "init,ro", "init=what",
		"data=atomic,noacl", "data=inplace,acl", "data=", "data", "acl=1", "noinit", "=1,ro",
		"gc=on,gc_low=0,gc_high=100,gc_whole=0x10,gc_cold=010", "gc=on\ngc=off\ngc_low=20\ngc_low=15",
		"gc_low=16", "gc_high=101", "gc_whole=101", "gc_cold=4294967295", "gc_cold=4294967296",
		"phys=1", "size=4K", "phys=0,size=0", "phys=K,size=1M", "phys=16385P,size=4K",
		"phys=1M,size=18446744073709555712", "phys=18446744073709551617,size=4K", "phys=18446744073709551615,size=16384P",
		"phys=18446744073709551615,size=18446744073709551615,data=atomic,noacl,gc=on,gc_low=99,"
		"gc_high=100,gc_whole=100,gc_cold=4294967295",
		"phys=1M,size=1M\nphys=2M,size=2M,init=force,data=atomic,noacl\nro,acl,data=inplace\n\nx", NULL,
	};

	return fuzz_text(nr, text, data);
}
