/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel at hand lacks of the newest API; see README beside this file. */
#ifndef EVENKEEL_COMPAT_H
#define EVENKEEL_COMPAT_H

#include "compat_config.h"

#endif /* EVENKEEL_COMPAT_H */
