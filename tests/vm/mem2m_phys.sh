#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: reserved memory and pmem, whose content survives
# kernels: 6.1 6.12 debug
# timeout: 120
# memory: 2G
# append: memmap=384M$1G memmap=320M!1408M memmap=4M$96G
#
# 384 MiB of reserved memory at 1 GiB, and 320 MiB behind it that nd_pmem takes; of which little
# is used but for xfs, as machines are slow. 4 MiB at 96 GiB, where there is no memory, nor behind them.
. tests/vm/lib.sh

conf=/sys/kernel/config/mem2m
modprobe mem2m || die "no mem2m"
modprobe -q nd_e820
modprobe -q nd_pmem
wait_for 20 test -b /dev/pmem0 || die "no /dev/pmem0"
d=/dev/mem2m
here="--phys 0x40000000"
mkdir -p /tmp/mnt

info() {
	local key value
	while read -r key value; do [ "$key" != "$2" ] || { echo "$value"; return; }; done <"$conf/$1/info"
	return 1
}

# make NAME SIZE...: and wait for its node
make() { mem2mctl create "$@" && wait_for 10 test -b "$d/$1"; }
again() { mem2mctl delete "$1" && make "$@"; }
trace=/sys/kernel/tracing
beneath=$(tr : , </sys/block/pmem0/dev)

# survives NAME SIZE WHERE...: what both kinds have in common
survives() {
	local name=$1 kind=$2 size=$3 sectors power=0
	[ "$kind" = reserved ] || power=1
	shift 3
	check "$kind: a device" make "$name" "$size" "$@"
	is "$kind: list says that its content survives, and that it was not there before" \
		"$(info "$name" survives) $(info "$name" found)" "1 0"
	is "$kind: and whether the power takes it" "$(info "$name" power)" $power
	sectors=$(blockdev --getsz "$d/$name")
	check "$kind: it begins as zeroes" blkio verify "$d/$name" 0 "$sectors" 0
	check "$kind: what is written is read" blkio write "$d/$name" 0 "$sectors" "$seed" -- \
		verify "$d/$name" 0 "$sectors" "$seed"
	check "$kind: FUA, flush, discard, write-zeroes" blkio fua "$d/$name" 8 8 2 -- flush "$d/$name" -- \
		discard "$d/$name" 16 8 -- zero "$d/$name" 24 8 -- verify "$d/$name" 8 8 2 -- verify "$d/$name" 16 16 0
	check "$kind: reads and writes that must not block" blkio nowait-write "$d/$name" 40 8 3 -- \
		nowait "$d/$name" 40 8 -- verify "$d/$name" 40 8 3
	blkio write "$d/$name" 0 64 "$seed"
	is "$kind: it asks for flushes" "$(<"/sys/block/mem2m!$name/queue/write_cache") $(
		<"/sys/block/mem2m!$name/queue/fua")" "write back 1"

	fio --name=v --filename="$d/$name" --rw=randrw --bsrange=512-64k --bs_unaligned=0 --size=4M --direct=1 --ioengine=psync \
		--verify=crc32c --verify_fatal=1 --norandommap=0 --randseed="$seed" --output=/tmp/fio
	is "$kind: fio finds what it wrote" "$? $(grep -c 'err= 0' /tmp/fio)" "0 1"
	blkio write "$d/$name" 0 "$sectors" "$seed"

	check "$kind: deleted, and created anew" again "$name" "$size" "$@"
	is "$kind: it was found" "$(info "$name" found)" 1
	check "$kind: with its content" blkio verify "$d/$name" 0 "$sectors" "$seed"
	mem2mctl delete "$name"
	rmmod mem2m
	check "$kind: the module unloaded and loaded again" make "$name" "$size" "$@"
	check "$kind: the content is still there" blkio verify "$d/$name" 0 "$sectors" "$seed"

	check "$kind: it shrinks" mem2mctl resize "$name" 1M
	check "$kind: and is found so" eval "again $name $size $* && [ \$(blockdev --getsz $d/$name) = 2048 ]"
	check "$kind: it grows, with zeroes behind its content" eval "mem2mctl resize $name $((sectors / 2))K &&
		blkio verify $d/$name 0 2048 $seed -- verify $d/$name 2048 $((sectors - 2048)) 0"
	check_fails "$kind: but not beyond its memory" "has room for $((sectors * 512)) bytes" \
		mem2mctl resize "$name" $((sectors / 2 + 4))K
	mem2mctl delete "$name"

	check_fails "$kind: by another name it is refused" "$name is there; --force" mem2mctl create other "$size" "$@"
	check "$kind: unless --force says so" make other "$size" "$@" --force
	check "$kind: then it is new" eval "[ \$(info other found) = 0 ] && blkio verify $d/other 0 2048 0"
	mem2mctl delete other
}

