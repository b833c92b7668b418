#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: under LVM: volumes on devices and on targets, moved, mirrored and with snapshots
# kernels: 6.1 6.12
# timeout: 120
. tests/vm/lib.sh

modprobe mem2m || die "no mem2m"
needs dm-mirror dm-snapshot

# No udev here, and nothing else's volumes.
export LVM_SYSTEM_DIR=/tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1
mkdir -p /tmp/lvm
cat >/tmp/lvm/lvm.conf <<'CONF'
devices { scan=["/dev/mem2m", "/dev/mapper"] use_devicesfile=0 obtain_device_list_from_udev=0
	external_device_info_source="none" }
activation { udev_sync=0 udev_rules=0 monitoring=0 }
backup { backup=0 archive=0 }
global { locking_dir="/tmp/lvm/lock" use_lvmpolld=0 }
CONF
lv=/dev/vg/lv

mem2mctl create a 128M --unit 32M && mem2mctl create b 128M --unit 32M && wait_for 10 test -b /dev/mem2m/b || die "no devices"
check "a target" pool t "0 131072 mem2m b 131072"
check "a device and a target are physical volumes of a group" lvm vgcreate -y vg /dev/mem2m/a /dev/mapper/t
check "a volume on the device" lvm lvcreate -y -n lv -l 8 vg /dev/mem2m/a
sectors=$(blockdev --getsz $lv)
is "of the size asked for" "$sectors" 65536
check "written" blkio write $lv 0 "$sectors" "$seed"
check "read" blkio verify $lv 0 "$sectors" "$seed"

# kcopyd, through the target's own map
check "it is moved to the target" lvm pvmove -i 1 -n lv /dev/mem2m/a /dev/mapper/t
matches "where it is then" "$(dmsetup table vg-lv)" "linear $(stat -c '%Hr:%Lr' -L /dev/mapper/t) "
check "with its data" blkio verify $lv 0 "$sectors" "$seed"
check "mirrored on the device" lvm lvconvert -y -i 1 --type mirror --mirrorlog core -m 1 vg/lv /dev/mem2m/a
matches "by dm-mirror" "$(dmsetup status vg-lv)" " mirror 2 [^ ]+ [^ ]+ 16/16 1 AA "
check "written in both places" blkio write $lv 0 "$sectors" 7
check "and without the first one" lvm lvconvert -y -m 0 vg/lv /dev/mapper/t
check "the same on the other" blkio verify $lv 0 "$sectors" 7

check "a snapshot" lvm lvcreate -y -s -n snap -l 8 vg/lv
check "its origin is written" blkio write $lv 0 16384 9
check "the snapshot has what was there" blkio verify /dev/vg/snap 0 "$sectors" 7
check "the origin what is" blkio verify $lv 0 16384 9 -- verify $lv 16384 $((sectors - 16384)) 7

check "all of it goes" eval 'lvm vgremove -y -f vg && remove_pool t && mem2mctl delete a b'
check "the module is unloaded" rmmod mem2m
done_testing
