#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: extents that are pinned, and what is said of them
# kernels: 6.1 6.12 debug
# timeout: 120
. tests/vm/lib.sh

disk m 16M
disk a 24M
disk b 12M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
# low_free 0: nothing is shed by a member that is to get full
settings="cooldown_ms 0 migrate_kbps 0 period_ms 100 low_free 0"
check "a pool" pool p "$(table 32768 128 m "a b" 0 "fill 8 $settings")"
check "data on the first" blkio write $dev 0 $((64 * 128)) "$seed"
entry_on() { local e; into e dmt message p 0 entry "$1"; [ "${e%% *}" = "$2" ]; }
all_on() { local e; for ((e = $1; e < $2; e++)); do entry_on "$e" "$3" || return; done; }

check "pin 8 of them to the second" message p pin $((16 * 128)) $((8 * 128)) 1
table_matches "they are in the table" p "pin 16\+8:1$"
check "they go there" wait_for 20 all_on 16 24 1
check "their data" blkio verify $dev 0 $((64 * 128)) "$seed"
check "the others stay" all_on 24 64 0
matches "explained" "$(message p explain 16)" "^extent 16 member 1 .* pinned 1 verdict pinned to -1 "
matches "and one that is not" "$(message p explain 24)" "^extent 24 member 0 .* pinned -1 verdict balanced to -1 "
is "and one that is not there" "$(message p explain 200)" "extent 200 member - pinned -1 policy fill"
check_fails "a move elsewhere" "busy" message p move 16 0
[ "$(status p reason.pinned)" -gt 0 ]
is "is counted" $? 0
check "new ones are placed there" message p pin $((100 * 128)) 1 1
blkio write $dev $((100 * 128)) 128 "$seed"
check "at once" entry_on 100 1

check "unpin in the middle" message p unpin $((18 * 128)) $((2 * 128))
table_matches "leaves two" p "pin 16\+2:1,20\+4:1,100\+1:1$"
check "now it may move" message p move 18 0
check "and does" wait_for 20 entry_on 18 0
check "another policy keeps them" message p policy stripe
table_matches "shown" p "pin 16\+2:1,20\+4:1,100\+1:1$"
check "as text, repeating" message p set pin 0+2/10*3:1
table_matches "shown" p "pin 0\+2/10\*3:1$"
check "the first" wait_for 20 all_on 0 2 1
check "the last" wait_for 20 all_on 20 22 1
check "not what is between" all_on 2 10 0
for bad in "pin 0 0 1" "pin 32768 8 1" "pin 0 8 2" "pin 0 8 -1" "pin 0 8" "unpin 0" "set pin 0+1:2" "set pin 256+1:1" "set pin 0+1/255*3:1" \
	"set pin x" "explain 256" "explain x" "explain"; do
	# shellcheck disable=SC2086
	check_fails "refused: $bad" "Invalid" message p $bad
done
table_matches "all as before" p "pin 0\+2/10\*3:1$"

# a reload of the table that is shown keeps them, and so does a restart with it
reload() { dmsetup suspend p && dmsetup reload p --table "$line" && dmsetup resume p; }
into line dmt table p
check "reload" reload
table_matches "pinned as before" p "pin 0\+2/10\*3:1$"
remove_pool p
check "a new start" pool p "$line"
table_matches "pinned as before" p "pin 0\+2/10\*3:1$"
check "and there" all_on 20 22 1
check "their data" blkio verify $dev 0 $((64 * 128)) "$seed"

# a member that gets full: what has no room there stays where it is, and new ones go elsewhere
message p policy fill
check "no pins" message p set pin none
table_matches "none are shown" p "migrate_kbps 0 low_free 0$"
check "all to the second" message p set pin 0+256:1
check "and all is written" blkio write $dev 0 32768 "$seed"
full() { [ "$(status p dev.1.used)" = "$(status p dev.1.total)" ]; }
check "it gets full" wait_for 30 full
check "unpin all" message p unpin
check "and their data" blkio verify $dev 0 32768 "$seed"