# bad NAME KIND: ranges that are known to be bad
bad() {
	echo "1024 8" >"/sys/block/mem2m!$1/badblocks"
	check_fails "$2: reading bad memory is an error" EIO blkio verify "$d/$1" 1024 8 0
	check "$2: what is beside it can be read" blkio verify "$d/$1" 1016 8 0 -- verify "$d/$1" 1032 8 0
}

# on_dax NAME KIND FS MKFS...: a file system whose files are mapped from the memory
on_dax() {
	local name=$1 kind=$2 fs=$3
	shift 3
	check "$kind: $fs -o dax" eval "$* $d/$name >/dev/null && mount -t $fs -o dax $d/$name /tmp/mnt"
	check "$kind: $fs: a file is mapped with MAP_SYNC" daxmap write /tmp/mnt/f 4 "$seed"
	check "$kind: $fs: direct I/O out of the mapping" eval "daxmap out /tmp/mnt/f 4 /dev/emudisk/sink &&
		dd if=/tmp/mnt/f bs=1M status=none | cmp -n 4194304 - /dev/emudisk/sink"
	check_fails "$kind: $fs: mounted it is not deleted" "is open" mem2mctl delete "$name"
	umount /tmp/mnt
}

# Who is told that its memory goes away takes it out of page tables; XFS needs to know whose each block is for that.
taken_away() {
	local watching
	mkfs.xfs -q -f -m reflink=0,rmapbt=1 $d/big
	mount -t xfs -o dax $d/big /tmp/mnt && daxmap write /tmp/mnt/f 4 "$seed"
	daxmap watch /tmp/mnt/f 4 "$seed" >/tmp/watch &
	watching=$!
	check "pmem: xfs: a file is mapped" wait_for 20 grep -q mapped /tmp/watch
	echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind
	check "pmem: xfs: whose memory is taken away is no longer mapped" wait_for 20 grep -q "taken away" /tmp/watch
	check_fails "pmem: xfs: and can't be read" "Input/output error" cat /tmp/mnt/f
	kill $watching 2>/dev/null
	wait $watching
	check "pmem: xfs: it can be unmounted" umount /tmp/mnt
	check "pmem: xfs: and its device deleted" mem2mctl delete big
	echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/bind
	wait_for 10 test -b /dev/pmem0
}

disk sink 4M

# --- reserved memory --------------------------------------------------------------------------------

survives log reserved 32M $here
check_fails "reserved: the kernel's own RAM is refused" "kernel's own RAM" mem2mctl create x 64M --phys 512M
check_fails "reserved: and what is no memory" "not memory that was set aside" mem2mctl create x 64M --phys 64G
check_fails "reserved: and half of both" "kernel's own RAM" mem2mctl create x 64M --phys $((1024 - 32))M
check_fails "reserved: and what is followed by nothing at all" "not memory that was set aside" \
	mem2mctl create x 4M --phys $((96 * 1024 + 2))M
check_fails "reserved: odd addresses are refused" "multiples of 2M" mem2mctl create x 64M --phys 0x40001000
make log 32M $here --force
check_fails "reserved: a range in use is refused, with its owner's name" "in use by mem2m log" mem2mctl create x 64M $here
check_fails "reserved: also when that is another driver" "in use by .*namespace0.0" mem2mctl create x 64M --phys 1408M
bad log reserved
again log 32M $here
on_dax log reserved ext4 mkfs.ext4 -q -F -b 4096
mount -o dax $d/log /tmp/mnt
block=$(filefrag -v /tmp/mnt/f | sed -n 's/^ *0: .* \([0-9]\+\)\.\. .*/\1/p')
echo "$((block * 8)) 8" >'/sys/block/mem2m!log/badblocks'
check_fails "reserved: ext4: a write to bad memory is an error" "Input/output error" \
	dd if=/dev/zero of=/tmp/mnt/f bs=4096 count=1 conv=notrunc
