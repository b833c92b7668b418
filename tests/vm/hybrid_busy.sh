#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: what a busy member refuses is no request of its; freed extents are told together; no hibernation beside a volume
# kernels: 6.1 6.12
# timeout: 240
# one-of: 2
. tests/vm/lib.sh

disk m 16M
disk a 40M mem discard=20ms
disk b 40M mem discard=20ms
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
discards() { awk '$1 == "discards" { print $2 }' "/sys/kernel/config/emudisk/$1/info"; }

# --- extents of two members, which come back in the order of the volume: every other one is the first's, and lies before
# what came back before it
backwards() {
	awk -v d=$dev -v s="$seed" 'BEGIN { for (e = 959; e >= 0; e--) print "write", d, e * 128, 128, s; print "flush", d }' |
		blkio_lines
}
check "a pool" pool p "$(table 122880 128 m "a b" 0 "stripe 2 commit_ms 3600000")"
check "data" backwards
fields_are "on both" p "dev.0.used dev.1.used" "480 480"
before=$(($(discards a) + $(discards b)))
check "all of it is discarded" blkio discard $dev 0 122880 -- flush $dev
check "and free" wait_for 60 eval '[ "$(status p dev.0.used) $(status p dev.1.used)" = "0 0" ]'
sent=$(($(discards a) + $(discards b) - before))
note "$sent discards for 960 extents"
check "members are told of many extents at once" [ $sent -le 60 ]
check "of all" [ $sent -ge 2 ]
check "reads as zeroes" blkio verify $dev 0 122880 0
check "data" backwards
emuctl set a discard=2s
emuctl set b discard=2s
before=$(($(discards a) + $(discards b)))
check "all of it is discarded" blkio discard $dev 0 122880 -- flush $dev
check "suspended" dmsetup suspend p
note "$(($(discards a) + $(discards b) - before)) discards before that"
check "nobody waits for more than those under way" [ $(($(discards a) + $(discards b) - before)) -le 8 ]
check "resumed" dmsetup resume p
check "all is free" wait_for 60 eval '[ "$(status p dev.0.used) $(status p dev.1.used)" = "0 0" ]'
remove_pool p

# --- a large volume, a sector of each extent: what lies in order comes back as a run of each member; what lies all over
# them is committed in between, as it would fill the memory else
wipe m
for d in a b; do remove_disk $d; done
disk a 400M
disk b 400M
check "a large pool" pool p "$(table $((10000 * 128)) 128 m "a b" 0 "stripe 2 commit_ms 3600000")"
# written STEP: a granule of extent 0, STEP, 2 * STEP, ... modulo their number
written() {
	awk -v d=$dev -v s="$seed" -v n="$1" 'BEGIN { for (e = 0; e < 10000; e++) print "write", d, e * n % 10000 * 128, 8, s
		print "flush", d }' | blkio_lines
}
discarded() {
	local got commits
	written "$1" && message p set commit_ms 3600000 || return	# from now on
	get p commits dev.0.used dev.1.used && commits=${got[0]}
	[ $((got[1] + got[2])) = 10000 ] || { echo "# $((got[1] + got[2])) extents"; return 1; }
	blkio discard $dev 0 $((10000 * 128)) || return
	get p commits && between=$((got[0] - commits))
	blkio flush $dev -- verify $dev 0 $((64 * 128)) 0 -- verify $dev $((9990 * 128)) $((10 * 128)) 0
}
check "one that was written in order is discarded" discarded 1
is "at once" "$between" 0
check "and is free" wait_for 60 eval '[ "$(status p dev.0.used) $(status p dev.1.used)" = "0 0" ]'
check "one that was written all over is" discarded 7919
note "$between commits meanwhile"
check "in pieces" [ "$between" -ge 1 ]
check "and is free" wait_for 60 eval '[ "$(status p dev.0.used) $(status p dev.1.used)" = "0 0" ]'
check "it is written all over again" written 7919
emuctl set m fail=write
check_fails "nothing can be committed: a discard that waits for that ends" EIO blkio discard $dev 0 $((10000 * 128))
emuctl set m fail=none
remove_pool p

# --- what lies in order, and is a run, but all over the map: a checkpoint is not to find more of it changed than it takes
# images of at once
remove_disk m
disk m 32M
for d in a b; do remove_disk $d; done
disk a 5G
disk b 5G
check "a pool of many pages" pool p "$(table $((300 * 508 * 128)) 128 m "a b" 0 "stripe 2 commit_ms 3600000")"
check "an extent in each" eval 'for ((e = 0; e < 300 * 508; e += 508)); do
	echo write $dev $((e * 128)) 8 $seed; done | blkio_lines && blkio flush $dev && message p set commit_ms 3600000'
