#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs by its UUID or label: udev's links, /etc/fstab, and the check before it is mounted
# kernels: 6.1 6.12
# timeout: 90
# memory: 2G
# append: memmap=64M$1G memmap=64M!1088M
. tests/vm/lib.sh

modprobe scmfs || die "no scmfs"
modprobe -q nd_e820
modprobe -q nd_pmem
modprobe mem2m || die "no mem2m"
wait_for 20 test -b /dev/pmem0 || die "no /dev/pmem0"
m=/tmp/mnt uuid=6a1c2c70-9f0e-4c31-a2d8-0b1f0c7d8e11
mkdir -p $m

# The rules that a device of memory meets on the way, and ours.
rules=$(mktemp -d)
cp /usr/lib/udev/rules.d/60-{block,persistent-storage}.rules "$rules"
sed "s|@SBINDIR@|$PWD/build/tools|" tools/system/65-scmfs.rules >"$rules/65-scmfs.rules"
stop_udev() {
	umount $m 2>/dev/null
	udevadm control --exit
	umount /etc/fstab /usr/lib/udev/rules.d
	rm -rf "$rules" /run/udev
	mem2mctl delete there 2>/dev/null
	cleanup
}
check "udev" eval 'mount --bind "$rules" /usr/lib/udev/rules.d && /lib/systemd/systemd-udevd --daemon' && trap stop_udev EXIT
# leads TITLE LINK DEVICE
leads() { is "$1" "$(readlink -f "/dev/disk/$2")" "$(readlink -f "$3")"; }
settled() { udevadm settle && test -e "/dev/disk/$1"; }
event() { udevadm trigger --settle --action=change "$1"; }

dd if=/dev/zero of=/dev/pmem0 bs=1M count=64 status=none
check "what holds nothing is looked at" event /dev/pmem0
check_fails "and has no link" "" test -e /dev/disk/by-uuid/$uuid
check_fails "nothing to tell" "" dumpscmfs --udev /dev/pmem0
check "a file system is made" mkfs.scmfs -q -U $uuid -L "a b/c" /dev/pmem0
check "which udev sees by itself" wait_for 20 settled by-uuid/$uuid
leads "by its UUID" by-uuid/$uuid /dev/pmem0
leads "by its label, whatever is in that" 'by-label/a\x20b\x2fc' /dev/pmem0
is "its type is known" "$(udevadm info --query=property /dev/pmem0 | grep '^ID_FS_TYPE=')" "ID_FS_TYPE=scmfs"
check "another one on a memory device" eval 'mem2mctl create there 32M && event /dev/mem2m/there && mkfs.scmfs -q -L two /dev/mem2m/there'
check "is seen as well" wait_for 20 settled by-label/two
leads "by its label" by-label/two /dev/mem2m/there

# --- /etc/fstab
link=/dev/disk/by-uuid/$uuid
cat >/tmp/fstab <<-END
	$link $m scmfs defaults,noatime 0 2
	none $m scmfs phys=1G,size=64M,noauto 0 0
END
check "a table of file systems" mount --bind /tmp/fstab /etc/fstab
rmmod scmfs
check "mount by the table, which loads the module" mount -a
is "what is there" "$(findmnt -no SOURCE,FSTYPE $m)" "/dev/pmem0 scmfs"
echo kept >$m/f
ino=$(stat -c %i $m/f)
check_fails "what is mounted is not checked" "busy|in use" fsck -a $link
umount $m
check "fsck finds its program by the table" fsck -a $link
table=$(dumpscmfs /dev/pmem0 | sed -n 's/^inode table: at //p')
# udev looks at what was written, and has it locked meanwhile
wrong_links() { printf '\7' | dd of=/dev/pmem0 bs=1 seek=$((table + ino * 256)) conv=notrunc status=none && udevadm settle; }
wrong_links
fsck -a $link >"$said" 2>&1
is "what is wrong is repaired" $? 1
check "and mounted" mount -a
is "a file is as it was" "$(stat -c %h $m/f) $(<$m/f)" "1 kept"
umount $m
echo "UUID=$uuid $m scmfs defaults 0 0" >/tmp/fstab
check "by its UUID as such it is mounted as well" mount $m
is "the same" "$(<$m/f)" kept
umount $m
check "or its label" mount -t scmfs "LABEL=a b/c" $m
umount $m

