#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: nameless: both FTLs under load, when full, cut off, saved and loaded; every refusal
# kernels: 6.1 6.12 debug
# quick: yes
# timeout: 180
. tests/vm/lib.sh

modprobe nameless || die "no nameless"
d=/dev/nameless
conf=/sys/kernel/config/nameless
trace=/sys/kernel/tracing
# Flash that takes no time: what is tested here is where data goes.
quick="t_read=0 t_program=0 t_erase=0 t_bus_control=0 t_bus_data=0 t_ram=0 t_register=0"

# make NAME SIZE...: and wait for its node
make() { nlctl create "$@" && wait_for 10 test -b "$d/$1"; }

# fast NAME SIZE...: one that takes no time, with few small blocks
# shellcheck disable=SC2086
fast() { make "$@" packages=4 pages=16 $quick; }

# stat_of NAME KEY: a line of its counters, without starting a program
stat_of() {
	local key value
	while read -r key value; do [ "$key" != "$2" ] || { echo "$value"; return; }; done <"$conf/$1/stat"
	return 1
}

# erased NAME KEY
erased() {
	local key value
	while read -r key value; do [ "$key" != "$2" ] || { echo "$value"; return; }; done <"$conf/$1/erases"
	return 1
}

# scattered: writes of a flash page each, all over device a of 8M
scattered() {
	local i words=()
	for ((i = 0; i < 160; i++)); do words+=(-- write "$d/a" "$((RANDOM % 2048 * 8))" 8 "$((i + 2))"); done
	blkio "${words[@]:1}"
}

# storm: discards there, with writes into what was discarded
storm() {
	local i at words=()
	for ((i = 1; i < 56; i++)); do
		at=$((RANDOM % 2000 * 8))
		words+=(-- discard "$d/a" "$at" "$((RANDOM % 48 * 8 + 8))" -- write "$d/a" "$at" 8 "$i" -- verify "$d/a" "$at" 8 "$i")
	done
	blkio "${words[@]:1}"
}

clean() { check "$1: every invariant holds" nlctl check "$2"; }

# --- creating and listing ---------------------------------------------------------------------------

check "a device is created" fast a 16M
is "its size is what was asked for" "$(blockdev --getsz $d/a)" 32768
nlctl list --json >/tmp/list.json
check "list --json is JSON and says the same" python3 -c '
import json
d, = json.load(open("/tmp/list.json"))["devices"]
assert d == {"name": "a", "size": 16 << 20, "ftl": "page", "preset": "ssd1", "power": "on", "open": 0}, d'
matches "list has a line for it" "$(nlctl list)" $'\na +16M page +ssd1 +on +0'
check_fails "a name twice is refused" "a exists" nlctl create a 1M
check_fails "a bad name is refused" "bad name" nlctl create a:b 1M
check_fails "no size is refused" "usage: nlctl create" nlctl create b
check_fails "a bad size is refused" "12q: not a size" nlctl create b 12q
check_fails "a size that is no multiple of the flash page is refused" "not a multiple of the flash page of 4096" \
	nlctl create b 5000
check_fails "size 0 is refused" "size 0" nlctl create b 0
check_fails "an FTL there is not is refused" "ftl=none: bad value" nlctl create b 1M --ftl none
check_fails "a preset there is not is refused" "no preset none" nlctl create b 1M --preset none
check_fails "a parameter there is not is refused" "speed: no such parameter" nlctl create b 1M speed=1
check_fails "a value that is none is refused" "t_read=soon: bad value" nlctl create b 1M t_read=soon
check_fails "a value beyond its limits is refused" "packages=0: out of range" nlctl create b 1M packages=0
check_fails "flash pages smaller than memory's are refused" "page_size 2048: not a power of two from 4096" \
	nlctl create b 1M page_size=2K
check_fails "flash that is too small for the size is refused" "too little flash" nlctl create b 16M blocks=2
check_fails "more flash pages than can be numbered are refused" "more flash pages" nlctl create b 100T
check_fails "or than fit a table" "more than a table can have" nlctl create b 7T
check_fails "what there is no memory for is refused" "MiB of RAM are there to be had" nlctl create b 900G
check_fails "what was refused is not there" "no device b" nlctl list b
check_fails "a command there is not" "no command" nlctl erase a

