#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: devices that fail
# kernels: 6.1 6.12 debug
# timeout: 320
. tests/vm/lib.sh

disk m1 16M
disk m2 16M
disk a 24M mem cache=volatile
disk b 24M mem cache=volatile
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
tell_ms=0
line=$(table 65536 128 "m1 m2" "a b" 0 "stripe 2 commit_ms 50")

check "two metadata areas" pool p "$line"
field_is "both active" p meta AA
check "data" blkio write $dev 0 2048 "$seed" -- flush $dev
emuctl set m2 fail=write
check "a write and a flush with the second mirror failing" blkio write $dev 2048 512 "$seed" -- flush $dev
matches "the first goes on, the second is left out" "$(status p meta)" '^A[SF]$'
field_is "mode rw" p mode rw
check "in the grammar" in_grammar p
check "remove" remove_pool p
emuctl set m2 fail=none
check "make again with the mirror back" pool p "$line"
matches "it is known to be stale, or was brought up to date" "$(status p meta)" "^A[AS]$"
check "all data" blkio verify $dev 0 2560 "$seed"
remove_pool p

wipe m1 m2 a b
check "two metadata areas again" pool p "$line"
check "data" blkio write $dev 0 2560 "$seed" -- flush $dev
remove_pool p
emuctl set m1 fail=read
expect_refused "the first mirror can't be read" "cannot read the label of metadata area 0 on emudisk.m1" dmsetup create p --table "$line"
dmsetup remove p >/dev/null 2>&1
check "made without it" pool p "${line/\/dev\/emudisk\/m1/-}"
field_is "which is shown" p meta FA
check "all data, and more" blkio verify $dev 0 2560 "$seed" -- write $dev 2560 128 "$seed" -- flush $dev
check "in the grammar" in_grammar p
remove_pool p
emuctl set m1 fail=none
check "with both" pool p "$line"
field_is "the one that missed writes is stale" p meta SA
check "all data" blkio verify $dev 0 2688 "$seed"
remove_pool p

wipe m1 m2 a b
one=$(table 65536 128 m1 "a b" 0 "stripe 2 commit_ms 50")
check "one metadata area" pool p "$one"
check "data" blkio write $dev 0 2048 "$seed" -- flush $dev
events=0
into events dmt events p
more_events() { local n; into n dmt events p; [ "$n" -gt "$events" ]; }
emuctl set m1 fail=write
check_fails "a flush of new extents fails with the metadata" EIO \
	blkio write $dev 4096 256 1 -- flush $dev
check "mode ro" wait_for 10 status_is p mode ro
check "an event was raised" wait_for 5 more_events
field_is "needs_check" p needs_check needs_check
check "in the grammar" in_grammar p
check "reads go on" blkio verify $dev 0 2048 "$seed"
check_fails "nobody is trusted anew" "Read-only" message p reinstate 0
check_fails "writes do not" "EIO|EROFS" blkio write $dev 0 8 1
emuctl set m1 fail=none
check "suspend and resume of it" eval 'dmsetup suspend p && dmsetup resume p'
check "remove" remove_pool p
check "make again" pool p "$one"
# the one area could not be told; what is on it is whole: the journal sees to that
fields_are "as of the last commit" p "mode needs_check" "rw -"
check "what was flushed is there" blkio verify $dev 0 2048 "$seed"
check "writes go on" blkio write $dev 0 8 1 -- verify $dev 0 8 1 -- flush $dev
remove_pool p

# the superblock alone can't be written, and nobody asks for a commit
wipe m1 a b
check "a pool" pool p "$one"
check "data" blkio write $dev 0 2048 "$seed" -- flush $dev
emuctl set m1 fail=write fail_range=2048+256
check_fails "a parameter that can't be noted" "Input/output error" message p set period_ms 500
fields_are "is the end of writing" p "mode needs_check" "ro needs_check"
emuctl set m1 fail=none fail_range=0+0
check_fails "nothing is acknowledged any more" "EIO|EROFS" blkio write $dev 4096 8 1
remove_pool p
wipe m1 m2 a b
check "two areas" pool p "$line"
events=0
into events dmt events p
emuctl set m2 fail=write
check "a parameter that one of two can't be told" message p set period_ms 500
matches "it is left out" "$(status p meta)" '^A[SF]$'
check "an event was raised" wait_for 5 more_events
emuctl set m2 fail=none
remove_pool p

# an area that was left out and does not know it; of the other one a superblock can't be read
wipe m1 m2 a b
check "two areas" pool p "$line"
check "data" blkio write $dev 0 2560 1 -- flush $dev
emuctl set m2 fail=write
check "one of them misses what is discarded and written anew" blkio discard $dev 0 2560 -- flush $dev -- write $dev 4096 2560 "$seed" -- flush $dev -- write $dev 0 2560 "$seed" -- flush $dev
remove_pool p
emuctl set m2 fail=none
for range in 2048+8 2176+8; do
	emuctl set m1 fail=read "fail_range=$range"
	expect_refused "$range: it does not go on in the other's place" "the newer metadata area is damaged" dmsetup create p --table "$line"
	dmsetup remove p >/dev/null 2>&1
	check_fails "$range: nor is it repaired from that" "the newer metadata area is damaged" hybridctl repair /dev/emudisk/{m1,m2,a,b}
	emuctl set m1 fail=none fail_range=0+0
done
emuctl set m2 fail=read fail_range=2048+8
check "one that is known to be stale keeps nobody" pool p "$line"
emuctl set m2 fail=none fail_range=0+0
check "all data" blkio verify $dev 0 2560 "$seed" -- verify $dev 4096 2560 "$seed"
remove_pool p

