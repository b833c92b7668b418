// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table line, word by word.  Only the words: devices are opened later.
 */
#include <linux/align.h>
#include <linux/device-mapper.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>
#include "args.h"

static const char *next_word(struct dm_arg_set *as)
{
	return as->argc ? dm_shift_arg(as) : NULL;
}

static int parse_count(struct dm_arg_set *as, unsigned int min, unsigned int max,
		       unsigned int *count, char *what, char **error)
{
	const char *word = next_word(as);

	if (!word || kstrtouint(word, 10, count) || *count < min || *count > max) {
		*error = what;
		return -EINVAL;
	}
	return 0;
}

static int parse_area(struct dm_arg_set *as, const char **path, sector_t *start, char **error)
{
	const char *word;
	u64 sector;

	*path = next_word(as);
	word = next_word(as);
	if (!word) {
		*error = "too few words: a device and its start sector expected";
		return -EINVAL;
	}
	if (kstrtou64(word, 10, &sector) || !IS_ALIGNED(sector, 8)) {
		*error = "start sector must be a multiple of 8";
		return -EINVAL;
	}
	*start = sector;
	return 0;
}

static int parse_features(struct hy_args *args, struct dm_arg_set *as, char **error)
{
	unsigned int n;
	int r = parse_count(as, 0, 8, &n, "number of features must be 0 to 8", error);

	if (r)
		return r;
	while (n--) {
		const char *word = next_word(as);

		if (!word) {
			*error = "fewer features than announced";
			return -EINVAL;
		}
		if (!strcmp(word, "no_discard_passdown")) {
			args->no_discard_passdown = true;
		} else if (!strcmp(word, "read_only")) {
			args->read_only = true;
		} else {
			*error = "unknown feature";
			return -EINVAL;
		}
	}
	return 0;
}

/* The policy's words are kept as text: they are also what the superblock keeps. */
static int parse_policy(struct hy_args *args, struct dm_arg_set *as, char **error)
{
	const char *name = next_word(as);
	unsigned int n;
	size_t len;
	int r;

	if (!name) {
		*error = "policy missing";
		return -EINVAL;
	}
	r = parse_count(as, 0, HY_MAX_ARGS, &n, "number of policy arguments must be 0 to 64",
			error);
	if (r)
		return r;
	if (n & 1 || n != as->argc) {
		*error = "number of policy arguments is odd or not what follows";
		return -EINVAL;
	}
	len = scnprintf(args->policy, sizeof(args->policy), "%s %u", name, n);
	while (n--)
		len += scnprintf(args->policy + len, sizeof(args->policy) - len, " %s",
				 next_word(as));
	if (len >= sizeof(args->policy) - 1) {
		*error = "policy arguments too long";
		return -EINVAL;
	}
	return 0;
}

/**
 * hy_args_parse - check and unpack a table line
 * @args: filled; paths point into @argv
 * @argc: words after the target's name
 * @argv: they
 * @error: set to a static text on failure
 *
 * Return: 0 or -EINVAL.
 */
int hy_args_parse(struct hy_args *args, unsigned int argc, char **argv, char **error)
{
	struct dm_arg_set as = { .argc = argc, .argv = argv };
	unsigned int i;
	int r;

	memset(args, 0, sizeof(*args));
	r = parse_count(&as, 1, EK_MAX_META, &args->nr_meta,
			"number of metadata areas must be 1 or 2", error);
	for (i = 0; !r && i < args->nr_meta; i++)
		r = parse_area(&as, &args->meta_path[i], &args->meta_start[i], error);
	if (!r)
		r = parse_count(&as, EK_MIN_EXTENT_SECTORS, EK_MAX_EXTENT_SECTORS,
				&args->extent_sectors,
				"extent size must be 128 to 8192 sectors", error);
	if (!r && !is_power_of_2(args->extent_sectors)) {
		*error = "extent size must be a power of two";
		r = -EINVAL;
	}
	if (!r)
		r = parse_count(&as, 1, EK_MAX_MEMBERS, &args->nr_members,
				"number of members must be 1 to 32", error);
	for (i = 0; !r && i < args->nr_members; i++)
		r = parse_area(&as, &args->member_path[i], &args->member_start[i], error);
	if (!r)
		r = parse_features(args, &as, error);
	if (!r)
		r = parse_policy(args, &as, error);
	return r;
}
