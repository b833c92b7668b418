#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: metadata areas leave, come and move while the volume runs
# kernels: 6.12 debug
# timeout: 300
# one-of: 2
. tests/vm/lib.sh

disk a 24M
disk b 24M
disk c 32M
disk d 32M
disk e 24M
disk m 8M
disk n 8M
disk s 1M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
A=/dev/emudisk/a B=/dev/emudisk/b C=/dev/emudisk/c D=/dev/emudisk/d E=/dev/emudisk/e
sectors=24576
holds() { blkio verify $dev 0 $sectors "$seed"; }
is_whole() { hybridctl check "$@" >/tmp/check 2>&1 || { cat /tmp/check; return 1; }; }
no_label() { ! hybridctl identify "$1"; }
# Each write of new data is a change of the map, committed at once.
load() {
	local i
	for ((i = 0; ; i++)); do
		blkio write $dev $((sectors + i % 64 * 128)) 8 "$i" -- flush $dev || exit 1
		[ ! -e /tmp/enough ] || exit 0
	done
}

check "a pool of two, which carry the metadata" hybridctl create p $A $B --extent 64K --size 20M --policy stripe \
	--set commit_ms=50 --set low_free=0
pools+=(p)
check "data" blkio write $dev 0 $sectors "$seed" -- flush $dev
field_is "two mirrors" p meta AA
check "stop" hybridctl stop p
cp $A /tmp/a.image
check "assembled" hybridctl assemble p

# --- by message
message_fails() { check_fails "$1" "$2" dmsetup message p 0 metadata "${@:3}"; }
message_fails "a mirror can't be made one" "Invalid argument" resync 0
message_fails "no such area" "Invalid argument" leave 2
message_fails "no such word" "Invalid argument" go 0
events=0
more_events() { local n; into n dmt events p; [ "$n" -gt "$events" ]; }
into events dmt events p
emuctl set b stall=1	# with which it is compared
check "one leaves" message p metadata leave 0
check "that is an event" wait_for 20 more_events
field_is "when it begins" p meta LA
emuctl set b stall=0
check "it is out" wait_for 20 status_is p meta SA
check "in the grammar" in_grammar p
message_fails "not the last one" "Invalid argument" leave 1
message_fails "not twice" "Invalid argument" leave 0
check "the other one has what comes then" blkio write $dev 1024 1024 7 -- flush $dev -- write $dev 1024 1024 "$seed" -- flush $dev
load & load=$!
# Slow for as long as it takes to look.
emuctl set a write_lat=10s
hybridctl metadata p resync >/tmp/resync 2>&1 & resync=$!
check "it is made a mirror under load" wait_for 60 status_is p meta RA
check "the kernel says how far it is" wait_for 10 eval 'dmsetup message p 0 metadata | grep -E "^0 [0-9]+ [0-9]+$"'
check "so do people's status" eval 'hybridctl status p | grep -E "metadata resync \([0-9]+%\) active"'
check "and that for programs" eval 'hybridctl status p --json | jq -e ".metadata[0].progress | . >= 0 and . <= 1"'
emuctl set a write_lat=10us
check "it is done" wait $resync
check "nothing is said of it any more" eval '! dmsetup message p 0 metadata | grep .'
field_is "two mirrors" p meta AA
check "nothing to be done" hybridctl metadata p resync
: >/tmp/enough
check "the load went on" wait $load
rm /tmp/enough
check "data" holds

# --- a table was loaded before the area that it does without became a mirror
cp /tmp/a.image $C
table=$(dmsetup table p)
in_place() { sed "s|hybrid 2 [0-9:]* |hybrid 2 $1 |" <<<"$table"; }
leave_and_load() {
	message p metadata leave 0 && wait_for 20 status_is p meta SA && dmsetup load p --table "$(in_place "$1")"
}
check "another in its place, which has what was some time ago" leave_and_load $C
check "it is a mirror nevertheless" message p metadata resync 0
check "two mirrors" wait_for 20 status_is p meta AA
check "that table" eval "dmsetup suspend p && dmsetup resume p"
field_is "the other one counts for nothing" p meta SA
check "new data" blkio write $dev 0 $sectors 8 -- flush $dev -- write $dev 0 $sectors "$seed" -- flush $dev
check "stop" hybridctl stop p
check "the one that has left, and the one that stays" dmsetup create p --table "$table"
field_is "knows that it has left" p meta SA
check "data" holds
check "and loads a table without it" dmsetup load p --table "$(in_place -)"
check "it is made a mirror" message p metadata resync 0
check "two mirrors" wait_for 20 status_is p meta AA
check "that table" eval "dmsetup suspend p && dmsetup resume p"
field_is "without it" p meta FA
check "data" holds
check "the table before" eval "dmsetup load p --table \"\$table\" && dmsetup suspend p && dmsetup resume p"
field_is "it has left" p meta SA

