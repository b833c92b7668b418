#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: what is there to find faults finds them: scripts/vm and tests/run
# timeout: 600
# exclusive: yes
#
# Faults are committed on purpose, by evenkeel_gate.ko in machines and by the suites in tests/gate. Every fault of
# the module is in a machine of its own: after its first complaint a kernel is not to be relied on for a second.
# usage: tests/gate.sh [PATTERN]   only the cases whose name matches
set -uo pipefail
cd "$(dirname "$(dirname "$(readlink -f "$0")")")" || exit
only=${1:-*}
tmp=$(mktemp -d)
tests=0 failed=0 cases=()

stop() {
	local p
	for p in $(jobs -p); do kill "$p" 2>/dev/null; done
	wait
	rm -rf "$tmp"
}
trap stop EXIT
trap 'exit 143' TERM

# expect TITLE NAME STATUS REGEX: what a case of that name came to
expect() {
	local title=$1 got
	got=$(cat "$tmp/$2.status")
	tests=$((tests + 1))
	if [ "$got" = "$3" ] && grep -Eq -- "$4" "$tmp/$2"; then
		echo "ok $tests - $title"
	else
		echo "not ok $tests - $title"
		echo "# status $got, wanted $3 and: $4"
		tail -n 150 "$tmp/$2" | sed 's/^/# /'
		failed=1
	fi
}

# start NAME COMMAND...: in the background, two at a time
start() {
	local name=$1
	shift
	# shellcheck disable=SC2053 # a pattern
	[[ $name == $only ]] || return
	cases+=("$name")
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done	# it also returns for one that ended long ago
	{ "$@" >"$tmp/$name" 2>&1; echo $? >"$tmp/$name.status"; } <&0 &
}

did() { [[ " ${cases[*]} " == *" $1 "* ]]; }

# vm NAME CPUS COMMAND: of a shell, on the debug kernel
vm() { start "$1" scripts/vm --kernel debug --cpus "$2" --memory 768M -- bash -c "$3"; }

# The rest of a command that waits for the kernel to notice; 5 says that it did not, which nothing outranks.
noticed() { echo "for i in {1..100}; do dmesg | grep -q '$1' && exit 0; ${2:-sleep 0.5}; done; exit 5"; }

echo "KTAP version 1"
scripts/debug-kernel >/dev/null || exit
for kernel in debug 6.1; do
	make -s modules KVER=$kernel >"$tmp/build" 2>&1 || { cat "$tmp/build"; echo "Bail out! the build failed"; exit 1; }
done
make -s tools >"$tmp/build" 2>&1 || { cat "$tmp/build"; echo "Bail out! the build failed"; exit 1; }
export EVENKEEL_NO_BUILD=1

# A kernel's own warning, about what a test made fail, is no finding; the same without its cause, or beside another, is.
known="------------[ cut here ]------------
WARNING: CPU: 0 PID: 0 at lib/percpu-refcount.c:114 __percpu_ref_exit+0x82/0xbc
 blk_free_queue_rcu+0x26/0xc7
---[ end trace 0000000000000000 ]---"
cause="device-mapper: ioctl: unable to set up device queue for new table."
cut="------------[ cut here ]------------"
logged() { start "$1" bash -c 'scripts/complaint || { echo nothing; exit 1; }' <<<"$2"; }
logged known "$cause"$'\n'"$known"
logged uncaused "$known"
logged beside "$cause"$'\n'"$known"$'\n'"WARNING: another"
logged unended "$cause"$'\n'"$cut"$'\n'"WARNING: torn off"
bare=("possible circular locking dependency detected" "possible recursive locking detected" "inconsistent lock state" DEBUG_LOCKS_WARN_ON
	"huh, entered softirq 4 BLOCK" "tried to init an initialized object" "debugfs: Directory 'hybrid' with parent '/' already present!")
for line in "${!bare[@]}"; do logged "bare-$line" "${bare[line]}"; done
logged begun "$cut"$'\n'"WARNING: torn off"$'\n'"$cause"$'\n'"$known"

