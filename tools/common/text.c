// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>

#include "text.h"

/* Within a character of UTF-8, but of U+0080 to U+009f, it is no control character. */
static bool is_control(const char *text, size_t i)
{
	unsigned char before = i ? text[i - 1] : 0;

	return before < 0x80 || before == 0xc2;
}

void text_put(FILE *out, const char *text, size_t len)
{
	unsigned char c;
	size_t i;

	for (i = 0; i < len; i++) {
		c = text[i];
		/* Those of eight bits, too: a terminal may take them by themselves, or in UTF-8. */
		if (c < ' ' || c == '\\' || c == 0x7f ||
		    (c >= 0x80 && c < 0xa0 && is_control(text, i)))
			fprintf(out, "\\%03o", c);
		else
			putc(c, out);
	}
}
