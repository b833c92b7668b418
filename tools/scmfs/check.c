// SPDX-License-Identifier: GPL-2.0-only
/*
 * In order: super blocks, undo log, inodes' types, inodes with their extents, names, links, what no
 * name leads to, maps, ACLs. Each step may rely on those before it. The engine's own opening comes
 * last: it makes the maps.
 */
#include <stdarg.h>
#include <sys/stat.h>

#include "check_internal.h"

/*
 * From the first repair on the saved maps may be wrong: who is ended in the middle must not leave
 * them vouched for.
 */
void not_vouched(struct run *run)
{
	struct scmfs_state *state = run->fs->state;

	if (scmfs_read(&state->clean)) {
		scmfs_write_word(&state->clean, 0);
		scm_fence();
	}
}

static void tell(struct scmfs_check *check, const char *fmt, va_list ap, const char *end)
{
	char text[600];
	int n = vsnprintf(text, sizeof(text) - strlen(end), fmt, ap);

	if (n >= 0)
		strcat(text, end);
	check->found++;
	check->say(text);
}

void found(struct run *run, const char *fmt, ...)
{
	va_list ap;

	not_vouched(run);
	va_start(ap, fmt);
	tell(run->check, fmt, ap, "");
	va_end(ap);
}

bool found_loss(struct run *run, const char *fmt, ...)
{
	va_list ap;

	if (run->check->keep)
		run->check->left++;
	else
		not_vouched(run);
	va_start(ap, fmt);
	tell(run->check, fmt, ap, run->check->keep ? " (left as it is)" : "");
	va_end(ap);
	return !run->check->keep;
}

u32 mode_of(const struct run *run, u64 ino)
{
	return scmfs_mode(scmfs_read(&scmfs_inode(run->fs, ino)->mode_links));
}

bool is_live(const struct run *run, u64 ino)
{
	return ino && ino < run->fs->nr_inodes && mode_of(run, ino);
}

/* ---- inodes --------------------------------------------------------------------------------- */

bool take_blocks(struct run *run, u64 block, u64 count)
{
	if (!scmfs_run_ok(run->fs, block, count) ||
	    find_next_bit(run->used, block + count, block) < block + count)
		return false;
	scmfs_set_bits(run->used, block, count);
	run->check->blocks += count;
	return true;
}

static bool has_map_magic(const struct scmfs_map *map)
{
	return le32_to_cpu(map->magic) == SCMFS_MAP_MAGIC;
}

/*
 * A chain that leads to a block of which half of the head is right, and that makes with it as many
 * blocks as the inode has, is right: the other half is not.
 */
static bool mend_head(struct run *run, u64 ino, u64 block, struct scmfs_map *map)
{
	const bool is_own = le64_to_cpu(map->ino) == ino, is_map = has_map_magic(map);
	__le32 magic = cpu_to_le32(SCMFS_MAP_MAGIC);

	if (is_own == is_map || test_bit(block, run->used) || !adds_up_with(run, ino, block))
		return false;
	found(run, "inode %llu: block of extents %llu does not say that it is %s, and is", ino,
	      block, is_own ? "one" : "its");
	if (is_own) {
		scm_store(&map->magic, &magic, sizeof(magic));
		scm_flush(&map->magic, sizeof(magic));
	} else {
		scmfs_write_word(&map->ino, ino);
	}
	return true;
}

static bool is_map_of(struct run *run, u64 ino, u64 block)
{
	struct scmfs_map *map = scmfs_block(run->fs, block);

	return (has_map_magic(map) && le64_to_cpu(map->ino) == ino) ||
		mend_head(run, ino, block, map);
}

