#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: the crash oracle itself: an honest device passes, a lying one does not
# kernels: 6.1
# quick: yes
# timeout: 120
default_points=60
. tests/crash/lib.sh

disk d 4M mem cache=volatile
line="0 8192 linear /dev/emudisk/d 0"
judge() { pool p "$line" && oracle check /dev/mapper/p --log $log --point "$1" && remove_pool p; }

check "an honest device" pool p "$line"
rec start
check "a workload" oracle run /dev/mapper/p --log $log --seed "$seed" --ops 600 --threads 4 --seq $record
cat "$said"
remove_pool p
rec stop
all_points "$points" --every | sweep "is judged honest" "$line" --plain

# A lie: flushes are taken, and not passed on.
rec clear
remove_disk d
disk d 4M mem cache=volatile
check "a device that does not flush" pool p "$line"
dm=dm-$(dmsetup info -c --noheadings -o minor p)
echo "write through" >"/sys/block/$dm/queue/write_cache"
rec start
check "the same workload" oracle run /dev/mapper/p --log $log --seed "$seed" --ops 600 --threads 4 --seq $record
remove_pool p
rec stop
oracle points --log $log --seed "$seed" --count 40 >/tmp/points
oracle sweep p --table "$line" --record $record --log $log --seed "$seed" --plain </tmp/points >/dev/null 2>"$said"
read -r tried caught < <(tr -dc '0-9 \n' <"$said")
note "caught at $caught of $tried points"
[ "$tried" -gt 0 ] && [ "$caught" -ge $((tried / 3)) ]
is "is caught" $? 0
check_fails "no point at all shows nothing" "# 0 points" oracle sweep p --table "$line" --record $record --log $log --seed "$seed" --plain

# Another lie: what was written long ago comes back.
check "the end of it" eval "rec replay to=$never keep=all; judge $never"
oracle settled --log $log >/tmp/settled
one=$(head -n 1 /tmp/settled) other=$(tail -n 1 /tmp/settled)
dd if=/dev/emudisk/d of=/tmp/part bs=512 count=1 skip="$one" status=none
dd if=/tmp/part of=/dev/emudisk/d bs=512 seek="$other" oflag=direct status=none
check_fails "another sector's content is caught" "another sector's" judge $never
drop_leftovers
rec replay to=$never keep=all
dd if=/dev/zero of=/dev/emudisk/d bs=512 seek="$other" count=1 oflag=direct status=none
check_fails "and zeroes that nobody wrote" "not legal" judge $never
drop_leftovers
rec clear
done_testing