# what people type
ctl_fails() { hybridctl "$@"; }
ctl() { hybridctl "$@" >/tmp/out 2>&1; }
check "hybridctl explain" ctl explain p 1M
matches "says where and why" "$(</tmp/out)" "^extent 16: on member [01] \\(.*\\), physical extent .*policy fill: it stays: nowhere"
check "as JSON" ctl explain p 1M --json
is "its member" "$(json /tmp/out member)" "$(message p explain 16 | cut -d ' ' -f 4)"
check "hybridctl pin" ctl pin p 1M 128K 0
check "shows it" ctl pin p
matches "in bytes" "$(</tmp/out)" "^131072 bytes at 1048576 on member 0 \\(/dev/"
check "as JSON" ctl pin p --json
is "its stride" "$(json /tmp/out 0.stride)" 0
check "hybridctl pin --remove" ctl pin p --remove 1M 128K
is "leaves none" "$(hybridctl pin p)" ""
ranges() { local n text=; for ((n = 0; n < $1; n++)); do text+=",$((2 * n))+1:0"; done; echo "${text:1}"; }
check "as many ranges as there may be" ctl set p "pin=$(ranges 20)"
check_fails "one more is refused" "pin: too many ranges" ctl_fails set p "pin=$(ranges 21)"
is "and leaves them" "$(hybridctl pin p | wc -l)" 20
check "none" ctl set p pin=none
for bad in "p 1M" "p 1M 128K" "p 1M 128K 2" "p 1M 128K /dev/null" "p 16M 64K 0" "p 1M 100 0" "p --remove 1M" "p --dry-run" \
	"p --ext4-metadata 2" "p --ext4-metadata 0" "nobody"; do
	# shellcheck disable=SC2086
	check_fails "refused: hybridctl pin $bad" "hybridctl: pin: " ctl_fails pin $bad
done
check "a file system" mkfs.ext4 -q -b 4096 $dev
check "its metadata" ctl pin p --ext4-metadata 0
matches "are found" "$(</tmp/out)" "^([1-9][0-9]*) of \\1 extents with metadata in ranges that fit: 0\\+"
first_on() { entry_on 0 0; }
check "its superblock goes there" wait_for 20 first_on
check "the file system is well" e2fsck -fn $dev
remove_pool p

# members that come and go: pins go with who takes the place of another, and with who leaves
disk c 12M
wipe m a b
check "a pool by hybridctl" hybridctl create p /dev/emudisk/a /dev/emudisk/b --metadata /dev/emudisk/m --extent 64K --size 8M \
	--policy fill --set cooldown_ms=0 --set migrate_kbps=0 --set period_ms=100 --set low_free=0
pools+=(p)
check "data" blkio write $dev 0 $((64 * 128)) "$seed" -- flush $dev
check "some is held on the second" ctl pin p 1M 512K 1
check "goes there" wait_for 20 all_on 16 24 1
check "some on the first" ctl pin p 0 64K 0
get p dev.1.used started
check "another in its place" ctl replace p /dev/emudisk/b /dev/emudisk/c
matches "which is told" "$(</tmp/out)" "what was pinned to member 1 is pinned to member 2"
check "it is held there" wait_for 20 all_on 16 24 2
field_is "by one copy of each extent that was there" p started $((got[0] + got[1]))
table_matches "in the table" p "pin 16\+8:2,0\+1:0$"
check "the first leaves its place to the one that was replaced" eval 'ctl add p /dev/emudisk/b && ctl evacuate p 2 --force && ctl remove p 2 --force'
matches "nothing is held on who left" "$(</tmp/out)" "nothing is pinned to member 2 any more"
table_matches "in the table" p "pin 0\+1:0$"
check "their data" blkio verify $dev 0 $((64 * 128)) "$seed"
check "pins of one that leaves by messages" eval 'ctl pin p 1M 64K 1 && message p evacuate 1 && wait_for 20 status_is p dev.1.used 0 && message p remove 1'
table_matches "stay" p "pin 0\+1:0,16\+1:1$"
check "who gets its place" ctl add p /dev/emudisk/c --force
fields_are "has it" p "dev.1.state" active
table_matches "has none of them" p "pin 0\+1:0$"
check "some is held on it, and it is lost" eval 'ctl pin p 1M 64K 1 && wait_for 20 all_on 16 17 1 && blkio flush $dev && hybridctl stop p && remove_disk c &&
	ctl assemble p --degraded'
check "it leaves" eval 'ctl evacuate p 1 --give-up && ctl remove p 1 --force'
table_matches "and what was held on it" p "pin 0\+1:0$"
check "stop" hybridctl stop p
pools=()
done_testing
