#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: the power goes while members come and go
# kernels: 6.1 6.12
# timeout: 180
#
# A device is put in another's place and the volume grows, once, recorded. Then the power goes at many moments of it:
# the pool comes back with all that was flushed, is sound, and the same commands, given again, finish the work.
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
	$2 > 0 && ($3 == "m" || $3 == "c" && $5 < 2048) && $4 == "write" { at[n++] = $1; at[n++] = $2 - 1; at[n++] = $2 }
	END { srand(seed + 1); for (i = 0; i < count && n; i++) print at[int(rand() * n)] }' /dev/emudisk-log
}
{ sharp_points $((points / 8)); metadata_points $((points / 4)); } | sort -n -u >/tmp/moments
note "$(wc -l </tmp/moments) moments"
cut_each </tmp/moments
rec clear
done_testing
