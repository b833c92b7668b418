#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: asymmetry brings reads to what reads fast and writes to what writes fast
# one-of: 2
# kernels: 6.1 6.12
# virtual-time: yes
# timeout: 300
. tests/vm/lib.sh
. tests/vm/apart.sh

disk m 16M
disk flash 128M mem read_lat=200us write_lat=3ms channels=8
disk disk 128M mem read_lat=1ms write_lat=1ms channels=8
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
settings="cooldown_ms 1000 migrate_kbps 0 period_ms 500"
check "a pool" pool p "$(table 32768 128 m "flash disk" 0 "asymmetry 8 rate 0 $settings")"
table_matches "its parameters in the table" p "asymmetry 8 rate 0 period_ms 500 cooldown_ms 1000 migrate_kbps 0$"
check "256 extents, striped" blkio write $dev 0 32768 "$seed"
fields_are "placed" p "dev.0.used dev.1.used" "128 128"

check "requests larger than an extent" apart 2 256k
is "nothing moves for them" "$(status p started)" 0
counted=$(status p reason.size)
note "kept for the size of the requests: $counted"
[ "$counted" -gt 100 ]
is "and is counted" $? 0
matches "explained" "$(message p explain 7)" "size large .*|verdict size"

# as if they had never been: another policy, and back
message p policy stripe
message p policy asymmetry rate 0
trace=/sys/kernel/tracing
[ -d $trace/events ] || mount -t tracefs tracefs $trace 2>/dev/null
traced=$trace/events/hybrid/hybrid_range/enable
[ -e $traced ] && echo 1 >$traced
# The debug kernel's processor has time for fewer requests: up to three times as long.
until_there() {
	for _ in 1 2 3; do
		apart 3 4k || return
		read=$(on 0 0) written=$(on 64 1)
		[ "$read" -lt 60 ] || [ "$written" -lt 60 ] || return 0
	done
}
check "small requests" until_there
if [ -e $traced ]; then
	echo 0 >$traced
	matches "moves are traced" "$(head -40 $trace/trace)" "hybrid_range: pool=[^ ]* first=[0-9]+ nr=1 from=[01] to=[01]"
else
	skip "moves are traced" "a kernel without tracepoints"
fi
note "of 64 read, $read on the flash; of 64 written, $written on the disk"
[ "$read" -ge 60 ]
is "what is read is on the flash" $? 0
[ "$written" -ge 60 ]
is "what is written is on the disk" $? 0
[ "$(on 128 0)" = 32 ]
is "what is not used stays" $? 0
moves=$(status p started)
check "the same for longer" apart 1 4k
note "moves: $moves, then $(($(status p started) - moves))"
[ $(($(status p started) - moves)) -le 16 ]
is "then it is at rest" $? 0
[ "$(status p reason.balanced)" -gt 1000 ]
is "as it is balanced" $? 0
for ((one = 0; one < 63; one++)); do into entry dmt message p 0 entry $one; [ "${entry%% *}" != 0 ] || break; done
matches "explained" "$(message p explain $one)" "^extent $one member 0 .* verdict balanced to -1 .* policy asymmetry reads [1-9]"
check "what was not written is as it was" blkio verify $dev 16384 16384 "$seed"

# its own rate: one a second; members that change places.  A new policy begins with what the last period measured:
# none that had reads of the disk as it was, which nothing would then contradict, as there are no reads to come.
emuctl set flash read_lat=1ms write_lat=1ms
emuctl set disk read_lat=200us write_lat=200us
message p policy stripe
check "a load that nobody moves" apart 2 4k
t0=${EPOCHREALTIME%.*}
message p policy asymmetry rate 1 delta 0
before=$(status p started)
check "members that change places" apart 3 4k
moves=$(($(status p started) - before)) t1=${EPOCHREALTIME%.*}
# One is there at first; the clock runs on when fio waits for the host.
note "moves at one a second in $((t1 - t0)) s: $moves"
[ "$moves" -ge 2 ] && [ "$moves" -le $((t1 - t0 + 2)) ]
is "as many as there were tokens" $? 0
[ "$(status p reason.token)" -gt 0 ]
is "which is counted" $? 0
remove_pool p
done_testing
