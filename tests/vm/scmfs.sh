#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: a file system in reserved memory and on pmem
# kernels: 6.1 6.12 debug
# timeout: 180
# memory: 2G
# append: memmap=64M$1G memmap=32M!1088M
. tests/vm/lib.sh

modprobe scmfs || die "no scmfs"
modprobe -q nd_e820
modprobe -q nd_pmem
modprobe -q mem2m
wait_for 20 test -b /dev/pmem0 || die "no /dev/pmem0"
m=/tmp/mnt twin=/tmp/twin here=phys=1G,size=64M
mkdir -p $m $twin
rm -rf ${twin:?}/*	# of another suite

# at OPTIONS [SOURCE]: mount it; again: once more
at() { mount -t scmfs -o "$1" "${2:-none}" $m; }
again() { umount $m && at "${1:-$here}" "${2:-none}"; }
cleanup_mount() { umount $m 2>/dev/null; mem2mctl delete there 2>/dev/null; cleanup; }
trap cleanup_mount EXIT
holds() { [ "$(<"$1")" = "$2" ]; }
free_blocks() { stat -f -c %f $m; }

# --- what is no file system ----------------------------------------------------------------------

# refused TITLE REGEX OPTIONS [SOURCE]
refused() { expect_refused "$1" "scmfs: .*$2" at "$3" "${4:-none}"; }

# poke FILE BYTES AT: into the reserved memory, the file system of which begins at 2 MiB
poke() { dd if="$1" of=/dev/mem bs=1 count="$2" seek=$((0x40000000 + $3)) conv=notrunc status=none; }
begin=$((2 << 20))

# Another suite may have had this machine, and these.
check "reserved memory and a device that are blank" eval 'dd if=/dev/zero of=/dev/mem bs=1M seek=1024 count=64 conv=notrunc status=none &&
	dd if=/dev/zero of=/dev/pmem0 bs=1M count=32 conv=fsync status=none'
refused "reserved memory that is blank is refused, with the way out" "init makes a file system" $here
refused "so is a blank device" "init makes a file system" ro /dev/pmem0
refused "an address without a size" "phys= and size= go together" phys=1G
refused "a size without an address" "phys= and size= go together" size=64M
refused "a size that is none" "size=64Q: not a number" phys=1G,size=64Q
refused "an option there is not" "Unknown parameter" $here,frobnicate
refused "init of what must not be written" "ro forbids" ro,$here,init
refused "the kernel's own RAM" "kernel's own RAM" phys=512M,size=64M,init
refused "what is no memory" "not memory that was set aside" phys=64G,size=64M,init
refused "odd addresses" "multiples of 2M" phys=0x40001000,size=2M,init
refused "what is too small for its struct pages" "too small" phys=1G,size=2M,init
disk sink 4M
refused "a disk" "neither pmem nor a mem2m device" init /dev/emudisk/sink
at_start() { dd if=/dev/mem bs=4096 count=1 skip=$((0x40000000 / 4096)) status=none | cksum; }
poke /dev/urandom 64 0
before=$(at_start)
refused "what begins where the struct pages would be is foreign, too" "init=force overwrites it" $here,init
is "and as it was" "$(at_start)" "$before"
poke /dev/zero 64 0
poke /dev/urandom 64 $begin
refused "what is foreign is refused" "init=force overwrites it" $here
refused "also to init" "init=force overwrites it" $here,init
poke /dev/zero 64 $begin
poke /dev/urandom 8 $((begin + 65536 + 64))
refused "also what begins at 64 KiB, as btrfs does" "init=force overwrites it" $here,init
poke /dev/zero 8 $((begin + 65536 + 64))
poke /dev/urandom 8 $(((64 << 20) - 512))
refused "also what ends there" "init=force overwrites it" $here,init
poke /dev/zero 8 $(((64 << 20) - 512))

# --- a file system ---------------------------------------------------------------------------------

check "init makes one where nothing is" at $here,init
umount $m
poke /dev/urandom 64 $begin
refused "the copy of a super block alone is what somebody left behind" "init=force overwrites it" $here,init
check "init=force makes one over it" at $here,init=force
check "a file is written and read" eval "echo hello >$m/f && holds $m/f hello"
refused "memory in use is refused" "in use" $here
check "mounted again, the file is there" eval "again && holds $m/f hello"
check "the options show where it is, and not init" grep -q " scmfs .*phys=0x40000000,size=67108864" /proc/mounts
check_fails "init is not among them" "" grep -q " scmfs .*init" /proc/mounts
check "read-only it is read" eval "again ro,$here && holds $m/f hello"
check_fails "and not written" "Read-only" touch $m/g
check "made writable on the way" eval "mount -o remount,rw $m && touch $m/g && holds $m/f hello"
check "which lasts" eval "again ro,$here && [ -e $m/g ]"
check "read-only on the way" eval "again && mount -o remount,ro $m && ! touch $m/g 2>/dev/null &&
	mount -o remount,rw $m && touch $m/g"
(cd $m && touch -d @-9223372035 eldest && touch -d @9223372035 last && touch -d @-9223372037 elder && touch -d @9223372037 later)
check "times are set" eval "again"
is "the first and last times there are, and what is beyond" "$(cd $m && stat -c %Y eldest elder last later | tr '\n' ' ')" \
	"-9223372035 -9223372035 9223372035 9223372035 "

check "two names of one file" eval "ln $m/f $m/f2 && [ \$(stat -c %h $m/f) = 2 ] && rm $m/f && holds $m/f2 hello"
exec {open}<>$m/f2
rm $m/f2
check "an unlinked file is there while it is open" eval "echo more >&$open && holds /proc/self/fd/$open more"
exec {open}>&-
check_fails "afterwards its name is not" "" ls $m/f2

# --- the tools, on memory that has no device -------------------------------------------------------------

echo whole >$m/f
ino=$(stat -c %i $m/f)
calls $m uuid >/tmp/uuid && knows_uuid=1 || knows_uuid=
check_fails "what is mounted isn't checked" "phys=1G,size=64M: in use: scmfs" fsck.scmfs $here
check_fails "nor shown" "in use: scmfs" dumpscmfs $here
umount $m
check_fails "the kernel's own RAM is not checked" "own RAM" fsck.scmfs phys=512M,size=64M
check_fails "nor what is no memory" "not memory that was set aside" fsck.scmfs phys=64G,size=64M
check_fails "nor a piece of one" "smaller than" fsck.scmfs -n phys=1G,size=32M
check_fails "a mount makes one there, no program" "mount -o init" mkfs.scmfs $here
check "it is in order, as /proc/mounts names it" fsck.scmfs -n phys=0x40000000,size=67108864
check "what it is made of is shown" eval "dumpscmfs -i $ino $here | grep -q '^inode $ino: .* links 1 .* size 6 '"
if [ "$knows_uuid" ]; then
	check "the kernel says whose it is" eval "dumpscmfs $here | grep -qi \"uuid:* *\$(</tmp/uuid)\""
else
	skip "the kernel says whose it is" "this one isn't asked: $(</tmp/uuid)"
fi
table=$(dumpscmfs $here | sed -n 's/^inode table: at //p')
printf '\7' >/tmp/seven
poke /tmp/seven 1 $((begin + table + ino * 256))
# answers WANTED ARGUMENT...
answers() { local want=$1; shift; fsck.scmfs "$@" $here; [ $? = "$want" ]; }
check "a wrong number of links is found" answers 4 -n
check "and left as it is by who only looks" answers 4 -n
check "repaired" answers 1
check "which lasts" answers 0 -n
check "and is what a mount sees" eval "at $here && [ \$(stat -c %h $m/f) = 1 ] && holds $m/f whole"
rm $m/f
# One that looks, and is kept waiting by who reads what it says.
for ((i = 0; i < 1000; i++)); do : >$m/many$i; done
umount $m
rm -f /tmp/looks && mkfifo /tmp/looks
dumpscmfs -a $here >/tmp/looks 2>/tmp/looked & looks=$!
exec {look}</tmp/looks
read -r _ <&$look
check_fails "nobody repairs what somebody looks at" "in use" fsck.scmfs $here
check "who mounts it doesn't wait for that" at $here
cat <&$look >/dev/null
exec {look}<&-
wait $looks
ended="$? $(grep -o "can't be accessed" /tmp/looked)"
if [[ $(uname -r) == *-debug ]]; then
	skip "who looked at it has it taken away" "this kernel isn't strict about /dev/mem"
else
	is "who looked at it has it taken away" "$ended" "1 can't be accessed"
fi
rm -f $m/many*

fill() {
	local i
	for ((i = 0; i < 2000; i++)); do echo x >$m/small$i || return; done
}

# full: of data and of inodes; nothing is left of what did not fit
sync
free=$(free_blocks)
check_fails "a full file system says so" "No space left" dd if=/dev/zero of=$m/big bs=1M count=64
check "what fitted is there" eval "[ \$(stat -c %s $m/big) -gt $((40 << 20)) ]"
check_fails "it stays full" "No space left" fill
check "and the rest stays readable" cmp -n $((40 << 20)) $m/big /dev/zero
rm -f $m/big $m/small*
check "removed, its room is there again" eval "again && [ \$(free_blocks) -ge $((free - 16)) ]"

# --- beside tmpfs ----------------------------------------------------------------------------------

mkdir -p $m/twin
steps=6000
[[ $(uname -v) != *KASAN* && ! -e /sys/kernel/debug/kmemleak ]] || steps=1500
check "random operations say what they say on tmpfs" fstwin run $m/twin $twin "$seed" $steps
check "mounted again all of it is there" eval "again && fstwin same $m/twin $twin"
rm -rf ${m:?}/* ${twin:?}/*
check "a source tree is as it was copied" eval "cp -a drivers include $m && cp -a drivers include $twin && again &&
	fstwin same $m $twin"
rm -rf ${m:?}/* ${twin:?}/*
check "data=atomic as well" eval "again $here,data=atomic && mkdir $m/twin &&
	fstwin run $m/twin $twin $((seed + 1)) $((steps / 3))"
rm -rf $m/twin ${twin:?}/*

mkdir $m/calls
check "writes from where nothing is yet, ranges of zeroes, where blocks are, flags" calls $m/calls
# calls_if_known TITLE WORD: not all kernels are built with it
calls_if_known() {
	local status=0
	calls $m/calls "$2" >"$said" 2>&1 || status=$?
	case $status in
	0) ok "$1" ;;
	3) skip "$1" "this kernel is built without" ;;
	*) not_ok "$1" "status $status: $(<"$said")" ;;
	esac
}
calls_if_known "files by handles" handles
calls_if_known "handles of a number that goes from file to file" reuse
calls_if_known "ids that a mount maps" ids
check "flags are there after mounting again" eval "again && calls $m/calls again"
rm -rf $m/calls
check "nobody reads what is not in a file any more, or is another's" pieces $m "$seed" $((steps / 10))
check "nor with data=atomic" eval "again $here,data=atomic && pieces $m $((seed + 1)) $((steps / 10)) && again"
rm $m/file?
check "shut down, it does nothing any more" calls $m shutdown
log_mark
check_fails "nor is it made writable on the way" "" mount -o remount,rw $m
check "and is there again after mounting again" eval "again && [ \$(stat -c %s $m/stays) = 100 ]"
into why klog since
matches "by way of recovery" "$why" "recovered:.* 1 of .* orphans"
rm $m/stays
check "shut down once more" calls $m shutdown
log_mark
check "a mount that is read-only recovers, too" eval "again ro,$here && [ \$(stat -c %s $m/stays) = 100 ]"
into why klog since
matches "and says so" "$why" "recovered:.* 1 of .* orphans"
check "it is made writable after that" eval "mount -o remount,rw $m && rm $m/stays && again"

# --- windows and nvmalloc --------------------------------------------------------------------------

check "files in many pieces" fstwin pieces $m/x $m/y
cp $m/y $twin/y
check "read again and again, such a file is what it was" fstwin again $m/y $twin/y
check "also when it grew, or lost its end" eval "cat $twin/y >>$m/y && cat $twin/y $twin/y | cmp - $m/y &&
	truncate -s 300K $m/y && cmp -n 307200 $m/y $twin/y && cat $twin/y >>$m/y && tail -c +307201 $m/y | cmp - $twin/y"
cp $m/y $twin/y
check "once more" fstwin again $m/y $twin/y
echo 2 >/proc/sys/vm/drop_caches
check "and when memory was short" fstwin again $m/y $twin/y

example() { modprobe nvmalloc_example path=$m/area "$@" && rmmod nvmalloc_example; }
says() { into why klog since; matches "$1" "$why" "nvmalloc_example: $2"; }
log_mark
check "nvmalloc: an area" example
says "nvmalloc: it has what was asked for" "1 loads, 65536 of 16777216 bytes"
log_mark
check "nvmalloc: found again, its content with it" eval "again && example"
says "nvmalloc: larger than before" "2 loads, 131072 of 16777216 bytes"
log_mark
check "nvmalloc: and in pieces" eval "cp $twin/y $m/z && again && example"
modprobe nvmalloc_example path=$m/area drop=1
check_fails "nvmalloc: nobody else changes it meanwhile" "" eval "echo x >>$m/area"
check_fails "nvmalloc: nor removes it" "" rm -f $m/area
check_fails "nvmalloc: nor unmounts it" "busy" umount $m
rmmod nvmalloc_example
is "nvmalloc: given back" "$(stat -c '%s %b' $m/area)" "0 0"
check "nvmalloc: as large as it says, whoever changes it, and flushed where it was written" eval "
	modprobe evenkeel_areas path=$m/areas rounds=$((steps / 20)) && rmmod evenkeel_areas"
rm $m/areas*
shut_down() {
	modprobe evenkeel_areas path=$m/areas shut=1 && calls $m shutdown && echo 1 >/sys/module/evenkeel_areas/parameters/run
}
check "nvmalloc: shut down, nothing is stored any more, and a flush says so" shut_down
check "nvmalloc: which is all" eval "rmmod evenkeel_areas && again && rm $m/areas* $m/stays"
free=$(stat -f -c %f $m)
check_fails "nvmalloc: not elsewhere" "Wrong medium type" modprobe nvmalloc_example path=/tmp/elsewhere
check "nvmalloc: and leaves nothing there" [ ! -e /tmp/elsewhere ]
dd if=/dev/zero of=$m/fill bs=1M 2>/dev/null
check_fails "nvmalloc: not without room" "No space left" modprobe nvmalloc_example path=$m/again first=8388608
rm $m/fill
check "nvmalloc: which leaves nothing, either" [ ! -e $m/again ]
check "nvmalloc: nor does it keep room" [ "$(stat -f -c %f $m)" -ge $((free - 4)) ]
check "nvmalloc: with room it is there" eval "modprobe nvmalloc_example path=$m/again first=8388608 &&
	[ \$(stat -c %s $m/again) = 8454144 ] && rmmod nvmalloc_example"
rm -rf ${m:?}/* ${twin:?}/*

# --- times and links -------------------------------------------------------------------------------

# Unmounted. on_media NAME OFFSET: a word of a file's inode; links NAME COUNT: that it says it has
declare -A ino
inodes() { od -An -t u8 -j $((0x40000000 + begin + 144)) -N 8 /dev/mem; }
number() { ino[$1]=$(stat -c %i $m/"$1"); }
place() { echo $((begin + $(inodes) + ino[$1] * 256 + $2)); }
on_media() { od -An -t d8 -j $((0x40000000 + $(place "$1" "$2"))) -N 8 /dev/mem; }
links() {
	local i
	for i in 0 8 16 24; do printf '%b' "\\x$(printf %02x $(($2 >> i & 255)))"; done >/tmp/links
	poke /tmp/links 4 "$(place "$1" 0)"
}
# read_lazily [COMMAND...]: a file that was last read in second 1000; then the second that is there after a crash
read_lazily() {
	again $here,lazytime,strictatime && touch -a -d @1000 $m/f && again $here,lazytime,strictatime &&
		holds $m/f hello && [ "$(stat -c %X $m/f)" -gt 1000 ] && "$@" || return
	calls $m shutdown
	umount $m
	atime=$(($(on_media f 56) / 1000000000))
	at $here && rm $m/stays
}

echo hello >$m/f
number f
check "lazytime: an access is in RAM" read_lazily :
is "alone" "$atime" 1000
check "until syncfs" eval "read_lazily sync -f $m/f && [ \$atime -gt 1000 ]"
check "or the end" eval "again $here,lazytime,strictatime && touch -a -d @1000 $m/f && again $here,lazytime,strictatime &&
	holds $m/f hello && again && [ \$(stat -c %X $m/f) -gt 1000 ]"
# What an NFS server tells its clients, who keep what they have as long as it stays: the clock's ticks are too long for that.
knows=/sys/module/evenkeel_version/parameters
version() { printf %s "$m/$1" >$knows/path && version=$(<$knows/version); }
# changes NAME COMMAND: each time
changes() {
	local i before
	for ((i = 0; i < 50; i++)); do
		version "$1" && before=$version && eval "$2" && version "$1" && [ "$version" -gt "$before" ] || return
	done
}
# all_changes: of a file, its attributes, a directory
all_changes() {
	changes f 'echo $i >$m/f' && changes f 'chmod $((600 + i % 2)) $m/f' && changes . ': >$m/new$i' &&
		rm $m/new* && version f && [ "$version" = "$(version f && echo "$version")" ]
}
check "what an NFS server asks for" modprobe evenkeel_version
check "is other with each change" all_changes
check "also with iversion" eval "again $here,iversion && all_changes"
check "also changed to be without" eval "mount -o remount,$here none $m && all_changes"
# first_change NAME COMMAND: by who does not ask before, as somebody did before the inode went
first_change() { version "$1" && before=$version && again && eval "$2" && version "$1" && [ "$version" -gt "$before" ]; }
check "also with the first change since it was mounted" eval 'first_change f "echo x >$m/f" && first_change . ": >$m/first" && rm $m/first'
check "it is none that it was" eval 'version f && before=$version && again && version f && [ "$version" -ge "$before" ]'
again
rmmod evenkeel_version
# allocated ARGUMENT...: fallocate, and what it gives the file's times
set_back() { touch -d @1000 $m/f && ctime=$(stat -c %.Z $m/f); }
allocates() { fallocate "$@" $m/f && [ "$(stat -c %.Z $m/f)" != "$ctime" ]; }
allocated() { set_back && wait_for 10 allocates "$@" && [ "$(stat -c %Y $m/f)" -gt 1000 ]; }
truncate -s 1M $m/f
check "what is allocated in a file changes its times" allocated -l 1M
check "also what was allocated before" allocated -l 512K
check "and beyond its end" allocated -n -o 1M -l 1M
check "which stays so" eval "set_back && fallocate -n -o 2M -l 64K $m/f && times=\$(stat -c '%.Y %.Z' $m/f) && again &&
	[ \"\$(stat -c '%.Y %.Z' $m/f)\" = \"\$times\" ] && [[ \$times != 1000.* ]]"
truncate -s 0 $m/f
# A pipe's writer notes the time in RAM alone.
fifo_times() { stat -c '%y %z' $m/fifo; }
mkfifo $m/fifo
touch -d @1000 $m/fifo
exec {fifo}<>$m/fifo
before=$(fifo_times)
later() { times=$(fifo_times) && echo x >&$fifo && [ "$(fifo_times)" != "$times" ] && [[ "$(fifo_times)" > "$before" ]]; }
check "who writes to a FIFO sets its times" wait_for 10 later
times=$(fifo_times)
setfattr -n trusted.x -v y $m/fifo
check "no change of it takes them back" eval '[[ "$(fifo_times)" > "$times" || "$(fifo_times)" == "$times" ]]'
check "once more" wait_for 10 later
times=$(fifo_times)
exec {fifo}>&-
check "they are there when it is mounted again" eval 'again && [ "$(fifo_times)" = "$times" ]'
rm $m/fifo
mkdir -p $m/a/x $m/b/y $m/c
for i in a b c; do number $i; done
umount $m
links f 0x7fffffff
links c 0x7fffffff
links a 1
links b 1
at $here
check_fails "a file has no more links than can be counted" "Too many links" ln $m/f $m/g
check_fails "nor has a directory" "Too many links" mkdir $m/c/d
check "the former are as they were" [ "$(stat -c %h $m/f $m/c | paste -sd' ')" = "2147483647 2147483647" ]
printf 'rename2 a/x b/y exchange\nrename2 b/y a/x exchange\nrename b/y a/y\nls a -> .,..,x,y\n' >/tmp/exchanges
check "directories that say they have no directories exchange some" eval "(cd $m && posix . /tmp/exchanges)"
umount $m
at $here,init=force

# --- damage ----------------------------------------------------------------------------------------

umount $m
poke /dev/urandom 64 $((begin + 16))
refused "a damaged super block is refused, with the way out" "damaged, its copy is not; fsck.scmfs" $here
poke /dev/urandom 64 $(((64 << 20) - 4096 + 16))
refused "with its copy damaged as well it is refused" "super block is damaged" $here
check "init makes a new one" at $here,init
umount $m
poke /dev/urandom 2 $((begin + $(inodes) + 256 + 92))
refused "a damaged root directory is refused" "root directory is damaged; fsck.scmfs" $here
check "init makes a new one once more" at $here,init
umount $m

# --- pmem ------------------------------------------------------------------------------------------

check "a pmem device" at init /dev/pmem0
check "a file on it" eval "cp -a drivers/lib $m && sync && again defaults /dev/pmem0 && diff -r drivers/lib $m/lib"
lies=/tmp/lies over=/tmp/over
# Handles of the kernel's own kind tell overlayfs that the upper half of an inode number is free for it.
lay_over() {
	mkdir -p $lies $over $m/up $m/work && mount -t scmfs -o $here,init=force none $lies && echo x >$lies/below &&
		mount -t overlay -o lowerdir=$lies,upperdir=$m/up,workdir=$m/work,xino=on overlay $over && echo x >$over/above
}
if modprobe -q overlay; then
	log_mark
	check "one of them beneath overlayfs, one on top" lay_over
	into why klog since
	matches "it knows how long inode numbers are" "$why" "using 32 upper inode bits"
	is "and has its files on one device" "$(stat -c %d $over/above)" "$(stat -c %d $over/below)"
	umount $over $lies
	rm -rf $m/up $m/work
else
	skip "one of them beneath overlayfs, one on top" "this kernel has no overlayfs"
fi
check_fails "init is refused as long as it is mounted" "" mount -t scmfs -o init /dev/pmem0 $twin
# copy_of: what the memory holds, as fsck.scmfs and dumpscmfs take it
copy_of() { dd if=/dev/pmem0 of=/tmp/frozen bs=1M iflag=direct status=none; }
is_waiting() { [ "$(cut -d' ' -f3 /proc/$writer/stat)" = D ]; }
head -c 300000 /dev/urandom >$m/cold
check "frozen" fsfreeze -f $m
copy_of
is "a copy of it says that it was closed" "$(dumpscmfs /tmp/frozen | grep ^clean)" "clean: yes"
check "and is in order" fsck.scmfs -n /tmp/frozen
touch $m/late &
writer=$!
check "who writes waits" wait_for 10 is_waiting
check "until it is thawed" eval "fsfreeze -u $m && wait $writer && [ -e $m/late ]"
for ((i = 0; i < 64; i++)); do head -c 3000 /dev/zero >>$m/cold; done	# room ahead, which reclaim gives back
fsfreeze -f $m
for ((i = 0; i < 3; i++)); do echo 2; done >/proc/sys/vm/drop_caches && : >/tmp/dropped &
check "inodes leave RAM while it is frozen" wait_for 60 test -e /tmp/dropped
check "and nobody stops the thaw" timeout 60 fsfreeze -u $m
copy_of
is "from then on a copy is one of a crash" "$(dumpscmfs /tmp/frozen | grep ^clean)" "clean: no"
ahead() { scmfsctl usage --json $m/"${1:-log}" >/tmp/ahead && json /tmp/ahead file.ahead_bytes; }
exec {open}>>$m/log
for ((i = 0; i < 8; i++)); do head -c 3000 /dev/zero >&$open; done
check "a file that is appended to has room ahead" [ "$(ahead)" -gt 0 ]
copy_of
exec {open}>&-
umount $m
dd if=/tmp/frozen of=/dev/pmem0 bs=1M oflag=direct status=none
check "after a crash" at defaults /dev/pmem0
is "it has none" "$(stat -c %s $m/log) $(ahead)" "24000 0"
# A copy of what is frozen has nothing to recover, so the mount does not look for any.
exec {open}>>$m/log
for ((i = 0; i < 4; i++)); do head -c 3000 /dev/zero >&$open; done
check "it has some again" [ "$(ahead)" -gt 0 ]
fsfreeze -f $m
copy_of
fsfreeze -u $m
exec {open}>&-
umount $m
dd if=/tmp/frozen of=/dev/pmem0 bs=1M oflag=direct status=none
check "the copy" at defaults /dev/pmem0
is "has none" "$(stat -c %s $m/log) $(ahead)" "36000 0"
# Who reads has the file's lock most of the time.
reads='import os, sys
f, to = os.open(sys.argv[1], os.O_RDONLY), bytearray(8 << 20)
while not os.path.exists("/tmp/enough"): os.preadv(f, [to], 0)'
dd if=/dev/zero of=$m/read bs=1M count=8 status=none
check "a file has room ahead" [ "$(ahead read)" -gt 0 ]
rm -f /tmp/enough
readers=()
for i in 1 2 3; do
	python3 -c "$reads" $m/read &
	readers+=($!)
done
nap 1
check "read-only while it is read" mount -o remount,ro $m
: >/tmp/enough
wait "${readers[@]}"
is "it has none" "$(ahead read)" 0
check "writable again" eval "mount -o remount,rw $m && rm $m/read"

# All but a few blocks is taken, and what another file has ahead: a write takes these, lacks one for the extent, and is tried
# again with the other one's. The file has as many extents as an inode has places for.
for ((i = 0; i < 8; i++)); do dd if=/dev/zero of=$m/parts bs=4K count=1 seek=$((32 * i)) conv=notrunc status=none; done
for ((i = 0; i < 8; i++)); do dd if=/dev/urandom of=$m/split bs=12K count=1 seek=$((8 * i)) conv=notrunc status=none; done
exec {open}>>$m/log
for ((i = 0; i < 100; i++)); do head -c 4000 /dev/zero >&$open; done
matches "another file has room ahead" "$(ahead)" '^[0-9]{5,}$'
for ((i = 0; i < 9 && $(stat -f -c %f $m) > 12; i++)); do fallocate -l $((($(stat -f -c %f $m) - 6) * 4096)) $m/filler$i; done
note "$(stat -f -c %f $m) blocks are free, $(ahead) bytes ahead"
head -c 65536 /dev/urandom >/tmp/pattern
dd if=/tmp/pattern of=$m/parts bs=64K count=1 seek=16 conv=notrunc status=none
wrote=$(($(stat -c %s $m/parts) - (1 << 20)))
check "a write finds room" [ $wrote -gt 0 ]
check "and begins with its first bytes" cmp -n $wrote <(tail -c +$(((1 << 20) + 1)) $m/parts) /tmp/pattern
exec {open}>&-
# A hole makes two extents of one, for which there is no block.
dd if=/dev/zero of=$m/filler.rest bs=4K status=none 2>/dev/null
for ((i = 0; i < 9 && $(stat -f -c %f $m) > 0; i++)); do fallocate -l 4K $m/filler.$i; done
is "nothing is free" "$(stat -f -c %f $m)" 0
cp $m/split /tmp/split
dd if=/dev/zero of=/tmp/split bs=1 seek=4000 count=4300 conv=notrunc status=none
check "a hole where nothing is free" fallocate -p -o 4000 -l 4300 $m/split
check "is zeroes, and nothing else is" cmp $m/split /tmp/split
rm $m/parts $m/filler* $m/split
# All that is free is reserved by one file, and what another one has ahead is the block for the file's extents when there are
# more than an inode has places for: nobody zeroes what was reserved as long as that can be had.
at_places='import mmap, os, sys
f = os.open(sys.argv[2], os.O_RDWR)
size = os.fstat(f).st_size
to = mmap.mmap(f, size)
for i in range(1, 9):
    at = size * i // 9 & -4096
    if sys.argv[1] == "store": to[at:at + 4096] = b"s" * 4096
    else: os.pwrite(f, b"w" * 4096, at)'
exec {open}>>$m/log
for how in write store; do
	for ((i = 0; i < 100; i++)); do head -c 4000 /dev/zero >&$open; done
	fallocate -l $(($(stat -f -c %f $m) * 4096)) $m/reserved
	is "all is taken, and a file has room ahead" "$(stat -f -c %f $m) $([ "$(ahead)" -gt 0 ] && echo some)" "0 some"
	check "to $how at some places" python3 -c "$at_places" $how $m/reserved
	is "takes what the other file has ahead" "$(ahead)" 0
	check "zeroes nothing: what is between them stays reserved" \
		[ "$(filefrag -v $m/reserved | grep -c unwritten)" -ge 9 ]
	is "and they have what was stored" "$(tr -d '\0' <$m/reserved | wc -c)" 32768
	rm $m/reserved
done
exec {open}>&-
exec {open}<>$m/late
rm $m/late
fsfreeze -f $m
copy_of
is "so is one with a file that has no name any more" "$(dumpscmfs /tmp/frozen | grep ^clean)" "clean: no"
fsfreeze -u $m
exec {open}>&-
rm $m/cold $m/log /tmp/frozen /tmp/dropped
check "the module stays as long as it is used" eval "! rmmod scmfs 2>/dev/null"
umount $m
check "a partition of it" eval "addpart /dev/pmem0 1 8192 49152 && wait_for 10 test -b /dev/pmem0p1 &&
	at init=force /dev/pmem0p1"
check "where blocks are is told from its start" calls $m /dev/pmem0p1
umount $m
check "it goes" delpart /dev/pmem0 1
check "a mem2m device" eval "mem2mctl create there 16M --phys 1G --force &&
	wait_for 10 test -b /dev/mem2m/there && at init /dev/mem2m/there && echo hello >$m/f &&
	again defaults /dev/mem2m/there && holds $m/f hello"
head -c 1000000 /dev/urandom >$m/cold
cp $m/cold /tmp/cold
sync -f $m
block=$(filefrag -v $m/cold | sed -n 's/^ *0: .* \([0-9]\+\)\.\. .*/\1/p')
umount $m
# known BLOCK: to be bad, as part of it is
known() { echo "$(($1 * 8 + 2)) 3" >'/sys/block/mem2m!there/badblocks'; }
check "a block is known to be bad" known $((block + 3))
check "the file system is mounted all the same" at defaults /dev/mem2m/there
check "with all other files" holds $m/f hello
check "and what lies before and behind it" eval "cmp -n 12288 $m/cold /tmp/cold &&
	cmp -i 16384 $m/cold /tmp/cold"
