#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: power cuts at hundreds of moments
# kernels: 6.1 6.12
# quick: no
# timeout: 400
default_points=200
. tests/crash/lib.sh
modprobe dm-hybrid || die "no dm-hybrid"

# 2 x 31 extents of 64 KiB for 48 logical ones: space is reused all the time
extents=48
members="a b"
line() { table $((extents * 128)) 128 "${1:-m}" "$members" 0 "stripe 8 commit_ms 20 cooldown_ms 0 migrate_kbps 0 movers 4"; }

workload() {
	oracle run /dev/mapper/p --log $log --seed "$seed" --ops "$1" --threads 4 --seq $record --dm p --extents $extents \
		--members 2 --moves 15 --discards 10
}

# campaign TITLE META... : one workload, cut at many points
campaign() {
	local title=$1 d
	shift
	all="$* $members"
	for d in $all; do
		case $d in
		m*) disk "$d" 8M mem cache=volatile ;;
		*) disk "$d" 3M mem cache=volatile ;;
		esac
	done
	table=$(line "$*")
	# What an earlier pool left on the devices must not be taken for the new one's, wherever that is cut.
	check "$title: an earlier pool" pool p "$table"
	remove_pool p
	for d in $all; do wipe_labels "$d"; done
	offline=". tests/crash/offline.sh; is_sound_offline $(printf '/dev/emudisk/%s ' $all)"
	rec start
	check "$title: a new pool" pool p "$table"
	formed=$(now)
	check "$title: a workload" workload 600
	cat "$said"
	note "$(dmsetup status p)"
	check "$title: its end" judge_live
	remove_pool p
	rec stop
	awk -v end="$formed" '$1 <= end { print $1; if ($2) print $2 }' /dev/emudisk-log | sort -n -u |
		sweep "$title: the first resume, cut everywhere" "$table" --then "$offline"
	all_points $((points / 4)) --every >/tmp/points
	sweep "$title: cut" "$table" --then "$offline" </tmp/points
	mapfile -t outer < <(awk -v n="$(wc -l </tmp/points)" 'NR == int(n / 3) || NR == int(n * 2 / 3)' /tmp/points)
	nested "$title" "${outer[@]}"
	rec clear
	for d in $all; do remove_disk "$d"; done
	seed=$((seed + 1))
}

judge_live() { oracle check /dev/mapper/p --log $log --point $never && pool_is_sound; }

save() { for d in $all; do dd if="/dev/emudisk/$d" of="/tmp/$1.$d" bs=1M status=none; done; }
restore() { for d in $all; do dd if="/tmp/$1.$d" of="/dev/emudisk/$d" bs=1M oflag=direct conv=fsync status=none; done; }

# nested TITLE POINT...: recovery is cut, too, at moments of its own; content is judged as of the first cut
nested() {
	local title=$1 outer
	shift
	for outer; do
		rec replay to="$outer" keep=random seed="$seed"
		save "$outer"
	done
	for outer; do
		rec clear
		restore "$outer"
		rec start
		check "$title: recovery from $outer" pool p "$table"
		oracle check /dev/mapper/p --log $log --point "$outer" >"$said" 2>&1
		is "$title: its content" $? 0 || note "$(cat "$said")"
		remove_pool p
		rec stop
		awk '{ print $1; if ($2) print $2 }' /dev/emudisk-log | sort -n -u >/tmp/moments
		shuf -n $((points / 10 + 4)) --random-source=<(yes "$seed") /tmp/moments |
			sweep "$title: recovery cut" "$table" --point "$outer" --then "$offline"
	done
}

campaign "one metadata area" m
campaign "two metadata areas" m1 m2
done_testing