# two that are equal, and it can't be seen whether one has left the other out
wipe m1 m2 a b
check "two areas" pool p "$line"
check "data" blkio write $dev 0 2560 "$seed" -- flush $dev
remove_pool p
# Of the older one: those behind the newer one's, were they not readable, would be of when both were told.
older=''
for range in 2048+8 2176+8; do
	emuctl set m1 fail=read "fail_range=$range"
	if dmsetup create p --readonly --table "$line" 2>/dev/null; then
		check "$range: it goes on without, with all data" blkio verify $dev 0 2560 "$seed"
	else
		older+=" $range"
	fi
	dmsetup remove --retry p >/dev/null 2>&1
done
is "one of the two keeps it" "$(wc -w <<<"$older")" 1
emuctl set m1 fail=read "fail_range=${older# }"
expect_refused "nobody can tell" "may be the newer one" dmsetup create p --table "$line"
dmsetup remove p >/dev/null 2>&1
check_fails "nor can repair" "may be newer" hybridctl repair /dev/emudisk/{m1,m2,a,b}
check "but if it is asked to do without" hybridctl repair --degraded /dev/emudisk/{m1,m2,a,b}
check "after which it is known to be stale" pool p "$line"
field_is "it is" p meta SA
remove_pool p
check "nobody needs it" pool p "${line/\/dev\/emudisk\/m1/-}"
check "all data" blkio verify $dev 0 2560 "$seed" -- write $dev 2560 8 1 -- flush $dev
remove_pool p
emuctl set m1 fail=none fail_range=0+0
check "it is a stale one from then on" pool p "$line"
field_is "it is a stale one from then on" p meta SA
remove_pool p

# the only one that has it all can't be written any more, when the other one would be its mirror
wipe m1 m2 a b
check "two areas" pool p "$line"
check "data" blkio write $dev 0 2560 1 -- flush $dev
check "one leaves" eval 'message p metadata leave 0 && wait_for 10 status_is p meta SA'
check "more data" blkio write $dev 0 2560 "$seed" -- flush $dev
emuctl set m2 fail=write fail_range=2048+256
message p metadata resync 0
is_over() { [[ $(status p meta) != *R* ]]; }
check "it is to be a mirror again" wait_for 10 is_over
field_is "and is none" p meta SA
fields_are "as nobody could be told" p "mode needs_check" "ro needs_check"
emuctl set m2 fail=none fail_range=0+0
remove_pool p
check "the next start has both" pool p "$line"
check "all data" blkio verify $dev 0 2560 "$seed"
remove_pool p

# what can't be written of the metadata: each part of it alone, then all but the label; repair brings the pool back
geometry() {	# of the first superblock
	dd if=/dev/emudisk/m1 bs=4k skip=256 count=1 iflag=direct status=none | od -An -v -w48 -tu8 -j 104 -N 48
}
wipe m1 a b
check "a pool" pool p "$one"
check "data" blkio write $dev 0 2048 "$seed" -- flush $dev
read -r table0 _ table_bytes journal blocks pages < <(geometry)
# Without pages or their table a checkpoint fails and nothing that counts was touched: commits go on as long as the journal has room.
parts=("superblocks 2048+256 ro needs_check" "table $((table0 / 512))+$((table_bytes / 256)) rw -"
	"journal $((journal / 512))+$((blocks * 8)) ro needs_check" "pages $((pages / 512))+$((32768 - 8 - pages / 512)) rw -"
	"all 2048+$((32768 - 8 - 2048)) ro needs_check")
for n in "${!parts[@]}"; do
	read -r part range becomes <<<"${parts[n]}"
	at=$((4096 + n * 256))
	check "$part: can't be written" emuctl set m1 fail=write "fail_range=$range"
	flushed=0
	blkio write $dev $at 128 "$n" -- flush $dev 2>/dev/null && flushed=1
	check_fails "$part: a checkpoint, or the commit" "I/O error|Input/output|EIO|Read-only" \
		eval 'message p checkpoint && blkio write $dev $((at + 128)) 128 $n -- flush $dev'
	fields_are "$part: the pool" p "mode needs_check" "$becomes"
	check "$part: data can be read" blkio verify $dev 0 2048 "$seed"
	emuctl set m1 fail=none fail_range=0+0
	remove_pool p
	check "$part: repair" hybridctl repair /dev/emudisk/{m1,a,b}
	check "$part: sound" eval 'hybridctl check /dev/emudisk/{m1,a,b} | grep ": clean"'
	check "$part: a new start" pool p "$one"
	fields_are "$part: as it should be" p "mode needs_check" "rw -"
	check "$part: all that was flushed" blkio verify $dev 0 2048 "$seed"
	[ $flushed = 0 ] || check "$part: also when it could not be written" blkio verify $dev $at 128 "$n"
done
# Who flushes while somebody has a checkpoint made, which fails, hears nothing of it.
is_waiting() { local stat; read -r stat <"/proc/$1/stat" && [[ $stat == *") D "* ]]; }
more_writes() { [ "$(writes b)" -gt "$1" ]; }
check "an extent on each member" blkio write $dev 24576 256 "$seed" -- flush $dev
into second dmt message p 0 entry 193
second=$((193 - ! ${second%% *})) first=$((385 - second))
check "the first has something to flush" blkio write $dev $((first * 128)) 8 5
read -r _ range _ <<<"${parts[3]}"
emuctl set m1 fail=write "fail_range=$range"
emuctl set a stall=1
blkio flush $dev >/tmp/flush 2>&1 & flushing=$!
check "a flush waits for it" wait_for 20 is_waiting $flushing
message p checkpoint >/tmp/checkpoint 2>&1 & asking=$!
check "so does a checkpoint for that" wait_for 20 is_waiting $asking
before=$(writes b)
blkio write $dev $((second * 128)) 8 6 -- flush $dev >/tmp/flush2 2>&1 & other=$!
check "and somebody who has written to the other one" eval 'wait_for 20 more_writes "$before" && wait_for 20 is_waiting $other'
emuctl set a stall=0
check "the flush is done" wait $flushing
check_fails "the checkpoint fails" "(Input/output|I/O) error" eval 'wait $asking || { cat /tmp/checkpoint; false; }'
check "the other flush is done" wait $other
fields_are "the pool goes on" p "mode needs_check" "rw -"
check "with another commit" blkio write $dev 24576 128 "$seed" -- flush $dev
emuctl set m1 fail=none fail_range=0+0
check "a checkpoint that can be made" message p checkpoint
check "all that was flushed" blkio verify $dev 0 2048 "$seed" -- verify $dev 24576 128 "$seed" -- verify $dev $((second * 128)) 8 \
	$((second == 192 ? seed : 6))
