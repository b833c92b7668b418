/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: block devices that can do without the block layer
 *
 * A driver whose devices do a bio within a call registers that call here. Others ask whether a
 * block device is of that kind and use the call, without depending on the driver's module.
 */
#ifndef _EVENKEEL_DIRECT_H
#define _EVENKEEL_DIRECT_H

#include <linux/types.h>

struct bio;
struct block_device;
struct module;

/**
 * struct ek_direct_ops - what such a driver provides
 * @owner: its module
 * @get: a handle for a block device that the caller has opened, or an ERR_PTR
 * @put: give it back
 * @submit: do a bio, whose sector counts from the start of that block device, and end it
 */
struct ek_direct_ops {
	struct module *owner;
	void *(*get)(struct block_device *bdev);
	void (*put)(void *handle);
	void (*submit)(void *handle, struct bio *bio);
};

/**
 * struct ek_direct - a way to a block device
 * @ops: who provides it; NULL: there is none
 * @handle: theirs
 */
struct ek_direct {
	const struct ek_direct_ops *ops;
	void *handle;
};

int ek_direct_register(const struct ek_direct_ops *ops);
void ek_direct_unregister(const struct ek_direct_ops *ops);
void ek_direct_get(struct ek_direct *direct, struct block_device *bdev);
void ek_direct_put(struct ek_direct *direct);

#endif
