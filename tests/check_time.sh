#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scripts/check keeps to its time: what took too long has failed, what .ci/run gives more is told
# quick: yes
# timeout: 60
# Nothing is built or tested: of what scripts/check calls there are empty ones in a tree of its own, and make is where
# the time goes, in which nobody has to wait for it.
set -u
cd "$(dirname "$(dirname "$(readlink -f "$0")")")" || exit
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{scripts,tests,.ci,drivers/mem2m,drivers/scmfs,drivers/nameless}
cp scripts/check "$tree/scripts/"
cp .ci/run "$tree/.ci/"
printf '#!/bin/sh\n' | tee "$tree"/scripts/{install-packages,debug-kernel,lint} >/dev/null
printf '#!/bin/sh\necho "# asked: $*"\necho "3 passed, 0 failed, 1 skipped"\n' >"$tree/tests/run"
# shellcheck disable=SC2016 # for the shell that reads it
echo 'make() { [[ "$*" != *tools ]] || SECONDS=$((SECONDS + took * 60)); }' >"$tree/env"
chmod +x "$tree"/scripts/* "$tree"/tests/*
unset EVENKEEL_CHECK_MINUTES EVENKEEL_BUILD_CHECKED
n=0 failed=0
echo "KTAP version 1"

# says TITLE MINUTES STATUS LAST REGEX COMMAND...: it takes so long, and tells that above its last line
says() {
	local title=$1 status=0
	n=$((n + 1))
	took=$2 BASH_ENV=$tree/env "${@:6}" >"$tree/out" 2>&1 || status=$?
	if [ "$status" = "$3" ] && [ "$(tail -n 1 "$tree/out")" = "$4" ] && grep -Eqx -- "$5" "$tree/out"; then
		echo "ok $n - $title"
		return
	fi
	echo "not ok $n - $title"
	echo "# status $status, wanted $3 and: $4 and: $5"
	sed 's/^/# /' "$tree/out"
	failed=1
}

# Nor is anything said of those that took less.
silent() {
	n=$((n + 1))
	if ! grep -Eq -- "$2" "$tree/out"; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		failed=1
	fi
}

good="3 passed, 0 failed, 1 skipped" late="3 passed, 1 failed, 1 skipped"
check=$tree/scripts/check
says "57 minutes are none too many" 57 0 "$good" '# total +34[0-9]{2} of 3480' "$check"
silent "and nothing is said of them" 'longer than|FAILED'
says "59 are" 59 1 "$late" '# FAILED: the check took longer than 58 minutes' "$check"
says "what may be left out is not begun in the last ten minutes" 0 0 "$good" \
	'# asked: --command lint=scripts/lint --spare 28(80|7[0-9])' "$check"
says "a quick one has five" 6 1 "$late" '# FAILED: the check took longer than 5 minutes' "$check" --quick
says "and is content with four" 4 0 "$good" '# total +24[0-9] of 300' "$check" --quick
says "a part has no limit" 500 0 "$good" '# asked: .* --only some' "$check" --only some
says "but for the one that it is given" 3 1 "$late" '# FAILED: the check took longer than 2 minutes' \
	env EVENKEEL_CHECK_MINUTES=2 "$check" --only some
says "0 is none" 500 0 "$good" '# total +3000[0-9] of any' env EVENKEEL_CHECK_MINUTES=0 "$check"
says "what lands has half an hour more, and its being late is told" 59 0 "$good" \
	'# slow: more than 58 minutes, which scripts/check by itself fails for; here 88 are allowed' "$tree/.ci/run"
says "and leaves room for what must not be left out" 0 0 "$good" '# asked: .* --spare 28[0-9]{2} --last 46[0-9]{2}' "$tree/.ci/run"
silent "who is in time hears nothing" 'slow:|FAILED'
says "but no more than that" 89 1 "$late" '# FAILED: the check took longer than 88 minutes' "$tree/.ci/run"
echo "1..$n"
exit $failed
