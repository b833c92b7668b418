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

# As much as it says there is, and then the same once more.
there=$(mem2mctl create big 100G 2>&1 | grep -o '[0-9]* MiB of RAM' | grep -o '^[0-9]*')
check "nearly all memory can be had" mem2mctl create big $((there * 15 / 16))M --unit 32M
check_fails "then no more of it" "MiB of RAM" mem2mctl create more $((there / 2))M
check "and given back" mem2mctl delete big

check "the module is unloaded" rmmod mem2m
done_testing
