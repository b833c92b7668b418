#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: nameless: zones, by ioctl, fio, zonefs and btrfs; limits, cuts, worn out flash and every refusal
# kernels: 6.1 6.12 debug
# timeout: 150
. tests/vm/lib.sh

modprobe nameless || die "no nameless"
d=/dev/nameless
conf=/sys/kernel/config/nameless
trace=/sys/kernel/tracing
# Flash that takes no time: what is tested here is where data goes. A zone is 48 pages in 64.
quick="t_read=0 t_program=0 t_erase=0 t_bus_control=0 t_bus_data=0 t_ram=0 t_register=0"
zone=512 capacity=384

make() { nlctl create "$@" && wait_for 10 test -b "$d/$1"; }

# zoned NAME SIZE...: three planes, so that zones have fewer pages than addresses
# shellcheck disable=SC2086
zoned() { make "$@" ftl=zoned packages=3 pages=16 $quick; }

# stat_of NAME KEY: a line of its counters, without starting a program
stat_of() {
	local key value
	while read -r key value; do [ "$key" != "$2" ] || { echo "$value"; return; }; done <"$conf/$1/stat"
	return 1
}

# limit NAME FILE: of its queue
limit() { cat "/sys/block/nameless!$1/queue/$2"; }

# zone_is TITLE NAME ZONE CONDITION [POINTER]: as blkzone calls it, sectors from the zone's start
zone_is() {
	local line wanted=".*zcond:[ 0-9]*\($4\)"
	[ $# -lt 5 ] || printf -v wanted 'wptr 0x%06x.*%s' "$5" "$wanted"
	line=$(blkzone report -o $(($3 * zone)) -c 1 "$d/$2" 2>&1)
	matches "$1" "$line" "$wanted"
}

# on COMMAND NAME ZONE...: a zone operation, whoever else has the device open
on() { blkzone "$1" -f -o $(($3 * zone)) -c 1 "$d/$2"; }

# What a cut left of zone 0 of b, of which 200 sectors last and 328 were asked for
nothing_torn() {
	local line pointer
	line=$(blkzone report -o 0 -c 1 "$d/b")
	[[ $line =~ wptr\ (0x[0-9a-f]+) ]] && pointer=$((BASH_REMATCH[1]))
	[ $((pointer >= 200 && pointer < 328)) = 1 ] || { echo "$line"; return; }
	blkio verify "$d/b" 0 128 1 -- verify "$d/b" 192 8 4 -- verify "$d/b" "$pointer" $((zone - pointer)) 0 || return
	[ $pointer = 200 ] || blkio verify "$d/b" 200 $((pointer - 200)) 6 || return
	echo ok
}

# Fill and reset zone 0 of e until its blocks are gone
worn_out() {
	local i
	for ((i = 0; i < 60; i++)); do
		blkio write "$d/e" 0 "$capacity" 1 || break
		on reset e 0 2>/dev/null || break
	done
	[ "$i" -gt 3 ] && [ "$(stat_of e zones_offline)" -ge 1 ]
}

# writes ZONE: fill it again and again. A write that is refused, as too many zones are open, has written nothing.
writes() {
	local i done=0 at=$(($1 * zone))
	for ((i = 1; i <= 40; i++)); do
		if blkio write "$d/h" "$at" "$capacity" "$i"; then
			blkio verify "$d/h" "$at" "$capacity" "$i" && on reset h "$1" || return
			((++done))
		else
			blkio verify "$d/h" "$at" "$zone" 0 || return
		fi
	done
	[ "$done" -gt 0 ]
}

# Two write, while others open, close, reset and look
side_by_side() {
	local first second status=0
	writes 0 & first=$!
	writes 1 & second=$!
	while kill -0 "$first" 2>/dev/null || kill -0 "$second" 2>/dev/null; do
		on open h 2 2>/dev/null && on close h 2
		blkio write "$d/h" $((3 * zone)) 8 1 2>/dev/null
		blkzone report "$d/h" >/dev/null && on reset h 3 || return
	done
	wait "$first" || status=1
	wait "$second" || status=1
	return "$status"
}

clean() { check "$1: every invariant holds" nlctl check "$2"; }

# --- creating -----------------------------------------------------------------------------------------

zoned a 4M max_open=3 max_active=5 || die "no zones"
check_fails "a size that is no multiple of the zone is refused" "not a multiple of the zone size of 262144" \
	zoned b 384K
check_fails "flash pages larger than memory's are refused" "page_size 16384: zones are written in blocks of 4096" \
	nlctl create b 64M --ftl zoned --preset tlc
check_fails "more open zones than active ones are refused" "max_open=6: more than max_active=5" \
	zoned b 4M max_open=6 max_active=5
check_fails "zones larger than there can be are refused" "larger than the block layer takes" \
	nlctl create b 64M --ftl zoned zone_blocks=65536 pages=65536
check_fails "too little flash is refused" "too little flash" zoned b 4M blocks=10
check_fails "limits are given at create only" "max_open can be given at create only" nlctl set a max_open=2

is "the kernel knows it as zoned" "$(limit a zoned) $(limit a nr_zones) $(limit a chunk_sectors)" "host-managed 16 $zone"
is "with its limits" "$(limit a max_open_zones) $(limit a max_active_zones)" "3 5"
is "appends take what is handled at one go" "$(limit a zone_append_max_bytes)" 131072
is "and blocks are flash pages" "$(limit a logical_block_size)" 4096
is "a report has all zones" "$(blkzone report $d/a | grep -c 'cap 0x000180.*(em)')" 16
nlctl stat a --json >/tmp/stat.json
check "so has stat --json" python3 -c '
import json
s = json.load(open("/tmp/stat.json"))
assert (s["nr_zones"], s["zone_bytes"], s["zone_capacity"]) == (16, 262144, 196608), s
assert s["zones_empty"] == 16 and s["zones_full"] == 0 and s["map_bytes_zone"] > 0, s'

# --- writing ------------------------------------------------------------------------------------------

check "zones are written from their start" blkio write $d/a 0 64 1 -- write $d/a 64 8 2 -- write $d/a $zone 8 3
zone_is "and are open then" a 0 oi 72
check "what was written is read" blkio verify $d/a 0 64 1 -- verify $d/a 64 8 2 -- verify $d/a $zone 8 3
check "what was not is zeroes" blkio verify $d/a 72 440 0
check_fails "a write before the pointer is refused" EIO blkio write $d/a 64 8 9
check_fails "one behind it" EIO blkio write $d/a 80 8 9
check_fails "one beyond the capacity" EIO blkio write $d/a 72 320 9
check_fails "a discard" EOPNOTSUPP blkio discard $d/a 0 8
check "and they changed nothing" blkio verify $d/a 64 8 2 -- verify $d/a 72 440 0 -- write $d/a 72 312 4
zone_is "a zone that is written to its capacity is full" a 0 fu
check_fails "and takes no more" ENOSPC blkio write $d/a $capacity 8 9
is "refusals are counted" "$(stat_of a zone_refused)" 4
is "and are no errors" "$(stat_of a errors)" 0
clean "written" a

# --- states and limits ----------------------------------------------------------------------------------

check "a zone is closed" on close a 1
zone_is "and is" a 1 cl 8
check "zones are opened" eval 'on open a 2 && on open a 3 && on open a 4'
zone_is "and are" a 2 oe 0
check_fails "not more than may be" "Too many references" on open a 5
check_fails "nor by writing" ETOOMANYREFS blkio write $d/a $((zone + 8)) 8 9
check "an open one that is empty is closed again" on close a 2
zone_is "and empty" a 2 em 0
check "and gives its place to another one" blkio write $d/a $((zone + 8)) 8 3 -- write $d/a $((5 * zone)) 8 5 -- \
	write $d/a $((6 * zone)) 8 6
zone_is "an implicitly open one was closed for it" a 1 cl 16
check_fails "active ones have their limit, too" EOVERFLOW blkio write $d/a $((7 * zone)) 8 9
check "one is finished" on finish a 6
zone_is "and full" a 6 fu
check "with what it had, and zeroes" blkio verify $d/a $((6 * zone)) 8 6 -- verify $d/a $((6 * zone + 8)) 504 0
check "so there is room for another active one" blkio write $d/a $((7 * zone)) 8 7
echo 1 >$trace/events/nameless/nameless_zone/enable
check "one is reset" on reset a 6
check_fails "another is refused" ENOSPC blkio write $d/a 0 8 9
echo 0 >$trace/events/nameless/nameless_zone/enable
zone_is "and is empty" a 6 em 0
check "its data is gone" blkio verify $d/a $((6 * zone)) $zone 0
matches "a trace has what was asked of zones" "$(<$trace/trace)" \
	'nameless_zone: [0-9]+,[0-9]+ op=reset zone=6 state=empty pointer=0 err=0.*op=write zone=0 state=full pointer=48 err=-28'
clean "states" a
check "all are reset" blkzone reset $d/a
is "all" "$(blkzone report $d/a | grep -c '(em)')" 16

# --- more than one ----------------------------------------------------------------------------------------

check "fio writes zones and verifies them" fio --name=w --filename=$d/a --direct=1 --zonemode=zbd --rw=randwrite \
	--bs=16k --io_size=2M --verify=crc32c --max_open_zones=3 --randseed="$seed"
check "and several of it at once" fio --filename=$d/a --direct=1 --zonemode=zbd --rw=write --bs=8k --size=1M --io_size=512k \
	--verify=crc32c --ioengine=libaio --iodepth=4 --name=a --offset=0 --name=b --offset=1M --max_open_zones=3
clean "fio" a
nlctl delete a

zoned h 1M max_open=2
check "two write whole zones while zones are opened, closed, reset and reported" side_by_side
clean "side by side" h
nlctl delete h

# --- cuts ---------------------------------------------------------------------------------------------------

zoned b 4M buffer=64
check "a zone is written, flushed, and written on" blkio write $d/b 0 128 1 -- flush $d/b -- write $d/b 128 64 2 -- \
	verify $d/b 128 64 2
check "the power is cut" nlctl cut b
zone_is "the write pointer is behind what was flushed" b 0 cl 128
check "that is there, and nothing else" blkio verify $d/b 0 128 1 -- verify $d/b 128 384 0
check "the zone goes on there" blkio write $d/b 128 64 3 -- fua $d/b 192 8 4 -- write $d/b 200 8 5
nlctl cut b
zone_is "FUA lasts, and what is before it" b 0 cl 200
check "as it was written" blkio verify $d/b 0 128 1 -- verify $d/b 128 64 3 -- verify $d/b 192 8 4 -- verify $d/b 200 312 0
for tear in not error blank; do
	nlctl cut b --after 5 --tear $tear
	check_fails "a write is cut: $tear" "EIO" blkio fua $d/b 200 128 6
	check "the power is back" nlctl power b on
	clean "after that" b
	is "the zone ends with what was done of it" "$(nothing_torn)" ok
	check "it is reset and written again" eval 'on reset b 0 && blkio fua $d/b 0 128 1 -- fua $d/b 128 64 3 -- fua $d/b 192 8 4'
done
check "a zone is full" blkio write $d/b $zone $capacity 7 -- write $d/b $((2 * zone)) 8 8
check "it is saved" nlctl save b /tmp/zones.img
nlctl delete b
check "and loaded as another one" nlctl load c /tmp/zones.img
wait_for 10 test -b $d/c
zone_is "with its full zones" c 1 fu
zone_is "and those with less" c 2 cl 8
check "and what is in them" blkio verify $d/c 0 128 1 -- verify $d/c $zone $capacity 7
clean "loaded" c
nlctl delete c

# --- flash that is worn out ---------------------------------------------------------------------------------

zoned e 1M endurance=3
check "flash is worn out, zone by zone" worn_out
clean "worn out" e
check_fails "what is offline can't be read" EIO blkio verify $d/e 0 8 0
check "all is reset, but what can't be" blkzone reset $d/e
nlctl delete e

# --- zonefs -------------------------------------------------------------------------------------------------

zoned f 4M max_active=6
python3 -c '
import struct, sys, zlib
s = struct.pack("<II64s16sQIII", 0x5a4f4653, 0, b"zones", b"0123456789abcdef", 0, 0, 0, 0o640).ljust(4096, b"\0")
sys.stdout.buffer.write(s[:4] + struct.pack("<I", zlib.crc32(s) ^ 0xffffffff) + s[8:])' >/tmp/super
check "zone 0 gets a super block" eval 'dd if=/tmp/super of=$d/f bs=4096 oflag=direct status=none && on finish f 0'
# What is there at first is written beneath it: synchronous writes to files fail with some 6.1, whose zonefs takes its own
# append for another's. Asynchronous ones it writes where its pointer is.
dd if=/dev/urandom of=/tmp/data bs=64K count=3 status=none
check "a zone is filled" dd if=/tmp/data of=$d/f bs=64K seek=4 oflag=direct status=none
check "and another one in part" dd if=/tmp/data of=$d/f bs=64K seek=24 count=1 oflag=direct status=none
mkdir -p /mnt/zones
check "zonefs is mounted" mount -t zonefs $d/f /mnt/zones
is "with a file for each zone" "$(stat -c %s /mnt/zones/seq)" 15
is "as long as what is in it" "$(stat -c %s /mnt/zones/seq/{0,5,6} | tr '\n' ' ')" "196608 65536 0 "
check "its content is read" cmp /tmp/data /mnt/zones/seq/0
check "and that of the other one" cmp -n 65536 /tmp/data /mnt/zones/seq/5
check "one is emptied" truncate -s 0 /mnt/zones/seq/0
zone_is "by a reset" f 1 em 0
check "one is filled up" truncate -s 196608 /mnt/zones/seq/5
zone_is "which finishes it" f 6 fu
check_fails "a write in the middle is refused" "Invalid argument" \
	dd if=/tmp/data of=/mnt/zones/seq/1 bs=4K seek=20 count=1 oflag=direct conv=notrunc status=none
into_file() {
	fio --name=z --filename="/mnt/zones/seq/$1" --allow_file_create=0 --create_on_open=0 --file_append=1 --unlink=0 --fallocate=none \
		--rw=write --bs=16k --size=128k --direct=1 --ioengine=libaio --iodepth=4 --verify=crc32c --verify_fatal=1 --randseed="$seed" \
		--output=/tmp/zones.out || { cat /tmp/zones.out; return 1; }
}
check "a file is written without waiting, and read" into_file 2
is "it is as long as that" "$(stat -c %s /mnt/zones/seq/2)" 131072
zone_is "so is what is written of its zone" f 3 oi 256
synchronous="Debian's 6.1 takes its own append for another's"
if [[ $(uname -r) == 6.1.* ]]; then
	skip "a file is appended to" "$synchronous"
else
	check "a file is appended to" dd if=/tmp/data of=/mnt/zones/seq/2 bs=64K count=1 oflag=direct,append conv=notrunc status=none
	is "and longer" "$(stat -c %s /mnt/zones/seq/2)" 196608
	check "with what was appended" cmp -i 0:131072 -n 65536 /tmp/data /mnt/zones/seq/2
fi
umount /mnt/zones
nlctl cut f
check "after a cut it is mounted again" mount -t zonefs $d/f /mnt/zones
is "what was reset and finished is so" "$(stat -c %s /mnt/zones/seq/{0,5} | tr '\n' ' ')" "0 196608 "
check "with what there was" cmp -n 65536 /tmp/data /mnt/zones/seq/5
check "and what was written" [ "$(stat -c %s /mnt/zones/seq/2)" -ge 131072 ]
umount /mnt/zones
clean "zonefs" f
nlctl delete f

# --- btrfs --------------------------------------------------------------------------------------------------

btrfs_on_zones() {
	# shellcheck disable=SC2086
	make g 320M ftl=zoned $quick
	# mkfs.btrfs looks for zones in sysfs by the name of the node, where the slash of this one is an exclamation mark.
	dmsetup create zones --table "0 $(sectors $d/g) linear $d/g 0"
	check "btrfs is made on zones of 2.5 MiB in 4" mkfs.btrfs -q -K -O zoned -d single -m single /dev/mapper/zones
	check "and mounted" mount -t btrfs /dev/mapper/zones /mnt/zones
	dd if=/dev/urandom of=/tmp/data bs=1M count=6 status=none
	check "a file is written" cp /tmp/data /mnt/zones/file
	umount /mnt/zones
	nlctl cut g
	check "after a cut it is mounted again" mount -t btrfs /dev/mapper/zones /mnt/zones
	check "and has it" cmp /tmp/data /mnt/zones/file
	check "another one is written" cp /tmp/data /mnt/zones/more
	check "and all is scrubbed" btrfs scrub start -B /mnt/zones
	umount /mnt/zones
	dmsetup remove zones
	clean "btrfs" g
	nlctl delete g
}

if modprobe -q btrfs || grep -qw btrfs /proc/filesystems; then
	btrfs_on_zones
else
	skip "btrfs on zones" "this kernel has no btrfs"
fi
check "the module is unloaded" rmmod nameless
done_testing
