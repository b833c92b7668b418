// SPDX-License-Identifier: GPL-2.0-only
#include "check_internal.h"

static int ignore(void *ctx, u32 index, const char *name, u32 len, u32 value_len)
{
	return 0;
}

static u64 next_of(const struct run *run, u64 block)
{
	return le64_to_cpu(((struct scmfs_xattr_block *)scmfs_block(run->fs, block))->next);
}

/* Give back what was taken of a chain up to @end, which is somebody else's. */
static void untake(struct run *run, u64 block, u64 end)
{
	for (; block != end; block = next_of(run, block)) {
		bitmap_clear(run->used, block, 1);
		run->check->blocks--;
	}
}

/* Room for a power of two of them.  Return: 0 or -ENOMEM. */
static int add_acl(struct run *run, u64 ino)
{
	u64 nr = run->nr_acls, *acls = run->acls;

	if (!found_loss(run, "inode %llu: an ACL is damaged; removed, and its group may do nothing",
			ino))
		return 0;
	if (!(nr & (nr - 1)))
		acls = realloc(acls, (nr ? 2 * nr : 1) * sizeof(*acls));
	if (!acls)
		return -ENOMEM;
	run->acls = acls;
	run->acls[run->nr_acls++] = ino;
	return 0;
}

/*
 * A chain is believed as a whole or not at all: it was written as a whole, under checksums. Of an
 * ACL that is lost the group's permission bits were the mask, and would let the group do what only
 * others named in it could.
 */
u64 check_xattrs(struct run *run, u64 ino, struct scmfs_inode *inode)
{
	u64 first = scmfs_read(&inode->xattr), block = first, nr = 0;
	u64 mode_links;
	bool ok;

	if (!first)
		return 0;
	ok = scmfs_has(run->fs, SCMFS_INCOMPAT_XATTR) &&
		!scmfs_xattr_list(run->fs, ino, ignore, NULL);
	for (; ok && block; block = next_of(run, block), nr++)
		if (!take_blocks(run, block, 1)) {
			untake(run, first, block);
			ok = false;
			break;
		}
	if (ok) {
		if (has_broken_acl(run->fs, ino) && add_acl(run, ino))
			run->no_memory = true;
		return nr;
	}
	if (!found_loss(run, "inode %llu: extended attributes are damaged; removed", ino))
		return 0;
	scmfs_write_word(&inode->xattr, 0);
	mode_links = scmfs_read(&inode->mode_links);
	if (scmfs_has(run->fs, SCMFS_INCOMPAT_XATTR) &&
	    (scmfs_mode(mode_links) & SCMFS_IFMT) != SCMFS_IFLNK &&
	    scmfs_mode(mode_links) & 070) {
		found(run, "inode %llu: its group may do nothing, as there may have been an ACL",
		      ino);
		scmfs_write_word(&inode->mode_links, mode_links & ~(070ULL << 32));
	}
	return 0;
}
