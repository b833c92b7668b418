#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: nameless writes: a client of both segments through GC, migrations, power cuts and images; every refusal
# kernels: 6.1 6.12 debug
# timeout: 180
. tests/vm/lib.sh

modprobe nameless || die "no nameless"
d=/dev/nameless
conf=/sys/kernel/config/nameless
quick="t_read=0 t_program=0 t_erase=0 t_bus_control=0 t_bus_data=0 t_ram=0 t_register=0"
names() { build/tests/bin/names a /tmp/names.state "$@"; }

# stat_of KEY
stat_of() {
	local key value
	while read -r key value; do [ "$key" != "$1" ] || { echo "$value"; return; }; done <"$conf/a/stat"
	return 1
}

# more TITLE KEY LEAST
more() {
	local value
	value=$(stat_of "$2")
	if [ "$value" -gt "$3" ]; then ok "$1"; else not_ok "$1" "$2 is $value"; fi
}

clean() { check "$1: every invariant holds" nlctl check a; }

# shellcheck disable=SC2086
make() { nlctl create a 8M --ftl nameless packages=4 pages=16 $quick "$@" && wait_for 10 test -c "$d/a:names"; }

rm -f /tmp/names.state
check "a nameless device" make wear=100% wear_at=0 endurance=10000 moves=64
check "512 blocks without names" names fill 512
check "they are what was written" names verify
check "stale and forged names and a second client are refused" names refused
exec {open}<"$d/a:names"
check_fails "so is a deletion under a client" "a is open" nlctl delete a
check_fails "and another client" "busy" names verify
check_fails "nlctl is one" "has a client" nlctl names a --count
exec {open}<&-
check "the block device is the virtual segment" eval 'blkio write $d/a 0 8192 "$seed" -- verify $d/a 0 8192 "$seed"'
# how many blocks are levelled, and how many wait then, depends on the seed
churn() {
	local more
	for more in 0 1 2 3 4 5; do
		names churn 2500 "$((seed + more))" || return
		! grep -q "[1-9][0-9]* moved, [1-9][0-9]* acknowledged" "$said" || return 0
	done
}
heat() {
	local more
	for more in 0 1 2 3 4 5; do
		names heat 5000 "$((seed + more))" || return
		[ "$(stat_of waiting)" -le 300 ] || return 0
	done
}
check "writes, overwrites and frees, with migrations" churn
matches "there were some" "$(<"$said")" "[1-9][0-9]* moved, [1-9][0-9]* acknowledged"
check "all is what was written" names verify
check "in the virtual segment, too" blkio verify $d/a 0 8192 "$seed"
clean "after that" a
more "blocks were collected in place" victims 10
more "names were refused" stale 2
deaf() {
	local more
	for more in 1 2 3 4 5 6; do
		# what is told of hot blocks ends with their client, what is told of cold ones waits for the next
		names deaf 2500 "$((seed + more))" && names heat 2000 "$((seed + more))" || return
		[ "$(stat_of stalled)" = 0 ] || [ "$(stat_of waiting)" -lt 3 ] || return 0
	done
}
check "a client that hears nothing" deaf
more "levelling waits for it" stalled 0
is "migrations are no more than they may be" "$(($(stat_of waiting) <= 64))" 1
check "nlctl shows the migrations that wait" eval 'nlctl migrations a --wait 0 >/tmp/moves'
is "all of them" "$(($(wc -l </tmp/moves) - 1))" "$(stat_of waiting)"
check "as JSON, too, and acknowledges none" eval 'nlctl migrations a --count 2 --wait 10 --json >/tmp/moves'
matches "a line each" "$(</tmp/moves)" '^\{"from":[0-9]+,"to":[0-9]+,"metadata":\["0(x[0-9a-f]+)?","0x6e616d656c657373","0(x[0-9a-f]+)?"\]\}.\{.*\}$'
is "it shows how many names there are" "$(nlctl names a --count)" "$(stat_of valid)"
check "and each, once" eval 'nlctl names a >/tmp/names.list'
is "by its address" "$(tail -n +2 /tmp/names.list | sort -un | wc -l)" "$(stat_of valid)"
check "as JSON, too" eval 'nlctl names a --json >/tmp/names.json'
is "with the metadata" "$(grep -c '"0x6e616d656c657373"' /tmp/names.json)" "$(stat_of valid)"
# By the names it knows it finds its blocks; it may end before it was told of the last.
all_told() { names verify && [ "$(stat_of waiting)" = 0 ]; }
check "who opens it next is told of all, and acknowledges" wait_for 60 all_told
check "who looks at migrations late finds no block of his at an old address" names late 12 "$seed"
check "all is what was written" names verify
check "both segments are one space" eval 'blkio write $d/a 8192 4096 2 && ! blkio write $d/a 12288 4096 3 && blkio discard $d/a 8192 8192 -- flush $d/a'