# ... and then nothing would ever be durable again
granules() {
	awk -v d=$dev -v s="$seed" -v n=$((blocks + 8)) 'BEGIN { for (; i < n; i++) printf "write %s %u 8 %s\nflush %s\n", d, 16384 + i * 8, s, d }' |
		blkio_lines
}
events=0
into events dmt events p
read -r _ range _ <<<"${parts[3]}"
emuctl set m1 fail=write "fail_range=$range"
check_fails "pages can't be written, and the journal fills" EIO granules
check "the pool takes no more" wait_for 60 status_is p mode ro
field_is "and is to be checked" p needs_check needs_check
check "an event was raised" wait_for 5 more_events
check "data can be read" blkio verify $dev 0 2048 "$seed"
emuctl set m1 fail=none fail_range=0+0
remove_pool p
check "repair" hybridctl repair /dev/emudisk/{m1,a,b}
check "a new start" pool p "$one"
check "all that was flushed" blkio verify $dev 0 2048 "$seed" -- verify $dev 16384 8 "$seed"
# What a member may have lost is taken back to what was committed; where that can't be read nothing can be committed.
emuctl set m1 fail=read "fail_range=$range"
emuctl set b fail=flush
check_fails "a member can't flush, and what it had can't be read" EIO blkio write $dev 32768 256 1 -- flush $dev
emuctl set b fail=none
check "the pool takes no more" wait_for 60 status_is p mode ro
field_is "and is to be checked" p needs_check needs_check
emuctl set m1 fail=none fail_range=0+0
check "data can be read" blkio verify $dev 0 2048 "$seed"
remove_pool p
check "repair" hybridctl repair /dev/emudisk/{m1,a,b}
check "a new start" pool p "$one"
check "all that was flushed" blkio verify $dev 0 2048 "$seed"
# The timer's commit may have been before the flush that failed, with what is on the other member.
all_or_none() { blkio verify $dev $1 128 0 || blkio verify $dev $1 128 1; }
check "of the rest all of an extent or nothing" eval 'all_or_none 32768 && all_or_none 32896'
not_on_second() { [[ "$(message p entry $1)" != "1 "* ]]; }
check "and nothing of what the member that failed had" eval 'not_on_second 256 && not_on_second 257'
remove_pool p

wipe m1 a b
check "a pool, in device order" pool p "$(table 65536 128 m1 "a b" 0 "fill 4 commit_ms 50 cooldown_ms 0")"
check "data on the first member" blkio write $dev 0 2048 "$seed" -- flush $dev
check "some moved to the second" eval 'message p move 0 1; message p move 1 1;
	wait_for 20 status_is p completed 2'
field_is "two extents" p dev.1.used 2
# what is read ahead is read again by whoever needs it
emuctl set b fail=read
more_reads() { [ "$(reads b)" -gt "$1" ]; }
check "read ahead on the second, which fails" eval 'r=$(reads b); blkio ahead $dev 128 64 && wait_for 10 more_reads $r'
fields_are "which says nothing of it" p "dev.1.state errors" "active 0"
check_fails "who needs it is told" EIO blkio verify $dev 128 64 "$seed"
fields_are "and that counts" p "dev.1.state errors" "degraded 1"
emuctl set b fail=none
check "it is taken back" message p reinstate 1
check "data, and none of a part" blkio verify $dev 128 128 "$seed" -- discard $dev 160 8
emuctl set b fail=read
check_fails "a read of both" EIO blkio verify $dev 128 64 "$seed"
fields_are "its error counts, too" p "dev.1.state errors" "degraded 2"
emuctl set b fail=none
check "it is taken back again" message p reinstate 1
check "data all over" blkio write $dev 160 8 "$seed" -- flush $dev
emuctl set b fail=write
check_fails "a write to the second fails to the writer" EIO blkio write $dev 0 8 1
check "one to the first does not" blkio write $dev 1024 8 1 -- verify $dev 1024 8 1
fields_are "it is degraded, the first is not" p "dev.0.state dev.1.state" "active degraded"
message p policy stripe
check "new extents do not go there" blkio write $dev 8192 1024 2 -- verify $dev 8192 1024 2
wait_for 10 status_is p dev.0.used 22	# what the two left is free after a commit
fields_are "but to the first" p "dev.0.used dev.1.used" "22 2"
check "the second can still be read" blkio verify $dev 8 248 "$seed"
check "the error is counted" eval '[ "$(status p errors)" -ge 1 ]'
field_is "mode rw" p mode rw
is "a moved extent does not go there" "$(message p move 4 1; wait_for 10 \
	eval '[ $(($(status p completed) + $(status p failed))) = "$(status p started)" ]'; message p entry 4 | cut -d ' ' -f 1)" 0
