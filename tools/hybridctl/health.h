/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What of an active volume needs somebody's attention most, from its status line.  Pure.
 */
#ifndef HYBRIDCTL_HEALTH_H
#define HYBRIDCTL_HEALTH_H

#include "status.h"

/* The worst first. */
enum health {
	HEALTH_FAIL,		/* can't be used at all */
	HEALTH_NEEDS_CHECK,	/* its metadata is not to be trusted, or can't be written */
	HEALTH_LOST,		/* a member is not there */
	HEALTH_FAILED,		/* one had nothing but errors */
	HEALTH_DEGRADED,	/* one had errors */
	HEALTH_METADATA,	/* an area that should be a mirror is none */
	HEALTH_READ_ONLY,	/* as it was activated so */
	HEALTH_OK,
};

/* @which: the member, or the metadata area, that it is about. */
enum health health_of(const struct status *st, unsigned int *which);
/* "ok", "lost member", ... */
const char *health_name(enum health kind);
/* What is wrong and what to do, for the volume @name; NULL: nothing is; free(). */
char *health_advice(const struct status *st, const char *name);

#endif
