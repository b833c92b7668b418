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
check "the module is unloaded" rmmod mem2m
done_testing
