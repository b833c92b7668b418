// SPDX-License-Identifier: GPL-2.0-only
/* Emulated disks with realistic timing, power cuts and a recorder; for tests only. */
#include <linux/module.h>

#include "emudisk.h"

DEFINE_MUTEX(emu_mutex);	/* see emudisk.h */
LIST_HEAD(emu_devs);
unsigned int emu_nr_devs;
atomic64_t emu_seq = ATOMIC64_INIT(0);

static int __init emudisk_init(void)
{
	int err;

	err = emu_engine_start_up();
	if (err)
		return err;
	err = emu_record_init();
	if (err)
		goto no_record;
	err = emu_config_init();
	if (err)
		goto no_config;
	return 0;

no_config:
	emu_record_exit();
no_record:
	emu_engine_shut_down();
	return err;
}

static void __exit emudisk_exit(void)
{
	emu_config_exit();
	emu_record_exit();
	emu_engine_shut_down();
	rcu_barrier();
}

module_init(emudisk_init);
module_exit(emudisk_exit);

MODULE_DESCRIPTION("Emulated disks with mechanical or flash timing, power cuts and a recorder");
MODULE_LICENSE("GPL");
