#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: what garbage collection leaves alone
# kernels: 6.1 6.12 debug
# one-of: 2
# timeout: 120
# memory: 2G
# append: memmap=32M!1G
. tests/vm/lib.sh
. tests/vm/collect.sh

place() { filefrag -v "$m/$1" | md5sum; }
faults() { value=$(mapped $m faults "$1"); }
is_whole() { value_is frag "$m/$1" huge_bytes 2097152; }

# stays TITLE NAME: it is not moved, and counted as passed by
stays() {
	local before passed
	before=$(place "$2")
	value gc $m passed_by.mapped
	passed=$value
	check "$1: beside it garbage is collected" eval "collect && [ \$value -gt 0 ]"
	is "$1: it stays" "$(place "$2")" "$before"
	check "$1: it is passed by" eval "value gc $m passed_by.mapped && [ \$value -gt $passed ]"
	check "$1: every file holds what it held" same
}

# --- files that nobody may move ----------------------------------------------------------------------

check "aged" begin
check "in pieces it takes a fault for few pages" eval "faults x && [ \$value -ge 32 ]"
chattr +i $m/x
stays immutable x
chattr -i $m/x
check "no more so, it is put together" eval "collect && is_whole x"
check "and read by a fault for 2 MiB" eval "faults x && [ \$value -le 4 ]"
note "$value faults for 512 pages"
check "every file holds what it held" same

check "aged for a pin" begin
coproc holder { exec mapped $m holds x; }
holds=$!
exec {tell}>&"${holder[1]}"
read -r held <&"${holder[0]}"
is "a page is pinned, the file neither mapped nor open" "$held" held
check "which is known" value_is usage $m pinned_files 1
stays pinned x
echo >&"$tell"
exec {tell}>&-
check "what was pinned is what it was" wait $holds
check "let go of, it is put together" eval "wait_for 20 value_is usage $m pinned_files 0 && collect && is_whole x"
check "every file holds what it held" same

check "aged for nvmalloc()" begin
log_mark
check "an area in pieces" modprobe nvmalloc_example path=$m/area first=2097152
into why klog since
matches "of 2 MiB, and what it grew by" "$why" "nvmalloc_example: 1 loads, 2162688 of 16777216 bytes, in pieces"
stays nvmalloc area
rmmod nvmalloc_example
log_mark
check "nvmalloc: it is found again" modprobe nvmalloc_example path=$m/area
into why klog since
matches "nvmalloc: with what it had" "$why" "nvmalloc_example: 2 loads, 2228224 of 16777216 bytes"
rmmod nvmalloc_example

# --- windows -----------------------------------------------------------------------------------------

check "aged for windows" begin
cp $m/x $m/y $twin
exec {open}<$m/x
check "read again and again, a file in pieces has a window" eval "fstwin again $m/x $twin/x &&
	value windows $m windows.count && [ \$value -ge 1 ]"
check "garbage is collected" eval "collect && is_whole x"
check "the window is gone" value_is windows $m windows.count 0
check "what is read is what was there" fstwin again $m/x $twin/x
check "in one piece, without a window" value_is windows $m windows.count 0
exec {open}<&-
check "aged for a reader" begin
reads() { while [ ! -e /tmp/enough ]; do fstwin again $m/x $twin/x && fstwin again $m/y $twin/y || return; done; }
rm -f /tmp/enough
reads >/tmp/a 2>&1 &
reader=$!
check "windows are made" wait_for 120 eval "value windows $m windows.made && [ \$value -ge 2 ]"
check "they are dropped under their reader" wait_for 180 eval "collect && is_whole x && is_whole y"
touch /tmp/enough
check "who read what was there, before and after" wait $reader
check "every file holds what it held" same

# --- frozen, stopped, off ----------------------------------------------------------------------------

