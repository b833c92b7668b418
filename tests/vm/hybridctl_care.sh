#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: hybridctl: what it says of trouble, and what others have left behind
# kernels: 6.1 6.12
# one-of: 2
# timeout: 300
. tests/vm/lib.sh

disk m 8M
disk a 24M mem cache=volatile
disk b 24M mem cache=volatile
disk c 24M
modprobe dm-hybrid || die "no dm-hybrid"
A=/dev/emudisk/a B=/dev/emudisk/b C=/dev/emudisk/c M=/dev/emudisk/m
dev=/dev/mapper/p
take_down() {
	local d p
	for d in m a b c; do emuctl set $d fail=none; done
	for p in p q slow; do command dmsetup remove --retry $p 2>/dev/null; done
	cleanup
}
trap take_down EXIT
create() {
	wipe m a b
	hybridctl create p $A $B --metadata $M --extent 64K --policy stripe --set commit_ms=3600000 --set low_free=0
}
gone() { ! command dmsetup info p >/dev/null 2>&1; }

# --- stop: what the last commit has lost
check "a volume" create
check "data" blkio write $dev 0 512 "$seed" -- flush $dev
check "stop: nothing is lost" hybridctl stop p
is "without a word" "$(<"$said")" ""
check "assemble" hybridctl assemble p
check "all data" blkio verify $dev 0 512 "$seed"
emuctl set b fail=flush
check "a write that is not flushed" blkio write $dev 0 256 1
exec 7<$dev
check_fails "stop: open: as ever" "p: in use: opened by process $$" hybridctl stop p
exec 7<&-
check_fails "stop: a member that can't flush" \
	"stop: p: the last commit failed .*: what was written last may be lost" hybridctl stop p
is "said once" "$(wc -l <"$said")" 1
check "it is inactive all the same" gone
emuctl set b fail=none
check "assemble" hybridctl assemble p
emuctl set m fail=write
check "a write to a new place" blkio write $dev 1024 128 1
check_fails "stop: metadata that can't be written" "p: the last commit failed .*may be lost" hybridctl stop p
check "it is inactive all the same" gone
emuctl set m fail=none
check "another" create
emuctl set m fail=write
check "a write to a new place" blkio write $dev 1024 128 1
check_fails "a flush" EIO blkio flush $dev
field_is "it is read-only" p mode ro
check_fails "stop: what could not be committed" "p: the last commit failed .*may be lost" hybridctl stop p
check "it is inactive all the same" gone
emuctl set m fail=none
check "another" create
check "data" blkio write $dev 0 512 "$seed"
check "it is suspended" dmsetup suspend p
check "stop: which had all made durable" timeout 30 hybridctl stop p
check "assemble" hybridctl assemble p
check "all data" blkio verify $dev 0 512 "$seed"
emuctl set b fail=flush
check "a write that is not flushed" blkio write $dev 0 256 1
check "it is suspended" dmsetup suspend p
check_fails "stop: suspended, when it lost some" "p: the last commit failed .*may be lost" timeout 30 hybridctl stop p
check "it is inactive all the same" gone
emuctl set b fail=none

