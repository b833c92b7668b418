#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: suspend, resume, reload, two pools
# kernels: 6.1 6.12 debug
# timeout: 180
. tests/vm/lib.sh

disk m 16M
disk a 24M
disk b 24M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
size=65536
fill=$(table $size 128 m "a b" 0 "fill 0")
stripe=$(table $size 128 m "a b" 0 "stripe 0")
quiet=$(table $size 128 m "a b" "1 no_discard_passdown" "fill 2 commit_ms 50")
readonly_line=$(table $size 128 m "a b" "1 read_only" "fill 0")
swap() { dmsetup load "$1" --table "$2" && dmsetup suspend "${@:3}" "$1" && dmsetup resume "$1"; }
words() { dmsetup table p | cut -d ' ' -f 12-; }

# a table that was never resumed is in nobody's way, though it names the same metadata area
alone=$(table 32768 128 m a 0 "fill 0")
only_load() { dmsetup create p --notable && dmsetup load p --table "$1"; }
check "a table is loaded, no more" only_load "$alone"
pools+=(p)
emuctl set m fail=write
check_fails "its resume fails" "Input/output error" dmsetup resume p
emuctl set m fail=none
check "one with another member, and one with another extent size" eval \
	'dmsetup load p --table "$fill" && dmsetup load p --table "${fill/ 128 2 / 256 2 }" && dmsetup clear p'
log_mark
check_fails "the first one is out of date" "Invalid argument" dmsetup resume p
matches "the log says so" "$(log_since)" "loaded later said otherwise"
check "a pool" eval 'dmsetup load p --table "$fill" && dmsetup resume p && dmsetup mknodes p'
check "data" blkio write $dev 0 4096 "$seed"
check "suspend and resume" dmsetup suspend p
matches "a suspended pool has a status" "$(dmsetup status p)" "hybrid rw"
check "in its grammar" in_grammar p
check "resume" dmsetup resume p
check "suspend without flush" dmsetup suspend --noflush p
check "resume" dmsetup resume p
check "suspend without freezing the file system" dmsetup suspend --nolockfs p
check "resume again" dmsetup resume p
check "the data" blkio verify $dev 0 4096 "$seed"

noted() { [ "$(dd if=/dev/emudisk/m bs=4k skip=256 count=64 iflag=direct status=none | strings | grep -cxF "$1")" -gt 0 ]; }
check_fails "no superblock has it" "" noted "stripe 0"
check "reload with another policy" swap p "$stripe"
check "one has, as the next start may be after a cut" wait_for 20 noted "stripe 0"
field_is "which the status shows" p policy stripe
matches "and the table" "$(words)" "stripe 0$"
check "the data" blkio verify $dev 0 4096 "$seed"
check "reload with a feature and a setting" swap p "$quiet"
matches "shown" "$(words)" "1 no_discard_passdown fill 2 commit_ms 50$"
check "reload while suspended" eval "dmsetup suspend p && dmsetup load p --table '$fill' && dmsetup resume p"
check "the data" blkio verify $dev 0 4096 "$seed"

check "an inactive table is loaded" dmsetup load p --table "$stripe"
check "and cleared" dmsetup clear p
field_is "the live one goes on" p policy fill

check "read_only" swap p "$readonly_line"
check "reads" blkio verify $dev 0 4096 "$seed"
check_fails "does not write" "EIO|EROFS|EPERM" blkio write $dev 0 8 1
check "back" swap p "$fill"
check "writes" blkio write $dev 0 8 1 -- verify $dev 0 8 1 -- write $dev 0 8 "$seed"

# while I/O runs
fio --name=v --filename=$dev --direct=1 --rw=randwrite --bs=4k --size=16m --offset=8m --time_based --runtime=60 \
	--verify=crc32c --verify_backlog=64 --verify_fatal=1 --iodepth=8 --ioengine=libaio --thread \
	--randseed="$seed" --output=/tmp/fio.out &
io=$!
wait_for 20 status_above p mapped 40
swaps() {
	for _ in {1..10}; do
		swap p "$stripe" && swap p "$fill" --noflush && swap p "$quiet" || return
		dmsetup load p --table "${fill/fill/nosuch}" 2>/dev/null && return 1
	done
	return 0
}
check "30 reloads, 10 of them refused, under I/O" swaps
kill -INT $io
wait $io
check "no error, nothing misread" fio_was_right /tmp/fio.out
check "the data" blkio verify $dev 0 4096 "$seed"

# lost members and a lost mirror are for hybrid_fail.sh; here: the wrong length, the wrong pool
check "commit" message p commit
expect_refused "a reload longer than the members hold" "longer than its members" \
	dmsetup load p --table "$(table 1000000 128 m "a b" 0 "fill 0")"
