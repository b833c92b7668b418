// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl monitor: status again and again, with rates. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "interrupt.h"
#include "monitor.h"
#include "msg.h"
#include "units.h"
#include "volume.h"

#define INTERVAL	2	/* seconds */
#define BAR_WIDTH	20
#define MIN_COLUMNS	100	/* narrower screens get shorter bars */
#define BAR_MIN		14	/* its heading's length */

static struct termios cooked;

/* The alternate screen, without cursor; keys come one by one. */
static void screen_begin(void)
{
	struct termios raw;

	tcgetattr(STDIN_FILENO, &cooked);
	raw = cooked;
	raw.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs("\033[?1049h\033[?25l", stdout);
}

static void screen_end(void)
{
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
}

static unsigned int bar_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col >= MIN_COLUMNS + BAR_WIDTH)
		return BAR_WIDTH;
	return BAR_MIN;
}

struct rates {
	struct timespec at;
	bool valid;
	uint64_t allocations[STATUS_MAX_DEVS], completed, bytes;
};

static double seconds_since(const struct timespec *then, const struct timespec *now)
{
	return (double)(now->tv_sec - then->tv_sec) + (double)(now->tv_nsec - then->tv_nsec) / 1e9;
}

static double per_second(uint64_t now, uint64_t before, double seconds)
{
	return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

/* What happened since the last look, per second. */
static void print_rates(const struct volume *v, struct rates *last)
{
	const struct status *st = &v->st;
	struct timespec now;
	char text[UNIT_TEXT];
	double s;
	unsigned int i;

	clock_gettime(CLOCK_MONOTONIC, &now);
	s = seconds_since(&last->at, &now);
	fputs("per second: allocations", stdout);
	for (i = 0; i < st->nr_devs; i++)
		printf(" %.1f", last->valid ?
		       per_second(st->dev[i].allocations, last->allocations[i], s) : 0);
	printf("; migrations %.1f, %s\n",
	       last->valid ? per_second(st->completed, last->completed, s) : 0,
	       human_bytes(text, last->valid ? per_second(st->bytes, last->bytes, s) : 0));
	last->at = now;
	last->valid = true;
	for (i = 0; i < st->nr_devs; i++)
		last->allocations[i] = st->dev[i].allocations;
	last->completed = st->completed;
	last->bytes = st->bytes;
}

static bool quit_key(void)
{
	char key;

	return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
}

/* True when it is time to end. */
static bool pause_for(double interval, bool keys)
{
	struct pollfd fd = { .fd = keys ? STDIN_FILENO : -1, .events = POLLIN };
	struct timespec start, now;
	double left = interval;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (!interrupted && left > 0) {
		if (sleep_interruptibly(left, &fd, 1) && quit_key())
			return true;
		clock_gettime(CLOCK_MONOTONIC, &now);
		left = interval - seconds_since(&start, &now);
	}
	return interrupted;
}

static int look(struct volume *v, const char *name, struct rates *rates, bool screen)
{
	if (volume_look_again(v, name, LOOK_LOST))
		return EXIT_FAILED;
	if (screen)
		fputs("\033[H\033[J", stdout);
	volume_print(stdout, v, screen ? bar_width() : BAR_WIDTH);
	print_rates(v, rates);
	fputs(screen ? "\nq quits\n" : "\n", stdout);
	fflush(stdout);
	return EXIT_OK;
}

static int monitor(const char *name, double interval, uint64_t count, bool plain)
{
	bool screen = !plain && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
	struct rates rates = { .valid = false };
	struct volume v = { .name = name };
	uint64_t n;
	int err = need_volume(name);

	if (err)
		return err;
	catch_interrupts();
	if (screen)
		screen_begin();
	for (n = 0; !interrupted;) {
		err = look(&v, name, &rates, screen);
		if (err || ++n == count || ferror(stdout) || pause_for(interval, screen))
			break;
	}
	if (screen) {
		screen_end();
		/* The screen took the message with it: say it again. */
		if (err)
			err = look(&v, name, &rates, false);
	}
	volume_free(&v);
	return err;
}

int cmd_monitor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "interval", required_argument, NULL, 'i' },
		{ "count", required_argument, NULL, 'c' },
		{ "plain", no_argument, NULL, 'p' },
		{ "events", no_argument, NULL, 'e' },
		OPT_HELP,
		{ NULL, 0, NULL, 0 },
	};
	double interval = 0;
	uint64_t count = 0;
	bool plain = false, events = false;
	char *end;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'i':
			interval = strtod(optarg, &end);
			if (end == optarg || *end || !(interval >= 0.05 && interval <= 86400))
				return usage_error("--interval %s: must be 0.05 to 86400", optarg);
			break;
		case 'c':
			if (!parse_u64(optarg, &count) || !count)
				return usage_error("--count %s: must be a number above 0", optarg);
			break;
		case 'p':
			plain = true;
			break;
		case 'e':
			events = true;
			break;
		case 'h':
			return command_help();
		default:
			return bad_option(argv);
		}
	}
	if (argc - optind != 1)
		return usage_error("one name is needed");
	if (events && interval > 0)
		return usage_error("--events waits for them, without an --interval");
	if (events)
		return need_volume(argv[optind]) ? EXIT_FAILED :
						   monitor_events(argv[optind], count);
	return monitor(argv[optind], interval > 0 ? interval : INTERVAL, count, plain);
}
