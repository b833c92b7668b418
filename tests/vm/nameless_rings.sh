#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: nameless writes by io_uring: every refusal and kind of ring; files, rings, memory, threads and devices that go meanwhile
# kernels: 6.12 debug
# timeout: 120
. tests/vm/lib.sh

modprobe nameless || die "no nameless"
d=/dev/nameless
conf=/sys/kernel/config/nameless
quick="t_read=0 t_program=0 t_erase=0 t_bus_control=0 t_bus_data=0 t_ram=0 t_register=0"
rings() { build/tests/bin/rings a "$@"; }
names() { build/tests/bin/names a /tmp/rings.state "$@"; }

# shellcheck disable=SC2086
make() { nlctl create a 8M --ftl nameless packages=4 pages=16 $quick "$@" && wait_for 10 test -c "$d/a:names"; }

rm -f /tmp/rings.state
check "a nameless device" make
check "what can't be is refused, and nothing is done" rings refused
check "every kind of ring does all that can be" rings kinds
check "a file that is open for reading changes nothing, one for writing shows nothing" rings modes
check "a ring shorter than what is under way loses nothing" rings short
check "a chain goes on with what the request before gave" rings links
check "slots are used again at once" rings reuse
check "what comes too late for its slot is not done, rather than something else" rings unlinked

check "a slow device" nlctl set a t_program=40ms
# the least of several, as a slow machine may stand still during one
paces() {
	local round depth
	took=([1]=99999999 [16]=99999999)
	for ((round = 0; round < 8; round++)); do
		for depth in 1 16; do
			rings pace 32 $depth >/tmp/pace || return
			[ "$(</tmp/pace)" -ge "${took[depth]}" ] || took[depth]=$(</tmp/pace)
		done
		[ $((took[16] * 2)) -ge "${took[1]}" ] || break
	done
}
check "writes, one and 16 at a time" paces
is "16 at a time take less than half as long" "$((took[16] * 2 < took[1]))" 1 || note "${took[*]} us"
check "a very slow one" nlctl set a t_program=200ms
check "a closed file's requests are done, and the device has its client for as long" rings closed "$conf/a"
check "slower" nlctl set a t_program=1s
check "the power goes under requests: each is answered once, and their file and ring go on" rings cut
check "a slow one again" nlctl set a t_program=40ms
check "a ring goes" rings exits
check "memory goes" rings unmapped
check "the thread goes that submitted" rings thread
check "every invariant holds" nlctl check a

check "a quick one" nlctl set a t_program=0
check "64 blocks without names" names fill 64
check "a library without liburing does its requests one after the other" build/tests/bin/names-plain a /tmp/rings.state plain-churn 300 "$seed"
check "so it does when there is no ring to be had" names poor-churn 300 "$seed"
if [ -e /proc/sys/kernel/io_uring_disabled ]; then
	sysctl -qw kernel.io_uring_disabled=2
	check "and when io_uring is switched off" names plain-churn 300 "$seed"
	sysctl -qw kernel.io_uring_disabled=0
fi
check "all is what was written" names verify
check "slower than anything else" nlctl set a t_program=1s
check "who waits for a place that others have can go" rings crowd
check "the device goes" rings removed "$conf/a"
check "the module goes" rmmod nameless
done_testing
