// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl: makes and looks after hybrid volumes. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "dm.h"
#include "interrupt.h"
#include "msg.h"
#include "quote.h"
#include "../common/stdio_fds.h"

#define NAME_MAX_LEN	127

static const struct command commands[] = {
	{ "create", cmd_create, false, "NAME DEV... [OPTION]...",
	  "make a volume out of devices",
	  "  --policy P       placement policy (wardrop)\n"
	  "  --set KEY=VALUE  policy or mover parameter; can be repeated\n"
	  "  --extent SIZE    extent size, 64K to 4M, a power of two (128K, larger if need be)\n"
	  "  --size SIZE      size of the volume (all but a reserve for migration)\n"
	  "  --metadata DEV   metadata on a device of its own; twice: mirrored\n"
	  "                   (at the start of the first two devices)\n"
	  "  --discard        discard the devices first\n"
	  "  --force          overwrite file systems, partition tables and labels of other hybrid\n"
	  "                   volumes\n"
	  "  --volatile-ok    take RAM disks, whose content is lost with the power\n" },
	{ "assemble", cmd_assemble, false, "[NAME | UUID [--name OTHER] | --all | --with DEV] [--degraded]",
	  "activate volumes from their labels",
	  "  --all            every complete pool; the others are reported\n"
	  "  --with DEV       the pool that DEV belongs to, if all of it is there\n"
	  "  --degraded       without members that are missing, whose data can't be read then\n"
	  "  --name OTHER     by that name, until it is stopped\n" },
	{ "stop", cmd_stop, false, "NAME", "deactivate a volume", "" },
	{ "identify", cmd_identify, false, "DEV [--udev [--was UUID]]",
	  "what a device is to which volume",
	  "  --udev           as properties for udev's rules\n"
	  "  --was UUID       and whether it is a part of that pool\n" },
	{ "list", cmd_list, false, "[--json]", "active and inactive volumes",
	  "  --json           as JSON\n" },
	{ "status", cmd_status, false, "NAME [--json]", "a volume's state, loads and response times",
	  "  --json           as JSON\n" },
	{ "lost", cmd_lost, false, "NAME [--files [--offset SIZE] [--limit N]] [--json]",
	  "what went with members that are lost",
	  "  --files          and which files of an ext2, 3 or 4 on the volume\n"
	  "  --offset SIZE    where the file system begins on the volume (0)\n"
	  "  --limit N        name so many files at most (1000)\n"
	  "  --json           as JSON\n" },
	{ "monitor", cmd_monitor, false, "NAME [--interval S] [--count N] [--plain] | --events [--count N]",
	  "a volume's state, live; q quits",
	  "  --interval S     seconds between looks (2)\n"
	  "  --count N        end after so many\n"
	  "  --plain          one block of lines per look, no cursor control\n"
	  "  --events         a line for each change of its state, until it is stopped\n" },
	{ "record", cmd_record, false, "NAME [--interval S] [--for S] [-o FILE]",
	  "write down what monitor shows, a line of JSON each time, until interrupted",
	  "  --interval S     seconds between looks (2)\n"
	  "  --for S          end after that\n"
	  "  -o, --output FILE\n"
	  "                   to this file (standard output)\n" },
	{ "report", cmd_report, false, "NAME | FILE [--interval S] [--for S] [-o FILE]",
	  "a page of HTML with plots, of a recording or of an active volume",
	  "  --interval S     of a volume: seconds between looks (2)\n"
	  "  --for S          of a volume: how long it is looked at (20)\n"
	  "  -o, --output FILE\n"
	  "                   to this file (standard output)\n" },
	{ "set", cmd_set, false, "NAME KEY=VALUE...", "change parameters while it runs", "" },
	{ "policy", cmd_policy, false, "NAME POLICY [KEY=VALUE]...",
	  "change the policy while it runs", "" },
	{ "pin", cmd_pin, false,
	  "NAME [OFFSET LENGTH MEMBER | --remove [OFFSET LENGTH] | --ext4-metadata MEMBER]",
	  "hold ranges on a member; without more: which are held",
	  "  --remove         hold the range no longer; all of them\n"
	  "  --ext4-metadata MEMBER\n"
	  "                   what an ext2, 3 or 4 on the volume has for metadata, in place of\n"
	  "                   all that is held\n"
	  "  --dry-run        show, and change nothing\n"
	  "  --json           as JSON\n" },
	{ "explain", cmd_explain, false, "NAME OFFSET [--json]",
	  "where a byte's extent is, and why it stays or where it would go",
	  "  --json           as JSON\n" },
	{ "optimize", cmd_optimize, false, "NAME [OPTION]...",
	  "plan over all extents at once, move them, and measure what it brought",
	  "  --budget SIZE|N  move at most so much, or so many extents (1G)\n"
	  "  --window S       seconds to measure, before and afterwards (10)\n"
	  "  --dry-run        show the plan and the predicted gain, and move nothing\n"
	  "  --json           as JSON\n" },
	{ "add", cmd_add, false, "NAME DEV [OPTION]...", "let a device join a volume while it runs",
	  "  --grow           and let the volume grow\n"
	  "  --force          overwrite file systems, partition tables and labels of other hybrid\n"
	  "                   volumes\n"
	  "  --volatile-ok    take a RAM disk, whose content is lost with the power\n" },
	{ "grow", cmd_grow, false, "NAME [--size SIZE]", "let a volume grow to what its members hold",
	  "  --size SIZE      to this size (all but a reserve for migration)\n" },
	{ "evacuate", cmd_evacuate, false, "NAME DEV [--no-wait|--give-up] [--force] | --cancel",
	  "empty a member while the volume runs",
	  "  --no-wait        only begin; it goes on by itself, also after a restart\n"
	  "  --force          though the others can't hold all of the volume, were it written\n"
	  "  --give-up        discard what can't be read, so that the rest can move\n"
	  "  --cancel         the member is to stay after all\n" },
	{ "reinstate", cmd_reinstate, false, "NAME DEV",
	  "trust a member again that is degraded or has failed, as the cause is gone", "" },
	{ "detach", cmd_detach, false, "NAME DEV [--force]",
	  "go on without a device that is dead, so that it can be unplugged",
	  "  --force          though what is on it can still be read\n" },
	{ "attach", cmd_attach, false, "NAME DEV [--force]",
	  "have a device again that the volume is without",
	  "  --force          though its metadata went on alone, which is forgotten\n" },
	{ "remove", cmd_remove, false, "NAME DEV [--force]", "let a member go that is empty",
	  "  --force          though the others can't hold all of the volume, were it written\n" },
	{ "replace", cmd_replace, false, "NAME DEV NEW [OPTION]...",
	  "put a device in another's place while the volume runs: add, evacuate, remove",
	  "  --force          overwrite file systems, partition tables and labels of other hybrid\n"
	  "                   volumes on the new one\n"
	  "  --give-up        discard what of the old one can't be read\n"
	  "  --volatile-ok    take a RAM disk, whose content is lost with the power\n" },
	{ "metadata", cmd_metadata, false, "NAME resync | NAME move AREA DEV [OPTION]...",
	  "make a metadata area a mirror again, or move it, while the volume runs",
	  "  --force          overwrite file systems, partition tables and labels of other hybrid\n"
	  "                   volumes on the new device\n"
	  "  --volatile-ok    take a RAM disk, whose content is lost with the power\n" },
	{ "check", cmd_check, false, "NAME | DEV... [--json]",
	  "check a volume's metadata, by name while it is active (reads only)",
	  "  --json           as JSON\n" },
	{ "dump", cmd_dump, false, "DEV... [--map]", "print labels and superblock of an inactive volume",
	  "  --map            also every mapped extent\n" },
	{ "restore", cmd_restore, false, "[FILE | -] DEV... [--degraded | --labels] [--force]",
	  "write the metadata of an inactive volume anew, from a dump --map",
	  "  --degraded       without a metadata area that is not there, or can't be written\n"
	  "  --force          though it is sound, or may be newer than the dump\n"
	  "  --labels         only labels of which the copies are gone, too: the rest is left; with\n"
	  "                   --force over what else is on the device\n" },
	{ "size", cmd_size, false, "SIZE... [--extent SIZE]",
	  "how much metadata members of these sizes take",
	  "  --extent SIZE    extent size (128K)\n" },
	{ "repair", cmd_repair, false, "DEV... [--degraded] [--force]",
	  "mend the metadata of an inactive volume from what is intact of it",
	  "  --degraded       without a metadata area that may be the newer one: it is not\n"
	  "                   there, or has no superblock that can be read\n"
	  "  --force          overwrite it; write labels anew where something else is now\n" },
	{ NULL, NULL, false, NULL, NULL, NULL },
};