# --- content ----------------------------------------------------------------------------------------

check "it begins as zeroes" blkio verify $d/a 0 32768 0
check "what is written is read" blkio write $d/a 0 32768 "$seed" -- verify $d/a 0 32768 "$seed"
done_so_far() { local f; read -ra f <"/sys/block/nameless!$1/stat"; echo "${f[2]} ${f[6]}"; }
matches "which iostat sees, without being asked to" "$(done_so_far a)" "^[1-9][0-9]{4,} 32768$"
check "sectors within a flash page" blkio write $d/a 13 2 7 -- verify $d/a 13 2 7 -- verify $d/a 0 13 "$seed" -- \
	verify $d/a 15 100 "$seed"
check "discard reads as zeroes, and nothing else does" blkio discard $d/a 800 80 -- verify $d/a 800 80 0 -- \
	verify $d/a 700 100 "$seed" -- verify $d/a 880 100 "$seed"
check "write-zeroes from within a flash page into another" blkio zero $d/a 1003 50 -- verify $d/a 1003 50 0 -- \
	verify $d/a 900 103 "$seed" -- verify $d/a 1053 100 "$seed"
check "flush and FUA" blkio fua $d/a 64 8 4 -- flush $d/a -- verify $d/a 64 8 4
check "reads and writes that must not block" blkio nowait-write $d/a 8 8 3 -- nowait $d/a 8 8 -- verify $d/a 8 8 3
check "a partition is at its place" eval 'addpart $d/a 1 2048 2048 && wait_for 10 test -b $d/a1 &&
	blkio write $d/a1 0 2048 5 && blkio verify $d/a1 0 2048 5 -- verify $d/a 4096 8 "$seed" && delpart $d/a 1'
check "flash pages larger than memory's" eval 'fast t 16M --preset TLC && blkio write $d/t 0 32768 9 -- \
	write $d/t 37 3 8 -- verify $d/t 37 3 8 -- verify $d/t 40 4000 9 -- discard $d/t 64 64 -- verify $d/t 64 64 0 -- \
	verify $d/t 128 64 9 && nlctl check t && nlctl delete t'
clean "after all that" a

# --- stat, set ----------------------------------------------------------------------------------------

nlctl stat a --json >/tmp/stat.json
check "stat --json counts what was done" python3 -c '
import json
s = json.load(open("/tmp/stat.json"))
assert s["name"] == "a" and s["size"] == 16 << 20 and s["mode"] == "rw" and s["power"] == "on", s
assert s["writes"] >= 4096 and s["flash"]["program"]["host"] >= 4096 and s["flushes"] >= 1, s
assert s["write_amplification"] >= 1 and s["violations"] == 0 and s["errors"] == 0, s
assert s["map_bytes_page"] > 0 and len(s["late_us"]) == 16 and sum(s["late_us"]) > 0, s
assert sum(n for _, n in s["erases"]["erased"]) == s["erases"]["good"], s
tables = s["flash_bytes"] + s["ftl_bytes"] + s["map_bytes_page"] + s["map_bytes_block"] + s["map_bytes_log"]
assert tables <= 0.016 * s["flash_pages"] * s["page_bytes"], tables'
matches "stat says it in words" "$(nlctl stat a)" "writes +amplified [0-9]"
matches "and that it is writable" "$(nlctl stat a)" "power on, writable"
check "without power" nlctl power a off
text=$(nlctl stat a)
matches "there is no FTL that would say so" "$text" $'power off\n'
is "or anything of itself" "$(grep -cE 'writable|^host|^map|^merges| free,' <<<"$text")" 0
matches "what the flash knows is said" "$text" $'\nblocks +erased [0-9]+ to [0-9]+ times\ntiming '
check "with it" nlctl power a on
matches "top has a line" "$(nlctl top a --interval 0.1 --count 1)" $'WRITE/S.*\n +[0-9]+ '
ended() { local n sum=0; for n in $(stat_of "$1" late_us); do sum=$((sum + n)); done; echo $sum; }
check "a device of its own" fast again 1M
words=()
for ((i = 0; i < 80; i++)); do words+=(-- write "$d/again" "$((i * 16))" 1 "$seed"); done
check "that did something" blkio "${words[@]:1}" -- "${words[@]:1}"
before=$(ended again)
[ "$before" -ge 160 ]
is "which is counted" $? 0
check "made again in its directory" eval 'wait_for 10 eval "echo 1 >$conf/again/release" 2>/dev/null && echo 1M >$conf/again/create'
[ "$(ended again)" -lt 160 ]
is "is another one, of which nothing is counted" $? 0
check "deleted" nlctl delete again
check "a latency is changed" nlctl set a t_read=40us
matches "and shown" "$(<$conf/a/params)" $'\nt_read 40000\n'
check_fails "what is fixed is not changed" "pages can be given at create only" nlctl set a t_read=1 pages=3
matches "and nothing of the line is" "$(<$conf/a/params)" $'\nt_read 40000\n'
nlctl set a t_read=0

