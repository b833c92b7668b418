// SPDX-License-Identifier: GPL-2.0-only
#include "stream.h"

struct nl_config stream_config(enum nl_ftl_kind kind, u32 chunks, u32 spare, const uint8_t *in)
{
	struct nl_config config;

	rig_map_chunks = chunks;
	rig_map_entries = 3 + chunks;
	config = rig_tiny(kind, 1 + in[1] % 3, 3 + in[1] / 16 % 6, STREAM_PAGES, spare);
	config.p[NL_P_BUFFER] = in[3] % 9;
	return config;
}

int stream_request(struct rig *rig, enum stream_op op, const uint8_t *in)
{
	u32 lpn = in[1] % STREAM_PAGES;
	struct nl_io io;
	int r;

	switch (op) {
	case STREAM_WRITE:
		return rig_write(rig, lpn, in[2] & 1 ? NL_FUA : 0);
	case STREAM_TRIM:
		return rig_trim(rig, lpn, 1 + in[2] % (STREAM_PAGES - lpn));
	case STREAM_FLUSH:
		return rig_flush(rig);
	case STREAM_GC:
		io = (struct nl_io){ .now = ++rig->now };
		r = nl_ftl_gc(rig->ftl, &io);
		return r < 0 ? r : 0;
	case STREAM_CUT:
		nl_flash_cut(&rig->flash, in[1], in[2] % NL_NR_TEARS);
		return 0;
	case STREAM_CRASH:
		return -ESHUTDOWN;
	case STREAM_FAIL_PROGRAM:
		rig->flash.fail_program = in[1];
		return 0;
	default:
		rig->flash.fail_erase = in[1];
		return 0;
	}
}

void stream_result(int r)
{
	MUST(!r || r == -ESHUTDOWN || r == -EROFS, "%d", r);
}

size_t stream_corpus(unsigned int nr, unsigned int most, size_t head, uint8_t ops, uint8_t rare,
		     uint8_t often, uint8_t *data)
{
	size_t i, size = head + STREAM_BYTES * 250;
	unsigned int state = nr + 1;

	if (nr >= most)
		return 0;
	for (i = 0; i < size; i++)
		data[i] = fuzz_random(&state, 256);
	for (i = head; i < size; i += STREAM_BYTES)
		if (data[i] % ops >= rare && i / STREAM_BYTES % 16)
			data[i] = often;
	return size;
}
