#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: hybridctl: what it says of trouble, and what others have left behind
# kernels: 6.1 6.12
# timeout: 300
. tests/vm/lib.sh

disk m 8M
disk a 24M mem cache=volatile
disk b 24M mem cache=volatile
disk c 24M
modprobe dm-hybrid || die "no dm-hybrid"
A=/dev/emudisk/a B=/dev/emudisk/b C=/dev/emudisk/c M=/dev/emudisk/m
dev=/dev/mapper/p
take_down() {
	local d p
	for d in m a b c; do emuctl set $d fail=none; done
	for p in p q slow; do command dmsetup remove --retry $p 2>/dev/null; done
	cleanup
}
trap take_down EXIT
create() {
	wipe m a b
	hybridctl create p $A $B --metadata $M --extent 64K --policy stripe --set commit_ms=60000 --set low_free=0
}
gone() { ! command dmsetup info p >/dev/null 2>&1; }

# --- stop: what the last commit has lost
check "a volume" create
check "data" blkio write $dev 0 512 "$seed" -- flush $dev
check "stop: nothing is lost" hybridctl stop p
is "without a word" "$(<"$said")" ""
check "assemble" hybridctl assemble p
check "all data" blkio verify $dev 0 512 "$seed"
emuctl set b fail=flush
check "a write that is not flushed" blkio write $dev 0 256 1
exec 7<$dev
check_fails "stop: open: as ever" "p: in use: opened by process $$" hybridctl stop p
exec 7<&-
check_fails "stop: a member that can't flush" \
	"stop: p: the last commit failed .*: what was written last may be lost" hybridctl stop p
is "said once" "$(wc -l <"$said")" 1
check "it is inactive all the same" gone
emuctl set b fail=none
check "assemble" hybridctl assemble p
emuctl set m fail=write
check "a write to a new place" blkio write $dev 1024 128 1
check_fails "stop: metadata that can't be written" "p: the last commit failed .*may be lost" hybridctl stop p
check "it is inactive all the same" gone
emuctl set m fail=none
check "another" create
emuctl set m fail=write
check "a write to a new place" blkio write $dev 1024 128 1
check_fails "a flush" EIO blkio flush $dev
field_is "it is read-only" p mode ro
check_fails "stop: what could not be committed" "p: the last commit failed .*may be lost" hybridctl stop p
check "it is inactive all the same" gone
emuctl set m fail=none
check "another" create
check "data" blkio write $dev 0 512 "$seed"
check "it is suspended" dmsetup suspend p
check "stop: which had all made durable" timeout 30 hybridctl stop p
check "assemble" hybridctl assemble p
check "all data" blkio verify $dev 0 512 "$seed"
emuctl set b fail=flush
check "a write that is not flushed" blkio write $dev 0 256 1
check "it is suspended" dmsetup suspend p
check_fails "stop: suspended, when it lost some" "p: the last commit failed .*may be lost" timeout 30 hybridctl stop p
check "it is inactive all the same" gone
emuctl set b fail=none

done_testing
