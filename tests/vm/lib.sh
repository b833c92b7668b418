# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the shell tests share: KTAP, disks, pools, waiting. A test sources it, calls ok/check/expect_refused ... and
# ends with `done_testing`, which prints the plan: a script that dies before that fails for want of one.
# Everything made by these functions is taken down on exit.

set -u
shopt -s lastpipe
export LC_ALL=C
tests=0 failures=0
pools=() disks=()
said=$(mktemp)
seed=${EVENKEEL_SEED:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$((seed % 32768))	# what it gives this shell comes back with the seed, too
echo "KTAP version 1"
echo "# seed $seed (EVENKEEL_SEED)"

# Starting a process, be it a copy of this shell, is what takes the time in an emulated machine. So the tests' own
# programs are commands of the shell, `into NAME COMMAND...` takes what one of them prints without a process, and `nap
# SECONDS` sleeps without one.
enable -f "${EVENKEEL_BUILTINS:-$PWD/build/tests/bin/builtins.so}" blkio dmt emuctl json klog into nap || exit

note() { local text="$*"; echo "# ${text//$'\n'/$'\n'# }"; }
ok() { echo "ok $((++tests)) - $*"; }
not_ok() { failures=$((failures + 1)); echo "not ok $((++tests)) - $1"; shift; [ $# = 0 ] || note "$@"; }
skip() { echo "ok $((++tests)) - $1 # SKIP $2"; }
die() { echo "Bail out! $*"; exit 2; }
# What Debian's kernels have, and the one for debugging may lack: there all of the suite is left out.
lacks() {
	[[ $(uname -r) == *-debug ]] || die "no $1"
	echo "1..0 # SKIP this kernel has no $1"
	exit 0
}
needs() { local module; for module; do modprobe "$module" || lacks "$module"; done; }
done_testing() { echo "1..$tests"; [ $failures = 0 ]; exit; }

# check TITLE COMMAND...: the command succeeds. It runs in this shell, so functions may change variables.
check() {
	local title=$1 status=0
	shift
	"$@" >"$said" 2>&1 || status=$?
	if [ $status = 0 ]; then ok "$title"; else not_ok "$title" "\$ $*" "status $status: $(tail -20 "$said")"; fi
	return $status
}

# What a command left in $said, into $text.
read_said() { IFS= read -rd '' text <"$said"; text=${text%$'\n'}; }

# check_fails TITLE REGEX COMMAND...: it fails, and says so
check_fails() {
	local title=$1 regex=$2 text
	shift 2
	if "$@" >"$said" 2>&1; then
		not_ok "$title" "\$ $*" "succeeded: $(tail -20 "$said")"
		return
	fi
	read_said
	if [[ $text =~ $regex ]]; then
		ok "$title"
	else
		not_ok "$title" "\$ $*" "said: $(tail -20 "$said")"
	fi
}

# is TITLE GOT WANTED
is() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; return 1; fi
}

# field_is TITLE NAME KEY WANTED, fields_are TITLE NAME "KEY..." "WANTED...": of the status line, without a process
field_is() {
	local got
	into got dmt field "$2" "$3"
	is "$1" "$got" "$4"
}

fields_are() {
	local got keys
	read -ra keys <<<"$3"
	get "$2" "${keys[@]}"
	is "$1" "${got[*]}" "$4"
}

# table_matches TITLE NAME REGEX
table_matches() {
	local line
	into line dmt table "$2"
	matches "$1" "$line" "$3"
}

# matches TITLE GOT REGEX
matches() {
	if [[ $2 =~ $3 ]]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; return 1; fi
}

# Lines of the kernel log since log_mark.
log_mark() { klog mark; }
log_since() { klog since; }

# expect_refused TITLE REGEX COMMAND...: it fails, the kernel log says why, no disk of ours was written to.
expect_refused() {
	local title=$1 regex=$2 before why
	shift 2
	count_written
	before=$written
	log_mark
	if "$@" >"$said" 2>&1; then
		not_ok "$title" "\$ $*" "was not refused"
		return 1
	fi
	into why klog since
	count_written
	shopt -s nocasematch
	if [ "$before" != "$written" ]; then
		not_ok "$title" "was refused, but wrote to the disks" "before: $before" "after: $written"
	elif [[ $why =~ $regex ]]; then
		ok "$title"
	else
		not_ok "$title" "wanted in the kernel log: $regex" "$why" "$(cat "$said")"
	fi
	shopt -u nocasematch
}

# interrupt_once CONDITION COMMAND...: runs COMMAND, ends it by SIGTERM, or $interrupt_by, once CONDITION holds, puts its status and what it
# complained of into $interrupted. Both take turns on one processor: however fast COMMAND is, CONDITION (builtins only)
# is looked at between two of its time slices.
interrupt_once() {
	local condition=$1 process
	shift
	taskset -cp 0 $$ >/dev/null
	"$@" 2>"$said" &
	process=$!
	until $condition; do kill -0 $process 2>/dev/null || break; done
	kill -"${interrupt_by:-TERM}" $process
	wait $process
	interrupted=$?
	taskset -cp 0-$(($(nproc --all) - 1)) $$ >/dev/null
	interrupted+=" $(<"$said")"
}

# wait_for SECONDS COMMAND...: until it succeeds; polls. The seconds are those of a quiet machine: as tests/run does with a
# suite's, it gives twice as many, four times on the debug kernel. One that stood still has another second to come to it.
patience=2
[[ $(uname -r) != *-debug ]] || patience=4
wait_for() { succeeds_within $(($1 * patience)) "${@:2}"; }

# succeeds_within SECONDS COMMAND...: the same in these seconds, for what is not to happen: nobody waits longer than that
succeeds_within() {
	local deadline=$((SECONDS + $1)) late=0
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || [ $((++late)) -le 20 ] || return 1
		nap 0.05
	done
}

# --- disks: /dev/emudisk/NAME ------------------------------------------------------------------------------------

modprobe emudisk || die "no emudisk"

# dmt has dmsetup's command lines, and leaves to it what it does not know.
dmsetup() {
	local status=0
	dmt "$@" || status=$?
	if [ $status = 125 ]; then command dmsetup "$@"; else return $status; fi
}

# disk NAME SIZE [MODEL [KEY=VALUE]...]
disk() {
	local name=$1 size=$2 model=${3:-mem}
	shift $(($# > 3 ? 3 : $#))
	emuctl add "$name" "$model" "$size" "$@" || die "emuctl add $name"
	disks+=("$name")
	wait_for 10 test -b "/dev/emudisk/$name" || die "no /dev/emudisk/$name"
}

remove_disk() {
	local d keep=()
	emuctl del "$1" || return
	for d in "${disks[@]}"; do [ "$d" = "$1" ] || keep+=("$d"); done
	disks=("${keep[@]}")
}

sectors() { blkio size "$1"; }

# Writes and discards that each disk has seen, into $written.
count_written() {
	local d f
	written=
	for d in "${disks[@]}"; do
		read -ra f <"/sys/block/emudisk!$d/stat"
		written+="$d ${f[4]} ${f[11]};"
	done
}

# Writes, or reads, of one disk.
writes() { local f; read -ra f <"/sys/block/emudisk!$1/stat"; echo "${f[4]}"; }
reads() { local f; read -ra f <"/sys/block/emudisk!$1/stat"; echo "${f[0]}"; }

# --- pools -------------------------------------------------------------------------------------------------------

# table LENGTH EXTENT "META..." "MEMBER..." [FEATURES [POLICY...]]: a table line; a device is NAME[:START]. A suite that
# looks at what comes after a loss sets $tell_ms, for how long that is told to who flushes.
table() {
	local length=$1 extent=$2 features=${5:-0} policy=${6:-wardrop 0} line d areas devices policy_words
	read -ra areas <<<"$3"
	read -ra devices <<<"$4"
	if [ "${tell_ms:-}" ]; then
		read -ra policy_words <<<"$policy tell_ms $tell_ms"
		policy_words[1]=$((policy_words[1] + 2))
		policy=${policy_words[*]}
	fi
	line="0 $length hybrid ${#areas[@]}"
	for d in "${areas[@]}"; do add_device "$d"; done
	line+=" $extent ${#devices[@]}"
	for d in "${devices[@]}"; do add_device "$d"; done
	echo "$line $features $policy"
}

# one more device in $line
add_device() {
	local name=${1%%:*} start=0
	[[ $1 != *:* ]] || start=${1#*:}
	case $name in
	-|/*) ;;
	*) name=/dev/emudisk/$name ;;
	esac
	line+=" $name $start"
}

# pool NAME TABLE-LINE: make it and take it down on exit
pool() {
	dmsetup create "$1" --table "$2" || return
	pools+=("$1")
}

remove_pool() {
	local p keep=()
	dmsetup remove --retry "$1" || return
	for p in "${pools[@]}"; do [ "$p" = "$1" ] || keep+=("$p"); done
	pools=("${keep[@]+"${keep[@]}"}")
}

# wipe DISK...: as if new
wipe() {
	local d size
	for d in "$@"; do
		into size blkio size "/dev/emudisk/$d"
		blkio zero "/dev/emudisk/$d" 0 "$size" || die "wipe $d"
	done
}

# blkio_lines: standard input has commands of blkio, one a line
blkio_lines() {
	local batch
	while read -ra batch; do
		blkio "${batch[@]}" || return
	done < <(awk '{ printf "%s%s", NR % 100 == 1 ? (NR > 1 ? "\n" : "") : " -- ", $0 } END { print "" }')
}

# status NAME KEY: one field of the status line; tests/dm/dm.h has the keys
status() { dmt field "$1" "$2"; }

# get NAME KEY...: the same, into the array $got, without a process
get() {
	local key value
	got=()
	for key in "${@:2}"; do
		into value dmt field "$1" "$key"
		got+=("$value")
	done
}

# status_is NAME KEY VALUE, status_above NAME KEY NUMBER: for wait_for
status_is() { local got; get "$1" "$2"; [ "$got" = "$3" ]; }
status_above() { local got; get "$1" "$2"; [ "$got" -gt "$3" ]; }

# in_grammar NAME: the status line, by a parser that stays
in_grammar() {
	local line answer
	[ "${grammar_PID:-}" ] || coproc grammar { exec python3 tests/vm/hybrid_status.py --answer; }
	line=$(dmsetup status "$1")
	echo "$line" >&"${grammar[1]}" && read -r answer <&"${grammar[0]}" && [ "$answer" = right ] && return
	echo "${answer:-no parser}: $line"
	return 1
}

message() { dmsetup message "$1" 0 "${@:2}"; }

# fio_was_right FILE: what fio says at its end, which one that never ran does not
fio_was_right() {
	if grep -q "err= *0:" "$1" && ! grep -qE "verify: bad|error=|err= *[1-9]" "$1"; then return; fi
	echo "$1, $(wc -l <"$1") lines:"
	cat "$1"
	return 1
}

# is_clean COMMAND...: hybridctl finds no error
is_clean() { hybridctl check "$@" >/tmp/check 2>&1 && grep -q ": clean, 0 errors" /tmp/check && return; cat /tmp/check; return 1; }

cleanup() {
	local p d
	for p in "${pools[@]+"${pools[@]}"}"; do
		dmsetup resume "$p" >/dev/null 2>&1
		dmsetup remove --retry "$p" || note "cleanup: $p stays"
	done
	for d in "${disks[@]+"${disks[@]}"}"; do emuctl del "$d" || note "cleanup: $d stays"; done
	rm -f "$said"
}
trap cleanup EXIT
