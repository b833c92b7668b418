# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Sourced by suites about scmfs' garbage collection: an aged file system on $dev, mounted at $m.

modprobe -a scmfs nd_e820 nd_pmem || die "no scmfs"
dev=/dev/pmem0 m=/tmp/mnt twin=/tmp/twin seen=/tmp/seen
wait_for 20 test -b $dev || die "no $dev"
mkdir -p $m $twin
rm -rf ${twin:?}/*	# of another suite
cleanup_mount() {
	fsfreeze -u $m 2>/dev/null
	rmmod nvmalloc_example 2>/dev/null
	umount $m 2>/dev/null
	cleanup
}
trap cleanup_mount EXIT

at() { mount -t scmfs -o "${1:-defaults}" $dev $m; }
in_order() { umount $m && fsck.scmfs -n $dev; }
# value COMMAND PATH KEY [OPTION...]: a number of what scmfsctl says, into $value
value() {
	value=
	scmfsctl "$1" --json "${@:4}" "$2" >$seen && into value json $seen "$3"
}
value_is() { value "${@:1:3}" && [ "$value" = "$4" ]; }
collect() { value gc $m moves --run; }
ended() { value_is gc $m running false; }
same() { aged check $m; }
age() { aged make $m && value_is frag $m whole_units 0; }
content() { dd if=$dev bs=1M iflag=direct status=none | md5sum; }
# in_midst HOW: what midst does, once something has been moved; how much that was, into $moved
in_midst() { moved=$(midst $m "$1") || { echo "$moved"; return 1; }; }
begin() { umount $m 2>/dev/null; mkfs.scmfs -f -q $dev && at "${1:-defaults}" && age; }
