// SPDX-License-Identifier: GPL-2.0-only
/* See json_print.h. */
#include "json_print.h"
#include "msg.h"

int json_print(FILE *out, json_t *json, size_t flags)
{
	int err = json ? json_dumpf(json, out, flags) : -1;

	json_decref(json);
	if (err && !ferror(out))
		return fail("it can't be told as JSON");
	if (!err)
		fputc('\n', out);
	return fflush(out) || ferror(out) ? EXIT_FAILED : EXIT_OK;
}
