#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: a resume over a live pool waits for no memory
# kernels: 6.1 6.12
# timeout: 60
#
# What memory is taken in preresume and by the committer that it waits for is seen by the kernel's own tracepoints, with
# the stack of each. What comes out of a mempool needs no other memory, and what a member's driver does is its own affair.
. tests/vm/lib.sh

trace=/sys/kernel/tracing
events=(kmem/kmalloc kmem/kmalloc_node kmem/kmem_cache_alloc kmem/kmem_cache_alloc_node kmem/mm_page_alloc
	percpu/percpu_alloc_percpu)
taken=0 stacks=''

# watched COMMAND...: allocations of its resumes into $taken, the stack of each into $stacks
watched() {
	local status
	echo 1 >$trace/tracing_on
	"$@"
	status=$?
	echo 0 >$trace/tracing_on
	! grep -h "^overrun: [1-9]" "$trace"/per_cpu/cpu*/stats || { echo "the trace is not whole"; status=1; }
	stacks=$(judge <$trace/trace)
	taken=$(grep -c . <<<"$stacks")
	echo >$trace/trace
	return $status
}

# A line for each stack that is to be complained of.
judge() {
	awk 'function judge() {
			if (stack ~ /hybrid_preresume|commit_work/ && stack !~ /mempool_alloc|bio_alloc_bioset|submit_bio/)
				print stack
			stack = ""
		}
		/^ => / { stack = stack " " $2; next }
		{ judge() }
		END { judge() }'
}

# takes_none TITLE COMMAND...
takes_none() {
	check "$1" watched "${@:2}" || return
	is "$1: no memory" "$taken" 0 || note "$stacks"
}

[ -e $trace/trace ] || mount -t tracefs tracefs $trace || die "no tracefs"
# As it was, for whoever comes next in this machine
cleanup_trace() {
	local event
	for event in "${events[@]}"; do
		[ -e $trace/events/$event/enable ] || continue
		echo 0 >$trace/events/$event/enable
		echo 0 >$trace/events/$event/filter
	done
	echo 0 >$trace/options/stacktrace
	echo >$trace/trace
	echo 1408 >$trace/buffer_size_kb
	echo 1 >$trace/tracing_on
	cleanup
}
trap cleanup_trace EXIT
echo 0 >$trace/tracing_on
echo 16384 >$trace/buffer_size_kb
echo 1 >$trace/options/stacktrace
for event in "${events[@]}"; do
	[ -e $trace/events/$event/enable ] || continue
	echo "common_pid == $$ || comm == \"hybridctl\" || comm ~ \"kworker*\"" >$trace/events/$event/filter
	echo 1 >$trace/events/$event/enable
done
echo >$trace/trace

disk m 8M
disk a 24M
disk b 24M
disk c 24M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p size=32768
two() { table "$1" 128 m "a b" 0 "$2"; }
# one that is loaded while the one before is in force, as who reloads should
swap() { dmsetup load p --table "$1" && dmsetup suspend p && takes_none "$2" dmsetup resume p; }

check "a pool is made" watched pool p "$(two $size "stripe 0")"
check "which takes memory, and that is seen" [ "$taken" -gt 0 ]
check "data" blkio write $dev 0 $size "$seed" -- flush $dev
check "suspend" dmsetup suspend p
takes_none "the same table again" dmsetup resume p
swap "$(two $size "wardrop 2 alpha 20")" "another policy"
table_matches "is in force" p "wardrop 2 alpha 20$"
swap "$(two $size "wardrop 2 cache_extents 4")" "an extent cache"
table_matches "is there" p "cache_extents 4$"
# a table that is cleared takes all with it that it had got ready: the debug kernel's leak check sees what it does not
check "a longer one" dmsetup load p --table "$(two 65536 "fill 2 cache_extents 4")"
check "that is not resumed" dmsetup clear p
swap "$(two 65536 "wardrop 0")" "a longer one"
is "it is longer" "$(sectors $dev)" 65536
check "suspend" dmsetup suspend p
takes_none "the longer one again" dmsetup resume p
takes_none "a member joins" hybridctl add p /dev/emudisk/c --force
field_is "it is there" p dev.2.state active
check "new data" blkio write $dev $size $size "$seed" -- flush $dev
check "all of it" blkio verify $dev 0 $size "$seed" -- verify $dev $size $size "$seed"
check "removed" remove_pool p
done_testing