umount /tmp/mnt
again log 32M $here	# and nothing is known any more
check "reserved: a mapped file is there after the device was gone" eval "mount -o dax $d/log /tmp/mnt &&
	daxmap verify /tmp/mnt/f 4 $seed; umount /tmp/mnt"
check "reserved: a dm target on it passes DAX on" eval "n=\$(blockdev --getsz $d/log) &&
	pool t \"0 \$n mem2m log 0\" && mount -o dax /dev/mapper/t /tmp/mnt && daxmap verify /tmp/mnt/f 4 $seed;
	umount /tmp/mnt"
remove_pool t
mem2mctl delete log
if modprobe -q xfs; then
	make big 320M --phys 1088M		# xfs wants 300M
	on_dax big reserved xfs mkfs.xfs -q -f -m reflink=0
	mem2mctl delete big
else
	skip "reserved: xfs -o dax" "this kernel has no xfs"
fi

# A creation over what was there that is interrupted: none of that is a new device's content.
busy() {
	local key value
	{ read -r key value <$conf/whole/info; } 2>/dev/null && [ "$value" = busy ]
}
make whole 384M $here --force
blkio write $d/whole 400000 1024 "$seed"
mem2mctl delete whole
interrupt_once busy mem2mctl create whole 384M $here --force
is "reserved: a creation can be interrupted while it zeroes" "$interrupted" "1 mem2mctl: interrupted"
check "reserved: the next one begins anew" make whole 384M $here
check "reserved: with nothing of what was there" eval "[ \$(info whole found) = 0 ] && blkio verify $d/whole 400000 1024 0"
# One that grows, with much to be zeroed, is there all the same.
asked_meanwhile() {
	local growing tries
	for ((tries = 0; tries < 50; tries++)); do
		mem2mctl resize whole 4M
		mem2mctl resize whole 368M &
		growing=$!
		until busy || ! kill -0 $growing 2>/dev/null; do :; done
		! dmsetup create asks --table "0 8 mem2m whole 0" 2>/dev/null || dmsetup remove asks
		wait $growing
		! dmesg | grep -q "mem2m: the memory device is being changed" || return 0
	done
	return 1
}
check "reserved: a target on one that is being resized says so" asked_meanwhile
mem2mctl resize whole 4M
interrupt_once busy mem2mctl resize whole 368M
is "reserved: growing can be interrupted" "$interrupted" "1 mem2mctl: interrupted"
check "reserved: what isn't zeroed yet is not there when it is made again" eval "again whole 384M $here &&
	[ \$(blockdev --getsz $d/whole) = 8192 ]"
mem2mctl delete whole
check_fails "reserved: no units" "unit is for ordinary RAM: --phys and --dax are one piece" \
	mem2mctl create whole 384M $here --unit 2M
mkdir $conf/whole
check_fails "reserved: nor by another way" . eval "echo 384M unit=2M phys=0x40000000 >$conf/whole/create"
is "reserved: which says so" "$(<$conf/whole/error)" "unit is for ordinary RAM: this memory is one piece"
rmdir $conf/whole
make log 32M $here --force
mem2mctl resize log 16M
echo "40960 1" >'/sys/block/mem2m!log/badblocks'
check_fails "reserved: nothing grows over bad memory" "bad memory behind its end" mem2mctl resize log 24M
check "reserved: up to it, it does" eval "mem2mctl resize log 20M && blkio verify $d/log 32768 8192 0"
again log 32M $here --force
mem2mctl delete log

# zeroes FILE FROM BYTES: there is nothing
zeroes() { dd if="$1" bs=512 skip=$(($2 / 512)) count=$(($3 / 512)) status=none | cmp -n "$3" - /dev/zero; }

# One copy of the label damaged, then both, then something else in its place: /dev/mem is for reserved memory.
poke() { dd if="$1" of=/dev/mem bs=1 count="$2" seek=$((0x40000000 + $3)) conv=notrunc status=none; }
check "reserved: with one label damaged it is found" eval "poke /dev/urandom 64 16 && make log 32M $here &&
	[ \$(info log found) = 1 ]"
mem2mctl delete log
check "reserved: and with the other one" eval "poke /dev/urandom 64 $((32768 + 16)) && make log 32M $here &&
	[ \$(info log found) = 1 ]"
