/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EVENKEEL_SHIM_SIZES_H
#define EVENKEEL_SHIM_SIZES_H
#define SZ_2M	0x00200000
#define SZ_1G	0x40000000
#endif
