/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EMUCTL_H
#define EMUCTL_H

#include <stdbool.h>
#include <stddef.h>

#define ROOT "/sys/kernel/config/emudisk"

/* sysfile.c: the module's files; text of failures goes to standard error */
int setup(bool load);
void attr_path(char *path, size_t size, const char *dev, const char *attr);
int attr_write(const char *dev, const char *attr, const char *text);
int attr_write_patiently(const char *dev, const char *attr, const char *text);
char *attr_read(const char *dev, const char *attr);
char **device_names(size_t *count);
void free_names(char **names, size_t count);
__attribute__((format(printf, 1, 2))) int complain(const char *fmt, ...);
char *join(char **words, int count);

/* survival.c: --keep, --seed and --tear, as cut and replay share them */
struct survival {
	const char *keep, *seed, *to;
	bool tear, all;
};

int parse_survival(struct survival *s, int *argc, char **argv, bool replay);
char *survival_text(const struct survival *s);

/* list.c, record.c */
int cmd_list(int argc, char **argv);
int cmd_models(int argc, char **argv);
int cmd_record(int argc, char **argv);
bool take_flag(int *argc, char **argv, const char *flag);

#endif /* EMUCTL_H */
