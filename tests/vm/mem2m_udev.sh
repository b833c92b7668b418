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
# by then udev looks at it no more, for which it has it open, nor are any made by its rule
delete() { udevadm settle && mem2mctl delete "$@"; }

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
check "the memory goes" eval "delete later && rmmod mem2m && echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind"
check "and comes again" eval "echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/bind && wait_for 20 test -b /dev/mem2m/later"
check "it is what was found there" wait_for 10 grep -qx "found 1" $conf/later/info
check "with its content" blkio verify /dev/mem2m/later 0 4096 "$seed"

# --- who may not mount configfs waits for it ----------------------------------------------------------

delete later
mount --make-shared /sys
check "configfs is not mounted yet" umount /sys/kernel/config
{ sleep 1; mount -t configfs none /sys/kernel/config; } &
check "who may not mount it waits until it is" unshare -m --propagation slave setpriv --bounding-set -sys_admin \
	mem2mctl configured $asked /dev/pmem0
wait $!
check "and makes the device" eval "grep -qx 'found 1' $conf/later/info && blkio verify /dev/mem2m/later 0 4096 $seed"

# --- memory that goes away beneath a device -----------------------------------------------------------

unbind() { echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind; }
bind() { echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/bind && wait_for 20 test -b /dev/pmem0; }
gone() { mem2mctl list later --json | grep -q "\"gone\": $1"; }
check "a device has its memory" gone false
exec {open}<>/dev/mem2m/later
check "until that goes away, while somebody has the device open" eval "unbind && wait_for 10 gone true"
check "it comes again" bind
udevadm settle
check_fails "who uses the device has to be looked for" \
	"$asked: line 4: later on /dev/pmem0: its memory went away: delete it" mem2mctl configured $asked /dev/pmem0
check "which is left alone" gone true
exec {open}<&-
check "when nobody does it is made anew" eval "udevadm settle && mem2mctl configured $asked /dev/pmem0 && gone false"
check "with its content, too" blkio verify /dev/mem2m/later 0 4096 "$seed"
check "by udev as well, when the memory goes and comes" eval "unbind && wait_for 10 gone true && bind && wait_for 20 gone false &&
	udevadm settle"
check "and again it has its content" blkio verify /dev/mem2m/later 0 4096 "$seed"

# --- what can't be made -------------------------------------------------------------------------------

line="$asked: line 4: later on /dev/pmem0:"
delete later
mem2mctl create later 4M
check_fails "another device of that name is told" "$line another later exists" mem2mctl configured $asked /dev/pmem0
delete later
mem2mctl create other 32M --dax /dev/pmem0 --force
check_fails "and who has the memory" "$line /dev/pmem0: in use by mem2m other" mem2mctl configured $asked /dev/pmem0
delete other
# whether the rule would run the program
runs() { udevadm test --action=add /sys/block/pmem0 2>&1 | grep -q "run: .*mem2mctl configured"; }
check "where another device is it is asked" runs
mkfs.ext4 -q -F /dev/pmem0
udevadm settle
check "where a file system is it isn't" eval "! runs"
check_fails "a file system is not overwritten" "$line .*isn't blank and has no label$" mem2mctl configured $asked /dev/pmem0
is "nothing is left of the device" "$(ls $conf)" ""
dd if=/dev/zero of=/dev/pmem0 bs=1M count=64 status=none
check "where nothing is it is" runs
printf '\0\x20\x21\0\x83\x2a\xaa\x28\0\x08\0\0\0\xf0\1\0' | dd of=/dev/pmem0 bs=1 seek=446 conv=notrunc status=none
printf '\x55\xaa' | dd of=/dev/pmem0 bs=1 seek=510 conv=notrunc,fsync status=none
check "where a partition table is it isn't" eval "! runs"
echo "later 32M --phys 1G --force" >$asked
check_fails "what is no such line is told" "mem2m.conf: line 1: not NAME SIZE --dax DEVICE" mem2mctl configured $asked /dev/pmem0
head -c 64 /dev/zero >$asked
check_fails "so is a file that a power cut left behind" "mem2m.conf: line 1: not NAME SIZE --dax DEVICE" mem2mctl configured $asked /dev/pmem0
check_fails "and one that can't be read" "/etc: can't be read" mem2mctl configured /etc /dev/pmem0
check_fails "and what is no device" "not a block device" mem2mctl configured $asked /dev/null
done_testing
