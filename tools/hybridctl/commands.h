/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands: each takes its own argv (argv[0] is its name) and returns the exit
 * status.
 */
#ifndef HYBRIDCTL_COMMANDS_H
#define HYBRIDCTL_COMMANDS_H

#include <stdbool.h>

#include "../common/command.h"

int cmd_create(int argc, char **argv);
int cmd_assemble(int argc, char **argv);
int cmd_evacuate(int argc, char **argv);
int cmd_reinstate(int argc, char **argv);
int cmd_remove(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_add(int argc, char **argv);
int cmd_metadata(int argc, char **argv);
int cmd_grow(int argc, char **argv);
int cmd_replace(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_identify(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_lost(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_pin(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_optimize(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_repair(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_size(int argc, char **argv);
int cmd_dump(int argc, char **argv);

/* After getopt_long() gave '?'; returns EXIT_USAGE. */
int bad_option(char **argv);

/* Options every command takes; getopt_long() values above any character. */
#define OPT_HELP	{ "help", no_argument, NULL, 'h' }

/* A device name that device-mapper takes as it is; prints why not, as a wrong command line. */
bool good_name(const char *name);
/*
 * Likewise, one that dmsetup may have made: with what libdevmapper writes as \xNN, too.  It is a
 * label's: no command line is wrong.
 */
bool good_label_name(const char *name);
/*
 * Is there a hybrid volume of that name?  EXIT_OK, or EXIT_FAILED with the reason
 * printed.
 */
int need_volume(const char *name);
/* Can device-mapper be used?  As above. */
int need_dm(void);

#endif
