#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: hybridctl: every command, and what each refuses
# kernels: 6.1 6.12
# quick: yes
# timeout: 300
#
# All devices are emulated disks, which count what is written to them.

. tests/vm/lib.sh
out=$said dir=$(mktemp -d) sums='' uuids='' used='' mapped=''

# What is fastest to start: a copy of busybox in the machine's memory.
for c in mount umount; do
	eval "$c() { /run/evenkeel/busybox $c \"\$@\"; }"
done

# runs TITLE STATUS REGEX COMMAND...: exit status and something it says, into $text, too. Starts no process of its own.
runs() {
	local title=$1 want=$2 regex=${3/#^/(^|$'\n')} got=0 err
	shift 3
	"$@" >"$out" 2>"$out.err" || got=$?
	IFS= read -rd '' text <"$out"
	IFS= read -rd '' err <"$out.err"
	text+=$err
	if [ "$got" = "$want" ] && [[ $text =~ $regex ]]; then
		ok "$title"
	else
		not_ok "$title" "\$ $*" "status $got, wanted $want; wanted /$regex/" "$(tail -20 <<<"$text")"
	fi
}

# Into $sums. Everything that create may touch lies in the first 8 and the last 2 MiB.
sum_up() {
	local d size words=()
	for d in a b c m; do
		into size blkio size "/dev/emudisk/$d"
		words+=(-- digest "/dev/emudisk/$d" 0 16384 -- digest "/dev/emudisk/$d" $((size - 4096)) 4096)
	done
	into sums blkio "${words[@]:1}"
}

# refuses TITLE REGEX COMMAND...: status 1, the reason, one line, nothing written
refuses() {
	local title=$1 regex=$2 before
	shift 2
	count_written
	before=$written
	runs "$title" 1 "$regex" "$@"
	mapfile -t lines <"$out.err"
	is "$title: one line" ${#lines[@]} 1
	count_written
	is "$title: nothing written" "$written" "$before"
}

# json_is TITLE WANTED PATH...: lines of what is at these places in $out
json_is() {
	local got
	into got json "$out" "${@:3}"
	is "$1" "$got" "$2"
}

# A sum of the numbers at PATH, into $sum
add_up() {
	local words word
	into words json "$out" "$1"
	sum=0
	for word in ${words//[\[\],]/ }; do sum=$((sum + word)); done
}

uuid_of_t() {
	local d name
	uuid=
	for d in /sys/block/dm-*; do
		read -r name <"$d/dm/name"
		[ "$name" != t ] || read -r uuid <"$d/dm/uuid"
	done
}

size_is() {
	local size
	into size blkio size /dev/mapper/t
	is "$1" $((size * 512)) "$2"
}

take_down() {
	umount "$dir" 2>/dev/null
	emuctl set b stall=0
	for p in t t2 u x other; do dmsetup remove --retry "$p" 2>/dev/null; done
	rm -f "$out.err"
	rmdir "$dir"
	cleanup
}
trap take_down EXIT

modprobe brd rd_nr=1 rd_size=32768 || die "no brd"
disk a 32M
disk b 48M
disk c 32M
disk m 8M
A=/dev/emudisk/a B=/dev/emudisk/b C=/dev/emudisk/c M=/dev/emudisk/m

# --- the command line
runs "--version" 0 '^hybridctl [0-9]' hybridctl --version
runs "--help" 0 'assemble' hybridctl --help
for c in create assemble stop identify list status lost monitor set policy check dump add grow evacuate remove replace; do
	runs "$c --help" 0 "^Usage: hybridctl $c" hybridctl $c --help
	runs "$c with a wrong option" 2 "hybridctl: $c: --frob" hybridctl $c --frob
done
runs "no command" 2 'no command' hybridctl
runs "unknown command" 2 "unknown command 'frob'" hybridctl frob

# --- create: what it refuses
runs "create without devices" 2 'at least one device' hybridctl create t
runs "create: extent size" 2 'power of two' hybridctl create t "$A" "$B" --extent 100K
runs "create: bad name" 2 'create: a/b: not a name' hybridctl create a/b "$A" "$B"
runs "create: --set without a value" 2 'must be key=value' hybridctl create t "$A" "$B" --set alpha
refuses "create: no such device" '/dev/none: No such file' hybridctl create t "$A" /dev/none
refuses "create: not a block device" '/dev/null: not a block device' hybridctl create t "$A" /dev/null
refuses "create: a device twice" 'same device' hybridctl create t "$A" "$B" "$A"
refuses "create: RAM disk" '/dev/ram0.*--volatile-ok' hybridctl create t "$A" /dev/ram0
refuses "create: unknown policy" 'create: .*policy' hybridctl create t "$A" "$B" --policy nonesuch
refuses "create: unknown key" 'create: ' hybridctl create t "$A" "$B" --set nonesuch=1
refuses "create: too large a volume" 'more than the members hold' hybridctl create t "$A" "$B" --size 1T
refuses "create: metadata device twice" 'same device' hybridctl create t "$A" "$B" --metadata "$A"
mkfs.ext4 -q -F "$C" || die "mkfs"
refuses "create: a file system" '/dev/emudisk/c: has an ext4 signature \(use --force\)' hybridctl create t "$A" "$C"
sum_up
before=$sums
runs "create: policy, with --force" 1 'policy' hybridctl create t "$A" "$C" --force --policy nonesuch
sum_up
is "create: what was wiped is put back" "$sums" "$before"
# whoever reads what is said, over a network for one, may be gone by then
{ mkfifo /tmp/closed && exec {reader}<>/tmp/closed {closed}>/tmp/closed {reader}<&-; } || die "no pipe"
unheard() { env --default-signal=PIPE "$@" >&"$closed" 2>&1; [ $? = 141 ]; }
check "create: refused, nobody hears why" unheard hybridctl create t "$A" "$C" --force --policy nonesuch
sum_up
is "create: what was wiped is put back" "$sums" "$before"
check "create: made, nobody hears of it" unheard hybridctl create t "$A" "$B"
check "a volume" hybridctl check t
check "monitor ends when nobody reads it" unheard timeout 60 hybridctl monitor t --plain --interval 1000
check "so does record" unheard timeout 60 hybridctl record t --interval 1000
check "stopped" hybridctl stop t
wipe a b
exec {closed}>&-
{ printf SMKEEFS1 1<>"$M" && blkio flush "$M"; } || die "scmfs"
refuses "create: a file system of scmfs" '/dev/emudisk/m: has an scmfs file system \(use --force\)' hybridctl create t "$A" "$B" --metadata "$M"
wipe m
mount -t ext4 -o ro "$C" "$dir" || die "mount"
refuses "create: mounted" "in use: mounted on $dir" hybridctl create t "$A" "$C" --force
umount "$dir"
dmsetup create other --table "0 1000 linear $A 0" || die "linear"
refuses "create: held" 'in use: held by /dev/mapper/other' hybridctl create t "$A" "$B"
refuses "create: name taken" 'other: .*already' hybridctl create other "$B" "$C" --force
dmsetup remove --retry other
{ modprobe loop && truncate -s 32M /tmp/image && one=$(losetup -f --show /tmp/image) && other=$(losetup -f --show /tmp/image); } || die "no loop"
refuses "create: a file twice" "$other: has the same file behind it as $one" hybridctl create t "$one" "$other" --volatile-ok --force
dmsetup create other --table "0 1000 linear $one 0" || die "linear"
refuses "create: a file that another has" "$other: in use: the same file is behind $one, held by /dev/mapper/other" \
	hybridctl create t "$A" "$other" --volatile-ok --force
dmsetup remove --retry other
{ losetup -d "$one" && losetup -d "$other" && rm /tmp/image; } || die "losetup"
# one partition, of type 131, from sector 2048 on
{ printf '\0%.0s' {1..446}; printf '\0\0\2\0\203\0\2\0\0\10\0\0\0\40\0\0'; printf '\0%.0s' {1..48}; printf '\125\252'; } 1<>"$B"
blkio flush "$B" || die "partition table"
refuses "create: a partition table" 'dos partition table' hybridctl create t "$A" "$B"
emuctl del b && emuctl add b mem 48M || die "emuctl"

# --- create, status, data
runs "create" 0 '/dev/mapper/t: ' hybridctl create t "$A" "$B" --set alpha=10
[ -b /dev/mapper/t ] || die "no volume: $text"
uuid_of_t
is "uuid" "${uuid:0:16}" "EVENKEEL-hybrid-"
runs "create: members in use" 1 'in use: held by /dev/mapper/t' hybridctl create t2 "$A" "$C"
runs "status" 0 'policy wardrop' hybridctl status t
hybridctl status t --json >"$out" || die "status --json"
json_is "status --json: keys" "advice allocations cache checkpoints commits devices direction errors extent_bytes extents flushes health journal lost \
lost_complete metadata migrations mode \
name needs_check not_migrated policy tier tokens" '?'
json_is "status --json: a device's keys" "errors extents index inflight leaving path read_p99_us read_us share state target uuid volatile \
write_p99_us write_us" 'devices.0.?'
into uuids json "$out" 'devices.*.uuid'
[[ $uuids =~ ^(\"[^\" ]+\")\ (\"[^\" ]+\")$ && ${BASH_REMATCH[1]} != "${BASH_REMATCH[2]}" ]] && two=yes || two="no: $uuids"
json_is "status --json: values" "\"t\"
\"rw\"
false
\"wardrop\"
131072
\"$A\" \"$B\"${two#yes}
\"active\" \"active\"" name mode needs_check policy extent_bytes 'devices.*.path' 'metadata.*.state'
runs "status of nothing" 1 'none: no active volume' hybridctl status none
dmsetup create other --table "0 1000 linear $C 0"
runs "status of another target" 1 'other: not a hybrid volume' hybridctl status other
runs "stop of another target" 1 'other: not a hybrid volume' hybridctl stop other
dmsetup remove --retry other

mkfs.ext4 -q /dev/mapper/t && mount -t ext4 /dev/mapper/t "$dir" || die "mount"
: >"$dir/file"
blkio write "$dir/file" 0 40960 "$seed" -- flush "$dir/file" || die "write"
hybridctl status t --json >"$out"
into used json "$out" extents.used
add_up 'devices.*.extents.used'
by_devices=$sum
add_up allocations
is "extents are used" $((used > 150 && by_devices >= used && sum > 150)) 1
runs "monitor" 0 'per second' hybridctl monitor t --interval 0.1 --count 3 --plain
mapfile -t lines <"$out"
blocks=0
for line in "${lines[@]}"; do [[ $line != "t: "* ]] || blocks=$((blocks + 1)); done
is "monitor: blocks" $blocks 3
runs "monitor: bad interval" 2 'interval' hybridctl monitor t --interval x
runs "monitor of nothing" 1 'no active volume' hybridctl monitor none --plain --count 1

for c in record report; do
	runs "$c: for less than the interval" 2 '--for 2: must be at least the interval, 5' hybridctl $c none --for 2 --interval 5
	runs "$c: in the other order" 2 '--for 2: must be' hybridctl $c none --interval 5 --for 2
	runs "$c: for as long" 1 'no active volume' hybridctl $c none --for 1 --interval 1
done

# --- set and policy
runs "set" 0 '' hybridctl set t alpha=20 period_ms=1000
table_matches "set: done" t "alpha 20"
runs "set: unknown key" 1 '^hybridctl: set: t: nonesuch=1: [a-z]' hybridctl set t nonesuch=1
runs "set: bad value" 1 '^hybridctl: set: t: alpha=x: [a-z]' hybridctl set t alpha=x
runs "set: no value" 2 'must be KEY=VALUE' hybridctl set t alpha
runs "policy" 0 '' hybridctl policy t static shares=70,30
table_matches "policy: done" t "static .*shares 70,30"
runs "policy: unknown" 1 'policy: t: nonesuch: ' hybridctl policy t nonesuch

# --- stop, list, check, dump, assemble
runs "list" 0 '^t +rw ' hybridctl list
runs "stop: mounted" 1 "t: in use: mounted on $dir" hybridctl stop t
runs "check: live" 2 'in use' hybridctl check "$A" "$B"
umount "$dir"
exec 7</dev/mapper/t
runs "stop: open" 1 "in use: opened by process $$" hybridctl stop t
exec 7<&-
# as udev opens it for a moment, when somebody else has written and closed it
exec 7</dev/mapper/t
hybridctl stop t 7<&- >/dev/null & second=$!
naps() { local where=''; read -r where <"/proc/$second/wchan"; [[ $where == *nanosleep* ]]; }
check "stop: who only has it open is waited for" wait_for 10 naps
exec 7<&-
wait $second
is "stop" $? 0
runs "stop again" 1 'no active volume' hybridctl stop t
runs "list: inactive" 0 "^t +inactive .*$A $B" hybridctl list
hybridctl list --json >"$out"
json_is "list --json" "\"t\"
\"inactive\"
false
[\"$A\",\"$B\"]" '*.name' '*.state' '*.active' '*.devices'
into uuid json "$out" 0.uuid
uuid=${uuid//\"/}
sum_up
before=$sums
runs "check" 0 't: clean, 0 errors, 0 warnings' hybridctl check "$A" "$B"
hybridctl check --json "$A" "$B" >"$out"
into mapped json "$out" 0.logical_extents.mapped
json_is "check --json" "true
true
0$([ "$mapped" -gt 150 ] || echo " mapped: $mapped")" 0.clean 0.complete 0.leaked
runs "check: one device" 0 'not given' hybridctl check "$A"
runs "check: no label" 2 'no hybrid label' hybridctl check "$M"
runs "dump" 0 '^policy ' hybridctl dump "$A" "$B"
runs "dump --map" 0 '^extent 0 member [01] ' hybridctl dump --map "$A" "$B"
sum_up
is "check and dump write nothing" "$sums" "$before"
refuses "create: others' pool" 'belongs to the hybrid volume t' hybridctl create t2 "$A" "$M"
runs "assemble: unknown" 1 'none: no pool' hybridctl assemble none
runs "assemble" 0 '/dev/mapper/t' hybridctl assemble t
runs "assemble again" 0 'active already' hybridctl assemble t
mount -t ext4 /dev/mapper/t "$dir" || die "mount"
blkio verify "$dir/file" 0 40960 "$seed"
is "data after assembly" $? 0
table_matches "policy after assembly" t "static .*shares 70,30"
umount "$dir"
hybridctl stop t
runs "assemble by uuid" 0 '/dev/mapper/t' hybridctl assemble "$uuid"
hybridctl stop t
runs "assemble --all" 0 '/dev/mapper/t' hybridctl assemble --all
hybridctl stop t

# --- size: what create has taken
runs "size" 0 '^[0-9]+ bytes \([0-9.]+[KMG]\) for each of 2 metadata areas' hybridctl size 32M 48M
size=${text%% bytes*}
runs "identify" 0 "$A: metadata area 0 of .*, sectors 0 to $((size / 512 - 1))[^0-9]" hybridctl identify "$A"
runs "size: without any" 2 "the members' sizes are needed" hybridctl size
runs "size: no size" 2 'x: not a size' hybridctl size 32M x
runs "size: no extent size" 2 'power of two' hybridctl size 32M --extent 100K
runs "size: too small" 1 'too small' hybridctl size 64K
runs "size: too large" 1 'too large even for the largest extents' hybridctl size 1P --extent 64K
runs "identify" 0 "$B: member 1 of 2, volume t, uuid $uuid, sectors [0-9]+ to [0-9]+" hybridctl identify "$B"
runs "identify: no label" 1 'no label of a hybrid volume' hybridctl identify "$M"
hybridctl identify --udev "$A" >"$out"
is "identify --udev" "$(<"$out")" "EVENKEEL_UUID=$uuid
EVENKEEL_NAME=t
ID_FS_USAGE=raid
ID_FS_TYPE=evenkeel_member"
runs "identify --udev --was: known" 0 '^EVENKEEL_UUID=.*EVENKEEL_KNOWN=1' hybridctl identify --udev --was=$uuid "$A"
runs "identify --udev --was: not known" 0 "EVENKEEL_NAME=t"$'\n'ID_FS_USAGE hybridctl identify --udev --was= "$A"
runs "identify --udev: no label, no word" 1 '^$' hybridctl identify --udev "$M"
runs "assemble --with" 0 '/dev/mapper/t' hybridctl assemble --with "$B"
runs "assemble --with: active" 0 'active already' hybridctl assemble --with "$A"
runs "assemble --with: no label" 1 'no label' hybridctl assemble --with "$M"
hybridctl stop t
hybridctl assemble --with "$A" >"$out" & first=$!
hybridctl assemble --with "$B" >"$out.err"
is "assemble --with, both at a time: one" $? 0
wait $first
is "and the other" $? 0
hybridctl stop t

# --- restore --labels: where they were, nowhere else, and the event that follows starts nothing
hybridctl dump "$A" "$B" >"$dir/dump" 2>/dev/null
refuses "restore --labels: the label is elsewhere" "/dev/emudisk/c: is not where metadata area 0 was: $A carries its label" \
	hybridctl restore "$dir/dump" /dev/emudisk/c --labels
blkio write "$A" 0 16 "$seed" -- write "$A" 65528 8 "$seed"
runs "restore --labels: it has no label" 1 'no label' hybridctl identify "$A"
udevadm monitor --kernel --property >"$dir/events" & monitor=$!
wait_for 10 grep -q 'KERNEL - the kernel uevent' "$dir/events"
runs "restore --labels: it has again" 0 "$A: label of member 0 written anew" hybridctl restore "$dir/dump" "$A" "$B" --labels
check "restore --labels: udev's rules are told that nothing is to be started" \
	wait_for 10 grep -q '^SYNTH_ARG_EVENKEELKNOWN=1' "$dir/events"
kill $monitor
runs "restore --labels: the volume is what it was" 0 't: clean, 0 errors, 0 warnings' hybridctl check "$A" "$B"

# --- damage and absence
dd if="$B" of="$dir/../saved.$$" bs=4k count=1 status=none
blkio zero "$B" 0 8
runs "check: a label is gone" 1 'label of .* is missing .*; its copy is good' hybridctl check "$A" "$B"
runs "assemble: a label is gone" 1 'label of .* is missing' hybridctl assemble t
dd if="$dir/../saved.$$" of="$B" bs=4k count=1 conv=notrunc oflag=direct status=none
rm -f "$dir/../saved.$$"
runs "check: label is back" 0 'clean' hybridctl check "$A" "$B"
emuctl del b
runs "assemble: a member is missing" 1 't: incomplete: .*member 1.* not found' hybridctl assemble t
runs "assemble --all: a member is missing" 1 't: incomplete' hybridctl assemble --all
runs "assemble --with: a member is missing" 0 't: .*member 1 not there yet' hybridctl assemble --with "$A"
runs "list: incomplete" 0 '^t +incomplete .*not found: .*member 1' hybridctl list
emuctl add b mem 48M

# --- with a metadata device, --size, --force, --discard, RAM disks
runs "create: --metadata --size --force" 0 '8M in extents of 64K' \
	hybridctl create t "$A" "$C" --metadata "$M" --extent 64K --size 8M --force --policy stripe
size_is "create: size" 8388608
table_matches "create: one metadata area" t "^[0-9]+ [0-9]+ hybrid 1 "
runs "stop" 0 '' hybridctl stop t
runs "check" 0 'clean' hybridctl check "$A" "$C" "$M"
runs "assemble: metadata device" 0 '/dev/mapper/t' hybridctl assemble t
size_is "assemble: size" 8388608
hybridctl stop t
runs "create: --discard" 0 '/dev/mapper/t: ' hybridctl create t "$A" "$C" --force --discard
hybridctl stop t

# --- what others have more than a MiB from either end: VMFS, a header of LUKS2 that is kept twice, a firmware's RAID
# at DEVICE OFFSET BYTES: as printf has them
at() { printf %b "$3" | dd of="$1" bs=64k seek="$2" oflag=seek_bytes conv=nocreat,notrunc,fsync status=none; }
luks2='SKUL\xba\xbe\0\x02\0\0\0\0\0\x40\0\0'
others() {
	wipe a c && at "$1" 1048576 '\x0d\xd0\x01\xc0' && at "$1" 2097152 '\x5e\xf1\xab\x2f' && at "$1" 4194304 "$luks2" &&
		at "$1" 4194560 '\0\0\0\0\0\x40\0\0' && at "$1" $((32 * 1048576 - 3087 * 512)) 'Promise Technology, Inc.'
}
is_others() { [ "$(wipefs -n -O TYPE --noheadings "$1" | sort -u | tr -s ' \n' ' ')" = "$2" ]; }
check "what others have" others "$C"
check "is seen" is_others "$C" "VMFS VMFS_volume_member crypto_LUKS promise_fasttrack_raid_member "
refuses "create: refused" '/dev/emudisk/c: has a .* signature \(use --force\)' hybridctl create t "$A" "$C"
runs "create: on them" 0 '/dev/mapper/t: ' hybridctl create t "$A" "$C" --force
check "create: they are gone" is_others "$C" ""
runs "stop" 0 '' hybridctl stop t
check "what others have" others "$A"
runs "create: with metadata on the same" 0 '/dev/mapper/t: ' hybridctl create t "$C" --metadata "$M" --force
runs "add: on them" 0 '' hybridctl add t "$A" --force
check "add: they are gone" is_others "$A" ""
runs "stop" 0 '' hybridctl stop t
wipe a c m
runs "create: RAM disk taken" 0 '/dev/mapper/t: ' hybridctl create t "$B" /dev/ram0 --volatile-ok
hybridctl stop t
runs "create: one device" 0 '/dev/mapper/t: .* on 1 device;' hybridctl create t "$C" --force
hybridctl stop t

# --- two at a time: the first is in the middle of its work, as a disk of its does not answer
holds_lock() { local f line=''; for f in /run/hybridctl/*-*; do IFS= read -rd '' line <"$f"; [[ $line != *"process $1" ]] || return 0; done; return 1; }
waits() { local line=''; [ ! -e /tmp/second ] || IFS= read -rd '' line </tmp/second; [[ $line == *"u: waiting for another hybridctl ($1, process "* ]]; }
first() {
	emuctl set b stall=1
	hybridctl add u "$B" --force >/dev/null 2>/tmp/first & first=$!
	wait_for 10 holds_lock "$first"
}
then_second() {
	rm -f /tmp/second	# what another one said
	hybridctl "$@" >/dev/null 2>/tmp/second & second=$!
	wait_for 10 waits add
}
wipe a b c m
runs "create" 0 '/dev/mapper/u: ' hybridctl create u "$A" --metadata "$M" --extent 64K --size 8M --force
check "a device is to join" first
check "meanwhile a stop waits" then_second stop u
kill -KILL "$first"
emuctl set b stall=0
wait "$first" 2>/dev/null
check "not for one that is dead" wait "$second"
runs "nothing has changed" 0 '/dev/mapper/u' hybridctl assemble u
check "again" first
check "another device waits" then_second add u "$C" --force
second_add=$second
check "and a setting" then_second set u alpha=20
emuctl set b stall=0
check "the first has joined" wait "$first"
check "so has the other" wait "$second_add"
check "it is set" wait "$second"
hybridctl status u --json >"$out"
json_is "all are there" "\"$A\" \"$B\" \"$C\"" 'devices.*.path'
table_matches "with the setting" u "alpha 20"
uuid=$(hybridctl list --json | jq -r '.[] | select(.name == "u") | .uuid')
runs "stop" 0 '' hybridctl stop u
# another has the lock
hold() {
	exec {held}>"/run/hybridctl/$uuid"
	flock "$held"
	echo -n "repair, process 1" >&"$held"
}
waits_for_it() {
	rm -f /tmp/second
	hold
	hybridctl "$@" >/dev/null 2>/tmp/second {held}>&- & second=$!
	check "$1 waits" wait_for 10 waits repair
	exec {held}>&-
	check "and does it" wait $second
}
hold
runs "assemble --all: one that another is at work on" 1 'u: another hybridctl is at work on it' hybridctl assemble --all {held}>&-
exec {held}>&-
waits_for_it assemble u
waits_for_it stop u
waits_for_it repair "$A" "$B" "$C" "$M"

# the volume is another one when the lock is had, or none
waits_in_vain() { # REGEX, what happens, the command
	local line=''
	rm -f /tmp/second
	hold
	hybridctl "${@:3}" >/dev/null 2>/tmp/second {held}>&- & second=$!
	check "$3 waits" wait_for 10 waits repair
	check "meanwhile" eval "$2"
	exec {held}>&-
	wait $second
	is "$3 fails" $? 1
	IFS= read -rd '' line </tmp/second
	matches "and says why" "$line" "hybridctl: $3: u: $1"
}
disk d 24M
runs "assemble" 0 '/dev/mapper/u' hybridctl assemble u
waits_in_vain "has been renamed to w meanwhile" "dmsetup rename u w" set u alpha=30
table_matches "nothing was set" w "alpha 20"
dmsetup rename w u
waits_in_vain "has been stopped meanwhile" "dmsetup remove u" policy u stripe
runs "assemble" 0 '/dev/mapper/u' hybridctl assemble u
waits_in_vain "another pool has that name by now; the one that had it is w" \
	"dmsetup rename u w && hybridctl create u /dev/emudisk/d >/dev/null" stop u
check "it is there" hybridctl status u
runs "stop" 0 '' hybridctl stop u
runs "stop" 0 '' hybridctl stop w

# --- names that are not made here: dmsetup's, and what anybody can write into a label
wipe a
check "dmsetup: a name with a blank" command dmsetup create "a b" --table "0 4096 hybrid 1 $A 0 128 1 $A 16384 0 stripe 0"
check "gone" command dmsetup remove "a b"
runs "list" 0 '^a.x20b +inactive ' hybridctl list
runs "assemble: as libdevmapper writes it" 0 '/dev/mapper/a.x20b' hybridctl assemble 'a\x20b'
runs "stop" 0 '' hybridctl stop 'a\x20b'

# --- a leg of md's, a path of multipath's: what is on top of it counts, and it never does
disk e 24M
check "what a leg shows is shorter" dmsetup create leg --table "0 40960 linear /dev/emudisk/e 0"
wipe a
runs "create" 0 '/dev/mapper/x: ' hybridctl create x "$A" /dev/mapper/leg --force
runs "stop" 0 '' hybridctl stop x
# of version 0.90, in the last whole 64 KiB but one: its magic number, major version 0, minor version 90
check "the leg" eval "printf '\\374\\116\\053\\251\\0\\0\\0\\0\\132\\0\\0\\0' | dd of=/dev/emudisk/e bs=512 seek=49024 status=none && blkio flush /dev/emudisk/e"
runs "assemble: by what it shows" 0 '/dev/mapper/x' hybridctl assemble x
runs "stop" 0 '' hybridctl stop x
check "md is not there" dmsetup remove leg
passed='/dev/emudisk/e: passed over, as it has the signature of a part of another device .linux_raid_member'
runs "assemble: not by the leg" 1 "$passed.*x: incomplete: .*member 1.* not found" hybridctl assemble x
runs "assemble --with: nor when another disk appears" 0 "member 1 not there yet.*$passed" hybridctl assemble --with "$A"
runs "assemble --with: nor when it does itself" 1 "$passed" hybridctl assemble --with /dev/emudisk/e
runs "assemble --all: nor with all" 1 'x: incomplete: .*member 1.* not found' hybridctl assemble --all
check "it is none any more" blkio zero /dev/emudisk/e 49024 8
mkdir -p /run/udev/data
read -r node </sys/block/emudisk!e/dev
printf 'I:1\nE:DM_MULTIPATH_DEVICE_PATH=1\n' >/run/udev/data/b$node
runs "assemble: not by a path" 1 '/dev/emudisk/e: passed over, as it is a path of a multipath device.*incomplete' \
	hybridctl assemble x
refuses "create: of a path" 'is a path of a multipath device \(use --force\)' hybridctl create t3 /dev/emudisk/e
: >/run/udev/data/b$node
: >/run/udev/control
runs "assemble --with: not by what udev has yet to look at" 0 'member 1 not there yet' hybridctl assemble --with "$A"
rm -r /run/udev/control /run/udev/data
check "what is suspended" eval 'dmsetup create leg --table "0 40960 linear /dev/emudisk/e 0" && dmsetup suspend leg &&
	dmsetup create above --table "0 1000 linear /dev/mapper/leg 0"'
hybridctl list >/tmp/second 2>&1 & second=$!
has_ended() { ! kill -0 $second 2>/dev/null; }
check "list: is not waited for" wait_for 30 has_ended
check "gone" eval 'dmsetup resume leg && wait $second && dmsetup remove above && dmsetup remove leg'
matches "and said" "$(</tmp/second)" '/dev/mapper/above: passed over, it is suspended.*/dev/mapper/leg: passed over, it is'
runs "assemble: by what is nobody's" 0 '/dev/mapper/x' hybridctl assemble x
runs "stop" 0 '' hybridctl stop x
remove_disk e

# --- a discard that takes its time: dm-delay holds it. Meanwhile the kernel has those wait who read the device.
modprobe dm-delay || die "no dm-delay"
wipe a b c d m
blkio zero /dev/ram0 0 65536 || die "wipe ram0"
size=$(sectors "$B")
delay() { echo "0 $size delay $B 0 0 $B 0 $1"; }
discards() { grep -q "^Discarding /dev/mapper/slow" /tmp/first && ! flock --nonblock --shared /dev/mapper/slow true; }
check "a slow device" dmsetup create slow --table "$(delay 100000)"
hybridctl create t "$A" /dev/mapper/slow --discard >/tmp/first 2>/tmp/second & second=$!
check "a discard is under way" wait_for 20 discards
runs "create: others need not wait" 0 '/dev/mapper/v: ' timeout 30 hybridctl create v "$C"
refuses "create: not of the same" "$A: in use" timeout 30 hybridctl create w "$A" /dev/emudisk/d
refuses "add: nor to another" "/dev/mapper/slow: in use" timeout 30 hybridctl add v /dev/mapper/slow
runs "assemble: all there is" 0 'v is active already' timeout 30 hybridctl assemble
runs "assemble: not from the same" 1 '/dev/mapper/slow: another program has it locked' \
	timeout 30 hybridctl assemble --with /dev/mapper/slow
runs "list: what is passed over is said" 0 '^v .*/dev/mapper/slow: passed over, another program has it locked' \
	timeout 30 hybridctl list
check "it comes to its end" eval 'dmsetup load slow --table "$(delay 0)" && dmsetup suspend slow && dmsetup resume slow'
check "and the volume is made" wait $second
is "without a word" "$(</tmp/second)" ""
check "it is there" hybridctl status t
runs "stop" 0 '' hybridctl stop t

# the name is not held meanwhile
wipe a b
check "slow again" eval 'dmsetup load slow --table "$(delay 100000)" && dmsetup suspend slow && dmsetup resume slow'
: >/tmp/first
hybridctl create v2 "$A" /dev/mapper/slow --discard --force >/tmp/first 2>/tmp/second & second=$!
check "a discard is under way" wait_for 20 discards
dmsetup rename v v2
check "it comes to its end" eval 'dmsetup load slow --table "$(delay 0)" && dmsetup suspend slow && dmsetup resume slow'
wait $second
is "it fails" $? 1
matches "and says why" "$(</tmp/second)" "v2: a device-mapper device of that name has been made meanwhile"
runs "stop" 0 '' hybridctl stop v2
check "gone" dmsetup remove slow

# nothing was discarded: all is as it was
wipe a
mkfs.ext4 -q -F "$A" || die "mkfs"
sum_up
before=$sums
discards=/sys/block/emudisk!a/queue/discard_max_bytes
read -r most <$discards
echo 0 >$discards
exec {held}<"$A"
flock "$held"
hybridctl create v3 "$A" --discard --force >/dev/null 2>/tmp/second {held}<&- & second=$!
check "create: another program has the device locked" wait_for 20 grep -q "waiting for another program" /tmp/second
check "the name is taken meanwhile" dmsetup create v3 --table "0 1000 linear $C 0"
exec {held}<&-
wait $second
is "it fails" $? 1
matches "and says why" "$(</tmp/second)" "v3: a device-mapper device of that name has been made meanwhile"
sum_up
is "what was wiped is put back" "$sums" "$before"
check "gone" dmsetup remove v3

# nor is anything wiped while a lock is waited for, which a signal ends
rm /tmp/second
exec {held}<"$A"
flock "$held"
hybridctl create v3 "$A" --discard --force >/dev/null 2>/tmp/second {held}<&- & second=$!
check "create: it waits again" wait_for 20 grep -qs "waiting for another program" /tmp/second
kill -TERM $second	# a job in the background ignores SIGINT
wait $second
is "the signal ends it" $? 143
exec {held}<&-
sum_up
is "all is as it was" "$sums" "$before"
echo "$most" >$discards

# --- with udev, which the machine has not: its daemon, the rule, and those that it needs
unset DM_DISABLE_UDEV
rules=$(mktemp -d)
cp /usr/lib/udev/rules.d/{55-dm,60-persistent-storage-dm,95-dm-notify}.rules "$rules"
sed "s|@SBINDIR@|$PWD/build/tools|" tools/system/64-evenkeel.rules >"$rules/64-evenkeel.rules"
stop_udev() {
	udevadm control --exit
	umount /usr/lib/udev/rules.d
	rm -rf "$rules" /run/udev
	export DM_DISABLE_UDEV=1
	take_down
}
check "udev" eval 'mount --bind "$rules" /usr/lib/udev/rules.d && /lib/systemd/systemd-udevd --daemon' && trap stop_udev EXIT
event() { udevadm trigger --settle --action="$1" "/dev/emudisk/$2"; }
knows() { udevadm info --query=property "/dev/emudisk/$1" | grep -q '^EVENKEEL_UUID=.'; }
is_there() { hybridctl status t >/dev/null; }
wipe a b
check "all is seen" eval 'event add a && event add b'
check "create, and stop at once" eval 'hybridctl create t "$A" "$B" && hybridctl stop t && udevadm settle'
check_fails "it stays stopped" "no active volume" is_there
wipe a b
check "all is seen" eval 'event add a && event add b'
runs "create" 0 '/dev/mapper/t' hybridctl create t "$A" "$B"
check "udev knows the members" wait_for 20 eval 'knows a && knows b'
check "mkfs" mkfs.ext4 -q /dev/mapper/t
runs "stop: though udev looks" 0 '' hybridctl stop t
check "who writes to a member" event change a
check_fails "starts nothing" "no active volume" is_there
check "when one appears" event add b
check "it is there" is_there
runs "stop" 0 '' hybridctl stop t
check "it is no member any more" eval 'dd if="$B" of=/tmp/label bs=4k count=1 status=none && blkio zero "$B" 0 8 -- zero "$B" 98296 8 && event change b'
check_fails "and udev knows" "" knows b
check "it is again" eval 'dd if=/tmp/label of="$B" bs=4k oflag=direct status=none && event change b'
check "and udev knows" knows b

done_testing
