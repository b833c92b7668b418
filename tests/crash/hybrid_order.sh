#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: the order of durability, step by step
# kernels: 6.1 6.12
# timeout: 150
#
# The campaigns of hybrid.sh cut at moments of a storm. Here every step of the order is made to take long, so that
# the one moment is met at which it matters. Members hold junk where nothing was written: what is shown too early
# is neither zeroes nor anybody's data.
#
# EVENKEEL_SCENARIO: the title of the only one to play.
. tests/crash/lib.sh
modprobe dm-hybrid || die "no dm-hybrid"
modprobe dm-delay || die "no dm-delay"
dev=/dev/mapper/p
junk=77777
emudisk=/sys/kernel/config/emudisk
delayed=

# The first member takes extents first; commits come when they are asked for.
tell_ms=500	# what comes after a loss is not to wait for long
line() { table $((${1:-40} * 128)) 128 "${3:-m}" "${2:-a b}" "1 no_discard_passdown" \
	"fill 10 commit_ms 3600000 cooldown_ms 0 migrate_kbps 0 movers 4 low_free 0"; }

pause() { nap "$1"; }
slow() { echo "${*:2}" >"$emudisk/$1/set"; }
restore_speed() { for d in m a b e; do slow $d write_lat=10us read_lat=10us flush=0 stall=0 fail=none || return; done; }

# The disks with an empty pool on them are put back by the recorder, which starts no program.
base() {
	disk m 8M mem cache=volatile
	disk a 3M mem cache=volatile
	disk b 3M mem cache=volatile
	disk c 3M mem cache=volatile
	disk d 3M mem cache=volatile
	disk e 8M mem cache=volatile
	blkio write /dev/emudisk/a 2048 3840 $junk -- flush /dev/emudisk/a -- \
		write /dev/emudisk/b 2048 3840 $junk -- flush /dev/emudisk/b || return
	pool p "$(line 62)" && remove_pool p || return
	rec start
	blkio flush /dev/emudisk/m
	rec stop
	start=$(sed -n 's/^start //p' $record)
}

fresh_disks() {
	restore_speed || return		# what a scenario that failed has left waiting goes on
	wait
	drop_leftovers
	[ ! "$delayed" ] || dmsetup remove --retry slow || return
	delayed=
	restore_speed && rec replay to="$start" keep=all
}
fresh() { fresh_disks && table=$(line "$@") && pool p "$table"; }

# Between the volume and a disk. slow_member READ-MS WRITE-MS [DISK]
slow_member() {
	local disk=/dev/emudisk/${3:-a}
	delayed=1
	dmsetup create slow --table "0 $(sectors "$disk") delay $disk 0 $1 $disk 0 $2"
}
no_slow_member() { remove_pool p && dmsetup remove --retry slow && delayed=; }

scenario() { [ "${EVENKEEL_SCENARIO:-$1}" != "$1" ] || check "$@"; }

# The power goes; what was not durable is gone, or with keep=all is not. Background I/O has ended with an error.
power_cycle() {
	echo "${1:-keep=none}" >$emudisk/cut
	wait
	remove_pool p
	restore_speed && echo on >$emudisk/power
}
cut() { power_cycle "$@" && is_sound_offline /dev/emudisk/{m,a,b} && pool p "$table" && pool_is_sound; }

write() { blkio write $dev "$@"; }
fua() { blkio fua $dev "$@"; }
holds() { blkio verify $dev "$@"; }
flush() { blkio flush $dev; }
either() { holds "$1" "$2" 0 || holds "$1" "$2" "$3"; }
discard() { blkio discard $dev "$@"; }
finished() {
	local got
	get p queued completed failed started
	[ "${got[0]}" = 0 ] && [ $((got[1] + got[2])) = "${got[3]}" ]
}
arrived() { finished && status_is p completed 1; }

check "an empty pool" base || die "no pool"

# --- what was acknowledged is there --------------------------------------------------------------

flushed() { fresh && write 0 256 1 && flush && cut && holds 0 256 1; }
scenario "a flushed write of new extents" flushed

overwritten() { fresh && write 0 256 1 && flush && write 8 64 2 && flush && cut && holds 8 64 2; }
scenario "a flushed write over what is there" overwritten

slow_flush() {
	fresh && slow a flush=700ms && write 0 256 1 && { flush & } && pause 0.1
	wait $! && cut && holds 0 256 1
}
scenario "a flush that takes long" slow_flush

fua_new() { fresh && fua 0 64 1 && cut && holds 0 64 1; }
scenario "a FUA write of a new extent" fua_new
fua_granule() { fresh && write 0 8 1 && flush && fua 16 8 2 && cut && holds 16 8 2; }
scenario "a FUA write of a new granule" fua_granule
fua_over() { fresh && write 0 64 1 && fua 0 64 2 && cut && holds 0 64 2; }
scenario "a FUA write over what is mapped and not committed" fua_over

