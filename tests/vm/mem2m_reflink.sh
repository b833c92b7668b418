#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: memory fails in which XFS has a page of several files
# kernels: 6.1 6.12
# timeout: 90
# memory: 2G
# append: memmap=320M$1G memmap=320M!1344M
#
# Reserved memory, and what nd_pmem takes. Of a page that is shared the kernel's own struct page says no file: only who
# has the file system knows whom to kill.
. tests/vm/lib.sh

modprobe mem2m || die "no mem2m"
modprobe -q nd_e820
modprobe -q nd_pmem
wait_for 20 test -b /dev/pmem0 || die "no /dev/pmem0"
d=/dev/mem2m
mkdir -p /tmp/mnt
modprobe -q xfs || lacks xfs
[ -w /sys/devices/system/memory/hard_offline_page ] || lacks "memory that fails"

# fails KIND WHERE...: a copy that shares its blocks, a store to one of them through a mapping, and that fails
fails() {
	local kind=$1
	shift
	check "$kind: a file system whose files may share blocks" eval "mem2mctl create big $* --force &&
		wait_for 10 test -b $d/big && mkfs.xfs -q -f -m reflink=1,rmapbt=1 $d/big && mount -t xfs -o dax $d/big /tmp/mnt"
	check "$kind: a file and one that shares its blocks" eval "daxmap write /tmp/mnt/f 4 $seed &&
		cp --reflink=always /tmp/mnt/f /tmp/mnt/g"
	log_mark
	check "$kind: who has a page of that mapped is told that it is bad" daxmap poison /tmp/mnt/g 4 "$seed"
	matches "$kind: as the device is" "$(log_since)" "mem2m: big: bad memory at byte"
	check "$kind: the other file is whole" daxmap verify /tmp/mnt/f 4 "$seed"
	check "$kind: it is unmounted, and the device deleted" eval "umount /tmp/mnt && mem2mctl delete big"
}

fails reserved 320M --phys 1G
fails pmem 310M --dax /dev/pmem0

# One part has ext4, which maps without holding the memory; the other XFS, which holds it, and knows its own part alone.
check "two parts: a device" eval "mem2mctl create big 320M --phys 1G --force && wait_for 10 test -b $d/big &&
	addpart $d/big 1 2048 16384 && addpart $d/big 2 18432 618496 && wait_for 10 test -b $d/big2"
check "two parts: ext4, and XFS that answers" eval "mkfs.ext4 -q -F -b 4096 -O ^has_journal $d/big1 && mkdir -p /tmp/ext4 &&
	mount -t ext4 -o dax $d/big1 /tmp/ext4 && mkfs.xfs -q -f -m reflink=0,rmapbt=1 $d/big2 &&
	mount -t xfs -o dax $d/big2 /tmp/mnt && daxmap write /tmp/ext4/f 4 $seed && daxmap write /tmp/mnt/f 4 $seed"
check "two parts: who has a page of ext4 mapped is told that it is bad" daxmap poison /tmp/ext4/f 4 "$seed"
check "two parts: and who has one of XFS" daxmap poison /tmp/mnt/f 4 "$seed"
check "two parts: both are unmounted, and the device deleted" eval "umount /tmp/ext4 /tmp/mnt && mem2mctl delete big"
check "the module is unloaded" rmmod mem2m
done_testing
