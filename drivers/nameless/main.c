// SPDX-License-Identifier: GPL-2.0-only
/* An emulated SSD that stores data and OOB where its flash does, beneath a choice of FTLs. */
#include <linux/module.h>

#include "buf.h"
#include "dev.h"

static int __init nameless_init(void)
{
	int err;

	err = nl_buf_start_up();
	if (err)
		return err;
	err = nl_due_start_up();
	if (err)
		goto no_due;
	err = nl_config_start_up();
	if (err)
		goto no_config;
	return 0;

no_config:
	nl_due_shut_down();
no_due:
	nl_buf_shut_down();
	return err;
}

static void __exit nameless_exit(void)
{
	nl_config_shut_down();
	nl_dev_wait_all();
	nl_due_shut_down();
	nl_buf_shut_down();
}

module_init(nameless_init);
module_exit(nameless_exit);

MODULE_DESCRIPTION("Emulated flash SSD with data and OOB at their places in the flash");
MODULE_AUTHOR("The Evenkeel project");
MODULE_LICENSE("GPL");
