#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: hybridctl: every command, and what each refuses
# kernels: 6.1 6.12 debug
# quick: yes
# timeout: 300
#
# All devices are emulated disks, which count what is written to them.

set -u
export LC_ALL=C
tests=0 failures=0
out=$(mktemp)
dir=$(mktemp -d)
echo "KTAP version 1"

ok() { echo "ok $((++tests)) - $*"; }
not_ok() {
	failures=$((failures + 1))
	echo "not ok $((++tests)) - $1"
	shift
	printf '%s\n' "$@" | sed 's/^/# /'
}
die() { echo "Bail out! $*"; exit 2; }

# runs TITLE STATUS REGEX COMMAND...: exit status and something it says. Programs are slow to start in an emulated
# machine, so this and what follows starts none of its own.
runs() {
	local title=$1 want=$2 regex=${3/#^/(^|$'\n')} got=0
	shift 3
	"$@" >"$out" 2>"$out.err" || got=$?
	printf '%s\n' "$(<"$out.err")" >>"$out"
	if [ "$got" = "$want" ] && [[ $(<"$out") =~ $regex ]]; then
		ok "$title"
	else
		not_ok "$title" "\$ $*" "status $got, wanted $want; wanted /$regex/" "$(tail -20 "$out")"
	fi
}

# is TITLE GOT WANTED
is() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; fi; }

# Everything that create may touch lies in the first 8 and the last 2 MiB.
sums() {
	local d
	for d in a b c m; do
		dd if="/dev/emudisk/$d" bs=1M count=8 iflag=direct status=none
		dd if="/dev/emudisk/$d" bs=1M skip=$(($(blockdev --getsz "/dev/emudisk/$d") / 2048 - 2)) iflag=direct status=none
	done | md5sum
}

# Requests the disks have seen that change them: writes and discards.
written() {
	local d f
	for d in a b c m; do
		read -ra f <"/sys/block/emudisk!$d/stat"
		printf '%s %s;' "${f[4]}" "${f[11]}"
	done
}

# refuses TITLE REGEX COMMAND...: status 1, the reason, one line, nothing written
refuses() {
	local title=$1 regex=$2 before
	shift 2
	before=$(written)
	runs "$title" 1 "$regex" "$@"
	mapfile -t lines <"$out.err"
	is "$title: one line" ${#lines[@]} 1
	is "$title: nothing written" "$(written)" "$before"
}

# json FILE PYTHON-EXPRESSION over d
json() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }

cleanup() {
	umount "$dir" 2>/dev/null
	for p in t t2 other; do dmsetup remove --retry "$p" 2>/dev/null; done
	rm -f "$out" "$out.err"
	rmdir "$dir"
}
trap cleanup EXIT

modprobe emudisk || die "no emudisk"
modprobe brd rd_nr=1 rd_size=32768 || die "no brd"
emuctl add a mem 32M && emuctl add b mem 48M && emuctl add c mem 32M && emuctl add m mem 8M || die "emuctl"
A=/dev/emudisk/a B=/dev/emudisk/b C=/dev/emudisk/c M=/dev/emudisk/m

# --- the command line
runs "--version" 0 '^hybridctl [0-9]' hybridctl --version
runs "--help" 0 'assemble' hybridctl --help
for c in create assemble stop list status monitor set policy check dump; do
	runs "$c --help" 0 "^Usage: hybridctl $c" hybridctl $c --help
	runs "$c with a wrong option" 2 "hybridctl: $c: --frob" hybridctl $c --frob
done
runs "no command" 2 'no command' hybridctl
runs "unknown command" 2 "unknown command 'frob'" hybridctl frob
runs "later work is unknown" 2 "unknown command 'evacuate'" hybridctl evacuate t "$A"

