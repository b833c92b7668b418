#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: a member full, the pool full, space that comes back
# kernels: 6.1 6.12 debug
# timeout: 120
. tests/vm/lib.sh

# 4 MiB areas: 1 MiB label, 47 extents of 64 KiB each, and the label's copy
disk m 16M
disk a 4M
disk b 4M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
ext=128
expect_refused "longer than the members hold" "length|long" \
	dmsetup create p --table "$(table $((95 * ext)) $ext m "a b" 0 "fill 0")"
all=94 size=$((94 * ext))
check "as long as the members hold" pool p "$(table $size $ext m "a b" 0 "fill 0")"
total() { echo $(($(status p dev.0.total) + $(status p dev.1.total))); }
used() { echo $(($(status p dev.0.used) + $(status p dev.1.used))); }
is "its members have so many extents" "$(total)" $all

check "fill the first member" blkio write $dev 0 $((47 * ext)) "$seed"
fields_are "all on the first" p "dev.0.used dev.1.used" "47 0"
check "the second takes what follows" blkio write $dev $((47 * ext)) $((47 * ext)) "$seed"
fields_are "both are full" p "dev.0.used dev.1.used" "47 47"
check "all is there" blkio verify $dev 0 $size "$seed"
remove_pool p

# The same pool can't be longer; so an extent is taken out of play by a smaller pool with a hole in it.
wipe m a b
disk c 3M	# 31 extents
check "a pool of one member" pool p "$(table $((31 * ext)) $ext m c 0 "fill 0")"
check "all of it" blkio write $dev 0 $((31 * ext)) "$seed"
check "overwrite while full" blkio write $dev 640 128 5 -- verify $dev 640 128 5
check "discard one extent" blkio discard $dev 0 128
check "and write it again" blkio write $dev 0 128 6 -- verify $dev 0 128 6
ten_times() {
	local i
	for i in {1..10}; do
		blkio discard $dev 256 256 -- write $dev 256 256 "$i" -- verify $dev 256 256 "$i" || return
	done
}
check "ten times" ten_times
field_is "still full" p dev.0.used 31
check "the others stay" blkio verify $dev 768 $((25 * ext)) "$seed"
field_is "mode rw" p mode rw
remove_pool p

# A member that failed is a last resort; a length within the members' sum has room for all of it, without one of
# them not.
wipe m c
line=$(table $size $ext m "a b" 0 "fill 4 commit_ms 50 low_free 0")	# nothing moves by itself
check "a pool of two" pool p "$line"
check "the first is full, the second has one" blkio write $dev 0 $((48 * ext)) "$seed" -- flush $dev
emuctl set b fail=write
check_fails "the second fails a write" EIO blkio write $dev $((48 * ext)) 8 1
emuctl set b fail=none
fields_are "it is degraded, the first is not" p "dev.0.state dev.1.state" "active degraded"
check "it takes what the first has no room for" blkio write $dev $((48 * ext)) 8 1 -- write $dev $((50 * ext)) 8 1
fields_are "there" p "dev.0.used dev.1.used" "47 3"
check "remove" remove_pool p
check "make again without it" pool p "${line/\/dev\/emudisk\/b/-}"
events=0
into events dmt events p
more_events() { local n; into n dmt events p; [ "$n" -gt "$events" ]; }
log_mark
check_fails "no space" ENOSPC blkio write $dev $((60 * ext)) 8 1
check "an event was raised" wait_for 5 more_events
check_fails "nor later" ENOSPC blkio write $dev $((61 * ext)) $((30 * ext)) 1
is "the log says so, once" "$(log_since | grep -c "no free extent on any member")" 1
is "nothing was mapped" "$(used) $(status p mapped)" "50 50"
field_is "mode rw" p mode rw
check "reads and writes go on" blkio verify $dev 0 $((47 * ext)) "$seed" -- write $dev 0 16 8 -- flush $dev
check "what did not fit is zero" blkio verify $dev $((60 * ext)) $((34 * ext)) 0
check "a discard makes room for one" blkio discard $dev $ext $ext -- write $dev $((60 * ext)) $ext 9 \
	-- verify $dev $((60 * ext)) $ext 9
