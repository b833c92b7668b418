#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: members come and go under load
# kernels: 6.1 6.12 debug
# timeout: 500
. tests/vm/lib.sh
there='' first='' before='' had='' written_to='' after='' entry='' some=''

disk m 8M
disk a 24M
disk b 24M
disk c 24M
disk d 24M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
ctl() { hybridctl "$@"; }

# A load that checks what it reads, until `ended`. It is at work when this returns.
load() {
	count_writes
	had=$written_to
	fio --name=load --filename=$dev --size="$1" --rw=randrw --bs=4k --iodepth=8 --ioengine=libaio \
		--direct=1 --verify=crc32c --verify_fatal=1 --time_based --runtime=600 --randseed="$seed" --verify_backlog=256 --output=/tmp/fio.log &
	fio=$!
	check "a load" wait_for 60 is_loaded
}
count_writes() { local f; read -ra f <"/sys/dev/block/$(stat -Lc %Hr:%Lr $dev)/stat"; written_to=${f[4]}; }
is_loaded() { count_writes && [ "$written_to" -gt $((had + 20)) ]; }
ended() {
	kill -INT $fio 2>/dev/null
	wait $fio
	fio_was_right /tmp/fio.log
}
some_failed() { [ "$(status p failed)" -gt 3 ]; }
is_whole() {
	if hybridctl check "$@" >/tmp/check 2>&1 && ! grep -q "nothing maps" /tmp/check; then return; fi
	cat /tmp/check
	return 1
}

check "a pool of two" ctl create p /dev/emudisk/a /dev/emudisk/b --metadata /dev/emudisk/m --extent 64K --size 24M \
	--policy stripe --set commit_ms=50 --set low_free=0
pools+=(p)
check "data" blkio write $dev 0 49152 "$seed" -- flush $dev
trace=/sys/kernel/tracing
# The debug kernel has none.
[ ! -d $trace/events/hybrid ] || { echo >$trace/trace; echo 1 >$trace/events/hybrid/hybrid_member_state/enable; }
is "lies on both" "$(status p dev.0.used) $(status p dev.1.used)" "192 192"

# --- a member joins
check_fails "a device that is one already" "in use" ctl add p /dev/emudisk/b
check_fails "no device" "No such file" ctl add p /dev/none
mkfs.ext4 -q -F /dev/emudisk/c
# a write to it would wait for itself
check "what lies on the volume" eval 'dmsetup create on --table "0 32768 linear $dev 0" && dmsetup create onon --table "0 32768 linear /dev/mapper/on 0"'
check_fails "is no member of it" "/dev/mapper/onon: lies on the volume itself" ctl add p /dev/mapper/onon
check_fails "takes no member's place" "/dev/mapper/onon: lies on the volume itself" ctl replace p 1 /dev/mapper/onon
check_fails "nor its metadata" "/dev/mapper/onon: lies on the volume itself" ctl metadata p move 0 /dev/mapper/onon
check "nothing has changed" eval 'dmsetup remove onon && dmsetup remove on && blkio verify $dev 0 49152 "$seed"'
check_fails "nor is the volume itself" "lies on the volume itself" ctl add p $dev
check_fails "one with a file system on it" "has an ext4 signature" ctl add p /dev/emudisk/c
load 8M
check "a third joins under load" ctl add p /dev/emudisk/c --force
fields_are "it is there, empty" p "dev.2.state mode" "active rw"
check "in the grammar" in_grammar p
check "data as before, but for what the load writes" blkio verify $dev 16384 32768 "$seed"

