#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: what is in reserved memory and pmem is there in the next machine
# timeout: 120
#
# Two machines one after the other with the same memory: a file behind the RAM, another behind a DIMM.
set -uo pipefail
cd "$(dirname "$(dirname "$(readlink -f "$0")")")" || exit
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 143' TERM
seed=${EVENKEEL_SEED:-$RANDOM} tests=0 failed=0
echo "KTAP version 1"
echo "# seed $seed (EVENKEEL_SEED)"

# machine TITLE COMMANDS
machine() {
	tests=$((tests + 1))
	scripts/vm --memory 1G --ram "$tmp/ram" --pmem "$tmp/dimm:68M" --append 'memmap=128M$512M' -- bash -euc "
		PATH=$PWD/build/tests/bin:\$PATH
		modprobe mem2m
		where='--phys 512M'
		log=/dev/mem2m/log pm=/dev/mem2m/pm
		is_new() { ! grep -q '^found 1' /sys/kernel/config/mem2m/*/info; }
		$2" >"$tmp/out" 2>&1
	local status=$?
	if [ $status = 0 ]; then
		echo "ok $tests - $1"
	else
		echo "not ok $tests - $1"
		echo "# status $status"
		tail -n 60 "$tmp/out" | sed 's/^/# /'
		failed=1
	fi
}

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
echo "1..$tests"
exit $failed