mem2mctl delete log
poke /dev/urandom 64 16
poke /dev/urandom 64 $((32768 + 16))
check_fails "reserved: with both it is refused" "damaged mem2m label is there; --force" mem2mctl create log 32M $here
poke /dev/urandom 8 0
poke /dev/urandom 8 32768
check_fails "reserved: what is foreign is refused" "isn't blank and has no label; --force" mem2mctl create log 32M $here
check "reserved: --force takes it" make log 32M $here --force
check "reserved: as zeroes" blkio verify $d/log 0 2048 0
check_fails "reserved: its size has to be given again" "log is there in 33554432 bytes" eval "mem2mctl delete log &&
	mem2mctl create log 30M $here"

# What is in the middle of a range, or begins before it, when nothing but the memory knows of it.
make mid 16M --phys 1216M
blkio write $d/mid 0 4096 "$seed"
mem2mctl delete mid
rmmod mem2m
check_fails "reserved: a device within the range is not overwritten" "mem2m mid is there, at 0x4c000000; --force" \
	mem2mctl create x 64M --phys 1184M
check_fails "reserved: nor one that reaches into it" "mem2m mid at 0x4c000000 reaches into it; --force" \
	mem2mctl create x 16M --phys 1224M
modprobe scmfs || die "no scmfs"
expect_refused "reserved: nor by a file system" "scmfs: mem2m mid is there, at 0x4c000000; init=force" \
	mount -t scmfs -o phys=1184M,size=64M,init none /tmp/mnt
expect_refused "reserved: nor by one that it reaches into" "scmfs: mem2m mid at 0x4c000000 reaches into it; init=force" \
	mount -t scmfs -o phys=1224M,size=16M,init none /tmp/mnt
check "reserved: it is there" eval "make mid 16M --phys 1216M && [ \$(info mid found) = 1 ] &&
	blkio verify $d/mid 0 4096 $seed"
mem2mctl delete mid
# Whose end is overwritten by force is not found again: its label is whole, its data is another's. The one before that, which
# has a copy of such a label in its data, ends before, and is not touched.
check "reserved: --force takes the end of a device" eval "dd if=/dev/mem of=/tmp/head bs=4k count=16 skip=$((0x4c000)) status=none &&
	make low 32M --phys 1184M && dd if=/tmp/head of=$d/low bs=64k seek=$((26 * 16)) conv=fsync status=none &&
	mem2mctl delete low && make x 16M --phys 1224M --force"
blkio write $d/x 0 4096 "$seed"
mem2mctl delete x
check_fails "reserved: which is not found again" "isn't blank and has no label" mem2mctl create mid 16M --phys 1216M
check "reserved: a copy of its label in another's data is left" eval "make low 32M --phys 1184M && [ \$(info low found) = 1 ] &&
	cmp -n 65536 -i $((26 << 20)):0 $d/low /tmp/head"
mem2mctl delete low
check "reserved: what took its end is there" eval "make x 16M --phys 1224M && [ \$(info x found) = 1 ] && blkio verify $d/x 0 4096 $seed"
mem2mctl delete x
check "reserved: a file system by force takes the end of a device, too" eval "make mid 16M --phys 1216M --force && mem2mctl delete mid &&
	mount -t scmfs -o phys=1224M,size=16M,init=force none /tmp/mnt && umount /tmp/mnt"
check_fails "reserved: nor is that found again" "isn't blank and has no label" mem2mctl create mid 16M --phys 1216M
dd if=/dev/zero of=/dev/mem bs=1M seek=1184 count=64 conv=notrunc status=none
make mid 16M --phys 1216M
mem2mctl delete mid
check "reserved: what is beside it is free" eval "make x 16M --phys 1232M && mem2mctl delete x && make x 32M --phys 1184M"
mem2mctl delete x
check "reserved: --force takes a range with a device in it" make x 64M --phys 1184M --force
mem2mctl delete x
check "reserved: of which nothing is left" eval "make mid 16M --phys 1216M --force && [ \$(info mid found) = 0 ] &&
	blkio verify $d/mid 0 4096 0"
mem2mctl delete mid
# Nor of what began before the data of the new one, where struct pages are put in part of the memory only.
make old 16M --phys 1026M --force
mem2mctl delete old
check "reserved: --force takes a range that begins with another device's" make whole 128M $here --force
mem2mctl delete whole
check_fails "reserved: which is not found again" "isn't blank" \
	mem2mctl create old 16M --phys 1026M
poke /dev/urandom 64 $((1 << 20))
make whole 32M $here --force
mem2mctl delete whole
check "reserved: there is nothing but labels before the data" eval "zeroes /dev/mem 0x40000200 32256 &&
	zeroes /dev/mem 0x40008200 $((0x200000 - 0x8200))"

