// SPDX-License-Identifier: GPL-2.0-only
#include "text.h"

/* Those of eight bits, too: a terminal may take them by themselves, or in UTF-8. */
bool text_is_control(const char *text, size_t i)
{
	unsigned char c = text[i], before = i ? text[i - 1] : 0;

	if (c < 0x80 || c >= 0xa0)
		return c < ' ' || c == 0x7f;
	/* Within a character of UTF-8, but of U+0080 to U+009f, it is none. */
	return before < 0x80 || before == 0xc2;
}

void text_put(FILE *out, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] == '\\' || text_is_control(text, i))
			fprintf(out, "\\%03o", (unsigned char)text[i]);
		else
			putc(text[i], out);
	}
}
