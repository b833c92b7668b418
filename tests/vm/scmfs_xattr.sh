#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: extended attributes and ACLs, and file systems from before there were any
# kernels: 6.1 6.12 debug
# timeout: 90
# memory: 2G
# append: memmap=64M$1G memmap=32M!1088M
. tests/vm/lib.sh

modprobe scmfs || die "no scmfs"
modprobe -q nd_e820
modprobe -q nd_pmem
wait_for 20 test -b /dev/pmem0 || die "no /dev/pmem0"
m=/tmp/mnt here=phys=1G,size=32M
mkdir -p $m
at() { mount -t scmfs -o "$1" "${2:-none}" $m; }
again() { umount $m && at "${1:-$here}" "${2:-none}"; }
cleanup_mount() { umount $m 2>/dev/null; cleanup; }
trap cleanup_mount EXIT
value() { getfattr -h --absolute-names --only-values -n "$2" "$1"; }
names() { getfattr -h --absolute-names -m - "$1" 2>/dev/null | grep -v '^#\|^$' | sort | paste -sd' '; }
free_blocks() { stat -f -c %f $m; }

at $here,init=force || die "no file system"
check "calls on attributes" calls $m xattrs
check "after mounting again they are there" eval "again && [ \"\$(value $m/kept user.one)\" = 1 ] &&
	[ \$(value $m/kept user.large | wc -c) = 65536 ]"
is "all of them" "$(names $m/kept)" "security.evil trusted.one user.large user.one"
is "not all of them are for everybody" "$(chmod 644 $m/kept; setpriv --reuid 65534 --clear-groups \
	getfattr --absolute-names -m - $m/kept 2>/dev/null | grep -c trusted)" 0
