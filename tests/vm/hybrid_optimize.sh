#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: hybridctl optimize plans over all extents, moves them, and measures what it brought
# one-of: 2
# kernels: 6.1 6.12
# virtual-time: yes
# timeout: 400
. tests/vm/lib.sh
. tests/vm/apart.sh

disk m 16M
disk flash 128M mem read_lat=1ms write_lat=15ms channels=8
disk disk 128M mem read_lat=5ms write_lat=5ms channels=8
disk small 8M mem read_lat=1ms write_lat=15ms channels=8
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
check "a pool" pool p "$(table 32768 128 m "flash disk" 0 "stripe 4 migrate_kbps 0 period_ms 500")"
check "256 extents, striped" blkio write $dev 0 32768 "$seed"
message p pin 128 128 1	# one has to stay
is "counts of what was written" "$(message p counts 0 | tail -1)" end

stat=/sys/dev/block/$((0x$(stat -Lc %t $dev))):$((0x$(stat -Lc %T $dev)))/stat
count_completed() { local r w; read -r r _ _ _ w _ <"$stat" && completed=$((r + w)); }
# load SECONDS: until end_load; it has begun. Awake meanwhile: fio comes from the host, and an idle clock would run away.
load() {
	local completed before
	count_completed
	before=$completed
	apart "$1" 4k &
	load=$!
	while [ "$completed" -lt $((before + 100)) ]; do
		{ kill -0 $load && count_completed; } || return
	done
}
end_load() { pkill -P $load; wait $load; }
ctl() { hybridctl "$@" >/tmp/out 2>&1; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

check "a load" load 600
check "what would be done" ctl optimize p --dry-run --window 20 --json
into moves json /tmp/out 'moves.*.extent'
moves=$(wc -w <<<"$moves")
note "planned: $moves; predicted gain $(json /tmp/out predicted_gain)"
[ "$moves" -ge 56 ] && [ "$moves" -le 72 ]
is "half of what is used is elsewhere than it should be" $? 0
is "nothing was done" "$(status p started)" 0
check "ten of them" ctl optimize p --budget 10 --window 1 --json
is "are moved" "$(json /tmp/out moved) $(json /tmp/out not_moved)" "10 0"
is "no others" "$(status p started)" 10
check "as many as half a mebibyte holds" ctl optimize p --budget 512K --window 1
matches "are moved" "$(</tmp/out)" "moved: 8 of 8"

# one that is interrupted half way
message p set migrate_kbps 640
started=$(status p started)
hybridctl optimize p --window 1 >/tmp/out 2>&1 &
run=$!
some_moves() { [ "$(status p started)" -ge $((started + 5)) ]; }
check "moves begin" wait_for 60 some_moves
kill -TERM $run	# a job in the background ignores SIGINT
wait $run
is "an interrupted run fails" $? 1
matches "says so" "$(</tmp/out)" "moved: ([0-9]+) of ([0-9]+), interrupted; run it again to go on"
[[ $(</tmp/out) =~ moved:\ ([0-9]+)\ of\ ([0-9]+) ]] || die "no numbers"
note "interrupted after ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
[ "${BASH_REMATCH[1]}" -lt $((BASH_REMATCH[2] / 2)) ] && [ "${BASH_REMATCH[1]}" -ge 5 ]
is "half way" $? 0
is "nothing is under way" "$(status p queued)" 0

message p set migrate_kbps 0
check "the others" ctl optimize p --window 2 --json
predicted=$(json /tmp/out predicted_us) was=$(json /tmp/out before.mean_us) is=$(json /tmp/out measured_us)
note "before $was us, predicted $predicted us, measured $is us"
less "$predicted" "$was"
is "less was predicted" $? 0
less "$is" "$(awk -v a="$was" 'BEGIN { print a * .8 }')"
is "less was measured" $? 0
less "$(awk -v a="$predicted" -v b="$is" 'BEGIN { d = a - b; print d < 0 ? -d : d }')" \
	"$(awk -v a="$predicted" 'BEGIN { print a * .2 }')"
is "about as much" $? 0
read=$(on 0 0) written=$(on 64 1)
note "of 64 read, $read on the flash; of 64 written, $written on the disk"
[ "$read" -ge 60 ] && [ "$written" -ge 60 ]
is "what is read is on the flash, what is written on the disk" $? 0
check "what is pinned stays" eval '[[ $(message p entry 1) == "1 "* ]]'
matches "and is told" "$(message p counts 0)" $'\n'"1 1 [0-9]+ 0 p"$'\n'
check "once more" ctl optimize p --window 1
matches "there is nothing to be done" "$(</tmp/out)" "no move is worth its copy|moved: [1-8] of"
end_load

# policies that count reads and writes tell these
message p policy asymmetry rate 1 delta 100
check "a load" load 4
wait $load
matches "asymmetry's own counts" "$(message p counts 0)" $'\n'"[0-9]+ [01] [1-9][0-9]* 0 .*"
check "are planned with" ctl optimize p --window 0.5 --dry-run --json
[ "$(json /tmp/out extents_known)" -ge 120 ]
is "all of them" $? 0
check "what was only read is as it was" blkio verify $dev 0 8192 "$seed"
check "and what was not used" blkio verify $dev 16384 16384 "$seed"

# a flash that is full of what nobody reads, and what is read on the disk
remove_pool p
wipe m disk
check "a pool with a small flash" pool p "$(table 32768 128 m "small disk" 0 "fill 4 migrate_kbps 0 period_ms 500")"
check "the second half" blkio write $dev 16384 16384 "$seed"
check "the first half" blkio write $dev 0 16384 "$seed"
[ "$(on 0 1)" = 64 ] && [ "$(on 128 0)" -ge 60 ]
is "the flash is full, and what will be read is not there" $? 0
check "a load" load 600
check "some change places, as many as the flash is known to bear" ctl optimize p --window 20 --json
into rooms json /tmp/out 'moves.*.makes_room'
rooms=$(tr ' ' '\n' <<<"$rooms" | grep -ci true)
note "$rooms made room; $(on 0 0) of 64 are on the flash; not moved $(json /tmp/out not_moved)"
is "those that came are as many" "$(on 0 0)" "$rooms"
is "all were moved" "$(json /tmp/out not_moved)" 0
[ "$rooms" -ge 10 ]
is "not a few" $? 0
less "$(json /tmp/out measured_us)" "$(awk -v a="$(json /tmp/out before.mean_us)" 'BEGIN { print a * .9 }')"
is "and takes less" $? 0
end_load
check "what was read is as it was" blkio verify $dev 0 8192 "$seed"
check "and so is what made room" blkio verify $dev 16384 16384 "$seed"
for bad in "" "p q" "nobody" "p --budget 0" "p --budget x" "p --budget 1K" "p --window 0" "p --window x" "p --bad"; do
	# shellcheck disable=SC2086
	check_fails "refused: hybridctl optimize $bad" "hybridctl: optimize: " hybridctl optimize $bad
done
check_fails "refused: counts x" "Invalid" message p counts x
remove_pool p
done_testing
