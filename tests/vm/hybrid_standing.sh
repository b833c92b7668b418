#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: members that can't be emptied, and those that are taken back
# kernels: 6.1 6.12 debug
# timeout: 240
. tests/vm/lib.sh
entry='' before='' last='' told='' used=''

disk m 8M
disk a 24M mem cache=volatile
disk b 24M mem cache=volatile
disk c 24M
modprobe dm-hybrid || die "no dm-hybrid"
dev=/dev/mapper/p
all=(/dev/emudisk/{m,a,b,c})
create() {
	hybridctl create p "${all[@]:1}" --metadata "${all[0]}" --extent 64K --size 36M --policy stripe \
		--set commit_ms=50 --set low_free=0 --set period_ms=200 --set cooldown_ms=0 --set tell_ms=0 || return
	pools+=(p)
}
# standing MEMBER: its line, without the index
standing() { local lines; into lines dmt message p 0 members; mapfile -t lines <<<"$lines"; echo "${lines[$1]#* }"; }
leaving() { hybridctl status p --json | jq -c '[.devices[].leaving]'; }
reads_of_third_fail() { dd if=$dev of=/dev/null bs=4k count=6144 iflag=direct conv=noerror status=none 2>/dev/null; status_is p dev.2.state failed; }
reads_fail() { dd if=$dev of=/dev/null bs=4k count=9216 iflag=direct conv=noerror status=none 2>/dev/null; status_is p dev.1.state failed; }
writes_fail() {
	local i
	for ((i = 0; i < 40; i++)); do blkio write $dev $((i * 384 + 128)) 8 1 2>/dev/null; done
	status_is p dev.1.state failed
}

# --- told to stay, by somebody else
check "a pool of three" create
check "data" blkio write $dev 0 73728 "$seed" -- flush $dev
is "nobody leaves" "$(leaving)" "[false,false,false]"
matches "how they stand" "$(standing 1)" '^active stays 0 0 0 0 0$'
# Before it fails to read, too much at a time must not be tried: that would be an end of its own.
check "slowly" eval 'message p set migrate_kbps 1 && hybridctl evacuate p 1 --no-wait'
check "and no hurry" message p set period_ms 2000	# a slow machine reads too little in a shorter one for a verdict
emuctl set b fail=read
check "it fails while it is emptied" wait_for 60 reads_fail
check "now as before" message p set period_ms 200
is "it is told from one that stays" "$(leaving)" "[false,true,false]"
check "people are told" eval 'hybridctl status p | grep "Device 1 has failed, and is to leave"'
hybridctl evacuate p 1 >/tmp/waiting 2>&1 & waiting=$!
check "somebody waits" wait_for 30 grep -q left /tmp/waiting
field_is "it is failed still" p dev.1.state failed
check "somebody else lets it stay" hybridctl evacuate p 1 --cancel
check "it stays, failed" eval 'status_is p dev.1.state failed && [ "$(leaving)" = "[false,false,false]" ]'
ended() { ! kill -0 $waiting 2>/dev/null; }
check "who waits is not left waiting" wait_for 20 ended || kill $waiting
wait $waiting
is "it is an error" $? 1
matches "that says why" "$(</tmp/waiting)" "member 1 is not being evacuated any more: it is failed"
check "people are told that it stays" eval 'hybridctl status p | grep "Device 1 has failed: hybridctl evacuate p 1"'

# --- one that has failed is to leave: what is lost with it is told as before, and it is failed
before=$(hybridctl lost p --json)
check "something is lost with it" eval '[ "$(jq ".lost | length" <<<"$before")" -gt 0 ]'
check "it is to leave" hybridctl evacuate p 1 --no-wait
field_is "failed, though" p dev.1.state failed
is "which is told" "$(leaving)" "[false,true,false]"
is "what is lost with it is told as before" "$(hybridctl lost p --json)" "$before"
check "asked again" hybridctl evacuate p 1 --no-wait
check "it may stay" hybridctl evacuate p 1 --cancel
check "failed as it was" eval 'status_is p dev.1.state failed && [ "$(leaving)" = "[false,false,false]" ]'
check "in the grammar" in_grammar p

