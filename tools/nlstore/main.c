// SPDX-License-Identifier: GPL-2.0-only
/* nlstore: a tree of files on a device of the FTL nameless. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../common/devices.h"
#include "../common/text.h"
#include "../common/words.h"
#include "import.h"
#include "say.h"
#include "store.h"

struct configfs configfs = { .tool = "nlstore", .module = "nameless" };

static const char *reason(int err)
{
	switch (err) {
	case -EBUSY:
		return "it has a client, is in use, or is being changed";
	case -ENOENT:
		return "no such device of the FTL nameless";
	case -ENODATA:
		return "there is no store";
	case -EEXIST:
		return "there is something already (--force ends it)";
	case -EUCLEAN:
		return "the store is damaged";
	case -EPROTONOSUPPORT:
		return "the store is of a later format";
	default:
		return strerror(-err);
	}
}

static int explain(const char *device, int err)
{
	return err ? complain("%s: %s", device, reason(err)) : EXIT_OK;
}

/* COMMAND DEVICE [FOLDER]: without options that are left. */
static bool are_words(int argc, char **argv, int count)
{
	return argc == count && argv[0][0] != '-';
}

static int print_json(json_t *object)
{
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(object);
	return fflush(stdout) ? complain("cannot write") : EXIT_OK;
}

static int cmd_format(int argc, char **argv)
{
	bool force = take_flag(&argc, argv, "--force");

	if (!are_words(argc, argv, 1))
		return usage();
	return explain(argv[0], store_format(argv[0], force));
}

/* So many migrations may wait before the device stops leveling; 0: configfs does not tell. */
static uint64_t moves_of(const char *device)
{
	const char *slash = strrchr(device, '/');
	char *params = attr_read(slash ? slash + 1 : device, "params");
	uint64_t moves = info_number(params, "moves");

	free(params);
	return moves;
}

/* The store of a command of so many words; an exit status. */
static int open_store(struct ns_store *store, int argc, char **argv, int words, bool write)
{
	int err;

	if (!are_words(argc, argv, words))
		return usage();
	err = store_open(store, argv[0], write);
	if (err)
		return explain(argv[0], err);
	store_allow(store, moves_of(argv[0]));
	return EXIT_OK;
}

/* What was done last: it may have failed, too. */
static int close_store(struct ns_store *store, const char *device, int err)
{
	int failed = explain(device, store_close(store));

	return err ? err : failed;
}

static json_t *json_of_import(const struct ns_store *store, const struct ns_import *result)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "generation",
			 (json_int_t)store->generation, "files", (json_int_t)result->files,
			 "unchanged", (json_int_t)result->unchanged, "blocks_written",
			 (json_int_t)result->written, "blocks_kept", (json_int_t)result->kept,
			 "skipped", (json_int_t)result->skipped, "moved",
			 (json_int_t)store->moved, "missing", (json_int_t)store->missing);
}

static int cmd_import(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json");
	bool reread = take_flag(&argc, argv, "--reread");
	struct ns_import result = { 0 };
	struct ns_store store;
	int err;

	err = open_store(&store, argc, argv, 2, true);
	if (err)
		return err;
	err = import_folder(&store, argv[1], reread, &result);
	if (!err && json)
		err = print_json(json_of_import(&store, &result));
	else if (!err)
		printf("%s: generation %ju, %ju files, %ju unchanged, %ju blocks written, %ju kept, %ju were missing\n",
		       argv[0], (uintmax_t)store.generation, (uintmax_t)result.files,
		       (uintmax_t)result.unchanged, (uintmax_t)result.written,
		       (uintmax_t)result.kept, (uintmax_t)store.missing);
	return close_store(&store, argv[0], err);
}

static int cmd_export(int argc, char **argv)
{
	struct ns_store store;
	int err;

	err = open_store(&store, argc, argv, 2, false);
	if (err)
		return err;
	err = export_folder(&store, argv[1]);
	return close_store(&store, argv[0], err);
}

