/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FAILNTH_SHIM_H
#define FAILNTH_SHIM_H

#include <stdint.h>

#define SHIM_IN		60	/* numbers */
#define SHIM_OUT	61	/* what became of each */
#define SHIM_BROKEN	99	/* exit status: nothing could be armed */
#define SHIM_UNKNOWN	UINT32_MAX

struct shim_answer {
	int status;
	uint32_t left;
};

#endif
