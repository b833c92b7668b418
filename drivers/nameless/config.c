// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/config/nameless: a directory is a device. Writing `SIZE [key=value]...` to its
 * `create` makes the disk. A failed write leaves its reason in `error`.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <evenkeel/name.h>

#include "dev.h"

typedef int (*nl_action)(struct nl_dev *dev, char *args);
typedef ssize_t (*nl_shower)(struct nl_dev *dev, char *page);

static struct nl_dev *to_nl_dev(struct config_item *item)
{
	return container_of(item, struct nl_dev, item);
}

/* Run one on a copy of what was written, without its newline. */
static ssize_t nl_act(struct config_item *item, const char *page, size_t len, nl_action action)
{
	char *args = kstrndup(page, len, GFP_KERNEL);
	struct nl_dev *dev = to_nl_dev(item);
	int err;

	if (!args)
		return -ENOMEM;
	err = mutex_lock_interruptible(&dev->lock);
	if (!err) {
		dev->error[0] = 0;
		err = action(dev, strim(args));
		mutex_unlock(&dev->lock);
	}
	kfree(args);
	return err ?: len;
}

static ssize_t nl_tell(struct config_item *item, char *page, nl_shower shower)
{
	struct nl_dev *dev = to_nl_dev(item);
	ssize_t len = mutex_lock_interruptible(&dev->lock);

	if (len)
		return len;
	len = dev->live ? shower(dev, page) : -ENODEV;
	mutex_unlock(&dev->lock);
	return len;
}

#define NL_ACTION(name, action)								\
static ssize_t nl_dev_##name##_store(struct config_item *item, const char *page, size_t len)	\
{												\
	return nl_act(item, page, len, action);							\
}												\
CONFIGFS_ATTR_WO(nl_dev_, name)

#define NL_SHOW(name, shower)								\
static ssize_t nl_dev_##name##_show(struct config_item *item, char *page)			\
{												\
	return nl_tell(item, page, shower);							\
}												\
CONFIGFS_ATTR_RO(nl_dev_, name)

NL_ACTION(create, nl_dev_create);
NL_ACTION(set, nl_dev_set);
NL_ACTION(cut, nl_dev_cut);
NL_ACTION(power, nl_dev_power);
NL_ACTION(check, nl_dev_check);
NL_ACTION(save, nl_dev_save);
NL_ACTION(load, nl_dev_load);
NL_ACTION(release, nl_dev_release);
NL_SHOW(info, nl_dev_show);
NL_SHOW(params, nl_dev_show_params);
NL_SHOW(stat, nl_dev_show_stat);
NL_SHOW(erases, nl_dev_show_erases);
NL_SHOW(findings, nl_dev_show_findings);

static ssize_t nl_dev_error_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", to_nl_dev(item)->error);
}
CONFIGFS_ATTR_RO(nl_dev_, error);

static struct configfs_attribute *nl_dev_attrs[] = {
	&nl_dev_attr_create,
	&nl_dev_attr_set,
	&nl_dev_attr_cut,
	&nl_dev_attr_power,
	&nl_dev_attr_check,
	&nl_dev_attr_save,
	&nl_dev_attr_load,
	&nl_dev_attr_release,
	&nl_dev_attr_info,
	&nl_dev_attr_params,
	&nl_dev_attr_stat,
	&nl_dev_attr_erases,
	&nl_dev_attr_findings,
	&nl_dev_attr_error,
	NULL,
};

static void nl_item_release(struct config_item *item)
{
	nl_dev_free(to_nl_dev(item));
}

static struct configfs_item_operations nl_item_ops = {
	.release = nl_item_release,
};

static const struct config_item_type nl_dev_type = {
	.ct_item_ops = &nl_item_ops,
	.ct_attrs = nl_dev_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_item *nl_make_item(struct config_group *group, const char *name)
{
	struct nl_dev *dev;

	if (!ek_name_ok(name, NL_NAME_MAX))
		return ERR_PTR(-EINVAL);
	dev = nl_dev_alloc(name);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	config_item_init_type_name(&dev->item, name, &nl_dev_type);
	return &dev->item;
}

static void nl_drop_item(struct config_group *group, struct config_item *item)
{
	struct nl_dev *dev = to_nl_dev(item);

	mutex_lock(&dev->lock);
	nl_dev_destroy(dev);
	mutex_unlock(&dev->lock);
	config_item_put(item);
}

static ssize_t nameless_presets_show(struct config_item *item, char *page)
{
	ssize_t at = 0;
	unsigned int i;

	for (i = 0; i < nl_nr_presets; i++)
		at += sysfs_emit_at(page, at, "%s %s\n", nl_presets[i].name, nl_presets[i].text);
	return at;
}

static ssize_t nameless_keys_show(struct config_item *item, char *page)
{
	ssize_t at = 0;
	int i;

	for (i = 0; i < NL_NR_PARAMS; i++)
		at += sysfs_emit_at(page, at, "%s %s\n", nl_params[i].name, nl_params[i].text);
	return at;
}

CONFIGFS_ATTR_RO(nameless_, presets);
CONFIGFS_ATTR_RO(nameless_, keys);

static struct configfs_attribute *nameless_attrs[] = {
	&nameless_attr_presets,
	&nameless_attr_keys,
	NULL,
};

static struct configfs_group_operations nl_group_ops = {
	.make_item = nl_make_item,
	.drop_item = nl_drop_item,
};

static const struct config_item_type nameless_type = {
	.ct_group_ops = &nl_group_ops,
	.ct_attrs = nameless_attrs,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem nameless_subsys = {
	.su_group.cg_item = {
		.ci_namebuf = "nameless",
		.ci_type = &nameless_type,
	},
};

/**
 * nl_config_find - a device by its name
 * @name: of the directory
 *
 * Context: process context; sleeps.
 * Return: the device, with a reference of its item; NULL.
 */
struct nl_dev *nl_config_find(const char *name)
{
	struct config_item *item;

	mutex_lock(&nameless_subsys.su_mutex);
	item = config_group_find_item(&nameless_subsys.su_group, name);
	mutex_unlock(&nameless_subsys.su_mutex);
	return item ? to_nl_dev(item) : NULL;
}

int nl_config_start_up(void)
{
	config_group_init(&nameless_subsys.su_group);
	mutex_init(&nameless_subsys.su_mutex);
	return configfs_register_subsystem(&nameless_subsys);
}

void nl_config_shut_down(void)
{
	configfs_unregister_subsystem(&nameless_subsys);
}