check "many requests under way by io_uring: all kinds, any order" names ring-churn 3000 "$seed"
check "all is what was written" names verify
check "what can't be is refused there, too" names ring-refused

for tear in not error blank; do
	for after in 3 40 111; do
		nlctl cut a --after $after --tear $tear
		names churn 400 "$((seed + after))" >/tmp/cut 2>&1
		is "the power goes at operation $after, left $tear" "$?" 3 || note "$(</tmp/cut)"
		nlctl power a on
		check "what was written is there, all or nothing of the last request" names recover
	done
	nlctl cut a --after 25 --tear $tear
	names ring-churn 1000 "$seed" >/tmp/cut 2>&1
	is "the power goes under many requests, left $tear" "$?" 3 || note "$(</tmp/cut)"
	nlctl power a on
	check "each is done or not" names recover
	clean "$tear" a
done
(while [ "$(stat_of valid)" -gt 0 ] && [ "$(stat_of writes)" -lt 2000 ]; do :; done; nlctl cut a --off) &
names churn 100000 "$seed" >/tmp/cut 2>&1
is "a cut from elsewhere" "$?" 3 || { note "$(</tmp/cut)"; kill $!; }
wait; nlctl power a on
check "and what is there after it" names recover
check "the virtual segment is what it was" blkio verify $d/a 0 8192 "$seed"

nlctl cut a --after 33 --tear blank
names churn 400 "$seed" >/tmp/cut 2>&1
check "saved without power" nlctl save a /tmp/a.img
check "deleted and loaded" eval 'nlctl delete a && nlctl load a /tmp/a.img && wait_for 10 test -c $d/a:names'
check "with all its blocks" names recover
clean "loaded" a
check "who flushes what a cut took out of the write buffer is told" names unflushed
check "all freed" names free
is "nothing is valid then" "$(stat_of valid)" 0
check "a file that is open for reading changes nothing" names readonly
mapped=$(stat_of mapped)
check "zeroes that are to keep their space" blkio zero $d/a 802 88 -- verify $d/a 802 88 0 -- verify $d/a 700 102 "$seed" -- flush $d/a
is "keep it" "$(stat_of mapped)" "$mapped"
check "those that need not" eval 'fallocate -p -o $((800 * 512)) -l $((88 * 512)) $d/a && blkio verify $d/a 800 88 0 -- flush $d/a'
is "give it back" "$(stat_of mapped)" $((mapped - 11))
check "deleted" nlctl delete a
check "one that many migrations may wait in" make wear=100% wear_at=0 endurance=10000 moves=600
check "with blocks, most of them cold" names fill 1600
check "and a few that are overwritten again and again" heat
more "more of them than the file keeps" waiting 300
check "all are told, in pieces, to who makes room" names drain
check "and every block is where they say" names verify
check "who reads while another reader's memory does not come" names stuck
check "a cut under who was told of some: all are told again when it knows" names cut
# a process that dies with requests under way leaves them to io_uring; behind them GC may have a block's worth of programs
nlctl set a t_program=50ms
build/tests/bin/names a /tmp/names.state ring-churn 2000 "$seed" >/tmp/cut 2>&1 &
under_way() { [ "$(stat_of inflight)" -gt 4 ]; }
check "requests are under way" wait_for 30 under_way
kill -9 $!
wait $! 2>/dev/null
check "their process is killed, and another one may be the client" wait_for 60 nlctl names a --count
check "deleted" nlctl delete a
rm -f /tmp/names.state
check "a quick one" make

# ms COMMAND...: how long it takes
ms() {
	local from
	from=$(date +%s%N)
	"$@" >/tmp/ms 2>&1 || return
	took=$((($(date +%s%N) - from) / 1000000))
}
check "256 blocks" names fill 256
check "reads that take a while" nlctl set a t_read=20ms
check "the names are listed" ms nlctl names a
is "in the time that reading them takes, in four planes" "$((took >= 64 * 20))" 1 || note "$took ms"
list=$took
cut_and_list() { nlctl cut a && nlctl names a; }
check "the power goes, and the names are listed again" ms cut_and_list
scan=$(($(stat_of recovery_ns) / 1000000))
is "behind the start" "$((scan > 1000 && took >= 64 * 20 + scan))" 1 || note "$took ms; $scan of the start, $list without"
check "quick again" nlctl set a t_read=0
check "who asks what there is behind a cut is told of it then" names told 200

check_fails "blocks that take longer than a ring may to be rewritten are refused" "to rewrite a block" \
	nlctl create b 8M --ftl nameless packages=4 pages=128 t_program=1s