# --- one is emptied under load
check "the second is emptied" ctl evacuate p /dev/emudisk/b
note "$(<"$said")"
fields_are "nothing is there" p "dev.1.state dev.1.used" "draining 0"
check "new extents go elsewhere" blkio write $dev 16384 16384 "$seed" -- flush $dev
field_is "still nothing" p dev.1.used 0
check "it is sound, also as it is seen while it is written to" eval 'for i in {1..10}; do is_whole p || exit; done'
check "data" blkio verify $dev 16384 32768 "$seed"
check_fails "one that is not empty can't go" "not being evacuated" ctl remove p /dev/emudisk/c --force
check "the second goes, under load" ctl remove p /dev/emudisk/b
check "the load saw nothing wrong" ended
fields_are "it is none any more" p "dev.1.dev dev.1.state dev.1.used" "- removed 0"
check_fails "nor can it be one by being trusted" "Invalid argument" message p reinstate 1
check "in the grammar" in_grammar p
is "its label is gone" "$(blkid -p -o value -s TYPE /dev/emudisk/b)" ""
check "data" blkio verify $dev 16384 32768 "$seed"
if [ -d $trace/events/hybrid ]; then
	is "each change of its state was traced" \
		"$(sed -n 's/.*hybrid_member_state:.* \(member=.*\)/\1/p' $trace/trace | paste -sd,)" \
		"member=1 from=0 to=3,member=1 from=3 to=4"
	echo 0 >$trace/events/hybrid/hybrid_member_state/enable
else
	skip "each change of its state was traced" "a kernel without tracing"
fi
check "stop" ctl stop p
check "sound" is_whole /dev/emudisk/{m,a,c}
check "assembled without it" ctl assemble p
fields_are "as it was" p "dev.1.dev dev.1.state dev.2.state" "- removed active"
check_fails "the place of one that has left is not to be replaced" "member 1 of p was removed.*hybridctl add p" ctl replace p 1 /dev/emudisk/b
field_is "nothing joins by that" p dev.1.state removed
check "data" blkio verify $dev 16384 32768 "$seed"

# --- room
check_fails "the rest could not hold the volume" "not all of it could be written" ctl evacuate p /dev/emudisk/c
check_fails "nor has it room for what is there" "no room for what is on it" ctl evacuate p /dev/emudisk/c --force
field_is "it stays active" p dev.2.state active
load 8M
check "the first comes back into the free place, and the volume grows, under load" ctl add p /dev/emudisk/b --grow
fields_are "it is the second again" p "dev.1.state dev.1.used" "active 0"
size=$(sectors $dev)
check "it is larger" [ "$size" -gt 98304 ]
check "data as before" blkio verify $dev 16384 32768 "$seed"
check "and in what is new" blkio write $dev 49152 $((size - 49152)) 7 -- flush $dev -- \
	verify $dev 49152 $((size - 49152)) 7
check "the load saw nothing wrong" ended
check_fails "not smaller" "would become smaller" ctl grow p --size 1M
check_fails "not beyond its members" "longer than its members" ctl grow p --size 1G
check_fails "nor by as much as there are numbers" "too large" ctl grow p --size 18446744073709551615
field_is "it goes on" p mode rw
check "stop" ctl stop p
check "sound" is_whole /dev/emudisk/{m,a,b,c}
check "assembled" ctl assemble p
is "as large" "$(sectors $dev)" "$size"
check "all data" blkio verify $dev 16384 32768 "$seed" -- verify $dev 49152 $((size - 49152)) 7

