#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid beneath ext4: fsync'ed files outlive power cuts
# kernels: 6.1 6.12
# one-of: 2
# timeout: 240
default_points=24
. tests/crash/lib.sh
modprobe dm-hybrid || die "no dm-hybrid"
modprobe ext4

disk m 8M mem cache=volatile
disk a 25M mem cache=volatile
disk b 25M mem cache=volatile
extents=512
table=$(table $((extents * 128)) 128 m "a b" 0 "stripe 8 commit_ms 50 cooldown_ms 0 migrate_kbps 0 movers 4")
mkdir -p /tmp/mnt
judge() {
	local r
	pool p "$table" && mount /dev/mapper/p /tmp/mnt || return
	python3 tests/crash/files.py check /tmp/mnt /tmp/files.log "$1"
	r=$?
	umount /tmp/mnt
	[ $r = 0 ] && e2fsck -fn /dev/mapper/p && pool_is_sound && remove_pool p &&
		is_sound_offline /dev/emudisk/{m,a,b}
}

check "a pool" pool p "$table"
check "mkfs" mkfs.ext4 -q -b 4096 -J size=4 -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/p
check "mount" mount -o discard /dev/mapper/p /tmp/mnt
sync
rec start
oracle shuffle p --extents $extents --members 2 --seed "$seed" &
mover=$!
check "files, under migration" python3 tests/crash/files.py run /tmp/mnt /tmp/files.log "$seed" 60 $record
kill $mover
wait $mover 2>/dev/null
note "$(dmsetup status p)"
umount /tmp/mnt
check "e2fsck after a clean end" e2fsck -fn /dev/mapper/p
remove_pool p
rec stop
mapfile -t at < <({ sharp_points $((points / 2))
	shuf -n $((points / 2)) -i "$(sed -n 's/^start //p' $record)-$(sed -n 's/^end //p' $record)" \
		--random-source=<(yes "$seed"); } | sort -n -u)
n=0
for p in "${at[@]}"; do
	how=$(keep_of $n)
	n=$((n + 1))
	# shellcheck disable=SC2086
	rec replay to="$p" $how
	check "cut at $p, $how" judge "$p"
	drop_leftovers
done
note_tried "$n"
rec clear
done_testing