# --- deleting -----------------------------------------------------------------------------------------

exec {open}<$d/a
check_fails "a device that is open is not deleted" "a is open" nlctl delete a
check_fails "nor saved" "a is open" nlctl save a /tmp/a.img
check_fails "nor can the module be unloaded" "in use" rmmod nameless
rmdir $conf/a
is "one whose directory is removed has nothing left for who has it open" \
	"$(dd iflag=direct bs=4096 count=1 status=none <&"$open" 2>/dev/null | wc -c)" 0
exec {open}<&-
check_fails "and for all others" "no device a" nlctl stat a

# --- both FTLs ------------------------------------------------------------------------------------------

for ftl in page hybrid; do
	check "$ftl: a small device" fast a 8M --ftl $ftl
	fio --thread --clocksource=clock_gettime --name=v --filename=$d/a --rw=randwrite --bsrange=512-64k --bs_unaligned=0 --size=8M --io_size=24M --direct=1 \
		--ioengine=psync --verify=crc32c --verify_fatal=1 --norandommap=0 --randseed="$seed" --output=/tmp/fio
	is "$ftl: fio finds what it wrote while blocks are collected" "$? $(grep -c 'err= 0' /tmp/fio)" "0 1"
	clean "$ftl: fio" a
	read -ra erases <<<"$(stat_of a count_erase)"
	[ "${erases[1]}$([ $ftl = page ] || echo "${erases[2]}")" -gt 0 ]
	is "$ftl: and they were" $? 0
	if [ -d $trace/events/nameless ]; then
		echo 1 >$trace/events/nameless/enable
		scattered
		echo 0 >$trace/events/nameless/enable
		for event in program erase migrate $([ $ftl = page ] || echo merge); do
			matches "$ftl: nameless_$event is traced" "$(grep -m 1 "nameless_$event: " $trace/trace)" ": [0-9]+,[0-9]+ "
		done
		echo >$trace/trace
	else
		skip "$ftl: operations are traced" "this kernel has no tracepoints"
	fi
	blkio write $d/a 0 8192 1 -- discard $d/a 64 4096 -- write $d/a 0 8192 4 -- verify $d/a 0 8192 4 >/tmp/one 2>&1 &
	one=$!
	blkio write $d/a 8192 8192 2 -- discard $d/a 9000 4096 -- write $d/a 8192 8192 5 -- verify $d/a 8192 8192 5 >/tmp/two 2>&1 &
	two=$!
	check "$ftl: checks while two write" eval 'nlctl check a && nlctl check a && nlctl check a'
	wait $one && wait $two
	is "$ftl: who find what they wrote" "$? $(cat /tmp/one /tmp/two)" "0 "
	nlctl delete a

	# full, with nothing but the reserve
	check "$ftl: no over-provisioning at all" fast a 8M --ftl $ftl op=0
	check "$ftl: a full device takes writes anywhere" eval 'blkio write $d/a 0 16384 1 && scattered && scattered && scattered'
	check "$ftl: and once more all over" blkio write $d/a 0 16384 "$seed" -- verify $d/a 0 16384 "$seed"
	clean "$ftl: full" a

	check "$ftl: a storm of discards and writes" eval 'for ((i = 0; i < 6; i++)); do storm || break; done'
	clean "$ftl: storm" a
	check "$ftl: all of it discarded" blkio discard $d/a 0 16384 -- verify $d/a 0 16384 0 -- flush $d/a
	is "$ftl: nothing is mapped then" "$(stat_of a mapped)" 0
	nlctl delete a
