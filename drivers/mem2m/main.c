// SPDX-License-Identifier: GPL-2.0-only
/* The two-mode memory driver: a block device, a dm target and one call for other drivers. */
#include <linux/module.h>
#include <evenkeel/range.h>

#include "mem2m.h"

struct workqueue_struct *m2_wq;
struct workqueue_struct *m2_orphan_wq;	/* waits for work of the other one */

static int __init mem2m_init(void)
{
	int err;

	m2_wq = alloc_workqueue("mem2m", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!m2_wq)
		return -ENOMEM;
	m2_orphan_wq = alloc_workqueue("mem2m-orphans", WQ_UNBOUND, 0);
	err = m2_orphan_wq ? 0 : -ENOMEM;
	if (err)
		goto no_orphans;
	err = m2_direct_init();
	if (err)
		goto no_direct;
	err = m2_target_init();
	if (err)
		goto no_target;
	err = m2_config_init();
	if (err)
		goto no_config;
	return 0;

no_config:
	m2_target_exit();
no_target:
	m2_direct_exit();
no_direct:
	destroy_workqueue(m2_orphan_wq);
no_orphans:
	destroy_workqueue(m2_wq);
	return err;
}

static void __exit mem2m_exit(void)
{
	m2_config_exit();
	m2_target_exit();
	m2_direct_exit();
	destroy_workqueue(m2_orphan_wq);
	destroy_workqueue(m2_wq);
	scm_range_wait_told();	/* who has told one that is gone may be on his way back */
}

module_init(mem2m_init);
module_exit(mem2m_exit);

MODULE_DESCRIPTION("Two-mode memory driver: a block device, a dm target and one call, on memory");
MODULE_AUTHOR("The Evenkeel project");
MODULE_LICENSE("GPL");
