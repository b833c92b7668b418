# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the power-cut tests share, on top of tests/vm/lib.sh. The recorder of emudisk numbers every request of every
# disk at submission and completion; replaying to a number gives the disks' content after a power cut there.
. tests/vm/lib.sh
. tests/crash/offline.sh

record=/sys/kernel/config/emudisk/record
log=/tmp/oracle.log
# shellcheck disable=SC2034	# for who sources this
never=18446744073709551615
# shellcheck disable=SC2034	# for who sources this
points=${EVENKEEL_POINTS:-$((${default_points:-200}))}

rec() {
	echo "$*" >$record || die "record $*: $(cat /sys/kernel/config/emudisk/error 2>/dev/null)"
}

now() { sed -n 's/^now //p' $record; }

# How often each way of surviving is tried, by a point's number.
keep_of() {
	local ways=("keep=none" "keep=random seed=$((seed + $1))" "keep=random seed=$((seed + $1)) tear=1" "keep=all")
	echo "${ways[$1 % 4]}"
}

# sharp_points COUNT: moments around completed flushes and FUA writes of any disk, a few before and after
sharp_points() {
	awk -v seed="$seed" -v count="$1" '
	$2 > 0 && ($4 == "flush" || $7 ~ /[FP]/) { at[n++] = $2; at[n++] = $2 - 1; at[n++] = $1 }
	END { srand(seed); for (i = 0; i < count && n; i++) print at[int(rand() * n)] }' /dev/emudisk-log
}

# all_points COUNT [--every]: moments of acknowledgements of a flush or FUA by the oracle's device, at random and around
# the disks' own, and with --every all of those; sorted, each once
all_points() {
	{
		oracle points --log $log --seed "$seed" --count $(($1 / 2)) ${2:+"$2"}
		sharp_points $(($1 / 2))
	} | sort -n -u
}

# sweep TITLE TABLE OPTION... < POINTS: cut at each point, make the device, judge it; one test
sweep() {
	local title=$1 r
	oracle sweep p --table "$2" --record $record --log $log --seed "$seed" "${@:3}" >"$said" 2>"$said.count"
	r=$?
	title+=", $(sed 's/^# //' "$said.count")"
	note_tried "$(sed -n 's/^# \([0-9]*\) points.*/\1/p' "$said.count")"
	if [ $r = 0 ]; then ok "$title"; else not_ok "$title" "$(head -90 "$said")"; fi
	rm -f "$said.count"
}

# begin_record: the pool starts again, and from here on all is recorded
begin_record() {
	check "stop" hybridctl stop p
	pools=()
	rec start
	check "assemble" hybridctl assemble p
	pools+=(p)
}

end_record() {
	check "stop" hybridctl stop p
	pools=()
	rec stop
}

# wipe_labels DISK: what wipefs would leave of a pool: all but the labels
wipe_labels() {
	local dev=/dev/emudisk/$1 end
	end=$(sectors "$dev") && blkio zero "$dev" 0 128 -- zero "$dev" $((end - 128)) 128
}

# A check that failed may leave its devices behind; the last one made may lie on the others.
drop_leftovers() {
	local i
	for ((i = ${#pools[@]} - 1; i >= 0; i--)); do dmsetup remove --retry "${pools[i]}" >/dev/null 2>&1; done
	pools=()
}

# Of cuts, for who counts them over many runs: `soak --crash` adds these up.
note_tried() { note "tried $1 moments"; }

# cut_each [WHEN] < MOMENTS: a judgement of each, by the suite's own cut_at MOMENT WAY..., which finds its number in $n;
# one test
cut_each() {
	local when=${1:+"$1: "} moment keep good=0
	n=0
	while read -r moment <&9; do
		read -ra keep <<<"$(keep_of "$n")"
		n=$((n + 1))
		if cut_at "$moment" "${keep[@]}" >/tmp/cut.out 2>&1; then
			good=$((good + 1))
		else
			not_ok "${when}cut at $moment, ${keep[*]}" "$(tail -20 /tmp/cut.out)" "$(dmesg | tail -8)"
			drop_leftovers
		fi
	done 9<&0 </dev/null
	note_tried "$n"
	check "${when}all of them came back, and were finished: $good of $n" eval '[ $good = $n ] && [ $n -gt 0 ]'
}

# One that is moving has its extent in two places, and until the next commit.
all_used_is_mapped() {
	local got
	get p dev.0.used dev.1.used mapped
	[ $((got[0] + got[1])) = "${got[2]}" ] ||
		{ message p commit && false; }
}

# Is the pool whole, and does it lose no space from here on? Of what was lost before it started is_sound_offline tells.
pool_is_sound() {
	local got
	get p mode needs_check
	[ "${got[*]}" = "rw -" ] && wait_for 10 all_used_is_mapped || {
		echo "# not rw, or not as many extents are used as are mapped: $(dmsetup status p)"
		return 1
	}
}
