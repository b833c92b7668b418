// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <sys/param.h>

#include <evenkeel/range_format.h>

#include "image.h"
#include "phys.h"

bool phys_is_name(const char *text)
{
	return !strncmp(text, "phys=", 5) || !strncmp(text, "size=", 5);
}

const char *phys_parse(const char *text, struct phys *p)
{
	const char *comma = strchr(text, ',');
	bool phys_first = *text == 'p';
	char first[32] = "";

	if (!comma || strncmp(comma + 1, phys_first ? "size=" : "phys=", 5))
		return "phys= and size= go together";
	if (comma - text - 5 < (long)sizeof(first))
		memcpy(first, text + 5, comma - text - 5);
	if (!parse_size(first, phys_first ? &p->start : &p->bytes) ||
	    !parse_size(comma + 6, phys_first ? &p->bytes : &p->start))
		return "neither a number of bytes, nor one with K, M, G, T, P or E behind it";
	if ((p->start | p->bytes) % SCM_RANGE_ALIGN || p->start + p->bytes < p->start)
		return "address and size have to be multiples of 2M";
	if (p->bytes <= scm_range_data(p->bytes, 0))
		return "too small";
	return NULL;
}

/* What nobody allocates from; the module asks for the same. */
static bool is_set_aside(const char *name)
{
	static const char * const names[] = {
		"Reserved", "Soft Reserved", "Persistent Memory", "Persistent Memory (legacy)",
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * Lines are "  START-END : NAME", those of what lies in another right behind it. What lies in
 * memory that is set aside, and is not such memory itself, is who uses it.
 */
const char *phys_check(const struct phys *p, FILE *iomem)
{
	static char told[96];
	uint64_t covered = 0, aside_to = 0, from, to, end = p->start + p->bytes;
	bool seen = false;
	char line[256];
	int name;

	while (fgets(line, sizeof(line), iomem)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, " %lx-%lx : %n", &from, &to, &name) != 2)
			continue;
		seen |= to;
		if (from >= end || to < p->start)
			continue;
		if (!strcmp(line + name, "System RAM"))
			return "the kernel's own RAM";
		if (!is_set_aside(line + name)) {
			if (from >= aside_to)
				continue;
			snprintf(told, sizeof(told), "in use: %.64s", line + name);
			return told;
		}
		if (from < aside_to)
			continue;
		aside_to = to + 1;
		covered += MIN(aside_to, end) - MAX(from, p->start);
	}
	if (!seen)
		return "where memory is, is shown to root only";
	return covered == p->bytes ? NULL : "not memory that was set aside";
}
