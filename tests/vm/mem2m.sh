#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: mem2m: ordinary RAM as a block device, a dm target and for another driver
# kernels: 6.1 6.12 debug
# quick: yes
# timeout: 120
. tests/vm/lib.sh

conf=/sys/kernel/config/mem2m
modprobe mem2m || die "no mem2m"
d=/dev/mem2m

# info NAME KEY: without starting a program
info() {
	local key value
	while read -r key value; do [ "$key" != "$2" ] || { echo "$value"; return; }; done <"$conf/$1/info"
	return 1
}

# make NAME SIZE...: and wait for its node
make() { mem2mctl create "$@" && wait_for 10 test -b "$d/$1"; }

# holds NAME SECTOR COUNT SEED
holds() { blkio verify "$d/$1" "$2" "$3" "$4"; }

# same DEVICE DEVICE MIB: the first MIB of one are on the other from there on
same() { cmp <(dd if="$1" bs=1M count="$3" iflag=direct status=none) <(dd if="$2" bs=1M skip=1 count="$3" iflag=direct status=none); }

# --- creating and listing ---------------------------------------------------------------------------

check "a device is created" make a 20M --unit 6M
is "its size is what was asked for" "$(blockdev --getsz $d/a)" 40960
is "in units of the size that was asked for" "$(info a units) $(info a unit)" "4 $((6 << 20))"
matches "it says how much of it is in huge pages" "$(info a huge)" '^[0-9]+$'
mem2mctl list --json >/tmp/list.json
check "list --json is JSON and says the same" python3 -c '
import json
d, = json.load(open("/tmp/list.json"))["devices"]
assert d["name"] == "a" and d["size"] == 20 << 20 and d["units"] == 4 and d["backing"] == "ram"
assert d["survives"] is False and d["power"] is False and d["dax"] is False and d["open"] == 0 and d["drivers"] == 0, d'
matches "list has a line for it" "$(mem2mctl list)" $'\na +ram +20M +4 '
matches "with what goes with the power" "$(mem2mctl list a)" 'ram .* no +no +no +0 +0 -$'
grep -v '^power ' $conf/a/info >/tmp/older
mount --bind /tmp/older $conf/a/info
matches "which a module that is older doesn't tell" "$(mem2mctl list a)" 'ram .* no +- +no +0 +0 -$'
mem2mctl list a --json >/tmp/list.json
check "nor list --json then" python3 -c '
import json
d, = json.load(open("/tmp/list.json"))["devices"]
assert d["survives"] is False and "power" not in d, d'
umount $conf/a/info
check_fails "a name twice is refused" "a exists" mem2mctl create a 1M
check_fails "a bad name is refused" "bad name" mem2mctl create a:b 1M
check_fails "a bad size is refused" "12q: not a size" mem2mctl create b 12q
check_fails "a size that is no multiple of 4K is refused" "not a multiple of 4K" mem2mctl create b 5000
check_fails "a unit that is no multiple of 2M is refused" "not a multiple of 2M" mem2mctl create b 8M --unit 3M
check_fails "what was refused is not there" "no device b" mem2mctl list b

# look: at its state, over and over, which is always the same
look() {
	local i key value
	for ((i = 0; i < 2000; i++)); do
		read -r key value <$conf/a/info
		[ "$value" = live ] || return
	done
}
look_both() {
	local other mine=0 others=0
	look &
	other=$!
	look || mine=$?
	wait $other || others=$?
	[ $mine$others = 00 ]
}
check "who looks at it does not find it busy with who else does" look_both

# --- content ----------------------------------------------------------------------------------------

check "it begins as zeroes" holds a 0 40960 0
check "what is written is read, across units" blkio write $d/a 0 40960 "$seed" -- verify $d/a 0 40960 "$seed"
check "single sectors at a unit's end" blkio write $d/a 12287 2 7 -- verify $d/a 12287 2 7 -- \
	verify $d/a 12200 87 "$seed" -- verify $d/a 12289 100 "$seed"
