/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NAMELESS_FLASH_INTERNAL_H
#define NAMELESS_FLASH_INTERNAL_H

#include "flash.h"

/* Of a page that was cut or failed, in the place of its buffer. */
#define NL_PAGE_ERROR	((struct nl_buf *)1)
#define NL_PAGE_BLANK	((struct nl_buf *)2)

#endif
