#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: the power goes while it works
# kernels: 6.1 6.12 debug
# timeout: 240
default_points=16
. tests/crash/lib.sh
modprobe dm-hybrid || die "no dm-hybrid"

extents=48
table=$(table $((extents * 128)) 128 m "a b" 0 "stripe 8 commit_ms 20 cooldown_ms 0 migrate_kbps 0 movers 4")

# The pool dies with its disks: it has to let go of everything, and to come back whole.
cut_once() {
	local io n=$1
	pool p "$table" || return
	oracle run /dev/mapper/p --log $log --seed $((seed + n)) --ops 100000 --threads 4 --dm p --extents $extents \
		--members 2 --moves 15 --stop-at-error >/tmp/run.out 2>&1 &
	io=$!
	wait_for 120 status_above p commits $((2 + n % 5)) || { echo "# no commits"; return 1; }
	echo "$way" >/sys/kernel/config/emudisk/cut
	wait $io
	[ $? = 0 ] || { cat /tmp/run.out; return 1; }
	remove_pool p || { echo "# the dead pool can't be removed"; return 1; }
	for d in m a b; do emuctl power $d on || return; done
	pool p "$table" || { echo "# does not come back"; return 1; }
	oracle check /dev/mapper/p --log $log --point $never --write && pool_is_sound && remove_pool p &&
		is_sound_offline /dev/emudisk/{m,a,b}
}

for ((n = 0; n < points; n++)); do
	disk m 8M mem cache=volatile
	disk a 3M mem cache=volatile
	disk b 3M mem cache=volatile
	way=$(keep_of $n)
	check "cut $n, $way" cut_once $n || note "$(dmesg | tail -5)"
	drop_leftovers
	for d in m a b; do remove_disk $d; done
done
note_tried "$points"
done_testing
