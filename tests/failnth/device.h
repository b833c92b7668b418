/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations on devices whose directory is in configfs; which one says op->device. */
#ifndef FAILNTH_DEVICE_H
#define FAILNTH_DEVICE_H

#include "failnth.h"

struct device {
	const char *dir;
	const char *node;		/* of the disk, in sysfs */
	void (*sound)(void);		/* what else has to hold of one that is there; or NULL */
};

/* 0, or -1 with errno: write to a file of the device's directory. */
int device_say(const struct device *dev, const char *attr, const char *text);
bool device_there(const struct device *dev);
void device_remove(const struct device *dev);
/* It is there, or was not made; in that case it is the next time. */
void device_retried(const struct device *dev, const char *attr, const char *text, int error);

/* For struct op: states to begin in, what is tried, and what has to hold after that. */
void device_absent(const struct op *op);
void device_empty(const struct op *op);
void device_made(const struct op *op);
int device_create(const struct op *op);
void device_created(const struct op *op, int error);
int device_delete(const struct op *op);
void device_deleted(const struct op *op, int error);

#endif
