#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mkfs.scmfs, fsck.scmfs and dumpscmfs on image files
# quick: yes
# timeout: 60
set -u
cd "$(dirname "$(readlink -f "$0")")/.." || exit
for tool in mkfs.scmfs fsck.scmfs dumpscmfs emuctl mem2mctl nlctl nlstore scmfsctl; do
	make -s -C tools/$tool || exit
done
PATH=$PWD/build/tools:$PATH
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit
n=0 failed=0

# ok TITLE COMMAND...: it succeeds
ok() {
	local title=$1
	shift
	n=$((n + 1))
	if "$@" >out 2>&1; then
		echo "ok $n $title"
	else
		sed 's/^/# /' out
		echo "not ok $n $title"
		failed=1
	fi
}

# status STATUS TEXT COMMAND...: that exit status, and the text in what it says
status() {
	local want=$1 text=$2 got=0
	shift 2
	"$@" >out2 2>&1 || got=$?
	[ "$got" = "$want" ] && grep -q -e "$text" out2 && return
	echo "status $got: $(<out2)"
	return 1
}

# damage FILE OFFSET TEXT
damage() {
	printf %s "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

echo "KTAP version 1"
ok "mkfs.scmfs makes an image of a size" mkfs.scmfs -s 8M -L box -U 00112233-4455-4677-8899-aabbccddeeff -N 500 img
ok "it has that size" [ "$(stat -c %s img)" = $((8 << 20)) ]
ok "dumpscmfs shows label and UUID" status 0 "uuid: 00112233-4455-4677-8899-aabbccddeeff" dumpscmfs img
ok "it is clean" status 0 "clean: yes" dumpscmfs img
ok "dumpscmfs shows the root directory" status 0 "mode 40755 links 2" dumpscmfs -i 1 img
ok "dumpscmfs says when there is no such inode" status 1 "no such inode" dumpscmfs -i 7 img
ok "fsck.scmfs finds nothing" status 0 "0 faults" fsck.scmfs -n img
ok "mkfs.scmfs keeps its hands off what is there" status 1 "force" mkfs.scmfs img
ok "unless it is forced" mkfs.scmfs -f -q img
ok "too small is told" status 1 "too small" mkfs.scmfs -s 64K small
ok "and leaves no file" [ ! -e small ]
echo something >text
ok "a file with something in it is no image yet" status 1 "force" mkfs.scmfs -s 8M text
ok "and stays as it is" [ "$(<text)$(stat -c %s text)" = something10 ]
truncate -s 8K zeroes
ok "one of zeroes is, unless that is too small" status 1 "too small" mkfs.scmfs -s 64K zeroes
ok "and stays as it is" [ "$(stat -c %s zeroes)" = 8192 ]
ok "it becomes one" mkfs.scmfs -q -s 8M zeroes
ok "in order" status 0 "0 faults" fsck.scmfs -n zeroes
ok "a device that is not there is not made" status 1 "no such device" mkfs.scmfs -s 8M /dev/no-such-pmem7
ok "not as a file, either" [ ! -e /dev/no-such-pmem7 ]
cp img part
ok "of what is larger it takes as much as it was told to" status 0 "1024 blocks of 4 KiB" mkfs.scmfs -f -s 4M part
ok "which is in order" status 0 "0 faults" fsck.scmfs -n part
ok "and keeps its size" [ "$(stat -c %s part)" = $((8 << 20)) ]
damage part 16 XXXX
ok "its super block is repaired from a copy at the very end" status 1 "1 faults repaired" fsck.scmfs part
ok "its own, not that of what was there before" status 0 "blocks: 1024" dumpscmfs part
cp part again
ok "a size of less than a block is too small" status 1 "too small" mkfs.scmfs -f -s 100 part
ok "and changes nothing" cmp part again

# md FILE: at its end, that it is a member of an array (metadata 1.0, which begins 8 to 12 KiB before it)
md() {
	python3 -c '
import struct, sys
with open(sys.argv[1], "r+b") as f:
    at = (f.seek(0, 2) // 512 - 16) & ~7
    f.seek(at * 512)
    f.write(struct.pack("<IIII16s112xQ", 0xa92b4efc, 1, 0, 0, b"u" * 16, at))
' "$1"
}
type_of() { blkid -p -o value -s TYPE "$1"; }
truncate -s 8M member
md member
ok "what begins with zeroes may be a member of an array" [ "$(type_of member)" = linux_raid_member ]
cp member before
ok "which is not overwritten, either" status 1 "force" mkfs.scmfs member
ok "nor where it is behind the file system" status 1 "force" mkfs.scmfs -s 4M member
ok "it stays as it is" cmp member before
ok "forced, it is" mkfs.scmfs -q -f member
ok "and is not found any more" [ -z "$(type_of member)" ]
cp before member
ok "nor" mkfs.scmfs -q -f -s 4M member
ok "where it was behind the file system" [ -z "$(type_of member)" ]
ok "which is in order" status 0 "0 faults" fsck.scmfs -n member
cp before member
ok "nor" mkfs.scmfs -q -f -s $(((8 << 20) - 8192)) member
ok "where it was half in it" [ -z "$(type_of member)" ]
ok "which is in order" status 0 "0 faults" fsck.scmfs -n member
# md 0.90 is up to 128 KiB before the end, DDF in the last sector
truncate -s 0 member
truncate -s $(((8 << 20) + 4096 + 512)) member
printf '\xfc\x4e\x2b\xa9\0\0\0\0\x5a\0\0\0' | dd of=member bs=65536 seek=127 conv=notrunc status=none
ok "an old member of an array, some way before the end" status 1 "member: .*force" mkfs.scmfs -q member
truncate -s 0 member
truncate -s $(((8 << 20) + 512)) member
printf 'DDF1' | dd of=member bs=512 seek=16384 conv=notrunc status=none
ok "what is behind the last page" status 1 "member: .*force" mkfs.scmfs -q member
ok "it goes by force" mkfs.scmfs -q -f member
ok "all of it" cmp <(tail -c 512 member) <(head -c 512 /dev/zero)
zeroes_before() { cmp <(head -c $(((8 << 20) - 131072)) member | tail -c 65536) <(head -c 65536 "$1"); }
yes | head -c 8M >member
ok "over anything" mkfs.scmfs -q -f -s 4M member
ok "nothing is zeroed but the end" zeroes_before <(yes | head -c 65536)
ok "and that is, up to the super block's copy" cmp <(tail -c 131072 member | head -c 126976) <(head -c 126976 /dev/zero)
ok "wrong numbers are told" status 1 "not 1 to 64" mkfs.scmfs -l 65 img
ok "wrong UUIDs are told" status 1 "not a UUID" mkfs.scmfs -f -U 0011 img
cp img damaged
damage damaged 16 XXXX
cp damaged before
ok "a damaged super block is found" status 4 "super block" fsck.scmfs -n damaged
ok "only telling changes nothing" cmp damaged before
ok "it is repaired from its copy" status 1 "1 faults repaired" fsck.scmfs damaged
ok "after which nothing is wrong" status 0 "0 faults" fsck.scmfs damaged
# inode_word FILE INODE OFFSET TEXT: 8 bytes of an inode
inode_word() {
	local table
	table=$(dumpscmfs "$1" | sed -n 's/^inode table: at //p')
	damage "$1" $((table + $2 * 256 + $3)) "$4"
}

cp img damaged
inode_word damaged 1 32 X
ok "fsck.scmfs --auto repairs what costs nothing" status 1 "1 faults repaired" fsck.scmfs -a damaged
ok "after which nothing is wrong" status 0 "0 faults" fsck.scmfs -p damaged
inode_word damaged 1 104 X
cp damaged before
ok "what costs something it leaves" status 4 "1 faults left" fsck.scmfs -a damaged
ok "as it is" cmp damaged before
ok "so does --preen, which says how it goes on" status 4 "-y does that" fsck.scmfs -p damaged
inode_word damaged 1 48 X
ok "of two it repairs the one and leaves the other" status 5 "2 faults, 1 repaired, 1 left" fsck.scmfs -p damaged
ok "with --yes it is repaired" status 1 "repaired" fsck.scmfs -a -y damaged
ok "after which nothing is wrong" status 0 "0 faults" fsck.scmfs damaged
# Without standard output or error what is opened first would get their numbers, and what is said would go there.
cp img damaged
ok "refused without standard error" eval '! mkfs.scmfs damaged 2>&-'
ok "it is as it was" cmp damaged img
ok "checked without standard output, which is told" status 8 "can't write" eval 'fsck.scmfs damaged >&-'
ok "its super block is as it was" cmp -n 2048 damaged img
ok "made without" eval '! mkfs.scmfs -f -U 00112233-4455-4677-8899-aabbccddeeff damaged >&-'
ok "it is in order" status 0 "0 faults" fsck.scmfs -n damaged
inode_word damaged 2 0 XXXXXXXX
ok "dumpscmfs shows that an inode is damaged" status 0 "inode 2: damaged" dumpscmfs -a damaged
ok "also when asked for it" status 1 "inode 2: damaged" dumpscmfs -i 2 damaged
# memory that was a file system's once, and is another's, who left the last block alone
cp img foreign
head -c 2M /dev/urandom | dd of=foreign conv=notrunc status=none
printf X | dd of=foreign conv=notrunc status=none
cp foreign before
ok "what has the copy of a super block alone is no file system" status 8 "no scmfs file system, but the copy" fsck.scmfs foreign
ok "nor for dumpscmfs" status 1 "no scmfs file system, but the copy" dumpscmfs foreign
ok "and stays as it is" cmp foreign before
cp img wiped
dd if=/dev/zero of=wiped bs=1M count=2 conv=notrunc status=none
cp wiped before
ok "nor is one of which the start is zeroes" status 8 "no scmfs file system, but the copy" fsck.scmfs wiped
ok "it stays as it is" cmp wiped before
cp img damaged
damage damaged 0 XXXXXXXX
ok "the copy is taken if somebody says so" status 1 "restored from its copy" fsck.scmfs --from-copy damaged
ok "after which nothing is wrong" status 0 "0 faults" fsck.scmfs damaged
# larger than memory: hardly any of it is touched
size=$(($(awk '/^(MemTotal|SwapTotal)/ { sum += $2 } END { print sum }' /proc/meminfo) * 2048))
ok "an image larger than memory" mkfs.scmfs -q -N 500 -s $size large
ok "is shown" status 0 "clean: yes" dumpscmfs large
ok "and checked" status 0 "0 faults" fsck.scmfs -n large
rm large
if [ "$(id -u)" = 0 ] && mkdir disk && mount -t tmpfs -o size=2M none disk 2>/dev/null; then
	ok "on a full disk it is told" status 1 "No space" mkfs.scmfs -s 1G disk/img
	ok "and no file is left" [ ! -e disk/img ]
	umount disk
else
	ok "on a full disk it is told # SKIP no tmpfs can be mounted here" true
fi
# As udev does after something was written: what is started has the lock until it ends.
cp img looked
exec 9<looked
flock -s 9
sleep 0.2 &
exec 9<&-
ok "who looks at it for a moment is waited for" fsck.scmfs looked
exec 9<looked
flock -s 9
ok "who does not let go is told of" status 8 "in use" fsck.scmfs looked
ok "by mkfs.scmfs, too" status 1 "in use" mkfs.scmfs -f -s 16M looked
exec 9<&-
dd if=/dev/zero of=blank bs=1M count=1 status=none
ok "what is not formatted is told, no fault" status 8 "not formatted" fsck.scmfs blank
ok "by dumpscmfs, too" status 1 "not formatted" dumpscmfs blank
truncate -s 4M img
ok "an image that was cut off is told" status 8 "smaller than the file system" fsck.scmfs img
full() { "$@" >/dev/full; }
mkfs.scmfs -f -q -s 8M img
ok "mkfs.scmfs: what can't be said is a failure" status 1 "can't write" full mkfs.scmfs -f img
ok "fsck.scmfs, too" status 8 "can't write" full fsck.scmfs -n img
cp img damaged
damage damaged 16 XXXX
ok "beside what it found" status 12 "can't write" full fsck.scmfs -n damaged
ok "dumpscmfs, too" status 1 "can't write" full dumpscmfs img
# of the others, which take a machine for all else
for tool in emuctl mem2mctl nlctl nlstore scmfsctl; do
	ok "$tool, too" status 1 "cannot write: No space" full $tool --version
done
for tool in mkfs.scmfs fsck.scmfs dumpscmfs; do
	ok "$tool shows its version" status 0 "$tool $(<"$OLDPWD/VERSION")" $tool --version
done
echo "1..$n"
exit $failed
