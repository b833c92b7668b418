// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim-table [--periods N] [--seed N] [--pair NAME] [key value]...
 *
 * Throughput of wardrop, with the given parameters on top of either preset, over
 * that of the best static split in steps of 5%, and how much its shares vary.
 */
#include "pairs.h"

static double best_static(struct sim_config c, int *best_share)
{
	double best = 0;
	int first;

	c.policy = "static";
	c.periods = 2;
	for (first = 0; first <= 100; first += 5) {
		char shares[16];
		const char *params[3] = { "shares", shares };
		struct sim_result r;

		snprintf(shares, sizeof(shares), "%d,%d", first, 100 - first);
		c.params = params;
		r = sim_run(&c);
		if (r.iops > best) {
			best = r.iops;
			*best_share = first;
		}
	}
	return best;
}

static void row(struct sim_config c, const char *name, char **extra, int nr_extra)
{
	static const char * const preset[] = { "paper", "default" };
	const char *params[64] = { "preset" };
	int best_share = 0, i;
	double best = best_static(c, &best_share);

	printf("%-10s %-6s %3u %9.0f %4d%%", name, c.new_writes ? "new" : "read",
	       c.processes, best, best_share);
	memcpy(&params[2], extra, nr_extra * sizeof(*extra));
	for (i = 0; i < 2; i++) {
		struct sim_result r;

		params[1] = preset[i];
		c.params = params;
		r = sim_run(&c);
		printf(" | %5.3f %5.1f%% %5.1f %6llu", r.iops / best, r.share[0],
		       r.share_sd, (unsigned long long)r.moves);
	}
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const unsigned int depth[] = { 1, 16, 32, 64 };
	struct sim_config c = { .nr = 2, .policy = "wardrop", .periods = 60, .seed = 1 };
	const char *only = NULL;
	unsigned int i, d;

	for (argv++, argc--; argc >= 2 && !strncmp(*argv, "--", 2); argv += 2, argc -= 2) {
		if (!strcmp(*argv, "--periods"))
			c.periods = atoi(argv[1]);
		else if (!strcmp(*argv, "--seed"))
			c.seed = strtoull(argv[1], NULL, 0);
		else if (!strcmp(*argv, "--pair"))
			only = argv[1];
		else
			return 2;
	}
	if (argc % 2 || argc > 60)
		return 2;
	printf("seed %llu, %u periods of 2 s, the second half counts\n",
	       (unsigned long long)c.seed, c.periods);
	printf("%-10s %-6s %3s %9s %5s | %-26s | %s\n", "", "", "", "best static", "",
	       "paper: X/best share sd moves", "default: X/best share sd moves");
	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (only && strcmp(only, pairs[i].name))
			continue;
		memcpy(c.dev, pairs[i].dev, sizeof(pairs[i].dev));
		for (d = 0; d < ARRAY_SIZE(depth); d++) {
			c.processes = depth[d];
			row(c, pairs[i].name, argv, argc);
		}
		c.processes = 32;
		c.new_writes = true;
		row(c, pairs[i].name, argv, argc);
		c.new_writes = false;
	}
	return 0;
}