emuctl set b fail=flush
check_fails "a failed flush of a member is an error" "EIO" blkio write $dev 2048 8 1 -- write $dev 16 8 2 -- flush $dev
emuctl set b fail=none
check "flushes work again" blkio flush $dev
emuctl set b fail=read
check_fails "a read error is the reader's" EIO blkio verify $dev 0 8 "$seed"
check "others read on" blkio verify $dev 256 512 "$seed"
emuctl set b fail=none
check "in the grammar" in_grammar p
check "remove" remove_pool p

# the space map says that an extent's place is free: whoever got it would share it
lone=$(table 65536 128 m1 "a b" 0 "fill 0")
free_beneath() {
	wipe m1 a b
	check "a pool to be damaged" pool p "$lone"
	check "data on it" blkio write $dev 0 256 "$seed"
	remove_pool p
	check "an extent's place is freed beneath it" mkmeta free /dev/emudisk/m1 1
	check "the pool is made" pool p "${1:-$lone}"
}
free_beneath
log_mark
check_fails "its part of the map is not believed" EIO blkio verify $dev 0 8 "$seed"
matches "the log names the extent" "$(log_since)" "extent 1 lies where member 0 says that nothing is"
fields_are "nothing is given out from then on" p "mode needs_check" "ro needs_check"
# Extent 508 is of another page, and the place the first that is free.
check_fails "so nobody gets the place" "EIO|EROFS" blkio write $dev 65024 128 7
check_fails "nothing is written there" EIO blkio write $dev 128 8 1
check_fails "nor is it shown with another's data" "EIO|Input/output" blkio verify $dev 128 8 "$seed"
check_fails "nor its neighbour" "EIO|Input/output" blkio verify $dev 0 8 "$seed"
check "other parts can be read" blkio verify $dev 65024 128 0
check "in the grammar" in_grammar p
remove_pool p
check "the pool is made anew" pool p "$lone"
fields_are "it is known from the beginning" p "mode needs_check" "ro needs_check"
check_fails "and not believed again" "EIO|Input/output" blkio verify $dev 128 8 "$seed"
remove_pool p
check "repair" hybridctl repair /dev/emudisk/{m1,a,b}
check "the pool is made once more" pool p "$lone"
field_is "and takes writes" p mode rw
check "what is new is elsewhere" blkio write $dev 65024 128 7 -- verify $dev 0 256 "$seed" -- flush $dev
remove_pool p
# ... read for a message while the pool is suspended: nothing is written before it is resumed
free_beneath
check "it is suspended" dmsetup suspend p
count_written
before=$written
check_fails "a page is read, and not believed" "." message p entry 1
nap 0.5
count_written
is "nothing is written" "$written" "$before"
check "it is resumed" dmsetup resume p
fields_are "to be read" p "mode needs_check" "ro needs_check"
remove_pool p
check "the pool is made anew" pool p "$lone"
fields_are "it is known from the beginning" p "mode needs_check" "ro needs_check"
remove_pool p

# ... and through a table that is read-only: not before another one comes
free_beneath
swap_table() { dmsetup load p --table "$1" && dmsetup suspend p && dmsetup resume p; }
for_reading=$(table 65536 128 m1 "a b" "1 read_only" "fill 0")
check "a table that is read-only" swap_table "$for_reading"
count_written
before=$written
check_fails "a page is read, and not believed" "." message p entry 1
fields_are "as is shown" p "mode needs_check" "ro needs_check"
check "it is suspended and resumed" eval 'dmsetup suspend p && dmsetup resume p'
count_written
is "a table that is read-only has written nothing" "$written" "$before"
check "a table that is not" swap_table "$lone"
fields_are "is as little believed" p "mode needs_check" "ro needs_check"
remove_pool p
check "the pool is made anew" pool p "$lone"
fields_are "it is known from the beginning" p "mode needs_check" "ro needs_check"
remove_pool p

# ... and the first table is one: its pool is read anew when another one comes
free_beneath "$for_reading"
check_fails "a page is read, and not believed" "." message p entry 1
check "a table that is not read-only" swap_table "$lone"
fields_are "is as little believed" p "mode needs_check" "ro needs_check"
check_fails "nobody gets the place" "EIO|EROFS" blkio write $dev 65024 128 7
remove_pool p
check "the pool is made anew" pool p "$lone"
fields_are "it is known from the beginning" p "mode needs_check" "ro needs_check"
remove_pool p

# A table that is read-only has an area of the metadata not: nothing is written for that, so it stays a mirror
wipe m1 m2 a b
check "two areas" pool p "$line"
check "data" blkio write $dev 0 2048 "$seed" -- flush $dev
for n in 1 2; do
	without=$(table 65536 128 "m1 m2" "a b" "1 read_only" "stripe 2 commit_ms 50")
	without=${without/\/dev\/emudisk\/m$n/-}
	check "suspended" dmsetup suspend p
	count_written
	before=$written
	check "read-only without m$n" eval 'dmsetup load p --table "$without" && dmsetup resume p'
	field_is "for reading" p mode ro
	check "data can be read" blkio verify $dev 0 2048 "$seed"
	check "it is suspended and resumed" eval 'dmsetup suspend p && dmsetup resume p'
	check "and suspended" dmsetup suspend p
	count_written
	is "without one of them nothing is written: m$n" "$written" "$before"
	check "both again" eval 'dmsetup load p --table "$line" && dmsetup resume p'
	fields_are "are mirrors" p "meta mode" "AA rw"
	check "more data" blkio write $dev $((2048 * n)) 128 "$n" -- flush $dev
