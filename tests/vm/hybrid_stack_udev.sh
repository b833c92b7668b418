#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: udev activates volumes on partitions, encrypted, LVM and multipath members, once, and on what is on top
# kernels: 6.1 6.12
# timeout: 90
. tests/vm/lib.sh
modprobe dm-hybrid || die "no dm-hybrid"
needs dm-crypt dm-multipath dm-round-robin dm-snapshot

export LVM_SYSTEM_DIR=/tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1
mkdir -p /tmp/lvm
cat >/tmp/lvm/lvm.conf <<'CONF'
devices { scan=["/dev/emudisk"] use_devicesfile=0 obtain_device_list_from_udev=0 external_device_info_source="none" types=["emudisk", 16] }
activation { monitoring=0 }
backup { backup=0 archive=0 }
global { locking_dir="/tmp/lvm/lock" use_lvmpolld=0 }
CONF

# --- udev: its daemon, the rule, and those that it needs; in place of multipath-tools' one that knows the paths by name
unset DM_DISABLE_UDEV
rules=$(mktemp -d)
cp /usr/lib/udev/rules.d/{55-dm,56-lvm,60-persistent-storage-dm,95-dm-notify,99-systemd}.rules "$rules"
sed "s|@SBINDIR@|$PWD/build/tools|" tools/system/64-evenkeel.rules >"$rules/64-evenkeel.rules"
cat >"$rules/60-multipath.rules" <<'RULES'
ENV{DM_NAME}=="path?", ENV{DM_MULTIPATH_DEVICE_PATH}="1"
KERNEL=="emudisk!e", ENV{DM_MULTIPATH_DEVICE_PATH}="1"
ENV{DM_MULTIPATH_DEVICE_PATH}=="1", ENV{ID_FS_TYPE}="mpath_member", ENV{SYSTEMD_READY}="0"
ENV{DM_NAME}=="private", ENV{SYSTEMD_READY}="0"
RULES
take_down() {
	local d
	udevadm control --start-exec-queue
	for d in w lower-snap lower-lv lower-lv-real lower-snap-cow v over1 over multi path1 path2 secret private; do
		command dmsetup remove --retry "$d" 2>/dev/null
	done
	udevadm control --exit
	umount /usr/lib/udev/rules.d
	rm -rf "$rules" /run/udev
	cleanup
}
check "udev" eval 'mount --bind "$rules" /usr/lib/udev/rules.d && /lib/systemd/systemd-udevd --daemon' && trap take_down EXIT

for d in a b c e f; do disk $d 48M; done
size=65536
key=$(printf '00%.0s' {1..32})

# --- the members: each comes and goes as on a machine that starts; who makes one waits until udev has looked at it

map() { command dmsetup create "$1" --table "$2" "${@:3}"; }
unmap() { local d; for d; do command dmsetup remove --retry "$d" || return; done; }
crypt_comes() { map secret "0 $size crypt aes-xts-plain64 $key 0 /dev/emudisk/a 0" --uuid CRYPT-PLAIN-secret; }
crypt_goes() { unmap secret; }
part_comes() { blockdev --rereadpt /dev/emudisk/b && udevadm settle && test -b /dev/emudisk/b1; }
part_goes() { delpart /dev/emudisk/b 1 && udevadm settle; }
lv_comes() { lvm lvchange -ay lower/lv; }
lv_goes() { lvm lvchange -an lower/lv; }
paths_come() { map path1 "0 $size linear /dev/emudisk/e 0" && map path2 "0 $size linear /dev/emudisk/e 0"; }
multi="0 $size multipath 2 queue_mode bio 0 1 1 round-robin 0 2 1 /dev/mapper/path1 1 /dev/mapper/path2 1"
multi_comes() { paths_come && map multi "$multi"; }
multi_goes() { unmap multi path1 path2; }
come() { local m; for m; do "${m}_comes" || return; done; }
go() { local m; for m; do "${m}_goes" || return; done; }

is_there() { udevadm settle && dmt table "${1:-w}" >/dev/null 2>&1; }
is_not_there() { ! is_there "$@"; }
all=("/dev/mapper/secret" "/dev/emudisk/b1" "/dev/mapper/lower-lv" "/dev/mapper/multi")
# on_these TITLE: the volume is there, once, on the four, and has its data
on_these() {
	local numbers uuid f volumes=0
	mapfile -t numbers < <(stat -Lc %Hr:%Lr "${all[@]}")
	table_matches "$1: on these" w " 128 4 ${numbers[0]} [0-9]+ ${numbers[1]} [0-9]+ ${numbers[2]} [0-9]+ ${numbers[3]} [0-9]+ 0 "
	for f in /sys/block/dm-*/dm/uuid; do
		read -r uuid <"$f"
		[[ $uuid != EVENKEEL-hybrid-* ]] || volumes=$((volumes + 1))
	done
	is "$1: once" $volumes 1
	check "$1: data" blkio verify /dev/mapper/w 0 16384 "$seed"
}
stopped() { udevadm settle && hybridctl stop w; }