# A program's FUA write is followed by a flush. One that is not: a second pool, whose metadata lie on this one, writes
# a transaction of one block so. Its journal begins at this sector; unmapped, it reads as it was.
journal=2320
q() { pool q "0 1024 hybrid 1 $dev 0 128 2 /dev/emudisk/c 0 /dev/emudisk/d 0 0 fill 2 commit_ms 3600000"; }
q_write() { blkio write /dev/mapper/q "$@" && message q commit; }
q_cut() {
	echo keep=none >$emudisk/cut
	wait
	remove_pool q
	remove_pool p
	restore_speed && echo on >$emudisk/power && pool p "$table" && q && blkio verify /dev/mapper/q "$@"
}
stack() {
	fresh 62 && blkio zero /dev/emudisk/c 0 6144 -- zero /dev/emudisk/d 0 6144 && q && discard $journal 4096
}
fua_alone() { stack && q_write 0 8 5 && q_cut 0 8 5; }
scenario "a FUA write of a new granule, and no flush" fua_alone
fua_alone_over() { stack && q_write 0 8 5 && write $((journal + 8)) 8 0 && q_write 8 8 6 && q_cut 8 8 6; }
scenario "a FUA write over what is mapped and not committed, and no flush" fua_alone_over
# The block is in the map, and the commit that takes it there has its mark and waits for a's flush.
has_requests() { # DISK [LEAST, one digit]
	local info
	info=$(<"$emudisk/$1/info")
	[[ $info == *$'\n'"inflight "[${2:-1}-9]* ]]
}
fua_alone_during() {
	stack && q_write 0 8 5 && write $((journal + 8)) 8 0 && slow a flush=1200ms && { message p commit & } &&
		{ wait_for 10 has_requests a || :; } && q_write 8 8 6 && q_cut 8 8 6	# too late is no failure
}
scenario "a FUA write while the commit of its extent is under way, and no flush" fua_alone_during

# Nobody asks for anything: the timer's commit flushes what it takes, and says when it has.
by_itself() {
	local got next=896
	fresh && message p set commit_ms 20 && write 0 128 1 && get p commits &&
		wait_for 10 committed_since "${got[0]}" && cut && holds 0 128 1
}
# One that was under way may have begun before the write was done; the next has not, and each has a new extent to commit.
committed_since() { status_above p commits $(($1 + 1)) || { write $((next += 128)) 8 2; false; }; }
scenario "a write that nobody flushes, after commit_ms" by_itself
# A commit that was under way when the write was done does not have it: none must come any more.
all_committed() {
	local got before=none
	for _ in 1 2 3; do
		get p commits || return
		[ "$before" != "${got[0]}" ] || return 0
		before=${got[0]}
		pause 2
	done
	return 1
}
# A file system that is frozen for it writes all that it has, for minutes maybe; here a read is what is waited for.
while_it_ends() {
	local writer
	for _ in 1 2 3; do
		fresh && message p set commit_ms 20 && write 0 128 1 && flush && slow a read_lat=10s write_lat=1200ms &&
			{ holds 0 8 1 & } && { write 128 128 2 & writer=$!; } || return
		wait_for 5 has_requests a 2 || { power_cycle; continue; }	# seen too late, as the write is done
		{ dmsetup suspend p & } && wait "$writer" && all_committed || return
		has_requests a 1 || { power_cycle; continue; }	# the suspension's own may be among them
		cut && holds 128 128 2
		return
	done
	return 1
}
scenario "a write that nobody flushes, while a suspension waits for something else" while_it_ends

checkpointed() { fresh && write 0 256 1 && message p checkpoint && cut && holds 0 256 1; }
scenario "a checkpoint" checkpointed