# the pool would grow, were it resumed
check "a reload longer than the pool was made for" dmsetup load p --table "$(table $((size + 128)) 128 m "a b" 0 "fill 0")"
check "which is not meant" dmsetup clear p
disk m2 16M
disk c 24M
disk d 24M
second=$(table $size 128 m2 "c d" 0 "stripe 0")
check "a second pool" pool q "$second"
check "has its own data" blkio write /dev/mapper/q 0 1024 99 -- verify /dev/mapper/q 0 1024 99
check "and writes nothing by itself from here on" message q commit
check "the first has its" blkio verify $dev 0 4096 "$seed"
expect_refused "a reload of the first with the second's areas" "pool|uuid|metadata" dmsetup load p --table "$second"
expect_refused "a third device on the first's pool" "use|busy|pool" dmsetup create r --table "$fill"
dmsetup remove r >/dev/null 2>&1

check "a shorter table" swap p "$(table $((size / 2)) 128 m "a b" 0 "fill 0")"
check "has what is left" blkio verify $dev 0 4096 "$seed"
check "and longer again" swap p "$fill"
check "nothing lost" blkio verify $dev 0 4096 "$seed"
mapped=$(status p mapped)
check "remove" remove_pool p
check "make again" pool p "$fill"
field_is "as much is mapped" p mapped "$mapped"
check "the data" blkio verify $dev 0 4096 "$seed"

# metadata areas of a live pool stay where they are: a copy of one is whole, and older
for name in m3 m4 m5; do disk $name 16M; done
for name in e f; do disk $name 24M; done
mirrored() { table $size 128 "$*" "e f" 0 "fill 0"; }
check "a pool with a mirror" pool r "$(mirrored m3 m4)"
check "which is copied" dd if=/dev/emudisk/m3 of=/dev/emudisk/m5 bs=1M
check "its data" blkio write /dev/mapper/r 0 1024 "$seed"
check "nor does it write more by itself" eval 'message r commit && message p commit'
expect_refused "the copy in the mirror's place" "metadata area is not the live pool's" dmsetup load r --table "$(mirrored m5 m4)"
disk g 24M
check "a member that is copied" dd if=/dev/emudisk/f of=/dev/emudisk/g bs=1M
expect_refused "the copy in its place" "a member is not the live pool's" \
	dmsetup load r --table "$(table $size 128 "m3 m4" "e g" 0 "fill 0")"
check "without the second area" swap r "$(mirrored m3 -)"
check "which misses something" blkio write /dev/mapper/r 1024 64 "$seed" -- flush /dev/mapper/r
expect_refused "the second, which is stale, without the first" "none of the metadata areas is the live pool's" \
	dmsetup load r --table "$(mirrored - m4)"
check "the data is there" blkio verify /dev/mapper/r 0 1024 "$seed"
check "one that is empty is evacuated" message r evacuate 1
expect_refused "not the last that takes anything" "no other member would take what is written" message r evacuate 0
check "writes find room" blkio write /dev/mapper/r 1024 8192 "$seed"
check "remove" remove_pool r

# who has the device open knows its logical blocks: they do not grow beneath him, nor shrink to grow again
disk n 24M mem lbs=4096
mixed=$(table 32768 128 m6 "o n" 0 "stripe 0") without=${mixed/\/dev\/emudisk\/n/-}
disk m6 16M
disk o 24M
block_is() { [ "$(blockdev --getss /dev/mapper/s)" = "$1" ]; }
check "a pool of members with unlike blocks" pool s "$mixed"
check "has the larger ones" block_is 4096
check "without the member that has them" swap s "$without"
check "it still has" block_is 4096
check "which may come back" swap s "$mixed"
check "to a device that is as it was" block_is 4096
check "remove" remove_pool s
check "made without it" pool s "$without"
check "it has the smaller ones" block_is 512
expect_refused "the member that has larger ones, now" "larger logical blocks than the live pool" \
	dmsetup load s --table "$mixed"
check "remove" remove_pool s
check "made with it" pool s "$mixed"
check "it has the larger ones again" block_is 4096
remove_pool s

# one whose metadata does not answer is resumed, and loaded again: other pools have nothing to do with that
disk m7 16M
wipe m6 o n
two=$(table 32768 128 "m6 m7" "o n" 0 "stripe 0")
check "two metadata areas" eval 'pool s "$two" && remove_pool s'
check "a table is loaded" eval 'dmsetup create s --notable && dmsetup load s --table "$two"'
has_request() { local info; info=$(</sys/kernel/config/emudisk/m6/info); [[ $info == *$'\n'"inflight "[1-9]* ]]; }
emuctl set m6 stall=1
dmsetup resume s & resuming=$!
check "its resume waits for one of them" wait_for 10 has_request
dmsetup load s --table "${two/\/dev\/emudisk\/m6/-}" & loading=$!
in_constructor() { grep -q hy_pool_get /proc/$loading/stack 2>/dev/null; }
check "a table without that waits for the resume" wait_for 10 in_constructor
disk m8 16M
disk q 24M
check "another pool is made meanwhile" pool t "$(table 32768 128 m8 q 0 "stripe 0")"
check "and removed" remove_pool t
check "they wait still" kill -0 $resuming $loading
emuctl set m6 stall=0
wait $resuming $loading
check "and have ended" eval 'dmsetup clear s; status_is s meta AA'
remove_pool s
done_testing
