// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/config/emudisk: a directory is a device. Writing `MODEL SIZE [key=value]...` to its
 * `create` makes the disk. A failed write leaves its reason in `error`.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <evenkeel/name.h>

#include "emudisk.h"

static char emu_error[EMU_ERROR_LEN];

typedef int (*emu_action)(struct emu_dev *dev, char *args);

/* Run one on a copy of what was written, without its newline. */
static ssize_t emu_store(struct emu_dev *dev, const char *page, size_t len, emu_action action)
{
	char *args = kstrndup(page, len, GFP_KERNEL), *rest;
	int err;

	if (!args)
		return -ENOMEM;
	rest = strim(args);
	mutex_lock(&emu_mutex);
	if (dev)
		dev->error[0] = 0;
	else
		emu_error[0] = 0;
	err = action(dev, rest);
	mutex_unlock(&emu_mutex);
	kfree(args);
	return err ?: len;
}

static ssize_t emu_dev_create_store(struct config_item *item, const char *page, size_t len)
{
	return emu_store(to_emu_dev(item), page, len, emu_dev_create);
}

static ssize_t emu_dev_set_store(struct config_item *item, const char *page, size_t len)
{
	return emu_store(to_emu_dev(item), page, len, emu_dev_set);
}

/* Without `force`, only what nobody uses. */
static int emu_release(struct emu_dev *dev, char *args)
{
	bool force = !strcmp(args, "force");

	if (*args && !force && strcmp(args, "1"))
		return emu_fail(dev->error, -EINVAL, "%s: 1 or force", args);
	if (dev->live && !force && emu_record_has(dev))
		return emu_fail(dev->error, -EBUSY, "%s has recorded events: record clear first",
				dev->name);
	if (dev->live && !force && !emu_dev_shut(dev))
		return emu_fail(dev->error, -EBUSY, "%s is open", dev->name);
	emu_dev_destroy(dev);
	return 0;
}

static ssize_t emu_dev_release_store(struct config_item *item, const char *page, size_t len)
{
	return emu_store(to_emu_dev(item), page, len, emu_release);
}

static int emu_cut_words(struct emu_dev *dev, char *args, char *error)
{
	struct emu_survival survival = { .keep = EMU_KEEP_NONE };
	char *key, *value;
	int err;

	while ((err = emu_word(&args, &key, &value, error)) > 0) {
		err = emu_survival_word(&survival, key, value, error);
		if (err == -ENOENT)
			return emu_fail(error, -EINVAL, "cut knows no %s=", key);
		if (err)
			return err;
	}
	if (err)
		return err;
	if (survival.tear && survival.keep != EMU_KEEP_RANDOM)
		return emu_fail(error, -EINVAL, "tear needs keep=random");
	return emu_cut(dev, &survival, error);
}

static int emu_dev_cut(struct emu_dev *dev, char *args)
{
	if (!dev->live)
		return -ENODEV;
	return emu_cut_words(dev, args, dev->error);
}

static ssize_t emu_dev_cut_store(struct config_item *item, const char *page, size_t len)
{
	return emu_store(to_emu_dev(item), page, len, emu_dev_cut);
}

static ssize_t emu_locked_show(struct emu_dev *dev, char *page,
			       ssize_t (*show)(struct emu_dev *dev, char *page))
{
	ssize_t len;

	mutex_lock(&emu_mutex);
	len = show(dev, page);
	mutex_unlock(&emu_mutex);
	return len;
}

static ssize_t emu_dev_info_show(struct config_item *item, char *page)
{
	return emu_locked_show(to_emu_dev(item), page, emu_dev_show);
}

static ssize_t emu_dev_params_show(struct config_item *item, char *page)
{
	return emu_locked_show(to_emu_dev(item), page, emu_dev_show_params);
}

static ssize_t emu_dev_error_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", to_emu_dev(item)->error);
}

CONFIGFS_ATTR_WO(emu_dev_, create);
CONFIGFS_ATTR_WO(emu_dev_, set);
CONFIGFS_ATTR_WO(emu_dev_, release);
CONFIGFS_ATTR_WO(emu_dev_, cut);
CONFIGFS_ATTR_RO(emu_dev_, info);
CONFIGFS_ATTR_RO(emu_dev_, params);
CONFIGFS_ATTR_RO(emu_dev_, error);

