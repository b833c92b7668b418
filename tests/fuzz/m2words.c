// SPDX-License-Identifier: GPL-2.0-only
/*
 * What mem2m is told in words, chosen by the first byte: a device to be made, a size to change it
 * to, the module's parameter, a table line.
 */
#include <linux/errno.h>
#include <string.h>
#include <evenkeel/name.h>

#include "fuzz.h"
#include "wide.h"
#include "words.h"

#define WORDS	8u
#define NAME	31u

static void check_error(int r, const char *error)
{
	MUST(!r || r == -EINVAL, "%d", r);
	MUST(!r || (*error && strnlen(error, M2_ERROR_LEN) < M2_ERROR_LEN));
}

static bool may_be_size(unsigned __int128 size)
{
	return size && !(size % 4096) && size <= (unsigned __int128)1 << 50;
}

/* To the byte, and refused if there is one that it does not say. */
static void size(const char *text)
{
	char *error = malloc(M2_ERROR_LEN);
	unsigned __int128 wide = 0;
	bool may = wide_size(text, &wide) && may_be_size(wide);
	u64 bytes = 0;
	int r;

	*error = 0;
	r = m2_words_bytes(text, &bytes, error);
	check_error(r, error);
	MUST(may == !r && (r || bytes == wide), "%s: %llu", text, (unsigned long long)bytes);
	free(error);
}

static void check_settings(const struct m2_settings *s)
{
	MUST(may_be_size(s->bytes));
	MUST(s->unit && !(s->unit % (2u << 20)) && s->unit < 1ULL << 50);
	MUST(!(s->dax && s->has_phys));
	MUST(!s->dax || *s->dax);
	MUST(!(s->dax || s->has_phys) || s->unit == M2_UNIT_DEFAULT);
	MUST(s->has_phys || !s->phys);
}

/* In other words the same. */
static void say_again(const struct m2_settings *s)
{
	size_t max = 128 + (s->dax ? strlen(s->dax) : 0), at;
	char *error = malloc(M2_ERROR_LEN), *text = malloc(max);
	struct m2_settings again;

	at = snprintf(text, max, "%llu %s", (unsigned long long)s->bytes, s->force ? " force" : "");
	if (!s->has_phys && !s->dax)
		at += snprintf(text + at, max - at, " unit=%#llx", (unsigned long long)s->unit);
	if (s->has_phys)
		at += snprintf(text + at, max - at, " phys=0%llo", (unsigned long long)s->phys);
	if (s->dax)
		at += snprintf(text + at, max - at, " dax=%s ", s->dax);
	MUST(at < max);
	MUST(!m2_words_create(&again, text, error), "%s", error);
	MUST(again.bytes == s->bytes && again.unit == s->unit && again.phys == s->phys);
	MUST(again.has_phys == s->has_phys && again.force == s->force && !again.dax == !s->dax);
	MUST(!s->dax || !strcmp(s->dax, again.dax));
	free(error);
	free(text);
}

/* @words: cut off from the device's words, for what they say. */
static void check_words(const struct m2_settings *s, char *words)
{
	unsigned __int128 wide;
	char *word;

	MUST(wide_size(strsep(&words, " "), &wide) && wide == s->bytes);
	while ((word = strsep(&words, " "))) {
		if (!strncmp(word, "phys=", 5)) {
			MUST(s->has_phys && wide_size(word + 5, &wide) && wide <= UINT64_MAX);
		} else if (!strncmp(word, "unit=", 5)) {
			MUST(wide_size(word + 5, &wide) && wide < (unsigned __int128)1 << 50);
		} else if (!strncmp(word, "dax=", 4)) {
			MUST(s->dax);
		} else if (*word) {
			MUST(!strcmp(word, "force") && s->force, "%s", word);
		}
	}
}

static void create(char *text)
{
	char *error = malloc(M2_ERROR_LEN), *copy = strdup(text);
	struct m2_settings s;
	int r;

	*error = 0;
	r = m2_words_create(&s, text, error);
	check_error(r, error);
	if (!r) {
		check_settings(&s);
		check_words(&s, copy);
		say_again(&s);
	}
	free(copy);
	free(error);
}

/* Each device of the list, as often as there are commas and once more. */
static void preset(char *text)
{
	unsigned int commas = 0, nr = 0;
	char *c, *name, *args;

	for (c = text; *c; c++)
		commas += *c == ',';
	do {
		name = m2_words_preset(&text, &args);
		MUST(name && args && !strpbrk(name, ":,") && !strpbrk(args, ":,"));
		if (ek_name_ok(name, NAME))
			create(args);
		nr++;
	} while (text);
	MUST(nr == commas + 1);
}

static void table(char *text)
{
	char *word[WORDS], **argv, *error = NULL, name[M2_NAME_SIZE], again[M2_NAME_SIZE];
	unsigned int nr = split_words(text, word, WORDS);
	char start_text[24];
	u64 start, start_again;
	int r;

	argv = malloc(nr * sizeof(*argv) + 1);	/* to the word */
	memcpy(argv, word, nr * sizeof(*argv));
	r = m2_words_target(name, &start, nr, argv, &error);
	MUST(!r || ((r == -EINVAL || r == -ENODEV) && error && *error));
	MUST(!r == (nr == 2 && strlen(word[0]) < M2_NAME_SIZE && !kstrtou64(word[1], 10, &start)));
	free(argv);
	if (r)
		return;
	MUST(!strcmp(name, word[0]));
	snprintf(start_text, sizeof(start_text), "%llu", (unsigned long long)start);
	word[0] = name;
	word[1] = start_text;
	MUST(!m2_words_target(again, &start_again, 2, word, &error));
	MUST(!strcmp(name, again) && start == start_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text;

	if (!len)
		return 0;
	text = fuzz_string(data + 1, len - 1);
	switch (data[0] % 4) {
	case 0:
		create(text);
		break;
	case 1:
		size(text);
		break;
	case 2:
		preset(text);
		break;
	default:
		table(text);
	}
	free(text);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const text[] = {
		"064M", "01G unit=2M force", "0512M phys=0x40000000", "04096 dax=/dev/pmem0",
		"08K  unit=01000M", "01P phys=18446744073709551615", "01M phys=1 dax=a", "01M unit=3M",
		"01M dax=", "01M what", "0", "05000", "10x1000", "110000000000000000", "1010000", "116E",
		"118446744073709555712", "118446744073709551617M", "116385P", "1K", "10x", "108K", "14K ", "1-4K",
		"2a:64M,b:1G:phys=0x40000000:force,,c", "2", "2.a:1M,b", "2a::4K:,:b",
		"3a 0", "3mem 18446744073709551615", "3mem -1", "3 +7", "3a", "3a\\ b 0 1",
		"3abcdefghijklmnopqrstuvwxyz012345 0", "3abcdefghijklmnopqrstuvwxyz0123456 0",
		"064M unit=2M phys=0x40000000", "064M dax=a unit=2M", NULL,
	};

	return fuzz_text(nr, text, data);
}
