// SPDX-License-Identifier: GPL-2.0-only
/*
 * What dmsetup shows and sends.  The grammar of the status line is in
 * Documentation/admin-guide/dm-hybrid.rst; a test pins it.
 */
#include <linux/sched/mm.h>
#include "hybrid.h"

static void emit_area(struct hy_area *a, char *result, unsigned int maxlen, unsigned int *pos)
{
	unsigned int sz = *pos;

	if (a->dev)
		DMEMIT(" %s", a->dev->name);
	else
		DMEMIT(" -");
	DMEMIT(" %llu", (u64)a->start);
	*pos = sz;
}

/* Got before state_sem is taken, for which a resume waits (ready.c). */
struct texts {
	char *policy, *room;	/* EK_POLICY_TEXT_SIZE each */
};

/* The policy as it is now, if this is the table in use; else as it was given. */
static const char *policy_text(struct hy_table *t, struct texts *texts)
{
	struct hy_pool *pool = t->pool;

	if (pool->bound == t && pool->loaded &&
	    !hy_policy_text(pool, texts->policy, EK_POLICY_TEXT_SIZE, texts->room))
		return texts->policy;
	return t->policy;
}

static void status_table(struct hy_table *t, struct texts *texts, char *result,
			 unsigned int maxlen)
{
	unsigned int sz = 0, i;

	DMEMIT("%u", t->nr_meta);
	for (i = 0; i < t->nr_meta; i++)
		emit_area(&t->meta[i], result, maxlen, &sz);
	DMEMIT(" %u %u", t->extent_sectors, t->nr_members);
	for (i = 0; i < t->nr_members; i++)
		emit_area(&t->member[i], result, maxlen, &sz);
	DMEMIT(" %u", t->no_discard_passdown + t->read_only);
	if (t->no_discard_passdown)
		DMEMIT(" no_discard_passdown");
	if (t->read_only)
		DMEMIT(" read_only");
	DMEMIT(" %s", policy_text(t, texts));
}

static bool is_vacant(struct hy_pool *pool, unsigned int i)
{
	return ek_super_vacant(ek_store_super(pool->store)) & BIT(i);
}

static char meta_state(struct hy_pool *pool, unsigned int i)
{
	enum hy_mirror_op op = READ_ONCE(pool->mirror.op);

	if (op != HY_MIRROR_NONE && READ_ONCE(pool->mirror.area) == i)
		return op == HY_MIRROR_RESYNC ? 'R' : 'L';
	if (!pool->meta[i].dev)
		return pool->loaded && is_vacant(pool, i) ? '-' : 'F';
	if (!pool->loaded || !(ek_store_areas(pool->store) & BIT(i)))
		return pool->loaded && ek_store_stale(pool->store) & BIT(i) ? 'S' : 'F';
	return 'A';
}

/* heat_lock held, for the sample.  @target: of its share. */
static void emit_member(struct hy_pool *pool, unsigned int i, u32 target, char *result,
			unsigned int maxlen, unsigned int *pos)
{
	struct hy_member *m = &pool->member[i];
	struct ek_rt_window *r = &m->sample.dir[EK_READ], *w = &m->sample.dir[EK_WRITE];
	u32 total = m->state == EK_MEMBER_REMOVED ? 0 : m->nr_extents;
	unsigned int sz = *pos;

	if (m->bdev && total)
		DMEMIT(" %u:%u", MAJOR(m->bdev->bd_dev), MINOR(m->bdev->bd_dev));
	else
		DMEMIT(" -");
	DMEMIT(" %s %u/%u %u %u %llu %llu %llu %llu %lld %lld", hy_member_state(m),
	       total ? total - ek_space_nr_free(&m->space) : 0, total,
	       m->share, target,
	       ek_rt_mean(r), ek_rt_mean(w), ek_rt_percentile(r, 990), ek_rt_percentile(w, 990),
	       ek_rtmon_inflight(m->mon), (s64)atomic64_read(&m->allocations));
	*pos = sz;
}

static void emit_members(struct hy_pool *pool, char *result, unsigned int maxlen,
			 unsigned int *pos)
{
	u32 target[EK_MAX_MEMBERS];
	unsigned int sz = *pos, i;

	/* While a period ends there are none: a decision is cleared before it is made. */
	spin_lock_irq(&pool->policy_lock);
	memcpy(target, pool->decision.target, sizeof(target));
	spin_unlock_irq(&pool->policy_lock);
	DMEMIT(" %u", pool->nr_members);
	mutex_lock(&pool->heat_lock);
	for (i = 0; i < pool->nr_members; i++)
		emit_member(pool, i, target[i], result, maxlen, &sz);
	mutex_unlock(&pool->heat_lock);
	*pos = sz;
}

