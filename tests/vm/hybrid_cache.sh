#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: the extent cache never answers with what was
# kernels: 6.1 6.12 debug
# timeout: 180
# cpus: 2
. tests/vm/lib.sh
. tests/crash/offline.sh

disk m 16M
disk a 24M
disk b 24M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
extents=256
line=$(table $((extents * 128)) 128 m "a b" 0 "fill 6 cooldown_ms 0 migrate_kbps 0 movers 8")
check "a pool" pool p "$line"
# extents, limit, hits, misses, fills, updates, drops, moves: into $cache
counters() {
	local words i
	into words dmt message p 0 cache
	read -ra words <<<"$words"
	cache=()
	for ((i = 0; i < ${#words[@]}; i += 2)); do cache[i / 2]=${words[i + 1]}; done
}
cached() { counters; echo "${cache[0]}"; }
hits() { counters; echo "${cache[2]}"; }
cached_is() { counters; [ "${cache[0]}" = "$1" ]; }
field_at() { local e; into e dmt message p 0 entry "$1"; [ "${e%% *}" = "$2" ]; }
finished() { status_is p queued 0; }

check "data" blkio write $dev 0 $((64 * 128)) "$seed"
check "read" blkio verify $dev 0 8 "$seed" -- verify $dev 0 8 "$seed"
is "it is off" "$(message p cache)" "extents 0 limit 0 hits 0 misses 0 fills 0 updates 0 drops 0 moves 0"
check_fails "too many" "Invalid" message p set cache_extents 65537
check "turned on" message p set cache_extents 16
table_matches "as the table says" p "cache_extents 16$"
check "in the grammar" in_grammar p

# read until it is filled: it begins when all writes of before are known to be done
warm() { blkio verify $dev $(($1 * 128)) 1 "$seed" && counters && [ "${cache[0]}" -gt "$2" ]; }
check "a read brings its extent" wait_for 10 warm 0 0
before=$(reads a)
is "which was read" $((before > 0)) 1
check "others of it do not reach the member" blkio verify $dev 1 7 "$seed" -- verify $dev 0 128 "$seed" -- \
	verify $dev 37 64 "$seed"
is "as its counter shows" "$(reads a)" "$before"
is "three hits" "$(hits)" 3
check "what is written is read" blkio write $dev 40 3 7 -- verify $dev 40 3 7 -- verify $dev 0 40 "$seed" -- \
	verify $dev 43 85 "$seed"
check "again" blkio verify $dev 40 3 7 -- verify $dev 0 40 "$seed" -- fua $dev 40 3 8 -- verify $dev 40 3 8 -- \
	verify $dev 43 85 "$seed"
# requests of several extents go past the copies when they read, so these are asked one by one
check "so is what goes through several extents" blkio verify $dev 0 40 "$seed" -- verify $dev 130 8 "$seed" -- \
	write $dev 64 512 9 -- verify $dev 100 20 9 -- verify $dev 130 8 9 -- verify $dev 64 512 9
check "discarded in part: zeroes" blkio verify $dev 1024 128 "$seed" -- discard $dev 1032 8 -- \
	verify $dev 1024 8 "$seed" -- verify $dev 1032 8 0 -- verify $dev 1040 88 "$seed"
check "and written in part" blkio write $dev 1034 2 5 -- verify $dev 1032 2 0 -- verify $dev 1034 2 5 -- \
	verify $dev 1036 4 0
check "discarded as a whole" blkio verify $dev 1280 128 "$seed" -- discard $dev 1280 128 -- verify $dev 1280 128 0 -- \
	write $dev 1283 1 6 -- verify $dev 1283 1 6 -- verify $dev 1284 124 0 -- verify $dev 1280 3 0

# holes hold what the place had before
check "one with holes" blkio discard $dev $((63 * 128)) 128
check "its place comes back" wait_for 20 status_is p dev.0.used 63
check "and is used again" blkio write $dev $((100 * 128 + 37)) 3 5
holes() { blkio verify $dev $((100 * 128 + 37)) 3 5 -- verify $dev $((100 * 128)) 37 0 -- verify $dev $((100 * 128 + 40)) 88 0; }
check "they are zeroes" eval 'holes && holes'

# never written is not even readable, as on a member with dm-integrity
check "pieces" blkio write $dev 12936 8 21 -- write $dev 12968 8 22 -- write $dev 13024 8 23
read -r _ pe _ <<<"$(message p entry 101)"
emuctl set a "fail_range=$((2048 + pe * 128 + 16))+24" fail=read
counters
fills=${cache[4]}
check "are read" blkio verify $dev 12936 8 21
before=$(reads a)
check "all of them" blkio verify $dev 12968 8 22 -- verify $dev 13024 8 23 -- verify $dev 12944 24 0 -- verify $dev 12928 8 0
is "they were in memory" "$(reads a)" "$before"
counters
is "as one extent" "${cache[4]}" $((fills + 1))
echo 2 >/proc/sys/vm/drop_caches
message p move 101 1
check "they move when they are not in memory" wait_for 20 field_at 101 1
check "and are the same there" blkio verify $dev 12936 8 21 -- verify $dev 12968 8 22 -- verify $dev 13024 8 23 -- \
	verify $dev 12944 24 0
fields_are "nothing was asked for that was never written" p "dev.0.state errors" "active 0"
emuctl set a fail_range=0+0 fail=none

check "many" blkio verify $dev $((16 * 128)) $((46 * 128)) "$seed"
one_by_one() { for ((e = 16; e < 56; e++)); do blkio verify $dev $((e * 128 + 5)) 1 "$seed" || return; done; }
check "one by one" one_by_one
is "no more than it may keep" "$(cached)" 16
check "it may keep less" message p set cache_extents 3
is "it does" "$(cached)" 3
message p set cache_extents 16
one_by_one
check "memory is given back" eval 'echo 2 >/proc/sys/vm/drop_caches && cached_is 0'
check "and taken again" eval 'one_by_one && cached_is 16'
before=$(reads a) b_reads=$(reads b)
check "an extent that moves" message p move 55 1
check "arrives" wait_for 20 eval 'finished && field_at 55 1'
check "with its data" blkio verify $dev $((55 * 128)) 128 "$seed"
counters
is "it was in memory" "${cache[7]}" 1
is "nobody read it" "$(reads a) $(reads b)" "$before $b_reads"
echo 2 >/proc/sys/vm/drop_caches
check "out of memory it is the same" blkio verify $dev $((55 * 128)) 128 "$seed"

check "nothing is kept over a suspension" eval 'dmsetup suspend p && cached_is 0 && dmsetup resume p'
check "others' tables neither" eval 'one_by_one && dmsetup suspend p &&
	dmsetup load p --table "${line/fill 6/fill 8} cache_extents 9" && dmsetup resume p && cached_is 0 && blkio verify $dev $((16 * 128)) 128 "$seed"'
check "the table's number counts" eval 'wait_for 10 warm 17 0 && one_by_one && cached_is 9'

# a sector that can't be read harms nobody else
message p set cache_extents 0
is "off: nothing is kept" "$(cached)" 0
message p set cache_extents 16
check "on" wait_for 10 warm 18 0
read -r _ pe _ <<<"$(message p entry 17)"
emuctl set a "fail_range=$((2048 + pe * 128 + 77))+1" fail=read
check "beside one that can't be read" blkio verify $dev $((17 * 128)) 77 "$seed" -- \
	verify $dev $((17 * 128 + 78)) 50 "$seed"
fields_are "it is nobody's error yet" p "dev.0.state errors" "active 0"
check_fails "but the reader's" EIO blkio verify $dev $((17 * 128 + 77)) 1 "$seed"
emuctl set a fail_range=0+0 fail=none
check "then it can" blkio verify $dev $((17 * 128)) 128 "$seed"
emuctl set a fail=write
check_fails "a write that fails" EIO blkio write $dev $((18 * 128)) 8 3
emuctl set a fail=none
check "leaves nothing in memory that is not on the member" blkio verify $dev $((18 * 128)) 8 "$seed"
check "remove" remove_pool p

# --- what is under way at the same time: a device that is late ---

wipe m a
modprobe dm-delay || die "no dm-delay"
late() { echo "0 $(blkio size "/dev/emudisk/${3:-a}") delay /dev/emudisk/${3:-a} 0 $1 /dev/emudisk/${3:-a} 0 $2"; }
check "a member whose writes are late" dmsetup create late --table "$(late 0 700)"
check "a pool on it" pool p "$(table 8192 128 m /dev/mapper/late 0 "fill 2 cache_extents 16")"
check "data" blkio write $dev 0 1024 "$seed"
device=$((0x$(stat -Lc %t $dev))):$((0x$(stat -Lc %T $dev)))
in_flight() { local r w; read -r r w <"/sys/dev/block/$device/inflight" && [ $((r + w)) -ge "$1" ]; }
# while_writing TITLE COMMAND...: COMMAND is done while a write to extent 1 is on its way; then nobody finds what was
while_writing() {
	local title=$1 pattern=$RANDOM
	shift
	blkio write $dev 136 8 $((pattern + 1)) &
	wait_for 10 in_flight 1 || note "the write has come too late or too soon"
	"$@"
	wait $!
	check "$title" blkio verify $dev 136 8 $((pattern + 1)) -- \
		verify $dev 144 8 "$seed" -- verify $dev 136 8 $((pattern + 1))
}
check "a read" wait_for 10 warm 5 0
while_writing "not in memory" blkio verify $dev 144 8 "$seed"
check "read meanwhile" blkio verify $dev 144 8 "$seed"
counters
updates=${cache[5]}
while_writing "in memory" blkio verify $dev 144 8 "$seed"
counters
is "and it takes the write over" "${cache[5]}" $((updates + 1))
on_now() { message p set cache_extents 16; nap 0.1; blkio verify $dev 144 8 "$seed"; }
message p set cache_extents 0
while_writing "turned on meanwhile" on_now
check "its writes are in time, its reads are late" eval 'dmsetup suspend p && dmsetup suspend late &&
	dmsetup load late --table "$(late 700 0)" && dmsetup resume late && dmsetup resume p'
blkio verify $dev 144 8 "$seed" &
wait_for 10 in_flight 1 || note "the read has come too late or too soon"
check "a write that overtakes a read" blkio write $dev 136 8 77
wait $!
is "which finds what it looked for" $? 0
check "who reads then finds what was written" blkio verify $dev 136 8 77 -- verify $dev 144 8 "$seed"
check "remove" eval 'remove_pool p && dmsetup remove late'

# an extent in memory moves with all that is written meanwhile, and where it was is not read
wipe m a b
check "a member to which it takes long" dmsetup create late --table "$(late 0 300 b)"
check "a pool with it" pool p "$(table 8192 128 m "a /dev/mapper/late" 0 "fill 4 cache_extents 16 cooldown_ms 0")"
check "data" blkio write $dev 0 1024 "$seed"
device=$((0x$(stat -Lc %t $dev))):$((0x$(stat -Lc %T $dev)))
check "it is read" wait_for 10 warm 3 0
counters
updates=${cache[5]}
before=$(reads a)
message p move 3 1
check "written as it moves" blkio write $dev 392 8 31 -- write $dev 448 16 32 -- write $dev 392 8 33 -- write $dev 504 8 34
check "it moves" wait_for 20 field_at 3 1
counters
is "what was written was taken over" "${cache[5]}" $((updates + 4))
is "it moved from memory" "${cache[7]}" 1
is "nothing was read" "$(reads a)" "$before"
moved() {
	blkio verify $dev 400 48 "$seed" -- verify $dev 384 8 "$seed" -- verify $dev 392 8 33 -- verify $dev 448 16 32 -- \
		verify $dev 464 40 "$seed" -- verify $dev 504 8 34
}
check "it is as it was written" moved
before=$(reads b)
echo 2 >/proc/sys/vm/drop_caches
check "out of memory, too" moved
is "which was read once" $(($(reads b) - before)) 1
check "remove" eval 'remove_pool p && dmsetup remove late'

# everything moves and is discarded beneath readers and writers who know what they have to find
wipe m a b
check "make again" pool p "${line/fill 6/fill 8} cache_extents 40"
check "data" blkio write $dev 0 $((extents * 128)) "$seed" -- discard $dev 0 $((extents * 128))
oracle shuffle p --extents $extents --members 2 --seed "$seed" &
mover=$!
check "writes, discards, reads against moves" oracle run $dev --log /tmp/log --seed "$seed" --ops 6000 --threads 4 \
	--dm p --extents $extents --members 2 --moves 15 --discards 10
note "$(message p cache)"
is "some of it was read from memory" $(($(hits) > 50)) 1
check "all that was written is there" oracle check $dev --log /tmp/log --point 18446744073709551615
check "so it is, out of memory" oracle check $dev --log /tmp/log --point 18446744073709551615
kill $mover
wait $mover 2>/dev/null
verified() {
	fio --name=v --filename=$dev --direct=1 --rw=randrw --rwmixread=70 --bsrange=512-64k --blockalign=512 --size=2m \
		--verify=crc32c --verify_backlog=16 --verify_fatal=1 --iodepth=8 --ioengine=libaio --thread \
		--time_based --runtime="$1" --randseed="$seed" --output=/tmp/fio.out || { cat /tmp/fio.out; return 1; }
}
toggle() { local n=0; while [ ! -e /tmp/fio.done ]; do message p set cache_extents $((n++ % 3 * 20)); nap 0.05; done; }
toggle &
toggler=$!
check "fio verifies while it is turned on and off" verified 5
: >/tmp/fio.done
wait $toggler
note "$(message p cache)"
check "the migrations end" wait_for 60 finished
check "in the grammar" in_grammar p
check "remove, with extents in memory" remove_pool p
check "the pool checks out" is_sound_offline /dev/emudisk/{m,a,b}
done_testing