# --- what is begun goes on
check "the volume is emptied, but for a part" blkio discard $dev 49152 $((size - 49152))
message p set migrate_kbps 20	# for longer than a slow machine takes until it is cancelled
check_fails "what is left would be smaller than the volume" "not all of it could be written.*--force" ctl evacuate p 0 --no-wait
field_is "nothing is begun" p dev.0.state active
check "begin to empty the first" ctl evacuate p 0 --no-wait --force
check_fails "it is not removed so, either" "not all of it could be written" ctl remove p 0
field_is "it is draining" p dev.0.state draining
check "stop" ctl stop p
check "assembled" ctl assemble p
field_is "it still is" p dev.0.state draining
hybridctl evacuate p 0 >/tmp/waiting 2>&1 & waiting=$!
check "the tool waits for it" wait_for 60 grep -q "left" /tmp/waiting
kill -TERM $waiting
gone() { ! kill -0 $waiting 2>/dev/null; }
check "a signal ends the waiting" wait_for 20 gone || kill -KILL $waiting
wait $waiting 2>/dev/null
is "by that signal" $? 143
field_is "not the work" p dev.0.state draining
rm -f /tmp/waiting
hybridctl evacuate p 0 >/tmp/waiting 2>&1 & waiting=$!
check "another one waits" wait_for 60 grep -q "left" /tmp/waiting
check "others are not kept waiting: one cancels it" ctl evacuate p 0 --cancel
check "who waits is not left waiting" wait_for 20 gone || kill -KILL $waiting
wait $waiting
is "that is an error" $? 1
matches "and says why" "$(</tmp/waiting)" "not being evacuated any more"
check "to the end" eval 'message p set migrate_kbps 0; ctl evacuate p /dev/emudisk/a --force'
check "another way: it is to stay" ctl evacuate p 0 --cancel
field_is "it stays" p dev.0.state active
load 8M
check "replace the last one, under load" ctl replace p /dev/emudisk/c /dev/emudisk/d
note "$(<"$said")"
check "the load saw nothing wrong" ended
fields_are "done" p "dev.2.state dev.3.state" "removed active"
check "data" blkio verify $dev 16384 32768 "$seed"
check "again: nothing to do" ctl replace p /dev/emudisk/c /dev/emudisk/d
check "in the grammar" in_grammar p
check "it can be checked while it runs" is_clean p
check "stop" ctl stop p
check "sound" is_whole /dev/emudisk/{m,a,b,d}

# --- dump, restore, repair
check "dump" eval 'ctl dump --map /dev/emudisk/{m,a,b,d} >/tmp/dump'
check "all of the metadata but the label is wiped" blkio zero /dev/emudisk/m 2048 6144
check_fails "nothing to repair it from" "nothing that it could be mended from" ctl repair /dev/emudisk/{m,a,b,d}
check "restore, the devices alone named" eval 'ctl restore /dev/emudisk/{m,a,b,d} </tmp/dump'
check "the same dump" eval 'diff <(grep -v "^superblock" /tmp/dump) \
	<(ctl dump --map /dev/emudisk/{m,a,b,d} | grep -v "^superblock")'
check "sound" is_whole /dev/emudisk/{m,a,b,d}
check "a label and a copy are wiped" \
	blkio zero /dev/emudisk/d 0 8 -- zero /dev/emudisk/m $(($(sectors /dev/emudisk/m) - 8)) 8
check_fails "which is seen" "its copy is good|missing" ctl check /dev/emudisk/{m,a,b,d}
check "repair" ctl repair /dev/emudisk/{m,a,b,d}
check "sound" is_whole /dev/emudisk/{m,a,b,d}
check "assembled" ctl assemble p
check "data" blkio verify $dev 16384 32768 "$seed"
check "stop" ctl stop p

# --- the superblock that is to name a member can't be written: whether it was nobody knows
check "assembled" ctl assemble p
emuctl set m fail=write
check_fails "a member can't join" "keeps its label, as the superblock may name it" ctl add p /dev/emudisk/c --force
emuctl set m fail=none
check "it has its label" eval 'hybridctl identify /dev/emudisk/c | grep "member 2 of"'
check "stop" ctl stop p
check "assembled, as it did not join" ctl assemble p
fields_are "without it, and with what is to be looked at" p "mode dev.2.state" "ro removed"
check "its label is wiped on request" ctl remove p /dev/emudisk/c
is "it is gone" "$(blkid -p -o value -s TYPE /dev/emudisk/c)" ""
mkfs.ext4 -q -F /dev/emudisk/c
into before blkio digest /dev/emudisk/c 0 2048
check_fails "the kernel refuses, as it is read-only" "takes no member" ctl add p /dev/emudisk/c --force
into after blkio digest /dev/emudisk/c 0 2048
is "the device is as it was" "$after" "$before"
check "stop" ctl stop p
check "repair" ctl repair /dev/emudisk/{m,a,b,d}
check "assembled" ctl assemble p
check "it joins" ctl add p /dev/emudisk/c --force
fields_are "the pool is as it should be" p "mode dev.2.state" "rw active"
check "data" blkio verify $dev 16384 32768 "$seed"
check "stop" ctl stop p

