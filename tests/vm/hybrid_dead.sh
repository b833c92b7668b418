#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: two members are dead at once, and the volume is changed all the same
# kernels: 6.1 6.12
# one-of: 2
. tests/vm/lib.sh
modprobe null_blk nr_devices=0 || lacks null_blk
lost=''

for d in a b c d e f; do disk $d 24M mem cache=volatile; done
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
create() {
	hybridctl create p "$@" --extent 64K --size 24M --policy stripe --set commit_ms=50 --set low_free=0 --set tell_ms=0 --set period_ms=200 || return
	pools+=(p)
}
stop() { hybridctl stop p && pools=(); }
state_is() { status_is p dev.$1.state "$2"; }
# What is on them is read until both are known to have failed.
are_failed() { dd if=$dev of=/dev/null bs=64k iflag=direct conv=noerror status=none 2>/dev/null; state_is $1 failed && state_is $2 failed; }
load() { while :; do blkio write $dev 0 16384 "$seed"; blkio flush $dev; nap 0.02; done >/dev/null 2>&1; }
data_is() { blkio verify $dev 0 16384 "$seed"; }
# The table as it is, with something else for a device; it is not resumed.
reload() { command dmsetup table p | sed "$@" >/tmp/table && command dmsetup load p /tmp/table; local r=$?; dmsetup clear p; return $r; }
number() { local n; n=$(<"/sys/class/block/emudisk!$1/dev"); echo "$n"; }
label() { dd if=/dev/emudisk/$1 bs=4k count=1 iflag=direct status=none of=/tmp/label.$1 "${@:2}"; }
damage() { dd if=/dev/urandom of=/dev/emudisk/$1 bs=4k count=1 seek="$2" oflag=direct conv=notrunc status=none; }
mend() { dd if=/tmp/label.$1 of=/dev/emudisk/$1 bs=4k count=1 seek="$2" oflag=direct conv=notrunc status=none; }
last=$((24 * 256 - 1))	# block of a label's copy

check "a pool, its metadata on the first two" create /dev/emudisk/{a,b,c,d}
check "data" blkio write $dev 0 16384 "$seed" -- flush $dev

# --- two at once, of which one carries metadata
load & load=$!
emuctl set b fail=all
emuctl set d fail=all
check "no hurry" message p set period_ms 2000
check "two answer nothing" wait_for 60 are_failed 1 3
check "as before" message p set period_ms 200
check "another member joins" hybridctl add p /dev/emudisk/e
fields_are "as one of five" p "dev.4.state dev.1.state dev.3.state mode" "active failed failed rw"
check "the volume grows" hybridctl grow p --size 25M
check "the second goes" hybridctl detach p 3
check "it is back while the first is dead" eval 'emuctl set d fail=none && hybridctl attach p /dev/emudisk/d'
fields_are "as a member" p "dev.1.state dev.3.state mode" "failed active rw"
check "it goes again" eval 'emuctl set d fail=all && hybridctl detach p 3 --force'
check "so does the first" hybridctl detach p 1
matches "with its metadata area" "$(status p meta)" "^AF"
fields_are "the volume goes on" p "dev.0.state dev.2.state mode" "active active rw"
check "in the grammar" in_grammar p
emuctl set b fail=none
emuctl set d fail=none
check "both come back" eval 'hybridctl attach p /dev/emudisk/d && hybridctl attach p /dev/emudisk/b'
kill $load
wait $load 2>/dev/null
fields_are "as members" p "dev.1.state dev.3.state mode" "active active rw"
field_is "the metadata is a mirror" p meta AA
check "what is written" blkio write $dev 0 16384 "$seed" -- flush $dev
check "is there" data_is
check "sound" hybridctl check p

# --- one that answers says what it is
label d
before=$(dmsetup table p)
check "the label's start is gone" damage d 0
expect_refused "that is not passed over" "member holds something else" reload ''
emuctl set d fail=read fail_range=$((last * 8))+8
expect_refused "nor if the copy can't be read" "member holds something else" reload ''
check "the copy, too" eval 'emuctl set d fail=none fail_range=0+0 && mend d 0 && damage d $last'
emuctl set d fail=read fail_range=0+8
expect_refused "nor with a copy that is another, and no start" "member label is damaged" reload ''
check "both are back" eval 'emuctl set d fail=none fail_range=0+0 && mend d $last'
check "as they were" reload ''
emuctl set d fail=all
emuctl set f fail=all
expect_refused "another device in its place has to say what it is" "cannot read the label of member 3 on emudisk.f" \
	reload "s|$(number d)|$(number f)|"
expect_refused "nor is it what another place has" "cannot read the label of member 2 on emudisk.d" \
	reload -e "s|$(number d)|-|" -e "s|$(number c)|$(number d)|"
check "dead where it was, it is taken for what it was" reload ''
emuctl set a fail=read
emuctl set b fail=read
expect_refused "unless nothing says what pool that is" "cannot read the label of metadata area 0 on emudisk.a" reload ''
emuctl set a fail=none
emuctl set b fail=none
emuctl set f fail=none
is "nothing has changed" "$(dmsetup table p)" "$before"
check "it goes" remove_pool p
expect_refused "no volume is started so" "cannot read the label of member 3 on emudisk.d" dmsetup create p --table "$before"
emuctl set d fail=none
dmsetup remove p >/dev/null 2>&1
check "whole" hybridctl assemble p
pools=(p)
check "all data" data_is

# --- a pool that is only read forgets what it knows when it is to be written to
before=$(dmsetup table p)
check "stopped" stop
check "only read" eval 'dmsetup create p --table "$(sed "s/ 0 stripe / 1 read_only stripe /" <<<"$before")" && dmsetup table p | grep -q read_only'
pools=(p)
emuctl set b fail=all
check "the same is loaded with a metadata area that is dead" reload ''
expect_refused "not to be written to, which would begin anew" "cannot read the label of metadata area 1 on emudisk.b" \
	reload 's/ 1 read_only stripe / 0 stripe /'
emuctl set b fail=none
check "with both it can be" eval 'reload "s/ 1 read_only stripe / 0 stripe /" && data_is'
check "stopped" remove_pool p
pools=()

# --- one that was pulled has no size any more
wipe a b c d e
config=/sys/kernel/config/nullb/pulled
mkdir $config
for set in size=24 memory_backed=1 power=1; do echo "${set#*=}" >$config/${set%=*} || die "no $set"; done
if [ -b /dev/pulled ]; then pulled=pulled; else pulled=nullb$(<$config/index); fi
number=$(</sys/class/block/$pulled/dev)
check "a pool with it" create --force --volatile-ok /dev/emudisk/{a,b,c} /dev/$pulled
check "data" blkio write $dev 0 16384 "$seed" -- flush $dev
echo 0 >$config/power
emuctl set c fail=all
check "two answer nothing" wait_for 60 are_failed 2 3
check "a member joins" hybridctl add p /dev/emudisk/d
matches "the table has it still" "$(dmsetup table p)" " $number 0 "
check "the other one goes" hybridctl detach p 2
check "and the one that was pulled" hybridctl detach p 3
lost=$(hybridctl lost p --json)
is "what is lost is told" "$(jq '.lost | length > 0' <<<"$lost")" true
check "the volume goes on" eval 'emuctl set c fail=none && hybridctl attach p /dev/emudisk/c'
fields_are "without it" p "dev.2.state dev.3.state dev.4.state mode" "active failed active rw"
check "stopped" stop
rmdir $config
done_testing
