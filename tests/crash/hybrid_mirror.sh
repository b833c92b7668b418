#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: the power goes while a member that carries metadata is replaced
# kernels: 6.1 6.12
# timeout: 180
# one-of: 2
#
# Once, recorded, after a write to the volume. Then the power goes at moments of it, most around the metadata's writes: the
# pool comes back without being told to do without anything, with all that was flushed. Of some of them, in turn, the same
# command then finishes the work; of others the old device is gone by then, and all that did not lie on it is there. Then
# the same for the only metadata area of a pool, which moves.
default_points=8
. tests/crash/lib.sh
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
A=/dev/emudisk/a B=/dev/emudisk/b C=/dev/emudisk/c

disk a 8M mem cache=volatile
disk b 8M mem cache=volatile
disk c 10M mem cache=volatile

work() { hybridctl replace p $A $C; }
holds() { blkio verify $dev 0 2048 "$seed"; }

check "a pool of two, which carry the metadata" hybridctl create p $A $B --extent 64K --size 2624K --policy stripe \
	--set commit_ms=20 --set low_free=0
pools+=(p)
check "data" blkio write $dev 0 1024 "$seed" -- flush $dev
begin_record
check "more data" blkio write $dev 1024 1024 "$seed" -- flush $dev
flushed=$(now)
check "a member, and the metadata on it, go to another device" work
fields_are "it has left" p "dev.0.state meta" "removed AA"
check "data" holds
end_record

# At moments around what is written to the areas, which are 4 MiB, and flushes, after $flushed; then the record goes.
cut_at_some() {
	awk -v seed="$seed" -v count="$points" -v from="$flushed" '
		$1 > from && $2 > 0 && ($4 == "flush" || $4 == "write" && $5 < 8192) { at[n++] = $1; at[n++] = $2 - 1; at[n++] = $2 }
		END { srand(seed); for (i = 0; i < count && n; i++) print at[int(rand() * n)] }' /dev/emudisk-log | sort -n -u >/tmp/moments
	cut_each </tmp/moments
	rec clear
}

# Into $devices: those with a label: one has none yet, or no more.
labelled() {
	local d
	devices=()
	for d in $A $B $C; do hybridctl identify "$d" >/dev/null 2>&1 && devices+=("$d"); done
}

# All but what status lists as lost
rest_holds() {
	local at=0 first nr
	hybridctl status p --json | jq -r '.lost[] | "\(.first_sector) \(.sectors)"' >/tmp/lost || return
	while read -r first nr; do
		[ "$first" -ge 2048 ] && break
		[ "$first" -le "$at" ] || blkio verify $dev "$at" $((first - at)) "$seed" || return
		at=$((first + nr))
	done </tmp/lost
	[ $at -ge 2048 ] || blkio verify $dev $at $((2048 - at)) "$seed"
}
# The old one is gone: the metadata is on the others, and so is what they hold.
without_old() {
	blkio zero $A 0 16384
	hybridctl assemble p --degraded || return
	pools+=(p)
	rest_holds && status_is p mode rw || { dmsetup status p; return 1; }
	hybridctl stop p && pools=()
}

# cut_at MOMENT WAY: one judgement
cut_at() {
	rec replay to="$1" "${@:2}"
	labelled
	is_sound_offline "${devices[@]}" || { hybridctl check "${devices[@]}"; return 1; }
	hybridctl assemble p || return
	pools+=(p)
	holds || return
	if [ $((n % 3)) != 0 ]; then
		hybridctl stop p && pools=() || return
		[ $((n % 3)) = 1 ] || without_old
		return
	fi
	work && holds || return
	status_is p dev.0.state removed && status_is p meta AA && status_is p mode rw || { dmsetup status p; return 1; }
	hybridctl stop p || return
	pools=()
	is_sound_offline $B $C && ! hybridctl identify $A
}

cut_at_some

# --- the only area moves
wipe a b c
devices=("$A" "$B" "$C")
check "a pool with one area" hybridctl create p $A --metadata $B --extent 64K --size 2M --set commit_ms=20
pools+=(p)
check "data" blkio write $dev 0 1024 "$seed" -- flush $dev
begin_record
check "more data" blkio write $dev 1024 1024 "$seed" -- flush $dev
flushed=$(now)
check "it moves" hybridctl metadata p move 0 $C
field_is "there" p meta "-A"
end_record

# Of some the same command finishes it; of others one of the two is gone, and what is left has all, if it is believed.
cut_at() {
	rec replay to="$1" "${@:2}"
	labelled
	is_sound_offline "${devices[@]}" || { hybridctl check "${devices[@]}"; return 1; }
	hybridctl assemble p || return
	pools+=(p)
	holds && status_is p mode rw || { dmsetup status p; return 1; }
	if [ $((n % 3)) != 0 ]; then
		hybridctl stop p && pools=()
		return
	fi
	if status_is p meta -A; then
		! hybridctl identify $B || hybridctl remove p $B || return
	else
		hybridctl metadata p move 0 $C || return
	fi
	status_is p meta -A && holds || { dmsetup status p; return 1; }
	hybridctl stop p || return
	pools=()
	is_sound_offline $A $C && ! hybridctl identify $B || return
	# Gone, and nobody misses it.
	blkio zero $B 0 16384 && hybridctl assemble p || return
	pools+=(p)
	holds && hybridctl stop p && pools=()
}
cut_at_some
done_testing
