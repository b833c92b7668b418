#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: everything at once, on two CPUs
# kernels: debug
# timeout: 300
# cpus: 2
#
# EVENKEEL_SECONDS (120) and EVENKEEL_SEED vary it; tests/vm/soak repeats it for hours.
. tests/vm/lib.sh
. tests/crash/offline.sh
modprobe dm-hybrid || die "no dm-hybrid"

# 2 x 111 extents of 64 KiB, and the few of a member that leaves and stays, for 192 logical ones: space comes back all
# the time
disk m 8M mem cache=volatile
disk n 8M mem cache=volatile
disk a 8M mem cache=volatile
disk b 8M mem cache=volatile
disk e 3M mem cache=volatile
disk m2 8M
disk c 3M
disk d 3M
prefix() { words=$(table "$@"); echo "${words% 0 wardrop 0}"; }
check "no thread reads what it should not, none hangs" race "${EVENKEEL_SECONDS:-120}" "$seed" \
	"$(prefix $((192 * 128)) 128 "m n" "a b e")" "$(prefix $((32 * 128)) 128 m2 "c d")" \
	". tests/crash/offline.sh; is_sound_offline /dev/emudisk/m /dev/emudisk/n /dev/emudisk/a /dev/emudisk/b /dev/emudisk/e"
cat "$said"
check "the pool checks out, offline, and has lost no space" is_sound_offline /dev/emudisk/{m,n,a,b,e}
done_testing
