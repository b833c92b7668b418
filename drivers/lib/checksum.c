// SPDX-License-Identifier: GPL-2.0-only
#include <linux/crc32c.h>
#include <linux/export.h>
#include <evenkeel/label.h>

/**
 * ek_checksum - CRC-32C of an on-disk structure
 * @buf: the structure
 * @len: its size in bytes
 * @csum: its checksum field, inside @buf, taken as zero
 *
 * Context: any.
 * Return: the checksum in host order (seed ~0, final inversion).
 */
u32 ek_checksum(const void *buf, size_t len, const __le32 *csum)
{
	static const __le32 zero;
	size_t before = (const u8 *)csum - (const u8 *)buf;
	u32 crc;

	crc = crc32c(~0, buf, before);
	crc = crc32c(crc, &zero, sizeof(zero));
	crc = crc32c(crc, csum + 1, len - before - sizeof(zero));
	return ~crc;
}
EXPORT_SYMBOL_GPL(ek_checksum);