check "a symbolic link has some" eval "ln -s nowhere $m/link && setfattr -h -n trusted.l -v x $m/link &&
	[ \"\$(value $m/link trusted.l)\" = x ]"
check_fails "but none of the user's" "not permitted" setfattr -h -n user.l -v x $m/link
before=$(free_blocks)
check "copied with all of them" eval "cp -a $m/kept $m/copy && [ \"\$(names $m/copy)\" = \"\$(names $m/kept)\" ]"
rm $m/copy
sync
is "they go with the file" "$(free_blocks)" "$before"
dd if=/dev/zero of=$m/full bs=64K status=none 2>/dev/null
check_fails "a full file system says so" "No space" eval "head -c 60000 /dev/zero | tr '\\0' x >/tmp/large &&
	setfattr -n user.more -v \"\$(</tmp/large)\" $m/kept"
is "and has what it had" "$(names $m/kept)" "security.evil trusted.one user.large user.one"
rm $m/full
# The last free memory is what one file has ahead of itself.
: >$m/own
exec {append}>>$m/own
for ((i = 0; i < 80; i++)); do printf '%4096s' '' >&$append; done
ahead() { scmfsctl usage --json $m/own >/tmp/usage && json /tmp/usage file.ahead_bytes; }
room=$(ahead)
check "a file has room ahead" [ "$room" -gt 0 ]
setfattr -n user.first -v "$(</tmp/large)" $m/kept 2>/dev/null
check_fails "of too many attributes, too, it is said that there is no room" "No space" \
	setfattr -n user.second -v "$(</tmp/large)" $m/kept
is "nobody gives any back for that" "$(ahead)" "$room"
setfattr -x user.first $m/kept
fallocate -l $(($(free_blocks) * 4096)) $m/full
is "all is taken" "$(free_blocks)" 0
check "a file's own room ahead does for its attributes" setfattr -n user.origin -v x $m/own
exec {append}>&-
rm $m/own $m/full
check "what a program may do goes when it is written to" eval "cp /bin/true $m/able && chmod 755 $m/able &&
	setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 $m/able &&
	names $m/able | grep -q security.capability && echo x >>$m/able && ! names $m/able | grep capability"

# --- ACLs ------------------------------------------------------------------------------------------

acl() { getfacl -ncE --absolute-names "$1" 2>/dev/null | grep -v '^$' | paste -sd' '; }
check "a file gets one" eval "touch $m/f && chmod 600 $m/f && setfacl -m u:1000:rw $m/f"
is "an ACL" "$(acl $m/f)" "user::rw- user:1000:rw- group::--- mask::rw- other::---"
is "the mode's group bits are its mask" "$(stat -c %a $m/f)" 660
chmod 640 $m/f
is "which chmod changes" "$(acl $m/f)" "user::rw- user:1000:rw- group::--- mask::r-- other::---"
check "it says who may" setpriv --reuid 1000 --regid 1000 --clear-groups cat $m/f
check_fails "and who may not" "denied" setpriv --reuid 1000 --regid 1000 --clear-groups dd of=$m/f if=/dev/null conv=notrunc
check_fails "nobody else" "denied" setpriv --reuid 1001 --regid 1001 --clear-groups cat $m/f
again
is "after mounting again" "$(acl $m/f)" "user::rw- user:1000:rw- group::--- mask::r-- other::---"
setfacl -b $m/f
is "taken away, nothing is left" "$(names $m/f) $(stat -c %a $m/f)" " 600"
setfacl -m u::rw,g::r,o::- $m/f
is "one that the mode says is the mode" "$(names $m/f) $(stat -c %a $m/f)" " 640"
mkdir $m/d
setfacl -d -m u:1000:rwx,g::rx,o::- $m/d
(umask 077; touch $m/d/f; mkdir $m/d/d; ln -s x $m/d/s; mkfifo $m/d/p)
is "new files inherit it, whatever the umask is" "$(acl $m/d/f)" \
	"user::rw- user:1000:rwx group::r-x mask::rw- other::---"
is "directories hand it on" "$(acl $m/d/d)" "user::rwx user:1000:rwx group::r-x mask::rwx other::--- \
default:user::rwx default:user:1000:rwx default:group::r-x default:mask::rwx default:other::---"
is "so do pipes, and no links" "$(names $m/d/p)$(names $m/d/s)" "system.posix_acl_access"
(umask 027; touch $m/u)
is "without a default the umask counts" "$(stat -c %a $m/u)" 640
again
is "all of that is on the media" "$(acl $m/d/f) $(names $m/d/d)" \
	"user::rw- user:1000:rwx group::r-x mask::rw- other::--- \
system.posix_acl_access system.posix_acl_default"
check_fails "a file has no default one" "denied" setfattr -n system.posix_acl_default \
	-v 0x0200000001000600ffffffff04000400ffffffff20000400ffffffff $m/f
again $here,noacl
check "noacl is shown" grep -q " scmfs .*noacl" /proc/mounts
check_fails "and there are none" "not supported" setfacl -m u:1000:rw $m/f
(umask 027; touch $m/d/u)
is "nor any inherited" "$(stat -c %a $m/d/u)" 640
check "until it is mounted with them again" eval "mount -o remount,acl $m && setfacl -m u:1000:rw $m/f"
umount $m
dd if=/dev/mem of=/tmp/image bs=1M skip=1026 count=30 status=none
check "fsck finds all of it in order" fsck.scmfs -n /tmp/image
check "dumpscmfs shows them" eval "dumpscmfs -a /tmp/image | grep -q '  attribute: 65536 bytes user.large'"

# --- from before ------------------------------------------------------------------------------------

check "one without the features is made" mkfs.scmfs -q -f -O ^unwritten,^xattr /dev/pmem0
is "and says so" "$(dumpscmfs /dev/pmem0 | grep features:)" "features:"
check "it is mounted" at defaults /dev/pmem0
echo x >$m/f
check_fails "it has no attributes" "not supported" setfattr -n user.x -v x $m/f
check_fails "and no ACLs" "not supported" setfacl -m u:1000:rw $m/f
check "and zeroes what is reserved" eval "fallocate -l 64K $m/g && cmp -n 65536 $m/g /dev/zero &&
	! filefrag -v $m/g | grep unwritten"
umount $m
check "fsck finds it in order" fsck.scmfs -n /dev/pmem0
check "the module is unloaded" rmmod scmfs
done_testing
