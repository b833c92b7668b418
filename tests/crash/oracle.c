// SPDX-License-Identifier: GPL-2.0-only
/*
 * The crash oracle: knows what a block device may hold after a power cut.
 *
 * `run` writes tagged sectors with several threads, flushes, discards and moves
 * extents, and keeps a log of what was asked and acknowledged, with the
 * recorder's sequence number before and after each operation.  `check` reads a
 * device that was cut at a given sequence number and judges every sector by the
 * log:
 *
 *   base    the last operation on the sector that an acknowledged flush (or its
 *	     own FUA) covers at that point
 *   legal   base, and whatever was begun after it
 *
 * A flush that failed covers nothing, and what was acknowledged before its end may be gone: flushes
 * that end well after that don't cover it, either.
 *
 * Anything else is wrong: a lost write, another sector's or another run's data,
 * a sector of two halves, zeroes that nobody asked for.
 *
 * No two operations on one sector are in flight together (struct ranges), so a
 * sector's history is a sequence; neighbours race as they like.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm.h"
#include "oracle.h"

/* Moves extents about until it is killed. */
static _Noreturn void cmd_shuffle(const struct workload *w, const char *name)
{
	uint64_t rng = mix(w->seed);
	char text[64];

	for (;;) {
		snprintf(text, sizeof(text), "move %llu %u",
			 (unsigned long long)(next(&rng) % w->extents),
			 (unsigned int)(next(&rng) % w->members));
		if (dm_message(name, text))
			usleep(1000);
	}
}

static void usage(void)
{
	fputs("usage: oracle run DEVICE --log FILE --seed N [--ops N] [--threads N] [--seq FILE]\n"
	      "\t[--dm NAME --extents N --members N] [--moves PERCENT] [--flushes PERCENT]\n"
	      "\t[--discards PERCENT] [--align SECTORS] [--stop-at-error] [--lossy]\n"
	      "       oracle check DEVICE --log FILE --point SEQ [--write]\n"
	      "       oracle sweep NAME --table LINE --record FILE --log FILE --seed N [--point SEQ]\n"
	      "\t[--plain] [--then COMMAND] < POINTS\n"
	      "       oracle shuffle NAME --extents N --members N [--seed N]\n"
	      "       oracle points --log FILE --seed N --count N [--every]\n"
	      "       oracle settled --log FILE\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "log", 1, NULL, 'l' }, { "seed", 1, NULL, 's' }, { "ops", 1, NULL, 'o' },
		{ "threads", 1, NULL, 't' }, { "seq", 1, NULL, 'q' }, { "dm", 1, NULL, 'd' },
		{ "extents", 1, NULL, 'e' }, { "members", 1, NULL, 'm' }, { "moves", 1, NULL, 'v' },
		{ "flushes", 1, NULL, 'f' }, { "discards", 1, NULL, 'c' }, { "point", 1, NULL, 'p' },
		{ "count", 1, NULL, 'n' }, { "write", 0, NULL, 'w' }, { "align", 1, NULL, 'a' },
		{ "stop-at-error", 0, NULL, 'x' }, { "lossy", 0, NULL, 'L' }, { "table", 1, NULL, 'T' },
		{ "record", 1, NULL, 'r' }, { "plain", 0, NULL, 'P' }, { "then", 1, NULL, 'h' },
		{ "every", 0, NULL, 'e' + 256 }, { }
	};
	struct workload w = { .seed = 1, .ops = 2000, .threads = 4, .moves = 12, .flushes = 8,
			      .discards = 8, .align = 1 };
	struct sweep s = { .judge_at = UINT64_MAX };
	uint64_t count = 100;
	bool rewrite = false, every = false;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		uint64_t number = optarg ? strtoull(optarg, NULL, 0) : 0;

		switch (c) {
		case 'l': w.log = optarg; break;
		case 's': w.seed = number; break;
		case 'o': w.ops = number; break;
		case 't': w.threads = number > 64 ? 64 : number; break;
		case 'q': w.seq_path = optarg; break;
		case 'd': w.dm_name = optarg; break;
		case 'e': w.extents = number; break;
		case 'm': w.members = number; break;
		case 'v': w.moves = number; break;
		case 'f': w.flushes = number; break;
		case 'c': w.discards = number; break;
		case 'p': s.judge_at = number; break;
		case 'n': count = number; break;
		case 'a': w.align = number ? number : 1; break;
		case 'w': rewrite = true; break;
		case 'e' + 256: every = true; break;
		case 'x': w.stop_at_error = true; break;
		case 'L': w.lossy = true; break;
		case 'T': s.table = optarg; break;
		case 'r': s.record = optarg; break;
		case 'P': s.plain = true; break;
		case 'h': s.then = optarg; break;
		default: usage();
		}
	}
	argv += optind;
	argc -= optind;
	if (argc == 2 && !strcmp(argv[0], "shuffle") && w.extents && w.members)
		cmd_shuffle(&w, argv[1]);
	if (!argc || !w.log || (w.dm_name && (!w.members || !w.extents)))
		usage();
	s.log = w.log;
	s.seed = w.seed;
	if (argc == 2 && !strcmp(argv[0], "run")) {
		w.dev = argv[1];
		return cmd_run(&w);
	}
	if (argc == 2 && !strcmp(argv[0], "check"))
		return check_device(argv[1], log_map(w.log, 0), s.judge_at, rewrite);
	if (argc == 2 && !strcmp(argv[0], "sweep") && s.table && s.record) {
		s.name = argv[1];
		return cmd_sweep(&s);
	}
	if (argc == 1 && !strcmp(argv[0], "points"))
		return cmd_points(w.log, w.seed, count, every);
	if (argc == 1 && !strcmp(argv[0], "settled"))
		return cmd_settled(w.log);
	usage();
}
