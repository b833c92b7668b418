/* SPDX-License-Identifier: GPL-2.0-only */
/* Access control lists, which a store does not keep: nobody may do more for want of them. */
#ifndef NLSTORE_ACL_H
#define NLSTORE_ACL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * @mode is that of open file @fd, O_PATH or not, whose list makes it say too much: its group's bits
 * are the list's mask. It becomes what the group and all others may do at least. *@is: there is a
 * list. Return: 0 or an error.
 */
int acl_narrow(int fd, uint32_t *mode, bool *is);
/* *@is: folder @fd, O_PATH or not, gives what is made in it a list. Return: 0 or an error. */
int acl_gives(int fd, bool *is);
/* Open folder @fd has none any more, nor has what is made in it one from there on. */
int acl_remove(int fd);

#endif
