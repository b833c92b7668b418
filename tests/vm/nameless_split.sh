#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: an FTL on the host over a raw device: data, flushes, power cuts, collection, removal while in use, refusals
# kernels: 6.1 6.12 debug
# timeout: 180
. tests/vm/lib.sh

modprobe nameless || die "no nameless"
d=/dev/nameless
conf=/sys/kernel/config/nameless
quick="t_read=0 t_program=0 t_erase=0 t_bus_control=0 t_bus_data=0 t_ram=0 t_register=0"

# stat_of NAME KEY
stat_of() {
	local key value
	while read -r key value; do [ "$key" != "$2" ] || { echo "$value"; return; }; done <"$conf/$1/stat"
	return 1
}

# more TITLE NAME KEY LEAST
more() {
	local value
	value=$(stat_of "$2" "$3")
	if [ "$value" -gt "$4" ]; then ok "$1"; else not_ok "$1" "$3 is $value"; fi
}

clean() {
	check "$1: every invariant of the host's FTL holds" nlctl check host
	is "$1: it asked for nothing that flash would not do" "$(stat_of chips refused)" 0
}

# shellcheck disable=SC2086
raw() { nlctl create chips 8M --ftl raw packages=4 pages=16 $quick "$@"; }
host() { nlctl create host 8M --on chips "$@" && wait_for 10 test -b $d/host; }

# scattered: a page each, all over the device
scattered() {
	local i words=()
	for ((i = 0; i < 160; i++)); do words+=(-- write "$d/host" "$((RANDOM % 2048 * 8))" 8 "$((i + 2))"); done
	blkio "${words[@]:1}"
}

# --- a driver that has a raw device ----------------------------------------------------------------------

check "a raw device for a driver" nlctl create chips 8M --ftl raw packages=4 pages=16
check "it gets all that a raw device offers, and what flash would not do is refused" modprobe evenkeel_raw device=chips
is "which is counted" "$(stat_of chips refused)" 9
check_fails "a host can't have it now" "on=chips: is in use" nlctl create host 8M --on chips
check_fails "it is not deleted" "chips is in use by evenkeel_raw" nlctl delete chips
check_fails "nor can its module be unloaded" "in use" rmmod nameless
check "its power goes" nlctl cut chips --off
is "and the driver was told" "$(</sys/module/evenkeel_raw/parameters/cuts)" 1
check "and goes itself" rmmod evenkeel_raw
check "the power is back" nlctl power chips on
check "deleted" nlctl delete chips

# --- a raw device, and an FTL over it ------------------------------------------------------------------

check "a raw device" raw
is "is no block device" "$(ls $d/chips 2>/dev/null)" ""
matches "list shows it" "$(nlctl list)" $'\nchips +8M raw +ssd1 +on +0'
is "stat tells nothing of an FTL, which it has not" "$(nlctl stat chips | grep -cE 'writable|^host|^map|^merges| free,')" 0
check_fails "a host over what is not there" "on=none: no raw device" nlctl create host 8M --on none
check_fails "over more than there is" "too little flash" nlctl create host 64M --on chips
check_fails "with what is the raw device's to say" "pages is for chips to say" nlctl create host 8M --on chips pages=32
check_fails "with its preset" "preset is for chips to say" nlctl create host 8M --on chips --preset ssd2
check_fails "with another FTL" "ftl=page: is none for a host" nlctl create host 8M --on chips --ftl page
check_fails "twice" "there is one already" nlctl create host 8M --on chips on=chips
check_fails "what was refused is not there" "no device host" nlctl list host
check "and a host over it" host
is "as large as was asked for" "$(blockdev --getsz $d/host)" 16384
matches "it says what it is on" "$(<$conf/host/info)" $'\nftl split\n.*\non chips'
check "begins as zeroes" blkio verify $d/host 0 16384 0
check "what is written is read" blkio write $d/host 0 16384 "$seed" -- verify $d/host 0 16384 "$seed"
check "sectors within a flash page" blkio write $d/host 13 2 7 -- verify $d/host 13 2 7 -- verify $d/host 0 13 "$seed" -- \
	verify $d/host 15 100 "$seed"
check "discards" blkio discard $d/host 800 80 -- verify $d/host 800 80 0 -- verify $d/host 700 100 "$seed"
clean "written"
read -ra programs <<<"$(stat_of chips count_program)"
is "the raw device has the host's pages among its operations" "$((programs[0] >= 2048))" 1

