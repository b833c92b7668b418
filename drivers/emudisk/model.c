// SPDX-License-Identifier: GPL-2.0-only
/* What the timing models share: parameters, the list of finished requests, the interface. */
#include "model.h"

enum { SSD = 1 << EMU_KIND_SSD, HDD = 1 << EMU_KIND_HDD };
#define SECOND 1000000000ULL
#define GB 1000000000ULL

const struct emu_param_info emu_params[EMU_NR_PARAMS] = {
	[EMU_P_CMD]		= { "cmd", EMU_TIME, SSD | HDD, false, 0, SECOND },
	[EMU_P_LINK_BW]		= { "link_bw", EMU_RATE, SSD | HDD, false, 0, 1000 * GB },
	[EMU_P_FLUSH]		= { "flush", EMU_TIME, SSD | HDD, false, 0, 10 * SECOND },
	[EMU_P_DISCARD]		= { "discard", EMU_TIME, SSD | HDD, false, 0, 10 * SECOND },
	[EMU_P_WCACHE]		= { "wcache", EMU_SIZE, SSD | HDD, true, 0, 16ULL << 30 },
	[EMU_P_CHANNELS]	= { "channels", EMU_COUNT, SSD, false, 0, EMU_MAX_CHANNELS },
	[EMU_P_CHUNK]		= { "chunk", EMU_SIZE, SSD, false, 512, 1 << 30 },
	[EMU_P_READ_LAT]	= { "read_lat", EMU_TIME, SSD, false, 0, 10 * SECOND },
	[EMU_P_WRITE_LAT]	= { "write_lat", EMU_TIME, SSD, false, 0, 10 * SECOND },
	[EMU_P_READ_BW]		= { "read_bw", EMU_RATE, SSD, false, 0, 1000 * GB },
	[EMU_P_WRITE_BW]	= { "write_bw", EMU_RATE, SSD, false, 0, 1000 * GB },
	[EMU_P_WBUF]		= { "wbuf", EMU_SIZE, SSD, false, 0, 1 << 30 },
	[EMU_P_RW_PENALTY]	= { "rw_penalty", EMU_TIME, SSD, false, 0, 10 * SECOND },
	[EMU_P_RW_SIZE]		= { "rw_size", EMU_SIZE, SSD, false, 0, 1 << 30 },
	[EMU_P_JITTER]		= { "jitter", EMU_COUNT, SSD, false, 0, 100 },
	[EMU_P_RPM]		= { "rpm", EMU_COUNT, HDD, false, 60, 100000 },
	[EMU_P_SEEK_TRACK]	= { "seek_track", EMU_TIME, HDD, false, 0, SECOND },
	[EMU_P_SEEK_AVG]	= { "seek_avg", EMU_TIME, HDD, false, 0, SECOND },
	[EMU_P_SEEK_FULL]	= { "seek_full", EMU_TIME, HDD, false, 0, SECOND },
	[EMU_P_SETTLE]		= { "settle", EMU_TIME, HDD, false, 0, SECOND },
	[EMU_P_OUTER_BW]	= { "outer_bw", EMU_RATE, HDD, false, 1000000, 100 * GB },
	[EMU_P_INNER_BW]	= { "inner_bw", EMU_RATE, HDD, false, 1000000, 100 * GB },
	[EMU_P_BUFFER]		= { "buffer", EMU_SIZE, HDD, false, 0, 1 << 30 },
	[EMU_P_QD]		= { "qd", EMU_COUNT, HDD, false, 1, 256 },
	[EMU_P_ELEVATOR]	= { "elevator", EMU_ELEVATOR, HDD, false, 0, EMU_NR_ELEVATORS - 1 },
	[EMU_P_STARVE]		= { "starve", EMU_TIME, HDD, false, 0, 100 * SECOND },
};

const char * const emu_elevator_names[EMU_NR_ELEVATORS] = {
	[EMU_FIFO] = "fifo", [EMU_CLOOK] = "clook", [EMU_SPTF] = "sptf",
};

static const struct {
	const char *suffix;
	u64 factor;
} emu_suffixes[][8] = {
	[EMU_COUNT] = { { "", 1 } },
	[EMU_TIME] = { { "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", SECOND } },
	[EMU_SIZE] = { { "", 1 }, { "K", 1ULL << 10 }, { "M", 1ULL << 20 }, { "G", 1ULL << 30 },
		       { "T", 1ULL << 40 }, { "P", 1ULL << 50 } },
	[EMU_RATE] = { { "", 1 }, { "K", 1000 }, { "M", 1000000 }, { "G", GB } },
};

static bool emu_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int emu_parse_elevator(const char *text, u64 *value)
{
	u64 i;

	for (i = 0; i < EMU_NR_ELEVATORS; i++) {
		if (!strcmp(text, emu_elevator_names[i])) {
			*value = i;
			return 0;
		}
	}
	return -EINVAL;
}

/**
 * emu_parse - read a value with its unit
 * @unit: what is expected
 * @text: digits, up to three decimals, and a suffix: times ns (assumed), us, ms, s; sizes K to P,
 *	binary; rates K, M, G bytes a second, decimal
 * @value: result in ns, bytes, bytes/s or a count
 *
 * Return: 0, or -EINVAL for anything that is not wholly understood or does not fit.
 */
