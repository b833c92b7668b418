#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: encrypted, partitioned, LVM and multipath members; LVM, ext4, xfs and btrfs with discards on top
# kernels: 6.1 6.12
# timeout: 120
. tests/vm/lib.sh
used="" type="" volume=""
modprobe dm-hybrid || die "no dm-hybrid"
needs dm-crypt xfs btrfs dm-multipath dm-round-robin dm-snapshot

export LVM_SYSTEM_DIR=/tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1
mkdir -p /tmp/lvm /tmp/mnt
cat >/tmp/lvm/lvm.conf <<'CONF'
devices { scan=["/dev/emudisk", "/dev/mapper"] use_devicesfile=0 obtain_device_list_from_udev=0 issue_discards=1
	external_device_info_source="none" types=["emudisk", 16] }
activation { udev_sync=0 udev_rules=0 monitoring=0 }
backup { backup=0 archive=0 }
global { locking_dir="/tmp/lvm/lock" use_lvmpolld=0 }
CONF

disk m 16M
disk a 300M
disk b 300M
disk c 320M
disk d 300M
key=$(printf '00%.0s' {1..32})
encrypt() {
	dmsetup create "$1" --table "0 $(sectors "$2") crypt aes-xts-plain64 $key 0 $2 0 1 allow_discards" && pools+=("$1")
}

check "an encrypted device" encrypt secret /dev/emudisk/a
check "a partition" eval 'addpart /dev/emudisk/b 1 2048 600000 && wait_for 10 test -b /dev/emudisk/b1'
check "a logical volume" eval 'lvm vgcreate -y lower /dev/emudisk/c && lvm lvcreate -y -W n -n lv -l 75 lower'
members=(/dev/mapper/secret /dev/emudisk/b1 /dev/lower/lv)
check "a pool of them" hybridctl create p "${members[@]}" --metadata /dev/emudisk/m --set commit_ms=50 --policy stripe
pools+=(p)
check "data" blkio write /dev/mapper/p 0 32768 "$seed" -- flush /dev/mapper/p
fields_are "on all of them" p "dev.0.state dev.1.state dev.2.state" "active active active"
check "stop" hybridctl stop p
check "found again, not on what lies below" hybridctl assemble p
check "data" blkio verify /dev/mapper/p 0 32768 "$seed"
check "what is on the disk is encrypted" eval '! blkio verify /dev/emudisk/a 2048 64 "$seed"'

# Extents that are mapped, into $used, once what was discarded is free.
is_used() { message p commit && into used dmt field p mapped; }
less_than() { is_used && [ "$used" -lt $(($1 - $2)) ]; }
as_many() { is_used && [ "$used" -ge "$1" ]; }
mounted() { /run/evenkeel/busybox mount -t "$1" "${@:3}" "$2" /tmp/mnt; }
unmounted() { /run/evenkeel/busybox umount /tmp/mnt; }
# A file of 40 MiB, and one that stays as it is; extents that are mapped then, into $full
files() { cp /tmp/file /tmp/mnt/a && { [ -e /tmp/mnt/b ] || cp /tmp/file /tmp/mnt/b; } && sync && is_used && full=$used; }
# A file system may take its time until it discards what a file had, be it for a commit of its own.
freed() { sync && less_than "$full" 250; }
# again OPTION...: mounted anew
again() { unmounted && mounted "$type" "$volume" "$@"; }
removed() { rm /tmp/mnt/a && sync && again -o nodiscard && sync; }
as_it_was() { again && cmp /tmp/file /tmp/mnt/b && unmounted; }
# on_it TYPE DEVICE: each way to discard what a file had frees it, alone, and what is left is as it was
on_it() {
	type=$1 volume=$2
	dd if=/dev/urandom of=/tmp/file bs=1M count=40 status=none
	check "$type with discards on the way" mounted "$type" "$volume" -o discard
	check "files on $type" files
	check "one is removed" rm /tmp/mnt/a
	check "which frees what it had" wait_for 30 freed || note "$used of $full"
	check "$type without" again -o nodiscard
	check "the same file on $type" files
	check "is removed" removed
	check "which frees nothing" as_many "$full" || note "$used of $full"
	check "fstrim on $type" fstrim /tmp/mnt
	check "does" wait_for 30 freed || note "$used of $full"
	check "what is left on $type is as it was" as_it_was
}