get p commits mapped
commits=${got[0]}
is "is there" "${got[1]%%/*}" 300
check "all of it is discarded" blkio discard $dev 0 $((300 * 508 * 128))
get p commits
note "$((got - commits)) commits meanwhile"
check "in pieces that a checkpoint takes" [ $((got - commits)) -ge 2 ]
check "the last of them committed" blkio flush $dev
check "and is free" wait_for 60 eval '[ "$(status p dev.0.used) $(status p dev.1.used)" = "0 0" ]'
check "reads as zeroes" blkio verify $dev 0 8 0 -- verify $dev $((299 * 508 * 128)) 8 0
remove_pool p

# --- a slow device's discards, many commits of them: who wants a worker for another one's gets it
wipe m
for d in a b; do remove_disk $d; done
disk a 40M mem discard=10s
disk b 40M
check "a pool with a member that takes long for a discard" pool p "$(table 81920 128 m "a b" 0 "fill 2 commit_ms 3600000")"
get p dev.0.total dev.1.total
check "its extents" eval 'for ((e = 0; e < 320; e++)); do echo write $dev $((e * 128)) 128 $seed; done | blkio_lines && blkio flush $dev'
check "are given up one by one, each durably" eval 'for ((e = 0; e < 320; e++)); do
	echo discard $dev $((e * 128)) 128; echo flush $dev; done | blkio_lines'
# In part: a worker of the same queue fills it up with zeroes.
check "the other one is written to" timeout 9 blkio write $dev $((600 * 128 + 3)) 1 3 -- flush $dev -- verify $dev $((600 * 128 + 3)) 1 3
check "suspended" timeout 60 dmsetup suspend p
check "resumed" dmsetup resume p
remove_pool p
wipe m

# --- a disk that takes one request at a time and 5 ms for it, and who asks not to wait
modprobe null_blk nr_devices=0 || die "no null_blk"
null=/sys/kernel/config/nullb/slow
mkdir $null
for set in size=64 memory_backed=1 queue_mode=2 submit_queues=1 hw_queue_depth=1 irqmode=2 completion_nsec=5000000; do
	echo "${set#*=}" >"$null/${set%=*}" || die "no $set"
done
echo 1 >$null/power
if [ -b /dev/slow ]; then slow=slow; else slow=nullb$(<$null/index); fi
wait_for 20 test -b /dev/$slow || die "no $slow"
wipe m
pool p "$(table 65536 128 m "/dev/$slow" 0 "fill 2 period_ms 1000")" || die "no pool"
check "data" blkio write $dev 0 65536 "$seed" -- flush $dev
fio --name=r --filename=$dev --direct=1 --rw=randread --bs=4k --iodepth=16 --ioengine=io_uring --time_based --runtime=600 \
	--randseed="$seed" --output=/tmp/fio.out & io=$!
differ() { [ "$(dmsetup message p 0 samples)" != "$1" ]; }
reads() { dmsetup message p 0 samples | awk '{ print $3 }'; }
# 200 in a period at most; a slow machine gets along with fewer.
check "the disk has all that it can do" wait_for 60 eval '[ "$(reads)" -ge 20 ]'
disk_reads() { awk '{ print $1 }' "/sys/block/$slow/stat"; }
# Sums over the same time: a machine that stands still for a while makes all of them small. The first period may have begun before.
most=0 sum=0 before=$(disk_reads)
for ((i = 0; i < 5; i++)); do
	check "another period" wait_for 30 differ "$(dmsetup message p 0 samples)"
	now=$(reads)
	[ "$now" -le $most ] || most=$now
	sum=$((sum + now))
done
disk=$(($(disk_reads) - before))
kill -INT $io
wait $io
note "$sum reads in five periods, at most $most in one, $disk at the disk"
check "that is what the disk did, not what it refused besides" [ "$sum" -le $((disk * 3 / 2 + most)) ]
remove_pool p
rmdir $null

# --- hibernation: extents would move, and commits be made, that the image of memory does not know of
disk x 16M
disk y 40M
disk z 40M
hibernate() { echo disk >/sys/power/state; }
check "tries of it end once programs are frozen" eval "echo freezer >/sys/power/pm_test"
check "a pool" pool p "$(table 122880 128 x "y z" 0 "stripe 2 commit_ms 3600000")"
expect_refused "beside a volume it is refused" "hybrid: .* is active: no hibernation" hibernate
check "who goes on as before" eval 'blkio write $dev 0 128 "$seed" -- flush $dev -- verify $dev 0 128 "$seed"'
check "another table" eval 'dmsetup suspend p && dmsetup resume p'
# who has it open for reading has begun
begin() { exec {image}</dev/snapshot; }
expect_refused "to programs that write the image themselves, too" "hybrid: .* is active: no hibernation" begin
remove_pool p
check "beside none it is not" hibernate
check "it has begun" begin
expect_refused "no volume is activated from then on" "hybrid: hibernation has begun" \
	dmsetup create p --table "$(table 122880 128 x "y z" 0 "stripe 2 commit_ms 3600000")"
exec {image}<&-
dmsetup remove p 2>/dev/null
check "and a volume is activated after it" pool p "$(table 122880 128 x "y z" 0 "stripe 2 commit_ms 3600000")"
done_testing