const struct tool tool = {
	.name = "hybridctl",
	.about = "Volumes out of unlike devices, each carrying the load at which all answer equally fast.",
	.notes = "Exit status: 0 done, 1 refused or failed\n"
		 "(check: errors found), 2 wrong command line\n"
		 "(check, dump, restore, repair: or a device that can't be used).",
	.commands = commands,
};

int bad_option(char **argv)
{
	return usage_error("%s: unknown option, or its argument is missing", argv[optind - 1]);
}

#define NOT_A_NAME	"%s: not a name for a volume (letters, digits and #+-.:=@_, up to %d)"

static bool name_is_good(const char *name, bool mangled)
{
	size_t len = strlen(name), n = 0;

	if (mangled)
		while (name[n] && name_takes(name + n))
			n += name_takes(name + n);
	else
		n = strspn(name, NAME_CHARACTERS);
	return len && len <= NAME_MAX_LEN && n == len && strcmp(name, ".") && strcmp(name, "..") &&
	       strcmp(name, "control");
}

bool good_name(const char *name)
{
	if (name_is_good(name, false))
		return true;
	usage_error(NOT_A_NAME, *name ? name : "''", NAME_MAX_LEN);
	return false;
}

bool good_label_name(const char *name)
{
	if (name_is_good(name, true))
		return true;
	fail(NOT_A_NAME, *name ? name : "''", NAME_MAX_LEN);
	return false;
}

