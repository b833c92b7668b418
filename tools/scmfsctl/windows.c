// SPDX-License-Identifier: GPL-2.0-only
/* What of it is mapped in pieces next to each other, for readers and for nvmalloc(). */
#include <errno.h>
#include <stdio.h>

#include "scmfsctl.h"

json_t *windows_look(const struct place *p)
{
	json_t *seen, *windows, *areas;
	struct scmfs_info info;

	if (!ask_info(p, &info))
		return NULL;
	if (!(info.flags & SCMFS_INFO_ADMIN)) {
		errno = EPERM;
		place_refused(p);
		return NULL;
	}
	seen = json_object();
	windows = json_object();
	areas = json_object();
	json_object_set_new(seen, "path", json_string(p->path));
	json_object_set_new(windows, "count", number_of(info.windows));
	json_object_set_new(windows, "mapped_bytes", number_of(info.window_bytes));
	json_object_set_new(windows, "made", number_of(info.windows_made));
	json_object_set_new(windows, "reclaimed", number_of(info.windows_reclaimed));
	json_object_set_new(seen, "windows", windows);
	json_object_set_new(areas, "count", number_of(info.areas));
	json_object_set_new(areas, "reserved_bytes", number_of(info.area_reserved));
	json_object_set_new(areas, "mapped_bytes", number_of(info.area_bytes));
	json_object_set_new(areas, "in_pieces_bytes", number_of(info.area_window_bytes));
	json_object_set_new(seen, "areas", areas);
	return seen;
}

void windows_print(json_t *seen)
{
	json_t *windows = json_object_get(seen, "windows"), *areas = json_object_get(seen, "areas");

	printf("windows   %llu, %s mapped; %llu made since it was mounted, %llu reclaimed\n",
	       (unsigned long long)number(windows, "count"), bytes_at(windows, "mapped_bytes"),
	       (unsigned long long)number(windows, "made"),
	       (unsigned long long)number(windows, "reclaimed"));
	printf("areas     %llu, %s mapped, %s of it in pieces; %s reserved\n",
	       (unsigned long long)number(areas, "count"), bytes_at(areas, "mapped_bytes"),
	       bytes_at(areas, "in_pieces_bytes"), bytes_at(areas, "reserved_bytes"));
}
