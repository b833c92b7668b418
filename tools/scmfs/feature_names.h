/* SPDX-License-Identifier: GPL-2.0-only */
/* What a file system was made with, by names: SCMFS_INCOMPAT_*. */
#ifndef EVENKEEL_SCMFS_FEATURE_NAMES_H
#define EVENKEEL_SCMFS_FEATURE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

void print_features(uint64_t incompat);		/* a line */
/* Names with commas in between, each with ^ before it; false: there is another one. */
bool parse_without(const char *text, uint64_t *without);

#endif