/* Cut the chain of blocks with extents where it goes wrong. */
static u64 check_maps(struct run *run, u64 ino, struct scmfs_inode *inode)
{
	__le64 *link = &inode->map;
	u64 maps = 0;

	while (scmfs_read(link)) {
		u64 block = scmfs_read(link);

		if (!scmfs_run_ok(run->fs, block, 1) || !is_map_of(run, ino, block) ||
		    !take_blocks(run, block, 1)) {
			if (found_loss(run, "inode %llu: block of extents %llu is none of its", ino,
				       block))
				scmfs_write_word(link, 0);
			break;
		}
		maps++;
		link = &((struct scmfs_map *)scmfs_block(run->fs, block))->next;
	}
	return maps;
}

static bool target_ok(const struct run *run, struct scmfs_inode *inode)
{
	u64 len = scmfs_read(&inode->size);
	struct scmfs_ext e;

	if (!len || len >= SCMFS_BLOCK_SIZE)
		return false;
	return len <= SCMFS_INLINE_TARGET || (!scmfs_ext_at(run->fs, inode, 0, &e) && e.block);
}

static void clear_inode(struct run *run, u64 ino, const char *why)
{
	if (found_loss(run, "inode %llu: %s; removed", ino, why))
		scmfs_write_word(&scmfs_inode(run->fs, ino)->mode_links, 0);
}

/* No inode with more is in use, to the engine. */
static void check_size(struct run *run, u64 ino, struct scmfs_inode *inode)
{
	const u64 most = SCMFS_MAX_FILE_BLOCKS << SCMFS_BLOCK_SHIFT;

	if (scmfs_read(&inode->size) > most) {
		found(run, "inode %llu: can't have %llu bytes", ino, scmfs_read(&inode->size));
		scmfs_write_word(&inode->size, most);
	}
	if (scmfs_read(&inode->kept) > most) {
		found(run, "inode %llu: can't have %llu bytes reserved", ino,
		      scmfs_read(&inode->kept));
		scmfs_write_word(&inode->kept, 0);
	}
}

/*
 * How many blocks it has, @has, is a number beside them; but one that they are less than may be all
 * that is left to tell of some. Of a directory the size, which goes with them by now, says it.
 */
static void check_count(struct run *run, u64 ino, struct scmfs_inode *inode, u64 has)
{
	static const char text[] = "inode %llu: has %llu blocks, not %llu";
	u64 counted = scmfs_read(&inode->blocks);

	if (has == counted)
		return;
	if (nothing_lost(run, has, counted) ||
	    (!run->vouched && scmfs_is_dir(scmfs_read(&inode->mode_links))))
		found(run, text, ino, has, counted);
	else if (!found_loss(run, text, ino, has, counted))
		return;
	scmfs_write_word(&inode->blocks, has);
}

static void check_inode(struct run *run, u64 ino)
{
	struct scmfs_inode *inode = scmfs_inode(run->fs, ino);
	u64 mode_links = scmfs_read(&inode->mode_links), blocks, of_names;
	const u64 left = run->check->left;

	if (!mode_links)
		return;
	if (!known_type(scmfs_mode(mode_links)) || le16_to_cpu(inode->magic) != SCMFS_INODE_MAGIC) {
		clear_inode(run, ino, "is damaged");
		return;
	}
	if (!scmfs_links(mode_links)) {		/* an orphan, if it is not wrong links */
		found(run, "inode %llu: has no links", ino);
		scmfs_write_word(&inode->mode_links, mode_links | 1);
	}
	check_size(run, ino, inode);
	blocks = scmfs_has_extents(scmfs_mode(mode_links)) && !scmfs_inline_target(inode) ?
		check_maps(run, ino, inode) : 0;
	if (run->check->left != left)	/* an inode is as right as what is left of it */
		return;
	of_names = check_extents(run, ino, inode, blocks);
	if (run->no_memory)
		return;
	blocks += check_xattrs(run, ino, inode);
	if (run->check->left != left)
		return;
	if (S_ISLNK(scmfs_mode(mode_links)) && !target_ok(run, inode)) {
		clear_inode(run, ino, "a symbolic link without a target");
		return;
	}
	if (S_ISDIR(scmfs_mode(mode_links)))
		of_names -= check_dir_blocks(run, ino, blocks);
	if (run->no_memory || run->check->left != left)
		return;
	check_count(run, ino, inode, blocks + of_names);
	run->check->inodes++;
}

