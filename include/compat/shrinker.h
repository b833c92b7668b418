/* SPDX-License-Identifier: GPL-2.0-only */
/* Shrinkers became objects of their own. */
#ifndef EVENKEEL_COMPAT_SHRINKER_H
#define EVENKEEL_COMPAT_SHRINKER_H

#include <linux/shrinker.h>

#include "compat.h"

#ifdef HAVE_SHRINKER_ALLOC
struct compat_shrinker {
	struct shrinker *shrinker;
	void *of;
};
#else
struct compat_shrinker {
	struct shrinker shrinker;
	void *of;
};
#endif

typedef unsigned long compat_shrinker_fn(struct shrinker *shrinker, struct shrink_control *sc);

/**
 * compat_shrinker_add - have the kernel ask for memory
 * @s: zeroed
 * @of: for compat_shrinker_of()
 * @name: for debugfs
 * @count: as in struct shrinker
 * @scan: as in struct shrinker
 *
 * Return: 0 or -ENOMEM.
 */
static inline int compat_shrinker_add(struct compat_shrinker *s, void *of, const char *name,
				      compat_shrinker_fn *count, compat_shrinker_fn *scan)
{
	s->of = of;
#ifdef HAVE_SHRINKER_ALLOC
	s->shrinker = shrinker_alloc(0, "%s", name);
	if (!s->shrinker)
		return -ENOMEM;
	s->shrinker->count_objects = count;
	s->shrinker->scan_objects = scan;
	s->shrinker->seeks = DEFAULT_SEEKS;
	s->shrinker->private_data = s;
	shrinker_register(s->shrinker);
	return 0;
#else
	s->shrinker.count_objects = count;
	s->shrinker.scan_objects = scan;
	s->shrinker.seeks = DEFAULT_SEEKS;
	return register_shrinker(&s->shrinker, "%s", name);
#endif
}

static inline void compat_shrinker_remove(struct compat_shrinker *s)
{
#ifdef HAVE_SHRINKER_ALLOC
	shrinker_free(s->shrinker);
#else
	unregister_shrinker(&s->shrinker);
#endif
}

static inline void *compat_shrinker_of(struct shrinker *shrinker)
{
#ifdef HAVE_SHRINKER_ALLOC
	return ((struct compat_shrinker *)shrinker->private_data)->of;
#else
	return container_of(shrinker, struct compat_shrinker, shrinker)->of;
#endif
}

#endif
