#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: a file system in reserved memory and on pmem
# kernels: 6.1 6.12 debug
# timeout: 60
# memory: 2G
# append: memmap=64M$1G memmap=32M!1088M
. tests/vm/lib.sh

modprobe scmfs || die "no scmfs"
modprobe -q nd_e820
modprobe -q nd_pmem
modprobe -q mem2m
wait_for 20 test -b /dev/pmem0 || die "no /dev/pmem0"
m=/tmp/mnt twin=/tmp/twin
here=phys=1G,size=64M
mkdir -p $m $twin

# at OPTIONS [SOURCE]: mount it
at() { mount -t scmfs -o "$1" "${2:-none}" $m; }
again() { umount $m && at "${1:-$here}" "${2:-none}"; }
cleanup_mount() { umount $m 2>/dev/null; mem2mctl delete there 2>/dev/null; cleanup; }
trap cleanup_mount EXIT

# --- what is no file system ----------------------------------------------------------------------

# refused TITLE REGEX OPTIONS [SOURCE]
refused() { expect_refused "$1" "scmfs: .*$2" at "$3" "${4:-none}"; }

# poke FILE BYTES AT: into the reserved memory, the file system of which begins at 2 MiB
poke() { dd if="$1" of=/dev/mem bs=1 count="$2" seek=$((0x40000000 + $3)) conv=notrunc status=none; }
begin=$((2 << 20))

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
poke /dev/urandom 64 $begin
refused "what is foreign is refused" "init=force overwrites it" $here
refused "also to init" "init=force overwrites it" $here,init

# --- a file system ---------------------------------------------------------------------------------

check "init=force makes one over it" at $here,init=force
check "a file is written and read" eval 'echo hello >$m/f && [ "$(<$m/f)" = hello ]'
refused "memory in use is refused" "in use" $here
check "mounted again, the file is there" eval 'again && [ "$(<$m/f)" = hello ]'
check "the options show where it is, and not init" grep -q " scmfs .*phys=0x40000000,size=67108864" /proc/mounts
check_fails "init is not among them" "" grep -q " scmfs .*init" /proc/mounts
check "read-only it is read" eval 'again ro,$here && [ "$(<$m/f)" = hello ]'
check_fails "and not written" "Read-only" touch $m/g
check_fails "nor made writable on the way" "" mount -o remount,rw $m
check "read-only on the way" eval 'again && mount -o remount,ro $m && ! touch $m/g 2>/dev/null && mount -o remount,rw $m &&
	touch $m/g'

check "two names of one file" eval 'ln $m/f $m/f2 && [ "$(stat -c %h $m/f)" = 2 ] && rm $m/f && [ "$(<$m/f2)" = hello ]'
exec {open}<>$m/f2
rm $m/f2
check "an unlinked file is there while it is open" eval 'echo more >&$open && [ "$(<"/proc/self/fd/$open")" = more ]'
exec {open}>&-
check_fails "afterwards its name is not" "" ls $m/f2

# full: of data and of inodes; nothing is left of what did not fit
df_free() { stat -f -c '%f' $m; }
sync
free=$(df_free)
check_fails "a full file system says so" "No space left" dd if=/dev/zero of=$m/big bs=1M count=64
check "what fitted is there" eval '[ "$(stat -c %s $m/big)" -gt $((40 << 20)) ]'
check_fails "it stays full" "No space left" eval 'for i in {1..2000}; do echo x >$m/small$i || break; done; echo y >$m/last'
check "and the rest stays readable" cmp -n $((40 << 20)) $m/big /dev/zero
rm -f $m/big $m/small* $m/last
check "removed, its room is there again" eval 'again && [ "$(df_free)" -ge $((free - 16)) ]'

# --- beside tmpfs ----------------------------------------------------------------------------------

mkdir -p $m/twin
steps=6000
[[ $(uname -v) != *KASAN* && ! -e /sys/kernel/debug/kmemleak ]] || steps=1500
check "random operations say what they say on tmpfs" fstwin run $m/twin $twin "$seed" $steps
check "mounted again all of it is there" eval 'again && fstwin same $m/twin $twin'
rm -rf $m/twin ${twin:?}/*
check "a source tree is as it was copied" eval 'cp -a drivers include $m && cp -a drivers include $twin && again &&
	fstwin same $m $twin'
rm -rf ${m:?}/* ${twin:?}/*
check "data=atomic as well" eval 'again $here,data=atomic && mkdir $m/twin && fstwin run $m/twin $twin "$((seed + 1))" $((steps / 3))'
rm -rf $m/twin ${twin:?}/*

# --- damage ----------------------------------------------------------------------------------------

umount $m
poke /dev/urandom 64 $((begin + 16))
refused "with its super block damaged it is refused, or recovered from the copy" "" $here || umount $m
poke /dev/urandom 64 $((begin + 16))
poke /dev/urandom 64 $(((64 << 20) - 4096 + 16))
refused "with both copies damaged it is refused" "damaged" $here
check "init makes a new one" at $here,init
umount $m
poke /dev/zero 8 $((begin + $(fstwin super 2>/dev/null || echo 0) + 2048))

# --- pmem ------------------------------------------------------------------------------------------

check "a pmem device" at init /dev/pmem0
check "a file on it" eval 'cp -a drivers/lib $m && sync && again defaults /dev/pmem0 && diff -r drivers/lib $m/lib'
check_fails "init is refused as long as it is mounted" "" mount -t scmfs -o init /dev/pmem0 $twin
check "the module stays as long as it is used" eval '! rmmod scmfs 2>/dev/null'
umount $m
check "a mem2m device" eval 'mem2mctl create there 16M --phys 1G --force && wait_for 10 test -b /dev/mem2m/there &&
	at init /dev/mem2m/there && echo hello >$m/f && again defaults /dev/mem2m/there && [ "$(<$m/f)" = hello ]'
umount $m
mem2mctl delete there
refused "reserved memory with a mem2m device in it is refused" "mem2m device is there" $here,init
rmmod mem2m
check "the module is unloaded" rmmod scmfs
done_testing