check "it is made a mirror" hybridctl metadata p resync
leave_other_and_load() {
	message p metadata leave 1 && wait_for 20 status_is p meta AS &&
		dmsetup load p --table "$(sed 's|hybrid 2 \([0-9:]* [0-9]*\) [0-9:]* |hybrid 2 \1 - |' <<<"$table")"
}
check "a table without the other one" leave_other_and_load
check "which is made a mirror" message p metadata resync 1
check "two mirrors" wait_for 20 status_is p meta AA
check "and stays alone" message p metadata leave 0
check "alone" wait_for 20 status_is p meta SA
check_fails "so that table has none that counts" "Invalid argument" eval "dmsetup suspend p && dmsetup resume p"
check "the table before has" eval "dmsetup load p --table \"\$table\" && dmsetup resume p"
field_is "the other one" p meta SA
check "data" holds
check "it is made a mirror" hybridctl metadata p resync
field_is "two mirrors" p meta AA
check "stop" hybridctl stop p
check "wiped" wipe c
check "sound" is_whole $A $B
check "assembled" hybridctl assemble p
field_is "two mirrors" p meta AA
check "data" holds

check_fails "it can't be removed" "has to move first .hybridctl metadata p move 0 DEV" hybridctl remove p 0
check_fails "nor replaced by what is too small" "not all of it could be written.*take a larger one" hybridctl replace p $A /dev/emudisk/s
field_is "two mirrors" p meta AA
load & load=$!
check "replaced, under load" hybridctl replace p $A $C
note "$(<"$said")"
: >/tmp/enough
check "the load went on" wait $load
rm /tmp/enough
fields_are "it has left, the metadata with it" p "dev.0.state dev.2.state meta" "removed active AA"
check "nothing is left of it" no_label $A
check "data" holds
check "stop" hybridctl stop p
check "sound" is_whole $B $C

# --- what was replaced comes back
cp /tmp/a.image $A
check "assembled, the old one beside the others" hybridctl assemble p
field_is "two mirrors" p meta AA
check "data" holds
table=$(dmsetup table p)
check "stop" hybridctl stop p
old() { sed "s|hybrid 2 [0-9:]* |hybrid 2 $A |" <<<"$table"; }
check "a table that names the old one" dmsetup create p --table "$(old)"
field_is "which is not believed" p meta SA
check "data" holds
check "stop" hybridctl stop p
check "assembled" hybridctl assemble p
field_is "what was not in that table has missed writes" p meta SA
check "no more" hybridctl metadata p resync
check "wiped" hybridctl remove p $A
check "nothing is left of it" no_label $A

# --- the other one, too: the pool has none of the areas that it was made with
check "the other one is replaced" hybridctl replace p $B $A
check "stop" hybridctl stop p
check "sound" is_whole $A $C
check "assembled" hybridctl assemble p
fields_are "two mirrors" p "dev.1.state meta" "removed AA"
check "data" holds
check_fails "its areas are its own" "busy" dmsetup create q --table "$(dmsetup table p)"

