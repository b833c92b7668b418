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
	local title=$1 regex=$2 before after why text taken=''
	shift 2
	into before dmt table p
	log_mark
	dmsetup message -- p 0 "$@" >"$said" 2>&1 && taken=yes
	read_said
	into after dmt table p
	into why klog since
	shopt -s nocasematch
	if [ "$taken" ]; then
		not_ok "$title" "was taken: $text"
	elif [ "$before" != "$after" ]; then
		not_ok "$title" "changed the table to $after"
	elif [[ $why$'\n'$text =~ $regex ]]; then
		ok "$title"
	else
		not_ok "$title" "wanted: $regex" "$why" "$text"
	fi
	shopt -u nocasematch
}

check "set" message p set period_ms 500
table_matches "shows in the table" p "period_ms 500"
check "set it back" message p set period_ms 2000
check "policy" message p policy stripe
field_is "shows in the status" p policy stripe
check "policy with arguments" message p policy static shares 70,30 commit_ms 900 cooldown_ms 100
table_matches "shown" p "static 6 shares 70,30 cooldown_ms 100 commit_ms 900$"
check "its own parameter" message p set shares 40,60
table_matches "shown" p "shares 40,60"
check "wardrop" message p policy wardrop commit_ms 1000
check "and fill" message p policy fill
get p commits
before=$got
check "write" blkio write $dev 2048 8 1
check "commit" message p commit
status_above p commits "$before"
is "counted" $? 0
get p checkpoints
before=$got
check "checkpoint" message p checkpoint
status_above p checkpoints "$before"
is "counted" $? 0
field_is "the journal is empty" p journal "0/$(status p journal | cut -d / -f 2)"
matches "entry of a mapped extent" "$(message p entry 0)" "^0 [0-9]+ 0*ffff$"
is "of one that is not" "$(message p entry 300)" -
matches "samples: a line a member" "$(message p samples | wc -l)" "^2$"
matches "of ten numbers" "$(message p samples | head -1)" "^0( [0-9]+){9}$"
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
refuse "policy without a name" "[a-z]" policy
refuse "unknown policy" "unknown" policy nosuch
refuse "policy with half a pair" "value|argument|odd" policy static shares
refuse "policy with a wrong value" "share" policy static shares 1,2,3
refuse "move without a place" "[a-z]" move 0
refuse "move past the end" "range|extent" move 512 1
refuse "move to no member" "range|member" move 0 2
refuse "move no number" "[a-z]" move x 1
refuse "entry without an extent" "[a-z]" entry
refuse "entry past the end" "range|extent" entry 512
refuse "commit with an argument" "[a-z]" commit now
check "alive" blkio write $dev 0 8 2 -- verify $dev 0 8 2 -- flush $dev
field_is "mode rw" p mode rw

# --- suspended: who copies members and metadata has them as of one moment
check "a write that nobody flushes" blkio write $dev 4096 8 3
check "suspend" dmsetup suspend p
into before blkio digest /dev/emudisk/m 0 32768
check "commit: all is durable" message p commit
check "checkpoint" message p checkpoint
for words in "set period_ms 700" "policy stripe" "pin 0 128 0" "unpin 0 128" unpin "evacuate 1" "stay 1" "remove 1" \
	"reinstate 0"; do
	# shellcheck disable=SC2086
	refuse "suspended: $words" "${words%% *}: the volume is suspended" $words
done
check_fails "suspended: metadata resync" "busy" dmsetup message p 0 metadata resync 0
into after blkio digest /dev/emudisk/m 0 32768
is "nothing was written" "$after" "$before"
check "resume" dmsetup resume p
check "what was refused is taken" message p reinstate 0
check "data" blkio verify $dev 4096 8 3

# what was set is kept, not only in the table
message p policy stripe cooldown_ms 77
line=$(dmsetup table p)
remove_pool p
check "by its table" pool p "$line"
table_matches "as set" p "stripe 2 cooldown_ms 77$"

# --- members, by messages alone: hybridctl asks before it sends them, others may not
move_all() { for e in 1 2 3; do message p move $e "$1" || return; done; }
check "fill" message p policy fill
check "to the second" move_all 1
# Their room is in use from when they set out: one still on its way would turn back as its goal is evacuated.
check "they arrive" wait_for 20 status_is p completed 3
field_is "with the one that was there" p dev.1.used 4
refuse "evacuate nobody" "no such member" evacuate 2
refuse "evacuate no number" "no such member" evacuate x
refuse "stay where nobody leaves" "not being evacuated" stay 1
refuse "remove one that does not leave" "not being evacuated" remove 1
check "slowly" message p set migrate_kbps 1
check "evacuate" message p evacuate 1
check "twice" message p evacuate 1
refuse "the other one as well" "no other member" evacuate 0
check "one goes, and one ahead of its time" wait_for 20 status_is p dev.1.used 2
refuse "remove one that is not empty" "not empty" remove 1
check "it may stay" message p stay 1
refuse "which it does" "not being evacuated" stay 1
check "fast: what is owed at the lower rate is forgiven" message p set migrate_kbps 1000000
check "evacuate again" message p evacuate 1
check "it is emptied" wait_for 20 status_is p dev.1.used 0
check_fails "nothing moves there" "busy" dmsetup message p 0 move 1 1
check "data" blkio verify $dev 16 1008 "$seed"
check "it is removed" message p remove 1
check "twice" message p remove 1
refuse "evacuate what has been removed" "has been removed" evacuate 1
refuse "it can't stay, either" "not being evacuated|has been removed" stay 1
refuse "evacuate the last one" "no other member" evacuate 0
remove_pool p
check "for reading" pool p "$(table 65536 128 m "a -" "1 read_only" "fill 0")"
for words in "evacuate 0" "stay 0" "remove 0"; do
	# shellcheck disable=SC2086
	refuse "read-only: $words" "read-only" $words
done
check "a setting is for as long as it is active" message p set period_ms 700
table_matches "it has it" p "period_ms 700"
remove_pool p
check "once more" pool p "$(table 65536 128 m "a -" "1 read_only" "fill 0")"
into line dmt table p
is "and has not" "${line##* }" 0
check "data" blkio verify $dev 16 1008 "$seed"
remove_pool p

# --- what a suspension could not make durable it says, though somebody was told of a failure before
disk c 24M mem cache=volatile
wipe m a
check "a pool with a cache that may fail" pool p "$(table 65536 128 m "a c" 0 "stripe 2 tell_ms 0")"
check "data" blkio write $dev 0 1024 "$seed" -- flush $dev
emuctl set c fail=flush
check "a write that nobody flushes" blkio write $dev 0 1024 3
check_fails "a commit fails" "Input/output" message p commit
check "suspend" dmsetup suspend p
check_fails "commit: not all is durable" "Input/output" message p commit
check_fails "checkpoint" "Input/output" message p checkpoint
emuctl set c fail=none
check "resume" dmsetup resume p
check "flushes that can be" wait_for 10 message p commit
check "suspend" dmsetup suspend p
check "commit: all is durable" message p commit
check "resume" dmsetup resume p
check "data" blkio verify $dev 0 1024 3
done_testing
