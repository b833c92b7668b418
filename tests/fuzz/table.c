// SPDX-License-Identifier: GPL-2.0-only
/*
 * hybridctl's other readers of text, chosen by the first byte: the table line, sizes,
 * key=value settings, the kernel log.
 */
#include <string.h>

#include "fuzz.h"
#include "klog.h"
#include "table.h"
#include "units.h"

static void table_line(const char *line)
{
	char why[32] = "", *again;
	struct table t;

	if (!table_parse(line, &t, why, sizeof(why))) {
		MUST(*why && strlen(why) < sizeof(why));
		return;
	}
	MUST(t.nr_meta <= TABLE_MAX_META && t.nr_devs <= TABLE_MAX_DEVS);
	again = table_build(&t);
	MUST(!strcmp(line, again), "\n%s\n%s", line, again);
	free(again);
	table_free(&t);
}

static void size(const char *text)
{
	uint64_t bytes = 0, value = 0;
	char buf[UNIT_TEXT], cells[21];

	if (parse_u64(text, &value)) {
		char again[UNIT_TEXT];

		snprintf(again, sizeof(again), "%llu", (unsigned long long)value);
		MUST(!strcmp(text, again));
		MUST(parse_size(text, &bytes) && bytes == value);
	}
	parse_size(text, &bytes);
	MUST(strlen(human_bytes(buf, bytes)) < UNIT_TEXT && strlen(human_ns(buf, bytes)) < UNIT_TEXT &&
	     strlen(human_count(buf, bytes)) < UNIT_TEXT);
	bar(cells, 20, bytes, value);
	MUST(strlen(cells) == 20);
}

static void settings(char *text)
{
	char *word[8], *made;
	const char *bad = NULL;
	unsigned int nr = 0;

	while (nr < 8 && (word[nr] = strsep(&text, ";")))
		nr++;
	made = table_policy("wardrop", word, nr, &bad);
	MUST(!made == !!bad);
	free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text;
	int rank;

	if (!len)
		return 0;
	text = fuzz_string(data + 1, len - 1);
	switch (data[0] % 4) {
	case 0:
		table_line(text);
		break;
	case 1:
		size(text);
		break;
	case 2:
		settings(text);
		break;
	default:
		MUST(!klog_match(text, &rank) == !rank);
	}
	free(text);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const text[] = {
		"01 8:16 0 256 2 8:32 0 8:48 2048 0 wardrop 0",
		"02 /dev/m 0 - 8 128 1 /dev/a 0 2 read_only no_discard_passdown static 2 shares 100",
		"03 a 0 b 0 c 0 256 1 d 0 0 fill 0", "0", "1128K", "118446744073709551615", "116EiB", "21=2;alpha=10", "2a=", "2=;a==b",
		"3device-mapper: table: 254:0: hybrid: policy missing (-EINVAL)",
		"3device-mapper: hybrid: message: unknown", "3device-mapper: ioctl: x", NULL,
	};

	return fuzz_text(nr, text, data);
}
