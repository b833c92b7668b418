#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: extents move while they are read, written and discarded
# kernels: 6.1 6.12 debug
# timeout: 300
# cpus: 2
. tests/vm/lib.sh

disk m 16M
disk a 24M
disk b 24M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
extents=256
check "a pool" pool p "$(table $((extents * 128)) 128 m "a b" 0 "fill 6 cooldown_ms 0 migrate_kbps 0 movers 8")"
check "data" blkio write $dev 0 $((64 * 128)) "$seed"
on() { local e; into e dmt message p 0 entry "$1"; entry_of=${e%% *} valid_of=${e##* }; }
entry_on() { on "$1"; [ "$entry_of" = "$2" ]; }
finished() { status_is p queued 0; }

on 3
valid=$valid_of
check "move one" message p move 3 1
check "it arrives" wait_for 20 entry_on 3 1
on 3
is "its granules as they were" "$valid_of" "$valid"
check "its data" blkio verify $dev $((3 * 128)) 128 "$seed"
check "the space it left comes back" wait_for 20 status_is p dev.0.used 63
message p move 3 1 2>/dev/null
on 3
is "a move to where it is changes nothing" "$entry_of" 1
check_fails "a move of what is not mapped" "No such" message p move 200 1
is "maps nothing" "$(message p entry 200)" -

# an extent with holes keeps them
check "a few sectors of an extent" blkio write $dev $((100 * 128 + 37)) 3 5
on 100
valid=$valid_of
message p move 100 1
check "moves" wait_for 20 entry_on 100 1
on 100
is "with its holes" "$valid_of" "$valid"
check "and its data" blkio verify $dev $((100 * 128)) 36 0 -- verify $dev $((100 * 128 + 37)) 3 5 -- \
	verify $dev $((100 * 128 + 40)) 88 0

all_move() { for ((e = 0; e < 64; e++)); do message p move $e "$1" || :; done; wait_for 60 finished; }
check "all of them" all_move 1
check "their data" blkio verify $dev 0 $((64 * 128)) "$seed"
field_is "no failure" p failed 0

# constant migration beneath verified I/O
oracle shuffle p --extents $extents --members 2 --seed "$seed" &
mover=$!
verified() {
	fio --name=v --filename=$dev --direct=1 --rw=randwrite --bsrange=512-64k --blockalign=512 --size=12m \
		--verify=crc32c --verify_backlog=32 --verify_fatal=1 --iodepth=8 --ioengine=libaio --thread \
		--time_based --runtime="$1" --randseed="$seed" --output=/tmp/fio.out || { cat /tmp/fio.out; return 1; }
}
# the last quarter is fio's no more: it is written and discarded, and reads as zeroes then
quarter=$((extents * 128 / 4))
discards() {
	local n=1
	# three times at least, however slow the machine
	while [ ! -e /tmp/fio.done ] || [ $n -le 3 ]; do
		blkio write $dev $((3 * quarter)) $quarter $n -- verify $dev $((3 * quarter)) $quarter $n -- \
			discard $dev $((3 * quarter)) $quarter -- verify $dev $((3 * quarter)) $quarter 0 || return 1
		n=$((n + 1))
	done
	echo "# discarded $((n - 1)) times"
}
discards >/tmp/discards.out 2>&1 &
discarder=$!
# again where the machine stood still for most of it
for ((turn = 1; turn <= 4; turn++)); do
	before=$(status p completed)
	check "fio writes and verifies under constant migration" verified 15
	[ "$(status p completed)" -le $((before + 5)) ] || break
done
[ $turn -le 4 ]
is "several completed meanwhile" $? 0
: >/tmp/fio.done
wait $discarder
is "so are the extents beside it that are written, discarded, written" $? 0 || note "$(cat /tmp/discards.out)"
note "$(($(status p completed) - before)) migrations completed; $(dmsetup status p | grep -o ' [0-9]* cooldown.*')"

# discards race with copies: the oracle knows what may be where
check "discard everything" blkio discard $dev 0 $((extents * 128)) -- verify $dev 0 $((extents * 128)) 0
check "writes, discards, reads against moves" oracle run $dev --log /tmp/log --seed "$seed" --ops 4000 --threads 4 \
	--dm p --extents $extents --members 2 --moves 25 --discards 15
kill $mover
wait $mover 2>/dev/null
check "the migrations end" wait_for 60 finished
check "all that was written is there" oracle check $dev --log /tmp/log --point 18446744073709551615
check "the status keeps to its grammar" in_grammar p
line=$(dmsetup table p)
check "remove" remove_pool p
check "make again" pool p "$line"
check "it still is" oracle check $dev --log /tmp/log --point 18446744073709551615
mapped=$(status p mapped)
get p dev.0.used dev.1.used
is "no extent is lost: used equals mapped" $((got[0] + got[1])) "$mapped"
check "remove while extents move" eval 'all_move_no_wait() { for ((e = 0; e < 64; e++)); do message p move $e 0 || :; done; }; all_move_no_wait; remove_pool p'
check "make again" pool p "$line"
check "it still is" oracle check $dev --log /tmp/log --point 18446744073709551615

# --- while nobody uses it small extents move side by side: each waits for the clock before it is copied
check "discard everything" blkio discard $dev 0 $((extents * 128))
check "data" blkio write $dev 0 $((64 * 128)) "$seed" -- flush $dev
both() { emuctl set a "$@" && emuctl set b "$@"; }
queued() { test "$(status p queued)" "$@"; }
number=$(($(stat -Lc 0x%t $dev))):$(($(stat -Lc 0x%T $dev)))
reader_waits() { local r w; read -r r w <"/sys/dev/block/$number/inflight" && [ $((r + w)) -gt 0 ]; }
check "two at a time beside users" message p set movers 2
get p dev.0.used dev.1.used
from=$((got[0] < got[1]))
used=${got[from]}
both stall=1	# nothing ends before all of it was looked at, however slow this machine is
check "one is emptied" message p evacuate $from
check "1 MiB at a time" wait_for 60 queued -gt 8
check "and no more" queued -le 16
reads=()	# one after another
for ((e = 0; e < 64; e++)); do
	[ $e = 0 ] || reads+=(--)
	reads+=(verify "$dev" $((e * 128)) 128 "$seed")
done
blkio "${reads[@]}" >/tmp/reader.out 2>&1 &
reader=$!
check "somebody reads" wait_for 60 reader_waits
both read_lat=2s stall=0
few() {	# after what was under way before it came
	get p queued dev.$from.used
	((got[0] > 0 && got[0] <= 2 && got[1] > 0 && got[1] <= used - 16))
}
check "then it is two" wait_for 60 few
both read_lat=10us
wait $reader
is "who reads what was written" $? 0 || note "$(</tmp/reader.out)"
check "it is empty at last" wait_for 60 status_is p dev.$from.used 0
check "all is there" blkio verify $dev 0 $((64 * 128)) "$seed"
field_is "no failure" p failed 0

# --- what is copied off a member that does not answer keeps nothing on the others from moving
check "remove" remove_pool p
disk c 24M
wipe m a b
check "a pool of three" pool p "$(table $((extents * 128)) 128 m "a b c" 0 "stripe 6 migrate_kbps 0 movers 2 low_free 0")"
check "data on all" blkio write $dev 0 $((60 * 128)) "$seed" -- flush $dev
field_is "a third of it on each" p dev.1.used 20
check "what leaves goes to the third" message p policy static shares 0,0,100 migrate_kbps 0 movers 2
emuctl set a stall=1
check "the first is to be emptied" message p evacuate 0
check "which waits for it" wait_for 60 queued = 16
check "the second is to be emptied, too" message p evacuate 1
check "and is" wait_for 60 status_is p dev.1.used 0
field_is "while nothing has left the first" p dev.0.used 20
emuctl set a stall=0
check "then that as well" wait_for 60 status_is p dev.0.used 0
check "all of it is there" blkio verify $dev 0 $((60 * 128)) "$seed"
field_is "no failure on the way" p failed 0
done_testing
