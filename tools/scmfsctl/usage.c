// SPDX-License-Identifier: GPL-2.0-only
/* How full it is, and of what. */
#include <stdio.h>

#include "scmfsctl.h"

static json_t *inodes_of(const struct scmfs_info *info)
{
	json_t *inodes = json_object();

	json_object_set_new(inodes, "total", number_of(info->inodes));
	json_object_set_new(inodes, "used", number_of(info->inodes - info->free_inodes));
	json_object_set_new(inodes, "free", number_of(info->free_inodes));
	return inodes;
}

static json_t *file_of(const struct place *p)
{
	json_t *file = json_object();
	struct scmfs_file_info info;
	struct stat now;

	if (fstat(p->fd, &now) ? !place_refused(p) : !ask_file(p, &info)) {
		json_decref(file);
		return NULL;
	}
	json_object_set_new(file, "size_bytes", number_of(now.st_size));
	json_object_set_new(file, "taken_bytes", number_of(info.taken));
	json_object_set_new(file, "ahead_bytes", number_of(info.room));
	return file;
}

/* What only root is told; null for others. */
static bool add_private(const struct place *p, const struct scmfs_info *info, json_t *seen)
{
	bool told = info->flags & SCMFS_INFO_ADMIN;
	uint64_t bytes = 0, files = 0;

	if (told && !ask_room(p, &bytes, &files))
		return false;
	json_object_set_new(seen, "ahead_bytes", told ? number_of(bytes) : json_null());
	json_object_set_new(seen, "ahead_files", told ? number_of(files) : json_null());
	json_object_set_new(seen, "window_bytes",
			    told ? number_of(info->window_bytes) : json_null());
	json_object_set_new(seen, "area_bytes", told ? number_of(info->area_bytes) : json_null());
	json_object_set_new(seen, "pinned_files",
			    told ? number_of(info->pinned) : json_null());
	json_object_set_new(seen, "ram_bytes",
			    told && info->ram ? number_of(info->ram) : json_null());
	json_object_set_new(seen, "log_ram_bytes",
			    told && info->log_ram ? number_of(info->log_ram) : json_null());
	return true;
}

json_t *usage_look(const struct place *p)
{
	json_t *seen, *file = NULL;
	struct scmfs_info info;

	if (!ask_info(p, &info))
		return NULL;
	if (S_ISREG(p->st.st_mode)) {
		file = file_of(p);
		if (!file)
			return NULL;
	}
	seen = json_object();
	json_object_set_new(seen, "path", json_string(p->path));
	json_object_set_new(seen, "memory_bytes", number_of(info.memory));
	json_object_set_new(seen, "metadata_bytes", number_of(info.memory - info.all));
	json_object_set_new(seen, "log_bytes", number_of(info.log));
	json_object_set_new(seen, "log_lanes", number_of(info.log_lanes));
	json_object_set_new(seen, "total_bytes", number_of(info.all));
	json_object_set_new(seen, "used_bytes", number_of(info.all - info.free));
	json_object_set_new(seen, "free_bytes", number_of(info.free));
	json_object_set_new(seen, "inodes", inodes_of(&info));
	if (file)
		json_object_set_new(seen, "file", file);
	if (add_private(p, &info, seen))
		return seen;
	json_decref(seen);
	return NULL;
}

static void print_private(json_t *seen)
{
	if (!json_is_integer(json_object_get(seen, "ahead_bytes"))) {
		puts("more      is for root");
		return;
	}
	printf("ahead     %s of what is used, of %llu files that are written to\n",
	       bytes_at(seen, "ahead_bytes"), (unsigned long long)number(seen, "ahead_files"));
	printf("mapped    %s in windows, %s in areas of nvmalloc()\n",
	       bytes_at(seen, "window_bytes"), bytes_at(seen, "area_bytes"));
	if (number(seen, "pinned_files"))
		printf("pinned    %llu files that no program has open: umount finds it busy\n",
		       (unsigned long long)number(seen, "pinned_files"));
	if (json_is_integer(json_object_get(seen, "log_ram_bytes")))
		printf("RAM       %s for maps and counts, of it %s for the log\n",
		       bytes_at(seen, "ram_bytes"), bytes_at(seen, "log_ram_bytes"));
	else if (json_is_integer(json_object_get(seen, "ram_bytes")))
		printf("RAM       %s for maps, counts and the log\n", bytes_at(seen, "ram_bytes"));
}

void usage_print(json_t *seen)
{
	json_t *inodes = json_object_get(seen, "inodes"), *file = json_object_get(seen, "file");

	printf("memory    %s, of it %s metadata: %s undo log in %llu lanes\n",
	       bytes_at(seen, "memory_bytes"), bytes_at(seen, "metadata_bytes"),
	       bytes_at(seen, "log_bytes"), (unsigned long long)number(seen, "log_lanes"));
	printf("files     %s: %s used (%.1f%%), %s free\n", bytes_at(seen, "total_bytes"),
	       bytes_at(seen, "used_bytes"),
	       percent(number(seen, "used_bytes"), number(seen, "total_bytes")),
	       bytes_at(seen, "free_bytes"));
	printf("inodes    %llu: %llu used (%.1f%%), %llu free\n",
	       (unsigned long long)number(inodes, "total"),
	       (unsigned long long)number(inodes, "used"),
	       percent(number(inodes, "used"), number(inodes, "total")),
	       (unsigned long long)number(inodes, "free"));
	print_private(seen);
	if (file)
		printf("this file %s, takes %s, %s of it ahead of its end\n",
		       bytes_at(file, "size_bytes"), bytes_at(file, "taken_bytes"),
		       bytes_at(file, "ahead_bytes"));
}
