#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: what the constructor refuses, with a reason and without a write
# kernels: 6.1 6.12 debug
# quick: yes
# timeout: 180
. tests/vm/lib.sh

disk m 16M
disk m2 16M
disk a 16M
disk b 16M
disk tiny 1M
disk small 3M
disk large 1T
disk huge 128T
modprobe dm-hybrid || die "no dm-hybrid"
M=/dev/emudisk/m A=/dev/emudisk/a B=/dev/emudisk/b

try() { dmsetup create t --table "$1"; }

# refuse TITLE REGEX WORDS-AFTER-hybrid [LENGTH]
refuse() { expect_refused "$1" "$2" try "0 ${4:-8192} hybrid $3" || dmsetup remove t >/dev/null 2>&1; }

refuse "no words" "metadata areas" ""
refuse "no metadata area" "metadata areas must be 1 or 2" "0 128 2 $A 0 $B 0 0 fill 0"
refuse "three metadata areas" "metadata areas must be 1 or 2" "3 $M 0 $M 0 $M 0 128 2 $A 0 $B 0 0 fill 0"
refuse "metadata areas no number" "metadata areas must be 1 or 2" "x $M 0 128 2 $A 0 $B 0 0 fill 0"
refuse "negative number of metadata areas" "metadata areas must be 1 or 2" "-1 $M 0 128 2 $A 0 $B 0 0 fill 0"
refuse "nothing after the metadata device" "too few words" "1 $M"
refuse "nothing after the metadata area" "extent size" "1 $M 0"
refuse "metadata start unaligned" "multiple of 8" "1 $M 4 128 2 $A 0 $B 0 0 fill 0"
refuse "metadata start no number" "multiple of 8" "1 $M 0x 128 2 $A 0 $B 0 0 fill 0"
refuse "metadata start negative" "multiple of 8" "1 $M -8 128 2 $A 0 $B 0 0 fill 0"
refuse "metadata start past the end" "too small" "1 $M 1048576 128 2 $A 0 $B 0 0 fill 0"
refuse "metadata device missing" "metadata|device|open" "1 /dev/emudisk/none 0 128 2 $A 0 $B 0 0 fill 0"
refuse "metadata lost in a table with one area" "metadata|device|open|-" "1 - 0 128 2 $A 0 $B 0 0 fill 0"
refuse "metadata area too small" "metadata area too small" "1 /dev/emudisk/tiny 0 128 2 $A 0 $B 0 0 fill 0"
refuse "extent size 64" "extent size must be 128 to 8192" "1 $M 0 64 2 $A 0 $B 0 0 fill 0"
refuse "extent size 16384" "extent size must be 128 to 8192" "1 $M 0 16384 2 $A 0 $B 0 0 fill 0"
refuse "extent size 0" "extent size must be 128 to 8192" "1 $M 0 0 2 $A 0 $B 0 0 fill 0"
refuse "extent size 192" "power of two" "1 $M 0 192 2 $A 0 $B 0 0 fill 0"
refuse "extent size no number" "extent size" "1 $M 0 128K 2 $A 0 $B 0 0 fill 0"
refuse "extent size beyond 32 bits" "extent size" "1 $M 0 4294967424 2 $A 0 $B 0 0 fill 0"
refuse "no member" "members must be 1 to 32" "1 $M 0 128 0 0 fill 0"
refuse "33 members" "members must be 1 to 32" "1 $M 0 128 33 $(for _ in {1..33}; do printf '%s 0 ' $A; done) 0 fill 0"
refuse "members no number" "members must be 1 to 32" "1 $M 0 128 two $A 0 $B 0 0 fill 0"
refuse "fewer members than announced" "too few words|multiple of 8|features|device" "1 $M 0 128 3 $A 0 $B 0 0 fill 0"
refuse "member start unaligned" "multiple of 8" "1 $M 0 128 2 $A 1 $B 0 0 fill 0"
refuse "member device missing" "member|device|open" "1 $M 0 128 2 $A 0 /dev/emudisk/none 0 0 fill 0"
refuse "new pool with a lost metadata area" "needs all its metadata areas" "2 $M 0 - 0 128 2 $A 0 $B 0 0 fill 0"
refuse "new pool that is read-only" "can't be read-only" "1 $M 0 128 2 $A 0 $B 0 1 read_only fill 0"
refuse "member with more extents than an entry can name" "too large for the extent" "1 $M 0 128 2 $A 0 /dev/emudisk/huge 0 0 fill 0"
refuse "metadata area too small for so much" "metadata area too small" "1 $M 0 128 2 $A 0 /dev/emudisk/large 0 0 fill 0" $((1 << 31))
refuse "new pool with a lost member" "needs all its members" "1 $M 0 128 2 $A 0 - 0 0 fill 0"
refuse "member too small" "member too small" "1 $M 0 128 2 $A 0 /dev/emudisk/tiny 0 0 fill 0"
refuse "member without room for an extent" "member too small" "1 $M 0 8192 2 $A 0 /dev/emudisk/small 0 0 fill 0"
refuse "the same area twice" "same sector" "1 $M 0 128 2 $A 0 $A 0 0 fill 0"
refuse "metadata and member at one place" "same sector" "1 $A 0 128 2 $A 0 $B 0 0 fill 0"
refuse "two areas that leave no room for the first" "too small" "1 $M 0 128 2 $A 0 $A 8 0 fill 0"
refuse "no number of features" "features" "1 $M 0 128 2 $A 0 $B 0"
refuse "features no number" "features" "1 $M 0 128 2 $A 0 $B 0 fill 0"
refuse "too many features" "features" "1 $M 0 128 2 $A 0 $B 0 99 fill 0"
refuse "fewer features than announced" "fewer features|feature" "1 $M 0 128 2 $A 0 $B 0 2 read_only"
refuse "unknown feature" "unknown feature" "1 $M 0 128 2 $A 0 $B 0 1 turbo fill 0"
refuse "no policy" "policy missing" "1 $M 0 128 2 $A 0 $B 0 0"
refuse "no number of policy arguments" "policy arguments" "1 $M 0 128 2 $A 0 $B 0 0 fill"
refuse "unknown policy" "unknown policy" "1 $M 0 128 2 $A 0 $B 0 0 nosuch 0"
refuse "odd number of policy arguments" "odd|policy arguments" "1 $M 0 128 2 $A 0 $B 0 0 fill 1 period_ms"
refuse "fewer policy arguments than announced" "not what follows|policy arguments" "1 $M 0 128 2 $A 0 $B 0 0 fill 2 period_ms"
refuse "more words than announced" "not what follows|policy arguments" "1 $M 0 128 2 $A 0 $B 0 0 fill 0 period_ms 10"
refuse "unknown key" "unknown" "1 $M 0 128 2 $A 0 $B 0 0 fill 2 speed 10"
refuse "a key of another policy" "unknown" "1 $M 0 128 2 $A 0 $B 0 0 fill 2 alpha 10"
refuse "value no number" "value|number|range" "1 $M 0 128 2 $A 0 $B 0 0 fill 2 period_ms fast"
refuse "value out of range" "value|range" "1 $M 0 128 2 $A 0 $B 0 0 fill 2 low_free 99"
refuse "shares that are no 100 percent" "share" "1 $M 0 128 2 $A 0 $B 0 0 static 2 shares 80,30"
refuse "shares of three for two" "share" "1 $M 0 128 2 $A 0 $B 0 0 static 2 shares 50,30,20"
refuse "shares of two thousand digits" "policy arguments too long" "1 $M 0 128 2 $A 0 $B 0 0 static 2 shares $(printf '1%.0s' {1..2000})"
refuse "shares that are none" "share" "1 $M 0 128 2 $A 0 $B 0 0 static 2 shares a,b"
refuse "longer than its members" "length|long" "1 $M 0 128 2 $A 0 $B 0 0 fill 0" 131072
refuse "length unaligned" "length|multiple" "1 $M 0 128 2 $A 0 $B 0 0 fill 0" 8191

