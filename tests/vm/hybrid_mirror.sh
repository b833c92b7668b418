#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: metadata areas leave, come and move while the volume runs
# kernels: 6.12 debug
# timeout: 300
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
check "one leaves" message p metadata leave 0
check "it is out" wait_for 20 status_is p meta SA
check "in the grammar" in_grammar p
message_fails "not the last one" "Invalid argument" leave 1
message_fails "not twice" "Invalid argument" leave 0
check "the other one has what comes then" blkio write $dev 1024 1024 7 -- flush $dev -- write $dev 1024 1024 "$seed" -- flush $dev
load & load=$!
check "it is made a mirror under load" hybridctl metadata p resync
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
check_fails "nor replaced by what is too small" "not all of it could be written" hybridctl replace p $A /dev/emudisk/s
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
check "to a device of its own" hybridctl metadata p move $A /dev/emudisk/m
check "and the other" hybridctl metadata p move 0 /dev/emudisk/n
field_is "two mirrors" p meta AA
check "so they leave as others" hybridctl replace p $C $D
check "data" holds
fields_are "all is as it should be" p "dev.2.state meta mode" "removed AA rw"
check "stop" hybridctl stop p

# --- one alone has all that it needs
blkio zero /dev/emudisk/n 0 16384
check "assembled without the other" hybridctl assemble p --degraded
field_is "one area" p meta FA
check "data" holds
check_fails "what is not there is no mirror" "is not there" hybridctl metadata p resync
check "another takes its place" hybridctl metadata p move 0 /dev/emudisk/n
field_is "two mirrors" p meta AA
check "stop" hybridctl stop p
check "sound" is_whole $A $D /dev/emudisk/{m,n}
check "assembled" hybridctl assemble p
check "data" holds

# --- what can't be
check_fails "a device without room for it" "too small for the metadata" hybridctl metadata p move 0 /dev/emudisk/s
check "stop" hybridctl stop p
check "a pool with one area" hybridctl create q $E --metadata $B --extent 64K --size 4M
pools+=(q)
check_fails "which has to stay" "has one metadata area only" hybridctl metadata q move 0 /dev/emudisk/s
check "stop" hybridctl stop q
pools=()
done_testing
