#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: a pool is made, holds data, keeps it
# kernels: 6.1 6.12 debug
# quick: yes
# timeout: 120
. tests/vm/lib.sh
dmsetup() { command dmsetup "$@"; }	# what people have

disk m 16M
disk ssd 24M
disk hdd 24M
disk n 16M
disk big 24M
dev=/dev/mapper/p
line=$(table 65536 128 m "ssd hdd" 0 "wardrop 0")

check "modprobe dm-hybrid" modprobe dm-hybrid
is "the target is there, version 1" "$(dmsetup targets | awk '$1 == "hybrid" { sub(/\..*/, "", $2); print $2 }')" v1
check "the table line of the documentation" pool p "$line"
is "its size" "$(sectors $dev)" 65536

check "the status line keeps to its grammar" in_grammar p
fields_are "mode rw, nothing to check" p "mode needs_check" "rw -"
used() { echo $(($(status p dev.0.used) + $(status p dev.1.used))); }
is "512 extents, none mapped" "$(status p mapped)/$(status p logical)" 0/512

normal() { dmsetup table "$1" | awk '{ $1 = $1; print }'; }
first=$(normal p)
matches "the table says what was asked" "$first" '^0 65536 hybrid 1 [0-9]+:[0-9]+ 0 128 2 [0-9]+:[0-9]+ 0 [0-9]+:[0-9]+ 0 0 wardrop [0-9]+'

# nothing is mapped: reads need no device
before=$(reads ssd)/$(reads hdd)
check "unmapped sectors read as zeroes" blkio verify $dev 0 65536 0
is "without a request to a member" "$(reads ssd)/$(reads hdd)" "$before"

check "write and read back 4 MiB" blkio write $dev 0 8192 "$seed" -- verify $dev 0 8192 "$seed"
field_is "64 extents are mapped" p mapped 64
check "the rest is still zero" blkio verify $dev 8192 57344 0

# granules are 4 KiB here: 512-byte writes fill theirs with zeroes
check "a single sector into a fresh extent" blkio write $dev 20001 1 7 -- verify $dev 20001 1 7
check "its granule's other sectors are zero" blkio verify $dev 20000 1 0 -- verify $dev 20002 6 0
check "the extent's other granules, too" blkio verify $dev 19968 32 0 -- verify $dev 20008 88 0
# A program that waits for 512 bytes waits for the zeroes around them, too.
queued=/sys/kernel/tracing/events/block/block_bio_queue
[ -d $queued ] || mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
if [ -d $queued ]; then
	echo >/sys/kernel/tracing/trace
	echo 1 >$queued/enable
	check "a sector is written, which is waited for" dd if=/dev/zero of=$dev bs=512 count=1 seek=60004 oflag=direct,sync conv=notrunc status=none
	echo 0 >$queued/enable
	# In its extent: another one may be on its way to the other member.
	read -r member pe _ < <(message p entry $((60004 / 128)))
	names=(ssd hdd) from=$((2048 + pe * 128))
	number=$(<"/sys/block/emudisk!${names[member]}/dev")
	is "three writes to a member, none of which may be put off" \
		"$(sed -nE "s/.*block_bio_queue: ${number/:/,} (W[A-Z]*) ([0-9]+) .*/\1 \2/p" /sys/kernel/tracing/trace |
			awk -v from=$from '$2 >= from && $2 < from + 128 { print $1 }' | sort | uniq -c | tr -s ' ')" " 3 WS"
else
	skip "three writes to a member, none of which may be put off" "a kernel without tracepoints"
fi
check "unaligned, over three extents" blkio write $dev 30001 300 9 -- verify $dev 30001 300 9 \
	-- verify $dev 29900 101 0 -- verify $dev 30301 60 0
check "overwrite a part" blkio write $dev 30100 3 11 -- verify $dev 30001 99 9 -- verify $dev 30100 3 11 \
	-- verify $dev 30103 198 9