# what is not ours
blkio write $M 16 8 1
refuse "metadata area holds something else" "holds something else" "1 $M 0 128 2 $A 0 $B 0 0 fill 0"
wipe m
blkio write $M 32760 8 1
refuse "something at the metadata area's end" "holds something else|damaged" "1 $M 0 128 2 $A 0 $B 0 0 fill 0"
wipe m
mkfs.ext4 -q $A 8192
refuse "a file system on a member" "member holds something else" "1 $M 0 128 2 $A 0 $B 0 0 fill 0"
blkio zero $A 0 32768

# what is another's, or not whole
check "a good pool" pool p "$(table 8192 128 m "a b" 0 "fill 0")"
blkio write /dev/mapper/p 0 1024 "$seed"
remove_pool p
save() { dd if="/dev/emudisk/$1" of="/tmp/$1.$2" bs=4k count="${3:-1}" skip="${4:-0}" status=none; }
restore() { dd if="/tmp/$1.$2" of="/dev/emudisk/$1" bs=4k seek="${3:-0}" conv=notrunc,fsync status=none; }

refuse "members in another order" "order" "1 $M 0 128 2 $B 0 $A 0 0 fill 0"
refuse "a member less" "number of members" "1 $M 0 128 1 $A 0 0 fill 0"
refuse "another extent size" "extent size is not" "1 $M 0 256 2 $A 0 $B 0 0 fill 0"
refuse "another start" "holds something else|elsewhere" "1 $M 0 128 2 $A 0 $B 2048 0 fill 0"
refuse "metadata and member exchanged" "metadata area where|reverse" "1 $A 0 128 2 $M 0 $B 0 0 fill 0"
refuse "longer than it was made" "longer than the pool was made for" "1 $M 0 128 2 $A 0 $B 0 0 fill 0" 16384
refuse "a second, blank metadata area" "blank|number of" "2 $M 0 /dev/emudisk/m2 0 128 2 $A 0 $B 0 0 fill 0"
save a label
blkio zero $A 0 8
save a copy 1 4095
blkio zero $A 32760 8
refuse "a member without its label" "holds something else|label" "1 $M 0 128 2 $A 0 $B 0 0 fill 0"
restore a label
restore a copy 4095
save m label
save m copy 1 4095
printf '\377' | dd of=$M bs=1 seek=100 conv=notrunc status=none
printf '\377' | dd of=$M bs=1 seek=$((4095 * 4096 + 100)) conv=notrunc status=none
refuse "a damaged metadata label, and its copy" "damaged" "1 $M 0 128 2 $A 0 $B 0 0 fill 0"
restore m label
check "with the label whole and the copy damaged it starts" pool p "$(table 8192 128 m "a b" 0 "fill 0")"
remove_pool p
restore m copy 4095
blkio write $M 0 8 3
check_fails "metadata overwritten from the start" "." try "$(table 8192 128 m "a b" 0 "fill 0")"
restore m label

