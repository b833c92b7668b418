// SPDX-License-Identifier: GPL-2.0-only
/* A table line's words, and the policy and settings that it names. */
#include <linux/errno.h>
#include <string.h>

#include "args.h"
#include "fuzz.h"
#include "settings.h"
#include "words.h"

#define WORDS	256u

static void check_args(const struct hy_args *a)
{
	unsigned int i;

	MUST(a->nr_meta >= 1 && a->nr_meta <= EK_MAX_META);
	MUST(a->nr_members >= 1 && a->nr_members <= EK_MAX_MEMBERS);
	MUST(a->extent_sectors >= EK_MIN_EXTENT_SECTORS &&
	     a->extent_sectors <= EK_MAX_EXTENT_SECTORS && is_power_of_2(a->extent_sectors));
	for (i = 0; i < a->nr_meta; i++)
		MUST(a->meta_path[i] && IS_ALIGNED(a->meta_start[i], 8));
	for (i = 0; i < a->nr_members; i++)
		MUST(a->member_path[i] && IS_ALIGNED(a->member_start[i], 8));
	MUST(strnlen(a->policy, sizeof(a->policy)) < sizeof(a->policy) - 1);
}

/* What was taken is shown such that it is taken again and shown the same. */
static void check_policy(const struct hy_args *a)
{
	char args[EK_POLICY_TEXT_SIZE], text[EK_POLICY_TEXT_SIZE], again[EK_POLICY_TEXT_SIZE];
	struct hy_settings set;
	struct hy_policy *policy;
	const char *reason = NULL;
	int r;

	r = hy_policy_parse(a->policy, a->nr_members, &policy, &set, &reason);
	MUST(!r || (r == -EINVAL && reason && *reason), "%d", r);
	if (r)
		return;
	MUST(!hy_policy_format(policy, &set, args, text, sizeof(text)));
	hy_policy_destroy(policy);
	MUST(!hy_policy_parse(text, a->nr_members, &policy, &set, &reason), "%s: %s", text, reason);
	MUST(!hy_policy_format(policy, &set, args, again, sizeof(again)));
	MUST(!strcmp(text, again), "\n%s\n%s", text, again);
	hy_policy_destroy(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hy_args *args = malloc(sizeof(*args));
	char *text = fuzz_string(data, size), *error = NULL, *word[WORDS], **argv;
	unsigned int nr = split_words(text, word, WORDS);
	int r;

	argv = malloc(nr * sizeof(*argv) + 1);	/* to the word */
	memcpy(argv, word, nr * sizeof(*argv));
	r = hy_args_parse(args, nr, argv, &error);
	MUST(!r || (r == -EINVAL && error && *error));
	if (!r) {
		check_args(args);
		check_policy(args);
	}
	MUST(!shim_allocated, "leaked");
	free(argv);
	free(text);
	free(args);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const text[] = {
		"1 /dev/m 0 256 2 /dev/a 0 /dev/b 0 0 wardrop 0",
		"2 8:0 0 8:1 8 128 1 - 2048 2 read_only no_discard_passdown static 4 shares 100 movers 3",
		"1 m 0 8192 3 a 0 b 0 c 0 0 static 2 shares 20,30,50",
		"1 m 0 512 2 a 0 b 0 0 wardrop 6 alpha 10 period_ms 100 low_free 7",
		"1 m 0 512 2 a 0 b 0 0 stripe 4 candidates 16 commit_ms 60000",
		"1 m 0 512 2 a 0 b 0 0 fill 2 cooldown_ms 10\\ movers\\ 5",
		"1 m 0 512 2 a 0 b 0 2 cache_extents 8 asymmetry 2 pin 1+2/3*4:0",
		"1 m 0 512 2 a 0 b 0 0 unified 2 delta 5",
		"1 m 0 512 2 a 0 b 0 0 concentrate 4 sublun 1 fast auto",
		"1 m", "0", "3 a 0 b 0 c 0 256 1 d 0 0 fill 0", NULL,
	};
	static const unsigned int texts = sizeof(text) / sizeof(*text) - 1;

	switch (nr - texts) {
	case 0:
		return fuzz_repeat(data, "1 m 0 256 32", " a 0", 32, " 0 fill 0");
	case 1:
		return fuzz_repeat(data, "1 m 0 256 33", " a 0", 33, " 0 fill 0");
	case 2:
		return fuzz_repeat(data, "1 m 0 256 1 a 0 0 fill 64", " movers 00000003", 32, "");
	case 3:
		return fuzz_repeat(data, "1 m 0 256 1 a 0 0 fill 64",
				   " commit_ms 0000000000000000000003", 32, "");
	}
	return fuzz_text(nr, text, data);
}
