// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl lost: ranges that went with members, and the files in them. */
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "ext_files.h"
#include "json_print.h"
#include "lost.h"
#include "msg.h"
#include "quote.h"
#include "units.h"

#define FILES_SHOWN	1000	/* unless --limit says otherwise */
#define BRIEF_SHOWN	20	/* by status */
#define BRIEF_SECONDS	3

struct asked {
	bool files;
	bool json;
	uint64_t offset;
	uint64_t limit;
	const char *name;
};

static int parse(int argc, char **argv, struct asked *a)
{
	static const struct option options[] = {
		{ "files", no_argument, NULL, 'f' },
		{ "offset", required_argument, NULL, 'o' },
		{ "limit", required_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	bool only_files = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'f':
			a->files = true;
			break;
		case 'o':
			if (!parse_size(optarg, &a->offset) || a->offset % SECTOR_SIZE)
				return usage_error("--offset %s: not a multiple of 512", optarg);
			only_files = true;
			break;
		case 'l':
			if (!parse_u64(optarg, &a->limit) || !a->limit || a->limit > UINT32_MAX)
				return usage_error("--limit %s: not a number of files", optarg);
			only_files = true;
			break;
		case 'j':
			a->json = true;
			break;
		case 'h':
			exit(command_help());
		default:
			return bad_option(argv);
		}
	}
	if (only_files && !a->files)
		return usage_error("--offset and --limit go with --files");
	if (argc - optind != 1)
		return usage_error("one name is needed");
	a->name = argv[optind];
	return EXIT_OK;
}

static void lost_bytes(const struct volume *v, struct ranges *r)
{
	uint64_t extent = v->st.extent_sectors * SECTOR_SIZE;
	unsigned int i;

	for (i = 0; i < v->lost.nr; i++)
		ranges_add(r, v->lost.range[i].first * extent, v->lost.range[i].nr * extent);
	ranges_settle(r);
}

static int find(const struct volume *v, const struct asked *a, time_t until, struct ext_files *f)
{
	char *path = xasprintf("/dev/mapper/%s", v->name);
	struct ranges r = { 0 };
	int err;

	lost_bytes(v, &r);
	err = ext_files_find(f, path, a->offset, &r, a->limit, until, !until);
	ranges_free(&r);
	free(path);
	return err;
}

static void print_file(FILE *out, const struct ext_file *file)
{
	char *path = file->path ? quoted(file->path, false) : NULL;
	char lost[UNIT_TEXT], size[UNIT_TEXT];

	fprintf(out, "  %s: ", path ? path : "a name that was not found");
	if (file->lost)
		fprintf(out, "%s of %s", human_bytes(lost, file->lost),
			human_bytes(size, file->size));
	if (file->map)
		fprintf(out, "%swhere its blocks or attributes are%s", file->lost ? ", and " : "",
			file->lost ? "" : ", so that more may be out of reach");
	fprintf(out, " (%s, inode %u)\n", file->type, file->inode);
	free(path);
}

static void print_files(FILE *out, const struct ext_files *f)
{
	char size[UNIT_TEXT];
	unsigned long i;
	bool any = f->all;

	for (i = 0; i < EXT_NR_PARTS; i++) {
		any |= f->part[i];
		if (f->part[i])
			fprintf(out, "  (%s): %s%s\n", ext_part_name[i],
				human_bytes(size, f->part[i]), i == EXT_INODE_TABLE ?
				"; which files were in there can't be told" : "");
	}
	for (i = 0; i < f->nr; i++)
		print_file(out, &f->file[i]);
	if (f->all > f->nr)
		fprintf(out, "  and %llu more files\n", (unsigned long long)(f->all - f->nr));
	if (!any)
		fputs("  nothing that is in use\n", out);
	if (f->partly)
		fputs("  Not all of the file system could be looked through: there may be more, or other names\n",
		      out);
}

