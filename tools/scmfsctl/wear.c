// SPDX-License-Identifier: GPL-2.0-only
/* How often the blocks of each 2 MiB were allocated. */
#include <stdio.h>

#include "scmfsctl.h"

/* Units that are all metadata have no blocks to allocate. */
static bool add_all(const struct place *p, struct spread *s)
{
	__u64 word[SCMFS_LOOK_MAX];
	uint64_t unit = 0;
	struct scmfs_words w;
	uint32_t i;

	do {
		if (!ask_words(p, SCMFS_IOC_WEAR, unit, word, &w))
			return false;
		for (i = 0; i < w.nr; i++, unit++)
			if ((unit + 1) * UNIT_BLOCKS > w.first && unit * UNIT_BLOCKS < w.end)
				spread_add(s, word[i]);
	} while (w.nr);
	return true;
}

static json_t *one_class(uint64_t least, uint64_t most, uint64_t units)
{
	json_t *class = json_object();

	json_object_set_new(class, "least", number_of(least));
	json_object_set_new(class, "most", number_of(most));
	json_object_set_new(class, "units", number_of(units));
	return class;
}

static json_t *histogram_of(const struct spread *s)
{
	json_t *histogram = json_array();
	unsigned int i;

	if (s->zeroes)
		json_array_append_new(histogram, one_class(0, 0, s->zeroes));
	for (i = 0; i < CLASSES; i++)
		if (s->class[i])
			json_array_append_new(histogram, one_class(1ull << i, (2ull << i) - 1,
								   s->class[i]));
	return histogram;
}

json_t *wear_look(const struct place *p)
{
	struct spread s = { 0 };
	json_t *seen;

	if (!add_all(p, &s))
		return NULL;
	seen = json_object();
	json_object_set_new(seen, "path", json_string(p->path));
	json_object_set_new(seen, "unit_bytes", number_of(UNIT_BYTES));
	json_object_set_new(seen, "units", number_of(s.nr));
	json_object_set_new(seen, "allocated_blocks", number_of(s.sum));
	json_object_set_new(seen, "least", number_of(s.least));
	json_object_set_new(seen, "mean", json_real(s.nr ? (double)s.sum / s.nr : 0));
	json_object_set_new(seen, "most", number_of(s.most));
	json_object_set_new(seen, "histogram", histogram_of(&s));
	return seen;
}

void wear_print(json_t *seen)
{
	json_t *histogram = json_object_get(seen, "histogram"), *class;
	uint64_t units = number(seen, "units");
	char line[33];
	size_t i;

	printf("blocks allocated in each 2 MiB: %llu at least, %.1f on average, %llu at most\n",
	       (unsigned long long)number(seen, "least"),
	       json_number_value(json_object_get(seen, "mean")),
	       (unsigned long long)number(seen, "most"));
	printf("%12s %12s %10s\n", "FROM", "TO", "2 MiB");
	json_array_foreach(histogram, i, class) {
		bar(line, 32, units ? number(class, "units") * 1000000 / units : 0, UINT64_MAX);
		printf("%12llu %12llu %10llu %s\n", (unsigned long long)number(class, "least"),
		       (unsigned long long)number(class, "most"),
		       (unsigned long long)number(class, "units"), line);
	}
}
