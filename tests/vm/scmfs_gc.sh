#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: garbage collection
# kernels: 6.12 debug
# timeout: 90
# memory: 2G
# append: memmap=32M!1G
. tests/vm/lib.sh
. tests/vm/collect.sh
slow=1
[[ $(uname -v) != *KASAN* && ! -e /sys/kernel/debug/kmemleak ]] || slow=4

# --- what it is for ----------------------------------------------------------------------------------

check "an aged file system has no 2 MiB in one piece" begin
check "huge pages can't map what was written then" eval "value frag $m/x huge_bytes && [ \$value = 0 ]"
value gc $m passes
is "it is off unless it is told" "$value" 0
check "garbage is collected" collect
moved=$value
check "now they can, all of it" eval "value frag $m/x huge_bytes && [ \$value = 2097152 ] &&
	value frag $m/y huge_bytes && [ \$value = 2097152 ]"
check "and there are free units" eval "value frag $m whole_units && [ \$value -ge 2 ]"
note "$value free units of 2 MiB from none, after $moved moves"
check "every file holds what it held" same
check "which people can read" eval "scmfsctl gc $m | grep -q '^made *2 times 2 MiB of files'"
check "a second time there is nothing left to do" eval "collect && [ \$value = $moved ]"
check "in order" in_order
check "after mounting again" eval "at && same"

# --- what stays where it is --------------------------------------------------------------------------

place() { filefrag -v "$m/$1" | md5sum; }
check "aged once more" begin
before=$(place x)
coproc python3 -c "
import mmap, sys
f = open('$m/x', 'r+b')
m = mmap.mmap(f.fileno(), 0)
m[0] = m[0]
print('mapped', flush=True)
sys.stdin.readline()"
python=$COPROC_PID
read -r _ <&"${COPROC[0]}"
check "beside who has a file mapped" collect
is "that file is where it was" "$(place x)" "$before"
check "and passed by" eval "value gc $m passed_by.mapped && [ \$value -gt 0 ]"
echo >&"${COPROC[1]}"
wait "$python"
check "until it isn't mapped" eval "collect && value frag $m/x huge_bytes && [ \$value = 2097152 ]"
check "every file holds what it held" same

check "aged again" begin
fsfreeze -f $m
before=$(content)
check "frozen, it can be started" scmfsctl gc $m --start
check "and waits" wait_for 10 eval "value gc $m error && [ \"\$value\" = '\"Operation canceled\"' ]"
is "nothing is stored" "$(content)" "$before"
fsfreeze -u $m
check "thawed, it goes on" wait_for 20 eval "value gc $m wholes && [ \$value = 2 ]"
check "and can be stopped" scmfsctl gc $m --stop
check "read-only" mount -o remount,ro $m
check_fails "it can't be started" "read-only" scmfsctl gc $m --start
check "every file holds what it held" same
check "writable again" mount -o remount,rw $m
check "it can" collect
check "in order" in_order

# --- thresholds --------------------------------------------------------------------------------------

check_fails "percent" "wrong fs type|bad option|invalid|Invalid" at gc_low=50,gc_high=40
check_fails "nor more than all" "wrong fs type|bad option|invalid|Invalid" at gc_whole=101
check "by a mount option" at gc=on,gc_low=20,gc_high=30,gc_cold=7
check "which is shown" grep -q "$m scmfs .*gc=on,gc_low=20,gc_high=30,gc_cold=7" /proc/mounts
check "and told" eval "value gc $m high_percent && [ \$value = 30 ] && [ \$(json $seen on) = true ]"
check "remounted it is off" eval "mount -o remount,gc=off $m && value gc $m on && [ \$value = false ]"
check_fails "percent are checked" "percent" scmfsctl gc $m --low 101
check_fails "and the command line" "usage:" scmfsctl gc $m --on --off
check_fails "of numbers" "usage:" scmfsctl gc $m --cold -1
check_fails "it is for root" "takes root" setpriv --reuid 65534 --clear-groups scmfsctl gc $m
check "aged" begin
check "on, it needs nobody to start it" eval "scmfsctl gc $m --on --cold 0 >/dev/null &&
	wait_for 120 eval 'value gc $m wholes && [ \$value = 2 ]'"