static json_t *path_json(const char *path)
{
	json_t *json;
	char *text;

	if (!path)
		return json_null();
	text = quoted(path, false);
	json = json_string(text);
	free(text);
	return json ? json : text_json(path);
}

static json_t *file_json(const struct ext_file *file)
{
	return json_pack("{s:I, s:o, s:s, s:I, s:I, s:I}", "inode", (json_int_t)file->inode,
			 "path", path_json(file->path), "type", file->type,
			 "bytes", (json_int_t)file->size, "lost_bytes", (json_int_t)file->lost,
			 "map_lost_bytes", (json_int_t)file->map);
}

static json_t *files_json(const struct asked *a, const struct ext_files *f)
{
	json_t *parts = json_object(), *files = json_array();
	unsigned long i;

	for (i = 0; i < EXT_NR_PARTS; i++)
		json_object_set_new(parts, ext_part_name[i], json_integer(f->part[i]));
	for (i = 0; i < f->nr; i++)
		json_array_append_new(files, file_json(&f->file[i]));
	return json_pack("{s:I, s:o, s:o, s:I, s:b}", "offset", (json_int_t)a->offset,
			 "metadata_lost_bytes", parts, "files", files,
			 "files_total", (json_int_t)f->all, "complete", !f->partly);
}

static int print_json(const struct volume *v, const struct asked *a, const struct ext_files *f)
{
	json_t *all = json_pack("{s:o, s:o, s:b, s:o}", "name", text_json(v->name),
				"lost", (json_t *)volume_lost_json(v),
				"lost_complete", !v->lost.partly,
				"file_system", a->files ? files_json(a, f) : json_null());

	return json_print(stdout, all, JSON_INDENT(2));
}

static void print(const struct volume *v, const struct asked *a, const struct ext_files *f)
{
	if (!v->lost.nr && !v->lost.partly)
		puts("nothing is lost");
	volume_print_lost(stdout, v, UINT_MAX);
	if (a->files) {
		printf("Of the file system at byte %llu:\n", (unsigned long long)a->offset);
		print_files(stdout, f);
	}
}

int cmd_lost(int argc, char **argv)
{
	struct asked a = { .limit = FILES_SHOWN };
	struct ext_files f = { 0 };
	struct volume v;
	int err = parse(argc, argv, &a);

	if (err)
		return err;
	if (volume_look(&v, a.name, LOOK_LOST))
		return EXIT_FAILED;
	if (a.files)
		err = find(&v, &a, 0, &f);
	if (!err && a.json)
		err = print_json(&v, &a, &f);
	else if (!err)
		print(&v, &a, &f);
	if (!err && v.lost.partly)
		err = EXIT_FAILED;	/* what is missing has been told */
	ext_files_free(&f);
	volume_free(&v);
	return err;
}

void lost_print_mounted(FILE *out, const struct volume *v)
{
	struct asked a = { .limit = BRIEF_SHOWN };
	char *path = xasprintf("/dev/mapper/%s", v->name), *where = NULL;
	const char *stalled = NULL;
	struct ext_files f;
	bool held = false;
	struct stat st;

	if (v->lost.nr && !stat(path, &st)) {
		where = bdev_mounted(st.st_rdev, "ext");
		stalled = bdev_stalled(st.st_rdev);
		held = bdev_has_holders(st.st_rdev);
	}
	free(path);
	if (!where && held)
		fprintf(out, "LOST may be files of what lies on it: hybridctl lost %s --files --offset SIZE names those of an ext2, 3 or 4 there\n",
			v->name);
	if (!where)
		return;
	/* Whatever becomes of the look, what is known is said before. */
	fflush(out);
	if (stalled) {
		fprintf(out, "LOST of what is mounted on %s can't be looked at, %s\n", where,
			stalled);
	} else if (!find(v, &a, time(NULL) + BRIEF_SECONDS, &f)) {
		fprintf(out, "LOST of what is mounted on %s (hybridctl lost %s --files has all):\n",
			where, v->name);
		print_files(out, &f);
		ext_files_free(&f);
	}
	free(where);
}