check "FUA and flush" blkio fua $dev 40000 5 12 -- flush $dev -- verify $dev 40000 5 12
check "NOWAIT read of what is mapped" blkio nowait $dev 0 8
mapped=$(status p mapped)
check_fails "NOWAIT write that would have to allocate" EAGAIN blkio nowait-write $dev 50000 8 1
field_is "has not" p mapped "$mapped"
check "nor left anything" blkio verify $dev 50000 8 0
check "NOWAIT write over what is there" blkio nowait-write $dev 0 8 1 -- verify $dev 0 8 1 -- write $dev 0 8 "$seed"

check "discard two extents" blkio discard $dev 128 256
check "they read as zeroes" blkio verify $dev 128 256 0
check "their neighbours stay" blkio verify $dev 0 128 "$seed" -- verify $dev 384 128 "$seed"
check "the map shrinks by two" wait_for 10 status_is p mapped $((mapped - 2))
check "and its members have them back" wait_for 10 eval '[ "$(used)" = $((mapped - 2)) ]'
check "discard of an unaligned range" blkio discard $dev 1001 700
check "leaves what is around it" blkio verify $dev 896 105 "$seed" -- verify $dev 1701 91 "$seed"
check "write-zeroes read as zeroes" blkio zero $dev 2048 33 -- verify $dev 2048 33 0 -- verify $dev 2081 95 "$seed"
check "the status line still keeps to its grammar" in_grammar p

check "remove" remove_pool p
check "make again, by its own table line" pool p "$first"
is "the table came back the same" "$(normal p)" "$first"
check "the data is there" blkio verify $dev 4096 4096 "$seed" -- verify $dev 30100 3 11 -- verify $dev 20001 1 7 \
	-- verify $dev 128 256 0 -- verify $dev 2048 33 0
check "and the rest is zero" blkio verify $dev 50000 15536 0

random_io() {
	fio --name=v --filename=$dev --direct=1 --rw=randrw --bsrange=512-64k --blockalign=512 --size=32m --io_size=16m \
		--verify=crc32c --verify_fatal=1 --iodepth=8 --ioengine=libaio --thread --randseed="$seed" \
		--offset=0 --randrepeat=0 --output-format=terse
}
check "fio: random, unaligned, verified" random_io

# dm splits nothing where a member takes less than an extent at once: a rest would share its granule with what went before.
echo 127 >"/sys/block/emudisk!big/queue/max_sectors_kb"
check "a pool whose member takes 254 sectors" pool q "$(table 16384 256 n "big" 0 "wardrop 0")"
before=$(writes big)
check "a first write of two extents" blkio write /dev/mapper/q 0 512 "$seed" -- verify /dev/mapper/q 0 512 "$seed"
is "is one write to each" $(($(writes big) - before)) 2
check "remove it" remove_pool q

# Extents that lie one behind the other on a member are one request to it.
echo 4096 >"/sys/block/emudisk!big/queue/max_sectors_kb"
q=/dev/mapper/q
check "the pool again, and a member that takes what it gets" pool q "$(table 16384 256 n "big" 0 "wardrop 0")"
check "four extents" blkio write $q 0 1024 1
before=$(writes big)/$(reads big)
requests() { echo "$(($(writes big) - ${before%/*})) $(($(reads big) - ${before#*/}))"; }
check "written again and read" blkio write $q 0 1024 "$seed" -- verify $q 0 1024 "$seed"
is "are one write and one read" "$(requests)" "1 1"
check "from within one to within another" blkio write $q 200 500 5 -- verify $q 200 500 5
is "are one of each as well" "$(requests)" "2 2"
check "a hole" blkio discard $q 256 256
check "reads as zeroes, with what is around it" blkio verify $q 0 200 "$seed" -- verify $q 256 256 0 \
	-- verify $q 512 188 5 -- verify $q 700 324 "$seed"
before=$(writes big)/$(reads big)
check "a read over the hole" blkio digest $q 0 1024
is "takes two" "$(requests)" "0 2"
check "a write over it, then FUA" blkio write $q 0 1024 8 -- fua $q 100 900 9 -- verify $q 0 100 8 -- verify $q 100 900 9 \
	-- verify $q 1000 24 8
check "without waiting" blkio nowait $q 0 1024
check "remove it too" remove_pool q

check_fails "the module stays while a pool is there" "in use|busy" rmmod dm-hybrid
check "remove for good" remove_pool p
check "the module goes" rmmod dm-hybrid
done_testing
