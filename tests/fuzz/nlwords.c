// SPDX-License-Identifier: GPL-2.0-only
/*
 * What nameless is told in words: a line of key=value, each value read in the unit that the first
 * byte chooses.  A number is the one that the text says, by wider arithmetic.
 */
#include <ctype.h>
#include <string.h>

#include "fuzz.h"
#include "words.h"

#define UNITS	(NL_GC_KIND + 1)
#define SHOWN	1000000000000000ull	/* of less each digit is shown, and taken */

static bool suffix_factor(enum nl_unit unit, const char *suffix, unsigned __int128 *factor)
{
	static const char * const times[] = { "ns", "us", "ms", "s" };
	static const char letters[] = "kmgt";
	const char *at;
	unsigned int i;

	*factor = 1;
	if (!*suffix)
		return true;
	for (i = 0; unit == NL_TIME && i < 4; i++, *factor *= 1000)
		if (!strcmp(suffix, times[i]))
			return true;
	at = strchr(letters, tolower((unsigned char)*suffix));
	if (unit != NL_SIZE || !at || suffix[1])
		return false;
	*factor = (unsigned __int128)1 << 10 * (at - letters + 1);
	return true;
}

/* Is @text such a number at all, and how much? */
static bool wide(enum nl_unit unit, const char *text, unsigned __int128 *n)
{
	unsigned __int128 factor;
	const char *rest = text;

	for (*n = 0; isdigit((unsigned char)*rest) && rest - text < 20; rest++)
		*n = *n * 10 + (*rest - '0');
	if (rest == text)
		return false;
	if (unit == NL_PERMILLE) {
		*n *= 10;
		if (*rest == '.' && isdigit((unsigned char)rest[1])) {
			*n += rest[1] - '0';
			rest += 2;
		}
		return !*rest || !strcmp(rest, "%");
	}
	if (!suffix_factor(unit, rest, &factor))
		return false;
	*n *= factor;
	return true;
}

static void check_name(enum nl_unit unit, const char *text, u64 value)
{
	if (unit == NL_FTL_KIND)
		MUST(value < NL_NR_FTLS && !strcmp(text, nl_ftl_names[value]));
	else
		MUST(value < NL_NR_GCS && !strcmp(text, nl_gc_names[value]));
}

static void check_value(enum nl_unit unit, const char *text)
{
	static char page[4096];
	unsigned __int128 n;
	u64 value = 0, again = 0;
	int r = nl_parse(unit, text, &value);

	MUST(!r || r == -EINVAL || r == -ERANGE, "%d", r);
	if (r)
		return;
	if (unit == NL_FTL_KIND || unit == NL_GC_KIND)
		check_name(unit, text, value);
	else
		MUST(wide(unit, text, &n) && n == value, "%s: %llu", text, (unsigned long long)value);
	if (value >= SHOWN)
		return;
	MUST(nl_emit(page, 0, unit, value) == (ssize_t)strlen(page));
	MUST(!nl_parse(unit, page, &again) && again == value, "%s, shown as %s", text, page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text, *rest, *key, *value, *end;

	if (!len)
		return 0;
	text = rest = fuzz_string(data + 1, len - 1);
	end = text + strlen(text);
	while (nl_word(&rest, &key, &value)) {
		MUST(*key || value);
		MUST(!strpbrk(key, " =") && key >= text && key <= end);
		if (value) {
			MUST(value == key + strlen(key) + 1 && value <= end && !strchr(value, ' '));
			check_value(data[0] % UNITS, value);
		}
	}
	MUST(!rest);
	free(text);
	return 0;
}

/* '0' is a count, '1' a time, and so on: enum nl_unit. */
size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const text[] = {
		"0packages=4  dies=2 x", "0=7 a= =", "0a=999999999999999 b=1000000000000000",
		"1t_read=25us t_program=1ms a=2s b=3ns c=4 d=5m", "1a=999999999999999s b=9223372036s",
		"2a=8M b=8m c=1T d=999999999999999T e=1KB", "3op=12.5% log=20 a=.5 b=1.25 c=3.%",
		"4ftl=page ftl=split ftl=pag", "5gc=fifo gc=greedy gc=", NULL,
	};

	/* '0' itself is 48, a multiple of all units. */
	return fuzz_text(nr, text, data);
}
