// SPDX-License-Identifier: GPL-2.0-only
/*
 * How each member stands: what the status line, whose grammar is fixed, has no word for.
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
 * @result: "INDEX STATE stays|leaves ERRORS PASSES TRIED UNKNOWN", a line each; see "members" in
 *	Documentation/admin-guide/dm-hybrid.rst
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

		DMEMIT("%s%u %s %s %lld %llu %llu %llu", i ? "\n" : "", i, hy_member_state(m),
		       READ_ONCE(m->leaving) ? "leaves" : "stays",
		       (s64)atomic64_read(&m->errors), nr, READ_ONCE(m->passes.tried),
		       READ_ONCE(m->passes.unknown));
	}
}
