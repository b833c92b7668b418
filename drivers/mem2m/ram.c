// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ordinary RAM, in units that are contiguous in the kernel's addresses, of huge pages where the
 * kernel has them. Its content is gone with the device.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <evenkeel/interrupt.h>

#include "mem2m.h"

#ifdef CONFIG_X86_64
#include <asm/pgtable_types.h>
#endif

#define M2_COPY_STEP	((u64)SZ_2M)	/* between two looks for a signal */

/* Left for everybody else. */
#define M2_RESERVE_SHIFT	5	/* a 32nd of the RAM */

/*
 * What a device takes beside its bytes: the array of its pages and their page tables, 8 bytes a
 * page each.  And what is there varies a little while they are taken.
 */
#define M2_BESIDE_SHIFT		8
#define M2_BESIDE		((u64)SZ_8M)

static u64 m2_huge_bytes(const void *unit, u64 bytes)
{
	u64 at, huge = 0;
#ifdef CONFIG_X86_64
	unsigned int level;

	for (at = 0; at < bytes; at += PMD_SIZE) {
		if (lookup_address((unsigned long)unit + at, &level) && level > PG_LEVEL_4K)
			huge += min_t(u64, PMD_SIZE, bytes - at);
	}
#endif
	return huge;
}

static u64 m2_unit_size(const struct m2_store *store, unsigned int i)
{
	return min(store->unit_bytes, store->bytes - i * store->unit_bytes);
}