# one of two metadata areas that has lost what it had
wipe m m2 a b
check "a pool with two metadata areas" pool p "$(table 8192 128 "m m2" "a b" 0 "fill 0")"
remove_pool p
wipe m2
refuse "one of two metadata areas blank" "one metadata area is blank" "2 $M 0 /dev/emudisk/m2 0 128 2 $A 0 $B 0 0 fill 0"
wipe m a b
check "a pool with data" pool p "$(table 8192 128 m "a b" 0 "fill 0")"
blkio write /dev/mapper/p 0 1024 "$seed"
remove_pool p

# blank when the table is loaded, a pool with data when it is resumed
for d in m a b; do save $d whole 4096; done
wipe m a b
check "a table of blank disks, not resumed" eval 'dmsetup create p --notable && dmsetup load p --table "$(table 8192 128 m "a b" 0 "fill 0")"'
for d in m a b; do restore $d whole; done
expect_refused "its resume, when a pool is there meanwhile" "not what they were" dmsetup resume p
check "remove" dmsetup remove p
check "that pool starts" pool p "$(table 8192 128 m "a b" 0 "fill 0")"
check "and has its data, too" blkio verify /dev/mapper/p 0 1024 "$seed"
remove_pool p

# Two new pools, each allowed by itself; the first that is resumed has the disk.
wipe m m2 a
check "a table of blank disks" eval 'dmsetup create p --notable && dmsetup load p --table "$(table 8192 128 m a 0 "fill 0")"'
check "another one with one of them" eval 'dmsetup create q --notable && dmsetup load q --table "$(table 8192 128 m2 a 0 "fill 0")"'
check "one starts" dmsetup resume p
expect_refused "the other one doesn't" "in use by another pool" dmsetup resume q
check "remove both" eval 'dmsetup remove q && dmsetup remove --retry p'
for d in m a b; do restore $d whole; done
wipe m2

disk c 16M
disk d 16M
check "a second pool" pool q "$(table 8192 128 m2 "c d" 0 "fill 0")"
refuse "a member of another pool" "another pool" "1 $M 0 128 2 $A 0 /dev/emudisk/d 0 0 fill 0"
refuse "a new pool out of a member in use" "another pool|holds something else|busy" \
	"1 $M 0 128 2 $A 0 /dev/emudisk/d 0 0 fill 0"
check "the first pool starts beside it" pool p "$(table 8192 128 m "a b" 0 "fill 0")"
check "and has its data" blkio verify /dev/mapper/p 0 1024 "$seed"

# a table that can't be is refused beside the live one, which goes on
before=$(dmsetup table p)
expect_refused "a wrong reload" "unknown policy" dmsetup load p --table "$(table 8192 128 m "a b" 0 "nosuch 0")"
is "leaves the live table" "$(dmsetup table p)" "$before"
check "which works" blkio write /dev/mapper/p 2048 8 4 -- verify /dev/mapper/p 2048 8 4 -- flush /dev/mapper/p
remove_pool p
done_testing