# --- one that has failed is taken back
check_fails "not while its label can't be read" "its label can't be read" hybridctl reinstate p 1
emuctl set b fail=flush
check_fails "nor while it can't flush" "can't flush" hybridctl reinstate p 1
emuctl set b fail=none
events=0
into events dmt events p
more_events() { local n; into n dmt events p; [ "$n" -gt "$events" ]; }
field_is "it has failed still" p dev.1.state failed
check "when it answers" hybridctl reinstate p /dev/emudisk/b
fields_are "it is active" p "dev.1.state mode" "active rw"
matches "its errors are forgotten" "$(standing 1)" '^active stays 0 '
check "an event" wait_for 10 more_events
check "nothing was lost: all had been flushed" blkio flush $dev
check "all data" blkio verify $dev 0 73728 "$seed"
into before dmt field p dev.1.allocations
discards() { local stat; read -ra stat </sys/block/emudisk!b/stat; echo "${stat[11]}"; }
told=$(discards)
check "what is discarded and written again" blkio discard $dev 0 3840 -- write $dev 0 3840 "$seed" -- flush $dev
more_discards() { [ "$(discards)" -gt "$told" ]; }
check "it is told what is free there" wait_for 10 more_discards
status_above p dev.1.allocations "$before"
is "new extents go there" $? 0
check_fails "one that is lost or nobody's can't be" "no member of p" hybridctl reinstate p 7

# --- thresholds
check "three errors are let pass" hybridctl set p degrade_errors=4
emuctl set b fail=read
at=0
for ((i = 0; i < 576; i++)); do into entry dmt message p 0 entry $i; [ "${entry%% *}" != 1 ] || { at=$((i * 128)); break; }; done
for i in 1 2 3; do blkio verify $dev $at 8 "$seed" 2>/dev/null; done
field_is "it is active still" p dev.1.state active
matches "they are counted" "$(standing 1)" '^active stays 3 '
blkio verify $dev $at 8 "$seed" 2>/dev/null
field_is "with the fourth it is degraded" p dev.1.state degraded
emuctl set b fail=none
check "taken back" hybridctl reinstate p 1
fields_are "it is active" p "dev.1.state errors" "active $(status p errors)"
emuctl set b fail=flush
check_fails "one flush that fails is one too many" EIO blkio write $dev $at 8 "$seed" -- flush $dev
field_is "degraded" p dev.1.state degraded
check "two are said to be failure" hybridctl set p fail_flushes=2
check "it has failed soon" wait_for 10 eval 'blkio write $dev $at 8 "$seed" -- flush $dev; status_is p dev.1.state failed'
told=$(discards)
into used dmt field p dev.1.used
less_used() { local n; message p commit; into n dmt field p dev.1.used; [ "$n" -lt "$used" ]; }
check "what is free there" eval 'blkio discard $dev $at 128 && wait_for 10 less_used'
is "is free without a word to it, which might not answer" "$(discards)" "$told"
emuctl set b fail=none
for i in 1 2; do blkio flush $dev 2>/dev/null; done	# are told
check "taken back" hybridctl reinstate p 1
check "40 of a period, all of them errors" hybridctl set p fail_requests=40 period_ms=60000 degrade_errors=1000
table_matches "are in the table" p "degrade_errors 1000 fail_requests 40 fail_flushes 2"
# One that is doubted must not be active again before a commit has ended well, whatever the threshold.
check "far from any threshold" hybridctl set p fail_requests=4 period_ms=200 degrade_errors=1000 fail_flushes=1000
for ((i = 575; i >= 0; i--)); do into entry dmt message p 0 entry $i; [ "${entry%% *}" != 1 ] || { last=$((i * 128)); break; }; done
check "it is to leave" message p evacuate 1
emuctl set b fail=flush
check_fails "meanwhile a flush of it fails" EIO blkio write $dev $last 8 "$seed" -- flush $dev
emuctl set b fail=none
for i in 1 2; do blkio flush $dev 2>/dev/null; done
check "it may stay" message p stay 1
field_is "degraded" p dev.1.state degraded
check "as they were" hybridctl set p degrade_errors=1 fail_flushes=8