# It was in its midst if it goes on once it is thawed.
caught=0
freezes() {
	local i before frozen
	for i in 1 2 3; do
		begin && in_midst freeze && value gc $m moves || return
		frozen=$value
		before=$(content)
		nap 0.2
		[ "$(content)" = "$before" ] || { echo "stored while frozen"; return 1; }
		fsfreeze -u $m && wait_for 30 ended && value gc $m moves || return
		[ "$value" -le "$frozen" ] || caught=$((caught + 1))
	done
}
check "frozen at any time, nothing is stored" freezes
check "it was in its midst, and went on" [ $caught -ge 1 ]
note "$caught times of 3"
check "thawed, it goes on to its end" eval "wait_for 30 ended && is_whole x && is_whole y"
check "every file holds what it held" same
check "in order" eval "in_order && at && same"

check "aged to be stopped" begin
# It waits for the thaw; whoever is told to stop meanwhile has nothing to do then.
waits() { scmfsctl gc $m "$@" >/dev/null && wait_for 10 value_is gc $m error '"Operation canceled"'; }
fsfreeze -f $m
scmfsctl gc $m --run >/tmp/run 2>&1 &
run=$!
at_work() { value_is gc $m running true && value_is gc $m error '"Operation canceled"'; }
check "started, it waits for a thaw" wait_for 10 at_work
check "and is stopped" scmfsctl gc $m --stop
status=0
wait $run || status=$?
check "who waited for its end hears of that" eval "[ $status = 1 ] && grep -q 'before all was done' /tmp/run"
fsfreeze -u $m
nap 1.5
check "so it does nothing" eval "ended && value_is gc $m moves 0"
fsfreeze -f $m
check "on, it waits, too" waits --on --cold 0
check "and is turned off" scmfsctl gc $m --off
fsfreeze -u $m
nap 1.5
check "nothing, either" eval "ended && value_is gc $m moves 0"
stops() {
	local i got run
	for i in 1 2 3 4 5; do
		begin || return
		scmfsctl gc $m --run >/tmp/run 2>&1 &
		run=$!
		in_midst stop || return
		got=0
		wait $run || got=$?
		[ $got = 0 ] || { [ $got = 1 ] && grep -q 'before all was done' /tmp/run && wait_for 10 ended; return; }
	done
	echo "all was done each time"
	return 1
}
check "who waits hears of it in its midst, too" stops
check "every file holds what it held" same
check "in its midst" eval "scmfsctl gc $m --start >/dev/null && scmfsctl gc $m --stop >/dev/null && wait_for 10 ended"
value gc $m moves
moved=$value
nap 1.5
check "it does no more" eval "ended && value_is gc $m moves $moved"
check "what was stopped is done when it is started" eval "collect && is_whole x && is_whole y"
value gc $m moves
moved=$value
value gc $m unchanged
unchanged=$value
check "what has not changed is not looked at again" eval "collect && [ \$value = $moved ] &&
	value gc $m unchanged && [ \$value -ge $((unchanged + 2)) ]"
check "every file holds what it held" same

# --- no room -----------------------------------------------------------------------------------------

# All that is free but 1 MiB, which is half of what a relocation has twice.
takes_all() {
	local i
	for i in 1 2 3; do
		begin && value usage $m free_bytes && scmfsctl gc $m --start >/dev/null &&
			fallocate -l $((value - (1 << 20))) $m/all && same && rm $m/all &&
			collect && is_whole x && same || return
	done
}
check "who takes all that is free finds it, whatever is being moved" takes_all

# --- remounted ---------------------------------------------------------------------------------------

# Of two options by fsconfig() only one is named: it stays read-only. Of several the first was begun first, and comes last.
cat >/tmp/reconfigure.py <<-EOP
	import ctypes, sys
	c = ctypes.CDLL(None, use_errno=True)
	contexts = [(c.syscall(433, -100, sys.argv[1].encode(), 0), option) for option in sys.argv[2:]]
	for fd, option in reversed(contexts):
	    key, value = option.split("=")
	    for cmd, key, value in (1, key.encode(), value.encode()), (7, None, None):
	        if fd < 0 or c.syscall(431, fd, cmd, key, value, 0):
	            sys.exit("errno %d" % ctypes.get_errno())
