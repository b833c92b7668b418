// SPDX-License-Identifier: GPL-2.0-only
/* OOB records: one place for what they look like. */
#include <linux/crc32c.h>
#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#endif
#include "ftl_internal.h"
#include "ftl_nameless_map.h"

/*
 * CRC-32C of a record whose csum is 0. Each flash page that is programmed or moved has one, and the
 * kernel's way to an implementation takes several times as long as the eight instructions.
 */
static u32 nl_oob_csum(const struct nl_oob *oob)
{
#ifdef CONFIG_X86_64
	const u64 *word = (const u64 *)oob;
	u64 crc = (u32)~0;
	unsigned int i;

	if (static_cpu_has(X86_FEATURE_XMM4_2)) {
		for (i = 0; i < sizeof(*oob) / sizeof(*word); i++)
			asm("crc32q %1, %0" : "+r" (crc) : "rm" (word[i]));
		return ~(u32)crc;
	}
#endif
	return ~crc32c(~0, oob, sizeof(*oob));
}

void nl_oob_encode(const struct nl_ftl *ftl, void *oob, const struct nl_rec *rec)
{
	struct nl_oob *to = oob;

	memset(to, 0, sizeof(*to));
	to->magic = cpu_to_le32(NL_OOB_MAGIC);
	to->version = NL_FORMAT_VERSION;
	to->ftl = ftl->config.p[NL_P_FTL];
	to->type = rec->type;
	to->role = rec->role;
	to->logical_pages = cpu_to_le32(ftl->logical_pages);
	to->lpn = cpu_to_le64(rec->lpn);
	to->seq = cpu_to_le64(rec->seq);
	to->program = cpu_to_le64(rec->program);
	to->aux = cpu_to_le32(rec->aux);
	to->data_csum = cpu_to_le32(rec->data_csum);
	to->meta[0] = cpu_to_le64(rec->meta[0]);
	to->meta[1] = cpu_to_le64(rec->meta[1]);
	to->csum = cpu_to_le32(nl_oob_csum(to));
}

static bool nl_oob_is_ours(const struct nl_ftl *ftl, const struct nl_oob *oob)
{
	struct nl_oob copy = *oob;

	copy.csum = 0;
	return oob->magic == cpu_to_le32(NL_OOB_MAGIC) &&
	       le32_to_cpu(oob->csum) == nl_oob_csum(&copy) &&
	       oob->version == NL_FORMAT_VERSION && oob->ftl == ftl->config.p[NL_P_FTL] &&
	       le32_to_cpu(oob->logical_pages) == ftl->logical_pages;
}

/* Could the FTL have written this? */
static bool nl_rec_is_sane(const struct nl_ftl *ftl, const struct nl_rec *rec)
{
	if (ftl->config.p[NL_P_FTL] == NL_FTL_ZONED)
		return nl_zone_rec_is_sane(ftl, rec);
	switch (rec->type) {
	case NL_OOB_DATA:
	case NL_OOB_PAD:
		return rec->lpn < ftl->logical_pages ||
		       (rec->type == NL_OOB_PAD &&
			rec->lpn < round_up((u64)ftl->logical_pages, ftl->geo->pages));
	case NL_OOB_TRIM:
		return rec->lpn < ftl->trims.nr;
	case NL_OOB_LOST:
		return ftl->config.p[NL_P_FTL] == NL_FTL_HYBRID && rec->lpn < ftl->logical_pages;
	case NL_OOB_NAMELESS:
		return ftl->config.p[NL_P_FTL] == NL_FTL_NAMELESS;
	case NL_OOB_MAP:
		return ftl->config.p[NL_P_FTL] == NL_FTL_NAMELESS &&
		       rec->lpn < nl_map_chunks(ftl->geo, &ftl->config, ftl->logical_pages);
	case NL_OOB_SPLIT:
		return ftl->config.p[NL_P_FTL] == NL_FTL_SPLIT;
	case NL_OOB_CHECKPOINT:
		return rec->aux && rec->lpn < rec->aux && rec->aux < ftl->geo->nr_pages;
	default:
		return false;
	}
}

int nl_oob_decode(const struct nl_ftl *ftl, const void *oob, struct nl_rec *rec)
{
	const struct nl_oob *from = oob;

	if (!nl_oob_is_ours(ftl, from))
		return -EMEDIUMTYPE;
	rec->type = from->type;
	rec->role = from->role;
	rec->lpn = le64_to_cpu(from->lpn);
	rec->seq = le64_to_cpu(from->seq);
	rec->program = le64_to_cpu(from->program);
	rec->aux = le32_to_cpu(from->aux);
	rec->data_csum = le32_to_cpu(from->data_csum);
	rec->meta[0] = le64_to_cpu(from->meta[0]);
	rec->meta[1] = le64_to_cpu(from->meta[1]);
	return nl_rec_is_sane(ftl, rec) ? 0 : -EMEDIUMTYPE;
}

u32 nl_data_csum(const struct nl_ftl *ftl, struct nl_buf *buf)
{
	return ~crc32c(~0, nl_buf_data(buf), ftl->geo->page_bytes);
}
