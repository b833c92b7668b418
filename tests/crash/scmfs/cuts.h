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
	char *what;		/* all but rights, times and content */
	unsigned int mode;
	uint64_t attrs;		/* of all attributes, one number */
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
/* As @before, but that @path has the attributes, and with @mode the mode, of @after already. */
bool tree_without_rights(const struct tree *t, const struct tree *before, const struct tree *after, const char *path,
			 bool mode);
/*
 * What has one name in the top directory, with all below it, as in the one or in the other, whatever has another name;
 * with @parts a file there may be half way.
 */
bool tree_each(const struct tree *t, const struct tree *before, const struct tree *after, bool parts);
/* What of @t is in neither, and what of these is missing. */
void tree_explain(const struct tree *t, const struct tree *before, const struct tree *after);
/* Append to every file, then remove everything. */
void tree_use(const char *top);

/* --- ops.c: what is cut, with names below the working directory -------------------------------- */

#define CUT_PARTS	0x01u	/* @path may be half way, see tree_between() */
#define CUT_WRITES	0x02u	/* but not with data=atomic: it is done both ways, in a short run perhaps */
#define CUT_CAPS	0x04u	/* @path's capability goes before all else, see tree_without_rights() */
#define CUT_MODE	0x08u	/* and then its mode changes, before all else */
#define CUT_EACH	0x10u	/* several calls at once, see tree_each() */
#define CUT_ALONE	0x20u	/* not one of those */
#define CUT_SOME	0x40u	/* in a short run only now and then: others are much like it */

struct op {
	const char *name;
	void (*prepare)(void);	/* what has to be there before; not cut */
	void (*run)(void);
	void (*end)(void);	/* not cut, either; may be NULL */
	const char *path;
	unsigned int how;	/* CUT_* */
};

extern const struct op ops[], gc_ops[];
extern const unsigned int nr_ops, nr_gc_ops;

/* --- main.c ------------------------------------------------------------------------------------ */

void unmount_here(void);
void mount_here(void);

#endif