# Without a FLUSH of a user, lately, the commit flushes what was copied; after one the migration does.
moved() {
	fresh && write 0 256 1 && "$@" && message p move 0 1 && wait_for 20 arrived && message p commit &&
		cut && holds 0 256 1
}
scenario "an extent that moved, and nothing else was written" moved message p commit
scenario "the same while users flush" moved flush
flushes_of() { local w; w=$(<"$emudisk/$1/info") && w=${w##*flushes } && echo "${w%%[!0-9]*}"; }
moved_before() {
	local before
	fresh && write 0 256 1 && flush && before=$(flushes_of b) && message p move 0 1 && wait_for 20 arrived &&
		[ "$(flushes_of b)" = $((before + 1)) ] && write 128 8 2 && flush && [ "$(flushes_of b)" = $((before + 1)) ] &&
		cut && holds 0 128 1 -- verify $dev 128 8 2
}
scenario "a flush of what others wrote, which is none of what has moved" moved_before
# A write of metadata that may be a write and a flush, and fails, is a flush of a member, too, whose disk it is on: nobody
# asked that, and its next flush ends well.
lost_by_metadata() {
	fresh_disks && wipe a m e && slow_member 0 0 e && table=$(line 40 "a /dev/mapper/slow:10240" "m /dev/mapper/slow") &&
		pool p "$table" && write 0 256 1 && message p move 0 1 && wait_for 20 arrived && flush &&
		message p set commit_ms 50 && write 0 8 2 && slow e fail=write && write 256 8 1 &&
		wait_for 10 status_is p meta AS && slow e fail=none && ! flush && wait_for 10 flush && holds 256 8 1 && no_slow_member
}
scenario "what is lost as the flush of a metadata area on a member's disk fails" lost_by_metadata
# Nor is what was copied to a metadata area until then made durable by its own flush. The first flush is that of its
# superblocks, zeroed; the next one is a user's, and comes before the copy ends, as both are the committer's.
lost_in_resync() {
	fresh_disks && wipe a m e && table=$(line 40 "a e:10240" "m e") && pool p "$table" && write 0 256 1 &&
		message p move 0 1 && wait_for 20 arrived && flush && message p metadata leave 1 &&
		wait_for 20 status_is p meta AS && slow e write_lat=1s fail=flush fail_after=1 &&
		message p metadata resync 1 && write 0 8 2 && ! flush && slow e fail=none &&
		wait_for 20 status_is p meta AS && slow e write_lat=10us && message p metadata resync 1 && wait_for 20 status_is p meta AA
}
scenario "a metadata area that is made a mirror while its disk loses something" lost_in_resync
# A flush of its own that fails could drop metadata that is on the same disk.
moved_beside_metadata() {
	local before
	fresh_disks && wipe a e && table=$(line 40 "a e:10240" e) && pool p "$table" && write 0 256 1 && flush &&
		before=$(flushes_of e) && message p move 0 1 && wait_for 20 arrived && [ "$(flushes_of e)" = "$before" ] &&
		flush && [ "$(flushes_of e)" -gt "$before" ] && power_cycle && pool p "$table" && holds 0 256 1
}
scenario "an extent that moves to a disk with metadata, while users flush: nothing but a commit flushes it" moved_beside_metadata

failed_flush() {
	fresh && write 0 256 1 && flush && write 8 64 2 && slow a fail=flush && ! flush && slow a fail=none &&
		wait_for 10 flush && cut && holds 8 64 2
}
scenario "a flush after one that failed" failed_flush

late_write() {
	fresh && write 0 256 1 && flush && write 0 8 2 && slow a flush=700ms && { flush & } && pause 0.2 &&
		write 8 8 3 && wait $! &&
		slow a flush=0 && flush && cut && holds 0 8 2 -- verify $dev 8 8 3
}
scenario "a write that completed while a flush ran, by the next flush" late_write

twice() {
	fresh && write 0 8 1 && message p commit && write 8 8 2 && message p commit && cut &&
		holds 0 8 1 -- verify $dev 8 8 2
}
scenario "an extent of which the journal has two records" twice

replayed() {
	fresh && write 0 256 1 && flush && cut && message p checkpoint && remove_pool p && pool p "$table" &&
		pool_is_sound && holds 0 256 1
}
scenario "what was replayed, after the journal was emptied" replayed

space() {
	fresh && write 0 512 1 && message p checkpoint && cut && write 512 512 2 &&
		holds 0 512 1 -- verify $dev 512 512 2
}
scenario "space taken by what a checkpoint wrote" space

freed() { fresh && write 0 512 1 && flush && discard 128 256 && message p commit && cut && holds 128 256 0; }
scenario "discarded extents" freed
freed_for_good() {
	fresh && write 0 512 1 && message p checkpoint && discard 128 256 && message p commit && message p checkpoint &&
		cut && holds 0 128 1 -- verify $dev 128 256 0
}
scenario "the same, in pages when the journal is emptied" freed_for_good

policy_kept() {
	fresh && message p policy static shares 70,30 cooldown_ms 5 && power_cycle && hybridctl assemble p &&
		pools+=(p) && dmsetup table p | grep -E 'static [0-9]+ shares 70,30 .*cooldown_ms 5( |$)'
}
scenario "a policy that was set" policy_kept

leaving() { fresh && message p evacuate 1 && power_cycle && pool p "$table" && status_is p dev.1.state draining; }
scenario "that a member is to leave" leaving
left() {
	fresh && write 0 128 1 && flush && message p evacuate 1 && message p remove 1 && cut &&
		status_is p dev.1.state removed && holds 0 128 1
}
scenario "that a member has left" left
not_empty() {
	fresh && write 0 128 1 && flush && slow a read_lat=10s && message p evacuate 0 && ! message p remove 0 &&
		cut && status_is p dev.0.state draining && holds 0 128 1
}
scenario "a member that is to leave and is not empty yet" not_empty
not_asked() { fresh && ! message p remove 1 && cut && status_is p dev.1.state active; }
scenario "a member that nobody has told to leave" not_asked
in_next_table() {
	fresh && write 0 128 1 && flush && message p evacuate 1 && message p remove 1 && dmsetup load p --table "$table" &&
		dmsetup suspend p && dmsetup resume p && status_is p dev.1.state removed && cut &&
		status_is p dev.1.state removed && holds 0 128 1
}
scenario "a member that has left, and is in the next table" in_next_table

# --- what was not is either as before or as after ------------------------------------------------

commit_cut() {
	fresh && slow a flush=900ms && write 0 256 1 && { message p commit & } && pause 0.4 && cut &&
		either 0 256 1
}
scenario "cut while a commit flushes a member" commit_cut
checkpoint_cut() {
	fresh && slow a flush=900ms && write 0 256 1 && { message p checkpoint & } && pause 0.4 && cut &&
		either 0 256 1
}
scenario "cut while a checkpoint flushes a member" checkpoint_cut
in_flight() {
	fresh && write 0 8 1 && flush && slow a write_lat=600ms && { write 16 8 2 & } && pause 0.2 && message p commit
	cut && either 16 8 2
}
scenario "a commit while a granule is being written for the first time" in_flight

# --- nobody sees another's bytes -----------------------------------------------------------------

small() { fresh && write 37 3 1 && holds 32 5 0 -- verify $dev 37 3 1 -- verify $dev 40 88 0; }
scenario "a few sectors of a granule: zeroes around them" small
holes() {
	fresh && write 40 8 1 && message p move 0 1 && wait_for 20 arrived &&
		holds 0 40 0 -- verify $dev 40 8 1 -- verify $dev 48 80 0
}
scenario "an extent with holes that moved" holes
part() { fresh && write 0 128 1 && discard 16 32 && holds 0 16 1 -- verify $dev 16 32 0 -- verify $dev 48 80 1; }
scenario "discarded granules" part
both() {
	fresh && slow a write_lat=400ms && { write 1 1 1 & } && pause 0.1 && write 5 1 2 && wait &&
		holds 0 1 0 -- verify $dev 1 1 1 -- verify $dev 2 3 0 -- verify $dev 5 1 2
}
scenario "two first writes of one granule" both

# Full to the last extent, so that the next one allocated is the one that was freed.
full() { fresh 62 && write 0 $((62 * 128)) 1 && flush; }
scenario "all extents in use" full
no_room() { full && ! message p evacuate 0 && status_is p dev.0.state active; }
scenario "a member that is to leave, and no room for what is on it" no_room

# extents MESSAGE...: of its answer, with member 1
extents() { dmsetup message p 0 "$@" | awk 'NF == 3 && $3 == 1 { sum += $2 } END { print sum + 0 }'; }
without_b() { dmsetup load p --table "${table/\/dev\/emudisk\/b/-}" && dmsetup suspend p && dmsetup resume p; }
listed() {
	local used
	full && into used dmt field p dev.1.used && [ "$(extents holds 1 0)" = "$used" ] && [ "$(extents lost 0)" = 0 ] &&
		without_b && [ "$(extents lost 0)" = "$used" ]
}
scenario "what a member has, and what is lost with it" listed
swap() {
	full && discard 0 256 && write 128 128 9 && cut keep=all && { holds 0 128 0 || holds 0 128 1; } &&
		{ holds 128 128 9 || holds 128 128 1 || holds 128 128 0; }
}
scenario "an extent freed and wanted at once is not reused before its free is durable" swap

# --- what a member has lost before it was committed ------------------------------------------------

# Extents 40 and 41 were on b; 41 is in one of their places now, in b's cache, and both have the pattern of 1 below.
make_places() { full && discard 5120 256 && message p commit && wait_for 10 status_is p dev.1.used 29; }
reuse_place() { write 5248 128 9 && status_is p dev.1.used 30; }
recycle() { make_places && reuse_place; }
nothing_foreign() { holds 0 5120 1 -- verify $dev 5120 128 0 -- verify $dev 5376 2560 1 && either 5248 128 9; }
# One disk's power, which comes again at once
lose_cache() { echo keep=none >$emudisk/$1/cut && echo on >$emudisk/power; }
# In this order: a member that fails to flush at that moment, and is as ever afterwards
bad_flush() { slow "$1" fail=flush && ! "${@:2}" && slow "$1" fail=none && wait_for 10 "${@:2}"; }
until_failed() {
	local n
	for ((n = 0; n < 12; n++)); do
		! flush || break
	done
	status_is p dev.${1:-1}.state failed && wait_for 10 flush
}

gone_for_good() {
	recycle && slow b fail=flush && until_failed && lose_cache b && nothing_foreign && write 0 8 1 && flush &&
		cut && nothing_foreign
}
scenario "a recycled place on a member that is given up" gone_for_good
gone_once() { recycle && lose_cache b && bad_flush b flush && nothing_foreign && cut && nothing_foreign; }
scenario "a recycled place, and a flush that fails once" gone_once
gone_in_checkpoint() {
	recycle && lose_cache b && bad_flush b message p checkpoint && nothing_foreign && cut && nothing_foreign
}
scenario "the same in a checkpoint" gone_in_checkpoint
# The write is under way when the metadata can't be written any more, and ends when nothing is committed any more.
gone_read_only() {
	full && discard 5120 256 && message p commit && wait_for 10 status_is p dev.1.used 29 && slow b write_lat=5s &&
		{ write 5248 128 9 & } && wait_for 10 has_requests b && slow m fail=write && ! message p commit &&
		status_is p mode ro && wait $! && slow b write_lat=10us && lose_cache b && slow b fail=flush && ! flush &&
		slow b fail=none && nothing_foreign && status_is p mode ro && cut && nothing_foreign
}
scenario "a recycled place that was written in a pool that is read-only by then, and a flush that fails" gone_read_only
gone_with_member() {
	recycle && slow b fail=flush && dmsetup load p --table "${table/\/dev\/emudisk\/b/-}" && dmsetup suspend p &&
		dmsetup resume p && wait_for 10 flush && cut && nothing_foreign
}
scenario "a recycled place on a member that is taken away" gone_with_member

# The first commit without it is for another member, which does not depend on it.
taken_away() {
	drop_leftovers
	restore_speed && wipe m a b c && table=$(line 40 "a b c") && pool p "$table" && write 0 $((40 * 128)) 1 && flush &&
		message p evacuate 2 && write $((39 * 128)) 8 2 && slow b fail=flush && without_b && message p remove 2 &&
		status_is p dev.2.state removed && ! flush && wait_for 10 flush
}
scenario "a member that is taken away with what it has not flushed" taken_away

# A granule is committed, another one is not; beneath that is junk.
granules() { fresh && write 0 8 1 && flush && write 16 8 2; }
granules_are_own() { holds 0 8 1 -- verify $dev 8 8 0 -- verify $dev 24 104 0 && either 16 8 2; }
gone_granule() { granules && lose_cache a && bad_flush a flush && granules_are_own && cut && granules_are_own; }
scenario "a granule first written, and a flush that fails once" gone_granule
gone_replayed() {
	granules && flush && cut && write 32 8 3 && lose_cache a && bad_flush a flush &&
		holds 0 8 1 -- verify $dev 16 8 2 && either 32 8 3 && cut && holds 0 8 1 -- verify $dev 16 8 2 &&
		either 32 8 3
}
scenario "the same in an extent that was replayed" gone_replayed
# It has failed, is written to nevertheless, loses its power, and is said to be in order when it has it again.
gone_and_reinstated() {
	fresh && write 0 8 1 && flush && write 8 8 1 && slow a fail=flush && until_failed 0 && slow a fail=none &&
		wait_for 10 flush && write 16 8 2 && status_is p dev.0.state failed && lose_cache a &&
		message p reinstate 0 && status_is p dev.0.state active && reinstated_are_own && wait_for 10 flush &&
		cut && reinstated_are_own
}
reinstated_are_own() { holds 0 8 1 -- verify $dev 24 104 0 && either 8 8 1 && either 16 8 2; }
scenario "a granule first written on a member that has failed, lost that, and is taken back" gone_and_reinstated
# The extent is committed at another place, all of it.
gone_rewritten() {
	fresh && write 0 128 1 && flush && discard 0 128 && write 0 128 2 && lose_cache a && bad_flush a flush &&
		either 0 128 2 && cut && either 0 128 2
}
scenario "an extent that was discarded and written anew, and a flush that fails once" gone_rewritten
# Copied when it was lost already, and before anybody knew
gone_and_moved() {
	granules && lose_cache a && message p move 0 1 && wait_for 20 arrived && bad_flush a flush &&
		granules_are_own && cut && granules_are_own
}
scenario "an extent that moves away from a member that lost a granule of it" gone_and_moved
# Likewise, and its new place is committed by the timer before anybody flushes; a message would ask all members
gone_moved_by_itself() {
	local got
	fresh && message p set commit_ms 2000 && write 0 8 1 && flush && get p commits && write 16 8 2 &&
		slow a fail=flush && lose_cache a && message p move 0 1 && wait_for 20 arrived &&
		wait_for 10 asked_or_committed "${got[0]}" && slow a fail=none && { flush || wait_for 10 flush; } &&
		granules_are_own && cut && granules_are_own
}
asked_or_committed() { status_above p commits "$1" || ! status_is p dev.0.state active; }
scenario "an extent that moves away from a member that lost a granule of it, and no flush" gone_moved_by_itself
gone_and_moved_on() {
	granules && lose_cache a && message p move 0 1 && wait_for 20 arrived && message p move 0 0 &&
		wait_for 20 status_is p completed 2 && bad_flush a flush && granules_are_own && cut && granules_are_own
}
scenario "the same, there and back" gone_and_moved_on
# Where it was in between has lost it; where it was at first has not.
gone_in_between() {
	fresh && write 0 128 1 && message p commit && message p move 0 1 && wait_for 20 arrived && lose_cache b &&
		message p move 0 0 && wait_for 20 status_is p completed 2 && bad_flush b flush && holds 0 128 1 &&
		cut && holds 0 128 1
}
scenario "an extent that moves on from a member that lost it" gone_in_between
# Written again after that: durable like anything else
gone_and_written() {
	granules && lose_cache a && bad_flush a flush && write 16 8 4 && flush && cut &&
		holds 0 8 1 -- verify $dev 16 8 4
}
scenario "what is written after a flush that failed" gone_and_written

# What is over what is there already changes no entry, and is acknowledged while the flush is under way that loses it.
late_lost() {
	local first second
	fresh && message p set tell_ms 0 && write 0 128 1 && flush && write 0 8 2 && slow a flush=10s || return
	flush & first=$!
	wait_for 10 has_requests a && "$@" || return
	slow a flush=0 && ! wait $first && { ! wait $second || holds 8 8 3; }
}
then_flush() {
	write 8 8 3 || return
	flush & second=$!
	once_it_waits
}
then_fua() {
	fua 8 8 3 & second=$!
	once_it_waits
}
waits() { local state=''; read -r _ _ state _ <"/proc/$second/stat" && [ "$state" = D ]; }
once_it_waits() {
	wait_for 8 waits || return
	pause 0.2
	lose_cache a
}
late_flush() { late_lost then_flush; }
scenario "a flush after a write that was acknowledged while another flush failed" late_flush
late_fua() { late_lost then_fua; }
scenario "a FUA write likewise" late_fua
# Who reinstates a member has it flushed.
asked_by_message() {
	recycle && lose_cache b && slow b fail=flush && ! message p reinstate 1 && slow b fail=none &&
		{ flush || wait_for 10 flush; } && nothing_foreign && cut && nothing_foreign
}
scenario "a recycled place on a member of which a reinstatement's flush fails" asked_by_message
# The commit has no reason to ask b, and is kept by a; what is written to b meanwhile is lost when b is asked at the end.
asked_at_the_end() {
	local asked entry
	make_places && into entry dmt message p 0 entry 0 && [[ $entry = "0 "* ]] && write 0 8 1 && slow a stall=1 &&
		slow b fail=flush || return
	message p reinstate 1 & asked=$!
	wait_for 10 has_requests a && reuse_place && lose_cache b && slow a stall=0 && ! wait $asked && slow b fail=none &&
		{ flush || wait_for 10 flush; } && nothing_foreign && cut && nothing_foreign
}
scenario "the same when it was written after the commit had looked" asked_at_the_end

# --- while an extent moves -----------------------------------------------------------------------

while_copied() {
	fresh && write 0 128 1 && slow a read_lat=500ms && message p move 0 1 && pause 0.2 && write 8 16 2 &&
		wait_for 20 arrived &&
		slow a read_lat=10us && holds 8 16 2 -- verify $dev 24 104 1
}
scenario "what is written while it is copied" while_copied
# What begins at once would be waited for before the copy: the grace period has not begun yet.
while_switched() {
	fresh && write 0 128 1 && slow a write_lat=1400ms && slow b write_lat=600ms && message p move 0 1 &&
		pause 0.2 && { write 8 16 2 & } && wait &&
		wait_for 20 arrived && holds 8 16 2
}
scenario "a write that is under way when the copy is done" while_switched

# Most of it has been copied, and lost; nobody would know any more when the rest has been. Who flushes has written there.
copied_in_vain() {
	fresh && write 0 256 1 && message p move 1 1 && wait_for 20 arrived && message p commit &&
		slow b write_lat=1s && message p move 0 1 && pause 0.3 && write 0 8 2 && slow a read_lat=6s && pause 3 &&
		slow b write_lat=10us && write 128 8 1 && lose_cache b && bad_flush b flush && message p reinstate 1 &&
		status_is p dev.1.state active && slow a read_lat=10us && wait_for 20 finished && wait_for 10 flush && cut && holds 0 8 2 -- verify $dev 8 120 1
}
scenario "an extent that moves to a member that lost the copy, and was reinstated" copied_in_vain

# --- while users flush: a migration has its new place flushed before the map points there ----------

is_settling() { wait_for 10 has_requests b && pause 0.1 && has_requests b; }
# What is written meanwhile is copied after that flush, and is for the next one.
while_settled() {
	fresh && write 0 128 1 && flush && slow b flush=2s && message p move 0 1 && is_settling && write 8 16 2 &&
		wait_for 20 arrived && flush && cut && holds 0 8 1 -- verify $dev 8 16 2 -- verify $dev 24 104 1
}
scenario "what is written while the flush of a copy is under way" while_settled
# A write to where it is does not wait for that flush, which may take for ever.
unhindered() {
	local from
	fresh && write 0 128 1 && flush && slow b flush=10s && message p move 0 1 && is_settling &&
		from=$SECONDS && write 8 16 2 && flush && [ $((SECONDS - from)) -lt 8 ] && has_requests b &&
		cut && holds 0 8 1 -- verify $dev 8 16 2
}
scenario "a write to an extent, and a flush, while that of its copy is under way" unhindered
stays() { finished && status_is p completed 0 && status_is p dev.1.state degraded; }
not_settled() {
	fresh && write 0 128 1 && flush && slow b fail=flush && message p move 0 1 && wait_for 20 stays && flush &&
		slow b fail=none && holds 0 128 1 && message p reinstate 1 && status_is p dev.1.state active && flush &&
		message p move 0 1 && wait_for 20 arrived && flush && cut && holds 0 128 1
}
scenario "an extent that stays where it was, as the flush of its copy fails" not_settled
# Users flush, and have not yet waited for b: who flushes what he has written there does so for copies, too.
recycle_later() { make_places && remove_pool p && pool p "$table" && flush && reuse_place; }
# What users wrote there, and b has lost, no later flush would tell of.
eaten() {
	recycle_later && lose_cache b && slow b fail=flush && message p move 0 1 && wait_for 20 stays && slow b fail=none &&
		! flush && wait_for 10 flush && nothing_foreign && cut && nothing_foreign
}
scenario "what users wrote to a member that the flush of a copy finds to have lost it" eaten
# Somebody flushes while that flush is under way: his finds nothing left to be written, and would end well.
eaten_meanwhile() {
	recycle_later && lose_cache b && slow b flush=2s fail=flush && message p move 0 1 && is_settling &&
		slow b fail=none && ! flush && wait_for 10 flush && nothing_foreign && cut && nothing_foreign
}
scenario "the same for a flush that comes during that of the copy" eaten_meanwhile
# Where it was has it, and nobody wrote to it since: b is not asked for that, unless something is known of it, and there
# is nothing to tell.
dead_by_then() {
	local entry
	make_places && remove_pool p && pool p "$table" && message p set degrade_errors 1 && flush &&
		message p move 0 1 && wait_for 20 arrived && slow b fail=all && ! holds $((45 * 128)) 8 1 &&
		status_is p dev.1.state degraded && flush && slow b fail=none &&
		into entry dmt message p 0 entry 0 && [[ $entry = "0 "* ]] && flush && cut && holds 0 5120 1
}
scenario "an extent that moved to a member that has errors before the next commit, and can't flush" dead_by_then
# A member that is not believed, as writes to it failed, is not believed what moved there either.
undone() {
	local entry
	make_places && remove_pool p && pool p "$table" && flush && message p move 0 1 && wait_for 20 arrived &&
		slow b fail=write && ! write 5760 8 2 && slow b fail=none && message p reinstate 1 &&
		into entry dmt message p 0 entry 0 && [[ $entry = "0 "* ]] && flush && holds 0 128 1 && cut && holds 0 128 1
}
scenario "an extent that moved to a member that is not believed before the next commit" undone
# The same where something was written to it since, which the place that it goes back to has not.
undone_with_a_write() {
	make_places && remove_pool p && pool p "$table" && message p set degrade_errors 1 && flush &&
		message p move 0 1 && wait_for 20 arrived && write 0 8 2 && slow b fail=all && ! holds $((45 * 128)) 8 1 &&
		! flush && slow b fail=none && wait_for 10 flush && holds 0 5120 1 && cut && holds 0 5120 1
}
scenario "what is written to an extent that moved to such a member, and goes back" undone_with_a_write
# It has moved on by then, to where nothing is lost, and is written there: it goes back all the way.
undone_all_the_way() {
	fresh && write 0 256 1 && message p move 1 1 && wait_for 20 arrived && flush && remove_pool p && pool p "$table" &&
		message p set degrade_errors 1 && flush && message p move 0 1 && wait_for 20 arrived && message p move 0 0 &&
		wait_for 20 status_is p completed 2 && write 0 8 2 && slow b fail=all && ! holds 128 8 1 &&
		! flush && slow b fail=none && wait_for 10 flush && holds 0 256 1 && cut && holds 0 256 1
}
scenario "what is written to one that was on such a member for a while" undone_all_the_way
# What was discarded where it moved to is not there again when it goes back.
undone_discarded() {
	make_places && remove_pool p && pool p "$table" && message p set degrade_errors 1 && flush &&
		message p move 0 1 && wait_for 20 arrived && discard 8 8 && slow b fail=all && ! holds $((45 * 128)) 8 1 &&
		flush && slow b fail=none && holds 0 8 1 -- verify $dev 8 8 0 -- verify $dev 16 5104 1 && flush && cut &&
		holds 0 8 1 -- verify $dev 8 8 0 -- verify $dev 16 5104 1
}
scenario "what is discarded of an extent that moved to such a member, and goes back" undone_discarded

# What was written since the copy is discarded when the copy is done, so that there is nothing more to copy, and an older
# granule is being written: the write is waited for all the same.
while_switched_and_discarded() {
	fresh && write 0 8 1 && slow b write_lat=1000ms && message p move 0 1 && pause 0.2 &&
		write 8 8 2 && discard 8 8 && slow a write_lat=2000ms && { write 0 8 3 & } && pause 0.1 &&
		slow b write_lat=10us && wait && wait_for 20 arrived && holds 0 8 3 && flush && cut && holds 0 8 3
}
scenario "the same when what was written meanwhile is discarded" while_switched_and_discarded
while_written_anew() {
	fresh && write 0 8 1 && slow b write_lat=1000ms && message p move 0 1 && pause 0.2 &&
		discard 0 128 && write 0 8 2 && slow a write_lat=2000ms && { write 8 8 3 & } && pause 0.1 &&
		slow b write_lat=10us && wait && holds 0 8 2 -- verify $dev 8 8 3 && flush && cut && holds 0 8 2
}
scenario "an extent that is discarded and written anew while it moves" while_written_anew

# --- below the disks' own queue: dm-delay holds bios back before they reach the disk ---------------

# until_under_way COMMAND...: a request of this command in the background; where it is too late or too soon to be seen
# nothing is tried, and the outcome the same.
until_under_way() {
	local device
	device=$((0x$(stat -Lc %t $dev))):$((0x$(stat -Lc %T $dev)))
	"$@" &
	wait_for 20 is_under_way "/sys/dev/block/$device/inflight" || :
}
is_under_way() { local r w; read -r r w <"$1" && [ $((r + w)) -gt 0 ]; }
before_move() {
	fresh_disks && slow_member 0 900 && pool p "$(line 40 "/dev/mapper/slow b")" && write 0 128 1 &&
		until_under_way write 8 16 2 && message p move 0 1 && wait && wait_for 20 arrived && holds 8 16 2
}
scenario "a write that began before its extent moved" before_move
# The flush behind somebody's FUA write is one of the member, where the disk may have no such write of its own.
lost_by_fua() {
	fresh_disks && wipe a b m && slow_member 0 0 && table=$(line 40 "/dev/mapper/slow b") && pool p "$table" &&
		write 0 256 1 && flush && write 0 8 2 && slow a fail=write && ! fua 128 8 2 && slow a fail=none &&
		! flush && wait_for 10 flush && no_slow_member
}
scenario "what is lost as the flush behind a FUA write fails" lost_by_fua
late_reader() {
	fresh_disks && slow_member 2000 0 && pool p "$(line 62 "/dev/mapper/slow b")" &&
		write 0 $((62 * 128)) 1 && flush &&
		until_under_way holds 0 8 1 && discard 0 128 && discard 128 128 && write 128 128 9 && wait $!
}
scenario "a reader that is late finds what it looked for" late_reader

# --- while a pool is made ------------------------------------------------------------------------

# The power goes after the superblock was written and before the labels say so: they are what would have the pool made
# again, over data, so that nothing may be written to it until they say otherwise.
not_yet_settled() {
	local last
	fresh_disks && rec clear && wipe m a b && rec start && pool p "$(line)" && remove_pool p && rec stop || return
	last=$(awk '$3 == "m" && $4 == "write" && $5 == 0 { at = $1 } END { print at - 1 }' /dev/emudisk-log)
	rec replay to="$last" keep=all && slow m fail=write && log_mark && ! dmsetup create p --table "$(line)" &&
		log_since | grep "the labels of metadata area 0 can't be mended" || return
	slow m fail=none && pool p "$(line)" && write 0 256 1 && flush && remove_pool p && pool p "$(line)" &&
		pool_is_sound && holds 0 256 1
}
scenario "no write before the labels are settled" not_yet_settled

# The power goes when the first label has been written, over what another pool left: its labels are wiped, no more.
after_another() {
	local disk first
	drop_leftovers
	restore_speed && wipe m a b && pool p "$(line)" && write 0 256 1 && flush && remove_pool p || return
	for disk in m a b; do wipe_labels $disk || return; done
	rec clear && rec start && pool p "$(line)" && remove_pool p && rec stop || return
	first=$(awk '$3 == "m" && $4 == "write" && $5 == 0 { print $1; exit }' /dev/emudisk-log)
	rec replay to="$first" keep=all && pool p "$(line)" && holds 0 256 0 && write 0 256 1 && flush &&
		remove_pool p && pool p "$(line)" && pool_is_sound && holds 0 256 1
}
scenario "a pool where another one was, cut at its first label" after_another

just_made() {
	drop_leftovers
	restore_speed && wipe m a b && blkio flush /dev/emudisk/m -- flush /dev/emudisk/a -- flush /dev/emudisk/b &&
		table=$(line) && pool p "$table" && cut
}
scenario "a pool that was just made" just_made

# Longer than it was made: all others were as long as their members at first.
grown() {
	drop_leftovers
	restore_speed && wipe m a b && pool p "$(line)" && table=$(line 62) && dmsetup load p --table "$table" &&
		dmsetup suspend p && dmsetup resume p && write $((60 * 128)) 128 1 && flush && cut &&
		holds $((60 * 128)) 128 1
}
scenario "what is written where the volume grew" grown

# A page that is damaged on the one that stays is whole on the one that leaves, until then.
mended() {
	local pages
	drop_leftovers
	restore_speed && wipe m a b e && table=$(line 40 "a b" "m e") && pool p "$table" && write 0 256 1 &&
		message p checkpoint && pages=$(od -An -tu8 -j $((1048576 + 144)) -N 8 /dev/emudisk/m) &&
		blkio zero /dev/emudisk/m $((pages / 512)) 16 && message p metadata leave 1 &&
		wait_for 60 status_is p meta AS && power_cycle && pool p "$table" && status_is p meta AS &&
		pool_is_sound && holds 0 256 1
}
scenario "a metadata area that has left, and the other one was damaged" mended

# out: the second one has left
mirrored_but_out() {
	drop_leftovers
	restore_speed && wipe m a b e && table=$(line 40 "a b" "m e") && pool p "$table" && write 0 256 1 && flush &&
		message p metadata leave 1 && wait_for 60 status_is p meta AS
}
last_resort() {
	mirrored_but_out && power_cycle && pool p "$(line 40 "a b" "- e")" && status_is p meta FA && holds 0 256 1
}
scenario "a metadata area that has left, and the other one is lost" last_resort

given_up() {
	mirrored_but_out && slow e write_lat=500ms && message p metadata resync 1 && dmsetup suspend p &&
		dmsetup resume p && status_is p meta AS && slow e write_lat=10us && message p metadata resync 1 &&
		wait_for 60 status_is p meta AA && power_cycle && pool p "$table" && status_is p meta AA && holds 0 256 1
}
scenario "a metadata area that was not made a mirror before a suspension" given_up

# A FUA write that is under way when a checkpoint begins fails while its pages are written: they may be lost with that, on a
# disk that may be the same, and are written to the same places again.
checkpoint_beside_fua() {
	local held ckpt
	drop_leftovers
	restore_speed && wipe m a b && slow_member 0 0 && table=$(line 40 "/dev/mapper/slow b") && pool p "$table" &&
		write 0 256 1 && flush && rec clear && rec start && dmsetup suspend slow || return
	until_under_way fua 128 8 2
	held=$!
	slow m stall=1
	message p checkpoint &
	ckpt=$!
	wait_for 20 is_under_way "/sys/block/emudisk!m/inflight"
	slow a fail=write
	dmsetup resume slow
	! wait $held || { restore_speed; return 1; }
	slow a fail=none
	slow m stall=0
	wait $ckpt && rec stop && written_twice m && holds 0 128 1 && message p checkpoint && no_slow_member &&
		pool p "$(line)" && holds 0 128 1
}
written_twice() { awk -v disk="$1" '$3 == disk && $4 == "write" && seen[$5]++ { n++ } END { exit !n }' /dev/emudisk-log; }
scenario "a checkpoint beside a FUA write whose flush fails" checkpoint_beside_fua
check "the end" eval 'restore_speed && rec clear'
done_testing
