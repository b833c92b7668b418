#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: files that are mapped
# kernels: 6.1 6.12 debug
# timeout: 150
# memory: 2G
# append: memmap=64M$1G memmap=32M!1088M
. tests/vm/lib.sh

modprobe scmfs || die "no scmfs"
modprobe -q nd_e820
modprobe -q nd_pmem
wait_for 20 test -b /dev/pmem0 || die "no /dev/pmem0"
m=/tmp/mnt twin=/tmp/twin here=phys=1G,size=64M
mkdir -p $m $twin
rm -rf ${twin:?}/*	# of another suite

at() { mount -t scmfs -o "$1" "${2:-none}" $m; }
# what was pinned a moment ago is let go of a moment later
again() { wait_for 20 umount $m && at "${1:-$here}" "${2:-none}"; }
cleanup_mount() { umount $m 2>/dev/null; cleanup; }
trap cleanup_mount EXIT
slow=1
[[ $(uname -v) != *KASAN* && ! -e /sys/kernel/debug/kmemleak ]] || slow=4
mapped $m list >/tmp/cases

# all_cases WHERE
all_cases() {
	local name
	while read -r name; do check "$1: $name" mapped $m "$name"; done </tmp/cases
}

at $here,init=force || die "no file system"
fresh=$(stat -f -c %f $m)
all_cases "reserved memory"
check "what was stored is there after mounting again" eval "again && mapped $m after"
rm -rf ${m:?}/*
again
check "all that was removed is free" [ "$(stat -f -c %f $m)" -ge $((fresh - 4)) ]
# Some kernels mark a hole dirty that was only looked at, and two who flush it at once disturb each other: neither is to.
tracing=/sys/kernel/tracing/events/fs_dax/dax_writeback_one/enable
look_and_flush() {
	local status=0
	sync	# what others have left dirty may be flushed at any time
	echo >/sys/kernel/tracing/trace
	echo 1 >$tracing || return
	mapped $m "$1" || status=$?
	echo 0 >$tracing
	flushed=$(grep -c 'dax_writeback_one:' /sys/kernel/tracing/trace) || true
	return $status
}
check "stores through a mapping" look_and_flush hole_store
check "are flushed" [ "$flushed" -gt 0 ]
check "looks at a hole" look_and_flush hole_flushed
is "are nothing to flush" "$flushed" 0
check "four processes at once" mapped $m race "$seed" $((1000 / slow))
cp /bin/ls /bin/sleep $m
check "a program runs from it" $m/ls $m
$m/sleep 100 &
runs=$!
wait_for 10 test /proc/$runs/exe -ef $m/sleep
check_fails "and isn't written meanwhile" "Text file busy" eval "echo x >>$m/sleep"
kill $runs
wait $runs
rm -rf ${m:?}/*
check "files that come and go mapped, beside tmpfs" eval "mkdir $m/twin &&
	fstwin run $m/twin $twin $((seed + 1)) $((3000 / slow)) && again && fstwin same $m/twin $twin"
rm -rf ${m:?}/* ${twin:?}/*

# poisoned TITLE NAME PAGE: that page of a file goes bad; skipped where the kernel can't
poisoned() {
	local status=0
	mapped $m poison "$2" "$3" >"$said" 2>&1 || status=$?
	case $status in
	0) ok "$1" ;;
	3) skip "$1" "this kernel is built without" ;;
	*) not_ok "$1" "status $status: $(<"$said")" ;;
	esac
	return $status
}
head -c 200000 /dev/urandom >$m/bad
if poisoned "bad memory is an error, and nothing else" bad 10; then
	free=$(stat -f -c %f $m)
	rm $m/bad
	check "what was in it is gone" [ "$(stat -f -c %f $m)" -ge $((free + 48)) ]
	check_fails "and what comes doesn't get it" "No space" dd if=/dev/zero of=$m/all bs=1M
	check "all of that can be read" cmp -n "$(stat -c %s $m/all)" $m/all /dev/zero
	rm $m/all
	check "the next mount finds all there was" eval "again && [ \$(stat -f -c %f $m) -gt $((free + 48)) ]"
fi
rm -f $m/bad

# pinned TITLE MOUNT [shut]: unmounting while a program holds pages, and nothing else; MOUNT mounts it again
pinned() {
	local held program
	coproc holder { exec mapped $m hold ${3:+"$3"}; }
	program=$!
	exec {tell}>&"${holder[1]}"
	read -r held <&"${holder[0]}"
	is "$1: pages are pinned" "$held" held
	[ "${3:-}" ] || is "which scmfsctl says" "$(scmfsctl usage --json $m | json /dev/stdin pinned_files)" 1
	check_fails "umount finds it busy" "target is busy" umount $m
	if [ "$1" = lazily ]; then
		check "umount -l doesn't wait" umount -l $m
		check_fails "and the memory is nobody else's" "already mounted or mount point busy" $2
	fi
	echo >&"$tell"
	exec {tell}>&-
	check "the program lets go of them" wait $program
	if [ "$1" = lazily ]; then
		check "the memory is free" wait_for 20 $2
	else
		check "and it can be unmounted" wait_for 20 umount $m
		check "what was stored is there" $2
	fi
	is "all of it" "$(tr -d '\6' <$m/held | wc -c) of $(stat -c %s $m/held)" "0 of 65536"
	rm -f $m/held
	check "and nothing of what had no name" [ "$(stat -f -c %f $m)" -ge $((fresh - 40)) ]
}
mount_again() { at $here; }
pinned mounted mount_again
pinned "shut down" mount_again shut
pinned lazily mount_again
# More than there can be work items at once, all of a program that takes its time.
mkdir -p /tmp/other
mkfifo /tmp/enough /tmp/told
check "another file system" mount -t scmfs -o init=force /dev/pmem0 /tmp/other
check "who reads a file in pieces, and waits, keeps no others' memory" mapped $m windows /tmp/other
rm -f $m/a $m/b /tmp/other/to
mapped /tmp/other hold 300 </tmp/enough >/tmp/told &
many=$!
exec {enough}>/tmp/enough
read -r held </tmp/told
is "pages of 300 files are pinned there" "$held" held
pinned "beside these" mount_again
echo >&"$enough"
exec {enough}>&-
check "they are let go of, too" wait $many
check "and that one can be unmounted" wait_for 20 umount /tmp/other
again $here,data=atomic
all_cases "data=atomic"
umount $m

check "pmem" at init=force /dev/pmem0
all_cases pmem
check "what was stored is there after mounting again" eval "again defaults /dev/pmem0 && mapped $m after"
rm -rf ${m:?}/*
is "a store to a file without blocks takes a huge page" "$(mapped $m sparse)" 512
head -c 200000 /dev/urandom >$m/bad
poisoned "pmem: bad memory is an error" bad 10 || :
check "pmem: it can be unmounted" wait_for 20 umount $m
echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind	# which forgets it
echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/bind
wait_for 10 test -b /dev/pmem0
check "a partition that no huge page begins with" eval "addpart /dev/pmem0 1 2048 49152 &&
	wait_for 10 test -b /dev/pmem0p1 && at init=force /dev/pmem0p1"
is "there it takes one of 4 KiB" "$(mapped $m sparse)" 1
check "it can be unmounted, too" eval "wait_for 20 umount $m && delpart /dev/pmem0 1"
check "the module is unloaded" rmmod scmfs
done_testing
