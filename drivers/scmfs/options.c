// SPDX-License-Identifier: GPL-2.0-only
/* The options of mount and remount. */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <evenkeel/size.h>

#include "options.h"

static const struct sfs_gc_options gc_defaults = {
	.low = 10, .high = 15, .whole = 50, .cold = 60,
};

enum {
	SFS_OPT_PHYS, SFS_OPT_SIZE, SFS_OPT_INIT, SFS_OPT_INIT_HOW, SFS_OPT_DATA, SFS_OPT_ACL,
	SFS_OPT_GC, SFS_OPT_GC_LOW, SFS_OPT_GC_HIGH, SFS_OPT_GC_WHOLE, SFS_OPT_GC_COLD
};

static const struct constant_table sfs_data_kinds[] = {
	{ "inplace", false },
	{ "atomic", true },
	{ .name = NULL },
};

static const struct constant_table sfs_on_off[] = {
	{ "off", false },
	{ "on", true },
	{ .name = NULL },
};

const struct fs_parameter_spec sfs_parameters[] = {
	fsparam_string("phys", SFS_OPT_PHYS),
	fsparam_string("size", SFS_OPT_SIZE),
	fsparam_flag("init", SFS_OPT_INIT),
	fsparam_string("init", SFS_OPT_INIT_HOW),
	fsparam_flag_no("acl", SFS_OPT_ACL),
	fsparam_enum("data", SFS_OPT_DATA, sfs_data_kinds),
	fsparam_enum("gc", SFS_OPT_GC, sfs_on_off),
	fsparam_u32("gc_low", SFS_OPT_GC_LOW),
	fsparam_u32("gc_high", SFS_OPT_GC_HIGH),
	fsparam_u32("gc_whole", SFS_OPT_GC_WHOLE),
	fsparam_u32("gc_cold", SFS_OPT_GC_COLD),
	{ .name = NULL },
};

/**
 * sfs_gc_options_ok - do the thresholds go together?
 * @o: they
 *
 * Return: true if they do.
 */
bool sfs_gc_options_ok(const struct sfs_gc_options *o)
{
	return o->low <= o->high && o->high <= 100 && o->whole <= 100;
}

/**
 * sfs_options_init - what holds where nothing is said
 * @o: zeroed
 */
void sfs_options_init(struct sfs_options *o)
{
	o->acl = true;
	o->gc = gc_defaults;
}

static int parse_bytes(struct p_log *log, const struct fs_parameter *param, u64 *bytes)
{
	if (!ek_parse_size(param->string, bytes))
		return 0;
	return inval_plog(log, "%s=%s: not a number of bytes", param->key, param->string);
}

/**
 * sfs_options_parse - take one option
 * @o: to be added to
 * @log: where the reason goes
 * @param: it
 *
 * Return: 0, -EINVAL, or -ENOPARAM for one that is not scmfs' own.
 */
int sfs_options_parse(struct sfs_options *o, struct p_log *log, struct fs_parameter *param)
{
	struct fs_parse_result result;
	int opt = __fs_parse(log, sfs_parameters, param, &result);

	if (opt >= 0)
		o->named |= BIT(opt);
	switch (opt) {
	case SFS_OPT_PHYS:
		o->has_phys = true;
		return parse_bytes(log, param, &o->phys);
	case SFS_OPT_SIZE:
		return parse_bytes(log, param, &o->bytes);
	case SFS_OPT_INIT_HOW:
		if (strcmp(param->string, "force"))
			return inval_plog(log, "init=%s: init or init=force", param->string);
		o->force = true;
		fallthrough;
	case SFS_OPT_INIT:
		o->init = true;
		return 0;
	case SFS_OPT_ACL:
		o->acl = !result.negated;
		return 0;
	case SFS_OPT_DATA:
		o->atomic = result.uint_32;
		return 0;
	case SFS_OPT_GC:
		o->gc.on = result.uint_32;
		return 0;
	case SFS_OPT_GC_LOW:
		o->gc.low = result.uint_32;
		return 0;
	case SFS_OPT_GC_HIGH:
		o->gc.high = result.uint_32;
		return 0;
	case SFS_OPT_GC_WHOLE:
		o->gc.whole = result.uint_32;
		return 0;
	case SFS_OPT_GC_COLD:
		o->gc.cold = result.uint_32;
		return 0;
	default:
		return opt;
	}
}