done
only=$(table 65536 128 "m1 m2" "a b" "1 read_only" "stripe 2 commit_ms 50")
check "read-only without m1" swap_table "${only/\/dev\/emudisk\/m1/-}"
check "and then without m2, and not read-only" swap_table "${line/\/dev\/emudisk\/m2/-}"
fields_are "which is well" p "mode needs_check" "rw -"
check "more data" blkio write $dev 12288 128 5 -- flush $dev
check "with both, of which one is stale" swap_table "$line"
check "a mirror again" hybridctl metadata p resync
field_is "as is shown" p meta AA
check "read-only without m2 once more" swap_table "$without"
check "and a table without it that is not" swap_table "${line/\/dev\/emudisk\/m2/-}"
matches "leaves it out" "$(status p meta)" '^A[SF]$'
check "more data" blkio write $dev 8192 128 3 -- flush $dev
remove_pool p
check "with both" pool p "$line"
field_is "it is stale" p meta AS
check "all data" blkio verify $dev 0 2048 "$seed" -- verify $dev 4096 128 2 -- verify $dev 8192 128 3
remove_pool p

# errors come at once where answers take their time: they must not make the member look fast
wipe m1 a b
check "a pool that bears errors" pool p "$(table 65536 128 m1 "a b" 0 "fill 6 period_ms 2000 low_free 0 cooldown_ms 0")"
check "any number" hybridctl set p degrade_errors=1000000 fail_requests=1000000
check "data on the first member" blkio write $dev 0 2048 "$seed" -- flush $dev
reading() { fio --name=r --filename=$dev --direct=1 --rw=randread --bs=4k --size=512K --randseed="$seed" "$@" >/dev/null; }
has_read() { local words; into words dmt message p 0 samples; read -ra words <<<"$words"; [ "${words[2]}" -ge "${1:-1}" ]; }
emuctl set a read_lat=20ms
reading --time_based --runtime=120 & io=$!
check "it is read, which its samples show" wait_for 60 has_read
pkill -INT -P $io
wait $io
check "and then no more" wait_for 20 eval '! has_read'
emuctl set a fail=read read_lat=0
reading --continue_on_error=all --time_based --runtime=300 & io=$!
check "reads fail" wait_for 60 status_above p errors 0
# For three periods, and until there are many, however slow the machine. The odd one takes as long as a read, on a host that
# is busy.
few_read() {
	local end=$((SECONDS + 7))
	until [ $SECONDS -ge $end ] && status_above p errors 499; do
		kill -0 $io && ! has_read 50 || return
		nap 0.05
	done
}
check "errors are no responses" few_read
pkill -INT -P $io
wait $io
emuctl set a fail=none
check "though there are many" status_above p errors 499
check "then it answers again" blkio verify $dev 0 8 "$seed"
# A period that nobody looked at in time is followed by one without reads.
check "which its samples show" wait_for 20 eval 'blkio verify $dev 0 8 "$seed" && has_read'
field_is "it was active all the time" p dev.0.state active
remove_pool p

# a member is lost, marked by "-"
wipe m1 a b
both=$(table 65536 128 m1 "a b" 0 "stripe 4 commit_ms 50 low_free 0") without=${both/\/dev\/emudisk\/b/-}
check "a pool of two" pool p "$both"
check "ten extents, in turn" blkio write $dev 0 1280 "$seed" -- flush $dev
remove_pool p
check "made without the second" pool p "$without"
fields_are "which is shown" p "dev.1.dev dev.1.state mode" "- failed rw"
check "the first's extents can be read" blkio verify $dev 0 128 "$seed" -- verify $dev 256 128 "$seed"
check_fails "not the second's" EIO blkio verify $dev 128 8 "$seed"
check_fails "nor written" EIO blkio write $dev 128 8 1
room=$(($(status p dev.0.total) - $(status p dev.0.used)))
check "new extents fill the first" blkio write $dev 1280 $((room * 128)) "$seed"
field_is "to the last" p dev.0.used "$(status p dev.0.total)"
log_mark
check_fails "then there is no space" ENOSPC blkio write $dev 65408 8 1
matches "the log says so" "$(log_since)" "no free extent on any member"
field_is "mode rw" p mode rw
check "reads go on" blkio verify $dev 0 128 "$seed" -- verify $dev 1280 $((room * 128)) "$seed" -- verify $dev 65408 8 0
check "writes of what is there, too" blkio write $dev 256 8 3 -- verify $dev 256 8 3 -- flush $dev
check "in the grammar" in_grammar p
remove_pool p
check "made with both again" pool p "$both"
field_is "the second is back" p dev.1.state active
check "with its data" blkio verify $dev 128 128 "$seed" -- verify $dev 264 120 "$seed" -- verify $dev 65408 8 0
check "and takes what did not fit" blkio write $dev 65408 8 1 -- verify $dev 65408 8 1 -- flush $dev

# ... while it holds what was never flushed
emuctl set b fail=flush
check "an unflushed write to the second" blkio write $dev 128 8 4
check "reload without it" eval 'dmsetup load p --table "$without" && dmsetup suspend p && dmsetup resume p'
# Who asks in one way does not take it from who asks in the other.
check_fails "the next message says what is lost" "(Input/output|I/O) error" message p commit
check "once" message p commit
check_fails "the next flush says what is lost" EIO blkio flush $dev
check "once" blkio flush $dev
emuctl set b fail=none
check "the first's are there" blkio verify $dev 0 128 "$seed"
check "reload with it" eval 'dmsetup load p --table "$both" && dmsetup suspend p && dmsetup resume p'
check "the second's are there" blkio verify $dev 136 120 "$seed" -- flush $dev
check "remove" remove_pool p