# --- without power for a while, and nobody asked for a flush: what its cache had is not believed
for i in 1 2 3; do blkio flush $dev 2>/dev/null; done
check "it is active" eval 'hybridctl reinstate p 1; status_is p dev.1.state active'
check "all is flushed, and nothing is committed from here on" eval 'message p set commit_ms 3600000 && blkio flush $dev'
check "a new extent is written there" blkio discard $dev $at 128 -- write $dev $at 128 77
for ((i = 0; i < 3; i++)); do
	into entry dmt message p 0 entry $((at / 128))
	[ "${entry%% *}" != 1 ] || break
	blkio discard $dev $at 128 -- write $dev $at 128 77
done
matches "it is" "$entry" "^1 "
emuctl set b fail=write
check "it fails" wait_for 60 writes_fail
emuctl set b fail=none
check "nothing of it is believed" wait_for 10 eval '[ "$(message p entry $((at / 128)) | cut -d " " -f 3)" = 00000000 ]'
check_fails "the next flush says so" EIO blkio flush $dev
for i in 1 2; do blkio flush $dev 2>/dev/null; done
check "it reads as zeroes" blkio verify $dev $at 128 0
check "written again, and not flushed, while it has failed" blkio write $dev $at 128 78
# A period that has yet to be judged may have writes that failed, for which it would be doubted anew.
check "it is taken back" wait_for 10 hybridctl reinstate p 1
check_fails "what was not flushed is not believed, which is told" EIO blkio flush $dev
for i in 1 2; do blkio flush $dev 2>/dev/null; done
field_is "active" p dev.1.state active
check "it takes data" blkio write $dev $at 128 79 -- flush $dev -- verify $dev $at 128 79

# --- a write that failed before it was taken back is no reason to doubt what it was given since
emuctl set b fail=write
check_fails "a write fails, all else is flushed" EIO blkio write $dev $at 8 80
emuctl set b fail=none
field_is "degraded" p dev.1.state degraded
check "it is taken back" hybridctl reinstate p 1
for ((i = 0; i < 6; i++)); do
	blkio discard $dev $at 128 -- write $dev $at 128 81
	into entry dmt message p 0 entry $((at / 128))
	[ "${entry%% *}" != 1 ] || break
done
matches "a new extent is written there, and not flushed" "$entry" "^1 "
emuctl set b fail=read
check "it fails to read" wait_for 60 reads_fail
emuctl set b fail=none
check "what was written is there" blkio verify $dev $at 128 81
check "and can be flushed" blkio flush $dev
check "it is taken back" hybridctl reinstate p 1
check "it is there" blkio verify $dev $at 128 81
check "in the grammar" in_grammar p
check_fails "stop: what was lost meanwhile was told to who flushed alone" "tells of writes that were lost" hybridctl stop p
pools=()
check "sound" eval 'hybridctl check "${all[@]}" | grep ": clean"'

# --- who is asked not to wait, and would have to, has made no error, whatever is set
wipe m a b
disk n 8M
check "a volume" pool q "$(table 40960 128 n b 0 "fill 2 commit_ms 3600000")"
check "a pool, with it as a member" hybridctl create p /dev/emudisk/a /dev/mapper/q --metadata "${all[0]}" --extent 64K \
	--size 16M --policy stripe --set commit_ms=50 --set low_free=0 --set period_ms=200 --set cooldown_ms=0 \
	--set degrade_errors=1 --set fail_requests=4