# table DISK: one partition, from 1 MiB to its end
table() {
	printf '\0\0\0\0\203\0\0\0\0\10\0\0\0\170\1\0' | dd of="/dev/emudisk/$1" bs=1 seek=446 conv=notrunc status=none &&
		printf '\125\252' | dd of="/dev/emudisk/$1" bs=1 seek=510 conv=notrunc status=none
}
check "a partition to the end of its disk" eval 'table b && part_comes'
check "a logical volume" eval 'lvm vgcreate -y lower /dev/emudisk/c && lvm lvcreate -y -W n -n lv -L 32M lower'
check "an encrypted device" crypt_comes
check "multipath" multi_comes
check "a volume of them" hybridctl create w "${all[@]}" --extent 64K --policy stripe --set commit_ms=50
check "data" blkio write /dev/mapper/w 0 16384 "$seed" -- flush /dev/mapper/w
on_these "as it was made"
check "stop" stopped
check "it stays stopped" is_not_there
check "all go" go crypt part lv multi

# --- one after the other, in any order

# in_order MEMBER...
in_order() {
	local last=${*: -1} title="$*"
	check "$title: all but the last" come "${@:1:3}"
	check "$title: it is not there" is_not_there
	check "$title: the last" come "$last"
	check "$title: it is there" is_there
	on_these "$title"
	check "$title: stop" stopped
	check "$title: all go" go "$@"
}
in_order crypt lv multi part
{ crypt_comes & part_comes & lv_comes & multi_comes & wait; } >/dev/null 2>&1
check "all at a time" wait_for 20 is_there
on_these "all at a time"
check "stop" stopped

# --- what carries the label beneath a device that is yet to come, or is not looked at yet

# nothing_by DEVICE: who was there already asks again, as its event does, and does not get it
nothing_by() { timeout 20 hybridctl assemble --with "$1" && ! dmt table w >/dev/null 2>&1; }
check "multipath goes" multi_goes
check "its paths are there alone" paths_come
check "they are not taken" is_not_there
check "nor by another member's event" nothing_by /dev/mapper/secret
check_fails "nor by hand" "/path1: passed over, as it is a path of a multipath device" hybridctl assemble w
check "one path goes" unmap path2
check "multipath, which udev has yet to look at" eval 'udevadm control --stop-exec-queue &&
	map multi "${multi/2 1 *path1 1*/1 1 \/dev\/mapper\/path1 1}" --noudevsync'
check "its path is not taken past it" nothing_by /dev/mapper/secret
udevadm control --start-exec-queue
check "udev looks at it: it is there" is_there
on_these "multipath of one path"
check "stop" stopped

check "a snapshot of the logical volume" lvm lvcreate -y -s -n snap -L 8M lower/lv
check "starts nothing" is_not_there
check "it is being activated: the origin is yet to come" unmap lower-lv
check "its snapshot is not taken for it" nothing_by /dev/mapper/multi
check "nor what is beneath both" eval 'unmap lower-snap && nothing_by /dev/mapper/multi'
check "nor when a member appears anew" udevadm trigger --settle --action=add /dev/emudisk/b1
check "it is not there" is_not_there
check "the logical volume" eval 'lvm lvchange -an lower/lv && lvm lvchange -ay lower/lv'
check "it is there" is_there
on_these "beside a snapshot"
check "stop" stopped

check "a device that a rule keeps from others" map private "0 $size linear /dev/emudisk/e 0"
check_fails "is not looked at" "" eval 'udevadm info --query=property /dev/mapper/private | grep ^EVENKEEL'
check "it goes" unmap private

# --- a member that could not be looked at when the last one came

check "what was stopped stays so when a member is written to" eval 'udevadm trigger --settle --action=change /dev/emudisk/b1 && is_not_there'
check "a member goes" part_goes
check "another one is suspended" command dmsetup suspend lower-lv
check "the first one comes" part_comes
check "it is not there" is_not_there
check "the other one goes on" command dmsetup resume lower-lv
check "it is there" wait_for 10 is_there
on_these "after a suspension"
check "stop" stopped
check "which holds" eval 'udevadm trigger --settle --action=change /dev/mapper/lower-lv && is_not_there'

# --- a partition of a disk that multipath has, whatever udev knows of that

check "a disk with a partition" eval 'table f && blockdev --rereadpt /dev/emudisk/f && udevadm settle && test -b /dev/emudisk/f1'
over_comes() {
	map over "0 $(sectors /dev/emudisk/f) multipath 2 queue_mode bio 0 1 1 round-robin 0 1 1 /dev/emudisk/f 1" &&
		map over1 "0 96256 linear /dev/mapper/over 2048"
}
check "multipath over the disk, and its partition" over_comes
check "a volume on that" hybridctl create v /dev/mapper/over1 --extent 64K --set commit_ms=50
check "data" blkio write /dev/mapper/v 0 8192 "$seed" -- flush /dev/mapper/v
check "stop" eval 'udevadm settle && hybridctl stop v'
check "the partition goes" unmap over1
udevadm trigger --settle --action=add /dev/emudisk/f1
check "the disk's is not taken" is_not_there v
check "the partition comes" map over1 "0 96256 linear /dev/mapper/over 2048"
check "the volume is there" is_there v
table_matches "on that" v " 128 1 $(stat -Lc %Hr:%Lr /dev/mapper/over1) [0-9]+ 0 "
check "data" blkio verify /dev/mapper/v 0 8192 "$seed"
check "stop" eval 'udevadm settle && hybridctl stop v'

done_testing