check "LVM on the pool" eval 'lvm pvcreate -y /dev/mapper/p && lvm vgcreate -y upper /dev/mapper/p &&
	lvm lvcreate -y -W n -n e -L 200M upper && lvm lvcreate -y -W n -n x -L 320M upper && lvm lvcreate -y -W n -n b -L 240M upper'
check "one of its volumes is suspended" dmsetup suspend upper-e
check "what the pool lies on is known all the same" eval 'timeout 60 hybridctl list --json |
	jq -e ".[] | select(.name == \"p\") | .active and .members == 3 and (has(\"missing\") | not)"'
dmsetup resume upper-e
check "ext4" mkfs.ext4 -q -F /dev/upper/e
on_it ext4 /dev/upper/e
check "e2fsck" e2fsck -fn /dev/upper/e
check "xfs" mkfs.xfs -q -f /dev/upper/x
on_it xfs /dev/upper/x
check "btrfs" mkfs.btrfs -q -f /dev/upper/b
on_it btrfs /dev/upper/b
check "another member under it" hybridctl replace p /dev/emudisk/b1 /dev/emudisk/d
check "still whole" eval 'e2fsck -fn /dev/upper/e && xfs_repair -n /dev/upper/x && btrfs check /dev/upper/b'
check "the volume grows, and the group with it" eval 'hybridctl add p /dev/emudisk/b1 --grow && lvm pvresize /dev/mapper/p &&
	lvm lvcreate -y -W n -n more -L 200M upper'
check "all goes" eval 'lvm vgremove -y -f upper && hybridctl stop p &&
	hybridctl check /dev/emudisk/m /dev/mapper/secret /dev/lower/lv /dev/emudisk/d /dev/emudisk/b1'
lvm vgremove -y -f lower >/dev/null 2>&1

# --- one device seen several times: through layers, and by two paths
pools=(secret)
disk e 32M
disk f 32M
size=65536
over() { dmsetup create "$1" --table "0 $size linear $2 0" && pools=("$1" "${pools[@]}"); }
check "one layer over a disk" over one /dev/emudisk/f
check "another over that" over two /dev/mapper/one
check "two paths to a disk" eval 'over path1 /dev/emudisk/e && over path2 /dev/emudisk/e'
check "multipath" dmsetup create multi --table \
	"0 $size multipath 2 queue_mode bio 0 1 1 round-robin 0 2 1 /dev/mapper/path1 1 /dev/mapper/path2 1"
pools=(multi "${pools[@]}")
check "a pool of them" hybridctl create w /dev/mapper/multi /dev/mapper/two --extent 64K --size 24M --policy stripe --set commit_ms=50
check "data" blkio write /dev/mapper/w 0 16384 "$seed" -- flush /dev/mapper/w
check "what a path is, is known" eval 'hybridctl identify /dev/mapper/path1 | grep "member 0 of 2, volume w"'
check "stop" hybridctl stop w
check "found on top of all layers" hybridctl assemble w
pools=(w "${pools[@]}")
is "which are these" "$(hybridctl status w --json | jq -c '[.devices[].path]')" '["/dev/mapper/multi","/dev/mapper/two"]'
check "data" blkio verify /dev/mapper/w 0 16384 "$seed"
check "multipath is taken out" hybridctl detach w 0 --force
check_fails "a path is not attached past it" "/dev/mapper/path2: in use" hybridctl attach w /dev/mapper/path2
check "multipath comes back" hybridctl attach w /dev/mapper/multi
check "the metadata is a mirror" wait_for 20 status_is w meta AA
check "data" blkio verify /dev/mapper/w 0 16384 "$seed"
fio --name=v --filename=/dev/mapper/w --direct=1 --rw=randrw --bs=4k --offset=8m --size=8m --time_based --runtime=600 \
	--verify=crc32c --verify_backlog=64 --verify_fatal=1 --iodepth=8 --ioengine=libaio --thread --randseed="$seed" \
	--output=/tmp/fio.out & io=$!