# --- who has it ---------------------------------------------------------------------------------------

check_fails "a second host is refused" "on=chips: is in use" nlctl create other 8M --on chips
check_fails "the raw device is not deleted under it" "chips is in use by host" nlctl delete chips
check_fails "nor saved" "chips is in use by host" nlctl save chips /tmp/chips.img
check_fails "what the host has is saved there" "save that" nlctl save host /tmp/host.img
check_fails "nor is its time the host's" "t_read is for chips to say" nlctl set host t_read=1
check_fails "nor can the module be unloaded" "in use" rmmod nameless

# --- flushes and power cuts ---------------------------------------------------------------------------

check "a file system" eval 'mkfs.ext4 -q $d/host && mount $d/host /mnt'
check "files, synced" eval 'cp -r /etc/modprobe.d /etc/udev /mnt && sync'
find /mnt -type f -exec cksum {} + | sort -k3 >/tmp/before
check "the power goes, of both" nlctl cut host --off
is "the raw device has none either" "$(stat_of chips power)" off
umount /mnt 2>/dev/null
check "and comes" nlctl power host on
is "with the raw device's" "$(stat_of chips power)" on
check "mounted again" eval 'mount $d/host /mnt'
find /mnt -type f -exec cksum {} + | sort -k3 >/tmp/after
check "all that was synced is there" cmp /tmp/before /tmp/after
umount /mnt
check "and the file system is whole" e2fsck -fn $d/host
clean "after a cut"

nlctl set host gc_idle=0	# commits, too
check "a flush" blkio write $d/host 0 8192 3 -- flush $d/host
commits=$(stat_of host commits)
check "a FUA write of 16 pages" blkio fua $d/host 12000 128 6
is "is committed once" "$(($(stat_of host commits) - commits))" 1
check "and sectors of 17, two of them in part" blkio fua $d/host 12004 128 7 -- verify $d/host 12004 128 7
is "likewise" "$(($(stat_of host commits) - commits))" 2
nlctl set host gc_idle=100ms
for tear in not error blank; do
	for after in 0 3 40 111; do
		check "FUA" blkio fua $d/host 8192 8 "$((after + 20))"
		nlctl cut host --after $after --tear $tear
		scattered_up() { local i; for ((i = 0; i < 9; i++)); do blkio write $d/host "$((8200 + i * 800))" 800 9 -- flush $d/host || return; done; }
		scattered_up >/tmp/cut 2>&1
		is "the power goes at operation $after, left $tear" "$(stat_of chips power) $(stat_of host power)" "off off"
		check "and comes" nlctl power host on
		check "what was flushed is there" blkio verify $d/host 0 8192 3 -- verify $d/host 8192 8 "$((after + 20))"
		clean "$tear $after"
	done
done
check "a cut of the raw device" nlctl cut chips
is "takes the host's power, too" "$(stat_of chips power) $(stat_of host power)" "on off"
check_fails "there is nothing to write to" "." blkio write $d/host 0 8 1
check "it comes when it is switched on" nlctl power host on
check "with what was flushed" blkio verify $d/host 0 8192 3

# --- collection, under load ---------------------------------------------------------------------------

fio --thread --clocksource=clock_gettime --name=v --filename=$d/host --rw=randwrite --bsrange=512-64k --bs_unaligned=0 --size=8M \
	--io_size=32M --direct=1 --ioengine=psync --fsync=50 --verify=crc32c --verify_fatal=1 --norandommap=0 --randseed="$seed" \
	--output=/tmp/fio
is "fio finds what it wrote while blocks are collected" "$? $(grep -c 'err= 0' /tmp/fio)" "0 1"
clean "fio"
more "blocks were" host victims 10
more "the metadata was committed" host commits 100
more "and written anew" host images 2
check "a full device takes writes anywhere" eval 'blkio write $d/host 0 16384 1 && scattered && scattered && scattered'
check "and once more all over" blkio write $d/host 0 16384 "$seed" -- flush $d/host -- verify $d/host 0 16384 "$seed"
blkio write $d/host 0 8192 1 -- discard $d/host 64 4096 -- write $d/host 0 8192 4 -- verify $d/host 0 8192 4 >/tmp/one 2>&1 &
one=$!
blkio write $d/host 8192 8192 2 -- flush $d/host -- write $d/host 8192 8192 5 -- verify $d/host 8192 8192 5 >/tmp/two 2>&1 &
two=$!
check "checks while two write" eval 'nlctl check host && nlctl check chips && nlctl check host'
wait $one && wait $two
is "who find what they wrote" "$? $(cat /tmp/one /tmp/two)" "0 "

