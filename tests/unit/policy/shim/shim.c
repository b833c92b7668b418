// SPDX-License-Identifier: GPL-2.0-only
#include "shim.h"

long shim_fail_in = -1, shim_allocated;
int shim_cpu;
u64 shim_now;
char shim_xa_error;

static bool fails(void)
{
	return shim_fail_in >= 0 && shim_fail_in-- == 0;
}

void *shim_alloc(size_t size, bool zero)
{
	void *p;

	if (fails())
		return NULL;
	p = malloc(size);
	if (!p)
		abort();
	memset(p, zero ? 0 : 0xa5, size);
	shim_allocated++;
	return p;
}

void shim_free(const void *p)
{
	if (p)
		shim_allocated--;
	free((void *)p);
}

void *shim_alloc_percpu(size_t size)
{
	void *p;

	if (fails())
		return NULL;
	if (size > SHIM_STRIDE || posix_memalign(&p, SHIM_STRIDE, SHIM_CPUS * SHIM_STRIDE))
		abort();
	memset(p, 0, SHIM_CPUS * SHIM_STRIDE);
	shim_allocated++;
	return p;
}

static struct shim_xa_entry **slot(struct xarray *xa, u64 index)
{
	struct shim_xa_entry **e;

	if (!xa->bucket)
		xa->bucket = calloc(SHIM_XA_BUCKETS, sizeof(*xa->bucket));
	if (!xa->bucket)
		abort();
	e = &xa->bucket[(index * 0x9e3779b97f4a7c15ULL >> 40) % SHIM_XA_BUCKETS];
	while (*e && (*e)->index != index)
		e = &(*e)->next;
	return e;
}

void *xa_load(struct xarray *xa, u64 index)
{
	struct shim_xa_entry *e = *slot(xa, index);

	return e ? e->value : NULL;
}

void *xa_store(struct xarray *xa, u64 index, void *value, gfp_t gfp)
{
	struct shim_xa_entry **e = slot(xa, index);
	void *old = *e ? (*e)->value : NULL;

	(void)gfp;
	if (!*e) {
		if (fails())
			return &shim_xa_error;
		*e = calloc(1, sizeof(**e));
		if (!*e)
			abort();
		(*e)->index = index;
	}
	(*e)->value = value;
	return old;
}

void *xa_erase(struct xarray *xa, u64 index)
{
	struct shim_xa_entry **e = slot(xa, index), *gone = *e;
	void *old;

	if (!gone)
		return NULL;
	old = gone->value;
	*e = gone->next;
	free(gone);
	return old;
}

void xa_destroy(struct xarray *xa)
{
	u64 i;

	for (i = 0; xa->bucket && i < SHIM_XA_BUCKETS; i++) {
		while (xa->bucket[i])
			xa_erase(xa, xa->bucket[i]->index);
	}
	free(xa->bucket);
	xa->bucket = NULL;
}
