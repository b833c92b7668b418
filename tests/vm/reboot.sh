# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Machines one after the other with the same memory: 128 MiB of reserved memory at 512 MiB, and /dev/pmem0. Sourced on
# the host by what prints KTAP: `machine` for each, then `done_rebooting`.
set -uo pipefail
cd "$(dirname "$(dirname "$(readlink -f "$0")")")" || exit
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 143' TERM
seed=${EVENKEEL_SEED:-$RANDOM} tests=0 failed=0
echo "KTAP version 1"
echo "# seed $seed (EVENKEEL_SEED)"

setup=${setup:-} options=()

# machine TITLE COMMANDS: which begin with what is in $setup; $options are scripts/vm's
machine() {
	tests=$((tests + 1))
	scripts/vm ${options+"${options[@]}"} --memory 1G --ram "$tmp/ram" --pmem "$tmp/dimm:68M" --append 'memmap=128M$512M' -- bash -euc "
		PATH=$PWD/build/tests/bin:\$PATH
		$setup
		$2" >"$tmp/out" 2>&1
	local status=$?
	if [ $status = 0 ]; then
		echo "ok $tests - $1"
	else
		echo "not ok $tests - $1"
		echo "# status $status"
		tail -n 60 "$tmp/out" | sed 's/^/# /'
		failed=1
	fi
}

done_rebooting() {
	echo "1..$tests"
	exit $failed
}
