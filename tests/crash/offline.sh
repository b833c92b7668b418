# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Sourced by lib.sh and, through sh, by the oracle's sweep.

# Are the areas whole as they lie there, with no extent marked used that nothing maps? A pool that runs can't tell: it
# counts what is mapped by what is used.
is_sound_offline() {
	hybridctl check "$@" >/tmp/check 2>&1 && ! grep -q "nothing maps" /tmp/check && return
	sed 's/^/# /' /tmp/check
	return 1
}