# --- coming and going ---------------------------------------------------------------------------------

check "written and not flushed" blkio write $d/host 0 16384 "$seed"
check "the host is deleted" nlctl delete host
check "and made again: what it had is in the raw device" eval 'host && blkio verify $d/host 0 16384 "$seed"'
clean "again"
check "deleted" nlctl delete host
check_fails "one of another size does not find its own" "another FTL, one of another size" nlctl create host 4M --on chips
check "the raw device is saved, deleted and loaded" eval 'nlctl save chips /tmp/chips.img && nlctl delete chips && nlctl load chips /tmp/chips.img'
check "with what the host wrote" eval 'host && blkio verify $d/host 0 16384 "$seed"'
exec {open}<$d/host
check_fails "a host that is open is not deleted" "host is open" nlctl delete host
rmdir $conf/chips
is "a raw device whose directory is removed has nothing left for its host" \
	"$(dd iflag=direct bs=4096 count=1 status=none <&"$open" 2>/dev/null | wc -c) $(stat_of host power)" "0 off"
check_fails "and does not come back" "chips is gone" nlctl power host on
exec {open}<&-
check "the host is deleted" nlctl delete host
check_fails "no host is left" "no device host" nlctl list host

# --- a host that can't be flushed ---------------------------------------------------------------------

check "a raw device once more" raw
check "under a host with a buffer" host buffer=64 gc_idle=0
check "some of it is flushed" blkio write $d/host 0 8 1 -- flush $d/host
check "some is not when the power is to go" eval 'blkio write $d/host 0 8 2 && nlctl cut host --after 0'
check_fails "which a delete says before it is lost" "what was not flushed can't be written .*delete again without" \
	nlctl delete host
is "the host is there, without power" "$(stat_of host power)" off
check "it is deleted when that was said" nlctl delete host
check "and made again" eval 'nlctl power chips on && host buffer=64 gc_idle=0'
check "with what was flushed" blkio verify $d/host 0 8 1
check "deleted" nlctl delete host chips
until_ro() {
	local i
	for ((i = 1; i < 4000; i++)); do blkio write $d/host 0 2048 "$i" 2>/dev/null || break; done
	[ "$(stat_of host mode)" = ro ] && [ "$(stat_of host buffered)" -gt 0 ]
}
check "flash that wears out, under such a host" eval 'raw endurance=6 && host buffer=64 gc_idle=0'
check "is written until it is read-only" until_ro
check_fails "what it can't write is not dropped unsaid" "delete again without" nlctl delete host
check "it can be read" blkio digest $d/host 0 2048
check "deleted without" nlctl delete host
check "with its flash" nlctl delete chips

# --- flash that fails ---------------------------------------------------------------------------------

check "flash that wears out, with bad blocks" raw factory_bad=3 endurance=15 op=30% seed="$seed"
check "under a host" host
worn() {
	local i
	for ((i = 0; i < 400; i++)); do scattered && blkio flush $d/host || return 0; done
	return 1
}
check "written until it is read-only" worn
is "which it says" "$(stat_of host mode)" ro
more "its metadata went from block to block" host meta_rotated 10
[ "$(stat_of host meta_good)" = "$(stat_of host meta_blocks)" ] || [ "$(stat_of host free_blocks)" = 0 ]
is "and has as many as it should, or all there are" $? 0
nlctl cut host
clean "worn"
check "what there is can be read" dd if=$d/host of=/dev/null bs=1M iflag=direct
check "deleted" nlctl delete host chips

check "the FTL of the host is one for devices, too" eval 'nlctl create host 8M --ftl split packages=4 pages=16 $quick && wait_for 10 test -b $d/host'
check "with data" blkio write $d/host 0 16384 "$seed" -- flush $d/host
check "through a cut" eval 'nlctl cut host && blkio verify $d/host 0 16384 "$seed" && nlctl check host'
check "deleted" nlctl delete host
check "and the module goes" rmmod nameless
done_testing
