#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: what the media says of one that becomes read-only, and writable again
# kernels: 6.1 6.12 debug
# timeout: 60
# memory: 2G
# append: memmap=32M!1G
#
# A copy of the memory is what a power cut at that moment leaves.
. tests/vm/lib.sh

modprobe -a scmfs nd_e820 nd_pmem || die "no scmfs"
dev=/dev/pmem0 m=/tmp/mnt seen=/tmp/seen image=/tmp/image
wait_for 20 test -b $dev || die "no $dev"
mkdir -p $m
cleanup_mount() { umount $m 2>/dev/null; rm -f $image*; cleanup; }
trap cleanup_mount EXIT

at() { mount -t scmfs -o "${1:-defaults}" $dev $m; }
copy() { dd if=$dev of="${1:-$image}" bs=1M iflag=direct status=none; }
# says TITLE WORD: whether a copy of the memory was closed
says() {
	copy
	is "$1" "$(dumpscmfs $image | sed -n 's/^clean: //p')" "$2"
}
sound() { fsck.scmfs -n $image >$seen 2>&1 && ! grep -qi recover $seen && return; cat $seen; return 1; }
# cut_and_mount [OPTIONS]: power went when $image was made
cut_and_mount() {
	local why
	umount $m && dd if=$image of=$dev bs=1M oflag=direct status=none && log_mark && at "${1:-defaults}" || return
	into why klog since
	[[ $why != *recovered* ]] || { echo "$why"; return 1; }
}
ahead() { scmfsctl usage --json "$1" >$seen && json $seen file.ahead_bytes; }
ro() { mount -o remount,ro $m; }
rw() { mount -o remount,rw $m; }

# --- read-only -----------------------------------------------------------------------------------------------