static void check_root(struct run *run)
{
	struct scmfs_inode *root = scmfs_inode(run->fs, SCMFS_ROOT_INO);
	struct scmfs_inode empty = { .magic = cpu_to_le16(SCMFS_INODE_MAGIC) };

	if (S_ISDIR(mode_of(run, SCMFS_ROOT_INO)) &&
	    le16_to_cpu(root->magic) == SCMFS_INODE_MAGIC) {
		if (scmfs_read(&root->parent) != SCMFS_ROOT_INO) {
			found(run, "the root directory is not its own parent");
			scmfs_write_word(&root->parent, SCMFS_ROOT_INO);
		}
		return;
	}
	if (!found_loss(run, "the root directory is damaged; made anew"))
		return;
	empty.mode_links = cpu_to_le64(scmfs_mode_links(S_IFDIR | 0755, 2));
	empty.parent = cpu_to_le64(SCMFS_ROOT_INO);
	scm_copy_nt(root, &empty, sizeof(empty));
}

static bool has_links(const struct run *run, u64 ino)
{
	return scmfs_links(scmfs_read(&scmfs_inode(run->fs, ino)->mode_links));
}

/* Where nobody knows, all may be in use: that is no fault, and the last that is gets found. */
static void check_high(struct run *run)
{
	struct scmfs *fs = run->fs;
	bool known = fs->high_known && fs->inode_high < fs->nr_inodes;
	u64 least = known ? fs->inode_high : SCMFS_ROOT_INO + 1, ino = fs->nr_inodes - 1;

	while (ino >= least && !is_live(run, ino))
		ino--;
	if (known && ino < least)
		return;
	if (known)
		found(run, "the highest inode ever used is not %llu", fs->inode_high - 1);
	fs->inode_high = ino + 1;
	scmfs_set_high(fs->state, fs->inode_high);
}

/*
 * Of two that refer to a block the one keeps it that somebody may have a name for, and of two such
 * the one that has as many as it says. Of two that do nothing says which is right: where an extent
 * begins is counted nowhere. The lower number keeps it then.
 */
static u32 rank_of(const struct run *run, u64 ino)
{
	return !has_links(run, ino) ? 2 : !adds_up(run, ino);
}

static void check_each(struct run *run)
{
	u8 *rank = kvcalloc(run->fs->nr_inodes, 1, GFP_KERNEL);
	u32 now;
	u64 ino;

	if (!rank) {
		run->no_memory = true;
		return;
	}
	/* Before the checks, which change links and blocks. */
	for (ino = 1; ino < run->fs->nr_inodes; ino++)
		rank[ino] = rank_of(run, ino);
	for (now = 0; now <= 2; now++)
		for (ino = 1; ino < run->fs->nr_inodes && !run->no_memory; ino++)
			if (rank[ino] == now)
				check_inode(run, ino);
	kvfree(rank);
}