if grep -qw disk /sys/power/state && [ -w /sys/power/pm_test ] && [ -e /dev/snapshot ]; then
	make old 16M --phys 1216M --force
	echo freezer >/sys/power/pm_test
	hibernate() { echo disk >/sys/power/state; }
	expect_refused "reserved: no hibernation beside a device" "mem2m old: reserved memory is not in the image" hibernate
	check "reserved: suspend to RAM isn't refused" eval "echo mem >/sys/power/state"
	mem2mctl delete old
	check "reserved: beside none there is" hibernate
	exec {image}</dev/snapshot	# by a program, which has begun with that
	check_fails "reserved: during it none is made" "hibernation has begun" mem2mctl create old 16M --phys 1216M
	exec {image}<&-
	check "reserved: after it one is" make old 16M --phys 1216M
	mem2mctl delete old
	echo none >/sys/power/pm_test
else
	skip "reserved: hibernation" "this kernel has none, or no tests of it"
fi

check "reserved: a file system by force" eval "mount -t scmfs -o phys=1184M,size=64M,init=force none /tmp/mnt &&
	echo hello >/tmp/mnt/f && umount /tmp/mnt"
check_fails "reserved: is not overwritten from before it" "an scmfs file system is there, at 0x4a200000; --force" \
	mem2mctl create x 64M --phys 1152M
check_fails "reserved: nor from within it" "an scmfs file system at 0x4a200000 reaches into it; --force" \
	mem2mctl create mid 16M --phys 1200M
check "reserved: it is there" eval "mount -t scmfs -o phys=1184M,size=64M none /tmp/mnt && [ \$(</tmp/mnt/f) = hello ]"
umount /tmp/mnt
check "reserved: and gives way to another one without force" mount -t scmfs -o phys=1184M,size=64M,init none /tmp/mnt
umount /tmp/mnt
poke /dev/urandom 8 $((0xa200000 + 100))
check_fails "reserved: nor from within it when its super block is damaged, and may be repaired" \
	"an scmfs file system at 0x4a200000 doesn't say how far it reaches; --force" mem2mctl create mid 16M --phys 1200M
expect_refused "reserved: nor by a file system then" \
	"scmfs: an scmfs file system at 0x4a200000 doesn't say how far it reaches; init=force" \
	mount -t scmfs -o phys=1200M,size=16M,init none /tmp/mnt
check "reserved: unless --force says so" eval "make mid 16M --phys 1200M --force && mem2mctl delete mid"
check_fails "reserved: into what is behind that, and may be data of it, not even by force" \
	"mem2m mid at 0x4b000000 reaches into it, if it isn't data of what is before that" \
	mem2mctl create x 16M --phys 1208M --force
expect_refused "reserved: nor by a file system" "scmfs: mem2m mid at 0x4b000000 reaches into it, if it isn't" \
	mount -t scmfs -o phys=1208M,size=16M,init=force none /tmp/mnt
check "reserved: and nothing of it is overwritten" eval "make mid 16M --phys 1200M && [ \$(info mid found) = 1 ] &&
	blkio verify $d/mid 0 4096 0 && mem2mctl delete mid"
check "reserved: the same within a device's data" eval "dd if=/dev/mem of=/tmp/head bs=4k count=16 skip=$((0x4a200)) status=none &&
	make low 64M --phys 1152M --force && dd if=/tmp/head of=$d/low bs=64k seek=512 conv=fsync status=none"	# 2 MiB are low's own
check "reserved: which keeps nobody from what lies behind it" eval "dd if=/dev/zero of=/dev/mem bs=1M seek=1216 count=16 conv=notrunc status=none &&
	make above 16M --phys 1216M && mem2mctl delete above"
mem2mctl delete low
rmmod scmfs

# --- pmem -------------------------------------------------------------------------------------------

survives log2 pmem 16M --dax /dev/pmem0
make log2 16M --dax /dev/pmem0 --force
if [ -d $trace/events/block/block_bio_queue ]; then
	echo 1 >$trace/events/block/block_bio_queue/enable
	blkio flush $d/log2 -- fua $d/log2 0 8 "$seed"
	echo 0 >$trace/events/block/block_bio_queue/enable
	is "pmem: a flush, and a synchronous write (FUA and a flush), have the device beneath flush" \
		"$(grep -c " $beneath F" $trace/trace)" 3
