// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/config/mem2m: a directory is a device. Writing `SIZE [key=value]...` to its `create`
 * makes the disk. A failed write leaves its reason in `error`.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <evenkeel/name.h>

#include "mem2m.h"

typedef int (*m2_action)(struct m2_dev *dev, char *args);

static struct m2_dev *to_m2_dev(struct config_item *item)
{
	return container_of(to_config_group(item), struct m2_dev, group);
}

/* Run one on a copy of what was written, without its newline. */
static ssize_t m2_act(struct config_item *item, const char *page, size_t len, m2_action action)
{
	char *args = kstrndup(page, len, GFP_KERNEL);
	struct m2_dev *dev = to_m2_dev(item);
	int err;

	if (!args)
		return -ENOMEM;
	/* Who is not killed reads the error, which is another command's until this has the lock. */
	err = mutex_lock_killable(&dev->lock);
	if (!err) {
		dev->error[0] = 0;
		err = action(dev, strim(args));
		mutex_unlock(&dev->lock);
	}
	kfree(args);
	return err ?: len;
}

static ssize_t m2_dev_create_store(struct config_item *item, const char *page, size_t len)
{
	return m2_act(item, page, len, m2_dev_create);
}

static ssize_t m2_dev_resize_store(struct config_item *item, const char *page, size_t len)
{
	return m2_act(item, page, len, m2_dev_resize);
}

static ssize_t m2_dev_release_store(struct config_item *item, const char *page, size_t len)
{
	return m2_act(item, page, len, m2_dev_release);
}

static ssize_t m2_dev_info_show(struct config_item *item, char *page)
{
	return m2_dev_show(to_m2_dev(item), page);
}

static ssize_t m2_dev_error_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", to_m2_dev(item)->error);
}

CONFIGFS_ATTR_WO(m2_dev_, create);
CONFIGFS_ATTR_WO(m2_dev_, resize);
CONFIGFS_ATTR_WO(m2_dev_, release);
CONFIGFS_ATTR_RO(m2_dev_, info);
CONFIGFS_ATTR_RO(m2_dev_, error);

static struct configfs_attribute *m2_dev_attrs[] = {
	&m2_dev_attr_create,
	&m2_dev_attr_resize,
	&m2_dev_attr_release,
	&m2_dev_attr_info,
	&m2_dev_attr_error,
	NULL,
};

static void m2_item_release(struct config_item *item)
{
	m2_dev_free(to_m2_dev(item));
}

static struct configfs_item_operations m2_item_ops = {
	.release = m2_item_release,
};

static const struct config_item_type m2_dev_type = {
	.ct_item_ops = &m2_item_ops,
	.ct_attrs = m2_dev_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_group *m2_make_group(struct config_group *parent, const char *name)
{
	struct m2_dev *dev;

	if (!ek_name_ok(name, M2_NAME_LEN))
		return ERR_PTR(-EINVAL);
	if (m2_name_taken(name))
		return ERR_PTR(-EEXIST);
	dev = m2_dev_alloc(name);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	config_group_init_type_name(&dev->group, name, &m2_dev_type);
	return &dev->group;
}

static void m2_drop_item(struct config_group *parent, struct config_item *item)
{
	m2_dev_forget(to_m2_dev(item));
	config_item_put(item);
}

static struct configfs_group_operations m2_group_ops = {
	.make_group = m2_make_group,
	.drop_item = m2_drop_item,
};

static const struct config_item_type m2_type = {
	.ct_group_ops = &m2_group_ops,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem m2_subsys = {
	.su_group.cg_item = {
		.ci_namebuf = "mem2m",
		.ci_type = &m2_type,
	},
};

/* --- devices that the module's parameter asks for ------------------------------------------ */

static char *create;
module_param(create, charp, 0444);
MODULE_PARM_DESC(create, "devices to begin with: NAME:SIZE[:phys=ADDRESS|:dax=DEVICE|:unit=SIZE],...");

static LIST_HEAD(m2_preset);	/* m2_dev.preset; until the module goes */

static int m2_preset_create(struct m2_dev *dev, char *args)
{
	int err;

	mutex_lock(&dev->lock);
	err = m2_dev_create(dev, args);
	mutex_unlock(&dev->lock);
	return err;
}

/* One that can't be made keeps neither the others from being made nor the module from loading. */
static void m2_preset_add(const char *name, char *args)
{
	struct config_group *group;
	struct m2_dev *dev;
	int err;

	if (!*name)
		return;
	group = m2_make_group(&m2_subsys.su_group, name);
	if (IS_ERR(group)) {
		pr_err("mem2m: create=%s: error %ld\n", name, -PTR_ERR(group));
		return;
	}
	err = configfs_register_group(&m2_subsys.su_group, group);
	if (err) {
		pr_err("mem2m: create=%s: error %d\n", name, -err);
		config_group_put(group);
		return;
	}
	dev = container_of(group, struct m2_dev, group);
	list_add_tail(&dev->preset, &m2_preset);
	err = m2_preset_create(dev, args);
	if (err)
		pr_err("mem2m: create=%s: %s (error %d)\n", name, dev->error, -err);
}

static int m2_preset_all(void)
{
	char *list, *rest, *name, *args;

	if (!create)
		return 0;
	list = kstrdup(create, GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	rest = list;
	while (rest) {
		name = m2_words_preset(&rest, &args);
		m2_preset_add(name, args);
	}
	kfree(list);
	return 0;
}

static void m2_preset_drop_all(void)
{
	struct m2_dev *dev, *next;

	list_for_each_entry_safe(dev, next, &m2_preset, preset) {
		list_del(&dev->preset);
		m2_dev_forget(dev);
		configfs_unregister_group(&dev->group);
		config_group_put(&dev->group);
	}
}

int m2_config_init(void)
{
	int err;

	config_group_init(&m2_subsys.su_group);
	mutex_init(&m2_subsys.su_mutex);
	err = configfs_register_subsystem(&m2_subsys);
	if (err)
		return err;
	err = m2_preset_all();
	if (err)
		configfs_unregister_subsystem(&m2_subsys);
	return err;
}

void m2_config_exit(void)
{
	m2_preset_drop_all();
	configfs_unregister_subsystem(&m2_subsys);
}