done

# --- power ----------------------------------------------------------------------------------------------

mkdir -p /tmp/mnt
before=0 after=0
for ftl in page hybrid; do
	check "$ftl: a device to be cut off" fast a 24M --ftl $ftl
	check "$ftl: with a file system" eval 'mkfs.ext4 -q $d/a && mount $d/a /tmp/mnt && cp tests/vm/*.sh /tmp/mnt && sync -f /tmp/mnt'
	dd if=/dev/urandom of=/tmp/mnt/more bs=64K count=64 status=none 2>/dev/null &
	check "$ftl: the power goes under it" nlctl cut a
	wait $!
	umount /tmp/mnt
	check "$ftl: the file system is whole" eval 'e2fsck -fp $d/a >/tmp/fsck 2>&1 || [ $? = 1 ]; e2fsck -fn $d/a'
	check "$ftl: with what was synced" eval 'mount $d/a /tmp/mnt && cmp tests/vm/nameless.sh /tmp/mnt/nameless.sh && umount /tmp/mnt'
	clean "$ftl: cut" a

	blkio write $d/a 0 8192 "$seed" -- flush $d/a
	for tear in not error blank; do
		check "$ftl: the power goes in an operation to come ($tear)" nlctl cut a --after $((RANDOM % 50)) --tear $tear
		check_fails "$ftl: which fails" "EIO" blkio write $d/a 8192 8192 3
		check_fails "$ftl: as does all that follows" "EIO" blkio verify $d/a 0 8 "$seed"
		check "$ftl: power on" nlctl power a on
		check "$ftl: what was flushed is there" blkio verify $d/a 0 8192 "$seed"
		clean "$ftl: torn" a
	done

	check "$ftl: off and on" eval 'nlctl power a off && ! nlctl check a && ! nlctl cut a && nlctl power a on && nlctl check a'
	into before blkio digest $d/a 0 49152
	check "$ftl: saved" nlctl save a /tmp/a.img
	into after blkio digest $d/a 0 49152
	is "$ftl: which leaves it as it is" "$after" "$before"
	check "$ftl: deleted and loaded" eval 'nlctl delete a && nlctl load a /tmp/a.img && wait_for 10 test -b $d/a'
	into after blkio digest $d/a 0 49152
	is "$ftl: it has its content, bit by bit" "$after" "$before"
	is "$ftl: and its FTL" "$(nlctl list a | tail -1 | tr -s ' ' | cut -d ' ' -f 3)" $ftl
	clean "$ftl: loaded" a
	blkio write $d/a 0 49152 2
	clean "$ftl: written after that" a
	nlctl delete a
done