check "discard reads as zeroes, and nothing else does" blkio discard $d/a 12280 16 -- verify $d/a 12280 16 0 -- \
	verify $d/a 12200 80 "$seed" -- verify $d/a 12296 100 "$seed"
check "write-zeroes over the whole device" blkio zero $d/a 0 40960 -- verify $d/a 0 40960 0
check "reads and writes that must not block" blkio nowait-write $d/a 8 8 3 -- nowait $d/a 8 8 -- verify $d/a 8 8 3
check "flush and FUA" blkio fua $d/a 64 8 4 -- flush $d/a -- verify $d/a 64 8 4
sizes() {
	local s n
	for s in 4K 1M 2052K; do
		make s$s $s && n=$(blockdev --getsz $d/s$s) && blkio write $d/s$s 0 "$n" 9 -- verify $d/s$s 0 "$n" 9 &&
			mem2mctl delete s$s || return
	done
}
check "sizes from a page up" sizes
make bad 1M
echo "1024 8" >"/sys/block/mem2m!bad/badblocks"
check_fails "reading what is known to be bad is an error" EIO blkio verify $d/bad 1024 8 0
check "what is beside it can be read" blkio verify $d/bad 1016 8 0 -- verify $d/bad 1032 8 0
mem2mctl delete bad
check "a partition is at its place" eval '
	addpart $d/a 1 2048 2048 && wait_for 10 test -b $d/a1 && blkio write $d/a1 0 2048 5 && same $d/a1 $d/a 1 &&
		holds a 4096 8 0'
check_fails "whose name no device gets" "a partition of another device has this name" mem2mctl create a1 1M
# --- resizing and deleting --------------------------------------------------------------------------

blkio write $d/a 0 40960 "$seed"
exec {open}<$d/a
check_fails "a device that is open is not resized" "a is open" mem2mctl resize a 40M
check_fails "nor deleted" "a is open" mem2mctl delete a
check_fails "nor can the module be unloaded" "in use" rmmod mem2m
exec {open}<&-
check "it grows" mem2mctl resize a 40M
check "with its content, and zeroes behind it" eval '[ "$(blockdev --getsz $d/a)" = 81920 ] &&
	holds a 0 40960 "$seed" && holds a 40960 40960 0'
check "it shrinks" mem2mctl resize a 9M
check "with its content" eval '[ "$(blockdev --getsz $d/a)" = 18432 ] && holds a 0 18432 "$seed"'
check "a partition beyond the end" eval 'mem2mctl resize a 1M && ! blkio verify $d/a1 0 8 0 && mem2mctl resize a 9M'
check_fails "what there is no memory for is refused at once" "MiB of RAM are there to be had" mem2mctl create big 100G
check_fails "so is growing to it" "MiB of RAM are there to be had" mem2mctl resize a 100G
check "and the device is what it was" holds a 0 2048 "$seed"

# A signal in the middle ends it and leaves nothing.
there=$(mem2mctl create big 100G 2>&1 | grep -o '[0-9]* MiB of RAM' | grep -o '^[0-9]*')
big_is_made() {
	local key value
	{ read -r key value <$conf/big/info; } 2>/dev/null && [ "$value" = busy ]
}
interrupt_once big_is_made mem2mctl create big $((there * 3 / 4))M --unit 2M
is "a creation can be interrupted" "$interrupted" "1 mem2mctl: interrupted"
check_fails "and leaves nothing" "no device big" mem2mctl list big
# Who can't clean up any more takes along what works for it.
big_is_none() { local key value; read -r key value <$conf/big/info && [ "$value" = empty ]; }
interrupt_by=KILL interrupt_once big_is_made mem2mctl create big $((there * 3 / 4))M --unit 2M
matches "a creation is killed" "$interrupted" "^137 "
check "and ends with that" wait_for 20 big_is_none
check "another one may have the name" eval 'mem2mctl create big 2M && mem2mctl delete big'
# One is being made, and as yet has little of what it was told there is. Who starts a program to ask for more may find that
# the first one has all of it by then.
too_many() {
	local first made=0
	mkdir $conf/more || return
	mem2mctl create big $((there * 3 / 4))M --unit 2M &
	first=$!
	until big_is_made; do kill -0 $first || break; done
	! echo $((there / 2))M >$conf/more/create || made=1
	kill $first
	! wait $first || made=1
	echo "$(<$conf/more/error)"
	rmdir $conf/more
	[ $made = 0 ]
}
taskset -cp 0 $$ >/dev/null
check "what one was promised" too_many
taskset -cp 0-$(($(nproc --all) - 1)) $$ >/dev/null
read_said
matches "no other one gets" "$text" "MiB are wanted, [0-9]+ MiB of RAM are there to be had"
check "both leave nothing" eval '! mem2mctl list big && ! mem2mctl list more'

