#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: memory that got another use since its device was deleted
# kernels: 6.1 6.12
# timeout: 60
# memory: 2G
# append: memmap=320M!1408M memmap=384M$1G
. tests/vm/lib.sh

conf=/sys/kernel/config/mem2m asked=/tmp/mem2m.conf
modprobe mem2m || die "no mem2m"
modprobe -q nd_e820
modprobe -q nd_pmem
wait_for 20 test -b /dev/pmem0 || die "no /dev/pmem0"
pm=/dev/pmem0

info() {
	local key value
	while read -r key value; do [ "$key" != "$2" ] || { echo "$value"; return; }; done <"$conf/$1/info"
	return 1
}
save() { dd if=$pm of="$1" bs=1M count=1 iflag=direct status=none; }
restore() { dd if="$1" of=$pm bs=1M count=1 oflag=direct conv=notrunc status=none; }
# put BYTE FORMAT: what printf makes of it
put() { printf "$2" | dd of=$pm bs=1 seek="$1" conv=notrunc,fsync status=none; }
clear() { dd if=/dev/zero of=$pm bs=512 seek=$(($1 / 512)) count="$2" conv=notrunc,fsync status=none; }

dos_table() { put 446 '\0\x20\x21\0\x83\x2a\xaa\x28\0\x08\0\0\0\xf0\1\0' && put 510 '\x55\xaa'; }
dos_sector() { clear 0 1 && dos_table; }
raid() { put 4096 '\xfc\x4e\x2b\xa9\1\0\0\0' && clear 4608 1; }
volume_label() { put 512 'LABELONE\1\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001'; }
volume() { clear 0 4 && volume_label; }
swap_space() { mkswap $pm; }

# refused WHAT REASON NAME SIZE: whoever asks, and nothing is written
refused() {
	local what=$1 reason=$2 name=$3 size=$4
	save /tmp/with
	check_fails "$what: create is refused" "$reason; --force overwrites it" mem2mctl create "$name" "$size" --dax $pm
	echo "$name $size --dax $pm" >$asked
	check_fails "$what: and what is configured" "line 1: $name on $pm: .*$reason$" mem2mctl configured $asked $pm
	check "$what: which is left as it is" eval "save /tmp/after && cmp /tmp/with /tmp/after"
}
# put_over WHAT REASON NAME SIZE: each of them, over the head that was saved
put_over() {
	local other
	for other in dos_table dos_sector raid volume_label volume swap_space; do
		restore /tmp/head
		check "$1: $other" $other
		refused "$1: $other" "${@:2}"
	done
	restore /tmp/head
}

# --- a device that was deleted ----------------------------------------------------------------------

mem2mctl create log 16M --dax $pm --force && wait_for 10 test -b /dev/mem2m/log || die "no device"
blkio write /dev/mem2m/log 0 4096 "$seed"
mem2mctl delete log
save /tmp/head
put_over deleted "log was there, and something else was put in its place" log 16M
clear 0 1
refused "deleted: a copy that was zeroed" "log was there, and something else was put in its place" log 16M
restore /tmp/head
put 16 'torn'
check "deleted: with a copy damaged it is found" eval "mem2mctl create log 16M --dax $pm && [ \$(info log found) = 1 ]"
check "deleted: with its content" eval "wait_for 10 test -b /dev/mem2m/log && blkio verify /dev/mem2m/log 0 4096 $seed"
mem2mctl delete log
echo "16 1" >/sys/block/pmem0/badblocks		# between the labels
check "deleted: also with bad memory between its labels" eval "mem2mctl create log 16M --dax $pm && [ \$(info log found) = 1 ]"
mem2mctl delete log
echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind	# which forgets what it was told
echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/bind
wait_for 10 test -b $pm
save /tmp/head
raid
check "deleted: --force overwrites what is there" eval "mem2mctl create log 16M --dax $pm --force && [ \$(info log found) = 0 ]"
mem2mctl delete log

# --- one that was not finished ------------------------------------------------------------------------

# zeroing: what of it is behind the labels
zeroing() {
	local key value state='' total=''
	while read -r key value; do
		[ "$key" != state ] || state=$value
		[ "$key" != total ] || total=$value
	done <$conf/whole/info
	[ "$state $total" = "busy $((298 << 20))" ]
} 2>/dev/null
clear 0 256
interrupt_once zeroing mem2mctl create whole 300M --dax $pm
is "unfinished: a creation is interrupted while it zeroes" "$interrupted" "1 mem2mctl: interrupted"
save /tmp/head
put_over unfinished "whole was begun there, but it isn't blank" whole 300M
put 131072 'x'
refused "unfinished: what is behind the head" "whole was begun there, but it isn't blank" whole 300M
put 131072 '\0'
put $((300 * 1048576 - 512)) 'x'
refused "unfinished: what is at its end" "whole was begun there, but it isn't blank" whole 300M
put $((300 * 1048576 - 512)) '\0'
clear 0 1
check "unfinished: it is begun anew, also with one label" eval "mem2mctl create whole 300M --dax $pm && [ \$(info whole found) = 0 ]"
mem2mctl delete whole

# --- reserved memory ----------------------------------------------------------------------------------

here="--phys 0x40000000"
poke() { printf "$2" | dd of=/dev/mem bs=1 seek=$((0x40000000 + $1)) conv=notrunc status=none; }
mem2mctl create log 32M $here && mem2mctl delete log
poke 4096 '\xfc\x4e\x2b\xa9'
check_fails "reserved: what was put over a device is not overwritten" "log was there, and something else .*; --force" \
	mem2mctl create log 32M $here
poke 4096 '\0\0\0\0'
check "reserved: it is found without" eval "mem2mctl create log 32M $here && [ \$(info log found) = 1 ]"
mem2mctl delete log
check "the module is unloaded" rmmod mem2m
done_testing