static void emit_tokens(struct hy_pool *pool, char *result, unsigned int maxlen,
			unsigned int *pos)
{
	unsigned int sz = *pos, i, from = 0, to = 0;
	u64 left = 0;

	spin_lock_irq(&pool->policy_lock);
	for (i = 0; i < pool->nr_members; i++) {
		left += pool->tokens.receive[i];
		if (pool->decision.give[i] > pool->decision.give[from])
			from = i;
		if (pool->decision.receive[i] > pool->decision.receive[to])
			to = i;
	}
	spin_unlock_irq(&pool->policy_lock);
	DMEMIT(" %llu", left);
	if (from != to)
		DMEMIT(" %u>%u", from, to);
	else
		DMEMIT(" -");
	*pos = sz;
}

static void emit_counters(struct hy_pool *pool, char *result, unsigned int maxlen,
			  unsigned int *pos)
{
	unsigned int sz = *pos, i;

	DMEMIT(" %lld %lld %lld %lld %u", (s64)atomic64_read(&pool->mig_started),
	       (s64)atomic64_read(&pool->mig_completed), (s64)atomic64_read(&pool->mig_failed),
	       (s64)atomic64_read(&pool->mig_bytes), atomic_read(&pool->nr_migrating));
	DMEMIT(" %u", HY_REASONS);
	for (i = 0; i < HY_REASONS; i++)
		DMEMIT(" %s %lld", hy_reason_name(i), (s64)atomic64_read(&pool->not_migrated[i]));
	DMEMIT(" %lld %lld %lld %lld", (s64)atomic64_read(&pool->flushes),
	       (s64)atomic64_read(&pool->commits), (s64)atomic64_read(&pool->checkpoints),
	       (s64)atomic64_read(&pool->errors));
	*pos = sz;
}

static void status_info(struct hy_table *t, struct texts *texts, char *result,
			unsigned int maxlen)
{
	static const char * const mode[] = { "rw", "ro", "fail" };
	struct hy_pool *pool = t->pool;
	unsigned int sz = 0, i;

	DMEMIT("%s %s %u %lld/%llu", pool->loaded ? mode[READ_ONCE(pool->mode)] : "fail",
	       READ_ONCE(pool->needs_check) ? "needs_check" : "-", t->extent_sectors,
	       min_t(s64, atomic64_read(&pool->mapped), pool->nr_extents), pool->nr_extents);
	DMEMIT(" %llu/%llu", pool->loaded ? ek_store_journal_used(pool->store) : 0,
	       pool->loaded ? ek_store_journal_blocks(pool->store) : 0);
	DMEMIT(" %u", t->nr_meta);
	for (i = 0; i < t->nr_meta; i++)
		DMEMIT(" %c", meta_state(pool, i));
	emit_members(pool, result, maxlen, &sz);
	emit_tokens(pool, result, maxlen, &sz);
	emit_counters(pool, result, maxlen, &sz);
	DMEMIT(" %s", policy_text(t, texts));
}

static void status_ima(struct hy_table *t, char *result, unsigned int maxlen)
{
	unsigned int sz = 0, i;

	DMEMIT_TARGET_NAME_VERSION(t->ti->type);
	DMEMIT(",extent_sectors=%u,nr_meta=%u", t->extent_sectors, t->nr_meta);
	for (i = 0; i < t->nr_meta; i++)
		DMEMIT(",meta_device_%u=%s,meta_start_%u=%llu", i,
		       t->meta[i].dev ? t->meta[i].dev->name : "-", i, (u64)t->meta[i].start);
	DMEMIT(",nr_members=%u", t->nr_members);
	for (i = 0; i < t->nr_members; i++)
		DMEMIT(",member_device_%u=%s,member_start_%u=%llu", i,
		       t->member[i].dev ? t->member[i].dev->name : "-", i,
		       (u64)t->member[i].start);
	DMEMIT(",discard_passdown=%c,read_only=%c;", t->no_discard_passdown ? 'n' : 'y',
	       t->read_only ? 'y' : 'n');
}

void hy_status(struct dm_target *ti, status_type_t type, unsigned int flags,
	       char *result, unsigned int maxlen)
{
	struct hy_table *t = ti->private;
	struct texts texts = {
		.policy = kmalloc(EK_POLICY_TEXT_SIZE, HY_MUST),
		.room = kmalloc(EK_POLICY_TEXT_SIZE, HY_MUST),
	};

	down_read(&t->pool->state_sem);
	switch (type) {
	case STATUSTYPE_INFO:
		status_info(t, &texts, result, maxlen);
		break;
	case STATUSTYPE_TABLE:
		status_table(t, &texts, result, maxlen);
		break;
	case STATUSTYPE_IMA:
		status_ima(t, result, maxlen);
		break;
	}
	up_read(&t->pool->state_sem);
	kfree(texts.policy);
	kfree(texts.room);
}

