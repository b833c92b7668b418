/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes the labels of areas anew from what dump printed of them, where both a label and its copy
 * are gone.  Nothing else is written: data and metadata are as they were.
 */
#ifndef HYBRIDCTL_RELABEL_H
#define HYBRIDCTL_RELABEL_H

#include <stdbool.h>
#include <stdio.h>

#include "area.h"

#define RELABEL_MAX	(EK_MAX_META + EK_MAX_MEMBERS)

/* A label as a dump has it. */
struct dumped_label {
	struct ek_label_info info;
	char *device;		/* where it was then: those of one device are its */
};

struct dumped_labels {
	struct ek_label_info pool;	/* what they have in common */
	struct dumped_label label[RELABEL_MAX];
	unsigned int nr;
	uint8_t member[EK_MAX_MEMBERS][EK_UUID_SIZE];
	uint32_t listed;		/* a bit each that the dump has a line of */
	uint32_t members;		/* likewise, and did not leave */
};

/* EXIT_OK or EXIT_FAILED (printed); of one pool, with labels that fit beside each other. */
int dumped_labels_read(struct dumped_labels *d, FILE *dump);
void dumped_labels_free(struct dumped_labels *d);
/* Where the areas of the device of label @i end; sectors. */
uint64_t dumped_labels_end(const struct dumped_labels *d, unsigned int i);
bool dumped_labels_together(const struct dumped_labels *d, unsigned int i, unsigned int k);

/*
 * On @paths, all of which are judged before anything is written.  @force: over what is foreign, and
 * where no superblock shows that it is the place.  EXIT_OK; EXIT_FAILED (printed); EXIT_USAGE: a
 * device can't be opened, or is in use (likewise).
 */
int relabel(FILE *dump, char * const *paths, int nr, bool force);

#endif
