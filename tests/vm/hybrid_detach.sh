#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: dead devices go and come back while the volume is mounted
# kernels: 6.1 6.12
# timeout: 240
. tests/vm/lib.sh
at='' entry='' used='' lost=''

for d in a b c d; do disk $d 24M mem cache=volatile; done
disk m 8M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
create() {
	hybridctl create p /dev/emudisk/{a,b,c} --extent 64K --size 32M --policy stripe --set commit_ms=50 --set low_free=0 \
		--set period_ms=200 "$@" || return
	pools+=(p)
}
# Does any device lie on it?
is_let_go() { local n; n=$(<"/sys/class/block/emudisk!$1/dev") && ! compgen -G "/sys/dev/block/$n/holders/*" >/dev/null; }
extent_on() { local i; for ((i = 300; i < 400; i++)); do into entry dmt message p 0 entry $i; [ "${entry%% *}" != "$1" ] || { at=$((i * 128)); return; }; done; return 1; }
reads_fail() { dd if=$dev of=/dev/null bs=4k iflag=direct conv=noerror status=none 2>/dev/null; status_is p dev.1.state failed; }
data_is() { blkio verify $dev 32768 24576 "$seed"; }
rest_is() { blkio verify $dev "$at" 128 "$seed"; }
tables_are() { [ "$(dmsetup table p)" = "$1" ]; }

check "a pool, its metadata on the first two" create
check "a file system in its first half" eval 'mkfs.ext4 -q -F -b 4096 $dev 4096 && mkdir -p /tmp/mnt && mount $dev /tmp/mnt'
check "files" eval 'seq 200000 >/tmp/mnt/seq && sync'
check "data in the other" blkio write $dev 32768 24576 "$seed" -- flush $dev

# --- it goes
before=$(dmsetup table p)
check_fails "one that is sound stays" "evacuate and remove it, or --force" hybridctl detach p 1
check_fails "nobody's" "no part of p" hybridctl detach p /dev/emudisk/d
check_fails "nobody's" "no part of p" hybridctl detach p 9
check "as it was" tables_are "$before"
emuctl set b fail=all
check "one that answers nothing" wait_for 30 reads_fail
check_fails "is held" "" is_let_go b
check "is let go of" hybridctl detach p /dev/emudisk/b
check "and in nobody's way" is_let_go b
fields_are "the volume goes on" p "mode dev.1.state dev.0.state" "rw failed active"
matches "with the other area" "$(status p meta)" "^AF"
check "in the grammar" in_grammar p
check "asked again" hybridctl detach p 1
lost=$(hybridctl lost p --json)
is "what is lost is told" "$(jq '.lost | length > 0' <<<"$lost")" true
extent_on 1
check_fails "it can't be read" EIO blkio verify $dev "$at" 8 "$seed"
extent_on 0
check "the rest can" rest_is
check "and written" blkio write $dev "$at" 128 "$seed" -- flush $dev
extent_on 1
check "what is written anew lies elsewhere" blkio discard $dev "$at" 128 -- write $dev "$at" 128 "$seed" -- flush $dev -- verify $dev "$at" 128 "$seed"
check_fails "no other member may go: the metadata is there" "all that the metadata is on" hybridctl detach p 0 --force

# --- it comes back
check_fails "not while it is dead" "/dev/emudisk/b" hybridctl attach p /dev/emudisk/b
check_fails "nor what is not of the pool" "carries no part of p" hybridctl attach p /dev/emudisk/d
check "one that is there already is" hybridctl attach p /dev/emudisk/c
field_is "the volume goes on" p mode rw
emuctl set b fail=none
check "when it answers" hybridctl attach p /dev/emudisk/b
fields_are "it is a member like any other" p "dev.1.state mode" "active rw"
field_is "the metadata a mirror" p meta AA
check "all data" data_is
is "nothing is lost" "$(hybridctl lost p --json | jq '.lost | length')" 0
into used dmt field p dev.1.allocations
for ((at = 32768; at < 57344; at += 128)); do blkio discard $dev $at 128; done
check "written anew" blkio write $dev 32768 24576 "$seed" -- flush $dev
status_above p dev.1.allocations "$used"
is "new extents go there" $? 0
check "attached again" hybridctl attach p /dev/emudisk/b

# --- it comes back as another device
check "its copy" eval 'dd if=/dev/emudisk/b of=/dev/emudisk/d bs=1M oflag=direct iflag=direct status=none'
check_fails "is none while it answers" "is a copy of it" hybridctl attach p /dev/emudisk/d
emuctl set b fail=all
check "when it does not, it takes its place" wait_for 20 hybridctl attach p /dev/emudisk/d
check "which is let go of" is_let_go b
fields_are "a member like any other" p "dev.1.state mode" "active rw"
field_is "the metadata a mirror" p meta AA
check "all data" data_is
emuctl set b fail=none

# --- what it had not flushed is told, and what it has is shown
check "one that is sound goes if it must" hybridctl detach p 1 --force
check "nothing is lost by that: the volume was suspended" blkio flush $dev
check "it comes back" hybridctl attach p /dev/emudisk/d
check "all data" data_is
wipe b
check "nothing is committed from here on" eval 'message p set commit_ms 60000 && blkio flush $dev'
extent_on 1
check "a write that nobody flushes" blkio write $dev "$at" 8 77
emuctl set d fail=all
check "it goes with that" hybridctl detach p 1 --force
check_fails "which is told" EIO blkio flush $dev
check "once" blkio flush $dev
check_fails "and to who sends a message" "Input/output error" message p commit
emuctl set d fail=none
check "it comes back" hybridctl attach p /dev/emudisk/d
check "with what was written, or what was before" eval 'blkio verify $dev "$at" 8 77 || blkio verify $dev "$at" 8 "$seed"'
check "written again" blkio write $dev "$at" 8 "$seed" -- flush $dev
check "all data" data_is

# --- a start after that finds it where it is
check "it goes" hybridctl detach p 1 --force
check "a write" blkio write $dev 57344 128 5 -- flush $dev
check "the files are there" eval 'echo 3 >/proc/sys/vm/drop_caches; umount /tmp/mnt'
check "stopped" hybridctl stop p
pools=()
check "whole at the next start" hybridctl assemble p
pools=(p)
field_is "with it" p dev.1.state active
check "all data" eval 'data_is && blkio verify $dev 57344 128 5'
check "and files" eval 'mount -o ro $dev /tmp/mnt && seq 200000 | cmp - /tmp/mnt/seq; r=$?; umount /tmp/mnt; [ $r = 0 ]'
check "its metadata is made a mirror" eval 'hybridctl metadata p resync && status_is p meta AA'
check "sound" hybridctl check p
check "stopped" hybridctl stop p
pools=()

# --- metadata alone
check "its metadata on a device of its own" create --force --metadata /dev/emudisk/m
check "data" blkio write $dev 0 8192 "$seed" -- flush $dev
check_fails "that stays" "all that the metadata is on" hybridctl detach p /dev/emudisk/m --force
check "two members may go" eval 'hybridctl detach p 0 --force && hybridctl detach p 1 --force'
check_fails "not all" "the last one that is there" hybridctl detach p 2 --force
check "and come back" eval 'hybridctl attach p /dev/emudisk/b && hybridctl attach p /dev/emudisk/a'
check "all data" blkio verify $dev 0 8192 "$seed"
check "sound" hybridctl check p
done_testing
