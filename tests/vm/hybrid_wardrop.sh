#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: wardrop moves load from the slow member to the fast one
# one-of: 2
# kernels: 6.1 6.12
# virtual-time: yes
# timeout: 300
. tests/vm/lib.sh

# 16 requests at a time each; 500 us against 1500 us: equal answers need three quarters on the fast one
disk m 16M
disk fast 128M mem read_lat=500us write_lat=500us channels=16
disk slow 128M mem read_lat=1500us write_lat=1500us channels=16
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
check "a pool" pool p "$(table 131072 256 m "fast slow" 0 "stripe 4 cooldown_ms 0 migrate_kbps 0")"
check "256 extents, half on each" blkio write $dev 0 65536 "$seed"
fields_are "placed" p "dev.0.used dev.1.used" "128 128"

cp "$(command -v fio)" /tmp/fio
load() {
	/tmp/fio --name=r --filename=$dev --direct=1 --rw=randread --bs=4k --size=32m --iodepth="${2:-32}" --ioengine=libaio \
		--thread --clocksource=clock_gettime --time_based --runtime="$1" --randseed="$seed" --output=/tmp/fio.out
}
# The pool's own share is that of its last period, in which there may be nothing: what did the disks see?
reads() { emuctl list "$1" --json | grep -o '"reads": *[0-9]*' | grep -o '[0-9]*$'; }
load_shared() {
	local f s
	f=$(reads fast) s=$(reads slow)
	load "$@" || return
	f=$(($(reads fast) - f)) s=$(($(reads slow) - s))
	share=$((f * 1000000 / (f + s)))
}
check "reads for a while" load_shared 3
note "the fast member's share by placement: $share ppm; $(grep -o 'IOPS=[^,]*' /tmp/fio.out)"
[ "$share" -gt 450000 ] && [ "$share" -lt 550000 ]
is "half of the requests go to each" $? 0
slow=$(grep -o 'IOPS=[^,]*' /tmp/fio.out)

# Readers that keep a slow disk busy: copies take what of its time they may, and no more. By average there is always
# more to be moved than they leave time for. Counted while they are there: without them the clock runs on when something
# waits for the host, and nobody is in the way of copies.
stat=/sys/dev/block/$((0x$(stat -Lc %t $dev))):$((0x$(stat -Lc %T $dev)))/stat
count_reads() { read -r completed _ <"$stat"; }
begin_load() {
	local completed before
	count_reads
	before=$completed
	load 3600 4 &
	loading=$!
	while [ "$completed" -lt $((before + 100)) ]; do
		{ kill -0 $loading && count_reads; } || return
	done
}
end_load() { pkill -INT -P $loading; wait $loading; }
# In 3 s: migrations begun, into $begun, and put off, into $put_off
migrations() {
	local got before
	get p started reason.foreground
	before=("${got[@]}")
	nap 3
	get p started reason.foreground
	kill -0 $loading || return
	begun=$((got[0] - before[0])) put_off=$((got[1] - before[1]))
}
check "readers" begin_load
emuctl set slow read_lat=40ms write_lat=40ms
message p set migrate_share 1
check "wardrop" message p policy wardrop objective average
message p set period_ms 500
check "readers of a busy disk, copies for a hundredth of their time" migrations
yielded=$begun yields=$put_off
message p set migrate_share 0
check "the same, copies whenever they are due" migrations
end_load
note "migrations begun: $yielded, then $begun; put off $yields times"
[ "$yields" -gt 5 ] && [ "$begun" -gt $((2 * yielded)) ]
is "copies had yielded to the readers" $? 0
message p set migrate_share 50
emuctl set slow read_lat=1500us write_lat=1500us

check "as it comes" message p policy wardrop
check "reads while it moves extents" load 8
check "and when it has" load_shared 3
note "the fast member's share: $share ppm, target $(status p dev.0.target); $slow before, now $(grep -o 'IOPS=[^,]*' /tmp/fio.out)"
note "$(dmsetup status p)"
[ "$share" -gt 620000 ]
is "the fast member has more than 62 percent of the requests" $? 0
[ "$(status p dev.0.used)" -gt "$(status p dev.1.used)" ]
is "and more of the extents" $? 0
field_is "no migration failed" p failed 0
check "the data" blkio verify $dev 0 65536 "$seed"
check "in the grammar" in_grammar p
done_testing
