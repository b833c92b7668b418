// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tiny SSD of zones under writes, appends, operations on zones, cuts and failures as the input
 * says, against the model of what each zone may hold (tests/unit/nameless/zone_rig.h). Six bytes
 * say what it is made of, then three each are a request.
 */
#include "fuzz.h"
#include "nameless/zone_rig.h"

#define HEAD 6u

enum { APPEND, WRITE, FLUSH, RESET, FINISH, OPEN, CLOSE, RESTART, CUT, CRASH, FAIL_PROGRAM,
	FAIL_ERASE, NR };

static int request(struct zrig *b, const uint8_t *in)
{
	u32 zone = in[1] % b->zones, count = 1 + in[2] % b->shape.capacity;
	u32 flags = in[1] & 0x80 ? NL_FUA : 0;

	switch (in[0] % NR) {
	case APPEND:
		return zrig_append(b, zone, count, flags);
	case WRITE:
		return zrig_write(b, zone * b->shape.size + count - 1, flags);
	case FLUSH:
		return zrig_flush(b);
	case RESET:
		return zrig_manage(b, zone, NL_ZONE_RESET);
	case FINISH:
		return zrig_manage(b, zone, NL_ZONE_FINISH);
	case OPEN:
		return zrig_manage(b, zone, NL_ZONE_OPEN);
	case CLOSE:
		return zrig_manage(b, zone, NL_ZONE_CLOSE);
	case CUT:
		nl_flash_cut(&b->flash, in[1], in[2] % NL_NR_TEARS);
		return 0;
	case FAIL_PROGRAM:
		b->flash.fail_program = in[1];
		return 0;
	case FAIL_ERASE:
		b->flash.fail_erase = in[1];
		return 0;
	default:
		return -ESHUTDOWN;
	}
}

/* A start is cut, too, if the input says so. */
static void again(struct zrig *b, const uint8_t *in)
{
	MUST(zrig_crash(b, in[0] % NR == CRASH && in[1] & 1 ? in[1] / 2 : NL_NO_CUT,
			in[2] % NL_NR_TEARS));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nl_config config;
	struct zrig b;
	size_t i;
	u32 zones;
	int r;

	if (size < HEAD)
		return 0;
	zones = 2 + data[0] % (ZRIG_ZONES - 1);
	config = zrig_config(1 + data[1] % 3, 2 + data[2] % 5, data[3] % 4, zones, data[4] % 4);
	config.p[NL_P_BUFFER] = data[5] & 1 ? 1 + data[5] / 2 % 8 : 0;
	config.p[NL_P_MAX_OPEN] = data[4] / 4 % 4;
	config.p[NL_P_MAX_ACTIVE] = data[4] / 16 % 5;
	zrig_init(&b, &config, zones, 1);
	for (i = HEAD; i + 3 <= size; i += 3) {
		r = request(&b, &data[i]);
		MUST(!r || r == -ESHUTDOWN || r == -EIO || nl_zone_refused(r), "%d", r);
		if (r == -ESHUTDOWN)
			again(&b, &data[i]);
	}
	MUST(b.flash.off || zrig_verify(&b));
	MUST(zrig_crash(&b, NL_NO_CUT, 0));
	MUST(!b.flash.violations);
	zrig_destroy(&b);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	unsigned int state = nr + 1;
	size_t i, size = HEAD + 3 * 150;

	if (nr >= 8)
		return 0;
	for (i = 0; i < size; i++)
		data[i] = fuzz_random(&state, 256);
	for (i = HEAD; i < size; i += 3)
		if (data[i] % NR >= RESTART && i / 3 % 8)
			data[i] = APPEND;
	return size;
}