multi_is() { dmsetup status multi | grep -Eq "$1"; }
before=$(reads e)
check "fio is at it" wait_for 120 eval '[ $(reads e) -gt $((before + 100)) ]'
check "a path fails" eval 'dmsetup load path1 --table "0 $size error" && dmsetup suspend --noflush path1 && dmsetup resume path1'
check "multipath sees it" wait_for 120 multi_is "A 0 2 0 .*F [0-9]+"
before=$(reads e)
check "fio goes on by the other" wait_for 120 eval '[ $(reads e) -gt $((before + 200)) ]'
kill -INT $io
wait $io
check "fio saw nothing wrong" fio_was_right /tmp/fio.out
fields_are "nor did the pool" w "dev.0.state dev.1.state errors" "active active 0"
check "data" blkio verify /dev/mapper/w 0 16384 "$seed"
check "stop" hybridctl stop w
pools=("${pools[@]:1}")
check "sound" hybridctl check /dev/mapper/multi /dev/mapper/two

# without any path requests are queued, and who reads would wait for ever
uuid=$(hybridctl list --json | jq -r '.[] | select(.name == "w") | .uuid')
check "no path is left" eval 'dmsetup message multi 0 queue_if_no_path && dmsetup message multi 0 fail_path "$(stat -Lc %Hr:%Lr /dev/mapper/path2)"'
check "multipath sees it" wait_for 20 eval '! multi_is ":[0-9]+ A [0-9]"'
check_fails "who assembles doesn't wait for it" "/dev/mapper/multi: passed over, it is multipath without a usable path.*/path2: passed over, as /dev/mapper/multi lies on it and can't be looked at.*incomplete" \
	timeout 60 hybridctl assemble w
check_fails "nor who is told to take it" "/dev/mapper/multi: it is multipath without a usable path" timeout 60 hybridctl assemble --with /dev/mapper/multi
check "a path comes back" dmsetup message multi 0 reinstate_path "$(stat -Lc %Hr:%Lr /dev/mapper/path2)"
check "and it is found" wait_for 20 hybridctl assemble w
pools=(w "${pools[@]}")
check "no path again, beneath the live volume" dmsetup message multi 0 fail_path "$(stat -Lc %Hr:%Lr /dev/mapper/path2)"
timeout 60 hybridctl list --json >/tmp/list 2>/tmp/passed
is "which is not taken for one on a path" \
	"$(jq -c "[.[] | select(.uuid == \"$uuid\" or .name == \"w\") | .active != null and .active != false]" /tmp/list)" "[true]"
matches "nor looked for there" "$(</tmp/passed)" '/path2: passed over, as /dev/mapper/multi lies on it'
check "a path comes back" dmsetup message multi 0 reinstate_path "$(stat -Lc %Hr:%Lr /dev/mapper/path2)"
check "data" blkio verify /dev/mapper/w 0 16384 "$seed"
check "stop" hybridctl stop w
pools=("${pools[@]:1}")

# --- a snapshot of a member has its label
disk g 32M
disk h 32M
disk s 16M
check "one that a snapshot is made of" eval 'over real /dev/emudisk/g && dmsetup create origin --table "0 $size snapshot-origin /dev/mapper/real"'
pools=(origin "${pools[@]}")
check "a pool" hybridctl create o /dev/mapper/origin /dev/emudisk/h --extent 64K --size 24M --policy stripe --set commit_ms=50
check "data" blkio write /dev/mapper/o 0 16384 "$seed" -- flush /dev/mapper/o
check "stop" hybridctl stop o
check "a snapshot" eval 'dmsetup suspend origin && dmsetup create snap --table "0 $size snapshot /dev/mapper/real /dev/emudisk/s N 8" && dmsetup resume origin'
pools=(snap "${pools[@]}")
check "the origin is taken" eval 'hybridctl assemble o 2>/tmp/passed'
pools=(o "${pools[@]}")
matches "the snapshot passed over" "$(</tmp/passed)" "/dev/mapper/snap: passed over, as it is a snapshot and /dev/mapper/origin carries the same label"
is "which are these" "$(hybridctl status o --json | jq -c '[.devices[].path]')" '["/dev/mapper/origin","/dev/emudisk/h"]'
check "data" blkio verify /dev/mapper/o 0 16384 "$seed"
check "new data" blkio write /dev/mapper/o 0 16384 $((seed + 1)) -- flush /dev/mapper/o
check "stop" hybridctl stop o
pools=("${pools[@]:1}")
check "also by the snapshot's event" hybridctl assemble --with /dev/mapper/snap
pools=(o "${pools[@]}")
check "new data" blkio verify /dev/mapper/o 0 16384 $((seed + 1))
check "stop" hybridctl stop o
pools=("${pools[@]:1}")
done_testing
