// SPDX-License-Identifier: GPL-2.0-only
/* Battery-backed memory: made, emptied, given back. */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "battery.h"
#include "buf.h"

void nl_held_drop(struct nl_held *held)
{
	if (held->used)
		nl_buf_put(held->buf);
	held->used = false;
	held->buf = NULL;
}

void nl_slot_drop(struct nl_battery *battery, struct nl_slot *slot)
{
	u32 i;

	for (i = 0; i < battery->pages; i++)
		nl_held_drop(&slot->page[i]);
	slot->block = NL_NO_SLOT;
	slot->lost = false;
}

static int nl_battery_slots(struct nl_battery *battery)
{
	u32 i;

	battery->slot = kvcalloc(battery->nr_slots, sizeof(*battery->slot), NL_GFP_IO);
	if (!battery->slot)
		return -ENOMEM;
	for (i = 0; i < battery->nr_slots; i++) {
		battery->slot[i].block = NL_NO_SLOT;
		battery->slot[i].page = kvcalloc(battery->pages, sizeof(struct nl_held),
						 NL_GFP_IO);
		if (!battery->slot[i].page)
			return -ENOMEM;
	}
	return 0;
}

int nl_battery_create(struct nl_flash *flash, u32 moves)
{
	struct nl_battery *battery;

	if (flash->battery)
		return 0;
	battery = kvzalloc(sizeof(*battery), NL_GFP_IO);
	if (!battery)
		return -ENOMEM;
	flash->battery = battery;
	battery->nr_slots = flash->geo.nr_planes;
	battery->pages = flash->geo.pages;
	battery->max_moved = moves;
	battery->valid = kvcalloc(BITS_TO_LONGS(flash->geo.nr_pages), sizeof(long), NL_GFP_IO);
	battery->moved = kvcalloc(moves, sizeof(*battery->moved), NL_GFP_IO);
	if (battery->valid && battery->moved && !nl_battery_slots(battery))
		return 0;
	nl_battery_destroy(flash);
	return -ENOMEM;
}

void nl_battery_destroy(struct nl_flash *flash)
{
	struct nl_battery *battery = flash->battery;
	u32 i;

	if (!battery)
		return;
	for (i = 0; battery->slot && i < battery->nr_slots; i++) {
		if (!battery->slot[i].page)
			continue;
		nl_slot_drop(battery, &battery->slot[i]);
		kvfree(battery->slot[i].page);
	}
	kvfree(battery->slot);
	kvfree(battery->valid);
	kvfree(battery->moved);
	kvfree(battery);
	flash->battery = NULL;
}

u64 nl_battery_memory(const struct nl_flash *flash)
{
	const struct nl_battery *battery = flash->battery;

	if (!battery)
		return 0;
	return (u64)battery->nr_slots * (sizeof(struct nl_slot) +
					 (u64)battery->pages * sizeof(struct nl_held)) +
	       BITS_TO_LONGS(flash->geo.nr_pages) * sizeof(long) +
	       (u64)battery->max_moved * sizeof(struct nl_moved);
}
