/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DUMPSCMFS_UDEV_H
#define DUMPSCMFS_UDEV_H

/*
 * What udev is to know of a device, as blkid says it of others.
 * Return: the program's status; 1: it is none of scmfs'.
 */
int show_udev(const char *path);

#endif