# --- what was left by one that was killed between making a device and its table's being live
check "another" create
line=$(dmsetup table p)
uuid=$(hybridctl list --json | jq -r '.[] | select(.name == "p") | .uuid')
check "data" blkio write $dev 0 512 "$seed"
check "stop" hybridctl stop p
leave() { command dmsetup create "$@" --notable; }
leave_loaded() { leave "$@" && command dmsetup load "$1" --table "$line"; }
works() { hybridctl assemble p && blkio verify $dev 0 512 "$seed" && hybridctl stop p; }
check "a device without a table" leave p -u "EVENKEEL-hybrid-$uuid"
check "assemble" works
check "one with a table that was not resumed" leave_loaded p -u "EVENKEEL-hybrid-$uuid"
check "list: what it holds is not hidden" eval 'hybridctl list | grep "^p .* inactive .*$A $B"'
check "assemble" works
check "one of another name" leave_loaded q -u "EVENKEEL-hybrid-$uuid"
check "assemble --with" eval 'hybridctl assemble --with $A && blkio verify $dev 0 512 "$seed"'
check_fails "it is gone" "" command dmsetup info q
check "stop" hybridctl stop p
check "one that somebody has open" leave_loaded p -u "EVENKEEL-hybrid-$uuid"
command dmsetup mknodes p
exec 7<$dev
check_fails "assemble: not that" "p: .*is open" hybridctl assemble p
exec 7<&-
check "assemble: it is closed" works
check "somebody else's" leave p -u LVM-1
check_fails "assemble: not that" "p: another device-mapper device has that name" hybridctl assemble p
check "gone" command dmsetup remove p
check "one with another target" eval 'leave p && command dmsetup load p --table "0 1000 linear $C 0"'
check_fails "assemble: not that" "p: another device-mapper device has that name" hybridctl assemble p
check_fails "create: nor that" "p: .*there already" hybridctl create p $C
check "gone" command dmsetup remove p
check "one that create left" eval 'wipe c && leave q && command dmsetup load q --table "0 4096 hybrid 1 $C 0 128 1 $C 16384 0 stripe 0"'
check "create" hybridctl create q $C
check "stop" hybridctl stop q
check "one without a table" leave q
check "create" hybridctl create q $C --force
check "stop" hybridctl stop q

# --- a device that was given to something else since, with the label's copy as it was
claimed() { hybridctl identify --udev $B; }
check "it is claimed" claimed
cp $B /tmp/b.kept
check "swap space" mkswap $B
check "people are told" eval 'hybridctl identify $B | grep "member 1 .*label overwritten: a swap signature is there"'
check_fails "udev is not" "^$" claimed
check_fails "repair: not without being told to" "something else" hybridctl repair $M $A $B
check_fails "nor now" "^$" claimed
check "repair --force" hybridctl repair --force $M $A $B
check "it is ours again" claimed
check "with what it has left" hybridctl check $M $A $B
dd if=/tmp/b.kept of=$B bs=1M oflag=direct status=none
check "a partition table" eval "printf '\0\0\2\0\203\0\2\0\0\10\0\0\0\40\0\0' | dd of=$B bs=1 seek=446 conv=notrunc status=none &&
	printf '\125\252' | dd of=$B bs=1 seek=510 conv=notrunc,fsync status=none"
check "people are told" eval 'hybridctl identify $B | grep "label overwritten: a dos partition table is there"'
check_fails "udev is not" "^$" claimed
dd if=/tmp/b.kept of=$B bs=1M oflag=direct status=none
check "nothing but zeroes" blkio zero $B 0 8
check "it is claimed" claimed
check "something that nobody knows" blkio write $B 0 8 "$seed"
check "it is claimed" claimed
check "people are told" eval 'hybridctl identify $B | grep "label damaged"'
dd if=/tmp/b.kept of=$B bs=1M oflag=direct status=none
check "all is well" works

# --- a path that becomes another device's while a command is at work
needs dm-delay
delay() { echo "0 $(sectors $B) delay $B 0 0 $B 0 $1"; }
at_work() { # what it writes is held, as nothing else is for so long
	local where _
	for _ in 1 2 3 4 5; do
		read -r where <"/proc/$second/wchan"
		[[ $where == *submit_bio_wait* ]] || return
		nap 0.05
	done
}
on_its_way() { # COMMAND...: while it writes its first block the path changes
	wipe b
	blkio write $B 0 256 "$seed"
	dmsetup create slow --table "$(delay 100000)" || return
	ln -sf /dev/mapper/slow /tmp/path
	hybridctl "$@" >/tmp/second 2>&1 & second=$!
	wait_for 20 at_work && ln -sfn $C /tmp/path
	dmsetup load slow --table "$(delay 0)" && dmsetup suspend slow && dmsetup resume slow
	wait $second
	is "$1 fails" $? 1
	matches "and says why" "$(</tmp/second)" "$1: /tmp/path: .*is another device by now"
	is "nothing was written to the other" "$(blkio digest $C 0 49152)" "$before"
	wait_for 10 dmsetup remove slow
}
mkfs.ext4 -q -F -E nodiscard $C || die "mkfs"
before=$(blkio digest $C 0 49152)
wipe a m
on_its_way create p /tmp/path $A --force
wipe a m
check "a volume" hybridctl create p $A --metadata $M --extent 64K --size 8M
on_its_way add p /tmp/path --force
on_its_way metadata p move 0 /tmp/path --force
field_is "it goes on" p mode rw
check "stop" hybridctl stop p

