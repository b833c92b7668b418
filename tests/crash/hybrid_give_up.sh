#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: the power goes while what a lost member had is given up
# kernels: 6.1 6.12
# timeout: 180
#
# What was on a member that is gone is given up, and the member let go, once, recorded. Then the power goes at many moments
# of it: each extent that was there is zeroes or an error, all others are as they were, and the same command finishes.
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
note "$(wc -l </tmp/moments) moments"
cut_each </tmp/moments
rec clear
done_testing
