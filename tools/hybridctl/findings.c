// SPDX-License-Identifier: GPL-2.0-only
/* What a check finds. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "msg.h"
#include "quote.h"

void findings_add(struct findings *f, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (f->nr < FINDINGS_KEPT)
		f->text[f->nr] = quoted(text, false);	/* of a file any path can be given */
	f->nr++;
}

static bool has(const struct findings *f, const char *text)
{
	unsigned int i;

	for (i = 0; i < FINDINGS_KEPT && i < f->nr; i++)
		if (!strcmp(f->text[i], text))
			return true;
	return false;
}

void findings_common(struct findings *f, const struct findings *other)
{
	unsigned int i, nr = 0;

	if (f->nr > FINDINGS_KEPT && other->nr > FINDINGS_KEPT)
		return;
	for (i = 0; i < FINDINGS_KEPT && i < f->nr; i++)
		if (has(other, f->text[i]))
			f->text[nr++] = f->text[i];
		else
			free(f->text[i]);
	f->nr = nr;
}

void findings_free(struct findings *f)
{
	unsigned int i;

	for (i = 0; i < FINDINGS_KEPT && i < f->nr; i++)
		free(f->text[i]);
	memset(f, 0, sizeof(*f));
}
