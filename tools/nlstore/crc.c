// SPDX-License-Identifier: GPL-2.0-only
#include "crc.h"

#define POLYNOMIAL 0x82f63b78u

/* What four, three, two bytes and one further on do to the remainder. */
static uint32_t table[4][256];

static void __attribute__((constructor)) make_table(void)
{
	uint32_t i, k;

	for (i = 0; i < 256; i++) {
		table[0][i] = i;
		for (k = 0; k < 8; k++)
			table[0][i] = table[0][i] >> 1 ^ (table[0][i] & 1 ? POLYNOMIAL : 0);
	}
	for (k = 1; k < 4; k++)
		for (i = 0; i < 256; i++)
			table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
}

uint32_t crc32c_of(uint32_t crc, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	crc = ~crc;
	for (; bytes >= 4; bytes -= 4, at += 4) {
		crc ^= at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
		crc = table[3][crc & 0xff] ^ table[2][crc >> 8 & 0xff] ^
		      table[1][crc >> 16 & 0xff] ^ table[0][crc >> 24];
	}
	for (; bytes; bytes--)
		crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
	return ~crc;
}
