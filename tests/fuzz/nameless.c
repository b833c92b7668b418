// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tiny SSD under requests, cuts and failures as the input says, against the model of what each page may hold
 * (tests/unit/nameless/rig.h). Four bytes say what it is made of, then three each are a request.
 */
#include <string.h>

#include "fuzz.h"
#include "ktap.h"
#include "nameless/rig.h"

#define PAGES 40u

enum { WRITE, FUA, RUN, TRIM, FLUSH, GC, READ, RESTART, CUT, CRASH, FAIL_PROGRAM, FAIL_ERASE, NR };

static int run(struct rig *rig, u32 lpn, u32 nr)
{
	int r = 0;

	for (; !r && nr && lpn < PAGES; nr--)
		r = rig_write(rig, lpn++, 0);
	return r;
}

static int request(struct rig *rig, const uint8_t *in)
{
	struct nl_io io = { .now = ++rig->now };
	u32 lpn = in[1] % PAGES;
	int r;

	switch (in[0] % NR) {
	case WRITE:
		return rig_write(rig, lpn, 0);
	case FUA:
		return rig_write(rig, lpn, NL_FUA);
	case RUN:
		return run(rig, lpn, in[2]);
	case TRIM:
		return rig_trim(rig, lpn, 1 + in[2] % (PAGES - lpn));
	case FLUSH:
		return rig_flush(rig);
	case GC:
		r = nl_ftl_gc(rig->ftl, &io);
		return r < 0 ? r : 0;
	case READ:
		rig_read(rig, lpn);
		return 0;
	case RESTART:
		rig_restart(rig);
		return rig->flash.off ? -ESHUTDOWN : 0;
	case CUT:
		nl_flash_cut(&rig->flash, in[1], in[2] % NL_NR_TEARS);
		return 0;
	case CRASH:
		return -ESHUTDOWN;
	case FAIL_PROGRAM:
		rig->flash.fail_program = in[1];
		return 0;
	default:
		rig->flash.fail_erase = in[1];
		return 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nl_config config;
	struct rig rig;
	size_t i;
	int r = 0;

	if (size < 4)
		return 0;
	rig_map_chunks = data[0] / NL_FTL_ZONED % 4;	/* 0: no map is swapped */
	rig_map_entries = 3 + rig_map_chunks;
	config = rig_tiny(data[0] % NL_FTL_ZONED, 1 + data[1] % 3, 3 + data[1] / 16 % 6, PAGES,
			  data[2] % 6);
	config.p[NL_P_BUFFER] = data[3] % 9;
	config.p[NL_P_ENDURANCE] = data[3] & 0x80 ? 8 + data[2] : 0;
	config.p[NL_P_WEAR] = data[3] & 0x40 ? 980 : 0;
	rig_init(&rig, &config, PAGES, 1);
	MUST(!rig_open(&rig));
	for (i = 4; i + 3 <= size && r != -EROFS; i += 3) {
		r = request(&rig, &data[i]);
		MUST(!r || r == -ESHUTDOWN || r == -EROFS, "%d", r);
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
	unsigned int state = nr + 1;
	size_t i, size = 4 + 3 * 250;

	if (nr >= 11)
		return 0;
	for (i = 0; i < size; i++)
		data[i] = fuzz_random(&state, 256);
	data[0] = nr < 8 ? nr % NL_FTL_ZONED : NL_FTL_NAMELESS + NL_FTL_ZONED * (nr - 7);
	for (i = 4; i < size; i += 3)
		if (data[i] % NR > RESTART && i / 3 % 16)
			data[i] = RUN;
	return size;
}