/* --- messages --- */

static int refuse(const char *reason)
{
	DMERR("message: %s", reason);
	return -EINVAL;
}

static int message_set(struct hy_pool *pool, char **argv)
{
	const char *reason = NULL;
	int r;

	mutex_lock(&pool->message_lock);
	r = hy_pool_set(pool, argv[1], argv[2], &reason);
	r = r ? refuse(reason) : hy_commit_policy(pool);
	mutex_unlock(&pool->message_lock);
	return r;
}

/* policy <name> [<key> <value>]...; settings that are not named stay as they are. */
static int message_policy(struct hy_pool *pool, unsigned int argc, char **argv)
{
	const char *reason;
	int r;

	if (argc & 1)
		return refuse("policy argument without a value");
	mutex_lock(&pool->message_lock);
	r = hy_pool_set_policy(pool, argv[1], argc - 2, argv + 2, &reason);
	if (r == -ENOMEM)
		DMERR("message: out of memory");
	else
		r = r ? refuse(reason) : hy_commit_policy(pool);
	mutex_unlock(&pool->message_lock);
	return r;
}

/* pin <start> <length> <member>, unpin <start> <length>: sectors; extents that they touch. */
static int message_pin(struct hy_pool *pool, unsigned int argc, char **argv)
{
	const char *reason = NULL;
	u64 start = 0, len = pool->nr_extents << pool->extent_shift, end;
	unsigned int member = 0;
	int r;

	end = len;
	if ((argc > 1 && (kstrtou64(argv[1], 10, &start) || kstrtou64(argv[2], 10, &len))) ||
	    !len || start >= end || len > end - start)
		return refuse("pin: no such sectors");
	if (argc == 4 && (kstrtouint(argv[3], 10, &member) || member >= pool->nr_members))
		return refuse("pin: no such member");
	end = (start + len - 1) >> pool->extent_shift;
	start >>= pool->extent_shift;
	len = end - start + 1;
	if (argc == 1)
		len = U64_MAX;	/* whatever there is, beyond the volume too */
	else if (len > U32_MAX)
		return refuse("pin: too long");
	mutex_lock(&pool->message_lock);
	r = hy_pin(pool, start, len, argc == 4 ? member : -1, &reason);
	r = r ? refuse(reason) : hy_commit_policy(pool);
	mutex_unlock(&pool->message_lock);
	return r;
}

static int message_move(struct hy_pool *pool, char **argv)
{
	enum hy_reason why;
	unsigned int to;
	u64 le, entry;
	int r;

	if (kstrtou64(argv[1], 10, &le) || kstrtouint(argv[2], 10, &to) ||
	    le >= pool->nr_extents || to >= pool->nr_members)
		return refuse("move: no such extent or member");
	if (!READ_ONCE(pool->running))
		return -EBUSY;
	r = hy_pool_load_page(pool, le / EK_PAGE_ENTRIES);
	if (r)
		return r;
	if (ek_map_lookup(&pool->map, le, &entry) || !ek_entry_mapped(entry)) {
		DMWARN_LIMIT("message: move: extent %llu is not mapped", le);
		return -ENOENT;
	}
	r = hy_pinned_to(pool, le);
	why = HY_NOT_PINNED;
	r = r >= 0 && r != to ? -EBUSY :
	    hy_mig_start(pool, le, ek_entry_member(entry), to, &why);
	if (r) {
		hy_not_migrated(pool, why);
		DMWARN_LIMIT("message: move: extent %llu stays: %s", le, hy_reason_name(why));
	}
	return r;
}

static int message_mirror(struct hy_pool *pool, char **argv)
{
	enum hy_mirror_op op;
	unsigned int area;
	int r;

	if (!strcasecmp(argv[1], "leave"))
		op = HY_MIRROR_LEAVE;
	else if (!strcasecmp(argv[1], "vacate"))
		op = HY_MIRROR_VACATE;
	else if (!strcasecmp(argv[1], "resync"))
		op = HY_MIRROR_RESYNC;
	else
		return refuse("metadata: leave, vacate or resync expected");
	if (kstrtouint(argv[2], 10, &area) || area >= pool->nr_meta)
		return refuse("metadata: no such area");
	mutex_lock(&pool->message_lock);
	r = hy_mirror(pool, op, area);
	mutex_unlock(&pool->message_lock);
	if (r == -EINVAL)
		return refuse(op == HY_MIRROR_RESYNC ? "metadata resync: it is a mirror already" :
						       "metadata leave: it is the last one");
	if (r)
		DMERR("message: metadata area %u%s: error %d", area,
		      r == -EEXIST ? " went on without the one in use" : "", r);
	return r;
}

