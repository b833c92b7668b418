# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the shell tests share: KTAP, disks, pools, waiting. A test sources it, calls ok/check/expect_refused ... and
# ends with `done_testing`, which prints the plan: a script that dies before that fails for want of one.
# Everything made by these functions is taken down on exit.

set -u
shopt -s lastpipe
export LC_ALL=C
tests=0 failures=0 log_case=0
pools=() disks=()
said=$(mktemp)
seed=${EVENKEEL_SEED:-$((RANDOM * 32768 + RANDOM))}
echo "KTAP version 1"
echo "# seed $seed (EVENKEEL_SEED)"

note() { local text="$*"; echo "# ${text//$'\n'/$'\n'# }"; }
ok() { echo "ok $((++tests)) - $*"; }
not_ok() { failures=$((failures + 1)); echo "not ok $((++tests)) - $1"; shift; [ $# = 0 ] || note "$@"; }
skip() { echo "ok $((++tests)) - $1 # SKIP $2"; }
die() { echo "Bail out! $*"; exit 2; }
done_testing() { echo "1..$tests"; [ $failures = 0 ]; exit; }

# check TITLE COMMAND...: the command succeeds. It runs in this shell, so functions may change variables.
check() {
	local title=$1 status=0
	shift
	"$@" >"$said" 2>&1 || status=$?
	if [ $status = 0 ]; then ok "$title"; else not_ok "$title" "\$ $*" "status $status: $(tail -20 "$said")"; fi
	return $status
}

# check_fails TITLE REGEX COMMAND...: it fails, and says so
check_fails() {
	local title=$1 regex=$2
	shift 2
	if "$@" >"$said" 2>&1; then
		not_ok "$title" "\$ $*" "succeeded: $(tail -20 "$said")"
	elif [[ $(<"$said") =~ $regex ]]; then
		ok "$title"
	else
		not_ok "$title" "\$ $*" "said: $(tail -20 "$said")"
	fi
}

# is TITLE GOT WANTED
is() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; return 1; fi
}

# matches TITLE GOT REGEX
matches() {
	if [[ $2 =~ $3 ]]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; return 1; fi
}

# Lines of the kernel log since log_mark.
log_mark() { echo "evenkeel-tests: case $((++log_case))" >/dev/kmsg; }
log_since() { dmesg | sed "1,/evenkeel-tests: case $log_case\$/d"; }

# expect_refused TITLE REGEX COMMAND...: it fails, the kernel log says why, no disk of ours was written to.
# Programs are slow to start in an emulated machine, so this starts few.
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
	why=$(log_since)
	count_written
	shopt -s nocasematch
	if [ "$before" != "$written" ]; then
		not_ok "$title" "was refused, but wrote to the disks" "before: $before" "after: $written"
	elif [[ $why =~ $regex ]]; then
		ok "$title"
	else
		not_ok "$title" "wanted in the kernel log: $regex" "$why" "$(<"$said")"
	fi
	shopt -u nocasematch
}

# Sleep without starting a program.
exec {nothing}<> <(:)
nap() { read -rt "$1" -u $nothing || :; }

# wait_for SECONDS COMMAND...: until it succeeds; polls
wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || return 1
		nap 0.05
	done
}

# --- disks: /dev/emudisk/NAME ------------------------------------------------------------------------------------

modprobe emudisk || die "no emudisk"

# A static program with dmsetup's command lines, which starts several times faster.
dmsetup() { dmt "$@"; }

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

sectors() { blockdev --getsz "$1"; }

# Writes and discards that each disk has seen, into $written.
count_written() {
	local d f
	written=
	for d in "${disks[@]}"; do
		read -ra f <"/sys/block/emudisk!$d/stat"
		written+="$d ${f[4]} ${f[11]};"
	done
}

# Reads of one disk so far.
reads() { awk '{ print $1 }' "/sys/block/emudisk!$1/stat"; }

# --- pools -------------------------------------------------------------------------------------------------------

# table LENGTH EXTENT "META..." "MEMBER..." [FEATURES [POLICY...]]: a table line; a device is NAME[:START]
table() {
	local length=$1 extent=$2 meta=$3 members=$4 features=${5:-0} policy=${6:-wardrop 0} words="" d
	words="0 $length hybrid $(wc -w <<<"$meta")"
	for d in $meta; do words+=" $(device "$d")"; done
	words+=" $extent $(wc -w <<<"$members")"
	for d in $members; do words+=" $(device "$d")"; done
	echo "$words $features $policy"
}

device() {
	local name=${1%%:*} start=0
	[[ $1 != *:* ]] || start=${1#*:}
	case $name in
	-|/*) ;;
	*) name=/dev/emudisk/$name ;;
	esac
	echo "$name $start"
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
	local d
	for d in "$@"; do blkio zero "/dev/emudisk/$d" 0 "$(sectors "/dev/emudisk/$d")" || die "wipe $d"; done
}

# status NAME KEY: one field of the status line; tests/dm/dm.h has the keys
status() { dmt field "$1" "$2"; }

# status_is NAME KEY VALUE: for wait_for
status_is() { [ "$(status "$1" "$2")" = "$3" ]; }

message() { dmsetup message "$1" 0 "${@:2}"; }

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
