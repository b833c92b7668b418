#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: the power goes while members come and go
# kernels: 6.1 6.12
# timeout: 240
#
# A device is put in another's place and the volume grows, once, recorded. Then the power goes at many moments of it:
# the pool comes back with all that was flushed, is sound, and the same commands, given again, finish the work.
# The same beside a load whose content is known, where one joins, one is emptied and goes, another is replaced, and the
# volume grows; and beside one during which a member fails and is taken back.
#
# EVENKEEL_POINTS: how many moments of each, instead of few beside loads.
default_points=100
. tests/crash/lib.sh
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
all=(/dev/emudisk/{m,a,b,c})

disk m 8M mem cache=volatile
disk a 4M mem cache=volatile
disk b 4M mem cache=volatile
disk c 8M mem cache=volatile

work() { hybridctl replace p "${all[2]}" "${all[3]}" && hybridctl grow p; }
holds() { blkio verify $dev 0 4096 "$seed" -- verify $dev 4096 1024 0; }

check "a pool of two" hybridctl create p "${all[1]}" "${all[2]}" --metadata "${all[0]}" --extent 64K \
	--size 2624K --policy stripe --set commit_ms=20 --set low_free=0
pools+=(p)
check "data" blkio write $dev 0 4096 "$seed" -- flush $dev
begin_record
check "one member in the other's place, and growth" work
size=$(sectors $dev)
check "data" holds
check "larger" [ "$size" -gt 8000 ]
end_record

# Into $devices: those with a label: one has none yet, or no more.
labelled() {
	local d
	devices=()
	for d in "${all[@]}"; do hybridctl dump "$d" 2>&1 | grep -q "no hybrid label" || devices+=("$d"); done
}

# cut_at MOMENT WAY: one judgement
cut_at() {
	rec replay to="$1" "${@:2}"
	labelled
	is_sound_offline "${devices[@]}" || { hybridctl check "${devices[@]}"; return 1; }
	hybridctl assemble p || return
	pools+=(p)
	holds && work && holds || return
	status_is p dev.1.state removed && status_is p mode rw && [ "$(sectors $dev)" = "$size" ] ||
		{ dmsetup status p; return 1; }
	hybridctl stop p || return
	pools=()
	is_sound_offline "${all[0]}" "${all[1]}" "${all[3]}"
}
# Where nothing but the evacuation goes on, one moment is like the next: half of them are around the metadata's writes.
metadata_points() {
	awk -v seed="$seed" -v count="$1" '
	$2 > 0 && ($3 == "m" || $3 ~ /[a-d]/ && $5 < 2048) && $4 == "write" { at[n++] = $1; at[n++] = $2 - 1; at[n++] = $2 }
	END { srand(seed + 1); for (i = 0; i < count && n; i++) print at[int(rand() * n)] }' /dev/emudisk-log
}
{ sharp_points $((points / 8)); metadata_points $((points / 4)); } | sort -n -u >/tmp/moments
note "$(wc -l </tmp/moments) moments"
cut_each </tmp/moments
rec clear

# --- beside a load: whatever it was told is durable is there, and nothing else is but what it wrote
load_points=${EVENKEEL_POINTS:-3}
A=/dev/emudisk/a B=/dev/emudisk/b C=/dev/emudisk/c D=/dev/emudisk/d
disk d 8M mem cache=volatile
all+=("$D")

load_begins() {
	oracle run $dev --log $log --seed "$seed" --ops 200000 --threads 2 --seq $record --dm p --extents 40 --members 4 \
		--moves 5 "$@" >/tmp/load 2>&1 &
	load=$!
	wait_for 20 status_above p flushes 2
}
load_ends() {
	kill -TERM $load
	wait $load
	is "the load read what it wrote" $? 0 || note "$(</tmp/load)"
	note "$(tail -1 /tmp/load)"
}
pool_of_two() {
	wipe a b c d m
	hybridctl create p $A $B --metadata "${all[0]}" --extent 64K --size 2560K --policy stripe --set commit_ms=20 \
		--set low_free=0 --set fail_flushes=2 --set tell_ms=0 && pools+=(p)
}
is_member() { local line; into line dmt table p; [[ " $line " == *" $(<"/sys/block/emudisk!$1/dev") "* ]]; }
has_label() { hybridctl identify "/dev/emudisk/$1" >/dev/null 2>&1; }

# All of it, from wherever it was cut
members_change() {
	is_member c || hybridctl add p $C || return
	if is_member b; then
		hybridctl evacuate p $B && hybridctl remove p $B || return
	elif has_label b; then
		hybridctl remove p $B || return
	fi
	hybridctl replace p $A $D && hybridctl grow p
}
members_changed() {
	! is_member a && ! is_member b && is_member c && is_member d && [ "$(sectors $dev)" = "$size" ] &&
		status_is p mode rw || { dmsetup table p; dmsetup status p; return 1; }
}

# Around all that is written to the metadata and to labels, and around what the load was told
load_moments() {
	{ all_points $(($1 / 2)); metadata_points $(($1 - $1 / 2)); } | sort -n -u >/tmp/moments
	note "$(wc -l </tmp/moments) moments of $(now)"
}
comes_back() {
	labelled
	is_sound_offline "${devices[@]}" || { hybridctl check "${devices[@]}"; return 1; }
	hybridctl assemble p || return
	pools+=(p)
	oracle check $dev --log $log --point "$1" && status_is p mode rw && status_is p needs_check -
}
goes_soundly() {
	hybridctl stop p || return
	pools=()
	labelled
	is_sound_offline "${devices[@]}"
}

check "a pool of two again" pool_of_two
begin_record
check "a load" load_begins
check "one joins, one leaves, one is replaced, it grows" members_change
load_ends
size=$(sectors $dev)
check "all of it" members_changed
check "larger" [ "$size" -gt 8000 ]
check "its end" oracle check $dev --log $log --point $never
end_record
cut_at() {
	rec replay to="$1" "${@:2}"
	comes_back "$1" || { dmsetup status p; return 1; }
	[ $((n % 2)) = 1 ] || { members_change && members_changed && oracle check $dev --log $log --point "$1" --write; } || return
	goes_soundly
}
load_moments "$load_points"
cut_each </tmp/moments
rec clear

# A member that does not flush any more, and is taken back when it does: what it had not flushed is not believed.
check "a pool of two once more" pool_of_two
begin_record
check "a load" load_begins --lossy
emuctl set b fail=flush
check "the second fails" wait_for 30 status_is p dev.1.state failed
emuctl set b fail=none
check "is taken back" hybridctl reinstate p $B
field_is "it is active" p dev.1.state active
check "the load goes on" wait_for 20 status_above p flushes $(($(status p flushes) + 8))
load_ends
# What was lost is told to the next message, too: one of the load's, or this, or else `stop` would be the one that fails.
message p commit
check "what was lost is told once" message p commit
check "its end" oracle check $dev --log $log --point $never
end_record
cut_at() {
	rec replay to="$1" "${@:2}"
	comes_back "$1" && status_is p dev.1.state active || { dmsetup status p; return 1; }
	hybridctl reinstate p $B && oracle check $dev --log $log --point "$1" --write && goes_soundly
}
load_moments "$load_points"
cut_each </tmp/moments
rec clear
done_testing
