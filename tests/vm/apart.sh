# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # $dev and $seed are the suite's
# Sourced by suites in which one part of the pool p, at $dev, is read and another written: who moves what where?

cp "$(command -v fio)" /tmp/fio

# apart SECONDS BLOCK: the first 4 MiB, 64 extents, are read, the next written
apart() {
	local common=(--filename="$dev" --direct=1 --bs="$2" --size=4m --iodepth=4 --ioengine=libaio --thread
		--clocksource=clock_gettime --time_based --runtime="$1" --randseed="$seed")
	/tmp/fio --output=/tmp/fio.out --name=r --rw=randread --offset=0 "${common[@]}" \
		--name=w --rw=randwrite --offset=4m "${common[@]}"
}

# on FIRST MEMBER: how many of the 64 extents from FIRST are there
on() {
	local e entry n=0
	for ((e = $1; e < $1 + 64; e++)); do
		into entry dmt message p 0 entry $e
		[ "${entry%% *}" = "$2" ] && n=$((n + 1))
	done
	echo $n
}