static void check_inodes(struct run *run)
{
	check_high(run);
	find_lost(run);
	check_each(run);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void free_run(struct run *run)
{
	free(run->used);
	free(run->refs);
	free(run->subdirs);
	free(run->seen);
	scmfs_abandon(run->fs);
}

static int begin(struct run *run, u8 *base, u64 size, const char **reason)
{
	int r = scmfs_open(base, size, SCMFS_OPEN_NO_SCAN, &run->fs, NULL, reason);

	if (r)
		return r;
	run->used = calloc(run->fs->nr_blocks / 64 + 1, 8);
	run->refs = calloc(run->fs->nr_inodes, sizeof(u32));
	run->subdirs = calloc(run->fs->nr_inodes, sizeof(u32));
	run->seen = calloc(run->fs->nr_inodes / 64 + 1, 8);
	if (run->used && run->refs && run->subdirs && run->seen) {
		know_blocks(run);
		return 0;
	}
	free_run(run);
	*reason = "no memory";
	return -ENOMEM;
}

/*
 * Who is ended behind the super block's repair leaves no state by which a mount, also a module's
 * that knows of no check, would take what is used for free: until the inodes have been looked at,
 * all of them may be.
 */
static void check_state(u8 *base, const struct scmfs_super *super)
{
	struct scmfs_state *state = (struct scmfs_state *)(base + SCMFS_STATE_OFFSET);
	u64 nr_inodes = le64_to_cpu(super->nr_inodes);

	if (scmfs_high_of(state, nr_inodes))
		return;
	scmfs_write_word(&state->clean, 0);
	scmfs_set_high(state, nr_inodes);
	scm_fence();
}

static int check_super(u8 *base, u64 size, struct scmfs_super *super, struct scmfs_check *check,
		       const char **reason)
{
	bool damaged;
	int r = scmfs_probe(base, size, super, &damaged, reason);

	if (check->from_copy && r) {
		r = scmfs_probe_copy(base, size, super, reason);
		damaged = !r;
	}
	if ((!r || damaged) && scmfs_may_write(super, reason))
		return -EPROTONOSUPPORT;
	if (!damaged)
		return r;
	check->found++;
	check->say("the super block is damaged; restored from its copy");
	check_state(base, super);
	scm_copy_nt(base, super, sizeof(*super));
	scm_fence();
	return scmfs_probe(base, size, super, &damaged, reason);
}

/* One lane. False: it is damaged, and what it would give back may have become content since. */
static bool replay_lane(u8 *base, const struct scmfs_super *s, u32 lane, bool clean)
{
	u64 bytes = le64_to_cpu(s->nr_blocks) << SCMFS_BLOCK_SHIFT;
	u64 at = le64_to_cpu(s->log_offset) + lane * EKU_LANE_BYTES, salt = le64_to_cpu(s->salt);
	struct ek_undo_stats stats;

	if (ek_undo_replay(base, bytes, at, 1, salt, true, &stats) || (stats.undone && clean))
		return false;
	return !ek_undo_replay(base, bytes, at, 1, salt, false, &stats);
}

/*
 * Before anything else is looked at: what it undoes is neither taken for damage nor laid over what
 * was repaired.
 */
static void check_log(u8 *base, const struct scmfs_super *s, struct scmfs_check *check)
{
	struct scmfs_state *state = (struct scmfs_state *)(base + SCMFS_STATE_OFFSET);
	bool clean = state->clean, emptied = false;
	char text[80];
	u32 i;

	for (i = 0; i < le32_to_cpu(s->log_lanes); i++) {
		if (replay_lane(base, s, i, clean))
			continue;
		check->found++;
		snprintf(text, sizeof(text), "lane %u of the undo log is damaged; emptied%s", i,
			 check->keep ? " (left as it is)" : "");
		check->say(text);
		check->left += check->keep;
		if (check->keep)
			continue;
		ek_undo_format(base + le64_to_cpu(s->log_offset) + i * EKU_LANE_BYTES, 1);
		emptied = true;
	}
	scm_fence();
	/* Not closed, and a damaged lane there: if power goes, the next one would replay that. */
	if (emptied)
		scmfs_write_word(&state->clean, 0);
	scm_fence();
}

/*
 * A cut is no fault: recover as opening does. What that can't is for the steps that follow, but for
 * want of memory.
 */
static int recover(u8 *base, u64 size, const struct scmfs_super *super, struct scmfs_check *check)
{
	struct scmfs_state *state = (struct scmfs_state *)(base + SCMFS_STATE_OFFSET);
	struct scmfs_recovery rec;
	const char *reason;
	struct scmfs *fs;
	int r;

	check->recovered = !state->clean;
	check_log(base, super, check);
	if (!check->recovered || check->left)
		return 0;
	r = scmfs_open(base, size, 0, &fs, &rec, &reason);
	if (!r)
		scmfs_close(fs);
	/* Until reopen(), who is ended before has the next one recover. */
	scmfs_write_word(&state->clean, 0);
	scm_fence();
	return r == -ENOMEM ? r : 0;
}

/*
 * Have the maps made anew. Room ahead, and what a truncation has left that was cut, is given back
 * as a mount would: the next one finds nothing to recover.
 */
static int reopen(u8 *base, u64 size, struct scmfs_check *check, const char **reason)
{
	struct scmfs_state *state = (struct scmfs_state *)(base + SCMFS_STATE_OFFSET);
	struct scmfs *fs;
	int r = scmfs_open(base, size, 0, &fs, NULL, reason);

	if (r && r != -ENOMEM && state->clean) {
		check->found++;
		check->say("the maps of free space are damaged; made anew");
		scmfs_write_word(&state->clean, 0);
		r = scmfs_open(base, size, 0, &fs, NULL, reason);
	}
	if (r)
		return r;
	if (check->recovered)
		scmfs_trim_all(fs);
	scmfs_close(fs);
	return 0;
}

/* A name for an inode whose links count it already. */
static int adopt(struct scmfs *fs, struct scmfs_node *node, const char *name, u64 ino)
{
	struct scmfs_inode *inode = scmfs_inode(fs, ino), *dir_inode = scmfs_inode(fs, node->ino);
	u32 mode = scmfs_mode(scmfs_read(&inode->mode_links));
	struct scmfs_dir *dir;
	struct scmfs_name n;
	struct scmfs_op op;
	int r = scmfs_name_init(fs, &n, name, strlen(name));

	if (!r)
		r = scmfs_dir_get(fs, node, &dir);
	if (!r)
		r = scmfs_dir_room(dir);
	if (r)
		return r;
	scmfs_op_begin(fs, &op, (u64[]){ node->ino, ino }, 2);
	r = scmfs_dir_place(&op, node, &n);
	n.head |= scmfs_head(ino, mode, 0);
	if (!r)
		r = ek_undo_set(&op.tx, &n.ent->head, n.head);
	if (!r && S_ISDIR(mode)) {
		ek_undo_set(&op.tx, &inode->parent, node->ino);
		r = ek_undo_set(&op.tx, &dir_inode->mode_links,
				scmfs_read(&dir_inode->mode_links) + 1);
	}
	if (r) {
		scmfs_op_abort(&op);
		return r;
	}
	scmfs_op_commit(&op);
	scmfs_dir_added(dir, &n);
	return 0;
}

/* The first of NAME, NAME.1, NAME.2... that nothing has. */
static int free_name(struct scmfs *fs, struct scmfs_node *dir, const char *name, char *buf,
		     size_t size)
{
	unsigned int n;
	u64 ino;
	int r;

	snprintf(buf, size, "%s", name);
	for (n = 1; !(r = scmfs_lookup(fs, dir, buf, strlen(buf), &ino)); n++)
		snprintf(buf, size, "%s.%u", name, n);
	return r == -ENOENT ? 0 : r;
}

/* A directory lost+found, or lost+found.1... where something else has the name. */
static int lost_found(struct scmfs *fs, struct scmfs_node *root, struct scmfs_node *dir)
{
	struct scmfs_new new = { .mode = S_IFDIR | 0700 };
	struct scmfs_attr a;
	char name[32];
	int r = scmfs_lookup(fs, root, "lost+found", 10, &dir->ino);

	if (!r)
		r = scmfs_getattr(fs, dir->ino, &a);
	if (!r && S_ISDIR(a.mode))
		return 0;
	if (r && r != -ENOENT)
		return r;
	r = free_name(fs, root, "lost+found", name, sizeof(name));
	return r ? r : scmfs_create(fs, root, name, strlen(name), &new, &dir->ino);
}

/* Names for what has none, in /lost+found; with the engine, as everything else is right by now. */
static int rescue(u8 *base, u64 size, struct scmfs_check *check, const u64 *lost, u64 nr,
		  const char **reason)
{
	struct scmfs_node root = { .ino = SCMFS_ROOT_INO }, dir = { 0 };
	char number[24], name[40];
	struct scmfs *fs;
	u64 i, done = 0;
	int r;

	r = scmfs_open(base, size, 0, &fs, NULL, reason);
	if (r)
		return r;
	r = lost_found(fs, &root, &dir);
	for (i = 0; !r && i < nr; i++) {
		snprintf(number, sizeof(number), "#%llu", lost[i]);
		r = free_name(fs, &dir, number, name, sizeof(name));
		if (!r)
			r = adopt(fs, &dir, name, lost[i]);
		done += !r;
	}
	scmfs_node_clear(&dir);
	scmfs_node_clear(&root);
	scmfs_close(fs);
	*reason = "what was lost can't be given names";
	if (r != -ENOSPC && r != -E2BIG)
		return r;
	check->say("nothing is free for names in lost+found; what was lost has none yet");
	check->found++;
	check->left += nr - done + 1;
	return 0;
}

/* false: no memory. */
static bool collect_lost(const struct run *run, u64 **lost, u64 *nr)
{
	u64 ino;

	*nr = 0;
	for (ino = next_lost(run, 1); ino; ino = next_lost(run, ino + 1))
		++*nr;
	*lost = malloc((*nr + 1) * sizeof(**lost));
	if (!*lost)
		return false;
	*nr = 0;
	for (ino = next_lost(run, 1); ino; ino = next_lost(run, ino + 1))
		(*lost)[(*nr)++] = ino;
	return true;
}

/* None is left. */
static void forget_damage(u8 *base)
{
	struct scmfs_state *state = (struct scmfs_state *)(base + SCMFS_STATE_OFFSET);

	scmfs_write_word(&state->error, 0);
	scm_fence();
}

/* What was not checked must not be held against the rest: nothing more is changed. */
static int give_up(struct run *run, const char **reason)
{
	scm_fence();
	free_run(run);
	free(run->acls);
	*reason = "out of memory";
	return -ENOMEM;
}

int scmfs_check(u8 *base, u64 size, struct scmfs_check *check, const char **reason)
{
	struct run run = { .check = check };
	struct scmfs_super super;
	u64 *lost, nr, before;
	const char *ignored;
	int r = check_super(base, size, &super, check, reason);

	if (r)
		return r;
	*reason = "out of memory";
	r = recover(base, size, &super, check);
	if (r || check->left)	/* all else rests on what the log takes back */
		return r;
	r = begin(&run, base, size, reason);
	if (r)
		return r;
	before = check->found;
	end_removed(&run);
	check_types(&run);
	if (run.no_memory)
		return give_up(&run, reason);
	check_root(&run);
	check_inodes(&run);
	if (run.no_memory)
		return give_up(&run, reason);
	if (!check->left)
		check_tree(&run);
	if (run.no_memory)
		return give_up(&run, reason);
	if (check->left) {	/* names rest on inodes, links and maps on both */
		scm_fence();
		free_run(&run);
		free(run.acls);
		return 0;
	}
	check_links(&run);
	if (check->found == before && !maps_match(&run, base))
		found(&run, "the maps of free space do not tell what is free; made anew");
	if (!collect_lost(&run, &lost, &nr))
		return give_up(&run, reason);
	scm_fence();
	free_run(&run);
	r = reopen(base, size, check, reason);
	/* What is told to be removed is, whatever becomes of the lost. */
	if (!r && !check->left) {
		int acls = 0;

		if (nr)
			r = rescue(base, size, check, lost, nr, reason);
		if (run.nr_acls)
			acls = check_acls(base, size, run.acls, run.nr_acls, r ? &ignored : reason);
		r = r ? r : acls;
	}
	if (!r && !check->left)
		forget_damage(base);
	free(run.acls);
	free(lost);
	return r;
}