/* Opening it for changes does it all: orphans are freed, migrations taken and acknowledged. */
static int cmd_tend(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json");
	struct ns_store store;
	int err;

	err = open_store(&store, argc, argv, 1, true);
	if (err)
		return err;
	if (json)
		err = print_json(json_pack("{s:I,s:I,s:I}", "orphans_freed",
					   (json_int_t)store.orphans, "moved",
					   (json_int_t)store.moved, "missing",
					   (json_int_t)store.missing));
	else
		printf("%s: %ju orphans freed, %ju blocks moved, %ju missing\n", argv[0],
		       (uintmax_t)store.orphans, (uintmax_t)store.moved,
		       (uintmax_t)store.missing);
	return close_store(&store, argv[0], err);
}

/* --- list ------------------------------------------------------------------------------------- */

static const char * const type_names[] = {
	[NS_DIRECTORY] = "directory", [NS_FILE] = "file", [NS_SYMLINK] = "symlink",
	[NS_LINK] = "link", [NS_FIFO] = "fifo", [NS_CHAR] = "char", [NS_BLOCK] = "block",
};

/* Two digits a byte; to be freed. */
static char *hex_of(const char *text)
{
	size_t length = strlen(text), i;
	char *hex = malloc(2 * length + 1);

	if (!hex)
		return NULL;
	*hex = 0;
	for (i = 0; i < length; i++)
		sprintf(hex + 2 * i, "%02hhx", text[i]);
	return hex;
}

/* Paths that are not UTF-8 can't be in JSON: @key is null then, and @key_hex has the bytes. */
static void set_text(json_t *object, const char *key, const char *text)
{
	json_t *string = json_string(text);
	char *hex = string ? NULL : hex_of(text), name[32];

	json_object_set_new(object, key, string ? string : json_null());
	if (!hex)
		return;
	snprintf(name, sizeof(name), "%s_hex", key);
	json_object_set_new(object, name, json_string(hex));
	free(hex);
}

static json_t *json_of_node(const struct ns_node *node)
{
	json_t *object = json_object();

	set_text(object, "path", node->path);
	json_object_update_new(object,
			       json_pack("{s:s,s:I,s:I,s:I,s:I,s:f}", "type",
					 type_names[node->type], "mode", (json_int_t)node->mode,
					 "uid", (json_int_t)node->uid, "gid",
					 (json_int_t)node->gid, "size", (json_int_t)node->size,
					 "mtime", node->mtime + node->mtime_nsec / 1e9));
	if (node->target)
		set_text(object, "target", node->target);
	return object;
}

static void print_node(const struct ns_node *node)
{
	time_t when = node->mtime;
	char text[32] = "-";
	struct tm tm;

	if (localtime_r(&when, &tm))
		strftime(text, sizeof(text), "%F %T", &tm);
	printf("%-9s %04o %6u %6u %12ju %s ", type_names[node->type], node->mode, node->uid,
	       node->gid, (uintmax_t)node->size, text);
	say_path(stdout, node->path);
	if (node->target) {
		printf(" -> ");
		text_put(stdout, node->target, strlen(node->target));
	}
	putchar('\n');
}

static int list_json(const struct ns_store *store)
{
	json_t *nodes = json_array();
	size_t i;

	for (i = 0; i < store->tree.nr; i++)
		json_array_append_new(nodes, json_of_node(&store->tree.node[i]));
	return print_json(json_pack("{s:I,s:o}", "generation", (json_int_t)store->generation,
				    "entries", nodes));
}

static int cmd_list(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json");
	struct ns_store store;
	size_t i;
	int err;

	err = open_store(&store, argc, argv, 1, false);
	if (err)
		return err;
	if (json)
		err = list_json(&store);
	for (i = 0; !json && i < store.tree.nr; i++)
		print_node(&store.tree.node[i]);
	if (!err && fflush(stdout))
		err = complain("cannot write");
	return close_store(&store, argv[0], err);
}

/* --- verify ----------------------------------------------------------------------------------- */

struct verify {
	struct ns_store *store;
	json_t *damaged;	/* NULL: text */
	uint64_t files, blocks, bad;
	uint8_t *data;
};

static void note_damage(struct verify *verify, const struct ns_node *node, uint32_t block)
{
	json_t *object;

	verify->bad++;
	if (!verify->damaged) {
		say_path(stdout, node->path);
		printf(": block %u is damaged\n", block);
		return;
	}
	object = json_object();
	set_text(object, "path", node->path);
	json_object_set_new(object, "block", json_integer(block));
	json_array_append_new(verify->damaged, object);
}

