#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: other people's stress tests, and fsck.scmfs after each
# kernels: 6.1 6.12 debug
# by-hand: yes
# timeout: 300
# memory: 2G
# append: memmap=256M!1G
#
# fsx and fsstress of xfstests, which EVENKEEL_XFSTESTS says the place of, and stress-ng's stressors of file systems.
# EVENKEEL_SECONDS (60) is shared among the three, EVENKEEL_SEED varies them; tests/vm/soak repeats it for hours. As long as
# a quarter of that both are at it once more while garbage is collected all the time.
. tests/vm/lib.sh

modprobe -a scmfs nd_e820 nd_pmem || die "no scmfs"
dev=/dev/pmem0 m=/tmp/mnt third=$((${EVENKEEL_SECONDS:-60} / 3 + 1))
wait_for 20 test -b $dev || die "no $dev"
mkdir -p $m
cleanup_mount() { umount $m 2>/dev/null; cleanup; }
trap cleanup_mount EXIT

begin() { mkfs.scmfs -f -q $dev && mount -t scmfs -o "${1:-defaults}" $dev $m; }
in_order() { umount $m && fsck.scmfs -n $dev; }

# --- fsx: one file, all that can be done to it, compared with a copy in memory ------------------------------------

ltp=${EVENKEEL_XFSTESTS:-/nonexistent}/ltp
fsx() {
	local name=$1
	shift
	"$ltp/fsx" -q -S "$seed" --duration=$((third / 4 + 1)) -P /tmp "$@" "$m/$name"
}

# fsstress keeps no time: rounds of as many calls as take a few seconds
fsstress() {
	local end=$((SECONDS + third)) n=0
	while :; do
		"$ltp/fsstress" -d $m -p 4 -n 500 -s $((seed + n)) >/dev/null || return
		n=$((n + 1))
		[ $SECONDS -lt $end ] || break
	done
	note "fsstress: $n rounds"
}

# fsx beside fsstress, which scatters what is put together meanwhile: on two CPUs they meet
collecting=/tmp/collecting
collect() {
	local n=0
	while [ -e $collecting ]; do
		scmfsctl gc $m --start || return
		"$ltp/fsstress" -d $m/others -p 2 -n 300 -s $((seed + n)) >/dev/null || return
		n=$((n + 1))
	done
	note "fsstress beside it: $n rounds"
}
beside_gc() {
	local collector status=0
	mkdir $m/others && touch $collecting || return
	collect &
	collector=$!
	"$@" || status=$?
	rm $collecting
	wait $collector && return $status
}
count_moves() {
	local moves failed

	scmfsctl gc --json $m >"$said" && into moves json "$said" moves && into failed json "$said" failed &&
		note "garbage collection: $moves moves, $failed failed"
}

if [ -x "$ltp/fsx" ]; then
	check "a file system" begin
	check "fsx: small operations" fsx small -l 262144 -o 8192
	check "fsx: large ones, in huge pages" fsx large -l 12582912 -o 1048576
	check "fsx: now and then the file is opened anew" fsx opened -l 1048576 -c 20
	check "in order" in_order
	check "with data=atomic" begin data=atomic
	check "fsx: with data=atomic" fsx atomic -l 1048576 -c 50
	check "in order" in_order
	check "a file system" begin
	check "fsstress" fsstress
	check "in order" in_order
	for options in data=inplace data=atomic; do
		check "with $options, and garbage is collected" begin "$options,gc=on,gc_cold=0,gc_whole=100"
		check "fsx: beside that and fsstress" beside_gc fsx collected -l 8388608 -o 524288 -c 50
		check "blocks were moved" eval 'count_moves && [ "$moves" -gt 0 ] && [ "$failed" = 0 ]'
		check "in order" in_order
	done
else
	skip "fsx and fsstress" "EVENKEEL_XFSTESTS names no xfstests that was built"
fi

# --- stress-ng ---------------------------------------------------------------------------------------------------

# Those that need no more than 256 MiB and use the directory that they are told.
stressors=(access chattr chdir chmod chown dentry dir dirdeep dirmany dup fallocate fiemap filename flock
	fpunch fsize fstat getdent handle hdd inode-flags io iomix lease link locka lockf lockofd mknod open rename
	symlink sync-file touch utime xattr)
stressor() {
	stress-ng --temp-path $m --seed "$seed" --verify --oomable --metrics-brief --timeout \
		"$((third / ${#stressors[@]} + 1))s" --hdd-bytes 16M --iomix-bytes 16M --fallocate-bytes 16M \
		--sync-file-bytes 4M "--$1" 2
}
if command -v stress-ng >/dev/null; then
	check "a file system" begin
	for s in "${stressors[@]}"; do
		status=0
		stressor "$s" >"$said" 2>&1 || status=$?
		if [ $status = 0 ]; then
			ok "stress-ng: $s"
		elif why=$(grep -o "stressor will be skipped, .*" "$said"); then
			skip "stress-ng: $s" "${why%%$'\n'*}"
		else
			not_ok "stress-ng: $s" "status $status: $(tail -20 "$said")"
		fi
	done
	check "nothing is left of it" eval '[ -z "$(ls -A $m)" ]'
	check "in order" in_order
else
	skip "stress-ng" "it is not installed"
fi
check "the module is unloaded" rmmod scmfs
done_testing