# --- members that fail
wipe m a b c d
check "a pool of two" ctl create p /dev/emudisk/a /dev/emudisk/b --metadata /dev/emudisk/m --extent 64K --size 24M \
	--policy stripe --set commit_ms=50 --set low_free=0 --set period_ms=200 --set cooldown_ms=0
check "data" blkio write $dev 0 49152 "$seed" -- flush $dev
check "a third joins" ctl add p /dev/emudisk/c --force
events=0
into events dmt events p
more_events() { local n; into n dmt events p; [ "$n" -gt "$events" ]; }
emuctl set b fail=read
check_fails "a read error" EIO blkio verify $dev 128 8 "$seed"
field_is "degraded" p dev.1.state degraded
check "an event" wait_for 60 more_events
check "evacuation is offered" eval 'ctl status p | grep "hybridctl evacuate p 1"'
check "nothing can be read while it is emptied" eval 'ctl evacuate p 1 --no-wait; wait_for 60 some_failed'
fields_are "so all stays there" p "dev.1.state dev.1.used mode" "draining 192 rw"
check_fails "who waits for it is told" "192 extents on member 1 can't be copied, and stay there: sectors 128 to 255, " ctl evacuate p 1
matches "with where they are" "$(<"$said")" "and 184 more ranges of the volume .*hybridctl evacuate p 1 --cancel"
fields_are "they are there" p "dev.1.state dev.1.used mode" "draining 192 rw"
# neither of the others takes anything, for as long as it takes to look
emuctl set a fail=write
emuctl set c fail=write
emuctl set b fail=none
# Of both: to one that is thought well all of it would go once it can be written to.
check "which both are known for" wait_for 60 eval 'status_is p dev.0.state degraded && status_is p dev.2.state degraded'
field_is "nothing can be written, so all stays there" p dev.1.used 192
emuctl set a fail=none
emuctl set c fail=none
check "data" blkio verify $dev 0 49152 "$seed"
# Before it starts again: else it may be empty when somebody looks. In two seconds a slow machine reads enough to judge.
check "it goes slowly" eval 'message p set migrate_kbps 20 && message p set period_ms 2000'
check "stop" ctl stop p
check "sound" is_whole /dev/emudisk/{m,a,b,c}
check "errors are known anew at each start" ctl assemble p
fields_are "so it is emptied" p "dev.1.state dev.2.state" "draining active"
rm -f /tmp/waiting
ctl evacuate p 1 >/tmp/waiting 2>&1 & waiting=$!
check "somebody waits for it" wait_for 60 grep -q "left" /tmp/waiting
emuctl set b fail=read
# Where they are is the policy's: all of the volume is read, again and again.
failed() {
	dd if=$dev of=/dev/null bs=4k count=6144 iflag=direct conv=noerror status=none 2>/dev/null
	status_is p "$1" failed
}
check "it fails meanwhile" wait_for 300 failed dev.1.state
emuctl set b fail=none
message p set migrate_kbps 0
check "to the end" wait $waiting
fields_are "it is failed, and empty" p "dev.1.state dev.1.used" "failed 0"
check "one that has failed is one that is to leave" eval 'ctl remove p 1 --force && ctl add p /dev/emudisk/b'
field_is "and comes back" p dev.1.state active
is "as one of which nobody knows how fast it is" "$(message p samples | awk 'NR == 2 { print $6 }')" 0
check "data" blkio verify $dev 0 49152 "$seed"
into events dmt events p
emuctl set c fail=read
check "one that only fails" wait_for 300 failed dev.2.state
check "an event" wait_for 60 more_events
into there dmt field p dev.2.used
lost() { ctl status p --json | jq '[.lost[].sectors] | add'; }
check "the ranges are listed" eval 'ctl status p | grep "^LOST: "'
is "all of them" "$(lost)" $((there * 128))
check "others are served" blkio verify $dev 0 8 "$seed"
emuctl set c fail=none
check "stop" ctl stop p
dd if=/dev/emudisk/c of=/tmp/c.label bs=4k count=1 status=none
remove_disk c
check_fails "not assembled in silence" "member 2 not found .--degraded" ctl assemble p
check "on request" ctl assemble p --degraded
matches "it says what is lost" "$(<"$said")" "without member 2: what is on it can't be read or written"$'\n'
fields_are "without it" p "dev.2.dev dev.2.state mode" "- failed rw"
is "what is lost" "$(lost)" $((there * 128))
check_fails "nobody trusts what is not there" "Invalid argument" message p reinstate 2
check_fails "an extent to begin with" "Invalid argument" message p holds 2 x
check "others are served" blkio verify $dev 0 8 "$seed"
mkfs.ext4 -q -F /dev/emudisk/d
into before blkio digest /dev/emudisk/d 0 2048
check_fails "it can't be replaced so" "is lost, and what was on it can't be read" ctl replace p 2 /dev/emudisk/d --force
into after blkio digest /dev/emudisk/d 0 2048
is "the new device is as it was" "$after" "$before"
field_is "and no member" p devs 3
read -r first _ < <(ctl status p --json | jq -r '.lost[] | "\(.first_sector) \(.sectors)"')
check_fails "nor emptied" "it is lost, nothing can be read" ctl evacuate p 2
check_fails "only one who waits may give up" "waits until all else has moved" ctl evacuate p 2 --give-up --no-wait
dmsetup create top --table "0 8 linear $dev 0"
check_fails "what is lost is not given up under another device" "is in use .*top" ctl evacuate p 2 --give-up
check_fails "nor by a replace" "is in use .*top" ctl replace p 2 /dev/emudisk/d --force --give-up
dmsetup remove top
exec {open}<>$dev
check_fails "nor while a program has it open" "is in use .opened by process" ctl evacuate p 2 --give-up
exec {open}>&-
disk c 24M
dd if=/tmp/c.label of=/dev/emudisk/c oflag=direct bs=4k status=none
check_fails "nor when it is there after all" "member 2 is there ./dev/emudisk/c.: .hybridctl attach p /dev/emudisk/c. takes it back" ctl evacuate p 2 --give-up
check "beneath what is suspended" eval 'dmsetup create over --table "0 8192 linear /dev/emudisk/c 0" && dmsetup suspend over'
check_fails "it is there as well" "member 2 is there ./dev/emudisk/c.: .hybridctl attach p /dev/emudisk/c. takes it back" ctl evacuate p 2 --give-up
check "and no more" eval 'dmsetup resume over && dmsetup remove --retry over'
exec {held}</dev/emudisk/c
flock "$held"
check_fails "nor while somebody has it locked" "/dev/emudisk/c may be member 2, and can't be looked at" ctl evacuate p 2 --give-up
exec {held}<&-
emuctl set c fail=read
check_fails "nor while it can't be read" "/dev/emudisk/c may be member 2, and can't be looked at" ctl evacuate p 2 --give-up
emuctl set c fail=none
check_fails "it is not taken for one that was replaced" "/dev/emudisk/c: is member 2, which p is without" ctl replace p /dev/emudisk/c /dev/emudisk/a
check_fails "nor is what is none" "/dev/emudisk/d: no member of p: is member 2 meant, which is lost" ctl replace p /dev/emudisk/d /dev/emudisk/a
check_fails "not by a replace, either" "member 2 is there" ctl replace p 2 /dev/emudisk/d --force --give-up
remove_disk c
into after blkio digest /dev/emudisk/d 0 2048
is "the new device is as it was" "$after" "$before"
is "all of it is there to be lost" "$(lost)" $((there * 128))
check "what is lost can be given up" ctl evacuate p 2 --give-up
is "all of it was said" "$(awk '/: sectors [0-9]+ to [0-9]+$/ { sum += $NF - $(NF - 2) + 1 } END { print sum }' "$said")" $((there * 128))
check "and the member, too" ctl remove p 2
check "nothing is lost any more" eval '[ "$(ctl status p --json | jq ".lost | length")" = 0 ]'
check "what was given up is zeroes" blkio verify $dev "$first" 8 0
check "in the grammar" in_grammar p

