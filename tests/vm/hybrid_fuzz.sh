#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: table lines, messages and metadata that are nearly right
# kernels: debug 6.12
# quick: no
# timeout: 240
. tests/vm/lib.sh

# EVENKEEL_FUZZ_SECONDS: of each of the five parts, for longer runs by hand
seconds=${EVENKEEL_FUZZ_SECONDS:-9}
for d in m m2 a b blank blank2; do disk $d 4M; done
modprobe dm-hybrid || die "no dm-hybrid"
path() { printf '/dev/emudisk/%s ' "$@"; }

# fuzzed TITLE WORDS...: the program says itself what it did and what was wrong
fuzzed() {
	check "$@"
	cat "$said"
}

# members may leave it, and one of two metadata areas
for meta in m "m m2"; do
	wipe m m2 a b blank
	check "metadata on $meta: a pool" pool p "$(table 4096 128 "$meta" "a b blank" 0 "fill 2 commit_ms 50")"
	check "data" blkio write /dev/mapper/p 0 2048 "$seed"
	fuzzed "messages are refused or obeyed, and the pool goes on" fuzz messages "$seconds" "$seed" p
	check "its data" blkio flush /dev/mapper/p
	check "it goes" remove_pool p
done
wipe m m2 a b blank
check "a pool" pool p "$(table 4096 128 m "a b" 0 "fill 2 commit_ms 50")"
check "data" blkio write /dev/mapper/p 0 2048 "$seed" -- flush /dev/mapper/p
remove_pool p
# shellcheck disable=SC2046
fuzzed "lines are refused or loaded, and nothing is written" fuzz lines "$seconds" "$seed" $(path m a b blank blank2)
check "the pool behind them" pool p "$(table 4096 128 m "a b" 0 "fill 2 commit_ms 50")"
check "can be read" blkio fua /dev/mapper/p 0 8 1 -- verify /dev/mapper/p 0 8 1
remove_pool p

# some of its extents in pages, some in the journal, as after a crash
sample() {
	check "$1: a pool" pool p "$(table 4096 128 "$2" "a b" 0 "fill 2 commit_ms 50")"
	check "pages" blkio write /dev/mapper/p 0 1024 1 -- flush /dev/mapper/p
	message p checkpoint
	message p move 0 1
	check "and a journal" blkio write /dev/mapper/p 2048 1024 2 -- flush /dev/mapper/p -- \
		write /dev/mapper/p 3072 512 2 -- flush /dev/mapper/p
	for d in m m2 a b; do dd if=/dev/emudisk/$d of=/tmp/fuzz.$d bs=1M iflag=direct status=none; done
	remove_pool p
	for d in m m2 a b; do dd if=/tmp/fuzz.$d of=/dev/emudisk/$d bs=1M oflag=direct status=none; done
}

# shellcheck disable=SC2046
for meta in m "m m2"; do
	wipe m m2 a b
	sample "metadata on $meta" "$meta"
	fuzzed "damage is refused or the pool works" fuzz media "$seconds" "$seed" $(path $meta) -- $(path a b)
done
rm -f /tmp/fuzz.*
done_testing
