/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzz targets share.  A target is LLVMFuzzerTestOneInput() and, where
 * bytes alone would not get past a checksum, a mutator that knows the format.
 * fuzz_corpus() gives the inputs that its corpus is made of.
 */
#ifndef EVENKEEL_FUZZ_H
#define EVENKEEL_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What must hold whatever the input says; not compiled out. */
#define MUST(cond, ...) do {							\
	if (!(cond)) {								\
		fprintf(stderr, "%s:%d: must hold: %s ", __FILE__, __LINE__, #cond); \
		fprintf(stderr, "" __VA_ARGS__);				\
		fprintf(stderr, "\n");						\
		abort();							\
	}									\
} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* Input @nr of the corpus into @data (64 KiB); its size, 0 when there is none. */
size_t fuzz_corpus(unsigned int nr, uint8_t *data);
/* The text @nr of a list that ends with NULL, as an input. */
size_t fuzz_text(unsigned int nr, const char *const *texts, uint8_t *data);

/* @head, @nr times @item, @tail: for lists that are as long as they may be, and one longer. */
size_t fuzz_repeat(uint8_t *data, const char *head, const char *item, unsigned int nr,
		   const char *tail);

/* The input as text: up to its first NUL; free() it. */
char *fuzz_string(const uint8_t *data, size_t size);

/* A small generator of its own for each mutation: the same seed, the same mutation. */
uint32_t fuzz_random(unsigned int *state, uint32_t n);
/* A number that decoders get wrong: 0, ~0, powers of two and their neighbours. */
uint64_t fuzz_odd(unsigned int *state);

#endif
