// SPDX-License-Identifier: GPL-2.0-only
#include "text.h"

/* How many bytes the character of UTF-8 has that begins with @c; 0: none does. */
static size_t utf8_length(unsigned char c)
{
	if (c < 0xc2 || c > 0xf4)
		return 0;
	return c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Neither longer than need be, nor a surrogate, nor past U+10ffff. */
static bool may_follow(unsigned char first, unsigned char second)
{
	unsigned char from = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	unsigned char to = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

	return second >= from && second <= to;
}

/* The length of the character that begins there, of more than one byte and whole; 0: none. */
static size_t utf8_at(const char *text, size_t len)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t i, n = utf8_length(*c);

	if (!n || n > len || !may_follow(c[0], c[1]))
		return 0;
	for (i = 2; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Within a character, but of U+0080 to U+009f. */
static bool is_part(const char *text, size_t len, size_t i)
{
	size_t back;

	for (back = 1; back < 4 && back <= i; back++)
		if (utf8_at(text + i - back, len - i + back) > back)
			return (unsigned char)text[i - back] != 0xc2;
	return false;
}

/* Those of eight bits, too: a terminal may take them by themselves, or in UTF-8. */
bool text_is_control(const char *text, size_t len, size_t i)
{
	unsigned char c = text[i];

	if (c < 0x80 || c >= 0xa0)
		return c < ' ' || c == 0x7f;
	return !is_part(text, len, i);
}

void text_put(FILE *out, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] == '\\' || text_is_control(text, len, i))
			fprintf(out, "\\%03o", (unsigned char)text[i]);
		else
			putc(text[i], out);
	}
}