# Also while a resize copies: all of the memory is there by then.
copying() {
	local key value
	declare -A now=()
	while read -r key value; do now[$key]=$value; done <$conf/r/info
	[ "${now[state]:-}" = busy ] && [ "${now[done]}" = "${now[total]}" ]
}
make r 128M
blkio write $d/r 260000 2144 "$seed"
interrupt_once copying mem2mctl resize r 132M
is "a resize can be interrupted while it copies" "$interrupted" "1 mem2mctl: interrupted"
check "and the device is what it was" eval '[ "$(blockdev --getsz $d/r)" = 262144 ] && holds r 260000 2144 "$seed"'
mem2mctl resize r 132M --progress 2>/tmp/progress
matches "it says how far it is" "$(</tmp/progress)" "r: [0-9]+ of 132 MiB"
check "and has copied all" holds r 260000 2144 "$seed"
mem2mctl delete r

# --- the dm target ----------------------------------------------------------------------------------

make b 8M
check "dm: a range of the device" pool t "0 8192 mem2m b 2048"
check "dm: what is written is at its place" eval 'blkio write /dev/mapper/t 0 8192 6 && same /dev/mapper/t $d/b 4 &&
	blkio verify $d/b 0 2048 0 -- verify $d/b 10240 1024 0'
check "dm: discard, write-zeroes, flush, no waiting" blkio discard /dev/mapper/t 0 8 -- zero /dev/mapper/t 8 8 -- \
	flush /dev/mapper/t -- nowait-write /dev/mapper/t 16 8 3 -- nowait /dev/mapper/t 16 8 -- \
	verify $d/b 2048 16 0 -- verify /dev/mapper/t 16 8 3
is "dm: its table is what was given" "$(dmsetup table t)" "0 8192 mem2m b 2048"
check_fails "dm: its device is not deleted" "b is in use by 1 other driver" mem2mctl delete b
is "dm: list counts it" "$(info b drivers)" 1
expect_refused "dm: no such device" "no such memory device" dmsetup create u --table "0 8 mem2m nope 0"
expect_refused "dm: beyond the end" "memory device is too small" dmsetup create u --table "0 16384 mem2m b 1"
expect_refused "dm: an offset that is none" "OFFSET is not a number" dmsetup create u --table "0 8 mem2m b x"
expect_refused "dm: too few words" "NAME and OFFSET are wanted" dmsetup create u --table "0 8 mem2m b"

# kcopyd copies a mirror's first leg to the second, both of them memory
make c 8M
blkio write /dev/mapper/t 0 8192 "$seed"
modprobe -q dm-mirror
synced() { [[ $(dmsetup status m) == *" 64/64 "* ]]; }
check "dm: kcopyd copies from one to the other" eval 'pool t2 "0 8192 mem2m c 0" &&
	pool m "0 8192 mirror core 2 128 sync 2 /dev/mapper/t 0 /dev/mapper/t2 0"'
check "dm: and is done" wait_for 20 synced
check "dm: what it copied is there" holds c 0 8192 "$seed"
remove_pool m
remove_pool t2
remove_pool t
check "dm: its device can be deleted afterwards" mem2mctl delete b c

# --- direct mode ------------------------------------------------------------------------------------

