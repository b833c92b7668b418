// SPDX-License-Identifier: GPL-2.0-only
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <evenkeel/direct.h>

static DEFINE_MUTEX(ek_direct_lock);	/* protects ek_direct_provider */
static const struct ek_direct_ops *ek_direct_provider;

/**
 * ek_direct_register - make a driver's call known
 * @ops: which; stays there until ek_direct_unregister()
 *
 * Context: process context; sleeps.
 * Return: 0, or -EBUSY: there is one already.
 */
int ek_direct_register(const struct ek_direct_ops *ops)
{
	int err = -EBUSY;

	mutex_lock(&ek_direct_lock);
	if (!ek_direct_provider) {
		ek_direct_provider = ops;
		err = 0;
	}
	mutex_unlock(&ek_direct_lock);
	return err;
}
EXPORT_SYMBOL_GPL(ek_direct_register);

/**
 * ek_direct_unregister - the reverse
 * @ops: as registered
 *
 * Context: process context, of the module's exit: handles hold the module.
 */
void ek_direct_unregister(const struct ek_direct_ops *ops)
{
	mutex_lock(&ek_direct_lock);
	if (ek_direct_provider == ops)
		ek_direct_provider = NULL;
	mutex_unlock(&ek_direct_lock);
}
EXPORT_SYMBOL_GPL(ek_direct_unregister);

/**
 * ek_direct_get - find a way around the block layer
 * @direct: filled; its ops are NULL when there is no such way
 * @bdev: a block device that the caller has opened and keeps open
 *
 * Context: process context; sleeps.
 */
void ek_direct_get(struct ek_direct *direct, struct block_device *bdev)
{
	direct->ops = NULL;
	mutex_lock(&ek_direct_lock);
	if (!ek_direct_provider || !try_module_get(ek_direct_provider->owner))
		goto unlock;
	direct->handle = ek_direct_provider->get(bdev);
	if (IS_ERR(direct->handle))
		module_put(ek_direct_provider->owner);
	else
		direct->ops = ek_direct_provider;
unlock:
	mutex_unlock(&ek_direct_lock);
}
EXPORT_SYMBOL_GPL(ek_direct_get);

/**
 * ek_direct_put - give it back
 * @direct: filled by ek_direct_get(), also with nothing; no bio is under way on it
 *
 * Context: process context.
 */
void ek_direct_put(struct ek_direct *direct)
{
	const struct ek_direct_ops *ops = direct->ops;

	if (!ops)
		return;
	ops->put(direct->handle);
	module_put(ops->owner);
	direct->ops = NULL;
}
EXPORT_SYMBOL_GPL(ek_direct_put);