# --- to devices of its own
label_of() { dd if="$1" of="$2" bs=4k count=1 iflag=direct status=none; }
comes_back() { dd if="$1" of="$2" bs=4k count=1 conv=notrunc oflag=direct status=none; }
is_found_grown() {
	cp --sparse=always "$1" /tmp/grown && truncate -s +1M /tmp/grown && hybridctl identify /tmp/grown | grep ": member"
	local err=$?
	rm -f /tmp/grown
	return $err
}
no_area() { ! hybridctl identify "$1" | grep "metadata area"; }
label_of $A /tmp/a.label
label_of $C /tmp/c.label
check "to a device of its own" hybridctl metadata p move $A /dev/emudisk/m
check "and the other" hybridctl metadata p move 0 /dev/emudisk/n
field_is "two mirrors" p meta AA
comes_back /tmp/a.label $A
check "cut before the old one was wiped, with a member behind it: by its path" hybridctl metadata p move $A /dev/emudisk/m
check "nothing is left of the area" no_area $A
check "the member behind it is known where the device has grown" is_found_grown $A
comes_back /tmp/c.label $C
comes_back /tmp/c.label $B
check "by its number nobody knows whether it is that, or a copy" hybridctl metadata p move 0 /dev/emudisk/n
left() { echo "$1: carries what metadata area 0 has left, or a copy of it: left alone .\"hybridctl metadata p move $1 /dev/emudisk/n\" wipes it"; }
matches "which is said" "$(<"$said")" "$(left $C)"
matches "of each" "$(<"$said")" "$(left $B)"
check "so they have it still" eval 'hybridctl identify $B && hybridctl identify $C | grep "metadata area 0"'
check "by its path it is known" hybridctl metadata p move $C /dev/emudisk/n
check "nothing is left of the area" no_area $C
check "the other one has it still" hybridctl identify $B
wipe b
check "the members are what they were" holds
check "what is there, and was never elsewhere" hybridctl metadata p move 0 /dev/emudisk/n
field_is "two mirrors" p meta AA
check "so they leave as others" hybridctl replace p $C $D
check "data" holds
fields_are "all is as it should be" p "dev.2.state meta mode" "removed AA rw"
check "stop" hybridctl stop p

# --- one alone has all that it needs
blkio zero /dev/emudisk/n 0 16384
check "assembled without the other" hybridctl assemble p --degraded
matches "it says what that may mean" "$(<"$said")" "without metadata area 0: the map that is there may be older than the missing one"
field_is "one area" p meta FA
check "data" holds
check_fails "what is not there is no mirror" "is not there" hybridctl metadata p resync
check_fails "nor is its place vacant" "until .hybridctl metadata p move 0 DEV" hybridctl metadata p move 1 /dev/emudisk/n
check "another takes its place" hybridctl metadata p move 0 /dev/emudisk/n
field_is "two mirrors" p meta AA
check "stop" hybridctl stop p
check "sound" is_whole $A $D /dev/emudisk/{m,n}
check "assembled" hybridctl assemble p
check "data" holds

# --- what can't be
check_fails "a device without room for it" "too small for the metadata" hybridctl metadata p move 0 /dev/emudisk/s
check "a device is put in use before it is let go" dmsetup create held --table "0 8 linear /dev/emudisk/m 0"
pools+=(held)
into there blkio digest /dev/emudisk/m 0 8192
wiping="hybridctl metadata p move /dev/emudisk/m $B"
check_fails "its area moves, but is not wiped, which is said with what does it" \
	"/dev/emudisk/m: the metadata that was there is not wiped.*$wiping.*: the metadata has moved, but" hybridctl metadata p move 1 $B
field_is "two mirrors" p meta AA
check "on the new one" eval 'hybridctl identify $B | grep "metadata area 1"'
check_fails "nor when it is tried again" "carries no metadata area of p" $wiping
check "it holds what it did" eval 'hybridctl identify /dev/emudisk/m | grep "metadata area 1"'
remove_pool held
check "wiped" $wiping
check "nothing is left of it" no_label /dev/emudisk/m

# --- one has left, no other is complete yet, and the one that stays is lost
alone() { sed "s|hybrid 2 [0-9:]* \([0-9]*\) [0-9:]* [0-9]* |hybrid 2 $1 |" <<<"$(dmsetup table p)"; }
was=$(alone "- 0 $B 0")
check "it leaves" message p metadata leave 1
check "it is out" wait_for 20 status_is p meta AS
check "stop" hybridctl stop p
cp $B /tmp/b.left
cp /dev/emudisk/n /tmp/n.stayed
blkio zero /dev/emudisk/n 0 16384
check "what has left is all that there is" hybridctl assemble p --degraded
fields_are "alone" p "meta mode" "FA rw"
check "data" holds
check "stop" hybridctl stop p
cp /tmp/b.left $B
cp /tmp/n.stayed /dev/emudisk/n
check "with the one that stayed all is there" hybridctl assemble p
field_is "which it counts for nothing beside" p meta AS
check "data" holds
check "what it has is of use" hybridctl metadata p resync
field_is "two mirrors" p meta AA
cp $B /tmp/b.mirror
check "moved on" hybridctl metadata p move 1 /dev/emudisk/m
cp /tmp/b.mirror $B
check_fails "what was a mirror once, beside the pool that goes on" "in use by another pool|busy" dmsetup create old --table "$was"
check "the pool goes on" holds
field_is "as it was" p mode rw
check "wiped" hybridctl remove p $B
check "stop" hybridctl stop p
wipe a d m n