check_fails "not for two" ENOSPC blkio write $dev $((61 * ext)) 8 1
check "in the grammar" in_grammar p
check "remove" remove_pool p
check "make again with both" pool p "$line"
fields_are "both are active" p "dev.0.state dev.1.state" "active active"
check "there is room again" blkio write $dev $((61 * ext)) 8 1 -- verify $dev $((61 * ext)) 8 1
check "nothing is lost" blkio verify $dev $((2 * ext)) $((46 * ext)) "$seed" -- verify $dev $((60 * ext)) $ext 9
remove_pool p

# A volume that ends within an extent, and within a granule: extents of 4 MiB, granules of 128 KiB
disk m2 16M
disk d 40M	# 9 extents
disk e 40M
end=$((2 * 8192 + 1024 + 8))
ends() { table $end 8192 m2 "d e" 0 "stripe 2 commit_ms 50"; }
grown() { table $1 8192 m2 "d e" 0 "stripe 2 commit_ms 50"; }
have() { local got; get p dev.0.used dev.1.used mapped; [ "${#got[*]} $((got[0] + got[1])) ${got[2]}" = "3 $1 $1" ]; }
check "a volume of two extents and a part" pool p "$(ends)"
check "all of it" blkio write $dev 0 $end "$seed" -- flush $dev
check "takes three" have 3
check "a discard of a part at its end" blkio discard $dev $((end - 264)) 264
check "which reads as zeroes" blkio verify $dev $((end - 264)) 264 0 -- verify $dev 16384 $((1024 + 8 - 264)) "$seed"
check "frees nothing" blkio flush $dev -- verify $dev 0 16384 "$seed"
check "three" have 3
check "a discard of all but the last sectors" blkio discard $dev 0 $((end - 8))
check "frees two" wait_for 10 have 1
check "a discard of all that the volume has of the last one" blkio discard $dev 16384 $((end - 16384))
check "frees it" wait_for 10 have 0
check "again, by the command" eval 'blkio write $dev 0 $end "$seed" -- flush $dev && blkdiscard $dev'
check "frees all" wait_for 10 have 0
check "zeroes" blkio verify $dev 0 $end 0

# ... that grows: what was never written there is zeroes, whether the end was freed or not
check "its end is written" blkio write $dev 16384 $((end - 16384)) "$seed" -- flush $dev
reload() { dmsetup load p --table "$1" && dmsetup suspend p && dmsetup resume p; }
check "it grows, within the extent" reload "$(grown $((end + 504)))"
check "what it had, and zeroes" blkio verify $dev 16384 $((end - 16384)) "$seed" -- verify $dev $end 504 0
check "what it has got is written" blkio write $dev $end 504 "$seed" -- flush $dev
check "a table that is shorter" reload "$(ends)"
check "a discard of all that it has" blkio discard $dev 0 $end
check "the longer one" reload "$(grown $((end + 504)))"
check "has what is more than a granule behind that end" blkio verify $dev 16384 1024 0 -- verify $dev $((16384 + 1280)) 256 "$seed"
check "one extent" have 1
check "grown by extents" reload "$(grown $((4 * 8192)))"
check "the same" blkio verify $dev 0 $((16384 + 1024)) 0 -- verify $dev $((16384 + 1280)) 256 "$seed" -- verify $dev $((16384 + 1536)) $((4 * 8192 - 16384 - 1536)) 0
check "a table that ends before the pool does" reload "$(ends)"
check "a discard of all that it has" blkio discard $dev 0 $end -- flush $dev
check "frees nothing of an extent that goes on" have 1
remove_pool p

# a lost member that has the end can leave
wipe m2 d e
check "a volume that ends within an extent" pool p "$(ends)"
check "all of it" blkio write $dev 0 $end "$seed" -- flush $dev
is "its end is on the first member" "$(message p entry 2 | cut -d ' ' -f 1)" 0
lost=$(ends)
check "without that" reload "${lost/\/dev\/emudisk\/d/-}"
check "a discard of all" blkdiscard -f $dev
check "empties it" wait_for 10 have 0
check "it can leave" message p evacuate 0
check "and be removed" message p remove 0
done_testing
