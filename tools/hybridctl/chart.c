// SPDX-License-Identifier: GPL-2.0-only
/* See chart.h. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "chart.h"

#define WIDTH	900
#define HEIGHT	240
#define LEFT	70
#define RIGHT	20
#define TOP	10
#define BOTTOM	30
#define LINES	4	/* of the grid */
#define BAND	22
#define LEGEND	18

static const char * const colour[] = {
	"#1b6ca8", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#666666",
};

static const struct {
	const char *name, *colour;
} states[] = {
	{ "active", "#7fbf7b" }, { "degraded", "#fdae61" }, { "failed", "#d7191c" },
	{ "draining", "#abd9e9" }, { "removed", "#dddddd" },
};

void chart_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '>')
			fputs("&gt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '"')
			fputs("&quot;", out);
		else
			fputc(*text, out);
	}
}

static const char *colour_of(unsigned int i)
{
	return colour[i % (sizeof(colour) / sizeof(*colour))];
}

static double x_of(const struct chart *c, double t)
{
	double span = c->nr ? c->time[c->nr - 1] - c->time[0] : 0;

	return LEFT + (span > 0 ? (t - c->time[0]) / span : 0) * (WIDTH - LEFT - RIGHT);
}

static double y_of(double value, double most)
{
	return TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten, not below what is to be shown. */
static double round_up(double most)
{
	double power = 1;

	if (!(most > 0) || most > 1e15)
		return most > 0 ? most : 1;
	while (power < most / 10)
		power *= 10;
	while (power > most && power > 1e-9)
		power /= 10;
	if (most <= power)
		return power;
	return most <= 2 * power ? 2 * power : most <= 5 * power ? 5 * power : 10 * power;
}

static double most_of(const struct chart *c)
{
	double most = 0;
	unsigned int i;
	unsigned long j;

	for (i = 0; i < c->nr_series; i++)
		for (j = 0; j < c->nr; j++)
			if (c->series[i].value[j] > most)
				most = c->series[i].value[j];
	return round_up(most);
}

static void begin(FILE *out, const struct chart *c, unsigned int height)
{
	fputs("<h2>", out);
	chart_text(out, c->title);
	fprintf(out, "</h2>\n<svg viewBox=\"0 0 %d %u\" role=\"img\">\n", WIDTH, height);
}

static void print_times(FILE *out, const struct chart *c, unsigned int y)
{
	double first = c->nr ? c->time[0] : 0, span = c->nr ? c->time[c->nr - 1] - first : 0;
	unsigned int i;

	for (i = 0; i <= LINES; i++) {
		double t = first + span * i / LINES;

		fprintf(out, "<text x=\"%.1f\" y=\"%u\" text-anchor=\"%s\">%.6g s</text>\n",
			x_of(c, t), y, i == LINES ? "end" : "middle", t);
	}
}

static void print_grid(FILE *out, const struct chart *c, double most)
{
	unsigned int i;

	for (i = 0; i <= LINES; i++) {
		double y = y_of(most * i / LINES, most);

		fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
			LEFT, WIDTH - RIGHT, y, y);
		fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g", LEFT - 5, y + 4,
			most * i / LINES);
		if (i == LINES) {
			fputc(' ', out);
			chart_text(out, c->unit);
		}
		fputs("</text>\n", out);
	}
	print_times(out, c, HEIGHT - BOTTOM + 18);
}

static void begin_series(FILE *out, const struct chart *c, const struct series *s)
{
	unsigned long j;

	fputs("<g data-series=\"", out);
	chart_text(out, s->name);
	fputs("\" data-times=\"", out);
	for (j = 0; j < c->nr; j++)
		fprintf(out, "%s%.9g", j ? " " : "", c->time[j]);
	fputs("\" data-values=\"", out);
}

