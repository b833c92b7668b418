/* SPDX-License-Identifier: GPL-2.0-only */
#include_next <linux/errno.h>