log_mark
check "direct mode: the example" modprobe mem2m_example device=a text=hello
matches "direct mode: it wrote, read, and was refused what is beyond the end" "$(log_since)" \
	'a holds "hello", is volatile and has 18432 sectors'
is "direct mode: what it wrote is on the block device" "$(head -c 5 $d/a)" hello
check_fails "direct mode: the device is not deleted" "a is in use by 1 other driver" mem2mctl delete a
check_fails "direct mode: nor resized" "a is in use by 1 other driver" mem2mctl resize a 1M
check_fails "direct mode: nor can the module be unloaded" "in use" rmmod mem2m
rmmod mem2m_example
make h 4M
modprobe mem2m_example device=h text=hello
check_fails "direct mode: no file system is made over it" "in use" mkfs.ext4 -q -F $d/h
rmmod mem2m_example
check "direct mode: from then on one is" mkfs.ext4 -q -F $d/h
mkdir -p /tmp/mnt && mount $d/h /tmp/mnt || die "no ext4"
check_fails "direct mode: what is mounted is nobody else's" "busy" modprobe mem2m_example device=h text=hello
umount /tmp/mnt
mem2mctl delete h
check_fails "direct mode: a device there is not" "No such device" modprobe mem2m_example device=nope

# --- the measurements' generator --------------------------------------------------------------------

make g 4M
modprobe evenkeel_biogen area_mib=2 || die "no evenkeel_biogen"
run=/sys/module/evenkeel_biogen/parameters/run
generate() { echo "$*" >$run && [ "$(<$run)" -gt 0 ]; }
each_way() {
	local way
	for way in block direct words memcpy nt mc nothing; do
		generate $way $d/g write 4096 1 50 && generate $way $d/g read 65536 32 50 || return
	done
}
check "biogen: one by one and many, by the block layer and directly" each_way
check "biogen: two threads" generate direct $d/g write 512 4 100 2
check "biogen: they wrote" holds g 0 4096 0
addpart $d/g 1 2048 4096
check "biogen: directly to a partition" eval 'wait_for 10 test -b $d/g1 && blkio write $d/g 0 8192 "$seed" &&
	generate direct $d/g1 write 4096 1 512'
check "biogen: which is where it wrote" eval 'holds g 0 2048 "$seed" && holds g 2048 4096 0 && holds g 6144 2048 "$seed"'
check_fails "biogen: there is no direct way to a disk that has none" "not supported" generate direct /dev/biogen-null read 512 1 1
check_fails "biogen: nonsense is refused" "Invalid argument" generate block $d/g read 100 1 1
check_fails "biogen: so is what is not there" "No such file" generate block $d/nope read 512 1 1
rmmod evenkeel_biogen
mem2mctl delete g

# --- what goes behind mem2mctl's back ---------------------------------------------------------------

exec {open}<$d/a
rmdir $conf/a
check_fails "a device whose directory is removed goes with its last user" "a exists" mem2mctl create a 1M
check "until then it works" holds a 8 8 "$seed"
exec {open}<&-
check "then there can be another" wait_for 10 mem2mctl create a 1M
check "and it is deleted" mem2mctl delete a
check "the module is unloaded" rmmod mem2m
check "mem2mctl loads it" make a 1M
mem2mctl delete a
rmmod mem2m
log_mark
check "the module's parameter makes devices" modprobe mem2m create=p:4M:unit=2M,odd:3k,:,q:1M
is "as they were asked for" "$(info p units) $(info q size)" "2 1048576"
matches "what can't be made is reported" "$(log_since)" "create=odd: 3k: not a multiple of 4K"
check "they are used, deleted and made again like others" eval 'wait_for 10 test -b $d/p && holds p 0 8192 0 &&
	mem2mctl delete p && ! mem2mctl list p && make p 8M && mem2mctl resize q 2M'
mem2mctl delete p
check_fails "but not deleted twice" "no device p" mem2mctl delete p
check "and go with the module" eval 'rmmod mem2m && [ ! -e /sys/block/mem2m!q ]'
done_testing
