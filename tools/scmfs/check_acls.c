// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX ACLs: values of attributes that the kernel refuses to look at if they are not as it made
 * them, and all access with them. One that is broken is removed, and what it may have forbidden
 * stays forbidden: the group's permission bits were its mask, and go with it.
 *
 * It comes after all else was repaired, as other attributes move to new blocks then.
 */
#include <sys/stat.h>

#include "check_internal.h"

#define ACL_VERSION	2u	/* of the values, as in linux/posix_acl_xattr.h */

enum { ACL_USER_OBJ = 1, ACL_USER = 2, ACL_GROUP_OBJ = 4, ACL_GROUP = 8, ACL_MASK = 16,
	ACL_OTHER = 32 };

struct acl_entry {
	__le16 tag;
	__le16 perm;
	__le32 id;
};

/* What may come behind @tag: each once, but for those that have ids. */
static u32 next_tags(u32 tag, bool named)
{
	switch (tag) {
	case 0:
		return ACL_USER_OBJ;
	case ACL_USER_OBJ:
	case ACL_USER:
		return ACL_USER | ACL_GROUP_OBJ;
	case ACL_GROUP_OBJ:
	case ACL_GROUP:
		return ACL_GROUP | ACL_MASK | (named ? 0 : ACL_OTHER);
	case ACL_MASK:
		return ACL_OTHER;
	}
	return 0;
}

static bool acl_ok(const u8 *value, u32 len)
{
	struct acl_entry e;
	bool named = false;
	__le32 version;
	u32 tag, last = 0;

	if (len < sizeof(version) || (len - sizeof(version)) % sizeof(e))
		return false;
	memcpy(&version, value, sizeof(version));
	if (le32_to_cpu(version) != ACL_VERSION)
		return false;
	for (value += sizeof(version), len -= sizeof(version); len; value += sizeof(e)) {
		memcpy(&e, value, sizeof(e));
		len -= sizeof(e);
		tag = le16_to_cpu(e.tag);
		if (!is_power_of_2(tag) || !(next_tags(last, named) & tag) ||
		    le16_to_cpu(e.perm) > 7)
			return false;
		if (tag & (ACL_USER | ACL_GROUP)) {
			named = true;
			if (le32_to_cpu(e.id) == ~0u)
				return false;
		}
		last = tag;
	}
	return last == ACL_OTHER;
}

/* Is there one that is broken, or that such an inode can't have? */
static bool broken(struct scmfs *fs, u64 ino, u32 index)
{
	static u8 value[SCMFS_MAX_XATTR_VALUE];
	u32 type = scmfs_mode(scmfs_read(&scmfs_inode(fs, ino)->mode_links)) & S_IFMT;
	int len = scmfs_xattr_get(fs, ino, index, "", 0, value, sizeof(value));

	if (len < 0)
		return false;
	return type == S_IFLNK || (index == SCMFS_XATTR_ACL_DEFAULT && type != S_IFDIR) ||
		!acl_ok(value, len);
}

bool has_broken_acl(struct scmfs *fs, u64 ino)
{
	return broken(fs, ino, SCMFS_XATTR_ACL_ACCESS) || broken(fs, ino, SCMFS_XATTR_ACL_DEFAULT);
}

/* Where there is no room to write the others elsewhere all of them go. */
static void remove_all(struct scmfs *fs, u64 ino)
{
	struct scmfs_inode *inode = scmfs_inode(fs, ino);
	u64 blocks = scmfs_read(&inode->blocks) - scmfs_xattr_blocks(fs, inode);

	scmfs_write_word(&inode->xattr, 0);
	scmfs_write_word(&inode->blocks, blocks);
	scmfs_write_word(&fs->state->clean, 0);
}

static int remove_one(struct scmfs *fs, u64 ino, u32 index)
{
	const struct scmfs_xattr x = { .index = index, .name = "" };
	struct scmfs_attr a;
	int r = scmfs_getattr(fs, ino, &a);

	if (r)
		return r;
	a.mode &= ~0070;
	return scmfs_xattr_set(fs, ino, &x, 0, &a,
			       index == SCMFS_XATTR_ACL_ACCESS ? SCMFS_SET_MODE : 0);
}

/* Return: 0; 1: all attributes had to go, and the maps are to be made anew; -ENOMEM and so on. */
static int repair_acls(struct scmfs *fs, u64 ino)
{
	static const u32 kinds[] = { SCMFS_XATTR_ACL_ACCESS, SCMFS_XATTR_ACL_DEFAULT };
	u32 i;
	int r;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!broken(fs, ino, kinds[i]))
			continue;
		r = remove_one(fs, ino, kinds[i]);
		if (r == -ENOSPC || r == -E2BIG) {
			struct scmfs_attr a;

			scmfs_getattr(fs, ino, &a);
			a.mode &= ~0070;
			scmfs_setattr(fs, ino, &a, SCMFS_SET_MODE);
			remove_all(fs, ino);
			return 1;
		}
		if (r)
			return r;
	}
	return 0;
}

int check_acls(u8 *base, u64 size, const u64 *inos, u64 nr, const char **reason)
{
	struct scmfs *fs;
	bool anew = false;
	int r = scmfs_open(base, size, 0, &fs, NULL, reason);
	u64 i;

	if (r)
		return r;
	for (i = 0; r >= 0 && i < nr; i++) {
		r = repair_acls(fs, inos[i]);
		anew |= r > 0;
	}
	if (anew)		/* as if it had crashed: blocks are free that the maps tell of */
		scmfs_abandon(fs);
	else
		scmfs_close(fs);
	*reason = "a damaged ACL can't be removed";
	if (r < 0 || !anew)
		return min(r, 0);
	r = scmfs_open(base, size, 0, &fs, NULL, reason);
	if (!r)
		scmfs_close(fs);
	return r;
}
