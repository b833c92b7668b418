#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: files that are mapped
# kernels: 6.1 6.12 debug
# timeout: 60
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
again() { umount $m && at "${1:-$here}" "${2:-none}"; }
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

# pinned TITLE [shut]: umount while a program holds pages, and nothing else
pinned() {
	local held program umounts
	coproc holder { exec mapped $m hold ${2:+"$2"}; }
	program=$!
	exec {tell}>&"${holder[1]}"
	read -r held <&"${holder[0]}"
	is "$1: pages are pinned" "$held" held
	umount $m &
	umounts=$!
	check "umount waits" wait_for 20 grep -q sfs_put_super /proc/$umounts/stack
	echo >&"$tell"
	exec {tell}>&-
	check "the program lets go of them" wait $program
	check "and umount returns" wait $umounts
	check "what was stored is there" at $here
	is "all of it" "$(tr -d '\6' <$m/held | wc -c) of $(stat -c %s $m/held)" "0 of 65536"
	rm -f $m/held
	check "and nothing of what had no name" [ "$(stat -f -c %f $m)" -ge $((fresh - 40)) ]
}
pinned "mounted"
pinned "shut down" shut
again $here,data=atomic
all_cases "data=atomic"
umount $m

check "pmem" at init=force /dev/pmem0
all_cases pmem
check "what was stored is there after mounting again" eval "again defaults /dev/pmem0 && mapped $m after"
umount $m
check "the module is unloaded" rmmod scmfs
done_testing