# --- what is there is kept until the new one is complete; what is nobody's business is left alone
check "a small device" fast a 1M
reads=$(stat_of a reads)
check "some sectors of a page are written" blkio write $d/a 3 2 5
is "the rest of it is nothing that was asked for" "$(stat_of a reads)" "$reads"
echo mine >/tmp/keep.img.tmp
ln -sf a.img /tmp/latest.img
cp /tmp/a.img /tmp/a.old
check_fails "one that is not there is not saved" "no device nosuch" nlctl save nosuch /tmp/keep.img
is "what others have beside it stays" "$(</tmp/keep.img.tmp)$(echo /tmp/keep.img*)" "mine/tmp/keep.img.tmp"
exec 8<$d/a
check_fails "nor is one that is open" "a is open" nlctl save a /tmp/latest.img
exec 8<&-
check "what was saved before is there" cmp /tmp/a.img /tmp/a.old
# By hand, as nlctl does it: an open file's number. Its own files would wait for the save to be over.
by_hand() { # save|load DEVICE NUMBER
	echo "$3" 2>/dev/null >"$conf/$2/$1" || cat "$conf/$2/error"
}
mkfifo /tmp/pipe
mkdir $conf/b
exec 3>$conf/a/set 4>$conf/b/set 5</tmp/a.img 6<>/tmp/pipe 7>/dev/null 8>>/tmp/a.img 9<$conf/b/info
matches "nor is one into its own files" "$(by_hand save a 3)" "is no file to keep a device in"
matches "or another one's" "$(by_hand save a 4)" "is no file to keep a device in"
matches "or into what may not be written to" "$(by_hand save a 5)" "5: not open for writing"
matches "or into what is no file" "$(by_hand save a 7)" "neither a file nor a block device"
matches "or a pipe" "$(by_hand save a 6)" "neither a file nor a block device"
matches "or what is written to its end" "$(by_hand save a 8)" "8: open for appending"
matches "or what is not open" "$(by_hand save a 77)" "not the number of an open file"
matches "or by a name" "$(by_hand save a /tmp/a.img)" "not the number of an open file"
matches "nor is one made of a pipe" "$(by_hand load b 6)" "neither a file nor a block device"
matches "or of its own files" "$(by_hand load b 9)" "is no file to keep a device in"
exec 3>&- 4>&- 5<&- 6>&- 7>&- 8>&- 9<&-
rmdir $conf/b
check "what was saved before is there still" cmp /tmp/a.img /tmp/a.old
chown 12:34 /tmp/a.img && chmod 640 /tmp/a.img
check "saved where a link leads" nlctl save a /tmp/latest.img
is "the file's owner and mode are what they were" "$(stat -c '%u:%g %a' /tmp/a.img)" "12:34 640"
check "the link leads there, to the new one" eval '[ -L /tmp/latest.img ] && ! cmp -s /tmp/a.img /tmp/a.old && [ "$(echo /tmp/a.img*)" = /tmp/a.img ]'
check "which can be loaded" eval 'nlctl delete a && nlctl load a /tmp/latest.img && nlctl delete a'
disk e 16M mem
check "a small device again" fast a 1M
check_fails "a block device is not written over unasked" "is a block device; --force" nlctl save a /dev/emudisk/e
check "but when it is asked for" nlctl save a /dev/emudisk/e --force
nlctl delete a

# --- who ends one that takes long does not wait for it
disk s 24M hdd7200
check "a file system that writes at once, slowly" eval 'mkfs.ext4 -q -O ^has_journal /dev/emudisk/s && mkdir -p /tmp/s && mount -o sync /dev/emudisk/s /tmp/s'
check "a device with much in it" eval 'fast a 16M && blkio write $d/a 0 24576 "$seed"'
# ended_after SECONDS: microseconds that a save took which was interrupted then
ended_after() {
	local began=${EPOCHREALTIME/./}
	timeout --foreground -s INT "$1" nlctl save a /tmp/s/a.img 2>/dev/null
	echo $((${EPOCHREALTIME/./} - began))
}
check "each of its requests takes long" emuctl set s cmd=100ms
whole=$(ended_after 200)
note "a save takes $whole us"
check "it is there" rm /tmp/s/a.img
printf -v fourth '%d.%06d' $((whole / 4000000)) $((whole / 4 % 1000000))
part=$(ended_after "$fourth")
check "interrupted after a fourth of that, it ends" [ "$part" -lt $((whole * 3 / 4)) ]
check "but not before it was interrupted" [ "$part" -ge $((whole / 4)) ]
check "fast again" emuctl set s cmd=0
is "nothing is left of it" "$(ls /tmp/s)" "lost+found"
check "the device goes on" blkio verify $d/a 0 24576 "$seed"
check "a name of digits" eval 'nlctl delete a && umount /tmp/s && nlctl create 007 16M --ftl raw && nlctl create a 8M --on 007'
is "is a name" "$(nlctl stat a --json | jq -c .on)" '"007"'
nlctl delete a
nlctl delete 007
check_fails "a file that holds no device is refused" "holds no device" nlctl load b tests/vm/nameless.sh
check_fails "a damaged one too" "damaged" eval 'printf x | dd of=/tmp/a.img bs=1 seek=100 conv=notrunc status=none; nlctl load b /tmp/a.img'
check_fails "one that is not there" "/tmp/nope: No such file" nlctl load b /tmp/nope
check_fails "nothing is left of that" "no device b" nlctl list b

