#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: hybridctl: what a policy says of a member goes with it
# kernels: 6.1 6.12
# one-of: 2
. tests/vm/lib.sh

for d in a b c d; do disk $d 24M; done
modprobe dm-hybrid || die "no dm-hybrid"
A=/dev/emudisk/a B=/dev/emudisk/b C=/dev/emudisk/c D=/dev/emudisk/d
dev=/dev/mapper/p
create() {
	hybridctl create p $A $B --force --extent 64K --size 16M --set commit_ms=50 --set low_free=0 "$@" || return
	pools=(p)
}
stop() { hybridctl stop p && pools=(); }
said() { local text; read_said; [[ $text =~ $1 ]] || { echo "not said: $1: $text"; false; }; }
told() { "$@" >/tmp/told 2>&1 || { cat /tmp/told; return 1; }; }
told_is() { matches "$1" "$(</tmp/told)" "$2"; }
policy_is() { table_matches "$1" p " 0 $2"; }

# --- shares: one for each member
check "static, with shares" create --policy static --set shares=75,25
check "data" blkio write $dev 0 16384 "$seed" -- flush $dev
check "a third" told hybridctl add p $C
told_is "has no share" "member 2 has no share, .*hybridctl set p shares="
policy_is "as the others have all" "static [0-9]+ shares 75,25,0 "
check "until it is given one" hybridctl set p shares=50,25,25
check "another takes the place of the first, with its metadata" told hybridctl replace p $A $D
told_is "and its share" "member 3 is to have the share of member 0"
policy_is "to all of it" "static [0-9]+ shares 0,25,25,50 "
fields_are "the first is none" p "dev.0.state dev.3.state meta" "removed active AA"
check "it joins where it was" told hybridctl add p $A
told_is "without a share" "member 0 has no share"
policy_is "for now" "static [0-9]+ shares 0,25,25,50 "
check "all data" blkio verify $dev 0 16384 "$seed"
check "stopped" stop
check "whole at the next start" hybridctl assemble p
pools=(p)
check "all data" blkio verify $dev 0 16384 "$seed"
check "sound" hybridctl check p
check "stopped" stop

wipe a b c d
check "three, with shares" create $C --policy static --set shares=50,20,30
check "one joins" hybridctl add p $D
check "and is to be in the place of the third" told hybridctl replace p $C $D
told_is "with its share" "member 3 is to have the share of member 2"
policy_is "all of it" "static [0-9]+ shares 50,20,0,30 "
check "one with a share is emptied" hybridctl evacuate p $D --force
check "and goes" told hybridctl remove p $D --force
told_is "its share stays" "the share of member 3 stays with its place"
check "stopped" stop

# --- the fast one
wipe a b c d
check "concentrate, on the second" create --policy concentrate --set fast=1
check "another takes its place" told hybridctl replace p $B $C
told_is "which is the fast one" "the fast member was 1, and is 2"
policy_is "from then on" "concentrate [0-9]+ .*fast 2"
check "one joins" hybridctl add p $D
check "which is it now" hybridctl set p fast=1	# where the one was that was replaced
check "emptied" hybridctl evacuate p $D
check "it goes" told hybridctl remove p $D --force
told_is "the policy chooses" "chooses the fast member again"
check "no number is left" eval '! dmsetup table p | grep -q "fast [0-9]"'
check "stopped" stop
done_testing