static struct configfs_attribute *emu_dev_attrs[] = {
	&emu_dev_attr_create,
	&emu_dev_attr_set,
	&emu_dev_attr_release,
	&emu_dev_attr_cut,
	&emu_dev_attr_info,
	&emu_dev_attr_params,
	&emu_dev_attr_error,
	NULL,
};

static void emu_item_release(struct config_item *item)
{
	emu_dev_free(to_emu_dev(item));
}

static struct configfs_item_operations emu_item_ops = {
	.release = emu_item_release,
};

static const struct config_item_type emu_dev_type = {
	.ct_item_ops = &emu_item_ops,
	.ct_attrs = emu_dev_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_item *emu_make_item(struct config_group *group, const char *name)
{
	struct emu_dev *dev;

	if (!ek_name_ok(name, EMU_NAME_MAX))
		return ERR_PTR(-EINVAL);
	dev = emu_dev_alloc(name);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	config_item_init_type_name(&dev->item, name, &emu_dev_type);
	return &dev->item;
}

static void emu_drop_item(struct config_group *group, struct config_item *item)
{
	mutex_lock(&emu_mutex);
	emu_dev_destroy(to_emu_dev(item));
	mutex_unlock(&emu_mutex);
	config_item_put(item);
}

static int emu_root_record(struct emu_dev *dev, char *args)
{
	return emu_record_command(args, emu_error);
}

static int emu_root_cut(struct emu_dev *dev, char *args)
{
	return emu_cut_words(NULL, args, emu_error);
}

static int emu_root_power(struct emu_dev *dev, char *args)
{
	if (strcmp(args, "on"))
		return emu_fail(emu_error, -EINVAL, "%s: on", args);
	list_for_each_entry(dev, &emu_devs, node)
		emu_power_on(dev);
	return 0;
}

static ssize_t emudisk_record_store(struct config_item *item, const char *page, size_t len)
{
	return emu_store(NULL, page, len, emu_root_record);
}

static ssize_t emudisk_record_show(struct config_item *item, char *page)
{
	ssize_t len;

	mutex_lock(&emu_mutex);
	len = emu_record_status(page);
	mutex_unlock(&emu_mutex);
	return len;
}

static ssize_t emudisk_cut_store(struct config_item *item, const char *page, size_t len)
{
	return emu_store(NULL, page, len, emu_root_cut);
}

static ssize_t emudisk_power_store(struct config_item *item, const char *page, size_t len)
{
	return emu_store(NULL, page, len, emu_root_power);
}

static ssize_t emudisk_models_show(struct config_item *item, char *page)
{
	ssize_t at = 0;
	unsigned int i;

	for (i = 0; i < emu_nr_presets; i++)
		at += sysfs_emit_at(page, at, "%s %s\n", emu_presets[i].name, emu_presets[i].text);
	return at;
}

static ssize_t emudisk_error_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", emu_error);
}

CONFIGFS_ATTR(emudisk_, record);
CONFIGFS_ATTR_WO(emudisk_, cut);
CONFIGFS_ATTR_WO(emudisk_, power);
CONFIGFS_ATTR_RO(emudisk_, models);
CONFIGFS_ATTR_RO(emudisk_, error);

static struct configfs_attribute *emudisk_attrs[] = {
	&emudisk_attr_record,
	&emudisk_attr_cut,
	&emudisk_attr_power,
	&emudisk_attr_models,
	&emudisk_attr_error,
	NULL,
};

static struct configfs_group_operations emu_group_ops = {
	.make_item = emu_make_item,
	.drop_item = emu_drop_item,
};

static const struct config_item_type emudisk_type = {
	.ct_group_ops = &emu_group_ops,
	.ct_attrs = emudisk_attrs,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem emudisk_subsys = {
	.su_group.cg_item = {
		.ci_namebuf = "emudisk",
		.ci_type = &emudisk_type,
	},
};

int emu_config_init(void)
{
	config_group_init(&emudisk_subsys.su_group);
	mutex_init(&emudisk_subsys.su_mutex);
	return configfs_register_subsystem(&emudisk_subsys);
}

void emu_config_exit(void)
{
	configfs_unregister_subsystem(&emudisk_subsys);
}