# --- one that is there, and of which three granules can't be read: nothing else is given up
check "all of it is written again" blkio write $dev 0 49152 "$seed" -- flush $dev
for ((one = 0; one < 384; one++)); do into entry dmt message p 0 entry $one; [ "${entry%% *}" != 1 ] || break; done
read -r _ pe _ <<<"$entry"
check "one joins that has room" ctl add p /dev/emudisk/d --force
emuctl set b "fail_range=$((2048 + pe * 128 + 20))+13" fail=read
check_fails "it stays, with all that can be read of it" "extents on member 1 can't be copied.* --give-up " ctl evacuate p 1 --force
dmsetup create top --table "0 8 linear $dev 0"
check_fails "nothing is given up under another device" "is in use .*top" ctl evacuate p 1 --force --give-up
dmsetup remove top
emuctl set b fail_range=0+0
check_fails "nor of one of which nothing at all can be read" "member 1 does not answer" ctl evacuate p 1 --force --give-up
emuctl set b "fail_range=$((2048 + pe * 128 + 20))+13" fail=read fail_drop=8
check_fails "nor of one that drops off at the first place that can't be read" "member 1 does not answer" \
	ctl evacuate p 1 --force --give-up
matches "it did" "$(emuctl list b --json)" '"fail": *"all"'
emuctl set b "fail_range=$((2048 + pe * 128 + 20))+13" fail=read
check "all else is there" blkio verify $dev 0 $((one * 128 + 16)) "$seed" -- verify $dev $((one * 128 + 40)) $((49152 - one * 128 - 40)) "$seed"
check "in the end, by a replace" ctl replace p 1 /dev/emudisk/d --give-up
matches "it says of what" "$(paste -sd, "$said")" "zeroes from now on: sectors $((one * 128 + 16)) to $((one * 128 + 39)),.*given up 12K on member 1(,|$)"
field_is "it has left" p dev.1.state removed
emuctl set b fail_range=0+0 fail=none
check "all else is as it was" blkio verify $dev 0 $((one * 128 + 16)) "$seed" -- verify $dev $((one * 128 + 40)) $((49152 - one * 128 - 40)) "$seed"
check "what was given up is zeroes" blkio verify $dev $((one * 128 + 16)) 24 0
check "stop" ctl stop p
check "sound" is_whole /dev/emudisk/{m,a,d}
check "assembled, it is the same" eval 'ctl assemble p && blkio verify $dev $((one * 128 + 16)) 24 0'
check "in the grammar" in_grammar p
check "stop" ctl stop p

