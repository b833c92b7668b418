// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers of inodes are given out and taken back.
 *
 * Every CPU has a word of the map, 64 numbers, and takes from it by atomic operations alone. Only
 * for the next word, one that no other CPU has as long as there is such a one, it takes the lock.
 *
 * What recovery does not look at must not be in use. So `inode_high` is beyond a number, durably,
 * before the inode lives:
 *
 *	inode_high, high_check stored and flushed, by whose word would go beyond
 *	flushed by all who take a number before it is known to be durable
 *	--- first fence of their transactions ---	a cut before: nothing of it is alive
 *	the inode lives
 *	inode_durable, for who comes next
 */
#include "engine_internal.h"

#define WORD_INODES	64u

static u64 nr_words(const struct scmfs *fs)
{
	return DIV_ROUND_UP(fs->nr_inodes, WORD_INODES);
}

/* Bits of a word that stand for no inode. */
static unsigned long no_inodes(const struct scmfs *fs, u64 word)
{
	u64 left = fs->nr_inodes - word * WORD_INODES;

	return left < WORD_INODES ? ~0UL << left : 0;
}

/* A free number of a word, which is taken, or 0: number 0 never is free. */
static u64 take_from_word(struct scmfs *fs, u64 word)
{
	unsigned long used;
	u64 ino;

	for (;;) {
		used = READ_ONCE(fs->inode_map[word]) | no_inodes(fs, word);
		if (used == ~0UL)
			return 0;
		ino = word * WORD_INODES + __ffs(~used);
		if (!test_and_set_bit(ino, fs->inode_map))
			return ino;
	}
}

static bool has_free(const struct scmfs *fs, u64 word)
{
	return (READ_ONCE(fs->inode_map[word]) | no_inodes(fs, word)) != ~0UL;
}

/* The first word from the hint on with free numbers that is no CPU's; the hint goes behind it. */
static u64 next_word(struct scmfs *fs)
{
	u64 word = fs->inode_hint / WORD_INODES, ino;

	for (; word < nr_words(fs); word++) {
		ino = find_next_zero_bit(fs->inode_map, fs->nr_inodes, word * WORD_INODES);
		word = min(ino / WORD_INODES, nr_words(fs));
		if (ino >= fs->nr_inodes)
			word = nr_words(fs);
		else if (test_bit(word, fs->word_claimed))
			continue;
		break;
	}
	fs->inode_hint = (word + 1) * WORD_INODES;
	return word;
}

/* That, or else what another CPU has: no number is free below the hint but in those. */
static u64 choose_word(struct scmfs *fs)
{
	u64 word = next_word(fs);
	u32 i;

	for (i = 0; word >= nr_words(fs) && i < fs->nr_pools; i++) {
		word = READ_ONCE(fs->pool[i].word);
		if (word < nr_words(fs) && !has_free(fs, word))
			word = nr_words(fs);
	}
	return word;
}

/*
 * A number that is given back meanwhile is looked for in the word as one that is claimed, or notes
 * that it is below the hint: pairs with scmfs_free_inode().
 */
static void leave_word(struct scmfs *fs, u64 word)
{
	if (word >= nr_words(fs))
		return;
	clear_bit(word, fs->word_claimed);
	smp_mb__after_atomic();		/* see above */
	if (has_free(fs, word))
		fs->inode_hint = min(fs->inode_hint, word * WORD_INODES);
}

static void raise_high(struct scmfs *fs, u64 word)
{
	u64 high = min(fs->nr_inodes, (word + 1) * WORD_INODES);

	if (high <= fs->inode_high)
		return;
	scmfs_set_high(fs->state, high);
	WRITE_ONCE(fs->inode_high, high);
}

/*
 * Another word for a CPU instead of @old, unless another task was there before. Return: that there
 * is one.
 */
static bool claim_word(struct scmfs *fs, struct scmfs_pool *pool, u64 old)
{
	u64 word = old;

	spin_lock(&fs->lock);
	if (pool->word == old) {
		word = choose_word(fs);
		if (word < nr_words(fs)) {
			raise_high(fs, word);
			leave_word(fs, old);
			set_bit(word, fs->word_claimed);
			smp_store_release(&pool->word, word);	/* pairs with scmfs_alloc_inode() */
		}
	} else {
		word = pool->word;
	}
	spin_unlock(&fs->lock);
	return word < nr_words(fs);
}

/*
 * A free inode's number, or 0. Once the transaction has been committed that gives life to the inode
 * scmfs_inode_lives() is to be told.
 */
u64 scmfs_alloc_inode(struct scmfs *fs)
{
	struct scmfs_pool *pool = scmfs_my_pool(fs);
	u64 ino, word;

	do {
		word = smp_load_acquire(&pool->word);	/* see claim_word() */
		ino = word < nr_words(fs) ? take_from_word(fs, word) : 0;
	} while (!ino && claim_word(fs, pool, word));
	if (!ino)
		return 0;
	percpu_counter_dec(&fs->free_inodes);
	if (ino >= READ_ONCE(fs->inode_durable))
		scm_flush(fs->state, sizeof(*fs->state));
	return ino;
}

/* What was flushed for it went as far as its word at least. */
void scmfs_inode_lives(struct scmfs *fs, u64 ino)
{
	u64 end = min_t(u64, fs->nr_inodes, round_up(ino + 1, WORD_INODES));

	if (ino < READ_ONCE(fs->inode_durable))
		return;
	spin_lock(&fs->lock);
	WRITE_ONCE(fs->inode_durable, max(fs->inode_durable, end));
	spin_unlock(&fs->lock);
}

/* One with links is somebody's, and the map was wrong: it stays used, the next one is another. */
void scmfs_free_inode(struct scmfs *fs, u64 ino)
{
	if (scmfs_links(scmfs_read(&scmfs_inode(fs, ino)->mode_links)))
		return;
	/* A full barrier: it was dealt with before it is another one; see leave_word(), too */
	if (!test_and_clear_bit(ino, fs->inode_map))
		return;
	percpu_counter_inc(&fs->free_inodes);
	if (test_bit(ino / WORD_INODES, fs->word_claimed))
		return;
	spin_lock(&fs->lock);
	fs->inode_hint = min(fs->inode_hint, ino);
	spin_unlock(&fs->lock);
}

u64 scmfs_next_inode(struct scmfs *fs, u64 ino, u64 end)
{
	end = min(end, fs->nr_inodes);
	return ino < end ? find_next_bit(fs->inode_map, end, ino) : end;
}
