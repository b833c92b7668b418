// SPDX-License-Identifier: GPL-2.0-only
/*
 * What hybridctl takes of a dump to write labels by. Of lines of the pool, of labels and of members
 * none is taken that dump would not have written, to the digit; the areas lie in the devices that
 * are told, none upon another; written again they are the same.
 */
#include <string.h>
#include <uuid/uuid.h>

#include "fuzz.h"
#include "msg.h"
#include "relabel.h"

#define BLOCK	(EK_BLOCK_SIZE / SECTOR_SIZE)

static const char *uuid(char *text, const uint8_t *id)
{
	uuid_unparse_lower(id, text);
	return text;
}

/* ---- what there is, as dump writes it ---- */

static void print_label(FILE *out, const void *of)
{
	const struct dumped_label *l = of;
	char id[37];

	fprintf(out, "label %s role %s %u device %s start %llu sectors %llu label ",
		uuid(id, l->info.area_uuid),
		l->info.role == EK_ROLE_META ? "metadata area" : "member", l->info.index, l->device,
		(unsigned long long)l->info.area_start, (unsigned long long)l->info.area_sectors);
}

static void print_pool(FILE *out, const void *of)
{
	const struct ek_label_info *p = of;
	char id[37];

	fprintf(out, "pool %s name %s extent_sectors %u members %u metadata %u",
		uuid(id, p->pool_uuid), p->name, p->extent_sectors, p->nr_members, p->nr_meta);
}

/* ---- lines, as they were read ---- */

static bool said(const char *line, void (*print)(FILE *out, const void *of), const void *of)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool is;

	print(out, of);
	fclose(out);
	is = !strncmp(line, text, len);
	free(text);
	return is;
}

struct seen {
	unsigned int pools, labels;
	uint32_t members, left;
};

/* All that is told of a member is who it is, and whether it left. */
static void check_member(const struct dumped_labels *d, const char *line, struct seen *seen)
{
	unsigned long long i, extents, state;
	char id[37], again[160];

	MUST(sscanf(line, "member %llu extents %llu state %llu ", &i, &extents, &state) == 3);
	MUST(i < EK_MAX_MEMBERS && !(seen->members >> i & 1), "%s", line);
	snprintf(again, sizeof(again), "member %llu extents %llu state %llu uuid %s", i, extents,
		 state, uuid(id, d->member[i]));
	MUST(!strncmp(line, again, strlen(again)), "%s", line);
	seen->members |= 1u << i;
	seen->left |= state == EK_MEMBER_REMOVED ? 1u << i : 0;
}

static void check_line(const struct dumped_labels *d, const char *line, struct seen *seen)
{
	if (!strncmp(line, "pool ", 5)) {
		MUST(!seen->pools++ && said(line, print_pool, &d->pool), "%s", line);
	} else if (!strncmp(line, "label ", 6)) {
		MUST(seen->pools && seen->labels < d->nr);
		MUST(said(line, print_label, &d->label[seen->labels]), "%s", line);
		seen->labels++;
	} else if (!strncmp(line, "member ", 7)) {
		check_member(d, line, seen);
	}
}

static void check_text(const struct dumped_labels *d, char *text)
{
	struct seen seen = { .pools = 0 };
	char *line;

	while ((line = strsep(&text, "\n")))
		check_line(d, line, &seen);
	MUST(seen.pools == 1 && seen.labels == d->nr && d->nr);
	MUST(d->listed == seen.members && d->members == (seen.members & ~seen.left));
}

/* ---- what they say ---- */

static void check_label(const struct dumped_labels *d, const struct ek_label_info *l)
{
	unsigned __int128 end = (unsigned __int128)l->area_start + l->area_sectors;
	struct ek_label_info again;
	struct ek_label label;

	MUST(l->role == EK_ROLE_META || l->role == EK_ROLE_MEMBER);
	MUST(l->index < (l->role == EK_ROLE_META ? d->pool.nr_meta : d->pool.nr_members));
	MUST(!(l->area_start % BLOCK) && !(l->area_sectors % BLOCK));
	MUST(l->area_sectors >= 2 * BLOCK && end <= INT64_MAX / SECTOR_SIZE);
	MUST(!memcmp(l->pool_uuid, d->pool.pool_uuid, EK_UUID_SIZE) && !l->ctime);
	MUST(!strcmp(l->name, d->pool.name) && l->extent_sectors == d->pool.extent_sectors);
	MUST(l->nr_members == d->pool.nr_members && l->nr_meta == d->pool.nr_meta);
	memset(&again, 0, sizeof(again));
	ek_label_encode(l, &label);
	MUST(!ek_label_decode(&label, &again) && again.area_sectors == l->area_sectors);
	MUST(again.area_start == l->area_start && again.index == l->index);
}

static void check_pair(const struct dumped_labels *d, unsigned int i, unsigned int k)
{
	const struct ek_label_info *a = &d->label[i].info, *b = &d->label[k].info;
	bool together = !strcmp(d->label[i].device, d->label[k].device);

	MUST(a->role != b->role || a->index != b->index);
	MUST(dumped_labels_together(d, i, k) == together);
	MUST(dumped_labels_together(d, k, i) == together);
	if (!together)
		return;
	MUST(a->area_start + a->area_sectors <= b->area_start ||
	     b->area_start + b->area_sectors <= a->area_start);
	MUST(dumped_labels_end(d, i) == dumped_labels_end(d, k));
	MUST(dumped_labels_end(d, i) >= b->area_start + b->area_sectors);
}

