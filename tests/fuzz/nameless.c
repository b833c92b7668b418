// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tiny SSD under requests, cuts and failures as the input says, against the model of what each page may hold
 * (tests/unit/nameless/rig.h). Four bytes say what it is made of, then three each are a request.
 */
#include "stream.h"

#define HEAD 4u

enum { RUN, READ, RESTART, COMMON, NR = COMMON + STREAM_NR };

static const enum nl_ftl_kind kinds[] = { NL_FTL_PAGE, NL_FTL_HYBRID, NL_FTL_NAMELESS, NL_FTL_SPLIT };

static int run(struct rig *rig, u32 lpn, u32 nr)
{
	int r = 0;

	for (; !r && nr && lpn < STREAM_PAGES; nr--)
		r = rig_write(rig, lpn++, 0);
	return r;
}

static int request(struct rig *rig, const uint8_t *in)
{
	u32 op = in[0] % NR, lpn = in[1] % STREAM_PAGES;

	switch (op) {
	case RUN:
		return run(rig, lpn, in[2]);
	case READ:
		rig_read(rig, lpn);
		return 0;
	case RESTART:
		rig_restart(rig);
		return rig->flash.off ? -ESHUTDOWN : 0;
	default:
		return stream_request(rig, op - COMMON, in);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nl_config config;
	struct rig rig;
	size_t i;
	int r = 0;

	if (size < HEAD)
		return 0;
	rig_across = kinds[data[0] % 4] == NL_FTL_SPLIT && data[0] / 16 & 1;	/* no other is */
	config = stream_config(kinds[data[0] % 4], data[0] / 4 % 4, data[2] % 6, data);
	config.p[NL_P_ENDURANCE] = data[3] & 0x80 ? 8 + data[2] : 0;
	config.p[NL_P_WEAR] = data[3] & 0x40 ? 980 : 0;
	rig_init(&rig, &config, STREAM_PAGES, 1);
	MUST(!rig_open(&rig));
	for (i = HEAD; i + STREAM_BYTES <= size && r != -EROFS; i += STREAM_BYTES) {
		r = request(&rig, &data[i]);
		stream_result(r);
		if (r == -ESHUTDOWN)
			MUST(rig_crash(&rig));
	}
	MUST(rig.flash.off || rig_verify(&rig));
	MUST(rig_crash(&rig));
	rig_destroy(&rig);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	size_t size = stream_corpus(nr, 15, HEAD, NR, COMMON + STREAM_CUT, RUN, data);

	data[0] = nr < 12 ? nr % 4 + (nr / 4 & 1) * 16 : 2 + 4 * (nr - 11);
	return size;
}