# --- a signal while it is given up: what is said is gone, and nothing else; given again, the command goes on
wipe m a b d
check "a pool of two" ctl create p /dev/emudisk/a /dev/emudisk/b --metadata /dev/emudisk/m --extent 64K --size 16M \
	--policy stripe --set commit_ms=50 --set low_free=0
check "data" blkio write $dev 0 32768 "$seed" -- flush $dev
check "one joins that has room" ctl add p /dev/emudisk/d --force
# ninety extents, but for half of the first; between them are others'
bad=90
# Slowly at first: whoever looks whether it has begun may be late.
emuctl set b fail_range=$((2048 + 20 * 128 + 64))+$((bad * 128 - 64)) fail=read read_lat=20ms
: >/tmp/given
give_up() { exec hybridctl evacuate p 1 --force --give-up >/tmp/given; }
is_begun() { local text; read -r -d '' text </tmp/given; [[ $text == *"zeroes from now on"* ]]; }
# first sector and number of each range that was said
ranges() { awk '/: sectors [0-9]+ to [0-9]+$/ { print $(NF - 2), $NF - $(NF - 2) + 1 }' "$1"; }
sum() { awk '{ sum += $2 } END { print sum + 0 }' "$1"; }
hybridctl evacuate p 1 --force --give-up >/tmp/given 2>/tmp/given.err & giving=$!
check "it begins" wait_for 60 is_begun
# Whoever found the cable; nothing is read meanwhile.
emuctl set b stall=1
check "somebody has the member stay" hybridctl evacuate p 1 --cancel
emuctl set b stall=0 read_lat=10us
wait $giving
is "that ends it" $? 1
matches "at once" "$(</tmp/given.err)" "the member is to stay after all: the rest is as it was"
ranges /tmp/given >/tmp/gone
first_gone=$(sum /tmp/gone)
note "$first_gone of $((bad * 128 - 64)) sectors were given up before"
check "some of it is given up" eval '[ $first_gone -gt 0 ] && [ $first_gone -lt $((bad * 128 - 64)) ]'
: >/tmp/given
interrupt_once is_begun give_up
matches "a signal ends it" "$interrupted" "^1 .*interrupted here: the rest is as it was, give the command again"
ranges /tmp/given >>/tmp/gone
some=$(sum /tmp/gone)
note "$some of $((bad * 128 - 64)) sectors were given up"
check "some more of it is given up" eval '[ $some -gt $first_gone ] && [ $some -lt $((bad * 128 - 64)) ]'
check "all else is there still" wait_for 20 status_is p dev.1.used $((bad - (some + 64) / 128))
matches "how much is said, too" "$(</tmp/given)" "given up .* on member 1"
check "it is sound" is_whole p
check "given again, it goes on" ctl evacuate p 1 --force --give-up
ranges "$said" >>/tmp/gone
some=$(sum /tmp/gone)
is "each sector was said once" "$some" $((bad * 128 - 64))
fields_are "nothing is there any more" p "dev.1.used mode" "0 rw"
emuctl set b fail_range=0+0 fail=none
holds_but() {
	local at=0 first nr
	while read -r first nr; do
		[ "$first" -le "$at" ] || blkio verify $dev "$at" $((first - at)) "$seed" || return
		blkio verify $dev "$first" "$nr" 0 || return
		at=$((first + nr))
	done
	blkio verify $dev $at $((32768 - at)) "$seed"
}
check "they are zeroes, and all else is as it was" eval 'sort -n /tmp/gone | holds_but'
check "the member leaves" ctl remove p 1
check "stop" ctl stop p
pools=()
check "sound" is_whole /dev/emudisk/{m,a,d}

