// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a mounted file system tells of itself: evenkeel/scmfs.h has the contract.
 *
 * Nobody waits long for who asks: what is told under a spinlock is a page at most, copied and
 * handed out when it is released, and what takes a look at many files or blocks takes many calls.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <evenkeel/scmfs.h>

#include "vfs.h"

/* Each file system has its own name for it, in later kernels linux/fs.h has one. */
#define SFS_IOC_SHUTDOWN	_IOR('X', 125, __u32)

#define SFS_ROOM_INODES	2048u		/* in use, that a call looks at */
#define SFS_ROOM_NUMBERS	BIT_ULL(18)	/* used or not */

/* Large enough for each of them. */
union sfs_told {
	struct scmfs_head head;
	struct scmfs_info info;
	struct scmfs_file_info file;
	struct scmfs_room room;
	struct scmfs_words words;
	struct scmfs_gc_info gc;
};

static int sfs_tell_info(struct inode *inode, union sfs_told *told)
{
	struct scmfs_info *info = &told->info;
	struct sfs_sb *s = sfs_sb(inode->i_sb);
	const struct scmfs_super *super = scmfs_super(s->fs);
	struct scmfs_statfs st;

	scmfs_statfs(s->fs, &st);
	*info = (struct scmfs_info){
		.memory = le64_to_cpu(super->nr_blocks) << SCMFS_BLOCK_SHIFT,
		.all = st.blocks << SCMFS_BLOCK_SHIFT,
		.free = st.free << SCMFS_BLOCK_SHIFT,
		.inodes = st.inodes,
		.free_inodes = st.free_inodes,
		.log = ek_undo_bytes(le32_to_cpu(super->log_lanes)),
		.log_lanes = le32_to_cpu(super->log_lanes),
		.skew = virt_to_phys(s->base) & (SCMFS_UNIT_SIZE - 1),
	};
	/* everybody may ask, which is nothing for the audit log */
	if (!ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN))
		return 0;
	info->flags = SCMFS_INFO_ADMIN;
	if (smp_load_acquire(&s->was_writable)) {	/* becoming that replaces the log */
		info->ram = scmfs_memory(s->fs);
		info->log_ram = scmfs_log_memory(s->fs);
	}
	spin_lock(&s->windows_lock);
	info->windows = s->nr_windows;
	info->window_bytes = s->window_bytes;
	info->windows_made = s->windows_made;
	info->windows_reclaimed = s->windows_reclaimed;
	spin_unlock(&s->windows_lock);
	info->areas = atomic64_read(&s->areas.nr);
	info->area_reserved = atomic64_read(&s->areas.reserved);
	info->area_bytes = atomic64_read(&s->areas.mapped);
	info->area_window_bytes = atomic64_read(&s->areas.windowed);
	info->pinned = atomic_read(&s->nr_held);
	return 0;
}

static int sfs_room_of(struct inode *inode, u64 *room)
{
	*room = 0;
	if (!S_ISREG(inode->i_mode))
		return 0;
	if (down_read_killable(&sfs_inode(inode)->extents))
		return -EINTR;
	*room = scmfs_room_ahead(sfs_fs(inode), inode->i_ino);
	up_read(&sfs_inode(inode)->extents);
	return 0;
}

static int sfs_tell_file(struct inode *inode, union sfs_told *told)
{
	struct scmfs_attr attr;
	int err = scmfs_getattr(sfs_fs(inode), inode->i_ino, &attr);

	if (err)
		return err;
	told->file.taken = attr.blocks << SCMFS_BLOCK_SHIFT;
	return sfs_room_of(inode, &told->file.room);
}

/*
 * Nobody is waited for: what is being made has no room yet, what leaves RAM gives it back.  Nor is
 * what has no name any more: were ours the last reference, we would be who frees all that it has.
 */
static int sfs_is_in_use(struct inode *inode, unsigned long ino, void *data)
{
	if (inode->i_ino != ino)
		return 0;
	if (READ_ONCE(inode->i_state) & I_NEW || !READ_ONCE(inode->i_nlink))
		return -1;
	return igrab(inode) ? 1 : -1;
}

/**
 * sfs_in_use - an inode that is in RAM, and has a name
 * @sb: the file system
 * @ino: its number
 *
 * Return: the inode with a reference, or NULL; nobody is waited for.
 */
struct inode *sfs_in_use(struct super_block *sb, u64 ino)
{
	return find_inode_nowait(sb, ino, sfs_is_in_use, NULL);
}

static int sfs_add_room(struct super_block *sb, u64 ino, struct scmfs_room *r)
{
	struct inode *inode = sfs_in_use(sb, ino);
	u64 room;
	int err;

	if (!inode)
		return 0;
	err = sfs_room_of(inode, &room);
	iput(inode);
	r->bytes += room;
	r->files += !!room;
	return err;
}

