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
is "all on the first" "$(status p dev.0.used) $(status p dev.1.used)" "47 0"
check "the second takes what follows" blkio write $dev $((47 * ext)) $((47 * ext)) "$seed"
is "both are full" "$(status p dev.0.used) $(status p dev.1.used)" "47 47"
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
check "ten times" bash -c "for i in {1..10}; do blkio discard $dev 256 256 -- write $dev 256 256 \$i -- verify $dev 256 256 \$i || exit; done"
is "still full" "$(status p dev.0.used)" 31
check "the others stay" blkio verify $dev 768 $((25 * ext)) "$seed"
is "mode rw" "$(status p mode)" rw
remove_pool p

# A length within the members' sum needs no ENOSPC; a failed member makes one.
wipe m c
check "a pool of two" pool p "$(table $((47 * 2 * ext)) $ext m "a b" 0 "fill 0")"
check "10 extents on the first" blkio write $dev 0 $((10 * ext)) "$seed"
emuctl set b fail=write
check_fails "the second member fails writes" EIO blkio write $dev $((10 * ext)) $((80 * ext)) "$seed"
emuctl set b fail=none
check "the first still has its data" blkio verify $dev 0 $((10 * ext)) "$seed"
check "and takes writes" blkio write $dev 0 16 8 -- verify $dev 0 16 8 -- flush $dev
done_testing