/* What is behind a block that is damaged is looked at, too. */
static int verify_node(struct verify *verify, const struct ns_node *node)
{
	uint32_t at, nr;
	unsigned int bad;
	int err;

	verify->files += node->type == NS_FILE;
	for (at = 0; at < node->blocks; at += nr) {
		nr = node->blocks - at < NS_BATCH ? node->blocks - at : NS_BATCH;
		err = store_read(verify->store, node->piece + at, nr, verify->data, &bad);
		if (err && err != -EUCLEAN)
			return err;
		if (err) {
			note_damage(verify, node, at + bad);
			nr = bad + 1;
		}
	}
	return 0;
}

static json_t *json_of_verify(const struct verify *verify)
{
	const struct ns_store *store = verify->store;

	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:O}", "generation",
			 (json_int_t)store->generation, "files", (json_int_t)verify->files,
			 "blocks", (json_int_t)verify->blocks, "orphans",
			 (json_int_t)store->orphans, "foreign", (json_int_t)store->foreign, "moved",
			 (json_int_t)store->moved, "damaged", verify->damaged);
}

static int verify_store(struct verify *verify, const char *device)
{
	const struct ns_store *store = verify->store;
	size_t i;
	int err = verify->data ? 0 : -ENOMEM;

	verify->blocks = store->map.used - store->orphans;
	for (i = 0; !err && i < store->tree.nr; i++)
		err = verify_node(verify, &store->tree.node[i]);
	if (err)
		return explain(device, err);
	if (verify->damaged)
		err = print_json(json_of_verify(verify));
	else
		printf("%s: generation %ju, %ju files, %ju blocks, %ju damaged, %ju orphans, %ju of others\n",
		       device, (uintmax_t)store->generation, (uintmax_t)verify->files,
		       (uintmax_t)verify->blocks, (uintmax_t)verify->bad,
		       (uintmax_t)store->orphans, (uintmax_t)store->foreign);
	return err || verify->bad ? EXIT_FAILED : EXIT_OK;
}

static int cmd_verify(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json");
	struct verify verify = { 0 };
	struct ns_store store;
	int err;

	err = open_store(&store, argc, argv, 1, false);
	if (err)
		return err;
	verify.store = &store;
	verify.damaged = json ? json_array() : NULL;
	verify.data = malloc((size_t)NS_BATCH * store.block);
	err = verify_store(&verify, argv[0]);
	free(verify.data);
	json_decref(verify.damaged);
	return close_store(&store, argv[0], err);
}

static const struct command commands[] = {
	{ "format", cmd_format, false, "DEVICE [--force]", "make an empty store",
	  "  --force          although there is something: its virtual segment is used, and a store\n"
	  "                   that was there is gone\n" },
	{ "import", cmd_import, false, "DEVICE FOLDER [--reread] [--json]", "the folder becomes the tree",
	  "All of it or nothing.  What has not changed since the last time is not read.\n"
	  "\n"
	  "  --reread         read all, and write what is damaged again\n"
	  "  --json           as JSON\n" },
	{ "export", cmd_export, false, "DEVICE FOLDER", "write the tree into an empty folder", "" },
	{ "list", cmd_list, false, "DEVICE [--json]", "what is in the tree",
	  "  --json           as JSON\n" },
	{ "verify", cmd_verify, false, "DEVICE [--json]", "read all that there is",
	  "Damaged blocks are listed; then the exit status is 1.  Nothing is changed: an import\n"
	  "with --reread writes them again.\n"
	  "\n"
	  "  --json           as JSON\n" },
	{ "tend", cmd_tend, false, "DEVICE [--json]", "acknowledge migrations, free orphans",
	  "Import does the same on the way.\n"
	  "\n"
	  "  --json           as JSON\n" },
	{ NULL, NULL, false, NULL, NULL, NULL },
};

const struct tool tool = {
	.name = "nlstore",
	.about = "A tree of files on a device of the FTL nameless, whose blocks the device names.",
	.notes = "Devices are those of nlctl.\n"
		 "Exit status: 0 done, 1 refused, failed or damaged, 2 wrong command line.",
	.commands = commands,
};

int main(int argc, char **argv)
{
	return devices_main(argc, argv);
}
