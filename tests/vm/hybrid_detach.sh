#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: dead devices go and come back while the volume is mounted
# kernels: 6.1 6.12
# one-of: 2
# timeout: 300
. tests/vm/lib.sh
at='' entry='' used='' lost=''

for d in a b c d; do disk $d 24M mem cache=volatile; done
disk m 8M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
create() {
	hybridctl create p /dev/emudisk/{a,b,c} --extent 64K --size 32M --policy stripe --set commit_ms=50 --set low_free=0 --set tell_ms=0 \
		--set period_ms=200 "$@" || return
	pools+=(p)
}
# Does any device lie on it?
is_let_go() { local n; n=$(<"/sys/class/block/emudisk!$1/dev") && ! compgen -G "/sys/dev/block/$n/holders/*" >/dev/null; }
extent_on() { local i; for ((i = 300; i < 400; i++)); do into entry dmt message p 0 entry $i; [ "${entry%% *}" != "$1" ] || { at=$((i * 128)); return; }; done; return 1; }
reads_fail() { dd if=$dev of=/dev/null bs=4k iflag=direct conv=noerror status=none 2>/dev/null; status_is p dev.1.state failed; }
data_is() { blkio verify $dev 32768 24576 "$seed"; }
rest_is() { blkio verify $dev "$at" 128 "$seed"; }
content() { dd if=/dev/emudisk/$1 bs=1M iflag=direct status=none | sha256sum; }
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
check "no hurry" message p set period_ms 2000	# a slow machine reads too little in a shorter one for a verdict
check "one that answers nothing" wait_for 30 reads_fail
check "as before" message p set period_ms 200
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
is "what is wrong is told, and what to do" "$(hybridctl status p --json | jq -r '.health, .advice' | paste -sd' ')" \
	'lost member device 1 is not there: "hybridctl lost p" lists what is on it; if it comes back, "hybridctl attach p DEV", else "hybridctl evacuate p 1 --give-up"'
check_fails "nor what is not of the pool" "carries no part of p" hybridctl attach p /dev/emudisk/d
check "one that is there already is" hybridctl attach p /dev/emudisk/c
field_is "the volume goes on" p mode rw
emuctl set b fail=none
check_fails "whatever is forced, it does not join anew" "is member 1 of p itself, .*hybridctl attach p /dev/emudisk/b" hybridctl add p /dev/emudisk/b --force
check_fails "nor is the metadata put over it" "is member 1 of p itself" hybridctl metadata p move 1 /dev/emudisk/b --force
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

# --- while what can't be read is given up
emuctl set d fail_range=$((2048 + 20 * 128 + 64))+8000 fail=read read_lat=20ms	# two minutes at least
check "nobody else has it open" umount /tmp/mnt
hybridctl evacuate p 1 --force --give-up >/tmp/given 2>&1 & giving=$!
check "something is given up" wait_for 120 grep -q "zeroes from now on" /tmp/given
emuctl set d stall=1	# it stops where it is, or when its read ends
kill -STOP $giving
emuctl set d stall=0 fail_range=0+0 fail=none read_lat=0
check "it is detached" hybridctl detach p 1 --force
check "all of it can't be read then" eval '! dd if=$dev of=/dev/null bs=64k iflag=direct status=none 2>/dev/null'
before=$(hybridctl lost p --json | jq -c .lost)
kill -CONT $giving
wait $giving
is "that ends it" $? 1
matches "at once" "$(</tmp/given)" "the member was detached or attached meanwhile: the rest is as it was"
is "nothing that can be read there is gone" "$(hybridctl lost p --json | jq -c .lost)" "$before"
check "it comes back" hybridctl attach p /dev/emudisk/d
check "and stays" hybridctl evacuate p 1 --cancel
check "and takes extents" eval 'status_is p dev.1.state active || message p reinstate 1'
check "files again" eval 'mkfs.ext4 -q -F -b 4096 $dev 4096 && mount $dev /tmp/mnt && seq 200000 >/tmp/mnt/seq && umount /tmp/mnt'
for ((at = 32768; at < 57344; at += 128)); do blkio discard $dev $at 128; done
check "written anew" blkio write $dev 32768 24576 "$seed" -- flush $dev

# --- what it had not flushed is told, and what it has is shown; no file system's flush is the first
check "one that is sound goes if it must" hybridctl detach p 1 --force
check "nothing is lost by that: the volume was suspended" blkio flush $dev
check "it comes back" hybridctl attach p /dev/emudisk/d
check "all data" data_is
wipe b
check "nothing is committed from here on" eval 'message p set commit_ms 3600000 && blkio flush $dev'
check "some of it lies there" extent_on 1
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
echo 3 >/proc/sys/vm/drop_caches
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
check_fails "also by name" "all that the metadata is on" hybridctl detach p meta0
check_fails "of those that are" "no part of p" hybridctl detach p meta1
check "two members may go" eval 'hybridctl detach p 0 --force && hybridctl detach p 1 --force'
check_fails "not all" "the last one that is there" hybridctl detach p 2 --force
check "and come back" eval 'hybridctl attach p /dev/emudisk/b && hybridctl attach p /dev/emudisk/a'
check "all data" blkio verify $dev 0 8192 "$seed"
check "sound" hybridctl check p
check "stopped" hybridctl stop p
pools=()