# --- what is on its way back does not stay, whatever else fails or takes its time meanwhile
wipe m a b d
disk c 24M
check "a pool of three" ctl create p /dev/emudisk/{a,b,c} --metadata /dev/emudisk/m --extent 64K --size 16M --policy fill \
	--set low_free=0 --set cooldown_ms=0 --set period_ms=200 --set degrade_errors=1000000 --set tell_ms=0
pools+=(p)
check "data on the first" blkio write $dev 0 4096 "$seed" -- flush $dev
is_on() { into entry dmt message p 0 entry "$1"; [ "${entry%% *}" = "$2" ]; }
all_on() { local le; for ((le = $1; le < $2; le++)); do is_on "$le" "$3" || return; done; }
none_on() { local le; for ((le = $1; le < $2; le++)); do ! is_on "$le" "$3" || return; done; }
moves() { is_on "$1" "$2" || { message p move "$1" "$2"; is_on "$1" "$2"; }; }
move_all() { local le; for ((le = $1; le < $2; le++)); do wait_for 20 moves "$le" "$3" || return; done; }
is_waiting() { local stat; read -r stat <"/proc/$1/stat" && [[ $stat == *") D "* ]]; }
moves_fail() { message p move 0 2; status_above p failed "$1"; }
check "eight extents on the second" eval 'move_all 8 16 1 && message p set commit_ms 3600000 && blkio flush $dev'
# None leaves before it is noted that they are to: that is a commit.
emuctl set b stall=1
: >/tmp/waiting
hybridctl evacuate p 1 >/tmp/waiting 2>&1 & waiting=$!
check "somebody waits for it" wait_for 60 grep -q "left" /tmp/waiting
emuctl set b stall=0
check "they leave it, and nobody commits that" wait_for 60 none_on 8 16 1
field_is "so they are in use there" p dev.1.used 8
into some dmt field p failed
emuctl set a fail=read
check "copies of another one's fail" wait_for 120 moves_fail $((some + 30))
check_fails "which is not what is waited for" "" succeeds_within 3 gone
emuctl set a fail=none
check "with the next commit" blkio flush $dev
check "it is empty" wait $waiting
check "eight again, and one on the third" eval 'ctl evacuate p 1 --cancel && move_all 8 16 1 && move_all 20 21 2 && blkio flush $dev'
hybridctl evacuate p 1 >/tmp/waiting 2>&1 & waiting=$!
check "the eight leave it" wait_for 60 none_on 8 16 1
emuctl set c stall=1
blkio verify $dev 2560 8 "$seed" & reading=$!
check "the third does not answer somebody who reads" wait_for 20 is_waiting $reading
check "what was left may be used by that one as far as anybody knows, though it is committed" message p set commit_ms 1000
check_fails "which is waited for" "" succeeds_within 20 gone
emuctl set c stall=0
check "it answers" wait $reading
check "it is empty" wait $waiting

