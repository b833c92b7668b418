// SPDX-License-Identifier: GPL-2.0-only
#include "hybrid.h"

#define CREATE_TRACE_POINTS
#include "hybrid_trace.h"
