#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: fio, file systems and all the memory there is
# kernels: 6.1 6.12
# timeout: 60
. tests/vm/lib.sh

modprobe mem2m || die "no mem2m"
d=/dev/mem2m

# make NAME SIZE...: and wait for its node
make() { mem2mctl create "$@" && wait_for 10 test -b "$d/$1"; }

make a 20M --unit 6M
fio --name=v --filename=$d/a --rw=randrw --bsrange=512-64k --bs_unaligned=0 --size=8M --direct=1 --ioengine=psync \
	--verify=crc32c --verify_fatal=1 --norandommap=0 --randseed="$seed" --output=/tmp/fio
is "fio finds what it wrote" "$? $(grep -c 'err= 0' /tmp/fio)" "0 1"

mem2mctl delete a

# --- file systems -----------------------------------------------------------------------------------

make fs 64M --unit 4M
mkdir -p /tmp/mnt
check "ext4" eval 'mkfs.ext4 -q $d/fs && mount $d/fs /tmp/mnt && cp tests/vm/*.sh /tmp/mnt && umount /tmp/mnt &&
	e2fsck -fn $d/fs >/dev/null && mount $d/fs /tmp/mnt && cmp tests/vm/mem2m.sh /tmp/mnt/mem2m.sh'
check_fails "a mounted one is not deleted" "fs is open" mem2mctl delete fs
umount /tmp/mnt
log_mark
check_fails "its memory can't be mapped" "" mount -o dax $d/fs /tmp/mnt
matches "which the kernel log says clearly" "$(log_since)" "DAX unsupported by block device"
check "it is deleted" mem2mctl delete fs

# --- under others -----------------------------------------------------------------------------------

# As LVM does it: a volume of pieces of two physical ones, which are targets here.
make pv0 160M
make pv1 160M
n=$((158 << 11))
lv() {
	pool p0 "0 $((160 << 11)) mem2m pv0 0" && pool p1 "0 $((160 << 11)) mem2m pv1 0" &&
		pool lv "0 $((n * 2)) striped 2 256 /dev/mapper/p0 2048 /dev/mapper/p1 2048"
}
check "a volume over two dm targets" lv
check "what is written across both is at its place" eval 'blkio write /dev/mapper/lv 192 128 "$seed" -- \
	verify /dev/mapper/lv 192 128 "$seed" && cmp <(dd if=/dev/mapper/lv skip=256 count=64 iflag=direct status=none) \
	<(dd if=$d/pv1 skip=2048 count=64 iflag=direct status=none)'
fs=ext4
! modprobe -q xfs || fs=xfs
check "$fs on it" eval 'mkfs -t $fs -q /dev/mapper/lv && mount /dev/mapper/lv /tmp/mnt && cp tests/vm/*.sh /tmp/mnt &&
	umount /tmp/mnt && mount /dev/mapper/lv /tmp/mnt && cmp tests/vm/mem2m.sh /tmp/mnt/mem2m.sh'
check_fails "its memory is not deleted" "pv1 is in use by 1 other driver" mem2mctl delete pv1
umount /tmp/mnt
remove_pool lv
remove_pool p0
remove_pool p1
check "partitions come from a partition table" eval 'blkio zero $d/pv0 0 2048 &&
	{ head -c 446 /dev/zero; printf "\0\0\0\0\x83\0\0\0\0\x08\0\0\0\x10\0\0"; head -c 48 /dev/zero; printf "\x55\xaa"; } >$d/pv0 &&
	blockdev --rereadpt $d/pv0 && wait_for 10 test -b $d/pv0p1 -o -b $d/pv01'
part=$(compgen -G "$d/pv0?*")
is "of the size in it" "$(blockdev --getsz "$part")" 4096
check "at the place in it" eval 'blkio write "$part" 0 64 5 && cmp <(dd if="$part" count=64 iflag=direct status=none) \
	<(dd if=$d/pv0 skip=2048 count=64 iflag=direct status=none)'
check "and go with their device" eval 'mem2mctl delete pv0 pv1 && [ ! -e "/sys/class/block/mem2m!${part##*/}" ]'

# As much as it says there is, and then the same once more.
there=$(mem2mctl create big 100G 2>&1 | grep -o '[0-9]* MiB of RAM' | grep -o '^[0-9]*')
check "all of what it says there is can be had" mem2mctl create big "${there}M" --unit 32M
check_fails "then no more of it" "MiB of RAM" mem2mctl create more $((there / 2))M
check "and given back" mem2mctl delete big

# What others take while it is being made is theirs, and what is left for everybody stays.
available() {
	local key value
	while read -r key value _; do [ "$key" != "$1:" ] || { available=$value; return; }; done </proc/meminfo
}
big_is_made() {
	local key value
	{ read -r key value </sys/kernel/config/mem2m/big/info; } 2>/dev/null && [ "$value" = busy ]
}
available MemTotal
reserve=$((available / 32))
taskset -cp 0 $$ >/dev/null
nice -n 19 mem2mctl create big $((there * 3 / 4))M --unit 2M 2>/tmp/why &
making=$!
until big_is_made; do kill -0 $making || break; done
# the one that is in the machine's memory: while another one starts all of the device may be made
check "while a device is being made others take memory" /run/evenkeel/busybox dd if=/dev/zero of=/tmp/fill bs=1M count=$((there / 2)) status=none
least=$available
while kill -0 $making 2>/dev/null; do
	available MemAvailable
	least=$((available < least ? available : least))
	nap 0.005
done
wait $making
is "what they take it doesn't get" "$? $(sed 's/ [0-9]\+/ N/g' /tmp/why)" "1 mem2mctl: out of memory after N of N MiB"
taskset -cp 0-$(($(nproc --all) - 1)) $$ >/dev/null
# What is free varies by what each CPU keeps for itself; nothing kept back would be near 0.
check "and leaves a 32nd of the RAM" [ $least -gt $((reserve * 3 / 4)) ]
note "$least of $reserve KiB"
check_fails "of it nothing is left" "no device big" mem2mctl list big
rm /tmp/fill

check "the module is unloaded" rmmod mem2m
done_testing
