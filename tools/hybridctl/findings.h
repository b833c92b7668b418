/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a check finds: texts in order, capped so that a wrecked map does not print
 * millions of lines.
 */
#ifndef HYBRIDCTL_FINDINGS_H
#define HYBRIDCTL_FINDINGS_H

#include <stdint.h>

#define FINDINGS_KEPT	100

struct findings {
	uint64_t nr;			/* also those not kept */
	char *text[FINDINGS_KEPT];
};

void findings_add(struct findings *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Keep of @f what @other has, too; all of it if there is more of both than is kept. */
void findings_common(struct findings *f, const struct findings *other);
void findings_free(struct findings *f);

#endif