# --- a damaged super block, the copy of which is whole
dd if=/dev/zero of=/dev/pmem0 bs=1 seek=16 count=8 conv=notrunc status=none
check "another look" event /dev/pmem0
leads "whoever checks it at boot finds it" by-uuid/$uuid /dev/pmem0
echo "$link $m scmfs defaults 0 2" >/tmp/fstab
fsck -a $link >"$said" 2>&1
is "and repairs it" $? 1
check "mounted" mount $m
is "what was there" "$(<$m/f)" kept
umount $m

# --- where a member of an array was: what says so (metadata 1.0) lies 8 KiB before the end
# member DEVICE
member() {
	dd if=/dev/zero of="$1" bs=1M count=2 conv=notrunc status=none && python3 -c '
import struct, sys
with open(sys.argv[1], "r+b") as f:
    at = (f.seek(0, 2) // 512 - 16) & ~7
    f.seek(at * 512)
    f.write(struct.pack("<IIII16s112xQ", 0xa92b4efc, 1, 0, 0, b"u" * 16, at))
' "$1" && event "$1"
}
type_of() { udevadm info --query=property "$1" | sed -n 's/^ID_FS_TYPE=//p'; }
check "a member of an array" member /dev/mem2m/there
is "is one to udev" "$(type_of /dev/mem2m/there)" linux_raid_member
check_fails "it is not overwritten" "force" mkfs.scmfs /dev/mem2m/there
check "forced, it is" eval 'mkfs.scmfs -q -f -L two /dev/mem2m/there && event /dev/mem2m/there'
is "and udev sees what was made" "$(type_of /dev/mem2m/there)" scmfs
check "a member once more" member /dev/pmem0
is "is one" "$(type_of /dev/pmem0)" linux_raid_member
check_fails "a mount doesn't overwrite it" "wrong fs|exists|blank" mount -t scmfs -o init /dev/pmem0 $m
check "forced, it does" eval 'mount -t scmfs -o init=force /dev/pmem0 $m && umount $m && event /dev/pmem0'
is "and leaves nothing of that" "$(type_of /dev/pmem0)" scmfs

# --- on a partition
# part: the disk has one, from 2 MiB to its end
part() {
	dd if=/dev/zero of=/dev/pmem0 bs=1M count=64 status=none &&
		printf '\0\0\0\0\203\0\0\0\0\20\0\0\0\360\1\0' | dd of=/dev/pmem0 bs=1 seek=446 conv=notrunc status=none &&
		printf '\125\252' | dd of=/dev/pmem0 bs=1 seek=510 conv=notrunc status=none &&
		udevadm settle && blockdev --rereadpt /dev/pmem0	# udev has read it as well, and looks at what it has found
}
check "a partition table" part
check "has a partition" wait_for 20 test -b /dev/pmem0p1
check "on which one is made" mkfs.scmfs -q -U $uuid /dev/pmem0p1
check "which udev sees" wait_for 20 settled by-uuid/$uuid
leads "by its UUID" by-uuid/$uuid /dev/pmem0p1

# --- another kind on a memory device
check "another file system" eval 'mkfs.ext4 -q -U $uuid -F /dev/mem2m/there && event /dev/mem2m/there'
is "is not taken for one" "$(udevadm info --query=property /dev/mem2m/there | grep '^ID_FS_TYPE=')" "ID_FS_TYPE=ext4"
leads "nor has it the other's link" by-uuid/$uuid /dev/pmem0p1

# --- when it is gone
check "another thing in its place" eval 'dd if=/dev/zero of=/dev/pmem0p1 bs=1M count=1 conv=notrunc status=none && udevadm settle'
gone() { udevadm settle && ! test -e /dev/disk/by-uuid/$uuid; }
check "has the link go" wait_for 20 gone
done_testing