int emu_parse(enum emu_unit unit, const char *text, u64 *value)
{
	u64 whole = 0, thousandths = 0, scale = 100;
	unsigned int i;

	if (unit == EMU_ELEVATOR)
		return emu_parse_elevator(text, value);
	if (!emu_is_digit(*text))
		return -EINVAL;
	for (; emu_is_digit(*text); text++) {
		if (whole > U64_MAX / 16)
			return -EINVAL;
		whole = whole * 10 + (*text - '0');
	}
	if (*text == '.') {
		for (text++; emu_is_digit(*text); text++, scale /= 10)
			thousandths += (*text - '0') * scale;
	}
	for (i = 0; i < 8 && emu_suffixes[unit][i].suffix; i++) {
		u64 factor = emu_suffixes[unit][i].factor;

		if (strcmp(text, emu_suffixes[unit][i].suffix))
			continue;
		if (whole > (U64_MAX >> 1) / factor || (factor == 1 && thousandths))
			return -EINVAL;
		*value = whole * factor + factor / 1000 * thousandths +
			 factor % 1000 * thousandths / 1000;
		return 0;
	}
	return -EINVAL;
}

/**
 * emu_param_find - parameter number of a name
 * @kind: the model it must apply to
 * @name: as typed
 *
 * Return: enum emu_param, or -ENOENT.
 */
int emu_param_find(enum emu_kind kind, const char *name)
{
	int i;

	for (i = 0; i < EMU_NR_PARAMS; i++)
		if (emu_params[i].kinds & (1 << kind) && !strcmp(emu_params[i].name, name))
			return i;
	return -ENOENT;
}

/**
 * emu_param_check - whether a parameter may take a value
 * @kind: the model
 * @param: enum emu_param
 * @value: in the parameter's unit
 *
 * Return: 0 or -ERANGE.
 */
int emu_param_check(enum emu_kind kind, int param, u64 value)
{
	(void)kind;
	if (value < emu_params[param].min || value > emu_params[param].max)
		return -ERANGE;
	return 0;
}

/**
 * emu_random - next number of a seeded generator (splitmix64)
 * @state: its state
 *
 * Return: 64 random bits.
 */
u64 emu_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/**
 * emu_model_init - put a model into its initial state
 * @m: zeroed memory
 * @preset: where the parameters come from
 * @sectors: capacity in 512-byte sectors
 * @seed: of everything random in it
 */
void emu_model_init(struct emu_model *m, const struct emu_preset *preset, u64 sectors, u64 seed)
{
	m->kind = preset->kind;
	m->sectors = sectors;
	m->rng = seed;
	memcpy(m->p, preset->param, sizeof(m->p));
	INIT_LIST_HEAD(&m->finished);
	if (m->kind == EMU_KIND_HDD)
		emu_hdd_init(m);
	emu_model_retune(m);
}

/**
 * emu_model_retune - take in changed parameters; requests under way keep their times
 * @m: the model
 */
void emu_model_retune(struct emu_model *m)
{
	if (m->kind == EMU_KIND_HDD)
		emu_hdd_retune(m);
	else if (m->kind == EMU_KIND_SSD)
		emu_ssd_retune(m);
}

/**
 * emu_model_submit - hand a request to the device
 * @m: the model
 * @req: sector, sectors, op and fua filled in; the model's until popped or drained
 * @now: model time, ns
 */
void emu_model_submit(struct emu_model *m, struct emu_req *req, u64 now)
{
	req->arrive = now;
	if (m->kind == EMU_KIND_HDD)
		emu_hdd_submit(m, req, now);
	else if (m->kind == EMU_KIND_SSD)
		emu_ssd_submit(m, req, now);
	else
		emu_model_finish(m, req, now);
}

/**
 * emu_model_pop - next request that is complete
 * @m: the model
 * @now: model time, ns
 *
 * Return: a request with @done at or before @now, in order of completion, or NULL.
 */
struct emu_req *emu_model_pop(struct emu_model *m, u64 now)
{
	struct emu_req *req;

	if (m->kind == EMU_KIND_HDD)
		emu_hdd_advance(m, now);
	if (list_empty(&m->finished))
		return NULL;
	req = list_first_entry(&m->finished, struct emu_req, node);
	if (req->done > now)
		return NULL;
	list_del(&req->node);
	return req;
}

/**
 * emu_model_next - when to look again
 * @m: the model
 *
 * Return: model time of the next event, ns, or U64_MAX when the device is idle.
 */
u64 emu_model_next(const struct emu_model *m)
{
	u64 next = U64_MAX;

	if (!list_empty(&m->finished))
		next = list_first_entry(&m->finished, struct emu_req, node)->done;
	if (m->kind == EMU_KIND_HDD && m->hdd.busy)
		next = min_t(u64, next, m->hdd.fin);
	return next;
}

/**
 * emu_model_drain - take back every request, as when the power goes
 * @m: the model; idle afterwards
 * @out: list to which they are appended
 */
void emu_model_drain(struct emu_model *m, struct list_head *out)
{
	list_splice_tail_init(&m->finished, out);
	m->link_free = 0;
	if (m->kind == EMU_KIND_HDD)
		emu_hdd_drain(m, out);
	else if (m->kind == EMU_KIND_SSD)
		emu_ssd_drain(m);
}

void emu_model_finish(struct emu_model *m, struct emu_req *req, u64 done)
{
	struct list_head *at = m->finished.prev;

	req->done = done;
	while (at != &m->finished && list_entry(at, struct emu_req, node)->done > done)
		at = at->prev;
	list_add(&req->node, at);
}

/*
 * The interface carries one transfer at a time. Its work is booked when the request arrives, not
 * when the data is ready: a slow read does not keep a later request from using it meanwhile.
 */
u64 emu_link(struct emu_model *m, u32 sectors, u64 now)
{
	m->link_free = max_t(u64, m->link_free, now) +
		       emu_transfer((u64)sectors << 9, m->p[EMU_P_LINK_BW]);
	return m->link_free;
}