# UBSAN is for what asks for it
for kbuild in drivers/*/Kbuild; do
	grep -q '^UBSAN_SANITIZE := y$' "$kbuild" || { echo "Bail out! $kbuild does not ask for UBSAN"; exit 1; }
done

start runner tests/run --suites tests/gate --logs build/gate/logs --jobs 2
start spare tests/run --suites tests/gate --only passes --spare 0 --logs build/gate/spare --jobs 1
start last tests/run --suites tests/gate --only passes --last 0 --logs build/gate/last --jobs 1
vm leak 1 "modprobe evenkeel_gate fault=leak; $(noticed 'new suspected memory leaks' \
	'sleep 1; echo scan >/sys/kernel/debug/kmemleak')"
vm spin 2 "echo 2 >/proc/sys/kernel/watchdog_thresh; modprobe evenkeel_gate fault=spin & $(noticed 'soft lockup.*modprobe')"
vm stall 2 "echo 3 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
	modprobe evenkeel_gate fault=stall & $(noticed 'rcu: INFO: .*stall')"
vm hang 1 "echo 2 >/proc/sys/kernel/hung_task_timeout_secs
	modprobe evenkeel_gate fault=hang & $(noticed 'task modprobe.*blocked for more than')"
vm uaf 1 "modprobe evenkeel_gate fault=uaf"
vm shift 1 "modprobe evenkeel_gate fault=shift"
vm inversion 1 "modprobe evenkeel_gate fault=inversion"
vm atomic 1 "modprobe evenkeel_gate fault=atomic; exit 3"
vm warn 1 "modprobe evenkeel_gate fault=warn"
vm oops 1 "modprobe evenkeel_gate fault=oops"
vm none 1 "modprobe evenkeel_gate && echo loaded && rmmod evenkeel_gate"
start late scripts/vm --timeout 10 -- sleep 1000
start status scripts/vm -- bash -c 'modprobe evenkeel_gate; exit 7'
start unstartable scripts/vm --append rdinit=/none -- true
start silent env EVENKEEL_BOOT_SILENCE=0 scripts/vm --kernel debug -- true
start ends scripts/vm -- bash -c 'echo b >/proc/sysrq-trigger; sleep 1000'
start again scripts/vm --reset -- bash -c 'echo b >/proc/sysrq-trigger; sleep 1000'
start refused scripts/vm --kernel 5.10 -- true
start torn scripts/vm -- bash -c 'echo N >/sys/module/printk/parameters/ignore_loglevel && dmesg -n 1 && echo quiet'
wait

! did known || expect "the kernel's own warning does not count" known 1 '^nothing$'
! did uncaused || expect "it does without its cause" uncaused 0 'WARNING: .*percpu_ref_exit'
! did beside || expect "and hides no other" beside 0 '^WARNING: another$'
! did unended || expect "a warning that is torn off" unended 0 '^WARNING: torn off$'
for line in "${!bare[@]}"; do ! did "bare-$line" || expect "without a prefix: ${bare[line]}" "bare-$line" 0 "^${bare[line]}$"; done
! did begun || expect "one that never ended before the kernel's own" begun 0 '^WARNING: torn off$'
! did uaf || expect "a use after free" uaf 99 'BUG: KASAN: (slab-)?use-after-free in .*\[evenkeel_gate\]'
! did leak || expect "a leak, when kmemleak scans" leak 99 'kmemleak: [0-9]+ new suspected memory leaks'
! did shift || expect "undefined behaviour" shift 99 'UBSAN: shift-out-of-bounds'
! did inversion || expect "a lock inversion" inversion 99 'WARNING: possible circular locking dependency detected'
! did atomic || expect "a sleep in atomic context, whatever the command's status" atomic 99 \
	'BUG: sleeping function called from invalid context'
! did warn || expect "a WARN" warn 99 'WARNING: CPU: .*\[evenkeel_gate\]'
! did oops || expect "an oops, which ends the machine" oops 99 'KASAN: null-ptr-deref'
! did hang || expect "a task that hangs" hang 99 'INFO: task modprobe:[0-9]+ blocked for more than'
! did spin || expect "a CPU that spins" spin 99 'BUG: soft lockup - CPU#[0-9]+ stuck for .*modprobe'
! did stall || expect "an RCU stall" stall 99 'rcu: INFO: rcu_preempt (self-)?detected .*stall'
! did none || expect "no fault, no complaint" none 0 '^loaded$'
! did status || expect "the command's own status" status 7 'status 7'
! did late || expect "a command that does not end" late 124 'time is up after 10 s'
! did unstartable || expect "a machine that does not start" unstartable 125 'the machine did not start'
! did silent || expect "one that says nothing more while it boots" silent 125 'it said nothing for 0 s, while booting'
! did ends || expect "a machine that ends before its command" ends 125 'the machine ended before the command did'
! did again || expect "one that is reset, but not by its command" again 125 'the machine ended before the command did'
! did torn || expect "a kernel log whose end is missing" torn 125 'the kernel log is incomplete \(status 0\)'
! did refused || expect "a kernel there is not" refused 125 '--kernel is'

# found TITLE LINE: of the runner's summary
found() { expect "the runner: $1" runner 1 "^# FAILED: tests/gate/$2"; }
if did runner; then
	found "a leak" 'leaks.sh \[debug\]: kmemleak found something'
	found "a device left" 'device.sh \[6.1\]: left devices: gate-left'
	found "disks left" 'disk.sh \[6.1\]: left disks: gate-left gate-memory'
	found "a module that stays" "loaded.sh \\[6.1\\]: modules can't be unloaded: evenkeel_gate"
	found "a WARN" 'warns.sh \[6.1\]: complaint in the kernel log'
	found "no plan" 'plan.sh \[6.1\]: ended without its plan'
	found "no test" 'silent.sh \[6.1\]: printed no test'
	found "a status without a failed test" 'status.sh \[6.1\]: exit status 3'
	found "status 1 without a failed test" 'fails.sh \[6.1\]: exit status 1'
	found "a part that gave up" 'bails.sh \[6.1\]: gave up: Bail out! nothing works'
	found "a machine that died" 'dies.sh \[6.1\]: the machine stopped: complaint in the kernel log.*: BUG: kernel NULL pointer'
	expect "the runner: what the emulator may have done is tried once more" runner 1 \
		'^# tests/gate/patched.sh \[6.1\]: its machine ran into a breakpoint that was gone; once more'
	expect "the runner: which its summary says as well" runner 1 \
		'^# tried once more, after a breakpoint that was gone: tests/gate/patched.sh'
	found "and twice is a failure" 'patched.sh \[6.1\]: the machine stopped: complaint in the kernel log.*: .*int3: 0000'
	found "a suite that hangs" 'hangs.sh \[6.1\]: took more than 10 s'
	found "and can't be killed" "hangs.sh \\[6.1\\]: can't be killed"
	for kernel in debug 6.1; do
		expect "the runner: the suite after them passes on $kernel" runner 1 \
			"^ok [0-9]+ tests/gate/passes.sh \\[$kernel\\]"
	done
	expect "the runner: nothing else failed" runner 1 '^[0-9]+ passed, 17 failed, 0 skipped$'
fi
if did spare; then
	expect "the runner: without time, the debug kernel all the same" spare 0 '^ok [0-9]+ tests/gate/passes.sh \[debug\]'
	expect "the runner: and what was left out is told" spare 0 '^# skipped: tests/gate/passes.sh \[6.1\]: SKIP no time on a slow machine; it ran'
	expect "the runner: and counted" spare 0 '^[0-9]+ passed, 0 failed, 1 skipped$'
	expect "the runner: all of them have met the debug kernel" spare 0 '^# 0 of 1 suites for the debug kernel have not met it$'
fi
if did last; then
	expect "the runner: what no kernel has met has failed" last 1 '^# FAILED: tests/gate/passes.sh \[6.1\]: no time was left'
	expect "the runner: what has not met the debug kernel is named" last 1 '^# not on the debug kernel: tests/gate/passes.sh$'
	expect "the runner: and counted" last 1 '^# 1 of 1 suites for the debug kernel have not met it$'
fi
echo "1..$tests"
exit $failed