else
	skip "pmem: a flush, and a synchronous write (FUA and a flush), have the device beneath flush" "this kernel has no tracepoints"
fi
bad log2 pmem
check_fails "pmem: a device in use is refused, with its owner's name" "in use by mem2m log2" \
	mem2mctl create x 64M --dax /dev/pmem0
# Sector 4096 + 100 of what is beneath, where data begins at 2 MiB.
mem2mctl delete log2
echo "4196 1" >/sys/block/pmem0/badblocks
check "pmem: with bad memory beneath it is found" make log2 16M --dax /dev/pmem0
check_fails "pmem: which can't be read" EIO blkio verify $d/log2 100 1 0
check "pmem: nothing but the page of it" blkio verify $d/log2 88 8 0 -- verify $d/log2 104 8 0
is "pmem: it is in the list" "$(<'/sys/block/mem2m!log2/badblocks')" "96 8"
mem2mctl delete log2
check_fails "pmem: a new one is not made over it" "/dev/pmem0: bad memory at byte 2146304" \
	mem2mctl create log2 16M --dax /dev/pmem0 --force
echo "16 1" >/sys/block/pmem0/badblocks		# between the labels
echo "64 1" >/sys/block/pmem0/badblocks		# the second one
check "pmem: with a label in bad memory it is found by the other one" eval "make log2 16M --dax /dev/pmem0 &&
	[ \$(info log2 found) = 1 ]"
check_fails "pmem: which is not changed while it is the only one" "a copy of its label is in bad memory" mem2mctl resize log2 8M
mem2mctl delete log2
check_fails "pmem: a new one is not made without the other" "bad memory at byte 32768, where a label would be" \
	mem2mctl create log2 16M --dax /dev/pmem0 --force
echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind	# which forgets what it was told
check "reserved: what the kernel takes for persistent has no power to lose" eval "make log2 16M --phys 1408M --force &&
	[ \$(info log2 power) = 1 ] && mem2mctl delete log2"
echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/bind
wait_for 10 test -b /dev/pmem0
make log2 16M --dax /dev/pmem0 --force
again log2 16M --dax /dev/pmem0
on_dax log2 pmem ext4 mkfs.ext4 -q -F -b 4096
again log2 16M --dax /dev/pmem0
check "pmem: a mapped file is there after the device was gone" eval "mount -o dax $d/log2 /tmp/mnt &&
	daxmap verify /tmp/mnt/f 4 $seed; umount /tmp/mnt"
mem2mctl delete log2
if modprobe -q xfs; then
	make big 310M --dax /dev/pmem0 --force		# xfs wants 300M
	on_dax big pmem xfs mkfs.xfs -q -f -m reflink=0
	if [ "$(printf '%s\n' 6.7 "$(uname -r)" | sort -V | head -n 1)" = 6.7 ]; then
		taken_away
	else
		# Its XFS keeps entries for pages that are gone, and would be an oops when it is unmounted.
		skip "pmem: xfs: whose memory is taken away" "before 6.7 file systems are not prepared for that"
	fi
	[ ! -e /sys/block/mem2m!big ] || mem2mctl delete big
else
	skip "pmem: xfs -o dax" "this kernel has no xfs"
fi

# Partitions: at 3 MiB, 32 MiB, and at 35 MiB.
blkio zero /dev/pmem0 0 6144
addpart /dev/pmem0 1 6144 65536
addpart /dev/pmem0 2 71680 65536
wait_for 10 test -b /dev/pmem0p2
check "pmem: a device on a partition" make part 16M --dax /dev/pmem0p1 --force
check "pmem: what is written there" blkio write $d/part 0 28672 "$seed" -- flush $d/part -- verify $d/part 0 28672 "$seed"
check "pmem: is in the partition" cmp <(dd if=$d/part bs=1M count=14 iflag=direct status=none) \
	<(dd if=/dev/pmem0 bs=1M skip=5 count=14 iflag=direct status=none)
check_fails "pmem: the memory has one user, whatever part that has" "another part of its memory is in use by mem2m part" \
	mem2mctl create other 16M --dax /dev/pmem0p2
on_dax part "pmem, a partition" ext4 mkfs.ext4 -q -F -b 4096
again part 16M --dax /dev/pmem0p1
check "pmem: a mapped file on a partition is there after the device was gone" eval "mount -o dax $d/part /tmp/mnt &&
	daxmap verify /tmp/mnt/f 4 $seed; umount /tmp/mnt"
