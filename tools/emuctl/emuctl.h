/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EMUCTL_H
#define EMUCTL_H

#include <stdbool.h>
#include <stddef.h>

#include "../common/configfs.h"
#include "../common/words.h"

/* survival.c: --keep, --seed and --tear, as cut and replay share them */
struct survival {
	const char *keep, *seed, *to;
	bool tear, all;
};

int parse_survival(struct survival *s, int *argc, char **argv, bool replay);
char *survival_text(const struct survival *s);

/* main.c: says how emuctl is called; returns 2, for who was called otherwise */
int usage(void);

/* list.c, record.c */
int cmd_list(int argc, char **argv);
int cmd_models(int argc, char **argv);
int cmd_record(int argc, char **argv);

#endif /* EMUCTL_H */
