// SPDX-License-Identifier: GPL-2.0-only
/*
 * One flush for many: a device beneath takes long for one, and bios that want one come together.
 */
#include "flush.h"

static bool m2_flushes_before(const struct bio *bio)
{
	return bio->bi_opf & REQ_PREFLUSH || bio_op(bio) == REQ_OP_FLUSH;
}

static bool m2_flushes_after(const struct bio *bio)
{
	return bio->bi_opf & REQ_FUA && !bio->bi_status;
}

/**
 * m2_flush_joined - do bios with PREFLUSH or FUA, and flushes
 * @beneath: what flushes and transfers
 * @bios: all of them are ended, and the list is empty on return
 *
 * Flushes for all of them once before and once after what they do, as far as one of them says so.
 *
 *	who submits			here
 *	an earlier write has ended
 *	a PREFLUSH write, B FUA
 *					takes both
 *					flushes			the earlier write lasts
 *					does both		A is there only after it
 *					flushes			B lasts, and A if it is FUA
 *					ends both
 *
 * All of them were submitted before the first flush, and so was whatever had ended by then, which
 * is what PREFLUSH is about.  None has ended before the last flush, so none of them may rely on
 * another one.  Without the flush that it asked for none is done.
 *
 * Context: process; sleeps.
 */
void m2_flush_joined(const struct m2_beneath *beneath, struct bio_list *bios)
{
	bool before = false, after = false;
	struct bio *bio;
	int err = 0;

	bio_list_for_each(bio, bios)
		before |= m2_flushes_before(bio);
	if (before)
		err = beneath->flush(beneath->ctx);
	bio_list_for_each(bio, bios) {
		blk_status_t status = errno_to_blk_status(err);

		if (!status || !m2_flushes_before(bio))
			status = beneath->transfer(beneath->ctx, bio);
		if (status)
			bio->bi_status = status;
		after |= m2_flushes_after(bio);
	}
	err = after ? beneath->flush(beneath->ctx) : 0;
	while ((bio = bio_list_pop(bios))) {
		if (err && m2_flushes_after(bio))
			bio->bi_status = errno_to_blk_status(err);
		bio_endio(bio);
	}
}
