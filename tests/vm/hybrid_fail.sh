#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: devices that fail
# kernels: 6.1 6.12 debug
# timeout: 180
. tests/vm/lib.sh

disk m1 16M
disk m2 16M
disk a 24M mem cache=volatile
disk b 24M mem cache=volatile
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
line=$(table 65536 128 "m1 m2" "a b" 0 "stripe 2 commit_ms 50")
strict() { dmsetup status p | python3 tests/vm/hybrid_status.py; }

check "two metadata areas" pool p "$line"
is "both active" "$(status p meta)" AA
check "data" blkio write $dev 0 2048 "$seed" -- flush $dev
emuctl set m2 fail=write
check "a write and a flush with the second mirror failing" blkio write $dev 2048 512 "$seed" -- flush $dev
matches "the first goes on, the second is left out" "$(status p meta)" '^A[SF]$'
is "mode rw" "$(status p mode)" rw
check "in the grammar" strict
check "remove" remove_pool p
emuctl set m2 fail=none
check "make again with the mirror back" pool p "$line"
matches "it is known to be stale, or was brought up to date" "$(status p meta)" "^A[AS]$"
check "all data" blkio verify $dev 0 2560 "$seed"
remove_pool p
check "made with the first mirror failing reads" eval 'emuctl set m1 fail=read; ! dmsetup create p --table "$line" ||
	{ pools+=(p); blkio verify $dev 0 2560 $seed; }'
[ ${#pools[@]} = 0 ] || remove_pool p
emuctl set m1 fail=none

wipe m1 m2 a b
one=$(table 65536 128 m1 "a b" 0 "stripe 2 commit_ms 50")
check "one metadata area" pool p "$one"
check "data" blkio write $dev 0 2048 "$seed" -- flush $dev
events=$(dmsetup info -c --noheadings -o events p)
more_events() { [ "$(dmsetup info -c --noheadings -o events p)" -gt "$events" ]; }
emuctl set m1 fail=write
check_fails "a flush of new extents fails with the metadata" EIO \
	blkio write $dev 4096 256 1 -- flush $dev
check "mode ro" wait_for 10 status_is p mode ro
check "an event was raised" wait_for 5 more_events
is "needs_check" "$(status p needs_check)" needs_check
check "in the grammar" strict
check "reads go on" blkio verify $dev 0 2048 "$seed"
check_fails "writes do not" "EIO|EROFS" blkio write $dev 0 8 1
emuctl set m1 fail=none
check "suspend and resume of it" eval 'dmsetup suspend p && dmsetup resume p'
check "remove" remove_pool p
check "make again" pool p "$one"
check "what was flushed is there" blkio verify $dev 0 2048 "$seed"
remove_pool p

wipe m1 a b
check "a pool, in device order" pool p "$(table 65536 128 m1 "a b" 0 "fill 4 commit_ms 50 cooldown_ms 0")"
check "data on the first member" blkio write $dev 0 2048 "$seed" -- flush $dev
check "some moved to the second" eval 'message p move 0 1; message p move 1 1;
	wait_for 20 eval "[ \"\$(status p dev.1.used)\" = 2 ]"'
emuctl set b fail=write
check_fails "a write to the second fails to the writer" EIO blkio write $dev 0 8 1
check "one to the first does not" blkio write $dev 1024 8 1 -- verify $dev 1024 8 1
check "the second can still be read" blkio verify $dev 8 248 "$seed"
check "the error is counted" eval '[ "$(status p errors)" -ge 1 ]'
is "mode rw" "$(status p mode)" rw
is "a moved extent does not go there" "$(message p move 4 1; wait_for 10 \
	eval '[ $(($(status p completed) + $(status p failed))) = "$(status p started)" ]'; message p entry 4 | cut -d ' ' -f 1)" 0
emuctl set b fail=flush
check_fails "a failed flush of a member is an error" "EIO" blkio write $dev 2048 8 1 -- write $dev 16 8 2 -- flush $dev
emuctl set b fail=none
check "flushes work again" blkio flush $dev
emuctl set b fail=read
check_fails "a read error is the reader's" EIO blkio verify $dev 0 8 "$seed"
check "others read on" blkio verify $dev 256 512 "$seed"
emuctl set b fail=none
check "in the grammar" strict
check "remove" remove_pool p

# fault on the first resume: nothing half made stays
wipe m1 a b
emuctl set m1 fail=write
check_fails "a new pool on metadata that can't be written" "" \
	dmsetup create p --table "$one"
dmsetup remove p >/dev/null 2>&1
emuctl set m1 fail=none
check "works when it can" pool p "$one"
check "and holds data" blkio write $dev 0 8 1 -- verify $dev 0 8 1 -- flush $dev
done_testing
