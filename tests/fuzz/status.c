// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl's parser of the status line: what it takes, it can write again, to the byte. */
#include <stdarg.h>
#include <string.h>

#include "fuzz.h"
#include "status.h"

static char out[65536];

static void put(const char *fmt, ...)
{
	size_t at = strlen(out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + at, sizeof(out) - at, fmt, ap);
	va_end(ap);
}

static void put_numbers(unsigned int nr, ...)
{
	va_list ap;

	va_start(ap, nr);
	while (nr--)
		put(" %llu", (unsigned long long)va_arg(ap, uint64_t));
	va_end(ap);
}

static void put_dev(const struct status_dev *d)
{
	if (d->present)
		put(" %u:%u", d->major, d->minor);
	else
		put(" -");
	put(" %s %llu/%llu", status_dev_state_name(d->state), (unsigned long long)d->used,
	    (unsigned long long)d->total);
	put_numbers(8, d->share_ppm, d->target_ppm, d->read_ns, d->write_ns, d->read_p99_ns,
		    d->write_p99_ns, d->inflight, d->allocations);
}

static void put_status(const struct status *st)
{
	unsigned int i, words = !!*st->policy_args;
	const char *c;

	out[0] = 0;
	put("%s %s %llu %llu/%llu %llu/%llu %u", status_mode_name(st->mode),
	    st->needs_check ? "needs_check" : "-", (unsigned long long)st->extent_sectors,
	    (unsigned long long)st->mapped, (unsigned long long)st->logical,
	    (unsigned long long)st->journal_used, (unsigned long long)st->journal_total,
	    st->nr_meta);
	for (i = 0; i < st->nr_meta; i++)
		put(" %c", st->meta[i]);
	put(" %u", st->nr_devs);
	for (i = 0; i < st->nr_devs; i++)
		put_dev(&st->dev[i]);
	put_numbers(1, st->tokens);
	if (st->from < 0)
		put(" -");
	else
		put(" %d>%d", st->from, st->to);
	put_numbers(5, st->started, st->completed, st->failed, st->bytes, st->queued);
	put(" %u", st->nr_reasons);
	for (i = 0; i < st->nr_reasons; i++)
		put(" %s %llu", st->reason[i].name, (unsigned long long)st->reason[i].count);
	put_numbers(4, st->flushes, st->commits, st->checkpoints, st->errors);
	for (c = st->policy_args; *c; c++)
		words += *c == ' ';
	put(" %s %u%s%s", st->policy, words, *st->policy_args ? " " : "", st->policy_args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = fuzz_string(data, size), why[64] = "";
	static const unsigned long room[] = { 1, 8, 64 };
	struct status st;

	if (status_parse(line, &st, why, room[size % 3])) {
		MUST(st.nr_meta >= 1 && st.nr_meta <= STATUS_MAX_META);
		MUST(st.nr_devs >= 1 && st.nr_devs <= STATUS_MAX_DEVS);
		MUST(st.from < (int)st.nr_devs && st.to < (int)st.nr_devs);
		put_status(&st);
		MUST(!strcmp(out, line), "\n%s\n%s", out, line);
		status_free(&st);
	} else {
		MUST(strlen(why) < room[size % 3] && (*why || !(size % 3)));
	}
	free(line);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const text[] = {
		"rw - 128 0/1000 0/512 1 A 1 8:0 active 0/1000 0 0 0 0 0 0 0 0 0 - 0 0 0 0 0 0 0 0 0 0 fill 0",
		"ro needs_check 8192 5/9 1/2 2 A S 2 8:0 active 1/2 100 900000 1 2 3 4 5 6 "
		"- failed 0/7 0 0 0 0 0 0 0 0 7 0>1 1 2 3 4 5 2 cold 3 busy 4 1 2 3 4 static 2 shares 70,30",
		"fail - 256 0/0 0/1 1 F 1 4095:1048575 degraded 0/0 1000000 1000000 18446744073709551615 "
		"0 0 0 0 0 0 - 0 0 0 0 0 0 0 0 0 0 wardrop 4 alpha 10 commit_ms 5",
		"rw - 128 0/1 0/1 3 A A A 1 - failed 0/0 0 0 0 0 0 0 0 0 0 - 0 0 0 0 0 0 0 0 0 0 fill 0",
		" ", "rw", "rw  -", NULL,
	};
	static const unsigned int texts = sizeof(text) / sizeof(*text) - 1;

	if (nr == texts || nr == texts + 1)
		return fuzz_repeat(data, nr == texts ? "rw - 128 0/1 0/1 1 A 32" : "rw - 128 0/1 0/1 1 A 33",
				   " - active 0/0 0 0 0 0 0 0 0 0", 32 + nr - texts,
				   " 0 - 0 0 0 0 0 0 0 0 0 0 fill 0");

	return fuzz_text(nr, text, data);
}
