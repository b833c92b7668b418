#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: the power goes while what a lost member had is given up
# kernels: 6.1 6.12
# timeout: 180
# one-of: 2
#
# What was on a member that is gone is given up, and the member let go, once, recorded. Then the power goes at many moments
# of it: each extent that was there is zeroes or an error, all others are as they were, and the same command finishes.
# The same with a member that is there, of whose extents some granules can't be read: nothing else is given up.
default_points=60
. tests/crash/lib.sh
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
extents=48 on=() entry=''

disk m 8M mem cache=volatile
disk a 4M mem cache=volatile
disk b 4M mem cache=volatile

work() {
	status_is p dev.1.state removed ||
		{ hybridctl evacuate p 1 --give-up && hybridctl remove p 1; }
}
# The lost ones: zeroes, all of one or none of it, or an error; with "gone" zeroes only.
holds() {
	local i
	for ((i = 0; i < extents; i++)); do
		if [ "${on[i]}" = 0 ]; then
			blkio verify $dev $((i * 128)) 128 "$seed" || return
		elif ! blkio verify $dev $((i * 128)) 128 0 >/tmp/verify 2>&1; then
			[ "${1:-}" != gone ] && grep -q "EIO" /tmp/verify || { echo "extent $i: $(</tmp/verify)"; return 1; }
		fi
	done
}

check "a pool of two" hybridctl create p /dev/emudisk/{a,b} --metadata /dev/emudisk/m --extent 64K --size 3M \
	--policy stripe --set commit_ms=20 --set low_free=0
pools+=(p)
check "data" blkio write $dev 0 $((extents * 128)) "$seed" -- flush $dev
for ((i = 0; i < extents; i++)); do into entry dmt message p 0 entry $i; on[i]=${entry%% *}; done
is "lies on both" "$(status p dev.0.used) $(status p dev.1.used)" "24 24"
check "stop" hybridctl stop p
pools=()
check "the second is gone" remove_disk b
rec start
check "assemble without it" hybridctl assemble p --degraded
pools+=(p)
check_fails "what is there is not zeroes before that" extent holds gone
check "nor anything else" holds
check "given up, and let go" work
check "zeroes" holds gone
end_record

# cut_at MOMENT WAY: one judgement
cut_at() {
	rec replay to="$1" "${@:2}"
	hybridctl assemble p --degraded || return
	pools+=(p)
	status_is p mode rw && holds && work && holds gone || { dmsetup status p; return 1; }
	status_is p dev.1.state removed && status_is p mapped 24 || { dmsetup status p; return 1; }
	hybridctl stop p || return
	pools=()
	is_sound_offline /dev/emudisk/{m,a}
}
# Where the metadata is written, its journal first of all: there discards become durable.
metadata_points() {
	awk -v seed="$seed" -v count="$1" '
	$2 > 0 && $3 == "m" && $4 == "write" { at[n++] = $1; at[n++] = $2 - 1; at[n++] = $2 }
	END { srand(seed + 1); for (i = 0; i < count && n; i++) print at[int(rand() * n)] }' /dev/emudisk-log
}
{ sharp_points $((points / 3)); metadata_points $((points / 3)); } | sort -n -u >/tmp/moments
cut_each </tmp/moments
rec clear

# --- granules that can't be read, on a member that is there: all else moves before, and while, they are given up
extents=24 bad=() give_up_points=${EVENKEEL_POINTS:-4}
wipe m a
disk b 4M mem cache=volatile
check "a pool of two" hybridctl create p /dev/emudisk/{a,b} --metadata /dev/emudisk/m --extent 64K --size $((extents * 64))K \
	--policy stripe --set commit_ms=20 --set low_free=0
pools+=(p)
check "data" blkio write $dev 0 $((extents * 128)) "$seed" -- flush $dev
# in two extents that lie side by side: the last 8 granules of one, the first 8 of the next
for ((i = 0; i < extents; i++)); do
	into entry dmt message p 0 entry $i
	case $entry in
	"1 4 "*) bad[i]="96 32" ;;
	"1 5 "*) bad[i]="0 32" ;;
	esac
done
is "extents are there" ${#bad[@]} 2
# All of the volume but that; of that, all or none, and with "gone" none
holds() {
	local i at nr
	for ((i = 0; i < extents; i++)); do
		read -r at nr <<<"${bad[i]:-128 0}"
		[ "$at" = 0 ] || blkio verify $dev $((i * 128)) "$at" "$seed" || return
		[ $((at + nr)) = 128 ] || [ "$nr" = 0 ] ||
			blkio verify $dev $((i * 128 + at + nr)) $((128 - at - nr)) "$seed" || return
		[ "$nr" != 0 ] || continue
		if ! blkio verify $dev $((i * 128 + at)) "$nr" 0 >/tmp/verify 2>&1; then
			[ "${1:-}" != gone ] && grep -q EIO /tmp/verify || { echo "extent $i: $(</tmp/verify)"; return 1; }
		fi
	done
}
work() {
	status_is p dev.1.state removed ||
		{ hybridctl evacuate p 1 --give-up --force && hybridctl remove p 1 --force; }
}
begin_record
check "granules can't be read" emuctl set b fail_range=$((2048 + 4 * 128 + 96))+64 fail=read
check_fails "they are not zeroes before that" extent holds gone
check "nor anything else" holds
check "given up, and let go" work
check "zeroes" holds gone
end_record
cut_at() {
	local devices=(/dev/emudisk/{m,a,b})
	rec replay to="$1" "${@:2}"
	hybridctl assemble p || return
	pools+=(p)
	status_is p mode rw && holds && work && holds gone || { dmsetup status p; return 1; }
	status_is p dev.1.state removed && status_is p mapped $extents || { dmsetup status p; return 1; }
	! hybridctl identify ${devices[2]} || hybridctl remove p ${devices[2]} || return
	hybridctl stop p || return
	pools=()
	is_sound_offline "${devices[@]:0:2}"
}
{ sharp_points $((give_up_points / 2)); metadata_points $((give_up_points - give_up_points / 2)); } | sort -n -u >/tmp/moments
cut_each </tmp/moments
rec clear
done_testing
