// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: evenkeel_raw
 *
 * A driver that has a raw device of nameless, asks for all that it offers and for all that flash
 * would not do, and says in the kernel's log what was wrong. Loading the module with device=NAME
 * does that; it has the device until it is unloaded. It is never installed.
 * tests/vm/nameless_split.sh is its user.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <evenkeel/nameless_raw.h>

#define BYTE	0xa5

static char *device = "";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of a raw device that nothing was written to");

static unsigned int cuts;
module_param(cuts, uint, 0444);
MODULE_PARM_DESC(cuts, "of its power that it was told of");

static struct nl_raw *raw;
static struct nl_raw_shape shape;
static unsigned int wrong;
static u64 when;
static void *oob;

static void cut(void *ctx)
{
	cuts++;
}

static const struct nl_raw_user user = { .name = "evenkeel_raw", .cut = cut };

static void want(int line, int got, int wanted)
{
	if (got == wanted)
		return;
	wrong++;
	pr_err("raw: line %d: %d, not %d\n", line, got, wanted);
}

#define WANT(got, wanted)	want(__LINE__, got, wanted)

static int program(u32 page)
{
	struct nl_buf *buf = nl_raw_buf_alloc(raw);
	int err;

	if (!buf)
		return -ENOMEM;
	memset(nl_raw_buf_data(buf), BYTE, shape.page_bytes);
	memset(oob, page, shape.oob_bytes);
	err = nl_raw_page_program(raw, page, 0, ktime_get_ns(), &when, buf, oob);
	nl_raw_buf_put(buf);
	return err;
}

/* It is what program() made it: 1; something else: 0. */
static int has(u32 page)
{
	struct nl_buf *buf = NULL;
	int err = nl_raw_page_read(raw, page, 0, ktime_get_ns(), &when, &buf, oob);
	int same;

	if (err)
		return err;
	same = buf && !memchr_inv(nl_raw_buf_data(buf), BYTE, shape.page_bytes) &&
	       !memchr_inv(oob, (u8)page, shape.oob_bytes);
	nl_raw_buf_put(buf);
	return same;
}

static int erase(u32 block)
{
	return nl_raw_block_erase(raw, block, 0, ktime_get_ns(), &when);
}

static void refusals(void)
{
	u32 blocks = shape.planes * shape.blocks;
	u64 before = when;

	WANT(program(0), -EEXIST);
	WANT(program(2), -EINVAL);
	WANT(program(shape.pages + 1), -EINVAL);
	WANT(program(blocks * shape.pages), -ERANGE);
	WANT(has(blocks * shape.pages), -ERANGE);
	WANT(erase(blocks), -ERANGE);
	WANT(nl_raw_block_mark_bad(raw, blocks), -ERANGE);
	WANT(program(2 * shape.pages), -ENXIO);
	WANT(erase(2), -ENXIO);
	WANT(when == before, 1);
	WANT(PTR_ERR_OR_ZERO(nl_raw_get(device, &user, NULL)), -EBUSY);
	WANT(PTR_ERR_OR_ZERO(nl_raw_get("none", &user, NULL)), -ENODEV);
}

static void ask(void)
{
	u64 before = ktime_get_ns();

	when = before;
	WANT(has(0), -ENODATA);
	WANT(program(0), 0);
	WANT(when > before, 1);
	WANT(has(0), 1);
	WANT(nl_raw_block_mark_bad(raw, 2), 0);
	WANT(nl_raw_block_is_bad(raw, 2), 1);
	WANT(nl_raw_block_is_bad(raw, 0), 0);
	refusals();
	WANT(has(0), 1);
	WANT(program(1), 0);
	WANT(has(1), 1);
	WANT(erase(0), 0);
	WANT(has(0), -ENODATA);
	WANT(program(0), 0);
	WANT(has(0), 1);
}

static int __init raw_init(void)
{
	raw = nl_raw_get(device, &user, NULL);
	if (IS_ERR(raw))
		return PTR_ERR(raw);
	nl_raw_get_shape(raw, &shape);
	oob = kmalloc(shape.oob_bytes, GFP_KERNEL);
	if (oob)
		ask();
	if (oob && !wrong)
		return 0;
	kfree(oob);
	nl_raw_put(raw);
	return wrong ? -EINVAL : -ENOMEM;
}

/* Without power nothing is there; with it all that was. */
static void __exit raw_exit(void)
{
	int there = has(0);

	if (there != 1 && there != -ESHUTDOWN)
		pr_err("raw: page 0: %d\n", there);
	kfree(oob);
	nl_raw_put(raw);
}

module_init(raw_init);
module_exit(raw_exit);

MODULE_DESCRIPTION("Asks raw flash for all that it offers, and for what it would not do");
MODULE_AUTHOR("The Evenkeel project");
MODULE_LICENSE("GPL");
