// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

#define CORPUS_MAX	65536u

size_t fuzz_text(unsigned int nr, const char *const *texts, uint8_t *data)
{
	unsigned int i;

	for (i = 0; i < nr && texts[i]; i++)
		;
	if (!texts[i])
		return 0;
	memcpy(data, texts[i], strlen(texts[i]));
	return strlen(texts[i]);
}

size_t fuzz_repeat(uint8_t *data, const char *head, const char *item, unsigned int nr, const char *tail)
{
	size_t at = 0;

	at += sprintf((char *)data + at, "%s", head);
	while (nr--)
		at += sprintf((char *)data + at, "%s", item);
	at += sprintf((char *)data + at, "%s", tail);
	return at;
}

char *fuzz_string(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = 0;
	return text;
}

uint32_t fuzz_random(unsigned int *state, uint32_t n)
{
	uint32_t x = *state + 0x9e3779b9;

	*state = x;
	x = (x ^ x >> 16) * 0x85ebca6b;
	x = (x ^ x >> 13) * 0xc2b2ae35;
	x ^= x >> 16;
	return n ? x % n : x;
}

uint64_t fuzz_odd(unsigned int *state)
{
	uint64_t v;

	switch (fuzz_random(state, 6)) {
	case 0:
		return fuzz_random(state, 4);
	case 1:
		return fuzz_random(state, 4096);
	case 2:
		return ~(uint64_t)fuzz_random(state, 3);
	case 3:
		v = fuzz_random(state, 0);
		return v << 32 | fuzz_random(state, 0);
	default:
		return (1ULL << fuzz_random(state, 64)) + fuzz_random(state, 3) - 1;
	}
}

static int write_corpus(const char *dir)
{
	static uint8_t data[CORPUS_MAX];
	char path[4096];
	unsigned int nr;
	size_t size;
	FILE *f;

	for (nr = 0; (size = fuzz_corpus(nr, data)); nr++) {
		snprintf(path, sizeof(path), "%s/made-%02u", dir, nr);
		f = fopen(path, "w");
		if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
			perror(path);
			return 1;
		}
	}
	return 0;
}

/* With MAKE_CORPUS set the program writes its inputs there instead of fuzzing. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *dir = getenv("MAKE_CORPUS");

	(void)argc;
	(void)argv;
	if (dir)
		exit(write_corpus(dir));
	return 0;
}
