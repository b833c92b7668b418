/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of the program. */
#ifndef TEST_CUTS_H
#define TEST_CUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Print, and exit with 1. */
void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
#define NEED(condition) do { if (!(condition)) wrong("%s:%d: %s: %m", __FILE__, __LINE__, #condition); } while (0)

/* --- tree.c: what can be seen of a file system ------------------------------------------------- */

struct entry {
	char *path;
	char *what;		/* all but times and content */
	int64_t mtime, ctime;
	uint8_t *content;	/* of a file, its size */
	size_t size;
};

struct tree {
	struct entry *entry;	/* by path */
	unsigned int nr;
};

struct tree *tree_see(const char *top);
void tree_free(struct tree *t);
bool tree_same(const struct tree *a, const struct tree *b);
/* That, but that @path may be half way: bytes and times of the one or of the other. */
bool tree_between(const struct tree *t, const struct tree *before, const struct tree *after, const char *path);
/* What of @t is in neither, and what of these is missing. */
void tree_explain(const struct tree *t, const struct tree *before, const struct tree *after);
/* Append to every file, then remove everything. */
void tree_use(const char *top);

/* --- ops.c: what is cut, with names below the working directory -------------------------------- */

struct op {
	const char *name;
	void (*prepare)(void);	/* what has to be there before; not cut */
	void (*run)(void);
	void (*end)(void);	/* not cut, either; may be NULL */
	const char *parts;	/* a file that may be half way, see tree_between(); NULL: none */
};

extern const struct op ops[];
extern const unsigned int nr_ops;

/* --- main.c ------------------------------------------------------------------------------------ */

void unmount_here(void);
void mount_here(void);

#endif
