// SPDX-License-Identifier: GPL-2.0-only
/* See health.h. */
#include <stddef.h>

#include "health.h"
#include "msg.h"

static bool is_lost(const struct status_dev *d)
{
	return !d->present && d->state != DEV_REMOVED;
}

static bool find_member(const struct status *st, enum health kind, unsigned int *which)
{
	const struct status_dev *d;
	bool is;

	for (*which = 0; *which < st->nr_devs; ++*which) {
		d = &st->dev[*which];
		if (kind == HEALTH_LOST)
			is = is_lost(d);
		else if (kind == HEALTH_FAILED)
			is = d->state == DEV_FAILED;
		else
			is = d->state == DEV_DEGRADED;
		if (is)
			return true;
	}
	return false;
}

/* One that is being made a mirror, or leaves as it was told to, needs nobody. */
static bool find_area(const struct status *st, unsigned int *which)
{
	for (*which = 0; *which < st->nr_meta; ++*which)
		if (st->meta[*which] == 'S' || st->meta[*which] == 'F')
			return true;
	return false;
}

enum health health_of(const struct status *st, unsigned int *which)
{
	enum health kind;

	*which = 0;
	if (st->mode == MODE_FAIL)
		return HEALTH_FAIL;
	if (st->needs_check)
		return HEALTH_NEEDS_CHECK;
	for (kind = HEALTH_LOST; kind <= HEALTH_DEGRADED; kind++)
		if (find_member(st, kind, which))
			return kind;
	if (find_area(st, which))
		return HEALTH_METADATA;
	return st->mode == MODE_RO ? HEALTH_READ_ONLY : HEALTH_OK;
}

const char *health_name(enum health kind)
{
	static const char * const names[] = {
		[HEALTH_FAIL] = "fail", [HEALTH_NEEDS_CHECK] = "needs_check",
		[HEALTH_LOST] = "lost member", [HEALTH_FAILED] = "failed member",
		[HEALTH_DEGRADED] = "degraded", [HEALTH_METADATA] = "metadata",
		[HEALTH_READ_ONLY] = "read-only", [HEALTH_OK] = "ok",
	};

	return names[kind];
}

static char *member_advice(enum health kind, unsigned int i, const char *name)
{
	if (kind == HEALTH_LOST)
		return xasprintf("device %u is not there: \"hybridctl lost %s\" lists what is on it; if it comes back, \"hybridctl attach %s DEV\", else \"hybridctl evacuate %s %u --give-up\"",
				 i, name, name, name, i);
	return xasprintf("device %u %s: \"hybridctl replace %s %u DEV\", or \"hybridctl evacuate %s %u\" and remove (reinstate, if the cause is gone%s)",
			 i, kind == HEALTH_FAILED ? "has failed" : "had errors", name, i, name, i,
			 kind == HEALTH_FAILED ? "; detach, if it is dead" : "");
}

char *health_advice(const struct status *st, const char *name)
{
	enum health kind;
	unsigned int i;

	kind = health_of(st, &i);
	switch (kind) {
	case HEALTH_FAIL:
		return xasprintf("can't be used: \"hybridctl stop %s\", then \"hybridctl check\" and \"hybridctl repair\" with all of its devices",
				 name);
	case HEALTH_NEEDS_CHECK:
		return xasprintf("the metadata could not be written, or is not sound: \"hybridctl stop %s\", then \"hybridctl check\" and \"hybridctl repair\" with all of its devices",
				 name);
	case HEALTH_LOST:
	case HEALTH_FAILED:
	case HEALTH_DEGRADED:
		return member_advice(kind, i, name);
	case HEALTH_METADATA:
		if (st->meta[i] == 'S')
			return xasprintf("metadata area %u is no mirror: \"hybridctl metadata %s resync\"",
					 i, name);
		return xasprintf("metadata area %u is lost: if it comes back, \"hybridctl attach %s DEV\", else \"hybridctl metadata %s move %u DEV\" makes another mirror",
				 i, name, name, i);
	case HEALTH_READ_ONLY:
		return xasprintf("it was activated for reading only: \"hybridctl stop %s\" and \"hybridctl assemble %s\" make it writable",
				 name, name);
	default:
		return NULL;
	}
}
