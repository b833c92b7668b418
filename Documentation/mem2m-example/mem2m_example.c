// SPDX-License-Identifier: GPL-2.0-only
/*
 * How another driver uses a memory device directly: modprobe mem2m_example device=NAME [text=TEXT] puts
 * TEXT into the first sector, if there is one, reads it back and says what is there.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <evenkeel/mem2m.h>

static char *device = "";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the memory device");

static char *text = "";
module_param(text, charp, 0444);
MODULE_PARM_DESC(text, "what to put into its first sector");

static struct mem2m *mem;

/*
 * A bio on the stack will do: it has ended when the call returns.  One with PREFLUSH or FUA would
 * have to be waited for, see mem2m.h.
 */
static int transfer(void *buf, blk_opf_t opf, sector_t sector)
{
	struct bio_vec vec;
	struct bio bio;
	int err;

	bio_init(&bio, NULL, &vec, 1, opf);
	bio.bi_iter.bi_sector = sector;
	__bio_add_page(&bio, virt_to_page(buf), SECTOR_SIZE, offset_in_page(buf));
	mem2m_submit_bio(mem, &bio);
	err = blk_status_to_errno(bio.bi_status);
	bio_uninit(&bio);
	return err;
}

static int run(char *buf)
{
	int err = 0;

	if (*text) {
		strscpy(buf, text, SECTOR_SIZE);
		err = transfer(buf, REQ_OP_WRITE, 0);
	}
	memset(buf, 0, SECTOR_SIZE);
	if (!err)
		err = transfer(buf, REQ_OP_READ, 0);
	if (!err)
		pr_info("mem2m_example: %s holds \"%.64s\", is %s and has %llu sectors\n", device, buf,
			mem2m_volatile(mem) ? "volatile" : "persistent", mem2m_sectors(mem));
	if (!err && transfer(buf, REQ_OP_READ, mem2m_sectors(mem)) != -EIO)
		err = -ERANGE;
	return err;
}

static int __init example_init(void)
{
	char *buf;
	int err;

	mem = mem2m_get(device);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	buf = kzalloc(SECTOR_SIZE, GFP_KERNEL);
	err = buf ? run(buf) : -ENOMEM;
	kfree(buf);
	if (err)
		mem2m_put(mem);
	return err;
}

static void __exit example_exit(void)
{
	mem2m_put(mem);
}

module_init(example_init);
module_exit(example_exit);

MODULE_DESCRIPTION("Example of a driver that uses a memory device directly");
MODULE_LICENSE("GPL");
