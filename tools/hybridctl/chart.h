/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A chart over time as inline SVG.  Pure.
 *
 * Each series is a group whose attributes data-series, data-times and data-values have what is
 * drawn, as text, so that it can be taken out of the page again; "-" where there is no value.
 */
#ifndef HYBRIDCTL_CHART_H
#define HYBRIDCTL_CHART_H

#include <stdio.h>

struct series {
	char *name;
	double *value;		/* NAN: none */
};

struct chart {
	const char *title, *unit;
	const double *time;	/* seconds, rising */
	unsigned long nr;	/* of times and of each series' values */
	struct series *series;
	unsigned int nr_series;
};

void chart_print(FILE *out, const struct chart *c);
/* A band for each series, in the colour of its values' states; NULL: none. */
void chart_print_states(FILE *out, const struct chart *c, const char * const * const *state);
/* Text as HTML has it. */
void chart_text(FILE *out, const char *text);

#endif