# --- what a member did in its last period is not held against who gets its place
check "eight again" eval 'ctl evacuate p 1 --cancel && move_all 8 16 1 && blkio flush $dev'
check "periods are long" eval 'message p set fail_requests 10 && message p set period_ms 600000'
emuctl set b fail=read
errors() { local i; for ((i = 0; i < 20; i++)); do ! blkio verify $dev 1024 8 "$seed" || return; done; }
check "many reads fail" errors
emuctl set b fail=none
check "it goes, by messages" eval 'ctl evacuate p 1 && message p remove 1'
check "another one in its place" ctl add p /dev/emudisk/d
matches "that device" "$(ctl status p --json | jq -r '.devices[1].path')" "^/dev/emudisk/d$"
field_is "has done nothing yet" p dev.1.state active
check "data" blkio verify $dev 0 4096 "$seed"
check "stop" ctl stop p
pools=()
check "sound" is_whole /dev/emudisk/{m,a,c,d}

# --- of those that are emptied at once each needs room beyond what the others take
wipe m a c d
check "a pool of three" ctl create p /dev/emudisk/{a,c,d} --metadata /dev/emudisk/m --extent 64K --size 30M --policy stripe \
	--set low_free=0 --set migrate_kbps=20
pools+=(p)
check "each a third full" blkio write $dev 0 61440 "$seed" -- flush $dev
check "one is to leave" ctl evacuate p 0 --no-wait
check_fails "the third has no room for two" "the other members have no room for what is on it" ctl evacuate p 1 --no-wait --force
field_is "it stays" p dev.1.state active
check "one that stays takes what another one has" eval 'ctl evacuate p 0 --cancel && ctl evacuate p 1 --no-wait'
check "stop" ctl stop p
pools=()

# --- what is on its way has two places, and needs one
modprobe dm-delay || die "no dm-delay"
wipe m a c d
late() { echo "0 $(blkio size /dev/emudisk/a) delay /dev/emudisk/a 0 $1 /dev/emudisk/a 0 0"; }
reads_take() { dmsetup load late --table "$(late "$1")" && dmsetup suspend late && dmsetup resume late; }
move_some() { local e; for ((e = 0; e < 4; e++)); do message p move $e 1 || return; done; }
check "one whose reads take their time" dmsetup create late --table "$(late 0)"
check "a pool of three" ctl create p /dev/mapper/late /dev/emudisk/{c,d} --metadata /dev/emudisk/m --extent 64K --size 24M --policy fill \
	--set low_free=0 --set commit_ms=50
pools+=(p)
each=$(status p dev.2.total)
check "as much as the third holds" blkio write $dev 0 $((each * 128)) "$seed" -- flush $dev
is "is on the first" "$(status p dev.0.used)" "$each"
check "but for four" eval 'move_some && wait_for 20 status_is p completed 4 && wait_for 20 status_is p dev.0.used $((each - 4))'
check "reads of the first take for ever" reads_take 600000
check "it is to leave" message p evacuate 0
check "of which some is on its way" wait_for 20 eval '[ $(($(status p dev.1.used) + $(status p dev.2.used))) -gt 4 ]'
check "the third has room for the second as well" message p evacuate 1
check "reads take no time" reads_take 0
check "both are emptied" wait_for 60 eval 'status_is p dev.0.used 0 && status_is p dev.1.used 0'
field_is "onto the third" p dev.2.used "$each"
check "data" blkio verify $dev 0 $((each * 128)) "$seed"
check "stop" ctl stop p
pools=()
dmsetup remove late
done_testing
