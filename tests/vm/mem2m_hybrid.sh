#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid on memory: used directly, its loss refused
# kernels: 6.1 6.12 debug
# timeout: 90
# append: memmap=32M$512M
. tests/vm/lib.sh

conf=/sys/kernel/config/mem2m
modprobe mem2m || die "no mem2m"
modprobe dm-hybrid || die "no dm-hybrid"
info() {
	local key value
	while read -r key value; do [ "$key" != "$2" ] || { echo "$value"; return; }; done <"$conf/$1/info"
	return 1
}
disk slow 24M
disk meta 16M
mem2mctl create mem 24M && wait_for 10 test -b /dev/mem2m/mem || die "no memory device"
create="hybridctl create vol /dev/mem2m/mem /dev/emudisk/slow --metadata /dev/emudisk/meta --policy fill --extent 64K"

check_fails "memory that loses its content is refused" "/dev/mem2m/mem is a RAM disk.*--volatile-ok" $create
addpart /dev/mem2m/mem 1 2048 30000 && wait_for 10 test -b /dev/mem2m/mem1
check_fails "so is a partition of it" "is a RAM disk.*--volatile-ok" ${create/mem /mem1 }
check "--volatile-ok takes it" $create --volatile-ok --set cooldown_ms=0
pools+=(vol)
dev=/dev/mapper/vol
hybridctl status vol >"$said"
read_said
matches "the status says what is lost with the power" "$text" 'volatile: device 0 \(/dev/mem2m/mem\): content does not survive'
is "the pool uses the memory directly" "$(info mem drivers)" 1
sectors=$(blockdev --getsz $dev)
check "what is written is read" blkio write $dev 0 "$sectors" "$seed" -- verify $dev 0 "$sectors" "$seed"
check "FUA, flush, discard, no waiting" blkio fua $dev 128 8 3 -- flush $dev -- discard $dev 256 128 -- \
	nowait-write $dev 512 8 4 -- nowait $dev 512 8 -- verify $dev 128 8 3 -- verify $dev 256 128 0 -- verify $dev 512 8 4
blkio write $dev 0 1024 "$seed"

# What goes through the block layer is seen by its tracepoint.
trace=/sys/kernel/tracing
if [ -d $trace/events/block/block_bio_queue ]; then
	number=$(tr : , <"/sys/block/mem2m!mem/dev")
	echo 1 >$trace/events/block/block_bio_queue/enable
	blkio verify $dev 0 1024 "$seed" -- write $dev 0 1024 "$seed" -- verify /dev/mem2m/mem 0 8 0 >/dev/null
	echo 0 >$trace/events/block/block_bio_queue/enable
	is "none of it goes through the block layer" "$(grep -c "block_bio_queue: $number [RW]" $trace/trace)" 1
else
	skip "none of it goes through the block layer" "this kernel has no tracepoints"
fi

finished() { [ "$(status vol queued)" = 0 ]; }
check "extents move from memory to disk" eval 'for ((e = 0; e < 64; e++)); do message vol move $e 1; done; wait_for 30 finished'
check "with their data" blkio verify $dev 0 $((64 * 128)) "$seed" -- verify $dev 8192 $((sectors - 8192)) "$seed"
check "and back" eval 'for ((e = 0; e < 64; e++)); do message vol move $e 0; done; wait_for 30 finished'
check "with their data again" blkio verify $dev 0 "$sectors" "$seed"
message vol move 3 1 && wait_for 30 finished
check "a table is replaced under it" eval 'dmsetup table vol >/tmp/table && dmsetup reload vol /tmp/table &&
	dmsetup suspend vol && dmsetup resume vol && blkio verify $dev 0 1024 "$seed"'
is "and it is still used directly" "$(info mem drivers)" 1
check_fails "the memory is not deleted" "mem is in use by 1 other driver" mem2mctl delete mem

check "the pool is stopped" hybridctl stop vol
is "then nobody uses the memory" "$(info mem drivers)" 0
check "assembled it has its data" eval 'hybridctl assemble vol && blkio verify $dev 0 "$sectors" "$seed"'

# A read over granules of which some were never written goes in pieces: an error of the first is not forgotten by the last.
used=$(status vol dev.0.used)
blkio discard $dev 0 8192 -- flush $dev
less_used() { [ "$(status vol dev.0.used)" -lt "$used" ]; }
wait_for 10 less_used || die "no place in memory becomes free"
blkio write $dev 0 8 5 -- write $dev 16 8 6 -- flush $dev
message vol move 0 0 && wait_for 30 finished
check "a hole between what was written" blkio verify $dev 0 8 5 -- verify $dev 8 8 0 -- verify $dev 16 8 6
read -r member pe mask < <(message vol entry 0)
read -ra words < <(dmsetup table vol)
is "the extent is in memory, in parts" "$member $mask" "0 00000005"
sector=$((words[9] + 2048 + pe * 128))
echo "$sector 8" >"/sys/block/mem2m!mem/badblocks"
check_fails "what is bad there is an error of the whole read" EIO blkio verify $dev 0 24 0
check "and of no other" blkio verify $dev 16 8 6
hybridctl stop vol
pools=()
mem2mctl delete mem

# What is set aside is there after a reset, and as little after a power cut.
mem2mctl create mem 32M --phys 512M --force && wait_for 10 test -b /dev/mem2m/mem || die "no memory device"
check_fails "reserved memory loses it, too" "/dev/mem2m/mem is a RAM disk, RAM set aside.*--volatile-ok" $create --force
check "and is taken with --volatile-ok" $create --force --volatile-ok
pools+=(vol)
hybridctl status vol >"$said"
read_said
matches "the status says so" "$text" 'volatile: device 0 \(/dev/mem2m/mem\): content does not survive a power cut'
sectors=$(blockdev --getsz $dev)
blkio write $dev 0 "$sectors" "$seed" -- flush $dev
check "it is stopped, and the memory let go of" eval 'hybridctl stop vol && mem2mctl delete mem'
mem2mctl create mem 32M --phys 512M && wait_for 10 test -b /dev/mem2m/mem
check "the memory found again it is assembled without a word" hybridctl assemble vol
check "with its data" blkio verify $dev 0 "$sectors" "$seed"
hybridctl stop vol
pools=()
mem2mctl delete mem
check_fails "without the memory the pool is not assembled" "vol.*(missing|member)" hybridctl assemble vol
mem2mctl create mem 24M && wait_for 10 test -b /dev/mem2m/mem
check_fails "nor with new memory by the same name" "vol.*(missing|member)" hybridctl assemble vol
note "$(<"$said")"
mem2mctl delete mem
done_testing
