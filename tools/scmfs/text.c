// SPDX-License-Identifier: GPL-2.0-only
#include "text.h"

void text_put(FILE *out, const char *text, size_t len)
{
	unsigned char c;
	size_t i;

	for (i = 0; i < len; i++) {
		c = text[i];
		if (c < ' ' || c == '\\' || c == 0x7f)
			fprintf(out, "\\%03o", c);
		else
			putc(c, out);
	}
}