EOP
reconfigure() { python3 /tmp/reconfigure.py $m "$@"; }

check "read-only" eval "umount $m && at ro,gc=on,gc_cold=0"
before=$(content)
check "by another option alone" reconfigure gc_cold=7
check "which counts" grep -q "$m scmfs ro,.*gc_cold=7" /proc/mounts
check "by one that was begun before another" reconfigure gc_cold=8 gc_high=41
check "both count" grep -q "$m scmfs ro,.*gc_high=41,.*gc_cold=8" /proc/mounts
check_fails "what does not go together with what is set now" "errno 22" reconfigure gc_low=42
check_fails "it isn't made writable" "read-only" scmfsctl gc $m --start
umount $m
is "nothing is stored" "$(content)" "$before"
check "writable" at
exec {log}>>$m/log
for ((i = 0; i < 83; i++)); do printf '%4096s' '' >&$log; done
exec {log}>&-
exec {log}<$m/log
check "a file has room ahead" eval "value usage $m/log file.ahead_bytes && [ \$value -gt 0 ]"
check "read-only, it has none" eval "mount -o remount,ro $m && value_is usage $m/log file.ahead_bytes 0"
exec {log}<&-
before=$(content)
echo 2 >/proc/sys/vm/drop_caches
nap 0.2
is "and nothing is stored when it leaves memory" "$(content)" "$before"
check "in order" in_order

# is_closed: so a copy of the memory says, and it is in order
is_closed() {
	dd if=$dev of=/tmp/image bs=1M iflag=direct status=none && dumpscmfs /tmp/image | grep -q '^clean: yes' &&
		fsck.scmfs -n /tmp/image
}
# It was in its midst if there is something left to do once it is writable again.
caught=0
remounts() {
	local i before so_far
	for i in 1 2 3; do
		begin gc=on,gc_cold=0 && in_midst read-only || return
		ended || { echo "at work"; return 1; }
		value gc $m moves || return
		so_far=$value
		before=$(content)
		is_closed || return
		nap 0.2
		[ "$(content)" = "$before" ] || { echo "stored while read-only"; return 1; }
		same && value_is gc $m moves "$so_far" && mount -o remount,rw $m && collect && is_whole x && is_whole y &&
			value gc $m moves || return
		[ "$value" -le "$so_far" ] || caught=$((caught + 1))
	done
}
check "read-only at any time, nothing is stored" remounts
check "it was in its midst, and went on once it was writable" [ $caught -ge 1 ]
note "$caught times of 3"
rm -f /tmp/image
back_and_forth() {
	while [ ! -e /tmp/enough ]; do
		mount -o remount,ro $m && mount -o remount,rw $m || return
	done
}
# Each is done, or told why not, and there are some of both.
starts() {
	local i said done=0 refused=0
	for ((i = 0; i < 30 || (i < 300 && (!done || !refused)); i++)); do
		if said=$(scmfsctl gc $m --start 2>&1); then
			done=$((done + 1))
		elif [[ $said == *read-only* ]]; then
			refused=$((refused + 1))
		else
			echo "$said"
			return 1
		fi
	done
	echo "started $done times of $i, refused $refused times"
	((done && refused))
}
check "aged again" begin gc=on,gc_cold=0
rm -f /tmp/enough
back_and_forth >/tmp/a 2>&1 &
racer=$!
check "started while it is remounted again and again, it does or says why not" starts
touch /tmp/enough
check "each remount is done" wait $racer
check "it works" eval "collect && is_whole x && is_whole y && same"
check "in order" eval "in_order && at && same"
umount $m
check "the module is unloaded" rmmod scmfs
done_testing
