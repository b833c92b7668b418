// SPDX-License-Identifier: GPL-2.0-only
/* Names and paths that others made. */
#include <stdlib.h>
#include <string.h>

#include "../quote.h"
#include "ktap.h"

static void name_is(const char *name, const char *wanted)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%s", name);
	name_clean(buf);
	ktap_ok(!strcmp(buf, wanted), "name: %s", buf);
}

static void text_is(const char *text, bool all, const char *wanted)
{
	char *got = quoted(text, all);

	ktap_ok(!strcmp(got, wanted), "quoted: %s", got);
	free(got);
}

static void json_is(const char *text, const char *wanted)
{
	json_t *json = text_json(text);
	const char *got = json_string_value(json);

	ktap_ok(got && !strcmp(got, wanted), "JSON: %s", got ? got : "nothing");
	json_decref(json);
}

int main(void)
{
	setbuf(stdout, NULL);
	ktap_begin();
	name_is("vol-1.a:b=c@d_e#f+", "vol-1.a:b=c@d_e#f+");
	name_is("my\\x20vol", "my\\x20vol");
	name_is("my\\x2gvol\\x2", "my_x2gvol_x2");
	name_is("a b\n\033[2J\377\\", "a_b___2J__");
	name_is("", "");
	text_is("/dev/sda", true, "/dev/sda");
	text_is("a\nb\\c\177", false, "a\\012b\\134c\\177");
	text_is("gr\303\274n", false, "gr\303\274n");
	/* Of eight bits: CSI by itself and in UTF-8; what only has such a byte in it is none. */
	text_is("a\2332J", false, "a\\2332J");
	text_is("a\302\2332J", false, "a\302\\2332J");
	text_is("\303\233 \342\202\254", false, "\303\233 \342\202\254");
	text_is("\233\233", false, "\\233\\233");
	text_is("\303\233\2332J", false, "\303\233\\2332J");
	text_is("\300\233\377\233\245\233", false, "\300\\233\377\\233\245\\233");
	text_is("\360\237\230\200 \342\200\233", false, "\360\237\230\200 \342\200\233");
	text_is("\342\233 \342\233", false, "\342\\233 \342\\233");
	text_is("\340\202\233 \355\240\233", false, "\340\\202\\233 \355\240\\233");
	text_is("\360\200\202\233 \364\220\200\200", false,
		"\360\\200\\202\\233 \364\\220\\200\\200");
	text_is("gr\303\274n", true, "gr\\303\\274n");
	json_is("gr\303\274n\n", "gr\303\274n\n");
	json_is("gr\374n", "gr\\374n");
	return ktap_end();
}