/**
 * sfs_options_check_gc - sfs_gc_options_ok(), with a reason
 * @o: all options
 * @log: where the reason goes
 *
 * Return: 0 or -EINVAL.
 */
int sfs_options_check_gc(const struct sfs_options *o, struct p_log *log)
{
	if (sfs_gc_options_ok(&o->gc))
		return 0;
	return inval_plog(log, "gc_low=, gc_high= and gc_whole= are percent, gc_low <= gc_high");
}

/**
 * sfs_options_check - may it be mounted like that?
 * @o: all options
 * @read_only: as that
 * @log: where the reason goes
 *
 * Return: 0 or -EINVAL.
 */
int sfs_options_check(const struct sfs_options *o, bool read_only, struct p_log *log)
{
	if (o->has_phys != !!o->bytes)
		return inval_plog(log, "phys= and size= go together");
	if (o->init && read_only)
		return inval_plog(log, "init needs to write, and ro forbids it");
	return sfs_options_check_gc(o, log);
}

/**
 * sfs_options_name - what a remount changes
 * @to: what holds
 * @new: what the remount was told, of which data=, acl and gc count
 *
 * What was named changes; the rest stays: a context may be older than others that have changed it.
 */
void sfs_options_name(struct sfs_options *to, const struct sfs_options *new)
{
	if (new->named & BIT(SFS_OPT_DATA))
		to->atomic = new->atomic;
	if (new->named & BIT(SFS_OPT_ACL))
		to->acl = new->acl;
	if (new->named & BIT(SFS_OPT_GC))
		to->gc.on = new->gc.on;
	if (new->named & BIT(SFS_OPT_GC_LOW))
		to->gc.low = new->gc.low;
	if (new->named & BIT(SFS_OPT_GC_HIGH))
		to->gc.high = new->gc.high;
	if (new->named & BIT(SFS_OPT_GC_WHOLE))
		to->gc.whole = new->gc.whole;
	if (new->named & BIT(SFS_OPT_GC_COLD))
		to->gc.cold = new->gc.cold;
}

static void show_gc(const struct sfs_gc_options *o, char *text, size_t at)
{
	const struct sfs_gc_options *d = &gc_defaults;

	if (o->on)
		at += scnprintf(text + at, SFS_OPTIONS_TEXT - at, ",gc=on");
	if (o->low != d->low || o->high != d->high)
		at += scnprintf(text + at, SFS_OPTIONS_TEXT - at, ",gc_low=%u,gc_high=%u", o->low,
				o->high);
	if (o->whole != d->whole)
		at += scnprintf(text + at, SFS_OPTIONS_TEXT - at, ",gc_whole=%u", o->whole);
	if (o->cold != d->cold)
		scnprintf(text + at, SFS_OPTIONS_TEXT - at, ",gc_cold=%u", o->cold);
}

/**
 * sfs_options_show - as /proc/mounts has them, behind others
 * @o: all options
 * @text: filled; what sfs_options_parse() makes the same of
 */
void sfs_options_show(const struct sfs_options *o, char text[SFS_OPTIONS_TEXT])
{
	size_t at = 0;

	text[0] = 0;
	if (o->has_phys)
		at += scnprintf(text + at, SFS_OPTIONS_TEXT - at, ",phys=0x%llx,size=%llu", o->phys,
				o->bytes);
	if (o->atomic)
		at += scnprintf(text + at, SFS_OPTIONS_TEXT - at, ",data=atomic");
	if (!o->acl)
		at += scnprintf(text + at, SFS_OPTIONS_TEXT - at, ",noacl");
	show_gc(&o->gc, text, at);
}