/* Only files that are in RAM have any, but for those that left it while nothing could be stored. */
static int sfs_tell_room(struct inode *inode, union sfs_told *told)
{
	struct scmfs *fs = sfs_fs(inode);
	u64 all = le64_to_cpu(scmfs_super(fs)->nr_inodes);
	struct scmfs_room *r = &told->room;
	u64 ino = min(r->from, all), end = min(all, ino + SFS_ROOM_NUMBERS);
	unsigned int nr;
	int err;

	r->bytes = 0;
	r->files = 0;
	for (nr = 0; nr < SFS_ROOM_INODES; nr++) {
		ino = scmfs_next_inode(fs, ino, end);
		if (ino >= end)
			break;
		err = sfs_add_room(inode->i_sb, ino++, r);
		if (err)
			return err;
		cond_resched();
	}
	r->from = ino < all ? ino : 0;
	return 0;
}

static int sfs_tell_words(struct scmfs *fs, struct scmfs_words *w,
			  u32 (*look)(struct scmfs *fs, u64 from, u64 *word, u32 nr))
{
	const struct scmfs_super *super = scmfs_super(fs);
	u64 *words = kmalloc_array(SCMFS_LOOK_MAX, sizeof(*words), GFP_KERNEL);
	int err = 0;

	static_assert(SCMFS_LOOK_MAX == SCMFS_LOOK_WORDS, "words that a call fills");
	if (!words)
		return -ENOMEM;
	w->nr = look(fs, w->from, words, min(w->nr, SCMFS_LOOK_MAX));
	if (copy_to_user(u64_to_user_ptr(w->words), words, w->nr * sizeof(*words)))
		err = -EFAULT;
	kfree(words);
	w->first = le64_to_cpu(super->first_data_block);
	w->end = le64_to_cpu(super->nr_blocks) - 1;
	return err;
}

static int sfs_tell_wear(struct inode *inode, union sfs_told *told)
{
	return told->words.reserved ? -EINVAL :
		sfs_tell_words(sfs_fs(inode), &told->words, scmfs_wear_counts);
}

static int sfs_tell_used(struct inode *inode, union sfs_told *told)
{
	return told->words.reserved || told->words.from % 64 ? -EINVAL :
		sfs_tell_words(sfs_fs(inode), &told->words, scmfs_used_blocks);
}

static int sfs_tell_gc(struct inode *inode, union sfs_told *told)
{
	struct sfs_sb *s = sfs_sb(inode->i_sb);
	int err = told->gc.set ? sfs_gc_set(s, &told->gc) : 0;

	if (!err)
		sfs_gc_tell(s, &told->gc);
	return err;
}

/**
 * struct sfs_question - an ioctl that tells something
 * @cmd: its number
 * @admin: it takes CAP_SYS_ADMIN
 * @size: of its structure
 * @least: of the first version's
 * @tell: fills it
 */
struct sfs_question {
	unsigned int cmd;
	bool admin;
	u32 size;
	u32 least;
	int (*tell)(struct inode *inode, union sfs_told *told);
};

static const struct sfs_question sfs_questions[] = {
	{ SCMFS_IOC_INFO, false, sizeof(struct scmfs_info), 136, sfs_tell_info },
	{ SCMFS_IOC_FILE_INFO, false, sizeof(struct scmfs_file_info), 24, sfs_tell_file },
	{ SCMFS_IOC_ROOM, true, sizeof(struct scmfs_room), 32, sfs_tell_room },
	{ SCMFS_IOC_WEAR, true, sizeof(struct scmfs_words), 48, sfs_tell_wear },
	{ SCMFS_IOC_USED, true, sizeof(struct scmfs_words), 48, sfs_tell_used },
	{ SCMFS_IOC_GC, true, sizeof(struct scmfs_gc_info), 152, sfs_tell_gc },
};

static int sfs_answer(struct inode *inode, const struct sfs_question *q, void __user *arg)
{
	union sfs_told told;
	u32 size, filled;
	int err;

	if (q->admin && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < q->least || size > SCMFS_SIZE_MAX)
		return -EINVAL;
	memset(&told, 0, sizeof(told));
	err = copy_struct_from_user(&told, q->size, arg, size);
	if (!err && told.head.flags)
		err = -EINVAL;
	if (!err)
		err = sfs_alive(inode) ?: q->tell(inode, &told);
	if (err)
		return err;
	filled = min(size, q->size);
	told.head.size = filled;
	if (copy_to_user(arg, &told, filled) || clear_user(arg + filled, size - filled))
		return -EFAULT;
	return 0;
}

long sfs_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct inode *inode = file_inode(file);
	unsigned int i;

	if (cmd == SFS_IOC_SHUTDOWN)
		return sfs_shutdown(inode->i_sb, (u32 __user *)arg);
	for (i = 0; i < ARRAY_SIZE(sfs_questions); i++)
		if (cmd == sfs_questions[i].cmd)
			return sfs_answer(inode, sfs_questions + i, (void __user *)arg);
	return -ENOTTY;
}
