#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: what is in reserved memory and pmem is there in the next machine
# timeout: 240
# one-of: 2
. "$(dirname "$(readlink -f "$0")")/vm/reboot.sh"

setup="modprobe mem2m
	modprobe dm-hybrid
	where='--phys 512M'
	log=/dev/mem2m/log pm=/dev/mem2m/pm
	is_new() { ! grep -q '^found 1' /sys/kernel/config/mem2m/*/info; }"

machine "devices are made, written and flushed, and the power goes" "
	mem2mctl create log 128M \$where
	mem2mctl create pm 64M --dax /dev/pmem0
	is_new
	n=\$(blockdev --getsz \$log)
	blkio write \$log 0 \$n $seed -- fua \$log 8 8 3 -- flush \$log
	n=\$(blockdev --getsz \$pm)
	blkio write \$pm 0 \$n $seed -- fua \$pm 8 8 3 -- flush \$pm"
machine "in the next machine every byte of both is there" "
	mem2mctl create log 128M \$where
	mem2mctl create pm 64M --dax /dev/pmem0
	[ \"\$(grep -c '^found 1' /sys/kernel/config/mem2m/*/info | grep -c ':1')\" = 2 ]
	for d in \$log \$pm; do
		n=\$(blockdev --getsz \$d)
		blkio verify \$d 0 8 $seed -- verify \$d 8 8 3 -- verify \$d 16 \$((n - 16)) $seed
	done"
options=(--reset)
machine "and after a reset of the same machine" "
	mem2mctl create log 128M \$where
	mem2mctl create pm 64M --dax /dev/pmem0
	if ! blkio verify \$log 0 8 $((seed + 1)); then
		for d in \$log \$pm; do
			n=\$(blockdev --getsz \$d)
			blkio write \$d 0 \$n $((seed + 1)) -- fua \$d 8 8 4 -- flush \$d
		done
		vm-reset
	fi
	echo 'it was reset'
	for d in \$log \$pm; do
		n=\$(blockdev --getsz \$d)
		blkio verify \$d 0 8 $((seed + 1)) -- verify \$d 8 8 4 -- verify \$d 16 \$((n - 16)) $((seed + 1))
	done"
machine "a volume with a member in reserved memory is there after a reset" "
	mem2mctl create log 128M \$where
	mem2mctl create pm 64M --dax /dev/pmem0
	vol=/dev/mapper/vol
	if ! hybridctl assemble vol; then
		! hybridctl create vol \$log \$pm --force 2>/tmp/why
		grep 'mem2m/log is a RAM disk, RAM set aside.*--volatile-ok' /tmp/why
		hybridctl create vol \$log \$pm --force --volatile-ok
		hybridctl status vol | grep 'volatile: device 0 (/dev/mem2m/log): content'
		blkio write \$vol 0 \$(blockdev --getsz \$vol) $seed -- flush \$vol
		vm-reset
	fi
	echo 'it was reset'
	blkio verify \$vol 0 \$(blockdev --getsz \$vol) $seed
	hybridctl stop vol"
done_rebooting