/* A line where there are values, a dot for one that stands alone. */
static void print_series(FILE *out, const struct chart *c, unsigned int i, double most)
{
	const struct series *s = &c->series[i];
	unsigned long j, run = 0;

	begin_series(out, c, s);
	for (j = 0; j < c->nr; j++)
		if (isnan(s->value[j]))
			fprintf(out, "%s-", j ? " " : "");
		else
			fprintf(out, "%s%.9g", j ? " " : "", s->value[j]);
	fprintf(out, "\" stroke=\"%s\" fill=\"none\" stroke-width=\"1.5\">\n", colour_of(i));
	for (j = 0; j < c->nr; j++) {
		bool last = j + 1 == c->nr || isnan(s->value[j + 1]);

		if (isnan(s->value[j]))
			continue;
		if (!run++ && last)
			fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1.5\"/>\n",
				x_of(c, c->time[j]), y_of(s->value[j], most));
		else
			fprintf(out, "%s%.1f,%.1f", run == 1 ? "<polyline points=\"" : " ",
				x_of(c, c->time[j]), y_of(s->value[j], most));
		if (!last)
			continue;
		if (run > 1)
			fputs("\"/>\n", out);
		run = 0;
	}
	fputs("</g>\n", out);
}

static void print_legend(FILE *out, const char *text, const char *shade, unsigned int nth,
			 unsigned int y)
{
	unsigned int x = LEFT + nth % 4 * 200;

	y += nth / 4 * LEGEND;
	fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"12\" height=\"12\" fill=\"%s\"/>", x, y,
		shade);
	fprintf(out, "<text x=\"%u\" y=\"%u\">", x + 17, y + 10);
	chart_text(out, text);
	fputs("</text>\n", out);
}

void chart_print(FILE *out, const struct chart *c)
{
	double most = most_of(c);
	unsigned int i;

	begin(out, c, HEIGHT + ((c->nr_series + 3) / 4 + 1) * LEGEND);
	print_grid(out, c, most);
	for (i = 0; i < c->nr_series; i++)
		print_series(out, c, i, most);
	for (i = 0; i < c->nr_series; i++)
		print_legend(out, c->series[i].name, colour_of(i), i, HEIGHT);
	fputs("</svg>\n", out);
}

static const char *shade_of(const char *state)
{
	unsigned int i;

	for (i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (!strcmp(states[i].name, state))
			return states[i].colour;
	return "#000000";
}

/* A state lasts until the next one was seen. */
static void print_band(FILE *out, const struct chart *c, const char * const *state, unsigned int y)
{
	unsigned long j, from = 0;

	for (j = 0; j < c->nr; j++) {
		double x = x_of(c, c->time[from]);

		if (j + 1 < c->nr && state[j + 1] && state[from] &&
		    !strcmp(state[j + 1], state[from]))
			continue;
		if (state[from])
			fprintf(out, "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>",
				x, y, x_of(c, c->time[j + 1 < c->nr ? j + 1 : j]) - x, BAND - 4,
				shade_of(state[from]));
		from = j + 1;
	}
}

void chart_print_states(FILE *out, const struct chart *c, const char * const * const *state)
{
	unsigned int i, below = TOP + c->nr_series * BAND;
	unsigned long j;

	begin(out, c, below + 20 + 2 * LEGEND + 10);
	for (i = 0; i < c->nr_series; i++) {
		unsigned int y = TOP + i * BAND;

		begin_series(out, c, &c->series[i]);
		for (j = 0; j < c->nr; j++) {
			fputs(j ? " " : "", out);
			chart_text(out, state[i][j] ? state[i][j] : "-");
		}
		fputs("\">\n", out);
		fprintf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">", LEFT - 5, y + 13);
		chart_text(out, c->series[i].name);
		fputs("</text>\n", out);
		print_band(out, c, state[i], y);
		fputs("</g>\n", out);
	}
	print_times(out, c, below + 14);
	for (i = 0; i < sizeof(states) / sizeof(*states); i++)
		print_legend(out, states[i].name, states[i].colour, i, below + 24);
	fputs("</svg>\n", out);
}
