#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid, mem2m, nameless and scmfs: allocations fail, one at a time, on every path that has any
# kernels: debug
# timeout: 900
# cpus: 1
# append: memmap=32M$512M memmap=16M!544M
#
# One CPU: 6.1 frees a queue that could not be registered while its reference counter is still being switched, by two RCU
# callbacks of which the second must not be first; on two CPUs it sometimes is, and the machine dies of it.
#
# tests/failnth has the operations. EVENKEEL_FAILNTH=GROUP runs one group of them, EVENKEEL_PATTERN those whose name has
# it, EVENKEEL_FAILNTH_PART=N one group of N, in turns by the seed. Of the later allocations of operations that make many a
# sample fails; EVENKEEL_DENSE=1: each.
group=${EVENKEEL_FAILNTH:-all} pattern=${EVENKEEL_PATTERN:-}
export EVENKEEL_SEED=${EVENKEEL_SEED:-$RANDOM} FAILNTH_SHIM=$PWD/build/tests/bin/failnth.so
status=0 turn=0
run() {
	[ "$group" = all ] || [ "$group" = "$1" ] || return
	if [ "$group" = all ] && (((EVENKEEL_SEED + turn++) % ${EVENKEEL_FAILNTH_PART:-1})); then
		echo "# $1: for a run with another seed"
		return
	fi
	failnth "$@" || status=1
}

# It takes no time: in each run.
[ "$group" != all ] && [ "$group" != rows ] || failnth rows || status=1
[ "$group" != rows ] || exit $status
run modules ${pattern:+"$pattern"}
[ "$group" != modules ] || exit $status
. tests/vm/lib.sh
disk m 8M
disk n 8M
disk a 4M
disk b 4M
disk c 8M
modprobe dm-hybrid || die "no dm-hybrid"
modprobe mem2m || die "no mem2m"
modprobe nameless || die "no nameless"
modprobe scmfs || die "no scmfs"
run memory ${pattern:+"$pattern"}
run nameless ${pattern:+"$pattern"}

# KASAN ignores that the page table of its shadow, one for 16 MiB, could not be allocated (zero_pud_populate()), and the
# first access is a fault: so there is one already.
mem2mctl create keep 4M --phys 512M --force || die "no memory device"
run scmfs ${pattern:+"$pattern"}
mem2mctl delete keep || die "the memory device stays"
run pool ${pattern:+"$pattern"}
run commands ${pattern:+"$pattern"}
run background 10000 5
exit $status