# --- wear -----------------------------------------------------------------------------------------------

# 90% never written again, 1% all the time
check "a device that wears out" fast a 4M endurance=200 wear=90% op=10%
words=()
for ((i = 0; i < 60; i++)); do words+=(-- write "$d/a" "$((8 * (i % 10)))" 80 "$i"); done
blkio write $d/a 0 8192 1
for ((i = 0; i < 20; i++)); do blkio "${words[@]:1}"; done
spread=$(($(erased a most) - $(erased a least)))
note "erased $(erased a least) to $(erased a most) times"
[ $spread -le 60 ]
is "the cold blocks are worn like the hot ones" $? 0
check "and keep what they hold" blkio verify $d/a 512 7680 1
clean "wear leveling" a
check "a cut to come outlasts a save" eval 'nlctl cut a --after 300 && nlctl save a /tmp/a.img && blkio verify $d/a 512 7680 1'
check_fails "and comes" "EIO" blkio write $d/a 0 8192 2
nlctl delete a

# --- read-only, with what only its buffer has ------------------------------------------------------------------

# What is programmed when the last spare block goes is not all that was written.
until_worn() {
	local i
	for ((i = 1; i < 4000; i++)); do
		blkio write $d/a 0 2048 "$i" 2>/dev/null || break
	done
	[ "$(stat_of a mode)" = ro ]
}
check "a device with a buffer that wears out" fast a 1M endurance=6 buffer=64 op=20%
check "is written until it is read-only" until_worn
blkio digest $d/a 0 2048 >/tmp/before
check_fails "what only the buffer has is not dropped unsaid" "are only in the buffer; copy them" nlctl save a /tmp/a.img
blkio digest $d/a 0 2048 >/tmp/after
check "nor by that" cmp /tmp/before /tmp/after
check "saved without" nlctl save a /tmp/a.img
nlctl delete a

# --- GC when nobody wants anything --------------------------------------------------------------------------

collected() { [ "$(stat_of a gc_idle)" = asleep ] && [ "$(stat_of a idle_steps)" -gt 0 ]; }

for ftl in page hybrid; do
	check "$ftl: a device that collects nothing while it is idle" fast a 8M --ftl $ftl gc_idle=0
	blkio write $d/a 0 16384 1 -- discard $d/a 0 8192 -- flush $d/a
	scattered
	blkio digest $d/a 0 16384 >/tmp/before
	victims=$(stat_of a victims)
	is "$ftl: says so" "$(stat_of a gc_idle) $(stat_of a idle_steps)" "off 0"
	check "$ftl: is told to" nlctl set a gc_idle=5ms
	check "$ftl: which ends when there is nothing to be gained" wait_for 10 collected
	[ "$(stat_of a victims)" -gt "$victims" ]
	is "$ftl: and has emptied blocks" $? 0
	blkio digest $d/a 0 16384 >/tmp/after
	check "$ftl: and left what they held" cmp /tmp/before /tmp/after
	clean "$ftl: idle" a
	scattered
	check "$ftl: deleted while it waits for that" nlctl delete a
done

# --- memory ---------------------------------------------------------------------------------------------

kept() { cat /sys/module/nameless/parameters/kept_kib; }

