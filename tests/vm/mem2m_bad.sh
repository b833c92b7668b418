#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: more bad memory than the disk's list has room for
# kernels: 6.1 6.12 debug
# timeout: 120
# memory: 1G
# append: memmap=32M$512M
. tests/vm/lib.sh

conf=/sys/kernel/config/mem2m
page=/sys/devices/system/memory/hard_offline_page
d=/dev/mem2m
here="--phys 0x20000000"
mkdir -p /tmp/mnt
modprobe mem2m || die "no mem2m"
modprobe scmfs || die "no scmfs"
if [ ! -w $page ]; then
	skip "many pages fail" "this kernel can't be told of bad memory"
	done_testing
	exit
fi

info() {
	local key value
	while read -r key value; do [ "$key" != "$2" ] || { echo "$value"; return; }; done <"$conf/$1/info"
	return 1
}

# More places than the disk's list has room for: a page in four, from 16 MiB of the data on, of a device with a file
# system that comes to know of them when it is mounted.
places=560
# at N: the first sector of a place
at() { echo $((32768 + $1 * 32)); }
fail_places() {
	local i
	for ((i = 0; i < places; i++)); do
		echo $((0x20200000 + (32768 + i * 32) * 512)) >$page 2>/dev/null	# EBUSY: we hold the page
	done
}
# refused FROM COMMAND [SEED]: how many of the places from that one on
refused() {
	local i n=0
	for ((i = $1; i < places; i++)); do
		blkio "$2" $d/log $((32768 + i * 32)) 8 ${3:+"$3"} >/dev/null 2>&1 || ((++n))
	done
	echo $n
}
free_blocks() { mount -t scmfs $d/log /tmp/mnt && stat -f -c %f /tmp/mnt && [ "$(</tmp/mnt/f)" = hello ] && umount /tmp/mnt; }
# shellcheck disable=SC2086
mem2mctl create log 32M $here --force && wait_for 10 test -b $d/log || die "no device"
check "a file system" eval "mount -t scmfs -o init $d/log /tmp/mnt && echo hello >/tmp/mnt/f &&
	umount /tmp/mnt"
before=$(free_blocks)
is "nothing is known to be bad" "$(info log bad)" 0
fail_places
is "many pages fail" "$(info log bad)" $((places * 4096))
is "none of them is written" "$(refused 0 write 1)" $places
is "nor zeroed, of the last ones" "$(refused 500 zero)" $((places - 500))
is "nor read" "$(refused 500 verify 0)" $((places - 500))
check "those between them are" blkio write $d/log $(($(at 540) + 8)) 24 "$seed" -- \
	verify $d/log $(($(at 540) + 8)) 24 "$seed"
check_fails "nor zeroed with what is beside it" EIO blkio zero $d/log $(($(at 540) + 8)) 32
is "a file system leaves all of them alone" $((before - $(free_blocks))) $places
check "it shrinks" mem2mctl resize log $(($(at 540) / 2))K
check_fails "nothing grows over any of them" "bad memory behind its end" \
	mem2mctl resize log $(($(at 540) / 2 + 4))K
mem2mctl delete log
check "the modules are unloaded" rmmod scmfs mem2m
done_testing
