// SPDX-License-Identifier: GPL-2.0-only
#include "spread.h"

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Whole aligned units in [@from, @to). */
static uint64_t units_in(uint64_t from, uint64_t to, uint64_t unit)
{
	uint64_t first = from / unit + !!(from % unit), last = to / unit;

	return last > first ? last - first : 0;
}

unsigned int class_of(uint64_t n)
{
	return n ? 63 - __builtin_clzll(n) : 0;
}

void runs_end(struct runs *r, uint64_t end)
{
	uint64_t len = end - r->begin;

	if (!r->open)
		return;
	r->open = false;
	r->nr[class_of(len)]++;
	r->blocks[class_of(len)] += len;
	r->free += len;
	r->largest = max_of(r->largest, len);
	r->units += units_in(r->begin, end, UNIT_BLOCKS);
}

/* The first bit of a word from @bit on that is @set; @end: none below it. */
static unsigned int find(uint64_t word, unsigned int bit, unsigned int end, bool set)
{
	uint64_t left = bit < 64 ? (set ? word : ~word) >> bit << bit : 0;

	return left ? min_of(end, __builtin_ctzll(left)) : end;
}

static void add_word(struct runs *r, uint64_t block, uint64_t word, unsigned int bit,
		     unsigned int end)
{
	while (bit < end) {
		if (!r->open) {
			bit = find(word, bit, end, false);
			r->begin = block + bit;
			r->open = bit < end;
		} else {
			bit = find(word, bit, end, true);
			if (bit < end)
				runs_end(r, block + bit);
		}
	}
}

void runs_add(struct runs *r, uint64_t block, const __u64 *word, uint32_t nr, uint64_t first,
	      uint64_t end)
{
	uint64_t at;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		at = block + 64ull * i;
		if (at + 64 > first && at < end)
			add_word(r, at, word[i], first > at ? first - at : 0, min_of(64, end - at));
	}
}

void spread_add(struct spread *s, uint64_t n)
{
	s->least = s->nr ? min_of(s->least, n) : n;
	s->most = max_of(s->most, n);
	s->sum += n;
	s->nr++;
	if (n)
		s->class[class_of(n)]++;
	else
		s->zeroes++;
}

void layout_end(struct layout *l)
{
	if (l->len && (l->place - l->at) % UNIT_BYTES == 0)
		l->huge += units_in(l->at, l->at + l->len, UNIT_BYTES) * UNIT_BYTES;
	l->len = 0;
}

/* A page may go over the border of two extents that are next to each other. */
void layout_add(struct layout *l, uint64_t at, uint64_t place, uint64_t len, bool unwritten)
{
	l->extents++;
	l->bytes += len;
	l->largest = max_of(l->largest, len);
	if (unwritten || l->at + l->len != at || l->place + l->len != place)
		layout_end(l);
	if (unwritten) {
		l->unwritten += len;
		return;
	}
	if (!l->len) {
		l->at = at;
		l->place = place;
	}
	l->len += len;
}
