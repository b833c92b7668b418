// SPDX-License-Identifier: GPL-2.0-only
/* In how many pieces free memory is, or a file. */
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "scmfsctl.h"

#define EXTENTS	256u		/* that a call tells */

/* --- free memory ------------------------------------------------------------------------------ */

static bool add_blocks(const struct place *p, struct runs *r)
{
	__u64 word[SCMFS_LOOK_MAX];
	uint64_t block = 0;
	struct scmfs_words w;

	do {
		if (!ask_words(p, SCMFS_IOC_USED, block, word, &w))
			return false;
		runs_add(r, block, word, w.nr, w.first, w.end);
		block += 64ull * w.nr;
	} while (w.nr);
	runs_end(r, w.end);
	return true;
}

static json_t *histogram_of(const struct runs *r)
{
	json_t *histogram = json_array(), *class;
	unsigned int i;

	for (i = 0; i < CLASSES; i++) {
		if (!r->nr[i])
			continue;
		class = json_object();
		json_object_set_new(class, "least_bytes", number_of((uint64_t)BLOCK << i));
		json_object_set_new(class, "runs", number_of(r->nr[i]));
		json_object_set_new(class, "bytes", number_of(r->blocks[i] * BLOCK));
		json_array_append_new(histogram, class);
	}
	return histogram;
}

static json_t *look_at_free(const struct place *p)
{
	struct runs r = { 0 };
	struct scmfs_info info;
	uint64_t nr = 0;
	unsigned int i;
	json_t *seen;

	if (!ask_info(p, &info) || !add_blocks(p, &r))
		return NULL;
	for (i = 0; i < CLASSES; i++)
		nr += r.nr[i];
	seen = json_object();
	json_object_set_new(seen, "path", json_string(p->path));
	json_object_set_new(seen, "free_bytes", number_of(r.free * BLOCK));
	json_object_set_new(seen, "runs", number_of(nr));
	json_object_set_new(seen, "largest_bytes", number_of(r.largest * BLOCK));
	json_object_set_new(seen, "whole_units", number_of(r.units));
	json_object_set_new(seen, "whole_unit_bytes", number_of(r.units * UNIT_BYTES));
	json_object_set_new(seen, "huge_pages", json_boolean(!info.skew));
	json_object_set_new(seen, "histogram", histogram_of(&r));
	return seen;
}

static void print_free(json_t *seen)
{
	json_t *histogram = json_object_get(seen, "histogram"), *class;
	uint64_t all = number(seen, "free_bytes");
	char line[33];
	size_t i;

	printf("free      %s in %llu runs, the largest %s\n", bytes_at(seen, "free_bytes"),
	       (unsigned long long)number(seen, "runs"), bytes_at(seen, "largest_bytes"));
	printf("whole     %llu times 2 MiB (%.1f%% of what is free)%s\n",
	       (unsigned long long)number(seen, "whole_units"),
	       percent(number(seen, "whole_unit_bytes"), all),
	       json_is_true(json_object_get(seen, "huge_pages")) ? "" :
	       "; no huge pages: the memory begins at an odd address");
	printf("%10s %10s %10s\n", "FROM", "RUNS", "BYTES");
	json_array_foreach(histogram, i, class) {
		bar(line, 32, (uint64_t)(percent(number(class, "bytes"), all) * 10000), UINT64_MAX);
		printf("%10s %10llu %10s %s\n", bytes_at(class, "least_bytes"),
		       (unsigned long long)number(class, "runs"), bytes_at(class, "bytes"), line);
	}
}

/* --- a file ----------------------------------------------------------------------------------- */

/* The next extents from @from on; -1: failed, 0: that was all. */
static int add_extents(const struct place *p, struct fiemap *map, uint64_t *from, uint64_t skew,
		       struct layout *l)
{
	const struct fiemap_extent *e = NULL;
	uint32_t i;

	*map = (struct fiemap){
		.fm_start = *from,
		.fm_length = FIEMAP_MAX_OFFSET - *from,
		.fm_extent_count = EXTENTS,
	};
	if (ioctl(p->fd, FS_IOC_FIEMAP, map)) {
		place_refused(p);
		return -1;
	}
	for (i = 0; i < map->fm_mapped_extents; i++) {
		e = map->fm_extents + i;
		layout_add(l, e->fe_logical, e->fe_physical + skew, e->fe_length,
			   e->fe_flags & FIEMAP_EXTENT_UNWRITTEN);
		*from = e->fe_logical + e->fe_length;
	}
	return e && !(e->fe_flags & FIEMAP_EXTENT_LAST);
}

static bool add_file(const struct place *p, uint64_t skew, struct layout *l)
{
	struct fiemap *map = malloc(sizeof(*map) + EXTENTS * sizeof(*map->fm_extents));
	uint64_t from = 0;
	int more = -1;

	if (!map)
		abort();
	do
		more = add_extents(p, map, &from, skew, l);
	while (more > 0);
	free(map);
	layout_end(l);
	return !more;
}

static json_t *look_at_file(const struct place *p)
{
	struct layout l = { 0 };
	struct scmfs_info info;
	json_t *seen;

	/* FIEMAP goes on when the file system is shut down; this doesn't */
	if (!ask_info(p, &info) || !add_file(p, info.skew, &l))
		return NULL;
	seen = json_object();
	json_object_set_new(seen, "path", json_string(p->path));
	json_object_set_new(seen, "extents", number_of(l.extents));
	json_object_set_new(seen, "bytes", number_of(l.bytes));
	json_object_set_new(seen, "unwritten_bytes", number_of(l.unwritten));
	json_object_set_new(seen, "mean_bytes", number_of(l.extents ? l.bytes / l.extents : 0));
	json_object_set_new(seen, "largest_bytes", number_of(l.largest));
	json_object_set_new(seen, "huge_bytes", number_of(l.huge));
	return seen;
}

static void print_file(json_t *seen)
{
	printf("extents   %llu of %s, %s on average, the largest %s\n",
	       (unsigned long long)number(seen, "extents"), bytes_at(seen, "bytes"),
	       bytes_at(seen, "mean_bytes"), bytes_at(seen, "largest_bytes"));
	printf("unwritten %s\n", bytes_at(seen, "unwritten_bytes"));
	printf("huge      %s can be mapped by pages of 2 MiB (%.1f%%)\n",
	       bytes_at(seen, "huge_bytes"), percent(number(seen, "huge_bytes"),
						     number(seen, "bytes")));
}

json_t *frag_look(const struct place *p)
{
	return S_ISREG(p->st.st_mode) ? look_at_file(p) : look_at_free(p);
}

void frag_print(json_t *seen)
{
	if (json_object_get(seen, "extents"))
		print_file(seen);
	else
		print_free(seen);
}