# --- how a volume is, at a glance
health() { hybridctl list --json | jq -r '.[] | select(.name == "p") | .health'; }
says() { hybridctl status p | grep "^health: $1"; }
check "a volume" create
is "it is well" "$(health)" ok
check "list: as a column" eval 'hybridctl list | grep "^NAME  *STATE  *HEALTH " && hybridctl list | grep "^p  *rw  *ok "'
check "status: in a line" says 'ok$'
check "data" blkio write $dev 0 512 "$seed" -- flush $dev
emuctl set b fail=write
check_fails "a write" EIO blkio write $dev 128 8 1
emuctl set b fail=none
is "a member had errors" "$(health)" degraded
check "status: what to do" says "degraded: device 1 had errors: .*evacuate p 1"
check "taken back" hybridctl reinstate p 1
is "it is well" "$(health)" ok
check "stop" hybridctl stop p
is "inactive" "$(health)" null
check "list: inactive" eval 'hybridctl list | grep "^p  *inactive  *- "'
remove_disk b
check "assemble --degraded" hybridctl assemble p --degraded
is "a member is lost" "$(health)" "lost member"
check "status: what to do" says "lost member: device 1 .*hybridctl lost p"
check "list" eval 'hybridctl list | grep "^p  *rw  *lost member "'
check "stop" hybridctl stop p
disk b 24M mem cache=volatile
check "a volume" create
emuctl set m fail=write
check "a write to a new place" blkio write $dev 1024 128 1
check_fails "a flush" EIO blkio flush $dev
emuctl set m fail=none
is "the metadata can't be trusted" "$(health)" needs_check
check "status: what to do" says "needs_check: .*hybridctl stop p.*hybridctl repair"

# --- settings of one that can't keep them
kept="p: .*holds until the volume is stopped"
check "set" hybridctl set p commit_ms=5000
matches "that it is not kept is said" "$(<"$said")" "warning: $kept"
table_matches "it is set" p "commit_ms 5000"
check "policy" hybridctl policy p fill
matches "likewise" "$(<"$said")" "warning: $kept"
check "pin" hybridctl pin p 0 64K 0
matches "likewise" "$(<"$said")" "warning: $kept"
check "pin --remove" hybridctl pin p --remove
matches "likewise" "$(<"$said")" "warning: $kept"
check "pin: show" hybridctl pin p
is "nothing" "$(<"$said")" ""
check_fails "stop" "may be lost" hybridctl stop p
check "a volume" create
check "set" hybridctl set p commit_ms=5000
is "without a word" "$(<"$said")" ""
line=$(dmsetup table p | sed 's/ 2 \([0-9:]* [0-9]*\) \([0-9:]* [0-9]*\) 0 / 2 \1 \2 1 read_only /')
check "stop" hybridctl stop p
check "for reading" pool p "$line"
is "it is read-only" "$(health)" read-only
check "set" hybridctl set p commit_ms=6000
matches "not kept" "$(<"$said")" "warning: $kept"
check "stop" hybridctl stop p
pools=()

