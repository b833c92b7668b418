/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NLSTORE_IMPORT_H
#define NLSTORE_IMPORT_H

#include "store.h"

/* What an import did. */
struct ns_import {
	uint64_t files, unchanged;	/* of those: that were not read */
	uint64_t written, kept;		/* blocks */
	uint64_t skipped;		/* paths that can't be kept */
};

/*
 * The folder becomes the store's tree. Files that have not changed since they were imported
 * from there are not read, unless @reread: then blocks that are damaged are written again, too.
 * 0 or 1 after saying why not; then the store's tree is what it was.
 */
int import_folder(struct ns_store *store, const char *folder, bool reread,
		  struct ns_import *result);
/* To a folder that is empty or not there. 0 or 1 after saying why not. */
int export_folder(struct ns_store *store, const char *folder);

#endif