# a timer's commit fails: the flush that follows is told, though it could be done
wipe m1 a b
check "a pool of two again" pool p "$both"
check "ten extents" blkio write $dev 0 1280 "$seed" -- flush $dev
emuctl set b fail=flush
log_mark
check "a write to each, and a discard, which is committed soon" blkio write $dev 1280 256 4 -- discard $dev 1152 128
check "the timer's fails" wait_for 10 status_is p dev.1.state degraded
emuctl set b fail=none
# It is another's.
check_fails "the next FUA write says so" EIO blkio fua $dev 2048 8 4
check_fails "and the next flush" EIO blkio flush $dev
check "not for ever" wait_for 5 blkio flush $dev	# it may have come during the timer's commit: then the next one does, too
check_fails "the flush may have been that of a write, which says so itself" EIO blkio fua $dev 2048 8 4
check "not for ever" wait_for 5 blkio fua $dev 2048 8 4
check_fails "the next message says so, too" "(Input/output|I/O) error" message p checkpoint
check "not for ever" message p checkpoint
is "nothing is valid where it may be lost, all is where it is not" \
	"$(for i in 10 11; do message p entry $i | cut -d " " -f 1,3; done | sort | paste -sd,)" "0 0000ffff,1 00000000"
matches "the log says so" "$(log_since)" "1 extents have lost what was first written"

# ... but, unless it is set to nothing, for a while: whose writes these were is not known, and whom the first telling
# reached was perhaps another one, or the flush of a write, whose error device-mapper keeps to itself
check "it is taken back" message p reinstate 1
check "what is told is told for a while" message p set tell_ms 15000
check "all is flushed" blkio flush $dev
emuctl set b fail=flush
check "a write to each, which is committed soon" blkio write $dev 4096 256 4
check "the timer's fails" wait_for 10 status_is p dev.1.state degraded
emuctl set b fail=none
for n in {1..3}; do
	check_fails "a flush says so" EIO blkio flush $dev
	check_fails "a FUA write to the other member, too" EIO blkio fua $dev 2048 8 4
done
check_fails "a message, too" "(Input/output|I/O) error" message p commit
check_fails "and the next" "(Input/output|I/O) error" message p checkpoint
check "flushes end well at last" wait_for 60 blkio flush $dev
check "and FUA writes" wait_for 60 blkio fua $dev 2048 8 4
check "and messages" message p commit
check "back to once, and to what there was" eval 'message p set tell_ms 0 && message p reinstate 1 && blkio discard $dev 4096 256 -- flush $dev'

# nobody asked: what the timer commits is on the first, so only that is flushed
check "all is flushed" blkio write $dev 128 8 "$seed" -- flush $dev
emuctl set b fail=flush
check "a write to the second of what is there" blkio write $dev 128 8 "$seed"
get p commits errors
check "a write to the first of what is not" blkio write $dev 1536 8 4
check "it is committed" wait_for 10 status_above p commits "${got[0]}"
field_is "the second was not asked" p errors "${got[1]}"
emuctl set b fail=none
check "it is when somebody flushes" blkio flush $dev

# one that never flushes again: the others' commits go on without it
emuctl set b fail=flush
check_fails "a flush fails" EIO blkio write $dev 128 8 5 -- flush $dev
check "not for ever" wait_for 20 blkio flush $dev
field_is "the member has failed" p dev.1.state failed
check "a write to the other, flushed" blkio write $dev 0 8 6 -- flush $dev
check_fails "one to it is not said to be durable" EIO blkio write $dev 128 8 7 -- flush $dev
check "it can be evacuated nevertheless" message p evacuate 1
check "which empties it, as it can be read" wait_for 30 status_is p dev.1.used 0
check "and removed" message p remove 1
field_is "it is gone" p dev.1.state removed
check "all data" blkio verify $dev 0 8 6 -- verify $dev 8 120 "$seed" -- verify $dev 128 8 7 -- verify $dev 256 896 "$seed" -- verify $dev 1152 128 0 -- flush $dev
emuctl set b fail=none
remove_pool p

# a destination that fails before what moved there is committed: it stays where it was
wipe m1 a b
slow=$(table 65536 128 m1 "a b" 0 "fill 6 commit_ms 3600000 cooldown_ms 0 low_free 0")
check "a pool that commits when it is told to" pool p "$slow"
check "data on the first member" blkio write $dev 0 2048 "$seed" -- flush $dev
emuctl set a fail=read
check "a move whose source can't be read" eval 'message p move 0 1; wait_for 10 status_is p failed 1'
is "leaves the map as it was" "$(message p entry 0)" "0 0 0000ffff"
emuctl set a fail=none
check "make again" eval 'remove_pool p && pool p "$slow"'
emuctl set b fail=write
check "a move whose destination can't be written" eval 'message p move 0 1; wait_for 10 status_is p failed 1'
is "leaves it, too" "$(message p entry 0)" "0 0 0000ffff"
emuctl set b fail=none
check "make again" eval 'remove_pool p && pool p "$slow"'
# one flush fails and the next one does not: what the first one should have made durable may be gone
check "two extents move" eval 'message p move 0 1 && message p move 1 1 && wait_for 10 status_is p completed 2'
emuctl set b fail=flush
check_fails "a flush fails, once" EIO blkio flush $dev
emuctl set b fail=none
check "the next flushes are done" wait_for 5 blkio flush $dev
is "they are where they were" "$(for i in 0 1; do message p entry $i; done | paste -sd,)" "0 0 0000ffff,0 1 0000ffff"
check "after a new start, too" eval 'remove_pool p && pool p "$slow" && [ "$(message p entry 0)" = "0 0 0000ffff" ]'
check "with their data" blkio verify $dev 0 2048 "$seed"
check "four extents move" eval 'for i in 0 1 2 3; do message p move $i 1; done; wait_for 10 status_is p completed 4'
is "in memory" "$(message p entry 3 | cut -d " " -f 1)" 1
check "one is written to" blkio write $dev 384 8 9
emuctl set b fail=flush
check_fails "a flush fails" EIO blkio flush $dev
is "they are where they were" "$(for i in 0 1 2 3; do message p entry $i; done | paste -sd,)" \
	"0 0 0000ffff,0 1 0000ffff,0 2 0000ffff,0 3 0000ffff"