# --- two of a name
wipe c
uuid=$(hybridctl list --json | jq -r '.[] | select(.name == "p") | .uuid')
check "another of the same name" hybridctl create p $C
matches "which is told" "$(<"$said")" "warning: p: an inactive volume has that name, too, on $A"
check_fails "assemble: the name is taken" "p: another device-mapper device has that name.*--name" hybridctl assemble "$uuid"
check_fails "assemble: no name" "a/b: not a name" hybridctl assemble "$uuid" --name a/b
check_fails "assemble: --name with all" "--name" hybridctl assemble --all --name q
check "assemble: by another name" hybridctl assemble "$uuid" --name q
matches "which is said" "$(<"$said")" "^/dev/mapper/q$"
matches "both are there" "$(hybridctl list | awk '$2 == "rw" { print $1 }' | sort | paste -sd,)" "^p,q$"
check "assemble again" hybridctl assemble "$uuid" --name x
matches "it is active" "$(<"$said")" "p is active already \(/dev/mapper/q\)"
check "stop" eval 'hybridctl stop q && hybridctl stop p'
matches "the labels' name is as it was" "$(hybridctl list | awk '{ print $1 }' | sort -u | paste -sd,)" "^NAME,p$"

# --- events, one a line
check "a volume" hybridctl assemble "$uuid"
check "data" blkio write $dev 0 512 "$seed" -- flush $dev
hybridctl monitor p --events >/tmp/events 2>&1 & second=$!
told() { grep -E "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[+-][0-9:]+ p: $1" /tmp/events; }
check "how it is" wait_for 10 told "rw, device 0 active, device 1 active, metadata area 0 active$"
emuctl set b fail=write
check_fails "a write" EIO blkio write $dev 128 8 1
emuctl set b fail=none
check "a member had errors" wait_for 10 told "device 1 degraded$"
check "taken back" hybridctl reinstate p 1
check "it is active" wait_for 10 told "device 1 active$"
check "detached" hybridctl detach p 1 --force
check "it is lost" wait_for 10 told "device 1 lost$"
check "attached" hybridctl attach p /dev/emudisk/b
check "it is back" wait_for 10 eval '[ "$(told "device 1 active$" | wc -l)" = 2 ]'
check "stop" hybridctl stop p
check "its end" wait_for 10 told "stopped$"
wait $second
is "which is no failure" $? 0
is "no more than that" "$(wc -l </tmp/events)" 6
check "a volume" hybridctl assemble "$uuid"
: >/tmp/events
hybridctl monitor p --events >/tmp/events & second=$!
check "how it is" wait_for 10 told "rw, "
kill -TERM $second
wait $second
is "interrupted" $? 0
check "as often as asked" hybridctl monitor p --events --count 1
check_fails "of nothing" "no active volume" hybridctl monitor none --events
check_fails "with --interval" "--events" hybridctl monitor p --events --interval 1
check "stop" hybridctl stop p

# --- a copy of one of its devices, found before it
wipe m a b c
check "a volume" hybridctl create p $B --extent 64K --size 8M
check "data" blkio write $dev 0 512 "$seed" -- flush $dev
check "the copy" dd if=$B of=$A bs=1M iflag=direct oflag=direct
check "list: what is in use counts" eval 'hybridctl list | grep "^p  *rw .* $B$"'
check "check: likewise" hybridctl check p
check "assemble: likewise" hybridctl assemble p
matches "it is active" "$(<"$said")" "p is active already"
check "stop" hybridctl stop p
check_fails "inactive nobody knows which is meant" "$A and $B carry the same label" hybridctl assemble p
mkdir -p /run/udev/data
: >/run/udev/control
looked() {
	local node
	read -r node <"/sys/block/emudisk!$1/dev"
	echo I:1 >/run/udev/data/b"$node"
}
looked a
check "assemble --with: the copy, and what udev has yet to look at" hybridctl assemble --with $A
matches "which is waited for" "$(<"$said")" "p: .* 0 is on $B, too, which is not there yet"
check "nothing is activated" gone
looked b
check_fails "nor when it comes" "$A and $B carry the same label" hybridctl assemble --with $B
check "nothing is activated" gone
rm -r /run/udev/control /run/udev/data
wipe a
check "without it" hybridctl assemble p
check "stop" hybridctl stop p

done_testing
