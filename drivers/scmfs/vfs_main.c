// SPDX-License-Identifier: GPL-2.0-only
/* A file system in the memory's address space, after wu-2011 chapter IV. */
#include <linux/module.h>
#include <linux/workqueue.h>

#include "vfs.h"

struct workqueue_struct *sfs_wq;	/* ends of windows */
struct workqueue_struct *sfs_held_wq;	/* looks whether pages are still pinned */
struct workqueue_struct *sfs_gc_wq;	/* garbage collection */

static int __init sfs_init(void)
{
	int err = sfs_inode_cache_init();

	if (err)
		return err;
	err = -ENOMEM;
	sfs_wq = alloc_workqueue("scmfs", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!sfs_wq)
		goto no_wq;
	sfs_held_wq = alloc_workqueue("scmfs-held", WQ_UNBOUND, 0);
	if (!sfs_held_wq)
		goto no_held;
	sfs_gc_wq = alloc_workqueue("scmfs-gc", WQ_UNBOUND | WQ_FREEZABLE, 0);
	if (!sfs_gc_wq)
		goto no_gc;
	err = register_filesystem(&sfs_type);
	if (err)
		goto no_type;
	return 0;

no_type:
	destroy_workqueue(sfs_gc_wq);
no_gc:
	destroy_workqueue(sfs_held_wq);
no_held:
	destroy_workqueue(sfs_wq);
no_wq:
	sfs_inode_cache_exit();
	return err;
}

static void __exit sfs_exit(void)
{
	unregister_filesystem(&sfs_type);
	destroy_workqueue(sfs_gc_wq);
	destroy_workqueue(sfs_held_wq);
	destroy_workqueue(sfs_wq);
	sfs_inode_cache_exit();
}

module_init(sfs_init);
module_exit(sfs_exit);

MODULE_DESCRIPTION("A file system in the address space of storage class memory");
MODULE_AUTHOR("The Evenkeel project");
MODULE_LICENSE("GPL");
MODULE_ALIAS_FS("scmfs");