pools+=(p)
check "data" blkio write $dev 0 32768 "$seed" -- flush $dev
for ((i = 0; i < 256; i++)); do into entry dmt message p 0 entry $i; [ "${entry%% *}" != 1 ] || break; done
at=$((i * 128))
read -r _ last _ <<<"$entry"
check "beneath, a part of it is to be placed anew" blkio discard /dev/mapper/q $((2048 + last * 128)) 128 -- verify $dev $at 128 0
# For five periods and more, of which nothing else ends: whoever counts them finds that all have failed.
would_wait() {
	local n=0 end=$((SECONDS + 1)) text
	while [ $SECONDS -le $end ] || [ $n -lt 40 ]; do
		if blkio nowait-write $dev $at 8 1 >/tmp/bounced 2>&1; then return 1; fi
		read -r text </tmp/bounced && [[ $text == *EAGAIN* ]] || { echo "$text"; return 1; }
		n=$((n + 1))
	done
	echo "$n of them"
}
check "writes bounce" would_wait
note "$(<"$said")"
matches "which is no error of the member" "$(standing 1)" '^active stays 0 '
field_is "nor of the pool" p errors 0
check "who waits writes" blkio write $dev $at 8 1 -- flush $dev -- verify $dev $at 8 1
check "and then nobody has to" blkio nowait-write $dev $at 8 2 -- verify $dev $at 8 2
check "stop" eval 'hybridctl stop p && remove_pool q && pools=()'

# --- a page of the map that can't be read
wipe m a b c
check "a pool of three" create
check "data" blkio write $dev 0 73728 "$seed" -- flush $dev
check "a new start: nothing of the map is in memory" eval 'hybridctl stop p && pools=() && hybridctl assemble p'
pools+=(p)
check "but its first page" blkio verify $dev 0 8 "$seed"
emuctl set m fail=read "fail_range=2048+14328"	# all but the label
check_fails "what the second page has can't be moved, and that is said" \
	"[0-9]+ extents stay on member 1, as the map of 68 extents of the volume can't be read: .*evacuate p 1 --cancel" \
	hybridctl evacuate p 1
matches "the kernel counts them" "$(standing 1)" '^draining leaves 0 [0-9]+ 0 68 0$'
get p dev.1.used mode
matches "all else has moved" "${got[*]}" '^(1[0-9]|2[0-9]|3[0-9]) rw$'
check_fails "nothing of it is given up" "not all that is on member 1|the map of 68 extents" hybridctl evacuate p 1 --give-up
emuctl set m fail=none fail_range=0+0
check "when it can be read it goes on" hybridctl evacuate p 1
check "all data" blkio verify $dev 0 73728 "$seed"
check "in the grammar" in_grammar p

# --- whoever waits for events is told of each change
check "stop" eval 'hybridctl stop p && pools=()'
wipe m n a b c
disk d 24M
check "a pool of three, the metadata twice" hybridctl create p /dev/emudisk/{a,b,c} --metadata /dev/emudisk/m --metadata /dev/emudisk/n \
	--extent 64K --size 24M --policy stripe --set commit_ms=50 --set low_free=0 --set period_ms=200 --set tell_ms=0
pools+=(p)
check "data" blkio write $dev 0 49152 "$seed" -- flush $dev
# Each of them alone: what came before has raised its event by then.
while IFS='|' read -ru "$changes" title key value command; do
	into events dmt events p
	check "$title" eval "$command"
	check "the status says so" wait_for 60 status_is p "$key" "$value"
	check "an event" wait_for 10 more_events
done {changes}<<'CHANGES'
a member is to leave, and can't yet|dev.1.state|draining|emuctl set b stall=1 && message p evacuate 1
it is to stay|dev.1.state|active|message p stay 1
to leave after all|dev.1.state|draining|message p evacuate 1
it gets empty|dev.1.used|0|emuctl set b stall=0
it is removed|dev.1.state|removed|message p remove 1
another one joins|dev.1.state|active|hybridctl add p /dev/emudisk/d --force
a metadata area leaves|meta|SA|message p metadata leave 0
it is a mirror again|meta|AA|message p metadata resync 0
an error|dev.2.state|degraded|emuctl set c fail=read && ! blkio verify $dev 0 49152 "$seed"
nothing but errors|dev.2.state|failed|message p set period_ms 2000 && wait_for 120 reads_of_third_fail
it is taken back|dev.2.state|active|emuctl set c fail=none && message p reinstate 2
CHANGES
check "all data" blkio verify $dev 0 49152 "$seed"
check "in the grammar" in_grammar p
done_testing
