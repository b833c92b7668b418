#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: a fast member that is full changes what it has for what is hotter, beside users
# kernels: 6.1 6.12 debug
# timeout: 150
. tests/vm/lib.sh

disk m 8M
disk a 16M mem read_lat=100us write_lat=100us
disk b 128M mem read_lat=4ms write_lat=4ms
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
size=81920			# 40 MiB, 640 extents of 64 KiB
settings="cooldown_ms 0 period_ms 200 migrate_kbps 0 degrade_errors 1000000 fail_requests 1000000"
used() { get p dev.0.used dev.0.total; }
on_first() { # FIRST NR: how many of these extents are there
	local e entry n=0
	for ((e = $1; e < $1 + $2; e++)); do
		into entry dmt message p 0 entry $e
		[ "${entry%% *}" != 0 ] || n=$((n + 1))
	done
	echo $n
}
all_on_first() { [ "$(on_first "$@")" = "$2" ]; }
# The first is filled, and what is written last lies on the second; nothing moves yet.
full_pool() {
	wipe m a b
	pool p "$(table $size 128 m "a b" 0 "fill 12 $settings low_free 20")" && blkio write $dev 0 $size "$seed" -- flush $dev &&
		used && [ "${got[0]}" = "${got[1]}" ] && all_on_first 600 0
}
# It may: the same settings with a policy that fills by response times.
may_move() { message p policy wardrop $settings low_free "$1"; }
# The last MiB is read all the time: the second is never idle.
begin_reads() {
	local had
	had=$(reads b)
	fio --name=r --filename=$dev --direct=1 --rw=randread --bs=4k --offset=39m --size=1m --time_based --runtime=600 \
		--iodepth=8 --ioengine=libaio --thread --randseed="$seed" --output=/tmp/fio.out & reading=$!
	wait_for 20 eval '[ $(reads b) -gt '$((had + 200))' ]'
}
end_reads() { kill -INT $reading; wait $reading; fio_was_right /tmp/fio.out; }

check "a pool whose fast member is full" full_pool || done_testing
check "what lies on the slow one is read without a pause" begin_reads
check "extents may move" may_move 20
check "all that is read comes to the fast one" wait_for 60 all_on_first 624 16
check "still read" kill -0 $reading
check "what nobody uses has left for that" eval '[ "$(on_first 0 200)" -lt 200 ]'
check "all data, while it is read" blkio verify $dev 0 $((size / 2)) "$seed"
check "who read it saw no error" end_reads
check "all data" blkio verify $dev 0 $size "$seed"
check "in the grammar" in_grammar p
remove_pool p

# --- a bad device: what can't be read is not tried for ever
check "a pool whose fast member is full" full_pool || done_testing
check "members that fail" message p set fail_requests 16
emuctl set a fail=all
fails() { blkio verify $dev 0 4096 "$seed" 2>/dev/null; status_is p dev.0.state failed; }
check "it fails" wait_for 60 fails
get p failed && failed=$got
check "extents may move" message p policy wardrop cooldown_ms 0 period_ms 200 migrate_kbps 0 low_free 20
check_fails "and it is left alone" "" succeeds_within 2 status_above p failed "$failed"
emuctl set a fail=none
remove_pool p

# --- low_free 0: it keeps what it has
check "a pool whose fast member is full" full_pool || done_testing
check "what lies on the slow one is read without a pause" begin_reads
check "extents may move, but nothing is kept free" may_move 0
get p started && started=$got
check_fails "nothing moves" "" succeeds_within 3 status_above p started "$started"
check "who read it saw no error" end_reads
done_testing
