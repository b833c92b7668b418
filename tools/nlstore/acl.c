// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <errno.h>
#include <linux/limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>

#include "acl.h"

#define ACCESS	"system.posix_acl_access"
#define DEFAULT	"system.posix_acl_default"

/*
 * Who is named may be of the group or not, and is of it or among the others without the list; who
 * is of a group that is named is not among the others with it.
 */
static uint32_t narrow(uint32_t mode, const struct posix_acl_xattr_entry *entry, size_t nr)
{
	uint32_t mask = mode >> 3 & 7, group = mask, other = mode & 7, perm;

	for (; nr; nr--, entry++) {
		perm = le16toh(entry->e_perm) & mask;
		switch (le16toh(entry->e_tag)) {
		case ACL_USER:
			group &= perm;
			other &= perm;
			break;
		case ACL_GROUP_OBJ:
			group &= perm;
			break;
		case ACL_GROUP:
			other &= perm;
			break;
		}
	}
	return (mode & ~077u) | group << 3 | other;
}

static bool is_none(int err)
{
	return err == ENODATA || err == EOPNOTSUPP;
}

/* Return: bytes, 0: there is none; or an error. A file that is O_PATH is asked by its path only. */
static ssize_t get(int fd, const char *name, void *list, size_t room)
{
	char path[32];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	bytes = getxattr(path, name, list, room);
	if (bytes < 0)
		return is_none(errno) ? 0 : -errno;
	return bytes;
}

int acl_narrow(int fd, uint32_t *mode, bool *is)
{
	struct posix_acl_xattr_header *list;
	ssize_t bytes = get(fd, ACCESS, NULL, 0);

	*is = false;
	if (bytes <= 0)
		return bytes;
	list = malloc(XATTR_SIZE_MAX);
	if (!list)
		return -ENOMEM;
	bytes = get(fd, ACCESS, list, XATTR_SIZE_MAX);
	*is = bytes > 0;
	if (*is && (bytes < (ssize_t)sizeof(*list) ||
		    le32toh(list->a_version) != POSIX_ACL_XATTR_VERSION)) {
		bytes = -EINVAL;
	} else if (*is) {
		*mode = narrow(*mode, (struct posix_acl_xattr_entry *)(list + 1),
			       (bytes - sizeof(*list)) / sizeof(struct posix_acl_xattr_entry));
		bytes = 0;
	}
	free(list);
	return bytes;
}

int acl_gives(int fd, bool *is)
{
	ssize_t bytes = get(fd, DEFAULT, NULL, 0);

	*is = bytes > 0;
	return bytes < 0 ? bytes : 0;
}

int acl_remove(int fd)
{
	if ((fremovexattr(fd, DEFAULT) && !is_none(errno)) ||
	    (fremovexattr(fd, ACCESS) && !is_none(errno)))
		return -errno;
	return 0;
}
