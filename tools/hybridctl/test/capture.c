// SPDX-License-Identifier: GPL-2.0-only
/* See capture.h. */
#include <stdlib.h>
#include <unistd.h>

#include "capture.h"

void capture_begin(struct capture *c, FILE *out)
{
	c->out = out;
	c->file = tmpfile();
	c->keep = dup(fileno(out));
	fflush(out);
	if (!c->file || c->keep < 0 || dup2(fileno(c->file), fileno(out)) < 0)
		abort();
}

void capture_end(struct capture *c, char *text, size_t size)
{
	fflush(c->out);
	dup2(c->keep, fileno(c->out));
	close(c->keep);
	rewind(c->file);
	text[fread(text, 1, size - 1, c->file)] = 0;
	fclose(c->file);
}
