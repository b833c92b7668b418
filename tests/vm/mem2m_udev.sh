#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: devices on pmem that a file asks for are made by udev when it appears
# kernels: 6.1 6.12
# timeout: 60
# memory: 2G
# append: memmap=64M!1088M
. tests/vm/lib.sh

conf=/sys/kernel/config/mem2m asked=/tmp/mem2m.conf
modprobe -q nd_e820
modprobe -q nd_pmem
wait_for 20 test -b /dev/pmem0 || die "no /dev/pmem0"
rules=$(mktemp -d)
cp /usr/lib/udev/rules.d/60-{block,persistent-storage}.rules "$rules"
sed "s|@SBINDIR@|$PWD/build/tools|; s|/etc/evenkeel/mem2m.conf|$asked|g" tools/system/66-evenkeel-mem2m.rules >"$rules/66-evenkeel-mem2m.rules"
stop_udev() {
	udevadm control --exit
	umount /usr/lib/udev/rules.d
	rm -rf "$rules" /run/udev
	mem2mctl delete later 2>/dev/null
	cleanup
}
check "udev" eval 'mount --bind "$rules" /usr/lib/udev/rules.d && /lib/systemd/systemd-udevd --daemon' && trap stop_udev EXIT
event() { udevadm trigger --settle --action=add /dev/pmem0; }

dd if=/dev/zero of=/dev/pmem0 bs=1M count=64 status=none
echo "other 32M --dax /dev/pmem7" >$asked
check "pmem that nobody asks for" event
is "loads no module" "$(ls -d /sys/module/mem2m 2>/dev/null)" ""
printf '%s\n' "# what is to be there" "" "later 32M --dax /dev/pmem0	# at boot" >>$asked
check "what is asked for" event
check "is made when it appears" wait_for 10 test -b /dev/mem2m/later
check "what is written there" blkio write /dev/mem2m/later 0 4096 "$seed" -- flush /dev/mem2m/later
check "another event changes nothing" eval "event && blkio verify /dev/mem2m/later 0 4096 $seed"
check "also by hand" mem2mctl configured $asked /dev/pmem0
check "the memory goes" eval "mem2mctl delete later && rmmod mem2m && echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind"
check "and comes again" eval "echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/bind && wait_for 20 test -b /dev/mem2m/later"
is "it is what was found there" "$(grep found $conf/later/info)" "found 1"
check "with its content" blkio verify /dev/mem2m/later 0 4096 "$seed"
mem2mctl delete later
mkfs.ext4 -q -F /dev/pmem0
check_fails "a file system is not overwritten" "isn't blank" mem2mctl configured $asked /dev/pmem0
echo "later 32M --phys 1G --force" >$asked
check_fails "what is no such line is told" "mem2m.conf: line 1: not NAME SIZE --dax DEVICE" mem2mctl configured $asked /dev/pmem0
check_fails "and what is no device" "not a block device" mem2mctl configured $asked /dev/null
done_testing