mem2mctl delete part
check "pmem: then the other partition can be had" make other 16M --dax /dev/pmem0p2 --force
mem2mctl delete other
delpart /dev/pmem0 1
delpart /dev/pmem0 2
check_fails "pmem: what was on a partition is not overwritten" "mem2m part is there, at 0x300000; --force" \
	mem2mctl create log2 32M --dax /dev/pmem0
make log2 16M --dax /dev/pmem0 --force

# Somebody who reads all the time finds it gone, and not half way through a copy.
while dd if=$d/log2 of=/dev/null bs=1M iflag=direct; do echo; done >/tmp/dd 2>&1 &
reading=$!
check "pmem: a reader" wait_for 10 grep -q copied /tmp/dd
echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind
check "pmem: whose memory is taken away ends" wait_for 20 eval "! kill -0 $reading 2>/dev/null"
matches "pmem: with an error" "$(</tmp/dd)" "Input/output error"
check_fails "pmem: a device whose memory is taken away fails" EIO blkio verify $d/log2 0 8 0
check "pmem: and is deleted" mem2mctl delete log2
echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/bind
wait_for 10 test -b /dev/pmem0
make log2 16M --dax /dev/pmem0
exec {open}<>$d/log2
rmdir $conf/log2
blkio fua $d/log2 0 8 "$seed"
exec {open}<&-
check "pmem: a device without a directory goes with its last user" wait_for 10 mem2mctl create log2 16M --dax /dev/pmem0
mem2mctl delete log2
check_fails "pmem: more than there is" "/dev/pmem0 has" mem2mctl create x 1G --dax /dev/pmem0
check_fails "pmem: what is no pmem" "is not a pmem device" mem2mctl create x 4M --dax /dev/emudisk/sink
check_fails "pmem: what is no device" "can't be opened" mem2mctl create x 8M --dax /dev/null
check "pmem: a mounted one is refused, with the place" eval "mkfs.ext4 -q -F /dev/pmem0 && mount /dev/pmem0 /tmp/mnt"
check_fails "pmem: that is where" "in use mounted at /tmp/mnt" mem2mctl create x 64M --dax /dev/pmem0
umount /tmp/mnt
check_fails "pmem: a file system is not overwritten" "isn't blank" mem2mctl create x 64M --dax /dev/pmem0
check "pmem: unless --force says so" make x 16M --dax /dev/pmem0 --force
mem2mctl delete x
check "pmem: nothing but labels is before the data" eval "zeroes /dev/pmem0 512 32256 &&
	zeroes /dev/pmem0 $((0x8200)) $((0x200000 - 0x8200))"

# What somebody has written to the device without taking it, and is still in the page cache.
exec {cached}<>/dev/pmem0
for at in 0 64; do dd if=/dev/urandom of=/dev/pmem0 bs=64k count=1 seek=$at conv=notrunc status=none; done
make x 16M --dax /dev/pmem0 --force
blkio write $d/x 0 8192 "$seed"
sync
check "pmem: what was in the page cache isn't written over the data" blkio verify $d/x 0 8192 "$seed"
cat /dev/pmem0 >/dev/null
blkio write $d/x 0 8192 9
mem2mctl delete x
check "pmem: who reads the device through the page cache sees what is there" eval "cmp -n 6291456 /dev/pmem0 \
	<(dd if=/dev/pmem0 bs=1M count=6 iflag=direct status=none)"
exec {cached}<&-
check "pmem: nor over the label" eval "make x 16M --dax /dev/pmem0 && [ \$(info x found) = 1 ]"
mem2mctl delete x

# The page of a label is taken out of the kernel's map: nothing is stored there any more. Last, as it stays so.
page=/sys/devices/system/memory/hard_offline_page
if [ -w $page ]; then
	make x 16M --dax /dev/pmem0
	echo 0x58000000 >$page 2>/dev/null	# EBUSY: we hold the page
	check "pmem: when a label fails its data is read and written" blkio write $d/x 0 64 3 -- verify $d/x 0 64 3
	check_fails "pmem: it is not resized any more" "at byte 0 a copy of its label is in bad memory" mem2mctl resize x 8M
	check "pmem: but deleted" mem2mctl delete x
else
	skip "pmem: a label that fails while the device is there" "this kernel can't be told of bad memory"
fi
check "the module is unloaded" rmmod mem2m
done_testing
