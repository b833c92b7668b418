// SPDX-License-Identifier: GPL-2.0-only
/*
 * How each member stands: what the status line, whose grammar is fixed, has no word for; and the
 * way back for one that is degraded or has failed, when somebody says that the cause is gone.
 *
 * Nobody knows what one that has failed has gone through, or one whose writes failed, so what it
 * acknowledged and did not flush is not relied on.  A flush that ends well now is no proof:
 *
 *	X is discarded, committed
 *				place P on member b is free; it holds X's bytes
 *	Y's first write, to P, is acknowledged
 *				in b's cache; in memory Y's granules are valid, at P
 *	b loses its power		all requests fail: it has failed
 *	it has power again		its cache is empty; nobody asked for a flush meanwhile
 *	a commit: b's flush ends well
 *				the media would have the map with Y's granules valid, at P
 *
 * So one that fails, writes included, is distrusted from that moment (hy_member_judge()): the next
 * commit takes it for lost with what it had not flushed, takes that back (take_back.c) and tells
 * who asks next.  Again with each period like that, and once more when it is reinstated, as it may
 * have gone through that since, failed as it was.  If its flushes have failed all that has been
 * done already.  An outage in which no period ends like that, or only reads fail, is not seen: see
 * the limits in Documentation/admin-guide/dm-hybrid.rst.
 *
 * What was acknowledged elsewhere is not looked for there: the map alone says where an extent is.
 * One that moved away is at its new place, and the old one was free when that was durable; one that
 * was to move there stays, or went back, to where it was.  What else is on b, of extents that were
 * written elsewhere meanwhile, is in free places and never read.
 *
 * The state changes in the committer, after a commit in which b was not doubted: a member that is
 * doubted and active would get extents that the same commit takes back.  It is in no superblock, as
 * "degraded" and "failed" are not: cut before or after, it is active at the next start.
 */
#include "hybrid.h"

/**
 * hy_member_state - a member's state in a word
 * @m: the member
 *
 * Context: state_sem held.
 * Return: as in the status line.
 */
const char *hy_member_state(struct hy_member *m)
{
	static const char * const name[] = {
		"active", "degraded", "failed", "draining", "removed"
	};
	u32 state = READ_ONCE(m->state);

	return name[m->bdev || state == EK_MEMBER_REMOVED ? state : EK_MEMBER_FAILED];
}

/**
 * hy_members_show - who is to leave, who had errors, and how far emptying comes
 * @pool: the pool, loaded
 * @result: "INDEX STATE stays|leaves ERRORS PASSES TRIED UNKNOWN RETURNING", a line each; see
 *	"members" in Documentation/admin-guide/dm-hybrid.rst
 * @maxlen: of it
 *
 * Context: message; state_sem held.
 */
void hy_members_show(struct hy_pool *pool, char *result, unsigned int maxlen)
{
	unsigned int i, sz = 0;

	*result = '\0';
	for (i = 0; i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];
		/* Pairs with end_pass() of evacuate.c. */
		u64 nr = smp_load_acquire(&m->passes.nr);

		DMEMIT("%s%u %s %s %lld %llu %llu %llu %d", i ? "\n" : "", i, hy_member_state(m),
		       READ_ONCE(m->leaving) ? "leaves" : "stays",
		       (s64)atomic64_read(&m->errors), nr, READ_ONCE(m->passes.tried),
		       READ_ONCE(m->passes.unknown), atomic_read(&m->nr_quarantined));
	}
}

static int refuse(const char **reason, const char *why, int error)
{
	*reason = why;
	return error;
}

/**
 * hy_reinstate - one that is degraded or has failed is a member as it was
 * @pool: the pool, loaded
 * @i: which member
 * @reason: set on failure
 *
 * One that is to leave is so still.
 * Context: message_lock held; sleeps.
 * Return: 0, also if nothing was wrong with it; -EINVAL; -EROFS; an I/O error, its own as a rule.
 */
int hy_reinstate(struct hy_pool *pool, unsigned int i, const char **reason)
{
	struct hy_member *m = &pool->member[i];
	int r;

	if (!hy_pool_writable(pool))
		return refuse(reason, "the pool is read-only", -EROFS);
	if (m->state == EK_MEMBER_REMOVED)
		return refuse(reason, "it has been removed", -EINVAL);
	if (!m->bdev)
		return refuse(reason, "it is lost, a table has to have it again", -EINVAL);
	/* First, as one that answers nothing is not to keep the committer waiting. */
	r = hy_area_is_labelled(&pool->bound->member[i]);
	if (r)
		return refuse(reason, "its label can't be read", r);
	r = hy_commit_reinstate(pool, m);
	if (r)
		return refuse(reason, "it can't flush what was written to it", r);
	DMINFO("member %u is reinstated", i);
	queue_work(pool->wq, &pool->event_work);
	return 0;
}