for key in bus_control bus_data register ram; do
	check_fails "also for what else a page takes: t_$key" "to rewrite a block" \
		nlctl create b 8M --ftl nameless packages=4 pages=128 t_$key=400ms
done
check "deleted" nlctl delete a
check "one with a single plane" make packages=1
check "programs of a second" nlctl set a t_program=1s
began=$(stat_of writes)
begun() { [ "$(stat_of writes)" -gt "$began" ]; }
rm -f /tmp/names.state
build/tests/bin/names a /tmp/killed.state fill 640 >/tmp/cut 2>&1 &	# calls of eight blocks
check "a call of eight programs of a second each" wait_for 10 begun
pid=$!
kill -9 $pid
killed() { [ ! -e /proc/$pid ]; }
check "its process can be killed" succeeds_within 4 killed	# and not when its calls are over
wait $pid 2>/dev/null
check "and another one may be the client at once" wait_for 5 nlctl names a --count
nlctl set a t_program=0
check "the directory goes under clients that wait" names gone $conf/a

# --- a map that is larger than its cache ------------------------------------------------------------

rm -f /tmp/names.state
large() {
	# shellcheck disable=SC2086
	nlctl create a 32M --ftl nameless packages=4 pages=16 wear=100% wear_at=0 endurance=10000 moves=64 $quick "$@" &&
		wait_for 10 test -c "$d/a:names"
}
check_fails "a cache that holds no flash page is refused" "holds no flash page of 4096" large map_cache=4095
check_fails "and flash that has no room for the map beside the data" "too little flash" large map_cache=8K packages=1 pages=2 blocks=4100
check "what is enough without" large packages=1 pages=2 blocks=4100
is "shows no cache" "$(grep -c map_max $conf/a/stat)" 0
nlctl delete a
check "a device with a quarter of its map in memory" large map_cache=8K
is "has 2 of 8 chunks" "$(stat_of map_chunks) $(stat_of map_max)" "8 2"
check_fails "which is for good" "map_cache can be given at create only" nlctl set a map_cache=16K
check "blocks without names" names fill 512
check "and a virtual segment" blkio write $d/a 0 32768 "$seed" -- flush $d/a -- verify $d/a 0 32768 "$seed"
fio --thread --clocksource=clock_gettime --name=v --filename=$d/a --rw=randwrite --bsrange=4k-16k --offset=16M --size=12M --io_size=16M \
	--direct=1 --ioengine=psync --verify=crc32c --verify_fatal=1 --norandommap=0 --randseed="$seed" --output=/tmp/fio
is "fio finds what it wrote" "$? $(grep -c 'err= 0' /tmp/fio)" "0 1"
check "writes, overwrites and frees beside it" names churn 2500 "$seed"
check "all is what was written" names verify
check "in both segments" blkio verify $d/a 0 32768 "$seed"
clean "swapped" a
more "chunks went to the flash" map_out 20
more "and came back" map_in 20
# While there are requests more of them may be: what moves a block's pages loads the chunks of all of them.
shrunk() { [ "$(stat_of gc_idle)" = asleep ] && [ "$(stat_of map_resident)" -le 2 ]; }
check "no more are in memory than may be, when it has been idle" wait_for 60 shrunk
matches "nlctl says so" "$(nlctl stat a)" "cache +[12] of 8 chunks in memory \(2 may be"
check "discards" blkio discard $d/a 8 16000 -- flush $d/a -- verify $d/a 8 16000 0 -- verify $d/a 16384 16384 "$seed"
clean "with discards" a
check "written again" blkio write $d/a 0 32768 "$seed" -- flush $d/a
for tear in not error blank; do
	nlctl cut a --after $((RANDOM % 90 + 2)) --tear $tear
	names churn 2000 "$seed" >/tmp/cut 2>&1
	is "the power goes, left $tear" "$?" 3 || note "$(</tmp/cut)"
	nlctl power a on
	check "each is done or not" names recover
	check "the virtual segment is what it was" blkio verify $d/a 0 32768 "$seed"
	clean "swapped, $tear" a
done
check "saved, deleted and loaded" eval 'nlctl save a /tmp/a.img && nlctl delete a && nlctl load a /tmp/a.img && wait_for 10 test -c $d/a:names'
is "from a checkpoint, with its cache" "$(stat_of recovered_by_scan) $(stat_of map_max)" "0 2"
check "with all its blocks" names recover
check "in both segments" blkio verify $d/a 0 32768 "$seed"
clean "swapped, loaded" a
check "deleted" nlctl delete a

check "other FTLs have no names" eval 'nlctl create a 8M && ! test -e $d/a:names'
check_fails "and nlctl says so" "no such device of the FTL nameless" nlctl names a
check "deleted" nlctl delete a
check "and the module goes" rmmod nameless
done_testing