static void check_labels(const struct dumped_labels *d)
{
	unsigned int i, k;

	MUST(d->nr <= RELABEL_MAX);
	for (i = 0; i < d->nr; i++) {
		check_label(d, &d->label[i].info);
		for (k = 0; k < i; k++)
			check_pair(d, i, k);
	}
}

/* ---- and again ---- */

static int read_text(struct dumped_labels *d, const char *text)
{
	FILE *in = fmemopen((void *)text, strlen(text), "r");
	int err;

	MUST(in);
	err = dumped_labels_read(d, in);
	fclose(in);
	MUST(err == EXIT_OK || (err == EXIT_FAILED && !d->nr));
	return err;
}

static char *print(const struct dumped_labels *d)
{
	unsigned int i;
	char id[37], *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	print_pool(out, &d->pool);
	for (i = 0; i < d->nr; i++) {
		fputc('\n', out);
		print_label(out, &d->label[i]);
		fputs("good copy damaged", out);
	}
	for (i = 0; i < EK_MAX_MEMBERS; i++)
		if (d->listed >> i & 1)
			fprintf(out, "\nmember %u extents 9 state %u uuid %s", i,
				d->members >> i & 1 ? EK_MEMBER_ACTIVE : EK_MEMBER_REMOVED,
				uuid(id, d->member[i]));
	fclose(out);
	return text;
}

static void check_again(struct dumped_labels *d)
{
	struct dumped_labels again;
	char *text = print(d);
	unsigned int i;

	MUST(!read_text(&again, text), "%s", text);
	MUST(again.nr == d->nr && again.listed == d->listed && again.members == d->members);
	MUST(!memcmp(&again.pool, &d->pool, sizeof(d->pool)));
	for (i = 0; i < d->nr; i++) {
		MUST(!memcmp(&again.label[i].info, &d->label[i].info, sizeof(d->pool)));
		MUST(!strcmp(again.label[i].device, d->label[i].device));
	}
	for (i = 0; i < EK_MAX_MEMBERS; i++)
		MUST(!memcmp(again.member[i], d->member[i], EK_UUID_SIZE));
	dumped_labels_free(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct dumped_labels d;

	if (!read_text(&d, text)) {
		check_text(&d, text);
		check_labels(&d);
		check_again(&d);
		dumped_labels_free(&d);
	}
	free(text);
	return 0;
}

#define P	"pool 42424242-4242-4242-4242-424242424242 name "
#define POOL	P "disk extent_sectors 128 members 2 metadata 2\n"
#define LABEL	"label 42424242-4242-4242-4242-424242424242 role metadata area 0 device "
#define MEMBER	"label 50505050-5050-5050-5050-505050505050 role member 1 device "
#define ENDING	" label good copy missing (all zero)\n"

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const text[] = {
		POOL LABEL "/dev/a start 0 sectors 4096" ENDING
		MEMBER "/dev/a start 4096 sectors 65536" ENDING
		"superblock generation 9 flags 0 stale 0 extents 9 pages 9 journal 9 used 0\n"
		"policy static 2 shares 20,80\n"
		"member 0 extents 9 state 4 uuid 51515151-5151-5151-5151-515151515151\n"
		"member 1 extents 9 state 0 uuid 50505050-5050-5050-5050-505050505050\n",
		P "a name b extent_sectors 1 extent_sectors 128 members 2 metadata 2\n"
		LABEL "/dev/a start 8 sectors 16 device x start 0 sectors 4096" ENDING,
		POOL LABEL "/dev/a start 0 sectors 40",
		POOL LABEL "/dev/a start 0 sectors 4096" ENDING
		MEMBER "/dev/a start 4088 sectors 65536" ENDING,
		POOL LABEL "/dev/a start 0 sectors 4096" ENDING
		LABEL "/dev/b start 0 sectors 16" ENDING,
		POOL LABEL " start -18446744073709551616 sectors 18446744073709551617" ENDING,
		POOL LABEL "/dev/a start 18014398509481976 sectors 16" ENDING,
		POOL LABEL "/dev/a start 18014398509481960 sectors 16" ENDING,
		POOL LABEL "/dev/a start 9 sectors 4096" ENDING,
		POOL MEMBER "a start 0 sectors 16" ENDING
		"member 1 extents 9 state 0 uuid 50505050-5050-5050-5050-505050505050\n"
		"member 1 extents 9 state 4 uuid 51515151-5151-5151-5151-515151515151\n",
		POOL LABEL "a start 0 sectors 16" ENDING POOL,
		P " extent_sectors 128 members 1 metadata 1\n" LABEL "a start 0 sectors 16" ENDING,
		P "a extent_sectors 128 members 18446744073709551615 metadata 1\n",
		P "a extent_sectors -18446744073709551488 members 2 metadata 1\n"
		LABEL "a start 0 sectors 16" ENDING,
		LABEL "a start 0 sectors 16" ENDING POOL, NULL,
	};

	return fuzz_text(nr, text, data);
}
