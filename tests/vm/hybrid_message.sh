#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: messages, right and wrong
# kernels: 6.1 6.12 debug
# quick: yes
# timeout: 120
. tests/vm/lib.sh

disk m 16M
disk a 24M
disk b 24M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
check "a pool" pool p "$(table 65536 128 m "a b" 0 "fill 0")"
check "data" blkio write $dev 0 1024 "$seed"

# refuse TITLE REGEX WORDS...: the message fails, and the kernel log or the tool says why
refuse() {
	local title=$1 regex=$2 before out
	shift 2
	before=$(dmsetup table p)
	log_mark
	if out=$(dmsetup message -- p 0 "$@" 2>&1); then
		not_ok "$title" "was taken: $out"
	elif [ "$before" != "$(dmsetup table p)" ]; then
		not_ok "$title" "changed the table to $(dmsetup table p)"
	elif { log_since; echo "$out"; } | grep -Eiq "$regex"; then
		ok "$title"
	else
		not_ok "$title" "wanted: $regex" "$(log_since)" "$out"
	fi
}

check "set" message p set period_ms 500
matches "shows in the table" "$(dmsetup table p)" "period_ms 500"
check "set it back" message p set period_ms 2000
check "policy" message p policy stripe
is "shows in the status" "$(status p policy)" stripe
check "policy with arguments" message p policy static shares 70,30 cooldown_ms 100
matches "shown" "$(dmsetup table p)" "static 4 shares 70,30 cooldown_ms 100$"
check "its own parameter" message p set shares 40,60
matches "shown" "$(dmsetup table p)" "shares 40,60"
check "wardrop" message p policy wardrop
check "and fill" message p policy fill
before=$(status p commits)
check "write" blkio write $dev 2048 8 1
check "commit" message p commit
[ "$(status p commits)" -gt "$before" ]
is "counted" $? 0
before=$(status p checkpoints)
check "checkpoint" message p checkpoint
[ "$(status p checkpoints)" -gt "$before" ]
is "counted" $? 0
is "the journal is empty" "$(status p journal)" "0/$(status p journal | cut -d / -f 2)"
matches "entry of a mapped extent" "$(message p entry 0)" "^0 [0-9]+ 0*ffff$"
is "of one that is not" "$(message p entry 300)" -
matches "samples: a line a member" "$(message p samples | wc -l)" "^2$"
matches "of eight numbers" "$(message p samples | head -1)" "^0( [0-9]+){7}$"
check "move" message p move 0 1
check "arrives" wait_for 20 eval '[ "$(message p entry 0 | cut -d " " -f 1)" = 1 ]'
check "data" blkio verify $dev 0 1024 "$seed"

refuse "no such message" "unknown|message|argument" fly
refuse "set without a value" "argument|words|set|value" set period_ms
refuse "set with a word too many" "argument|words|set" set period_ms 1 2
refuse "set what there is not" "unknown" set speed 1
refuse "set to what is none" "number|range" set period_ms fast
refuse "set out of range" "range" set period_ms 0
refuse "set beyond 32 bits" "range" set period_ms 4294967296
refuse "a negative number" "range" set cooldown_ms -1
refuse "a key of another policy" "unknown" set alpha 1
refuse "policy without a name" "." policy
refuse "unknown policy" "unknown" policy nosuch
refuse "policy with half a pair" "value|argument|odd" policy static shares
refuse "policy with a wrong value" "share" policy static shares 1,2,3
refuse "move without a place" "." move 0
refuse "move past the end" "range|extent" move 512 1
refuse "move to no member" "range|member" move 0 2
refuse "move no number" "." move x 1
refuse "entry without an extent" "." entry
refuse "entry past the end" "range|extent" entry 512
refuse "commit with an argument" "." commit now
check "alive" blkio write $dev 0 8 2 -- verify $dev 0 8 2 -- flush $dev
is "mode rw" "$(status p mode)" rw

# what was set is kept, not only in the table
message p policy stripe cooldown_ms 77
line=$(dmsetup table p)
remove_pool p
check "by its table" pool p "$line"
matches "as set" "$(dmsetup table p)" "stripe 2 cooldown_ms 77$"
done_testing
