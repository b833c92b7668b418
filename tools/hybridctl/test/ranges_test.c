// SPDX-License-Identifier: GPL-2.0-only
/* Ranges into repeating ones, and back. */
#include <stdlib.h>
#include <string.h>

#include "../ranges.h"
#include "ktap.h"

#define EXTENTS	20000

static unsigned char want[EXTENTS], got[EXTENTS];

static void read_back(const char *text)
{
	unsigned long long first, nr, stride, times, i, k;
	char copy[PINS_TEXT], *pin, *save;
	unsigned int member;

	strcpy(copy, text);
	memset(got, 0, sizeof(got));
	for (pin = strtok_r(copy, ",", &save); pin; pin = strtok_r(NULL, ",", &save)) {
		if (sscanf(pin, "%llu+%llu/%llu*%llu:%u", &first, &nr, &stride, &times,
			   &member) != 5) {
			stride = 0;
			times = 1;
			if (sscanf(pin, "%llu+%llu:%u", &first, &nr, &member) != 3)
				return;
		}
		for (k = 0; k < times; k++)
			for (i = 0; i < nr; i++)
				got[first + k * stride + i]++;
	}
}

static void test_rows(void)
{
	struct ranges r = { 0 };
	char text[PINS_TEXT];
	unsigned int i;

	for (i = 0; i < 100; i++)
		ranges_add(&r, i * 128, i ? 9 : 20);
	ranges_add(&r, 50, 1);
	ranges_settle(&r);
	ranges_to_pins(&r, 3, text);
	ktap_ok(!strcmp(text, "0+9/128*100:3,9+11:3,50+1:3") && !r.nr, "rows: %s", text);
	ranges_free(&r);
}

static void test_overlaps(void)
{
	struct ranges r = { 0 };

	ranges_add(&r, 10, 5);
	ranges_add(&r, 0, 3);
	ranges_add(&r, 12, 1);
	ranges_add(&r, 15, 2);
	ranges_add(&r, 3, 0);
	ranges_settle(&r);
	ktap_ok(r.nr == 2 && r.range[0].nr == 3 && r.range[1].first == 10 && r.range[1].nr == 7,
		"ranges that overlap or touch are one");
	ranges_free(&r);
	ktap_ok(!ranges_sum(&r), "none of none");
}

static void test_lost(void)
{
	struct ranges r = { 0 };

	ranges_add(&r, 10, 5);
	ranges_add(&r, 20, 5);
	ranges_add(&r, 30, 5);
	ranges_settle(&r);
	ktap_ok(ranges_overlap(&r, 0, 100) == 15 && ranges_overlap(&r, 12, 20) == 10 &&
		ranges_overlap(&r, 15, 5) == 0 && ranges_overlap(&r, 14, 7) == 2 &&
		ranges_overlap(&r, 22, 1) == 1 && !ranges_overlap(&r, 35, 9),
		"how much of a range lies in others");
	ranges_free(&r);
}

/* Whatever it is: nothing twice, nothing else, and what is missing is what is left. */
static void test_any(void)
{
	bool same = true, fits = true;
	struct ranges r = { 0 };
	char text[PINS_TEXT];
	unsigned int turn, i;
	unsigned long j;

	srand(ktap_seed());
	for (turn = 0; turn < 50; turn++) {
		memset(want, 0, sizeof(want));
		for (i = 0; i < 1 + turn * 3; i++)
			ranges_add(&r, rand() % (EXTENTS - 100), rand() % 60 + 1);
		ranges_settle(&r);
		for (j = 0; j < r.nr; j++)
			memset(want + r.range[j].first, 1, r.range[j].nr);
		ranges_to_pins(&r, 31, text);
		fits &= strlen(text) < PINS_TEXT;
		read_back(text);
		for (j = 0; j < r.nr; j++)
			for (i = 0; i < r.range[j].nr; i++)
				got[r.range[j].first + i]++;
		same &= !memcmp(want, got, sizeof(want));
		ranges_free(&r);
	}
	ktap_ok(fits, "the text fits");
	ktap_ok(same, "pins and what is left are what there was, once");
}

int main(void)
{
	ktap_begin();
	test_rows();
	test_overlaps();
	test_lost();
	test_any();
	return ktap_end();
}
