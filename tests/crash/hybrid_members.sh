#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: the power goes while members come and go
# kernels: 6.1 6.12
# timeout: 420
#
# A device is put in another's place and the volume grows and is written there, once, recorded. Then the power goes at many
# moments of it: the pool comes back with all that was flushed, is sound, and the same commands, given again, finish the work.
# The same beside a load whose content is known, where one joins, one is emptied, one is removed, another is replaced, and
# the volume grows, with moments of each of these; and beside one during which a member fails and is taken back.
#
# EVENKEEL_POINTS: how many moments of each kind, instead of as many as a check has time for: 160 in all take two or three
# minutes more than the rest. 100 of each kind are 670 in all, and take some ten.
default_points=24
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
# Where it has grown
writes_more() { blkio write $dev 5248 1024 "$seed" -- flush $dev; }
holds_more() { holds && blkio verify $dev 5248 1024 "$seed"; }

check "a pool of two" hybridctl create p "${all[1]}" "${all[2]}" --metadata "${all[0]}" --extent 64K \
	--size 2624K --policy stripe --set commit_ms=20 --set low_free=0
pools+=(p)
check "data" blkio write $dev 0 4096 "$seed" -- flush $dev
begin_record
began=$(now)
check "one member in the other's place, and growth" work
size=$(sectors $dev)
check "data" holds
check "larger" [ "$size" -gt 8000 ]
check "what is written there" writes_more
written_at=$(now)
end_record

# Into $devices: those with a label: one has none yet, or no more.
labelled() {
	local d magic
	devices=()
	for d in "${all[@]}"; do
		IFS= read -rd '' -n 8 magic <"$d"
		[ "$magic" != EVVNLAbl ] || devices+=("$d")
	done
}
is_sound() {
	labelled
	is_sound_offline "${devices[@]}"
}

# moments FROM TO COUNT: the first one, when something has just been told, and as many between these; half around what is written to metadata and labels, where the work gets on,
# the others around flushes and FUA writes, around what the load was told, and at random. Each once, if there are enough.
moments() {
	{ [ ! -e $log ] || oracle points --log $log --seed "$seed" --count 0 --every; } |
		awk -v from="$1" -v to="$2" -v count="$3" -v seed="$((seed + $1))" '
		function add(kind, at) { if (at > from && at <= to) all[kind, nr[kind]++] = at }
		function around(kind) { add(kind, $1); add(kind, $2 - 1); add(kind, $2) }
		NF == 1 { add("told", $1 - 1); add("told", $1); next }
		$2 > 0 && $4 == "write" && ($3 == "m" || $5 < 2048) { around("metadata") }
		$2 > 0 && ($4 == "flush" || $7 ~ /[FP]/) { around("flush") }
		END {
			srand(seed)
			split("metadata flush metadata told metadata any", kinds)
			print from
			for (tries = 0; got < count - 1 && tries < 100 * count; tries++) {
				kind = kinds[tries % 6 + 1]
				at = nr[kind] ? all[kind, int(rand() * nr[kind])] : from + 1 + int(rand() * (to - from))
				if (seen[at]++ && tries < 20 * count)
					continue
				print at
				got++
			}
		}' - /dev/emudisk-log | sort -n >/tmp/moments
}

# cut_at MOMENT WAY: one judgement
cut_at() {
	rec replay to="$1" "${@:2}"
	is_sound && hybridctl assemble p || return
	pools+=(p)
	if [ "$1" -ge "$written_at" ]; then holds_more; else holds; fi && work && writes_more && holds_more || return
	status_is p dev.1.state removed && status_is p mode rw && [ "$(sectors $dev)" = "$size" ] ||
		{ dmsetup status p; return 1; }
	hybridctl stop p || return
	pools=()
	is_sound_offline "${all[0]}" "${all[1]}" "${all[3]}"
}
moments "$began" "$(now)" "$points"
cut_each </tmp/moments
rec clear

# --- beside a load: whatever it was told is durable is there, and nothing else is but what it wrote
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

# The steps, from wherever they were cut
joins() { is_member c || hybridctl add p $C; }
is_to_leave() { ! is_member b || hybridctl evacuate p $B --no-wait; }
is_emptied() { ! is_member b || hybridctl evacuate p $B; }
is_removed() { ! has_label b || hybridctl remove p $B; }
is_replaced() { hybridctl replace p $A $D; }
grows() { hybridctl grow p; }
members_change() { joins && is_to_leave && is_emptied && is_removed && is_replaced && grows; }
members_changed() {
	! is_member a && ! is_member b && is_member c && is_member d && [ "$(sectors $dev)" = "$size" ] &&
		status_is p mode rw || { dmsetup table p; dmsetup status p; return 1; }
}

# What a step was told to have done is so, without being asked for again.
told_is_there() {
	local state
	into state dmt field p dev.1.state
	[ "$1" -lt "${at[1]}" ] || is_member c || return
	[ "$1" -lt "${at[2]}" ] || ! is_member b || [ "$state" = draining ] || return
	[ "$1" -lt "${at[4]}" ] || ! is_member b || return
	[ "$1" -lt "${at[5]}" ] || { ! is_member a && is_member d; } || return
	[ "$1" -lt "${at[6]}" ] || [ "$(sectors $dev)" = "$size" ]
}

# Every third is looked at before it starts, too; at the end all of them are.
comes_back() {
	[ $((n % 3)) != 0 ] || is_sound || return
	hybridctl assemble p || return
	pools+=(p)
	oracle check $dev --log $log --point "$1" && status_is p mode rw && status_is p needs_check -
}
goes_soundly() { remove_pool p && is_sound; }

check "a pool of two again" pool_of_two
begin_record
check "a load" load_begins
steps=(joins is_to_leave is_emptied is_removed is_replaced grows) at=("$(now)")
titles=("one joins" "one is to leave" "one is emptied" "one is removed" "one is replaced" "it grows" "it goes on")
for i in "${!steps[@]}"; do
	check "${titles[i]}" "${steps[i]}"
	at+=("$(now)")
done
check "the load goes on" wait_for 20 status_above p flushes $(($(status p flushes) + 4))
at+=("$(now)")
load_ends
size=$(sectors $dev)
check "all of it" members_changed
check "larger" [ "$size" -gt 8000 ]
check "its end" oracle check $dev --log $log --point $never
end_record
cut_at() {
	rec replay to="$1" "${@:2}"
	comes_back "$1" && told_is_there "$1" || { dmsetup table p; dmsetup status p; return 1; }
	[ $((n % 5)) = 0 ] || { members_change && members_changed && oracle check $dev --log $log --point "$1" --write; } || return
	goes_soundly
}
# A member's evacuation is two of these.
counts=("$points" $((points / 3)) $((points - points / 3)) "$points" "$points" "$points" $((points / 6)))
for i in "${!titles[@]}"; do
	moments "${at[i]}" "${at[i + 1]}" "${counts[i]}"
	cut_each "${titles[i]}" </tmp/moments
done
rec clear

# A member that does not flush any more, and is taken back when it does: what it had not flushed is not believed.
check "a pool of two once more" pool_of_two
begin_record
check "a load" load_begins --lossy
emuctl set b fail=flush
failing=$(now)
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
moments "$failing" "$(now)" $((points / 2))
cut_each "one fails" </tmp/moments
rec clear
done_testing
