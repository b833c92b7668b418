#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: images that are nearly right
# kernels: debug
# timeout: 90
# append: memmap=32M$512M
. tests/vm/lib.sh

# EVENKEEL_FUZZ_SECONDS: for longer runs by hand
seconds=${EVENKEEL_FUZZ_SECONDS:-20}
m=/tmp/mnt
mkdir -p $m
modprobe scmfs || die "no scmfs"

check "a file system" mount -t scmfs -o phys=512M,size=4M,init=force none $m
mkdir -p $m/dir/below
for ((i = 0; i < 12; i++)); do head -c $((i * 3000)) /dev/urandom >$m/dir/"$i-a-name-that-takes-more-than-a-slot-of-its-directory"; done
ln $m/dir/1-* $m/dir/below/linked
ln -s somewhere $m/link
ln -s "$(printf 'far/%.0s' {1..60})" $m/dir/long
for ((i = 0; i < 40; i += 2)); do dd if=/dev/urandom of=$m/pieces bs=4096 seek=$i count=1 conv=notrunc status=none; done
truncate -s 100M $m/sparse
check "is unmounted" umount $m
check "damage is refused or met with errors" fuzz image "$seconds" "$seed" 0x20000000 0x400000 0x200000
cat "$said"
check "as it was, it is mounted" mount -t scmfs -o phys=512M,size=4M none $m
is "and whole" "$(find $m | wc -l)" 20
umount $m
done_testing