# --- create: what it refuses
runs "create without devices" 2 'at least one device' hybridctl create t
runs "create: extent size" 2 'power of two' hybridctl create t "$A" "$B" --extent 100K
runs "create: --set without a value" 2 'must be key=value' hybridctl create t "$A" "$B" --set alpha
refuses "create: no such device" '/dev/none: No such file' hybridctl create t "$A" /dev/none
refuses "create: not a block device" '/dev/null: not a block device' hybridctl create t "$A" /dev/null
refuses "create: a device twice" 'same device' hybridctl create t "$A" "$B" "$A"
refuses "create: bad name" 'not a name' hybridctl create a/b "$A" "$B"
refuses "create: RAM disk" '/dev/ram0.*--volatile-ok' hybridctl create t "$A" /dev/ram0
refuses "create: unknown policy" 'create: .*policy' hybridctl create t "$A" "$B" --policy nonesuch
refuses "create: unknown key" 'create: ' hybridctl create t "$A" "$B" --set nonesuch=1
refuses "create: too large a volume" 'more than the members hold' hybridctl create t "$A" "$B" --size 1T
refuses "create: metadata device twice" 'same device' hybridctl create t "$A" "$B" --metadata "$A"
mkfs.ext4 -q -F "$C" || die "mkfs"
refuses "create: a file system" '/dev/emudisk/c: has an ext4 signature \(use --force\)' hybridctl create t "$A" "$C"
before=$(sums)
runs "create: policy, with --force" 1 'policy' hybridctl create t "$A" "$C" --force --policy nonesuch
is "create: what was wiped is put back" "$(sums)" "$before"
mount -o ro "$C" "$dir" || die "mount"
refuses "create: mounted" "in use: mounted on $dir" hybridctl create t "$A" "$C" --force
umount "$dir"
dmsetup create other --table "0 1000 linear $A 0" || die "linear"
refuses "create: held" 'in use: held by /dev/mapper/other' hybridctl create t "$A" "$B"
refuses "create: name taken" 'other: .*already' hybridctl create other "$B" "$C" --force
dmsetup remove --retry other
python3 -c 'import struct, sys
sys.stdout.buffer.write(bytes(446) + struct.pack("<8B2I48xH", 0, 0, 2, 0, 131, 0, 2, 0, 2048, 8192, 0xaa55))' |
	dd of="$B" bs=512 count=1 conv=notrunc,fsync status=none || die "partition table"
refuses "create: a partition table" 'dos partition table' hybridctl create t "$A" "$B"
emuctl del b && emuctl add b mem 48M || die "emuctl"

# --- create, status, data
runs "create" 0 '/dev/mapper/t: ' hybridctl create t "$A" "$B" --set alpha=10
[ -b /dev/mapper/t ] || die "no volume: $(cat "$out")"
is "uuid" "$(dmsetup info -c --noheadings -o uuid t | cut -c1-16)" "EVENKEEL-hybrid-"
runs "create: members in use" 1 'in use: held by /dev/mapper/t' hybridctl create t2 "$A" "$C"
runs "status" 0 'policy wardrop' hybridctl status t
hybridctl status t --json >"$out" || die "status --json"
is "status --json: keys" "$(json "$out" '" ".join(sorted(d))')" \
	"allocations commits devices direction errors extent_bytes extents flushes migrations mode name needs_check not_migrated policy tokens"
is "status --json: a device's keys" "$(json "$out" '" ".join(sorted(d["devices"][0]))')" \
	"extents index inflight path read_p99_us read_us share state target uuid write_p99_us write_us"
is "status --json: values" "$(json "$out" '(d["name"], d["mode"], d["needs_check"], d["policy"], d["extent_bytes"], [x["path"] for x in d["devices"]], len({x["uuid"] for x in d["devices"]} - {None}))')" \
	"('t', 'rw', False, 'wardrop', 131072, ['$A', '$B'], 2)"
runs "status of nothing" 1 'none: no active volume' hybridctl status none
dmsetup create other --table "0 1000 linear $C 0"
runs "status of another target" 1 'other: not a hybrid volume' hybridctl status other
runs "stop of another target" 1 'other: not a hybrid volume' hybridctl stop other
dmsetup remove --retry other

mkfs.ext4 -q /dev/mapper/t && mount /dev/mapper/t "$dir" || die "mount"
dd if=/dev/urandom of="$dir/file" bs=1M count=20 status=none
sum=$(md5sum <"$dir/file")
sync
hybridctl status t --json >"$out"
is "extents are used" "$(json "$out" 'd["extents"]["used"] > 150 and sum(x["extents"]["used"] for x in d["devices"]) >= d["extents"]["used"] and sum(d["allocations"]) > 150')" True
runs "monitor" 0 'per second' hybridctl monitor t --interval 0.1 --count 3 --plain
is "monitor: blocks" "$(grep -c '^t: ' "$out")" 3
runs "monitor: bad interval" 2 'interval' hybridctl monitor t --interval x
runs "monitor of nothing" 1 'no active volume' hybridctl monitor none --plain --count 1

# --- set and policy
runs "set" 0 '' hybridctl set t alpha=20 period_ms=1000
is "set: done" "$(dmsetup table t | grep -o 'alpha 20')" "alpha 20"
runs "set: unknown key" 1 '^hybridctl: set: t: nonesuch=1: [a-z]' hybridctl set t nonesuch=1
runs "set: bad value" 1 '^hybridctl: set: t: alpha=x: [a-z]' hybridctl set t alpha=x
runs "set: no value" 2 'must be KEY=VALUE' hybridctl set t alpha
runs "policy" 0 '' hybridctl policy t static shares=70,30
is "policy: done" "$(dmsetup table t | grep -o 'static .*shares 70,30' | cut -c1-6)" "static"
runs "policy: unknown" 1 'policy: t: nonesuch: ' hybridctl policy t nonesuch

