#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: one member is slow, then gone: the others go on as if nothing was
# kernels: 6.1 6.12
# timeout: 90
. tests/vm/lib.sh

tell_ms=1000	# a flush tells of what is lost for much less than is waited for below
disk m 8M
disk a 24M mem cache=volatile
disk b 24M mem cache=volatile
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
# nanoseconds that flushes took
flushes() { jq ".jobs[0].sync.lat_ns.$1 | floor" /tmp/fio.json; }

line() { table "$1" 128 m "a b" 0 "fill 8 period_ms 100 commit_ms 20 cooldown_ms 0 low_free 5"; }
check "a pool, in device order" pool p "$(line 65536)"
get p dev.0.total dev.1.total
fast=$((got[0] * 128)) all=$(((got[0] + got[1]) * 128))
remove_pool p
wipe m a b
check "one that is as long as its members" pool p "$(line $all)"
check "full" blkio write $dev 0 $all "$seed" -- flush $dev
fields_are "to the last extent" p "dev.0.used dev.1.used" "$((fast / 128)) $((all / 128 - fast / 128))"
check "the policy that would move most" message p policy wardrop period_ms 100 cooldown_ms 0 low_free 5
# What users write to it would wait, and nobody else does.
check "the second answers nothing" emuctl set b stall=1
get p started
moved=$got
check "what is on the first is written and flushed" timeout 80 fio --name=v --filename=$dev --direct=1 --rw=randwrite --bs=4k \
	--size=$((fast * 512)) --io_size=1m --fsync=1 --ioengine=psync --randseed="$seed" \
	--verify=crc32c --verify_backlog=16 --verify_fatal=1 --output-format=json --output=/tmp/fio.json
note "flushes: p99 $(flushes 'percentile["99.000000"]') ns, longest $(flushes max) ns"
# One that waited for the second would wait until somebody lets it answer; the second is to take 5 s below.
check "of which hardly one takes half of what one of the second takes below" [ "$(flushes 'percentile["99.000000"]')" -lt 2500000000 ]
check "with flushes" [ "$(jq '.jobs[0].sync.total_ios' /tmp/fio.json)" -gt 20 ]
field_is "nothing moves" p started "$moved"
check "the second answers, slowly" emuctl set b stall=0 flush=5s read_lat=20ms write_lat=20ms
before=${EPOCHREALTIME/./}
check "one write to the second, flushed" blkio write $dev "$fast" 8 9 -- flush $dev
check "takes that long" [ $((${EPOCHREALTIME/./} - before)) -ge 4500000 ]
check "the second is fast again" emuctl set b flush=0 read_lat=10us write_lat=10us

# --- it goes while data on both is read and written
verified() {
	fio --name=v --filename=$dev --direct=1 --rw=randrw --bs=4k --size=$((fast * 512)) --time_based --runtime=60 \
		--verify=crc32c --verify_backlog=64 --verify_fatal=1 --iodepth=8 --ioengine=libaio --thread \
		--randseed="$seed" --output=/tmp/fio.out & io=$!
}
before=$(writes a)
verified
on_b() { while blkio write $dev "$fast" 1024 7 -- verify $dev "$fast" 1024 7; do :; done; : >/tmp/refused; }
on_b 2>/dev/null & other=$!
check "both are at work" wait_for 20 eval '[ $(writes a) -gt $((before + 100)) ] && [ $(writes b) -gt 20 ]'
check "the second is cut off" emuctl cut b
check "who uses it is told" wait_for 20 test -e /tmp/refused
check "it is degraded, or more" wait_for 20 eval 'status_is p dev.1.state degraded || status_is p dev.1.state failed'
before=$(writes a)
check "the other one goes on" wait_for 20 eval '[ $(writes a) -gt $((before + 200)) ]'
kill -INT $io
wait $io $other
check "fio saw nothing wrong" eval '! grep -E "verify: bad|error=|err= *[1-9]" /tmp/fio.out'
fields_are "the pool is there, and the first is well" p "mode dev.0.state" "rw active"
check "it is a member no more: a flush tells what was not durable, and then no more" \
	eval 'wait_for 30 blkio write $dev 0 8 3 -- flush $dev'
check "data of the first" blkio verify $dev 0 8 3
check "in the grammar" in_grammar p
check "it has its power back" emuctl power b on
done_testing
