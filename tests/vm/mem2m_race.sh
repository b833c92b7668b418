#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: a device is used in every way while it is changed, on two CPUs
# kernels: debug
# timeout: 100
# cpus: 2
#
# EVENKEEL_SECONDS (20) and EVENKEEL_SEED vary it.
. tests/vm/lib.sh
modprobe mem2m || die "no mem2m"
modprobe evenkeel_biogen area_mib=1 || die "no evenkeel_biogen"

check "who has it has all of it, others are refused" m2race "${EVENKEEL_SECONDS:-20}" "$seed"
cat "$said"
check "nobody has it at the end" eval "rmmod evenkeel_biogen && rmmod mem2m"
done_testing
