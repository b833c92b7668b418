#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: power cuts during the kernel's calls
# kernels: 6.1 6.12
# timeout: 240
# append: memmap=24M$512M
#
# What the module stores, flushes and fences is recorded while calls are made; what a cut may leave of that is mounted.
# EVENKEEL_CUTS_SECONDS: for longer runs by hand, a quarter of that beside garbage collection. EVENKEEL_CUTS_MOST:
# contents at each fence. EVENKEEL_CUTS_ONLY: a part of calls' names. EVENKEEL_SECONDS is that of tests/vm/soak.
. tests/vm/lib.sh

seconds=${EVENKEEL_CUTS_SECONDS:-${EVENKEEL_SECONDS:-20}}
most=${EVENKEEL_CUTS_MOST:-1}
modprobe scmfs || die "no scmfs"
modprobe evenkeel_record || die "no evenkeel_record"
wait_for 10 test -c /dev/evenkeel-record || die "no /dev/evenkeel-record"
unmount() { umount /tmp/cuts.here /tmp/cuts.there 2>/dev/null; }
trap 'unmount; cleanup' EXIT

check "whenever power goes a call is done or not begun, and done once it has returned" \
	scmcuts "$seed" "$seconds" "$most" 0x20000000 0x20400000 0x400000 0x200000
cat "$said"
unmount	# after a failure
check "also while garbage is collected" \
	scmcuts "$seed" $((seconds / 4)) "$most" 0x20000000 0x20c00000 0xc00000 0x200000 gc
cat "$said"
unmount
check "the modules are unloaded" rmmod evenkeel_record scmfs
done_testing
