/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NLSTORE_CRC_H
#define NLSTORE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C, to be begun with 0: of two pieces, crc(crc(0, a), b). */
uint32_t crc32c_of(uint32_t crc, const void *data, size_t bytes);

#endif