fast a 16M gc_idle=5ms
blkio write $d/a 0 32768 "$seed" -- discard $d/a 8192 24576 -- flush $d/a
check "what holds nothing is erased" wait_for 10 collected
is "its buffers are kept" "$(($(kept) > 0))" 1
echo 2 >/proc/sys/vm/drop_caches
is "and given back when memory is wanted" "$(kept)" 0
check "nothing that is in the flash" blkio verify $d/a 0 8192 "$seed"
check "and the next writes do without" blkio write $d/a 0 8192 "$seed" -- verify $d/a 0 8192 "$seed"
clean "short of memory" a
nlctl delete a

# Most of the RAM is somebody's already, and the flash is larger than what is left: it fails before anybody else does.
available() { awk '/^MemAvailable:/ { print $2 }' /proc/meminfo; }
total=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
log_mark
fast a 300M
mkdir -p /tmp/most && mount -t tmpfs -o size=90% most /tmp/most || die "no tmpfs"
head -c $((($(available) - total / 32 - 65536) * 1024)) /dev/zero >/tmp/most/f
check_fails "a flash that there is no memory for" "Cannot allocate memory" \
	dd if=/dev/zero of=$d/a bs=1M count=300 oflag=direct
note "of $total KiB $(available) are left"
[ "$(available)" -gt $((total / 40)) ]
is "leaves a part of the RAM alone" $? 0
check "and nobody is killed" eval "log_since | { ! grep -i 'out of memory'; }"
rm /tmp/most/f && umount /tmp/most
check "with memory it goes on" dd if=/dev/zero of=$d/a bs=1M count=20 oflag=direct status=none
nlctl delete a

# --- a queue --------------------------------------------------------------------------------------------

# of one plane that takes a second a page, so nothing ends unseen
check "a device that takes four requests at a time" make a 1M packages=1 pages=16 queue=4 gc_idle=0
nlctl set a t_program=1s
fio --thread --name=q --filename=$d/a --rw=write --bs=4k --size=512k --direct=1 --ioengine=libaio --iodepth=128 \
	--output=/tmp/fio 2>/dev/null &
writer=$!
taken() { [ "$(stat_of a inflight)" = "$1" ]; }
some_ended() { local n; n=$(stat_of a writes); [ "$n" -ge 6 ] && [ "$n" -lt 48 ] && taken 4; }
check "has four of 128, also when some have ended" wait_for 60 some_ended
check "has all when it takes any number" eval 'nlctl set a queue=0 && wait_for 10 eval "[ \$(stat_of a inflight) -gt 16 ]"'
check "has no more when it takes four again" nlctl set a queue=4
blkio write $d/a 1024 8 1 >/tmp/one 2>&1 &
late=$!
check_fails "one that must not wait is told so, while these are there" "EAGAIN" blkio nowait $d/a 0 8
check "another one waits" wait_for 10 grep -q "^State:.D" /proc/$late/status
check "a cut ends them" nlctl cut a
wait $writer
wait $late
is "and is one for who waited, though the power is back" "$? $(grep -o EIO /tmp/one)" "1 EIO"
[ "$(stat_of a errors)" -gt 16 ]
is "and an error each" $? 0
check "with none left" taken 0
check "and room" blkio nowait $d/a 0 8 -- write $d/a 0 8 1
nlctl delete a

# --- a member of a pool -----------------------------------------------------------------------------------

modprobe dm-hybrid || die "no dm-hybrid"
disk slow 24M
disk meta 16M
fast ssd 24M
check "a pool of it and a disk" hybridctl create vol $d/ssd /dev/emudisk/slow --metadata /dev/emudisk/meta --policy stripe --extent 64K
pools+=(vol)
sectors=$(blockdev --getsz /dev/mapper/vol)
check "what is written to the pool is read" blkio write /dev/mapper/vol 0 "$sectors" "$seed" -- flush /dev/mapper/vol -- \
	verify /dev/mapper/vol 0 "$sectors" "$seed"
[ "$(stat_of ssd writes)" -gt 1000 ]
is "and a part of it went to the flash" $? 0
clean "a pool's member" ssd
check "the pool is stopped" hybridctl stop vol
pools=()
nlctl delete ssd

check "the module is unloaded" rmmod nameless
check "nlctl loads it" nlctl create a 1M
nlctl delete a
done_testing