# --- the only area moves
q_holds() { blkio verify /dev/mapper/q 0 4096 5; }
check "a pool with one area" hybridctl create q $E --metadata $B --extent 64K --size 4M --set commit_ms=50
pools=(q)
check "data" blkio write /dev/mapper/q 0 4096 5 -- flush /dev/mapper/q
check_fails "not to where there is no room" "too small for the metadata" hybridctl metadata q move 0 /dev/emudisk/s
field_is "nothing has changed" q meta A
check "it moves" hybridctl metadata q move 0 $C
field_is "to the other place" q meta "-A"
check "in the grammar" in_grammar q
check "nothing is left of it" no_label $B
check "data" q_holds
check_fails "a table of before" "Invalid argument" dmsetup load q --table "0 8192 hybrid 1 $C 0 128 1 $E 0 0 wardrop 0"
check "what it was on is free" eval "hybridctl create r $B --extent 64K --size 4M && hybridctl stop r"
wipe b
check "stop" hybridctl stop q
check "sound" is_whole $C $E
check "dump" eval "hybridctl dump --map $C $E >/tmp/dump"
check "all of the metadata but the label is wiped" blkio zero $C 2048 6144
check "restore" hybridctl restore /tmp/dump $C $E
check "sound" is_whole $C $E
check "assembled, as none is missed" hybridctl assemble q
field_is "one area" q meta "-A"
check "data" q_holds

# cut short: what the tool does next is refused, or has been done by hand
emuctl set d fail=write
check_fails "not to where nothing can be written" "can't be (wiped|labelled)" hybridctl metadata q move 1 $D
emuctl set d fail=none
field_is "one area" q meta "-A"
emuctl set d write_lat=200ms
check "a move that is cut short when the table has the new one" eval "(hybridctl metadata q move 1 $D & tool=\$!
	wait_for 20 eval '! status_is q meta -A' && kill -9 \$tool; wait \$tool; :) 2>/dev/null"
emuctl set d write_lat=10us
check "stop" hybridctl stop q
check "assembled with what is whole" hybridctl assemble q
check "data" q_holds
check "the same command goes on" hybridctl metadata q move 1 $D
field_is "there" q meta "A-"
check "nothing is left of it" no_label $C
check "data" q_holds

# each state of it, by what the kernel is told
begin_move() {	# to C, no further than the table
	local before
	into before dmt field q meta
	emuctl set c write_lat=1s
	hybridctl metadata q move 0 $C & tool=$!
	wait_for 60 eval '! status_is q meta $before' && kill -9 $tool
	wait $tool
	# slow until the suspension has ended what the tool began
	dmsetup suspend q && dmsetup resume q && status_is q meta AS
	began=$?
	emuctl set c write_lat=10us
	return $began
} >/dev/null 2>&1
check "cut when the table has it" begin_move
check "stale, the tool goes on" hybridctl metadata q move 0 $C
field_is "there" q meta "-A"
check "again: nothing to be done" hybridctl metadata q move 0 $C
field_is "as it was" q meta "-A"
check "back" hybridctl metadata q move 1 $D
check "cut when the table has it" begin_move
check "it is a mirror by now" message q metadata resync 1
check "two mirrors" wait_for 20 status_is q meta AA
dmsetup suspend q
check_fails "nothing begins while it is suspended" "busy" message q metadata leave 0
check "which is over" dmsetup resume q
field_is "and has left them" q meta AA
check "the tool goes on" hybridctl metadata q move 0 $C
field_is "there" q meta "-A"
check "nothing is left of it" no_label $D
check "back" hybridctl metadata q move 1 $D
check "cut when the table has it" begin_move
check "it is a mirror by now" eval 'message q metadata resync 1 && wait_for 20 status_is q meta AA'
emuctl set c write_lat=5s
check "the other one leaves" message q metadata vacate 0
field_is "which takes its time" q meta LA
{ sleep 1; emuctl set c write_lat=10us; } & fast=$!
check "the tool waits for that, and goes on" hybridctl metadata q move 0 $C
wait $fast
field_is "there" q meta "-A"
check "nothing is left of it" no_label $D
check "data" q_holds
check "back" hybridctl metadata q move 1 $D
label_of $D /tmp/d.label
check "cut when the table has it" begin_move
check "it is a mirror by now" eval 'message q metadata resync 1 && wait_for 20 status_is q meta AA'
check "and the other one has left" eval 'message q metadata vacate 0 && wait_for 20 status_is q meta SA'
was=$(sed "s|hybrid 2 \([0-9:]* [0-9]*\) [0-9:]* [0-9]* |hybrid 2 \1 - 0 |" <<<"$(dmsetup table q)")
check "stop" hybridctl stop q
log_mark
check_fails "a table with it alone" "" dmsetup create q --table "$was"
check "says why" eval 'log_since | grep "superblock of an area that calls itself stale"'
dmsetup remove --retry q >/dev/null 2>&1
check "that is not missed" hybridctl assemble q
field_is "one area" q meta "-A"
check "data" q_holds
check "the same command wipes what is left" hybridctl metadata q move $D $C
check "nothing is left of it" no_label $D
comes_back /tmp/d.label $D
check "not by number" hybridctl metadata q move 0 $C
matches "but it says by what" "$(<"$said")" "$D: .*hybridctl metadata q move $D $C. wipes it"
check "it is there still" hybridctl identify $D
check "another one beside it, over that" hybridctl metadata q move 0 $D
field_is "two mirrors" q meta AA
check_fails "which are no move that was cut short" "in use" hybridctl metadata q move 0 $C
field_is "two mirrors" q meta AA
check "stop" hybridctl stop q
check "sound" is_whole $C $D $E
wipe c d e

