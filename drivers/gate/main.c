// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: evenkeel_gate
 *
 * Faults on purpose: what scripts/vm and tests/run are there to find has to be
 * found.  Loading the module with fault=NAME commits the one fault; it is never
 * installed.  tests/gate.sh is its user.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "none, uaf, leak, shift, inversion, atomic, warn, oops, hang, spin, stall, int3 or pin");

static unsigned int seconds = 60;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "how long hang, spin and stall last (60)");

static DEFINE_MUTEX(first_lock);
static DEFINE_MUTEX(second_lock);
static DEFINE_SPINLOCK(atomic_lock);

static unsigned long end(void)
{
	return jiffies + seconds * HZ;
}

static void do_none(void)
{
}

/* Out of line: neither the compiler nor a static checker is to see what becomes of it. */
static noinline void give_away(void *p)
{
	kfree(p);
}

static void do_uaf(void)
{
	char *p = kzalloc(64, GFP_KERNEL);

	if (!p)
		return;
	give_away(p);
	pr_info("gate: %d\n", READ_ONCE(p[8]));
}

/* Several: the address of the last one may survive in a register or on a stack. */
static noinline void do_leak(void)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		void *p = kzalloc(200, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(p);
	}
}

static void do_shift(void)
{
	int places = 64;

	OPTIMIZER_HIDE_VAR(places);
	pr_info("gate: %d\n", 1 << places);
}

static void do_inversion(void)
{
	mutex_lock(&first_lock);
	mutex_lock(&second_lock);
	mutex_unlock(&second_lock);
	mutex_unlock(&first_lock);

	mutex_lock(&second_lock);
	mutex_lock(&first_lock);
	mutex_unlock(&first_lock);
	mutex_unlock(&second_lock);
}

static void do_atomic(void)
{
	spin_lock(&atomic_lock);
	mutex_lock(&first_lock);
	mutex_unlock(&first_lock);
	spin_unlock(&atomic_lock);
}

static void do_warn(void)
{
	WARN(1, "gate: on purpose\n");
}

static void do_oops(void)
{
	int *p = NULL;

	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(*p, 1);
}

static void do_hang(void)
{
	schedule_timeout_uninterruptible(seconds * HZ);
}

static void do_spin(void)
{
	unsigned long until = end();

	preempt_disable();
	while (time_before(jiffies, until))
		cpu_relax();
	preempt_enable();
}

/* Preempted where that is possible, and yet no grace period ends. */
static void do_stall(void)
{
	unsigned long until = end();

	rcu_read_lock();
	while (time_before(jiffies, until))
		cpu_relax();
	rcu_read_unlock();
}

static void do_int3(void)
{
	asm volatile("int3");
}

static void do_pin(void)
{
	__module_get(THIS_MODULE);
}

static const struct {
	const char *name;
	void (*commit)(void);
} faults[] = {
	{ "none", do_none },
	{ "uaf", do_uaf },
	{ "leak", do_leak },
	{ "shift", do_shift },
	{ "inversion", do_inversion },
	{ "atomic", do_atomic },
	{ "warn", do_warn },
	{ "oops", do_oops },
	{ "hang", do_hang },
	{ "spin", do_spin },
	{ "stall", do_stall },
	{ "int3", do_int3 },
	{ "pin", do_pin },
};

static int __init gate_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(faults[i].name, fault))
			continue;
		faults[i].commit();
		return 0;
	}
	return -EINVAL;
}

static void __exit gate_exit(void)
{
}

module_init(gate_init);
module_exit(gate_exit);

MODULE_DESCRIPTION("faults on purpose, for the tests of the tests");
MODULE_AUTHOR("Evenkeel");
MODULE_LICENSE("GPL");