failing=0
until blkio flush $dev 2>/dev/null; do [ $((++failing)) -lt 20 ] || break; done
matches "flushes fail until that member has" "$failing" '^([5-9]|10)$'
field_is "it has" p dev.1.state failed
emuctl set b fail=all
check "with their data, but for what was never durable" blkio verify $dev 0 2048 "$seed"
check "what was taken there is free" wait_for 5 status_is p dev.1.used 0
check "commits go on" blkio write $dev 2048 8 3 -- flush $dev
emuctl set b fail=none
check "in the grammar" in_grammar p
check "a new start" eval 'remove_pool p && pool p "$slow"'
check "has it all" blkio verify $dev 0 2048 "$seed" -- verify $dev 2048 8 3
fields_are "and nothing else" p "dev.0.used dev.1.used" "17 0"

# ... or is lost
check "four move again, one of them on" eval 'for i in 0 1 2 3; do message p move $i 1; done; wait_for 10 status_is p completed 4;
	message p move 3 0; wait_for 10 status_is p completed 5'
check "one is discarded" blkio discard $dev 256 128
emuctl set b fail=flush
check "reload without it" eval 'dmsetup load p --table "${slow/\/dev\/emudisk\/b/-}" && dmsetup suspend p && dmsetup resume p'
blkio flush $dev 2>/dev/null || blkio flush $dev 2>/dev/null || blkio flush $dev
is "all are with the first" "$(for i in 0 1 2 3; do message p entry $i | cut -d " " -f 1; done | paste -sd,)" "0,0,-,0"
check "with their data" blkio verify $dev 0 256 "$seed" -- verify $dev 256 128 0 -- verify $dev 384 1664 "$seed"
emuctl set b fail=none
remove_pool p
check "sound" is_clean /dev/emudisk/{m1,a,b}

# a move to one that fails, and on from there before either is committed: back to where it was at first
disk c 24M mem cache=volatile
chain=$(table 65536 128 m1 "a b c" 0 "fill 6 commit_ms 3600000 cooldown_ms 0 low_free 0")
twice() { message p move 0 1 && wait_for 10 status_is p completed 1 && message p move 0 2 && wait_for 10 status_is p completed 2; }
wipe m1 a b c
check "a pool of three" pool p "$chain"
# No user flushes before the moves, so that the commit has to.
check "data on the first member" eval 'blkio write $dev 0 512 "$seed" && message p commit'
check "an extent moves to the second, and on to the third" twice
matches "in memory" "$(message p entry 0)" "^2 "
emuctl set b fail=flush
emuctl set c fail=flush
check_fails "both can't be flushed" EIO blkio flush $dev
is "it is with the first" "$(message p entry 0)" "0 0 0000ffff"
emuctl set b fail=none
emuctl set c fail=none
check "the next flushes are done" wait_for 5 blkio flush $dev
check "both places are free" wait_for 5 eval 'status_is p dev.1.used 0 && status_is p dev.2.used 0'
check "a new start, as errors are known anew then" eval 'remove_pool p && pool p "$chain"'
check "it moves once more" twice
emuctl set b fail=flush
check "it is written to" blkio write $dev 0 8 9
check_fails "the second can't be flushed" EIO blkio flush $dev
is "it is with the first: what the third has was copied from there" "$(message p entry 0)" "0 0 0000ffff"
emuctl set b fail=none
check "the next flushes are done" wait_for 5 blkio flush $dev
check "a new start" eval 'remove_pool p && pool p "$chain"'
check "it moves once more" twice
emuctl set c fail=flush
check_fails "the third can't be flushed" EIO blkio flush $dev
matches "it stays with the second" "$(message p entry 0)" "^1 "
emuctl set c fail=none
check "the next flushes are done" wait_for 5 blkio flush $dev
check "a new start" eval 'remove_pool p && pool p "$chain"'
check "with its data" blkio verify $dev 0 512 "$seed"
check "back to the first" eval 'message p move 0 0; wait_for 10 status_is p completed 1; wait_for 5 blkio flush $dev'
check "a new start" eval 'remove_pool p && pool p "$chain"'
check "has it all" blkio verify $dev 0 512 "$seed"
fields_are "and nothing else" p "dev.0.used dev.1.used dev.2.used" "4 0 0"
remove_pool p
check "sound" is_clean /dev/emudisk/{m1,a,b,c}

