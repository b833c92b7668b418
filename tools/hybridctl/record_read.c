// SPDX-License-Identifier: GPL-2.0-only
/* Reading a recording; see record.h. */
#include <stdlib.h>

#include "msg.h"
#include "record.h"
#include "status.h"

static bool is_line(const json_t *line, double *at)
{
	const json_t *when = json_object_get(line, "at");
	const json_t *devices = json_object_get(line, "devices");

	if (!json_is_number(when) || json_number_value(when) < *at ||
	    !json_is_array(devices) || json_array_size(devices) > STATUS_MAX_DEVS)
		return false;
	*at = json_number_value(when);
	return true;
}

json_t *record_read(FILE *in, const char *path)
{
	json_t *all = json_array(), *line;
	char *text = NULL;
	size_t size = 0, nr = 0;
	ssize_t len;
	double at = 0;

	while ((len = getline(&text, &size, in)) > 0) {
		nr++;
		line = json_loadb(text, len, 0, NULL);
		if (!line && text[len - 1] != '\n') {
			warn("%s: line %zu was cut, and is left out", path, nr);
			break;
		}
		if (!is_line(line, &at)) {
			fail("%s: line %zu is not one of a recording", path, nr);
			json_decref(line);
			json_decref(all);
			free(text);
			return NULL;
		}
		json_array_append_new(all, line);
	}
	free(text);
	if (json_array_size(all) >= 2)
		return all;
	fail("%s: at least two lines of a recording are needed", path);
	json_decref(all);
	return NULL;
}