mkfs.scmfs -f -q $dev || die "no file system"
check "mounted" at lazytime,strictatime
mkdir $m/d
for ((i = 0; i < 100; i++)); do echo $i >$m/d/$i; done
rm $m/d/?
says "writable, it is in use" no
touch -a -d @1000 $m/d/10
sync
cat $m/d/10 >/dev/null
when=$(stat -c %X $m/d/10)
copy
check "an access is told" [ "$when" -gt 1000 ]
matches "and not yet stored" "$(dumpscmfs -i "$(stat -c %i $m/d/10)" $image)" "atime 1000000000000 "
exec {open}>>$m/log
for ((i = 0; i < 8; i++)); do head -c 3000 /dev/zero >&$open; done
check "a file has room ahead" [ "$(ahead $m/log)" -gt 0 ]
check_fails "as long as it is open to be written to it stays writable" "busy" ro
says "and in use" no
check "and is written to" eval "echo more >&$open && echo more >$m/more"
exec {open}>&-
exec {open}<>$m/nameless
rm $m/nameless
exec {open}<&-
exec {open}<$m/more
rm $m/more
check_fails "so it does with a file that has no name" "busy" ro
says "and is in use" no
exec {open}<&-
exec {open}<$m/log
check "read-only" ro
is "it has no room ahead" "$(ahead $m/log)" 0
exec {open}<&-
says "it says that it was closed" yes
check "a copy is in order" sound
cp $image $image.ro
cat $m/d/* >/dev/null
sync
echo 2 >/proc/sys/vm/drop_caches
fsfreeze -f $m
fsfreeze -u $m
check "asked for it, it knows what its log takes" eval "scmfsctl usage --json $m >$seen && [ \$(json $seen log_ram_bytes) -gt 0 ]"
check_fails "it is not written to" "Read-only" touch $m/d/20
check "read-only once more" ro
copy
check "nothing is stored" cmp $image $image.ro
umount $m
copy
check "nor when it is unmounted" cmp $image $image.ro
check "mounted" at
cp $image.ro $image
check "power went while it was read-only: nothing is recovered" cut_and_mount lazytime,strictatime
is "the access was stored" "$(stat -c %X $m/d/10)" "$when"
is "so was all else" "$(cat $m/d/?? | md5sum)" "$(seq 10 99 | md5sum)"
is "a file has no room ahead" "$(ahead $m/log)" 0

# --- writable again ------------------------------------------------------------------------------------------

check "read-only on the way" ro
copy $image.ro
check "writable again" rw
says "it is in use before anything is written" no
check "and is written to" eval "echo new >$m/d/new && rm $m/d/11"
copy
check "power goes" eval "umount $m && dd if=$image of=$dev bs=1M oflag=direct status=none"
log_mark
check "it is mounted" at
into why klog since
matches "by way of recovery" "$why" "recovered:"
check "what was written is there" eval "[ \$(<$m/d/new) = new ] && [ ! -e $m/d/11 ]"
for i in 1 2 3; do
	check "again and again, $i" eval "ro && rw && echo $i >$m/d/again && ro"
	says "closed, $i" yes
	check "in order, $i" sound
	rw
done

# --- read-only from the start --------------------------------------------------------------------------------

umount $m
copy $image.ro
check "mounted read-only" at ro
cat $m/d/* >/dev/null
copy
check "nothing is stored" cmp $image $image.ro
umount $m
copy
check "nor when it is unmounted" cmp $image $image.ro
check "mounted read-only again" at ro
check "made writable" rw
says "it is in use" no
check "and is written to" eval "echo first >$m/d/first"
check "read-only again" ro
says "closed" yes
check "in order" sound
check "power went: nothing is recovered" eval "cut_and_mount ro && [ \$(<$m/d/first) = first ]"
umount $m
at
echo last >$m/d/last
copy
umount $m
dd if=$image of=$dev bs=1M oflag=direct status=none
log_mark
check "what was in use when power went is mounted read-only" at ro
into why klog since
matches "by way of recovery, too" "$why" "recovered:"
says "which leaves it closed" yes
check "with what was written" eval "[ \$(<$m/d/last) = last ]"
umount $m

# --- while files are read ------------------------------------------------------------------------------------

# Reading ends nowhere: what is mapped, looked up and leaves memory is no reason to store.
check "mounted" at
reads() {
	while [ ! -e /tmp/enough ]; do
		cat $m/d/* $m/log >/dev/null
		echo 2 >/proc/sys/vm/drop_caches
	done
}
rm -f /tmp/enough
reads &
reader=$!
there_and_back() {
	local i
	for i in {1..10}; do
		echo "$i" >>$m/log && ro && copy $image.ro && copy && cmp $image $image.ro && sound && rw || return
	done
}
check "read-only while it is read, a copy is in order each time" there_and_back
: >/tmp/enough
wait $reader

# --- shut down -----------------------------------------------------------------------------------------------

check "shut down" calls $m shutdown
check "it becomes read-only" ro
says "but not closed" no
umount $m
check "the next mount recovers" at

# --- by an emergency's remount -------------------------------------------------------------------------------

# All there is becomes read-only: what was writable before is made so again, but for the one that this is about.
emergency() {
	local before where options _
	before=$(</proc/mounts)
	echo u >/proc/sysrq-trigger
	until [[ $(</proc/mounts) == *" $m scmfs ro,"* ]]; do nap 0.05; done
	while read -r _ where _ options _; do
		[[ $where == "$m" || $options == ro* ]] || mount -o remount,rw "$where"
	done <<<"$before"
}
if [ -e /proc/sysrq-trigger ]; then
	exec {open}>>$m/log
	echo 1 >/proc/sys/kernel/sysrq
	emergency
	says "forced to be read-only, with a file that is open to be written to: it is in use" no
	check "who has it open writes on" eval "head -c 3000 /dev/zero >&$open"
	says "which doesn't change that" no
	exec {open}>&-
	check "writable again" rw
	check "and read-only" ro
	says "closed" yes
	check "in order" sound
else
	skip "forced to be read-only" "this kernel has no SysRq"
fi
umount $m
check "the module is unloaded" rmmod scmfs
done_testing