# a long map: one message looks at a part of it, and a page that can't be read hides no other one
disk big 10G
wipe m1 b
long=$(table $((160000 * 128)) 128 m1 "b big" 0 "fill 0")
check "a pool with a long map" pool p "$long"
get p dev.0.total
small=$got
remove_pool p
check "all of it mapped" mkmeta fill /dev/emudisk/m1
check "without the small one" pool p "${long/\/dev\/emudisk\/b/-}"
into answer dmt message p 0 lost 0
matches "one answer has what is lost, and where to go on" "$answer" $'^0 1 0\n2 1 0\n.*\nmore 65024$'
at=0 answers=0
while [ "$at" != end ] && [ $answers -lt 9 ]; do
	into answer dmt message p 0 lost "$at"
	at=${answer##*[ $'\n']} answers=$((answers + 1))
done
# what the first one has read is there
is "to the end in as many as it takes" $answers 2
is "all is listed" "$(hybridctl lost p --json | jq -c '[(.lost | length), ([.lost[].sectors] | add), .lost_complete]')" \
	"[$small,$((small * 128)),true]"
asked() { hybridctl monitor p --interval 0.05 --count 3 --plain | grep -c "^LOST: "; }
is "monitor shows it at each look" "$(asked)" 3
remove_pool p
check "a page is damaged" mkmeta free /dev/emudisk/m1 600
check "without the small one" pool p "${long/\/dev\/emudisk\/b/-}"
into answer dmt message p 0 lost 400
matches "it is said that of its extents nothing is known" "$answer" $'\n508 508 \\?\nmore [0-9]+$'
is "the rest is listed" "$(hybridctl lost p --json 2>/dev/null | jq -c '[([.lost[].sectors] | add), .lost_complete]')" \
	"[$((254 * 128)),false]"
check_fails "people are told" "UNKNOWN: of 31.[78]M the map can't be read" hybridctl lost p
remove_pool p
remove_disk big

# what is lost of a file system has names: those of the files that can't be read, and of no others
wipe m1 a b
check "a pool, in device order" pool p "$(table 65536 128 m1 "a b" 0 "fill 2 commit_ms 50")"
# inode tables that are zeroed behind one's back would be on both
mkfs.ext4 -q -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 $dev && mkdir -p /run/mnt && mount $dev /run/mnt || die "no file system"
check_fails "nothing is lost" "nothing is lost" eval 'hybridctl lost p; false'
message p policy stripe
for ((i = 0; i < 12; i++)); do dd if=/dev/urandom of=/run/mnt/f$i bs=20K count=1 conv=fsync status=none; done
check "the second member is lost" eval 'dmsetup load p --table "$without" && dmsetup suspend p && dmsetup resume p'
check "looked for" eval 'hybridctl lost p --files --json >/tmp/lost'
unread=()
for ((i = 0; i < 12; i++)); do
	dd if=/run/mnt/f$i of=/dev/null bs=20K iflag=direct status=none 2>/dev/null || unread+=("/f$i")
done
is "found" "$(jq -r '.file_system.files[].path' /tmp/lost | sort)" "$(printf '%s\n' "${unread[@]}" | sort)"
matches "there are such, and others" "${#unread[@]}" '^([1-9]|1[01])$'
is "and nothing of its own" "$(jq '([.file_system.metadata_lost_bytes[]] | add), .file_system.complete, .lost_complete' /tmp/lost | paste -sd ' ')" "0 true true"
check "status says so, as it is mounted" wait_for 60 eval "hybridctl status p | grep -A99 'LOST of what is mounted on /run/mnt' | grep '^  ${unread[0]}: .* (file, inode'"
umount /run/mnt
check_fails "no more is said when it is not" "" eval 'hybridctl status p | grep "^LOST .*files"'
dmsetup create part --table "0 65536 linear $dev 0"
check "of what lies on it status says how to ask" eval "hybridctl status p | grep '^LOST .* hybridctl lost p --files --offset SIZE '"
dmsetup remove --retry part
check "lost does so anyway" eval "hybridctl lost p --files --limit 1 | grep '^  /f'"
check_fails "none is there" "no file system of ext2, 3 or 4 at byte 65536" hybridctl lost p --files --offset 64K
remove_pool p

# A journal's commit record is a FUA write to where the journal always was, and device-mapper keeps the error of the
# flush before it to itself. The journal has pages of the map of its own, which have nothing to commit.
disk left 160M mem cache=volatile
disk right 160M mem cache=volatile
wipe m1
check "a larger pool" pool p "$(table 393216 128 m1 "left right" 0 "stripe 2 commit_ms 50")"
mkfs.ext4 -q -b 4096 -J size=4,location=30000 -E lazy_itable_init=0,lazy_journal_init=0 $dev && mount $dev /run/mnt || die "no file system"
put() { dd if=/dev/urandom of=/run/mnt/"$1" bs=64K count=8 conv=fsync status=none; }
check "files" eval 'for i in {0..9}; do put $i || exit; done; sync'
check "nothing waits to be committed" eval 'message p commit && blkio flush $dev'
emuctl set left fail=flush
emuctl set right fail=flush
# The journal's thread may be the first to hear of it: then nobody may write there any more.
check_fails "the file system hears of what was lost" "Input/output error|Read-only file system" put lost
emuctl set left fail=none
emuctl set right fail=none
umount /run/mnt
check "it is sound" eval 'e2fsck -fy $dev >/tmp/e2fsck || [ $? = 1 ]; e2fsck -fn $dev >/dev/null'
remove_pool p

# Metadata on device-mapper: a transaction of several blocks, whose last one asks for a flush before it
disk cached 16M mem cache=volatile
wipe m2 a b
dmsetup create below --table "0 $(sectors /dev/emudisk/cached) linear /dev/emudisk/cached 0"
line=$(table 65536 128 "cached m2" "a b" 0 "stripe 2 commit_ms 10000")
check "metadata on another target" pool p "${line/\/dev\/emudisk\/cached//dev/mapper/below}"
emuctl set cached fail=flush
check "300 extents, flushed" blkio write $dev 0 38400 "$seed" -- flush $dev
matches "what can't flush is left out, and that is known" "$(status p meta)" '^[SF]A$'
emuctl set cached fail=none
remove_pool p
dmsetup remove below

# fault on the first resume: nothing half made stays
wipe m1 a b
emuctl set m1 fail=write
log_mark
check_fails "a new pool on metadata that can't be written" "Input/output error" \
	dmsetup create p --table "$one"
matches "and the log says what" "$(log_since)" "cannot format the pool"
dmsetup remove p >/dev/null 2>&1
emuctl set m1 fail=none
check "works when it can" pool p "$one"
check "and holds data" blkio write $dev 0 8 1 -- verify $dev 0 8 1 -- flush $dev
done_testing