/* "area done total" of what is under way; nothing if nothing is. */
static int message_mirror_at(struct hy_pool *pool, char *result, unsigned int maxlen)
{
	unsigned int area, sz = 0;
	u64 done, total;

	*result = '\0';
	if (hy_mirror_at(pool, &area, &done, &total))
		DMEMIT("%u %llu %llu\n", area, done, total);
	return 1;
}

static int message_member(struct hy_pool *pool, char **argv)
{
	const char *reason = "no such member";
	unsigned int i;
	int r = -EINVAL;

	if (kstrtouint(argv[1], 10, &i) || i >= pool->nr_members)
		return refuse(reason);
	mutex_lock(&pool->message_lock);
	if (!strcasecmp(argv[0], "evacuate"))
		r = hy_evacuate(pool, i, &reason);
	else if (!strcasecmp(argv[0], "stay"))
		r = hy_stay(pool, i, &reason);
	else if (!strcasecmp(argv[0], "reinstate"))
		r = hy_reinstate(pool, i, &reason);
	else
		r = hy_remove_member(pool, i, &reason);
	mutex_unlock(&pool->message_lock);
	if (r)
		DMERR("message: member %u: %s", i, reason);
	return r;
}

static bool is_member_message(const char *word)
{
	return !strcasecmp(word, "evacuate") || !strcasecmp(word, "stay") ||
	       !strcasecmp(word, "remove") || !strcasecmp(word, "reinstate");
}

/* Returns 1: there is a result to be shown. */
static int message_entry(struct hy_pool *pool, char **argv, char *result, unsigned int maxlen)
{
	unsigned int sz = 0;
	u64 le, entry;
	int r;

	if (kstrtou64(argv[1], 10, &le) || le >= pool->nr_extents)
		return refuse("entry: no such extent");
	r = hy_pool_load_page(pool, le / EK_PAGE_ENTRIES);
	if (r)
		return r;
	if (ek_map_lookup(&pool->map, le, &entry) || !ek_entry_mapped(entry))
		DMEMIT("-");
	else
		DMEMIT("%u %u %08x", ek_entry_member(entry), ek_entry_pe(entry),
		       ek_entry_valid(entry));
	return 1;
}

static int message_lost(struct hy_pool *pool, char **argv, char *result, unsigned int maxlen)
{
	u64 from;

	if (kstrtou64(argv[1], 10, &from))
		return refuse("lost: an extent expected");
	return hy_lost_show(pool, from, result, maxlen);
}

static int message_holds(struct hy_pool *pool, char **argv, char *result, unsigned int maxlen)
{
	unsigned int member;
	u64 from;

	if (kstrtouint(argv[1], 10, &member) || member >= pool->nr_members)
		return refuse("holds: no such member");
	if (kstrtou64(argv[2], 10, &from))
		return refuse("holds: an extent expected");
	return hy_holds_show(pool, member, from, result, maxlen);
}

static int message_counts(struct hy_pool *pool, char **argv, char *result, unsigned int maxlen)
{
	u64 cursor;

	if (kstrtou64(argv[1], 10, &cursor))
		return refuse("counts: 0 expected, or where the last answer ended");
	return hy_counts_show(pool, cursor, result, maxlen);
}

/* Returns 1: there is a result to be shown. */
static int message_explain(struct hy_pool *pool, char **argv, char *result, unsigned int maxlen)
{
	u64 le;
	int r;

	if (kstrtou64(argv[1], 10, &le) || le >= pool->nr_extents)
		return refuse("explain: no such extent");
	r = hy_pool_load_page(pool, le / EK_PAGE_ENTRIES);
	if (r)
		return r;
	hy_explain(pool, le, result, maxlen);
	return 1;
}

