#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfsctl: what a mounted scmfs tells of itself
# kernels: 6.1 6.12 debug
# timeout: 90
# memory: 2G
# append: memmap=64M$1G memmap=32M!1088M
. tests/vm/lib.sh

modprobe scmfs || die "no scmfs"
modprobe -q nd_e820
modprobe -q nd_pmem
wait_for 20 test -b /dev/pmem0 || die "no /dev/pmem0"
m=/tmp/mnt twin=/tmp/twin seen=/tmp/seen here=phys=1G,size=64M
mkdir -p $m $twin
rm -rf ${twin:?}/*	# of another suite
at() { mount -t scmfs -o "$1" "${2:-none}" $m; }
cleanup_mount() { umount $m 2>/dev/null; cleanup; }
trap cleanup_mount EXIT
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# look COMMAND PATH KEY...: what it says in JSON, into the array $got
look() {
	local key value
	got=()
	scmfsctl "$1" --json "$2" >$seen || return
	for key in "${@:3}"; do
		into value json $seen "$key"
		got+=("$value")
	done
}
# sum_of KEY: of all numbers of that key in what was said last
sum_of() {
	local numbers n total=0
	into numbers json $seen "$1"
	for n in $numbers; do total=$((total + n)); done
	echo $total
}
# counts TITLE "COMMAND PATH KEY..." EXPRESSION: of a, b, c ... in place of what the keys say
counts() {
	local names=({a..h}) i
	# shellcheck disable=SC2086
	look $2
	for i in "${!got[@]}"; do local -i "${names[i]}=${got[i]}"; done
	if (($3)); then ok "$1"; else not_ok "$1" "$2: ${got[*]}, and not $3" "$(<$seen)"; fi
}

# --- how full it is --------------------------------------------------------------------------------

at $here,init=force || die "no file system"
inodes="inodes.total inodes.used inodes.free"
agree() {
	local blocks
	sync
	look usage "$1" total_bytes free_bytes inodes.total inodes.free || return
	blocks=$(stat -f -c '%b %f %c %d' $m)
	echo "got ${got[*]} and $blocks"
	[ "$((got[0] / 4096)) $((got[1] / 4096)) ${got[2]} ${got[3]}" = "$blocks" ]
}
check "usage says what statfs does" agree $m
counts "used and free are all, and metadata the rest" \
	"usage $m total_bytes used_bytes free_bytes memory_bytes metadata_bytes $inodes" \
	"a == b + c && d == a + e && f == g + h && e > 0 && g > 0"
printf '%300000s' '' >$m/f
check "with files in it" agree $m/f
counts "a file's part is told, too" "usage $m/f used_bytes file.size_bytes file.taken_bytes file.ahead_bytes" \
	"b == 300000 && c >= b && c % 4096 == 0 && c < a"
is "which is what stat says" "${got[2]}" "$(($(stat -c %b $m/f) * 512))"
printf '%4096s' '' >$m/one
counts "one block has no room ahead" "usage $m/one file.taken_bytes file.ahead_bytes" "a == 4096 && b == 0"
exec {append}>>$m/log
for ((i = 0; i < 80; i++)); do printf '%4096s' '' >&$append; done
counts "a file that grows has" "usage $m/log file.size_bytes file.taken_bytes file.ahead_bytes" \
	"a == 80 * 4096 && c > 0 && b == a + c"
ahead=${got[2]}
counts "which is in the sum" "usage $m ahead_bytes ahead_files used_bytes" "a >= $ahead && b >= 1 && a < c"
fallocate -n -l 4M $m/log
counts "what is reserved is no room ahead" "usage $m/log file.taken_bytes file.ahead_bytes" "a >= 4 << 20 && b == 0"
exec {append}>&-
counts "the log's RAM is some of all, for each lane as much" "usage $m ram_bytes log_ram_bytes log_lanes" \
	"b > 0 && b < a && b < c * 4096"
scmfsctl usage $m/log >$seen
check "people can read it" grep -q '^files .* used (.*%), .* free$' $seen
check "frozen, too" eval "fsfreeze -f $m && timeout 20 scmfsctl usage $m; fsfreeze -u $m"
chmod 755 $m
nobody scmfsctl usage --json $m >$seen
json $seen total_bytes ahead_bytes ram_bytes log_ram_bytes >/tmp/told
is "somebody else is told what statfs tells" "$(sed 1d /tmp/told | paste -sd' ')" "null null null"
is "three times, if wanted" "$(scmfsctl usage --watch 0.001 --count 3 --json $m | grep -c '^{.*}$')" 3

# --- who may, and what is no scmfs ------------------------------------------------------------------

mkfifo $m/pipe
ln -s nowhere $m/dangling
chmod 600 $m/f
check_fails "no such file" "/missing: No such file" scmfsctl usage $m/missing
check_fails "nor what a link leads to" "No such file" scmfsctl frag $m/dangling
check_fails "another file system" "not on an scmfs" scmfsctl usage /tmp
check_fails "a pipe isn't opened" "neither a file nor a directory" timeout 20 scmfsctl usage $m/pipe
check_fails "a file that one can't read" "Permission denied" nobody scmfsctl frag $m/f
for command in wear windows frag gc; do
	check_fails "$command is for root" "takes root" nobody scmfsctl $command $m
done
status=0
scmfsctl usage 2>/dev/null || status=$?
is "a wrong command line is status 2" "$status" 2
check_fails "a count without --watch" "usage:" scmfsctl usage --count 3 $m
check_fails "a pause that is none" "usage:" scmfsctl wear --watch 0 $m
check "who means no good gets clean errors" told $m

# --- wear -------------------------------------------------------------------------------------------

rm $m/log $m/f $m/one
look wear $m allocated_blocks units
before=${got[0]}
dd if=/dev/zero of=$m/four bs=1M count=4 status=none
counts "wear grows by what is written" "wear $m allocated_blocks least most units" \
	"a - $before >= 1024 && a - $before <= 2048 && b <= c && c >= 512 && d > 20"
is "each 2 MiB is in the histogram once" "$(sum_of histogram.*.units)" "${got[3]}"
before=${got[0]}
dd if=/dev/zero of=$m/four bs=1M count=4 conv=notrunc status=none
counts "and not by what is written in place" "wear $m allocated_blocks" "a == $before"
umount $m
at $here
counts "it is there after mounting again" "wear $m allocated_blocks" "a >= $before"

# --- fragmentation ----------------------------------------------------------------------------------

rm $m/four
counts "free memory is what statfs says" "frag $m free_bytes runs largest_bytes whole_units" \
	"a == $(($(stat -f -c %f $m) * 4096)) && b >= 1 && c <= a && d > 20"
new=("${got[@]}")
scmfsctl frag $m >$seen
check "people can read that" grep -q '^whole .*2 MiB (.*% of what is free)$' $seen
mkdir $m/d
for ((i = 0; i < 600; i++)); do printf '%65536s' '' >$m/d/f$i; done
rm $m/d/f*[02468]
sync
echo 2 >/proc/sys/vm/drop_caches
counts "ageing cuts it into pieces" "frag $m free_bytes runs largest_bytes whole_units" \
	"b >= ${new[1]} + 250 && c < ${new[2]} && d <= ${new[3]} - 16 && a < ${new[0]}"
is "all of them are in the histogram" "$(sum_of histogram.*.bytes)" "${got[0]}"
counts "those of 64 KiB are" "frag $m histogram.0.least_bytes histogram.0.runs" "a <= 65536 && b >= 1"
rm -r $m/d
sync
counts "removed, it is whole again" "frag $m free_bytes whole_units" "a <= ${new[0]} && b >= ${new[3]} - 1"

check "a file in many pieces" fstwin pieces $m/x $m/y
counts "its extents" "frag $m/y extents bytes mean_bytes largest_bytes huge_bytes" \
	"a > 8 && c == b / a && d >= c && e == 0"
is "as many as filefrag finds" "${got[0]} extents found" "$(filefrag $m/y | sed 's/.*: //')"
exec {log}>$m/ahead
for ((i = 0; i < 83; i++)); do printf '%4096s' '' >&$log; done
counts "a file that grows has room ahead" "usage $m/ahead file.ahead_bytes" "a > 0"
counts "which is no part of its extents" "frag $m/ahead bytes" "a == 83 * 4096"
exec {log}>&-
rm $m/ahead
fallocate -l 6M $m/whole
counts "what is reserved is unwritten" "frag $m/whole bytes unwritten_bytes huge_bytes" \
	"a == 6 << 20 && b == a && c == 0"
dd if=/dev/zero of=$m/whole bs=1M count=6 conv=notrunc status=none
counts "written, huge pages can map it" "frag $m/whole extents bytes unwritten_bytes huge_bytes" \
	"b == 6 << 20 && c == 0 && d >= 2 << 20 && d <= b"
: >$m/none
counts "an empty file has no extents" "frag $m/none extents mean_bytes" "a == 0 && b == 0"

# --- windows ----------------------------------------------------------------------------------------

cp $m/y $twin/y
umount $m
at $here
counts "no windows" "windows $m windows.count windows.mapped_bytes areas.count" "a == 0 && b == 0 && c == 0"
look windows $m windows.made windows.reclaimed
before=("${got[@]}")
exec {open}<$m/y
check "read again and again" fstwin again $m/y $twin/y
counts "the file has one" "windows $m windows.count windows.mapped_bytes windows.made windows.reclaimed" \
	"a == 1 && b >= $(stat -c %s $m/y) && c == ${before[0]} + 1 && d == ${before[1]}"
counts "which usage counts, too" "usage $m window_bytes" "a == ${got[1]}"
echo 2 >/proc/sys/vm/drop_caches
counts "until memory is short" "windows $m windows.count windows.mapped_bytes windows.reclaimed" \
	"a == 0 && b == 0 && c == ${before[1]} + 1"
check "read again and again" fstwin again $m/y $twin/y
counts "it has none so soon after that" "windows $m windows.count windows.made" "a == 0 && b == ${before[0]} + 1"
exec {open}<&-
modprobe nvmalloc_example path=$m/area || die "no nvmalloc_example"
counts "an area of nvmalloc()" "windows $m areas.count areas.reserved_bytes areas.mapped_bytes" \
	"a == 1 && b == 16 << 20 && c == 65536"
rmmod nvmalloc_example
counts "until it is closed" "windows $m areas.count areas.reserved_bytes areas.mapped_bytes" \
	"a == 0 && b == 0 && c == 0"

# --- beside writers ---------------------------------------------------------------------------------

mkdir $m/a $m/b
rm $twin/y
fstwin run $m/a $twin "$seed" 800 >/tmp/a 2>&1 &
writers=($!)
(cd $m/b && while [ ! -e /tmp/enough ]; do : >>g && printf '%9000s' '' >>g && mv g h && : >h; done) &
writers+=($!)
# more than once, however quick the first writer is: the second one goes on
looked=0
busy() {
	local status=0
	while kill -0 "${writers[0]}" 2>/dev/null || [ $looked -lt 2 ]; do
		scmfsctl usage --json --watch 0.001 --count 20 $m/b >$seen && scmfsctl frag $m >/dev/null &&
			scmfsctl wear $m >/dev/null && scmfsctl windows $m >/dev/null || status=1
		looked=$((looked + 1))
	done
	return $status
}
check "asked while files are written" busy
check "what is written is right meanwhile" wait "${writers[0]}"
: >/tmp/enough
wait "${writers[1]}"
check "the numbers agree afterwards" agree $m

# --- the end ----------------------------------------------------------------------------------------

check "shut down" calls $m shutdown
check_fails "it says so" "was shut down" scmfsctl usage $m
check_fails "of a file as well" "was shut down" scmfsctl frag $m/whole
check "as its ioctls do" told $m shut
umount $m
check "read-only there is all but what the log takes" eval "at ro,$here && look usage $m ram_bytes free_bytes &&
	[ \${got[0]} = null ] && scmfsctl frag $m && scmfsctl wear $m"
umount $m
check "memory at an odd address" eval "addpart /dev/pmem0 1 2048 49152 && wait_for 10 test -b /dev/pmem0p1 &&
	at init=force /dev/pmem0p1"
check "has no huge pages" eval "look frag $m huge_pages && [ \${got[0]} = false ] &&
	dd if=/dev/zero of=$m/x bs=1M count=4 status=none && look frag $m/x huge_bytes && [ \${got[0]} = 0 ]"
umount $m
delpart /dev/pmem0 1
check "the module is unloaded" rmmod scmfs
done_testing
