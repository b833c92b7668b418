#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: concentrate keeps in memory what accesses concentrate on
# one-of: 2
# kernels: 6.1 6.12
# virtual-time: yes
# timeout: 300
. tests/vm/lib.sh

# An SSD of 500 us and memory of some 6 MiB; 64 sub-LUNs of 1 MiB, of which a concentration has 6 at most.
disk m 16M
disk ssd 96M mem read_lat=500us write_lat=500us channels=8
modprobe mem2m || die "no mem2m"
modprobe dm-hybrid || die "no dm-hybrid"
mem2mctl create mem 8M && wait_for 10 test -b /dev/mem2m/mem || die "no memory device"
dev=/dev/mapper/p
quick="period_ms 100 commit_ms 50 migrate_kbps 0"
args="concentrate 14 sublun 1 window_ms 800 size 10 evict 3 $quick"
line() { table 131072 128 m "ssd /dev/mem2m/mem" 0 "$1"; }
for wrong in "sublun 3:power of two" "sublun 0:power of two" "window_ms 1:window_ms: 10 to" "share 101:share: percent" \
	"size 0:size: percent" "evict 9000:evict: sub-LUNs" "fast 2:auto or a member" "alpha 1:unknown policy argument"; do
	expect_refused "${wrong%%:*} is refused" "${wrong#*:}" dmsetup create t --table "$(line "concentrate 2 ${wrong%%:*}")"
done
check "a pool" pool p "$(line "$args")"
check "64 MiB" blkio write $dev 0 131072 "$seed"
fields_are "new extents go to the SSD" p "dev.0.used dev.1.used" "1024 0"
into text dmt table p
matches "the table says what was asked" "$text" " concentrate 14 sublun 1 window_ms 800 size 10 evict 3 period_ms 100 migrate_kbps 0 commit_ms 50$"
check "and can be loaded again" eval 'dmsetup reload p --table "$text" && dmsetup suspend p && dmsetup resume p'

cp "$(command -v fio)" /tmp/fio
# load MIB LENGTH: five out of six reads there, the others anywhere; until end_load. No more of them than leave the
# processor idle: a busy one is what takes real time.
load() {
	/tmp/fio --filename=$dev --direct=1 --rw=randread --bs=4k --ioengine=libaio --thread --clocksource=clock_gettime \
		--time_based --runtime=3600 --randseed="$seed" --output=/tmp/fio.out \
		--name=there --offset="$1m" --size="$2m" --iodepth=4 --rate_iops=2000 --name=anywhere --size=64m --rate_iops=400 &
	loading=$!
}
end_load() { kill -INT $loading; wait $loading; loading=; }
# How many of the extents of some MiB are at a member?
at() {
	local e n=0 entry
	for ((e = $2 * 16; e < ($2 + $3) * 16; e++)); do
		into entry dmt message p 0 entry "$e"
		[ "${entry%% *}" != "$1" ] || n=$((n + 1))
	done
	echo $n
}
all_at() { [ "$(at "$@")" = $(($3 * 16)) ]; }
none_at() { [ "$(at "$@")" = 0 ]; }
concentrations() { dmt message p 0 concentrations; }
seen() { concentrations | sed 1d | grep -qE "$1"; }

load 20 2
check "a concentration is seen" wait_for 60 seen '^320 32 [0-9]{6} '
check "and moves to memory" wait_for 60 all_at 1 20 2
check "which is counted" wait_for 20 seen '^320 32 [0-9]+ [0-9]+ 32 '
note "$(concentrations)"
matches "which the message shows" "$(concentrations | sed -n '/^320 /p')" '^320 32 [0-9]+ [0-9]+ 32 [0-9]+$'
hybridctl status p >"$said"
read_said
matches "hybridctl shows it" "$text" 'tier: device 1, .*concentration at 20.*volatile: device 1 \(/dev/mem2m/mem\)'
hybridctl status p --json >"$said"
into text json "$said" tier.device tier.concentrations.0.first_extent tier.concentrations.0.moved
is "and as JSON" "$text" $'1\n320\n32'
mem_reads() { status p dev.1.share; }
check "memory answers most of the requests then" wait_for 20 eval '[ "$(mem_reads)" -gt 600000 ]'
note "$(dmsetup status p)"
check "in the grammar" in_grammar p
check "writes meanwhile" blkio write $dev $((20 * 2048)) 2048 7
check "the data, meanwhile" blkio verify $dev 0 $((20 * 2048)) "$seed" -- verify $dev $((20 * 2048)) 2048 7 -- \
	verify $dev $((21 * 2048)) $((43 * 2048)) "$seed" -- write $dev $((20 * 2048)) 2048 "$seed"
end_load

# at once elsewhere, and more than fits beside it
load 40 5
check "another one, for which there is no room" wait_for 60 all_at 1 40 5
note "$(concentrations)"
check "the first has left" wait_for 60 none_at 1 20 2
check "the data" blkio verify $dev 0 131072 "$seed"
end_load

check "when it is over it goes back to the SSD" wait_for 60 status_is p dev.1.used 0
note "$(concentrations)"
check "the data" blkio verify $dev 0 131072 "$seed"

# What lies in memory for no reason, of a policy before, is found.
for ((e = 100; e < 110; e++)); do message p move $e 1 || break; done
check "extents moved by hand" wait_for 20 status_is p dev.1.used 10
check "are brought back" wait_for 60 status_is p dev.1.used 0
check "live: larger sub-LUNs" eval 'message p set sublun 8 && message p set window_ms 200'
table_matches "the table says so" p "concentrate 14 sublun 8 window_ms 200 "
log_mark
check "not with a wrong number" eval '! message p set share 0'
matches "which is said" "$(log_since)" "share: percent, 1 to 100"
message p set sublun 1
load 30 2
check "a concentration after that" wait_for 60 all_at 1 30 2
check "another policy" message p policy fill
check "has no concentrations" eval '! message p concentrations'
end_load
check "the policy again" message p policy ${args/ 14/}
check "clears what is left of it" wait_for 60 status_is p dev.1.used 0
field_is "no migration failed" p failed 0
check "the data" blkio verify $dev 0 131072 "$seed"
remove_pool p
mem2mctl delete mem
done_testing