# --- the only area lies on a member
check "a pool of one member" hybridctl create q $E --extent 64K --size 4M --set commit_ms=50
check "data" blkio write /dev/mapper/q 0 4096 5 -- flush /dev/mapper/q
check "which gets a second area" hybridctl metadata q move 1 $D
field_is "two mirrors" q meta AA
check "that leaves again, for good" eval 'message q metadata vacate 1 && wait_for 20 status_is q meta AS'
check_fails "as long as it is in the table the other has to stay" "has to stay until" hybridctl metadata q move 0 $C
check "stop" hybridctl stop q
check "assembled" hybridctl assemble q
field_is "one area" q meta A-
check "wiped" hybridctl remove q $D
check "data" q_holds
check_fails "which can't be removed" "has to move first .hybridctl metadata q move 0 DEV" hybridctl remove q $E
check "it is replaced, with its metadata" hybridctl replace q $E $C
fields_are "it has left" q "dev.0.state dev.1.state meta" "removed active -A"
check "nothing is left of it" no_label $E
check "data" q_holds
check "stop" hybridctl stop q
check "sound" is_whole $C
check "assembled" hybridctl assemble q
check "data" q_holds
check "stop" hybridctl stop q
wipe c

# --- it leaves a member, which is cut short: what the table has still is in use, though no superblock names it
check "a pool of one member again" hybridctl create q $E --extent 64K --size 4M --set commit_ms=50
check "data" blkio write /dev/mapper/q 0 4096 5 -- flush /dev/mapper/q
check "cut when the table has it" begin_move
check "it is a mirror by now" eval 'message q metadata resync 1 && wait_for 20 status_is q meta AA'
check "and the other one has left" eval 'message q metadata vacate 0 && wait_for 20 status_is q meta SA'
check "the same command, by path, goes on" hybridctl metadata q move $E $C
field_is "there" q meta "-A"
check "nothing is left of the area" no_area $E
check "data" q_holds
check "stop" hybridctl stop q
check "sound" is_whole $C $E
check "assembled" hybridctl assemble q
check "data" q_holds
check "stop" hybridctl stop q
wipe c e

# --- a lost member, and the area on it, are made anew
check "a pool of two, which carry the metadata" hybridctl create p $D $E --extent 64K --size 20M --policy stripe \
	--set commit_ms=50 --set low_free=0
pools=(p)
check "data" blkio write $dev 0 $sectors "$seed" -- flush $dev
check "stop" hybridctl stop p
wipe d
check "assembled without one" hybridctl assemble p --degraded
fields_are "with one area" p "meta dev.0.state" "FA failed"
check "what is lost is given up" eval 'hybridctl status p --json | jq -r ".lost[] | \"\(.first_sector) \(.sectors)\"" >/tmp/lost
	while read -r at nr; do blkio discard $dev "$at" "$nr" || exit; done </tmp/lost
	message p commit && wait_for 60 status_is p dev.0.used 0'
check "replaced, with the area that was lost" hybridctl replace p 0 $C
fields_are "all is there" p "dev.0.state dev.2.state meta" "removed active AA"
check "stop" hybridctl stop p
check "sound" is_whole $C $E
pools=()
done_testing
