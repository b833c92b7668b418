#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: one member is slow, then gone, or has no room for requests: the others go on as if nothing was
# kernels: 6.1 6.12
# timeout: 150
. tests/vm/lib.sh

tell_ms=1000	# a flush tells of what is lost for much less than is waited for below
disk m 8M
disk a 24M mem cache=volatile
disk b 24M mem cache=volatile
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
# How often the second was asked to write, or to flush, into $asked, so far.
count_asked() {
	local list kind
	into list emuctl list b --json
	asked=
	for kind in writes flushes; do
		[[ $list =~ \"$kind\":\ ([0-9]+) ]] && asked+="$kind ${BASH_REMATCH[1]} "
	done
}
flushes_of_b() { count_asked && flushed=${asked##*flushes }; }
# Writes of four extents, each by somebody of its own, to the second.
begin_writes() {
	local i
	writers=()
	for i in 8 9 10 11; do
		blkio write $dev $((fast + i * 128)) 128 9 & writers+=($!)
	done
}
in_flight() { local w; read -r _ w <"/sys/block/emudisk!b/inflight"; [ "$w" = 4 ]; }
entry_on() { local e; into e dmt message p 0 entry "$1"; [ "${e%% *}" = "$2" ]; }
both_moved() { entry_on 0 1 && entry_on $((fast / 128)) 0; }

line() { table "$1" 128 m "a b" 0 "fill 8 period_ms 100 commit_ms 20 cooldown_ms 0 low_free 5"; }
check "a pool, in device order" pool p "$(line 65536)"
get p dev.0.total dev.1.total
fast=$((got[0] * 128)) all=$(((got[0] + got[1]) * 128))
remove_pool p
wipe m a b
full_pool() {
	wipe m a b
	pool p "$(line $all)" && blkio write $dev 0 $all "$seed" -- flush $dev
}
check "one that is as long as its members, full" full_pool
fields_are "to the last extent" p "dev.0.used dev.1.used" "$((fast / 128)) $((all / 128 - fast / 128))"
policy="wardrop period_ms 100 cooldown_ms 0 low_free 5"
# shellcheck disable=SC2086
check "the policy that would move most" message p policy $policy
check "an extent of each is wanted on the other" eval 'message p pin 0 128 1 && message p pin "$fast" 128 0'

# Writes to the first, to so many sectors of it, each flushed: how long 99 of 100 flushes took at most, us, into $p99. No program is started.
span=$fast
flushed() {
	local i from took=()
	for ((i = 0; i < 100; i++)); do
		blkio write $dev $((i * 1000 % span / 8 * 8)) 8 $i || return
		from=${EPOCHREALTIME/./}
		blkio flush $dev || return
		took+=($((${EPOCHREALTIME/./} - from)))
	done
	p99=$(printf '%s\n' "${took[@]}" | sort -n | sed -n 99p)
	all_p99+=("$p99")
}
# Whatever else takes the processor makes flushes slow, too, but not each time; the second would.
as_usual() {
	for _ in {1..20}; do
		flushed && kill -0 $beside || return
		[ "$p99" -gt $bound ] || return 0
	done
	return 1
}
all_p99=()
check "what is on the first is written and flushed" eval 'flushed && flushed && flushed'
bound=$(($(printf '%s\n' "${all_p99[@]}" | sort -n | head -1) * 3 + 50000))
note "99 of 100 flushes took at most ${all_p99[*]} us"

# What users write to it waits, and nobody else does: it is durable only after it has ended, so no FLUSH is for it yet.
check "the second answers nothing" emuctl set b stall=1
{ nap 300; emuctl set b stall=0; } & beside=$!	# a flush that waits for it is told of, rather than to hang
begin_writes
check "some write to it" wait_for 20 in_flight
get p started bytes queued reason.nospace
nospace=${got[3]} moved=${got[*]:0:3}
count_asked
before=$asked
all_p99=()
check "flushes of what is on the first take as long as they did" as_usual
note "99 of 100 flushes took at most ${all_p99[*]} us, of $bound"
check "the mover wants to move" wait_for 20 status_above p reason.nospace "$nospace"
fields_are "but nothing moves" p "started bytes queued" "$moved"
count_asked
is "the second is asked neither to write nor to flush" "$asked" "$before"
check "it has not answered up to now" eval 'in_flight && kill $beside'
check "it does" emuctl set b stall=0
check "who wrote there is told" eval 'wait "${writers[0]}" && wait "${writers[1]}" && wait "${writers[2]}" && wait "${writers[3]}"'
flushes_of_b
before=$flushed
check "a flush" blkio flush $dev
flushes_of_b
is "is one of the second now" $flushed $((before + 1))
check "another one" blkio flush $dev
flushes_of_b
is "is not" $flushed $((before + 1))
check "what was written is there" blkio verify $dev $((fast + 1024)) 512 9
check "room on each of them" blkio discard $dev 640 128 -- discard $dev $((fast + 640)) 128
check "now they move" wait_for 20 both_moved
check "as they were" blkio verify $dev $fast 128 "$seed"

remove_pool p
wipe m a b
check "a pool with room" pool p "$(line 65536)"
check "data on the first" blkio write $dev 0 16384 "$seed" -- flush $dev
check "the second flushes slowly" emuctl set b flush=1s
span=8192 all_p99=()
check "what is on the first is written and flushed" eval 'flushed && flushed && flushed'
bound=$(($(printf '%s\n' "${all_p99[@]}" | sort -n | head -1) * 3 + 50000))
# Extents behind those that are written move there and back. Until the file is gone.
moving() {
	local e to
	while [ -e /tmp/moving ]; do
		for to in 1 0; do
			for ((e = 100; e < 108; e++)); do message p move $e $to; done
			wait_for 60 status_is p queued 0 || return
		done
	done
}
get p completed && moved=$got
flushes_of_b
before=$flushed
: >/tmp/moving
moving & beside=$!
check "extents move to it" wait_for 60 status_above p completed $((moved + 8))
all_p99=()
check "flushes of what is on the first take as long as they did" as_usual
note "99 of 100 flushes took at most ${all_p99[*]} us, of $bound"
check "and extents go on to move" wait_for 60 status_above p completed $((moved + 40))
rm /tmp/moving
check "all that was wanted" wait $beside
get p completed && rounds=$(((got - moved + 15) / 16))
flushes_of_b
# The first that is copied may have one of its own, and who comes during that the next.
check "the second is flushed for all that come there together" [ $((flushed - before)) -le $((rounds * 4)) ]
check "each time" [ $((flushed - before)) -ge $((rounds - 1)) ]
check "the second is as fast" emuctl set b flush=0
check "what has moved" blkio verify $dev 12800 1024 "$seed"
span=$fast

# --- so many copies wait for its flush that none comes any more: what leaves the first goes elsewhere
remove_pool p
disk c 24M mem cache=volatile
wipe m a b c
check "a pool of three" pool p "$(table 65536 128 m "a b c" 0 "fill 8 period_ms 100 commit_ms 20 cooldown_ms 0 low_free 0")"
check "data on the first" blkio write $dev 0 7680 "$seed" -- flush $dev
check "the second flushes very slowly" emuctl set b flush=5s
check "which is to leave" message p evacuate 0
check "it is emptied" wait_for 60 status_is p dev.0.used 0
get p dev.1.used dev.2.used
note "${got[*]}"
check "not onto the second alone" [ "${got[1]}" -gt 0 ]
check "the second is as fast" emuctl set b flush=0
check "what has moved" blkio verify $dev 0 7680 "$seed"

remove_pool p
check "full as before" full_pool
# shellcheck disable=SC2086
check "with that policy" message p policy $policy
check "the second answers, slowly" emuctl set b stall=0 flush=5s read_lat=20ms write_lat=20ms
before=${EPOCHREALTIME/./}
check "one write to the second, flushed" blkio write $dev "$fast" 8 9 -- flush $dev
check "takes that long" [ $((${EPOCHREALTIME/./} - before)) -ge 4500000 ]
check "the second is fast again" emuctl set b flush=0 read_lat=10us write_lat=10us

# --- it goes while data on both is read and written
verified() {
	fio --name=v --filename=$dev --direct=1 --rw=randrw --bs=4k --size=$((fast * 512)) --time_based --runtime=600 \
		--verify=crc32c --verify_backlog=64 --verify_fatal=1 --iodepth=8 --ioengine=libaio --thread \
		--randseed="$seed" --output=/tmp/fio.out & io=$!
}
before=$(writes a)
verified
on_b() { while blkio write $dev "$fast" 1024 7 -- verify $dev "$fast" 1024 7; do :; done; : >/tmp/refused; }
on_b 2>/dev/null & other=$!
check "both are at work" wait_for 20 eval '[ $(writes a) -gt $((before + 100)) ] && [ $(writes b) -gt 20 ]'
check "the second is cut off" emuctl cut b
check "who uses it is told" wait_for 20 test -e /tmp/refused
check "it is degraded, or more" wait_for 20 eval 'status_is p dev.1.state degraded || status_is p dev.1.state failed'
before=$(writes a)
check "the other one goes on" wait_for 20 eval '[ $(writes a) -gt $((before + 200)) ]'
kill -INT $io
wait $io $other
check "fio saw nothing wrong" fio_was_right /tmp/fio.out
fields_are "the pool is there, and the first is well" p "mode dev.0.state" "rw active"
check "it is a member no more: a flush tells what was not durable, and then no more" \
	eval 'wait_for 30 blkio write $dev 0 8 3 -- flush $dev'
check "data of the first" blkio verify $dev 0 8 3
check "in the grammar" in_grammar p
check "it has its power back" emuctl power b on

# --- an extent that is written all the time moves to one that answers nothing any more, when all but the last writes is copied:
# who writes it waits for what is left, but not for ever
remove_pool p
wipe m a b
check "a pool with room" pool p "$(line 65536)"
check "data on the first" blkio write $dev 0 1024 "$seed" -- flush $dev
requests() { local r w; read -r r w <"/sys/block/$1/inflight" && test $((r + w)) "${@:2}"; }
check "the second answers nothing" emuctl set b stall=1
check "an extent moves there" message p move 0 1
check "it is copied" wait_for 20 requests 'emudisk!b' -gt 0
check "nor does the first" emuctl set a stall=1
blkio write $dev 0 128 21 & writer=$!
check "somebody writes the extent" wait_for 20 requests 'emudisk!a' -gt 0
check "the second answers" emuctl set b stall=0
check "all but that is copied" wait_for 20 requests 'emudisk!b' -eq 0
nap 0.5		# it is seen a moment later
check "the second answers no more" emuctl set b stall=1
check "the first does" emuctl set a stall=0
check "that is written" wait $writer
check "and to be copied" wait_for 20 requests 'emudisk!b' -gt 0
fields_are "it has not moved yet" p "queued failed" "1 0"
began=${EPOCHREALTIME/./}
blkio write $dev 8 8 22 & writer=$!
ended() { ! kill -0 $writer 2>/dev/null; }
check "who writes the extent is not kept waiting" wait_for 15 ended || emuctl set b stall=0
check "has written" wait $writer
note "after $((${EPOCHREALTIME/./} - began)) us"
go_on() { for i in {30..60}; do blkio write $dev 16 8 $i -- verify $dev 16 8 $i -- verify $dev 8 8 22 || return; done; }
check "nor is anybody after that" go_on
fields_are "the copy hangs" p "queued failed" "1 0"
check "the second answers" emuctl set b stall=0
check "the copy is given up" wait_for 20 eval 'status_is p queued 0 && status_is p failed 1'
check "the extent is where it was" entry_on 0 0
field_is "nothing is left of it on the second" p dev.1.used 0
written() { blkio verify $dev 0 8 21 -- verify $dev 8 8 22 -- verify $dev 16 8 60 -- verify $dev 24 104 21; }
check "all that was written" written
check "now it can move" eval 'message p move 0 1 && wait_for 20 entry_on 0 1'
check "all that was written" written

# --- one that has no room for another request, and does not end those that it has: workers send what a write leaves out of its
# granules, what is written there first, what of an extent can be read
remove_pool p
modprobe null_blk nr_devices=0 || die "no null_blk"
null=/sys/kernel/config/nullb/stuck
mkdir $null
for set in size=64 queue_mode=2 submit_queues=1 hw_queue_depth=1 irqmode=2 completion_nsec=3000000000; do
	echo "${set#*=}" >"$null/${set%=*}" || die "no $set"
done
echo 1 >$null/power
if [ -b /dev/stuck ]; then stuck=stuck; else stuck=nullb$(<$null/index); fi
wait_for 20 test -b /dev/$stuck || die "no $stuck"
echo none >/sys/block/$stuck/queue/scheduler
size=$(sectors /dev/emudisk/b)
dmsetup create member --table "0 $size linear /dev/emudisk/b 0" || die "no member"
becomes() { dmsetup suspend member && dmsetup load member --table "0 $size linear $1 0" && dmsetup resume member; }
wipe m a b
check "a pool" pool p "$(table 32768 128 m "a /dev/mapper/member" 0 "stripe 2 commit_ms 3600000")"
check "some of each extent" eval 'for ((e = 0; e < 8; e++)); do
	echo write $dev $((e * 128)) 8 $seed; echo write $dev $((e * 128 + 32)) 8 $seed; done | blkio_lines && blkio flush $dev'
there=() here=
for ((e = 0; e < 8; e++)); do
	if entry_on $e 1; then there+=($((e * 128))); else here=$((e * 128)); fi
done
is "on both" "${#there[@]} ${here:+some}" "4 some"
check "the second has room for one request, which takes long" becomes /dev/$stuck
number=$(stat -Lc '%Hr:%Lr' $dev)
all_wait() { local r w; read -r r w <"/sys/dev/block/$number/inflight" && [ $((r + w)) -ge 4 ] && requests "$stuck" -gt 0; }
writers=()
for e in 0 1 2; do
	blkio write $dev $((there[e] + 17)) 2 5 & writers+=($!)
done
dd if=$dev of=/dev/null bs=64k count=1 skip=$((there[3] / 128)) iflag=direct status=none & writers+=($!)
check "some write there, in parts, one reads what is there in part" wait_for 20 all_wait
nap 0.3
check "who does so with the first goes on" timeout 6 blkio write $dev $((here + 17)) 2 7 -- verify $dev $((here + 8)) 9 0 -- \
	verify $dev $((here + 17)) 2 7 -- verify $dev $((here + 19)) 5 0
check "and reads" timeout 6 dd if=$dev of=/tmp/read bs=64k count=1 skip=$((here / 128)) iflag=direct status=none
check "a suspension waits for them" eval 'dmsetup suspend p && dmsetup resume p'
are_told() { for w in "${writers[@]}"; do wait $w || return; done; }
check "who wrote there, and who read, is told" are_told
check "what is there at last" blkio verify $dev $((here + 17)) 2 7
check "the end of it" remove_pool p
dmsetup remove --retry member && echo 0 >$null/power && rmdir $null
done_testing