exec {log}>>$m/log
for ((i = 0; i < 83; i++)); do printf '%4096s' '' >&$log; done
check "a file that grows has room ahead" eval "value usage $m/log file.ahead_bytes && [ \$value -gt 0 ]"
check "which is given back when little is free" eval "scmfsctl gc $m --low 99 --high 99 >/dev/null &&
	wait_for 30 eval 'value usage $m/log file.ahead_bytes && [ \$value = 0 ]'"
exec {log}>&-
check "and counted" eval "value gc $m room_bytes && [ \$value -gt 0 ]"
check "every file holds what it held" same

# --- beside others -----------------------------------------------------------------------------------

check "aged for others" begin
mkdir $m/a
fstwin run $m/a $twin "$seed" $((300 / slow)) >/tmp/a 2>&1 &
writer=$!
mapped $m race "$seed" $((50 / slow)) >/tmp/b 2>&1 &
racer=$!
pieces $m "$seed" $((400 / slow)) >/tmp/c 2>&1 &
readers=$!
scmfsctl gc $m --on --cold 0 --low 90 --high 95 >/dev/null
again() {
	while
		collect && printf '%300000s' '' >$m/new && rm $m/new || return
		kill -0 $writer 2>/dev/null || kill -0 $racer 2>/dev/null || kill -0 $readers 2>/dev/null
	do :; done
}
check "again and again, beside who writes, maps, truncates and removes" again
check "what is written is right meanwhile" wait $writer
check "so is what is stored through mappings" wait $racer
check "nobody reads what is not in a file any more, or is another's" wait $readers
check "every file holds what it held" same
check "in order" eval "in_order && at && same && fstwin same $m/a $twin"
check "it did something" [ "$value" -gt 50 ]

fill() { dd if=/dev/zero of=$m/fill bs=64K conv=fsync; }
check_fails "when all is full" "No space left" fill
value usage $m free_bytes
free=$value
check "there is nothing that it could use" collect
check_fails "and it takes no room" "No space left" fill
check "none at all" eval "value usage $m free_bytes && [ \$value -le $((free + (1 << 18))) ]"
rm $m/fill
check "but afterwards" collect
check "all that was free is, also meanwhile" eval "scmfsctl gc $m --start >/dev/null && value usage $m free_bytes &&
	fallocate -l \$((value - (1 << 20))) $m/fill"
check "every file holds what it held" same

# --- when it ends ------------------------------------------------------------------------------------

# goes_on: what it has not done by its end is done in the next mount, and there was some
goes_on() {
	collect && same && value_is frag $m/x huge_bytes 2097152 && value_is frag $m/y huge_bytes 2097152 &&
		value gc $m moves || return
	[ "$value" = 0 ] || caught=$((caught + 1))
}
unmounts() {
	local i
	for i in 1 2; do
		begin && in_midst unmount && fsck.scmfs -n $dev && at && same && goes_on || return
	done
}
crashes() {
	local i before why
	for i in 1 2; do
		begin && in_midst shutdown || return
		before=$(content)
		umount $m || return
		[ "$(content)" = "$before" ] || { echo "stored after it was shut down"; return 1; }
		log_mark
		at || return
		into why klog since
		[[ $why == *recovered* ]] || { echo "closed: $why"; return 1; }
		same && in_order && at && same && goes_on || return
	done
}
caught=0
check "unmounted in its midst, nothing is lost, and the next one goes on" unmounts
check "it was in its midst" [ $caught -ge 1 ]
note "$caught times of 2"
caught=0
check "shut down in its midst, likewise, and nothing is stored after that" crashes
check "it was in its midst then" [ $caught -ge 1 ]
note "$caught times of 2"
umount $m
check "the module is unloaded" rmmod scmfs
done_testing