check "files in many pieces beside it" fstwin pieces $m/x $m/y
cp $m/y $twin/y
check "are read again and again" fstwin again $m/y $twin/y
is "through no window" "$(scmfsctl windows --json $m >/tmp/windows && json /tmp/windows windows.made)" 0
rm $m/x $m/y $twin/y
umount $m
echo "8 512" >'/sys/block/mem2m!there/badblocks'
status=0
fsck.scmfs -n /dev/mem2m/there >/tmp/unread 2>&1 || status=$?
is "fsck.scmfs can't go on there" $status 8
matches "which it says" "$(</tmp/unread)" '^/dev/mem2m/there: .* at byte [0-9]+$'
mem2mctl delete there
mem2mctl create there 16M --phys 1G	# which knows of nothing any more
wait_for 10 test -b /dev/mem2m/there
at defaults /dev/mem2m/there
status=0
mapped $m poison cold 10 >"$said" 2>&1 || status=$?
if [ $status = 3 ]; then
	skip "a page that the kernel finds to be bad" "this kernel is built without"
else
	is "a page that the kernel finds to be bad" "$status $(<"$said")" "0 "
	is "is known to the device, too" "$(<'/sys/block/mem2m!there/badblocks')" "$(((block + 10) * 8)) 8"
fi
if modprobe evenkeel_areas path=$m/bad bad=1 >"$said" 2>&1; then
	ok "nvmalloc: an area's memory goes bad, and nobody touches it"
	rmmod evenkeel_areas
elif grep -q "not supported" "$said"; then
	skip "nvmalloc: an area's memory goes bad, and nobody touches it" "this kernel is built without"
else
	not_ok "nvmalloc: an area's memory goes bad, and nobody touches it" "$(<"$said")"
fi
check "nvmalloc: which others remove" eval "rm -f $m/bad.* && [ -z \"\$(ls $m | grep '^bad')\" ]"
umount $m
check "one where a new one has its metadata" known 20
refused "is no place for that" "bad memory at byte 81920, where its metadata is" init=force /dev/mem2m/there
mem2mctl delete there
mem2mctl create there 16M --phys 1G
wait_for 10 test -b /dev/mem2m/there
check "what was there still is" eval "at defaults /dev/mem2m/there && holds $m/f hello && umount $m"
check "one of its metadata" known 9
refused "is no reason to touch it" "bad memory at byte 36864, where its metadata is" defaults /dev/mem2m/there
mem2mctl delete there
refused "reserved memory with a mem2m device in it is refused" "mem2m device is there" $here,init
check "init=force takes it, for good" eval "at $here,init=force && echo hello >$m/f && again && holds $m/f hello"
umount $m
rmmod mem2m
check "the module is unloaded" rmmod scmfs
done_testing
