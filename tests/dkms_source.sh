#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: what DKMS gets builds every module, and says where they are
# timeout: 300
# tests/packages.sh has the packages installed, booted from, upgraded and removed; it takes long, and is run by hand.
set -u
cd "$(dirname "$(dirname "$(readlink -f "$0")")")" || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0
# what dkms.conf wants to know of the kernel
read -r kernelver kernel_source_dir < <(scripts/kernel-dir 6.1)
export kernelver kernel_source_dir
echo "KTAP version 1"

ok() {
	local title=$1
	shift
	n=$((n + 1))
	if "$@" >"$work/out" 2>&1; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		tail -n 30 "$work/out" | sed 's/^/# /'
		failed=1
	fi
}

# What dkms.conf promises is there once its own command was run, as DKMS does it: for a kernel and its headers.
builds() {
	local i
	cd "$work/usr/src/evenkeel-$(cat VERSION)" || return
	# shellcheck source=/dev/null
	. ./dkms.conf
	eval "${MAKE[0]}" || return
	for i in "${!BUILT_MODULE_NAME[@]}"; do
		modinfo -F license "${BUILT_MODULE_LOCATION[i]}/${BUILT_MODULE_NAME[i]}.ko" || return
	done
	eval "$CLEAN" && ! [ -e build ]
}

installs_the_same() {
	make -s modules_install KVER=6.1 DESTDIR="$work/installed" || return
	# shellcheck source=/dev/null
	(. "$work"/usr/src/evenkeel-*/dkms.conf && printf '%s.ko\n' "${BUILT_MODULE_NAME[@]}") | sort >"$work/promised"
	find "$work/installed" -name '*.ko' -printf '%f\n' | sort | diff "$work/promised" -
}

ok "make dkms_source" make -s dkms_source DESTDIR="$work"
ok "the modules that DKMS installs are those of make install" installs_the_same
ok "they are built by DKMS' command, and cleaned away" eval '(builds)'
echo "1..$n"
exit $failed