# --- the metadata's devices may have no node any more
check "its metadata on two devices of its own" create --force --metadata /dev/emudisk/m --metadata /dev/emudisk/d
check "data" blkio write $dev 0 8192 "$seed" -- flush $dev
emuctl set m fail=all
check "a device goes by its place" hybridctl detach p meta0
check "again" hybridctl detach p meta0
field_is "the other one is all" p meta FA
check "stopped" hybridctl stop p
pools=()
is "it is not missed" "$(hybridctl list --json | jq -r '.[] | select(.name == "p") | .state, .missing' | paste -sd' ')" "inactive metadata area 0"
check_fails "unless a member is, too" "incomplete" eval 'emuctl set c fail=all; hybridctl assemble p; r=$?; emuctl set c fail=none; [ $r = 0 ]'
check "the next start does without it" eval 'hybridctl assemble p 2>/tmp/told'
pools=(p)
matches "and says so" "$(</tmp/told)" "without metadata area 0, which was left out before"
field_is "the other one is all" p meta FA
check "stopped" hybridctl stop p
check "so does the boot" eval 'hybridctl assemble --with /dev/emudisk/a && hybridctl status p'
emuctl set m fail=none
hybridctl assemble --with /dev/emudisk/m >/tmp/told 2>&1
is "one that appears later is no failure" $? 0
matches "and told of" "$(</tmp/told)" "goes on without metadata area 0 on /dev/emudisk/m .\"hybridctl attach p /dev/emudisk/m\""
field_is "but not taken" p meta FA
check "unless somebody says so" hybridctl attach p /dev/emudisk/m
field_is "it is a mirror" p meta AA
emuctl set m fail=all
check "it goes again" hybridctl detach p meta0
field_is "the other one is all" p meta FA
check "all data" blkio verify $dev 0 8192 "$seed"
check "and in nobody's way" is_let_go m
# Its number may be another's: nobody else's volume is refused for that.
number=$(</sys/class/block/emudisk!m/dev)
emuctl del m
has_number() { disk e 8M && [ "$(</sys/class/block/emudisk!e/dev)" = "$number" ] || { emuctl del e; false; }; }
check "another has its number" wait_for 20 has_number
disk f 24M
check "a volume on that" hybridctl create q /dev/emudisk/f --metadata /dev/emudisk/e --size 8M
check "stopped" hybridctl stop q
check "the metadata has a mirror again" hybridctl metadata p move 0 /dev/emudisk/e --force
field_is "like any other" p meta AA

# --- each was used as if the other one did not exist
check "stopped" hybridctl stop p
pools=()
emuctl set e fail=all
check_fails "one that may be the newer is missed" "incomplete: metadata area 0 not found .--degraded" hybridctl assemble p
check "without the first" hybridctl assemble p --degraded
pools=(p)
check "a write" blkio write $dev 0 128 2 -- flush $dev -- discard $dev 128 128 -- flush $dev
check "stopped" hybridctl stop p
emuctl set e fail=none
emuctl set d fail=all
check "then without the second" hybridctl assemble p --degraded
check "another write" blkio write $dev 0 128 3 -- discard $dev 256 128 -- flush $dev
emuctl set d fail=none
before=$(content d)
check_fails "the second is not overwritten" "went on without the one in use: neither has all" hybridctl attach p /dev/emudisk/d
field_is "nor taken" p meta AF
check "not by a table, either" eval 'dmsetup table p | sed "s| - | /dev/emudisk/d |" >/tmp/table && dmsetup load p /tmp/table && dmsetup resume p'
is "what it has is there" "$(content d)" "$before"
check_fails "nor by a message" "" message p metadata resync 1
check "the volume goes on" blkio write $dev 0 128 4 -- flush $dev -- verify $dev 0 128 4
check "stopped" hybridctl stop p
pools=()
check_fails "both are no pool" "went on without each other" hybridctl assemble p
emuctl set d fail=all
check "without the second" hybridctl assemble p --degraded
emuctl set d fail=none
check "which comes back when its own is to be forgotten" hybridctl attach p /dev/emudisk/d --force
field_is "as a mirror" p meta AA
check "what was written last" blkio verify $dev 0 128 4
check "sound" hybridctl check p
check "stopped" hybridctl stop p
check "whole" hybridctl assemble p
check "what was written last" blkio verify $dev 0 128 4
check "stopped" hybridctl stop p

# --- the metadata can't be written any more while a device goes
wipe d e f
check "a pool, its metadata on the first two" create --force
check "data" blkio write $dev 0 8192 "$seed" -- flush $dev
emuctl set b fail=all
emuctl set a fail=write
check_fails "then the volume is not without it in good order" "is not writable any more" hybridctl detach p 1 --force
is "nor suspended" "$(dmsetup info -c --noheadings -o suspended p)" Active
fields_are "it can be read" p "mode needs_check" "ro needs_check"
extent_on 0
check "what is there" dd if=$dev of=/dev/null bs=64k skip=$((at / 128)) count=1 iflag=direct status=none
emuctl set a fail=none
emuctl set b fail=none
done_testing