int need_dm(void)
{
	int err;

	if (geteuid())
		return fail("must be root");
	err = dm_reachable();
	if (err)
		return fail("device-mapper can't be reached: %s", strerror(-err));
	return EXIT_OK;
}

int need_volume(const char *name)
{
	char *params;
	uint64_t sectors;
	int err = need_dm();

	if (err)
		return err;
	err = dm_get_table(name, &params, &sectors);
	if (!err)
		free(params);
	if (err == -ENXIO)
		return fail("%s: no active volume of that name", name);
	if (err == -EMEDIUMTYPE)
		return fail("%s: not a hybrid volume", name);
	return err ? fail("%s: %s", name, strerror(-err)) : EXIT_OK;
}

/* Output that did not get out (a full disk, a closed pipe) is a failure, too. */
static int finish(int status)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	end_with_readers();
	/* It may have failed before, and nobody knows why any more. */
	fail("standard output: %s", errno ? strerror(errno) : "not all of it could be written");
	return status ? status : EXIT_FAILED;
}

static int unknown(const char *name)
{
	return usage_error("unknown command '%s'", name);
}

/* Of all commands, or of the one that is named. */
static int help(int argc, char **argv)
{
	if (argc < 2)
		return tool_help();
	if (argc > 2)
		return usage_error("help: one command, or none");
	command_current = command_find(argv[1]);
	return command_current ? command_help() : unknown(argv[1]);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	keep_stdio();
	outlive_readers();
	if (!name)
		return usage_error("no command given");
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
		return finish(help(argc - 1, argv + 1));
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		printf("hybridctl %s\n", EVENKEEL_VERSION);
		return finish(EXIT_OK);
	}
	command_current = command_find(name);
	if (!command_current)
		return unknown(name);
	msg_command = command_current->name;
	opterr = 0;
	return finish(command_current->run(argc - 1, argv + 1));
}