static void *m2_unit_alloc(u64 bytes)
{
	/* no last resort: a device is not worth somebody's life */
	return vmalloc_huge(bytes, GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
}

static void m2_units_free(struct m2_store *store, unsigned int from)
{
	for (; from < store->nr_units; from++) {
		vfree(store->unit[from]);
		cond_resched();
	}
}

/* Bytes of RAM that can be had now, with enough left for everybody else. */
static u64 m2_there(void)
{
	u64 there = (u64)max(si_mem_available(), 0L) << PAGE_SHIFT;
	u64 reserve = ((u64)totalram_pages() << PAGE_SHIFT) >> M2_RESERVE_SHIFT;

	return there - min(there, reserve);
}

/*
 * Ask before taking: what can't be had is refused at once, and nobody loses memory for it. Taking
 * takes a while; until then what one device was promised is not there for the next. A unit counts
 * as not taken until all of it is: who asks meanwhile for the last that there is may be refused it.
 */
static u64 m2_promised;
static DEFINE_SPINLOCK(m2_promised_lock);

/* Bytes that a device may have: with what it takes beside them there is enough for each unit. */
static u64 m2_most(void)
{
	u64 there = m2_there();

	there -= min(there, m2_promised + (m2_promised >> M2_BESIDE_SHIFT) + M2_BESIDE);
	return there - (there >> M2_BESIDE_SHIFT);
}

static int m2_promise(struct m2_dev *dev, u64 bytes)
{
	u64 there;

	spin_lock(&m2_promised_lock);
	there = m2_most();
	if (bytes <= there)
		m2_promised += bytes;
	spin_unlock(&m2_promised_lock);
	if (bytes <= there)
		return 0;
	/* Less than that: it may be asked for next, and what is there varies until then, too. */
	there -= min(there, M2_BESIDE);
	return m2_fail(dev, -ENOMEM, "%llu MiB are wanted, %llu MiB of RAM are there to be had",
		       (bytes + (1 << 20) - 1) >> 20, there >> 20);
}

/* It has been taken, or is not wanted any more. */
static void m2_promise_ends(u64 bytes)
{
	spin_lock(&m2_promised_lock);
	m2_promised -= bytes;
	spin_unlock(&m2_promised_lock);
}

/* What was promised others may have taken since, who don't ask. */
static int m2_unit_get(struct m2_dev *dev, struct m2_store *store, unsigned int i)
{
	u64 bytes = m2_unit_size(store, i);

	if (ek_interrupted())
		return m2_fail(dev, -EINTR, "interrupted");
	if (bytes <= m2_there())
		store->unit[i] = m2_unit_alloc(bytes);
	if (store->unit[i]) {
		m2_promise_ends(bytes);
		WRITE_ONCE(dev->done, dev->done + bytes);
		return 0;
	}
	if (fatal_signal_pending(current))
		return m2_fail(dev, -EINTR, "interrupted");
	return m2_fail(dev, -ENOMEM, "out of memory after %llu of %llu MiB",
		       READ_ONCE(dev->done) >> 20, dev->total >> 20);
}

/* Units from @from on, which were promised; a failure leaves none of them, nor of the promise. */
static int m2_units_alloc(struct m2_dev *dev, struct m2_store *store, unsigned int from)
{
	unsigned int i;
	int err = 0;

	for (i = from; i < store->nr_units; i++) {
		err = m2_unit_get(dev, store, i);
		if (err)
			break;
		cond_resched();
	}
	if (!err)
		return 0;
	m2_promise_ends(store->bytes - i * store->unit_bytes);
	while (i-- > from)
		vfree(store->unit[i]);
	return err;
}

static void m2_count_huge(struct m2_dev *dev)
{
	unsigned int i;

	dev->huge = 0;
	for (i = 0; i < dev->store.nr_units; i++)
		dev->huge += m2_huge_bytes(dev->store.unit[i], m2_unit_size(&dev->store, i));
}

/* Room for all units of @store, and a promise of @bytes of them. */
static int m2_units_begin(struct m2_dev *dev, struct m2_store *store, u64 bytes)
{
	int err = m2_promise(dev, bytes);

	if (err)
		return err;
	store->unit = kvcalloc(store->nr_units, sizeof(*store->unit), GFP_KERNEL | __GFP_NOWARN);
	if (store->unit)
		return 0;
	m2_promise_ends(bytes);
	return m2_fail(dev, -ENOMEM, "out of memory");
}

static int m2_ram_attach(struct m2_dev *dev, const struct m2_settings *s)
{
	struct m2_store *store = &dev->store;
	int err;

	memset(store, 0, sizeof(*store));
	m2_store_init(store, s->bytes, s->unit);
	err = m2_units_begin(dev, store, s->bytes);
	if (err)
		return err;
	err = m2_units_alloc(dev, store, 0);
	if (err) {
		kvfree(store->unit);
		return err;
	}
	m2_count_huge(dev);
	return 0;
}

static void m2_ram_detach(struct m2_dev *dev)
{
	m2_units_free(&dev->store, 0);
	kvfree(dev->store.unit);
}

static int m2_unit_copy(struct m2_dev *dev, void *to, const void *from, u64 bytes)
{
	u64 at;

	for (at = 0; at < bytes; at += M2_COPY_STEP) {
		if (ek_interrupted())
			return m2_fail(dev, -EINTR, "interrupted");
		m2_copy(to + at, from + at, min(bytes - at, M2_COPY_STEP));
		cond_resched();
	}
	return 0;
}

/* The units of @new from @keep on, with what both have of the first; a failure leaves none. */
static int m2_units_renew(struct m2_dev *dev, struct m2_store *new, unsigned int keep)
{
	const struct m2_store *old = &dev->store;
	u64 kept = keep * old->unit_bytes, common = min(new->bytes, old->bytes);
	int err = m2_units_alloc(dev, new, keep);

	if (err || common == kept)
		return err;
	err = m2_unit_copy(dev, new->unit[keep], old->unit[keep], common - kept);
	if (err)
		m2_units_free(new, keep);
	return err;
}

/*
 * Whole units that are in both are kept. The one after them is made anew and copied where both
 * have a part of it; so a device that fails to grow is what it was.
 */
static int m2_ram_resize(struct m2_dev *dev, u64 bytes)
{
	struct m2_store *old = &dev->store, new = *old;
	unsigned int keep;
	int err;

	m2_store_init(&new, bytes, old->unit_bytes);
	keep = div64_u64(min(bytes, old->bytes), old->unit_bytes);
	dev->done = keep * old->unit_bytes;
	dev->total = bytes;
	err = m2_units_begin(dev, &new, bytes - dev->done);
	if (err)
		return err;
	memcpy(new.unit, old->unit, keep * sizeof(*new.unit));
	err = m2_units_renew(dev, &new, keep);
	if (err) {
		kvfree(new.unit);
		return err;
	}
	m2_units_free(old, keep);
	kvfree(old->unit);
	*old = new;
	m2_count_huge(dev);
	return 0;
}

const struct m2_backing m2_ram = {
	.name = "ram",
	.attach = m2_ram_attach,
	.detach = m2_ram_detach,
	.resize = m2_ram_resize,
};
