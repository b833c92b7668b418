#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: where fill, stripe and static put things
# kernels: 6.1 6.12 debug
# timeout: 120
. tests/vm/lib.sh

disk m 16M
disk a 24M
disk b 24M
disk c 24M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
size=131072
make() { wipe m a b c; pool p "$(table $size 128 m "a b c" 0 "$1")"; }
used() { echo "$(status p dev.0.used) $(status p dev.1.used) $(status p dev.2.used)"; }
near() { [ $(($1 - $2)) -le "$3" ] && [ $(($2 - $1)) -le "$3" ]; }

moved() { [ "$(status p started)" != 0 ]; }
check "fill" make "fill 4 period_ms 100 candidates 16"
blkio write $dev 0 $((300 * 128)) "$seed"
is "300 extents on the first" "$(used)" "300 0 0"
blkio write $dev $((300 * 128)) $((200 * 128)) "$seed"
full=$(status p dev.0.total)
is "the rest on the second when it is full" "$(used)" "$full $((500 - full)) 0"
matches "in order on the device, too" "$(message p entry 7) $(message p entry 8)" "^0 7 .* 0 8 "
check "all there" blkio verify $dev 0 $((500 * 128)) "$seed"
# ten periods, at the end of each of which the full one could be relieved
succeeds_within 1 moved
is "and nothing leaves the full one" $? 1
is "all is where it was" "$(used)" "$full $((500 - full)) 0"
remove_pool p

check "stripe" make "stripe 0"
blkio write $dev 0 $((300 * 128)) "$seed"
is "a third each" "$(used)" "100 100 100"
members() { for e in "$@"; do message p entry "$e" | cut -d ' ' -f 1; done | tr '\n' ' '; }
matches "neighbours on different members" "$(members 0 1 2)" "^(0 1 2|1 2 0|2 0 1) $"
remove_pool p

check "static" make "static 2 shares 60,30,10"
for i in {0..299}; do echo "write $dev $((i * 7 % 300 * 128)) 8 1 --"; done | xargs blkio
read -r u0 u1 u2 <<<"$(used)"
note "placed $u0 $u1 $u2"
near "$u0" 180 15 && near "$u1" 90 15 && near "$u2" 30 15
is "300 extents 60:30:10 within 5 percent" $? 0
remove_pool p

check "static with nothing for one" make "static 2 shares 50,50,0"
blkio write $dev 0 $((100 * 128)) 1
field_is "which gets nothing" p dev.2.used 0
remove_pool p
done_testing