# --- stop, list, check, dump, assemble
runs "list" 0 '^t +rw ' hybridctl list
runs "stop: mounted" 1 "t: in use: mounted on $dir" hybridctl stop t
runs "check: live" 2 'in use' hybridctl check "$A" "$B"
umount "$dir"
exec 7</dev/mapper/t
runs "stop: open" 1 "in use: opened by process $$" hybridctl stop t
exec 7<&-
runs "stop" 0 '' hybridctl stop t
runs "stop again" 1 'no active volume' hybridctl stop t
runs "list: inactive" 0 "^t +inactive .*$A $B" hybridctl list
hybridctl list --json >"$out"
is "list --json" "$(json "$out" '[(x["name"], x["state"], x["active"], x["devices"]) for x in d]')" \
	"[('t', 'inactive', False, ['$A', '$B'])]"
uuid=$(json "$out" 'd[0]["uuid"]')
before=$(sums)
runs "check" 0 't: clean, 0 errors, 0 warnings' hybridctl check "$A" "$B"
hybridctl check --json "$A" "$B" >"$out"
is "check --json" "$(json "$out" '(d[0]["clean"], d[0]["complete"], d[0]["leaked"], d[0]["logical_extents"]["mapped"] > 150)')" \
	"(True, True, 0, True)"
runs "check: one device" 0 'not given' hybridctl check "$A"
runs "check: no label" 2 'no hybrid label' hybridctl check "$M"
runs "dump" 0 '^policy ' hybridctl dump "$A" "$B"
runs "dump --map" 0 '^extent 0 member [01] ' hybridctl dump --map "$A" "$B"
is "check and dump write nothing" "$(sums)" "$before"
refuses "create: others' pool" 'belongs to the hybrid volume t' hybridctl create t2 "$A" "$M"
runs "assemble: unknown" 1 'none: no pool' hybridctl assemble none
runs "assemble" 0 '/dev/mapper/t' hybridctl assemble t
runs "assemble again" 0 'active already' hybridctl assemble t
mount /dev/mapper/t "$dir" || die "mount"
is "data after assembly" "$(md5sum <"$dir/file")" "$sum"
is "policy after assembly" "$(dmsetup table t | grep -o 'static .*shares 70,30' | cut -c1-6)" "static"
umount "$dir"
hybridctl stop t
runs "assemble by uuid" 0 '/dev/mapper/t' hybridctl assemble "$uuid"
hybridctl stop t
runs "assemble --all" 0 '/dev/mapper/t' hybridctl assemble --all
hybridctl stop t

# --- damage and absence
dd if="$B" of="$dir/../saved.$$" bs=4k count=1 status=none
dd if=/dev/zero of="$B" bs=4k count=1 conv=notrunc oflag=direct status=none
runs "check: a label is gone" 1 'label of .* is missing .*; its copy is good' hybridctl check "$A" "$B"
runs "assemble: a label is gone" 1 'label of .* is missing' hybridctl assemble t
dd if="$dir/../saved.$$" of="$B" bs=4k count=1 conv=notrunc oflag=direct status=none
rm -f "$dir/../saved.$$"
runs "check: label is back" 0 'clean' hybridctl check "$A" "$B"
emuctl del b
runs "assemble: a member is missing" 1 't: incomplete: .*member 1.* not found' hybridctl assemble t
runs "assemble --all: a member is missing" 1 't: incomplete' hybridctl assemble --all
runs "list: incomplete" 0 '^t +incomplete .*not found: .*member 1' hybridctl list
emuctl add b mem 48M

# --- with a metadata device, --size, --force, --discard, RAM disks
runs "create: --metadata --size --force" 0 '8M in extents of 64K' \
	hybridctl create t "$A" "$C" --metadata "$M" --extent 64K --size 8M --force --policy stripe
is "create: size" "$(blockdev --getsize64 /dev/mapper/t)" 8388608
is "create: one metadata area" "$(dmsetup table t | cut -d' ' -f4)" 1
runs "stop" 0 '' hybridctl stop t
runs "check" 0 'clean' hybridctl check "$A" "$C" "$M"
runs "assemble: metadata device" 0 '/dev/mapper/t' hybridctl assemble t
is "assemble: size" "$(blockdev --getsize64 /dev/mapper/t)" 8388608
hybridctl stop t
runs "create: --discard" 0 '/dev/mapper/t: ' hybridctl create t "$A" "$C" --force --discard
hybridctl stop t
runs "create: RAM disk taken" 0 '/dev/mapper/t: ' hybridctl create t "$B" /dev/ram0 --volatile-ok
hybridctl stop t
runs "create: one device" 0 '/dev/mapper/t: .* on 1 device;' hybridctl create t "$C" --force
hybridctl stop t

echo "1..$tests"
[ $failures = 0 ]