static int message_samples(struct hy_pool *pool, char *result, unsigned int maxlen)
{
	unsigned int sz = 0, i;

	mutex_lock(&pool->heat_lock);
	for (i = 0; i < pool->nr_members; i++) {
		struct ek_rt_sample *s = &pool->member[i].sample;
		struct ek_rt_window *r = &s->dir[EK_READ], *w = &s->dir[EK_WRITE];

		DMEMIT("%s%u %llu %llu %llu %llu %llu %llu %llu %lld %lld", i ? "\n" : "", i,
		       r->count + w->count, r->count, w->count,
		       r->count + w->count ?
				div64_u64(r->sum_ns + w->sum_ns, r->count + w->count) : 0,
		       s->ewma_all_ns, s->occupancy_ns, s->background_ns,
		       (s64)atomic64_read(&pool->member[i].probe.nr),
		       (s64)atomic64_read(&pool->member[i].probe.ns));
	}
	mutex_unlock(&pool->heat_lock);
	return 1;
}

/* Returns 1: there is a result to be shown. */
static int message_concentrations(struct hy_pool *pool, char *result, unsigned int maxlen)
{
	hy_policy_show_any(pool, result, maxlen);
	return *result ? 1 : refuse("concentrations: policy concentrate only");
}

static bool changes_pool(const char *word)
{
	static const char * const words[] = {
		"set", "policy", "pin", "unpin", "evacuate", "stay", "remove", "reinstate",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(word, words[i]))
			return true;
	return false;
}

/*
 * Who copies the members of a suspended volume, one after the other, is to have them as of one
 * moment.  That it is running is looked at without a lock: between presuspend and postsuspend
 * device-mapper waits for all messages that are under way.
 */
static int refuse_suspended(const char *word)
{
	DMERR("message: %s: the volume is suspended", word);
	return -EBUSY;
}

static int message(struct dm_target *ti, struct hy_pool *pool, unsigned int argc, char **argv,
		   char *result, unsigned int maxlen)
{
	if (!pool->loaded || pool->bound != ti->private)
		return -EAGAIN;
	if (changes_pool(argv[0]) && !READ_ONCE(pool->running))
		return refuse_suspended(argv[0]);
	if (argc == 3 && !strcasecmp(argv[0], "set"))
		return message_set(pool, argv);
	if (argc >= 2 && !strcasecmp(argv[0], "policy"))
		return message_policy(pool, argc, argv);
	if (argc == 1 && !strcasecmp(argv[0], "commit"))
		return hy_commit_message(pool, false);
	if (argc == 1 && !strcasecmp(argv[0], "checkpoint"))
		return hy_commit_message(pool, true);
	if (argc == 3 && !strcasecmp(argv[0], "move"))
		return message_move(pool, argv);
	if (argc == 2 && is_member_message(argv[0]))
		return message_member(pool, argv);
	if (argc == 3 && !strcasecmp(argv[0], "metadata"))
		return message_mirror(pool, argv);
	if (argc == 1 && !strcasecmp(argv[0], "metadata"))
		return message_mirror_at(pool, result, maxlen);
	if (argc == 4 && !strcasecmp(argv[0], "pin"))
		return message_pin(pool, argc, argv);
	if ((argc == 1 || argc == 3) && !strcasecmp(argv[0], "unpin"))
		return message_pin(pool, argc, argv);
	if (argc == 2 && !strcasecmp(argv[0], "entry"))
		return message_entry(pool, argv, result, maxlen);
	if (argc == 2 && !strcasecmp(argv[0], "explain"))
		return message_explain(pool, argv, result, maxlen);
	if (argc == 2 && !strcasecmp(argv[0], "counts"))
		return message_counts(pool, argv, result, maxlen);
	if (argc == 2 && !strcasecmp(argv[0], "lost"))
		return message_lost(pool, argv, result, maxlen);
	if (argc == 3 && !strcasecmp(argv[0], "holds"))
		return message_holds(pool, argv, result, maxlen);
	if (argc == 1 && !strcasecmp(argv[0], "cache")) {
		hy_cache_show(pool, result, maxlen);
		return 1;
	}
	if (argc == 1 && !strcasecmp(argv[0], "members")) {
		hy_members_show(pool, result, maxlen);
		return 1;
	}
	if (argc == 1 && !strcasecmp(argv[0], "samples"))
		return message_samples(pool, result, maxlen);
	if (argc == 1 && !strcasecmp(argv[0], "concentrations"))
		return message_concentrations(pool, result, maxlen);
	return refuse("unknown message or wrong number of words");
}

int hy_message(struct dm_target *ti, unsigned int argc, char **argv,
	       char *result, unsigned int maxlen)
{
	struct hy_pool *pool = ((struct hy_table *)ti->private)->pool;
	unsigned int noio = memalloc_noio_save();	/* a resume waits for the lock */
	int r;

	down_read(&pool->state_sem);
	r = message(ti, pool, argc, argv, result, maxlen);
	up_read(&pool->state_sem);
	memalloc_noio_restore(noio);
	return r;
}
