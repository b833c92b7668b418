/* SPDX-License-Identifier: GPL-2.0-only */
/* What is printed for a while goes to a test, not to the terminal. */
#ifndef TEST_CAPTURE_H
#define TEST_CAPTURE_H

#include <stddef.h>
#include <stdio.h>

struct capture {
	FILE *out;	/* stdout or stderr */
	FILE *file;
	int keep;
};

void capture_begin(struct capture *c, FILE *out);
/* As much as @text of @size has room for. */
void capture_end(struct capture *c, char *text, size_t size);

#endif
