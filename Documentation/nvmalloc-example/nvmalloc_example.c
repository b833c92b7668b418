// SPDX-License-Identifier: GPL-2.0-only
/*
 * How another driver has memory that keeps its content: modprobe nvmalloc_example path=NAME [step=BYTES]
 * counts in it how often it was loaded, has the area grow by BYTES each time, and says what there is.
 * With drop=1 it gives the memory back.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <evenkeel/nvmalloc.h>

static char *path = "";
module_param(path, charp, 0444);
MODULE_PARM_DESC(path, "name of the area, in a mounted scmfs");

static unsigned long step = SZ_64K;
module_param(step, ulong, 0444);
MODULE_PARM_DESC(step, "bytes that it grows by");

static unsigned long first;
module_param(first, ulong, 0444);
MODULE_PARM_DESC(first, "bytes that it has when it is made");

static bool drop;
module_param(drop, bool, 0444);
MODULE_PARM_DESC(drop, "give its memory back");

static struct nvm_area *area;

/* The first word counts; the first word of each step says when that came. */
static int count(u64 *loads)
{
	u64 from = nvm_mapped_size(area), bytes;
	int cookie, err;
	u64 *p;

	err = nvmalloc_expand(area, from + step);
	if (err)
		return err;
	p = nvm_enter(area, &bytes, &cookie);
	if (bytes < from + step || memchr_inv((void *)p + from, 0, step))
		err = -EUCLEAN;
	*loads = p[0] + 1;
	if (!err && *loads > 1 && p[step / 8] && p[step / 8] != 2)
		err = -EUCLEAN;
	pr_info("nvmalloc_example: %llu loads, %llu of %llu bytes%s\n", *loads,
		bytes, nvm_size(area), is_vmalloc_addr(p) ? ", in pieces" : "");
	nvm_leave(area, cookie);
	return err;
}

static int run(void)
{
	u64 loads;
	int err = count(&loads);

	if (!err)
		err = nvm_write(area, nvm_mapped_size(area) - step, &loads, sizeof(loads));
	if (!err)
		err = nvm_write(area, 0, &loads, sizeof(loads));
	if (!err && nvm_write(area, nvm_mapped_size(area), &loads, 1) != -ERANGE)
		err = -EFAULT;
	return err;
}

static int __init example_init(void)
{
	int err;

	area = nvmopen(path, false);
	if (PTR_ERR_OR_ZERO(area) == -ENOENT)
		area = nvmalloc(path, SZ_16M, first, true);
	if (IS_ERR(area))
		return PTR_ERR(area);
	err = run();
	if (err)
		nvclose(area);
	return err;
}

static void __exit example_exit(void)
{
	if (drop) {
		if (nvfree(area))
			pr_warn("nvmalloc_example: some of it is still there\n");
	} else if (nvclose(area)) {
		pr_warn("nvmalloc_example: some of it may be lost\n");
	}
}

module_init(example_init);
module_exit(example_exit);

MODULE_DESCRIPTION("Example of a driver that has memory that keeps its content");
MODULE_LICENSE("GPL");
