// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "engine_internal.h"
#include "feature_names.h"

static const struct {
	const char *name;
	uint64_t bit;
} features[] = {
	{ "unwritten", SCMFS_INCOMPAT_UNWRITTEN },
	{ "xattr", SCMFS_INCOMPAT_XATTR },
};

void print_features(uint64_t incompat)
{
	size_t i;

	printf("features:");
	for (i = 0; i < ARRAY_SIZE(features); i++)
		if (incompat & features[i].bit)
			printf(" %s", features[i].name);
	printf("\n");
}

static uint64_t bit_of(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(features); i++)
		if (strlen(features[i].name) == len && !memcmp(features[i].name, name, len))
			return features[i].bit;
	return 0;
}

bool parse_without(const char *text, uint64_t *without)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		uint64_t bit = *text == '^' ? bit_of(text + 1, len - 1) : 0;

		if (!bit)
			return false;
		*without |= bit;
		if (!text[len])
			return true;
		text += len + 1;
	}
}
