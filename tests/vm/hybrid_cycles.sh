#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: hundreds of suspensions and reloads under load
# kernels: 6.1 6.12 debug
# timeout: 600
# by-hand: yes
#
# EVENKEEL_CYCLES: how many (500). hybrid_reload.sh has thirty of them for every run.
. tests/vm/lib.sh
. tests/crash/offline.sh

disk m 16M
disk a 24M mem cache=volatile
disk b 24M mem cache=volatile
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
one=$(table 65536 128 m "a b" 0 "stripe 4 commit_ms 20 cooldown_ms 0") other=${one/stripe 4/fill 4}
check "a pool" pool p "$one"
fio --name=v --filename=$dev --direct=1 --rw=randrw --bs=4k --size=24m --time_based --runtime=3600 --verify=crc32c \
	--verify_backlog=64 --verify_fatal=1 --iodepth=8 --ioengine=libaio --thread --randseed="$seed" --output=/tmp/fio.out &
io=$!
check "it is at work" wait_for 20 status_above p mapped 40
cycle() {
	message p move $((RANDOM % 300)) $((RANDOM % 2)) 2>/dev/null
	case $(($1 % 3)) in
	0) dmsetup suspend p && dmsetup resume p ;;
	1) dmsetup load p --table "$other" && dmsetup suspend --noflush p && dmsetup resume p ;;
	2) dmsetup load p --table "$one" && dmsetup suspend --nolockfs p && dmsetup resume p ;;
	esac
}
for ((n = 0; n < ${EVENKEEL_CYCLES:-500}; n++)); do
	cycle $n || { not_ok "cycle $n" "$(dmesg | tail -5)"; break; }
done
is "cycles" $n "${EVENKEEL_CYCLES:-500}"
kill -INT $io
wait $io
check "fio saw nothing wrong" fio_was_right /tmp/fio.out
check "extents have moved meanwhile" status_above p completed 0
fields_are "the pool is whole" p "mode needs_check errors" "rw - 0"
check "remove" remove_pool p
check "sound" is_sound_offline /dev/emudisk/{m,a,b}

# --- full to the last extent, one member slow: nothing can move, and nothing tries without end
wipe m a b
full=$(table $((2 * 351 * 128)) 128 m "a b" 0 "wardrop 4 period_ms 100 commit_ms 20")
emuctl set b read_lat=20ms write_lat=20ms
check "a pool" pool p "$full"
size=$(($(status p dev.0.total) + $(status p dev.1.total)))
note "$size extents"
remove_pool p
wipe m a b
emuctl set b read_lat=10us write_lat=10us
check "of just so many" pool p "$(table $((size * 128)) 128 m "a b" 0 "wardrop 4 period_ms 100 commit_ms 20")"
check "filled" blkio write $dev 0 $((size * 128)) "$seed" -- flush $dev
fields_are "to the last" p "dev.0.used dev.1.used" "$(status p dev.0.total) $(status p dev.1.total)"
emuctl set b read_lat=20ms write_lat=20ms
moved=$(status p started)
fio --name=r --filename=$dev --direct=1 --rw=randread --bs=4k --time_based --runtime=4 --iodepth=8 \
	--ioengine=libaio --output=/tmp/fio.out
is "nothing moves" "$(status p started)" "$moved"
check "data" blkio verify $dev 0 4096 "$seed"
done_testing
