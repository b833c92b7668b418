#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: what DKMS and the packages get builds every module, and says where they are and for which kernels
# one-of: 3
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

# As DKMS compares it; what names a lowest version is not known to Debian 12's.
takes_kernels() {
	local kernel arch got=
	# shellcheck source=/dev/null
	. "$work"/usr/src/evenkeel-*/dkms.conf
	for kernel in 4.19.0-1 5.10.0-28-amd64 6.0.0-6-amd64 6.1.0-18-amd64 6.9.7 6.10.1 6.12.9+bpo-amd64 6.12 6.13.2 6.18.2 \
		6.120.0 7.0.0 7.1.0 16.1.0; do
		[[ $BUILD_EXCLUSIVE_KERNEL && ! $kernel =~ $BUILD_EXCLUSIVE_KERNEL ]] || got+=" $kernel"
	done
	for arch in i686 x86_64 aarch64; do
		[[ $BUILD_EXCLUSIVE_ARCH && ! $arch =~ $BUILD_EXCLUSIVE_ARCH ]] || got+=" $arch"
	done
	echo "$got"
	[ "$got" = " 6.1.0-18-amd64 6.9.7 6.10.1 6.12.9+bpo-amd64 6.12 x86_64" ]
}

installs_the_same() {
	make -s modules_install KVER=6.1 DESTDIR="$work/installed" || return
	# shellcheck source=/dev/null
	(. "$work"/usr/src/evenkeel-*/dkms.conf && printf '%s.ko\n' "${BUILT_MODULE_NAME[@]}") | sort >"$work/promised"
	find "$work/installed" -name '*.ko' -printf '%f\n' | sort | diff "$work/promised" -
}

# DKMS' own script is done with 6.1, and ends as the first word says; of the others one has no headers, and one fails.
# Where GONE is set, DKMS has nothing of it.
postinst() {
	mkdir -p "$work"/lib/modules/{6.1,6.12,6.18,7.0,old}/build "$work/bin"
	mkdir -p "$work"/lib/modules/{6.1,6.12,6.18,7.0}/build/include
	sed "s,/lib/modules,$work&,; s/#VERSION#/0.1/; s/#DEBHELPER#/$1/" debian/evenkeel-dkms.postinst >"$work/postinst"
	cat >"$work/bin/dkms" <<-'END'
		#!/bin/sh
		[ "$1 $2 $3 $4 $5" = "$1 -m evenkeel -v 0.1" ] || exit 99
		case $1,$7 in
		status,*) [ -z "${GONE:-}" ] || grep -q add "$DID" || exit 0 ;;
		esac
		case $1,$7 in
		status,6.1) [ -n "${GONE:-}" ] || echo "evenkeel/0.1, 6.1, x86_64: installed" ;;
		status,*) echo "evenkeel/0.1: added" ;;
		add,*) echo add >>"$DID" ;;
		install,6.12) echo "$7" >>"$DID"; exit 10 ;;
		install,6.18) echo "$7" >>"$DID"; exit 77 ;;
		install,*) echo "$7" >>"$DID" ;;
		esac
	END
	printf '#!/bin/sh\necho "$(wc -w <"$DID"): ${0##*/} $*" >>"$RENEWED"\n' | tee "$work/bin/dpkg-trigger" >"$work/bin/update-initramfs"
	chmod +x "$work"/bin/*
	: >"$work/did"
	: >"$work/renewed"
	DID=$work/did RENEWED=$work/renewed PATH="$work/bin:$PATH" sh "$work/postinst" "${@:2}" >"$work/told" 2>&1
}
has_built() { [ "$(paste -sd' ' "$work/did")" = "$1" ]; }
has_renewed() { [ "$(<"$work/renewed")" = "$1" ]; }
tells() { grep -q "$1" "$work/told"; }

# packs TREE LIST: what the packages would be built from
packs() {
	cat >"$work/bin/dpkg-buildpackage" <<-'END'
		#!/bin/sh
		find . -type f | sort >"$LIST"
		touch ../x.deb ../x.dsc ../x.tar.xz ../x.changes ../x.buildinfo
	END
	printf '#!/bin/sh\ncat VERSION\n' >"$work/bin/dpkg-parsechangelog"
	chmod +x "$work"/bin/*
	LIST=$2 PATH="$work/bin:$PATH" "$1/scripts/package" "$work/packages"
}
unpacked() {
	mkdir -p "$work/tree/build" && git ls-files -z --cached --others --exclude-standard |
		rsync -a --from0 --files-from=- --ignore-missing-args . "$work/tree/" && touch "$work"/tree/{build/junk,junk.o} && packs "$work/tree" "$work/archive"
}

ok "make dkms_source" make -s dkms_source DESTDIR="$work"
ok "the modules that DKMS installs are those of make install" installs_the_same
ok "they are built by DKMS' command, and cleaned away" eval '(builds)'
ok "kernels before 6.1 or after 6.12 and other machines are left alone" eval '(takes_kernels)'
mkdir -p "$work/bin"
ok "packages are made of a checkout" packs . "$work/checkout"
ok "and of a tree that is none" unpacked
ok "from the same files" diff "$work/checkout" "$work/archive"
ok "the package's script" postinst true configure 0.0
ok "builds for each kernel with headers for which DKMS did not" has_built "6.12 6.18 7.0"
ok "and tells where that failed" tells "no modules for 6.12"
ok "after which initial file systems are renewed" has_renewed "3: dpkg-trigger --no-await evenkeel-initramfs"
ok "the newest kernel's where it is new" eval 'postinst true configure && has_renewed "3: update-initramfs -u"'
ok "where DKMS itself failed, it fails" eval '! postinst false configure'
ok "and builds for the others" has_built "6.12 6.18 7.0"
ok "an upgrade came to nothing after the modules were taken away" eval 'GONE=1 postinst true abort-upgrade 0.2'
ok "they are built for each kernel" has_built "add 6.1 6.12 6.18 7.0"
ok "that this failed for one is told" tells "no modules for 6.12"
ok "initial file systems, which have that version, are not renewed" has_renewed ""
for case in abort-remove abort-deconfigure; do
	ok "they are after $case" eval 'GONE=1 postinst true $case in-favour x 1 && has_built "add 6.1 6.12 6.18 7.0"'
	ok "what is there still is kept" eval 'postinst true $case in-favour x 1 && has_built "6.12 6.18 7.0"'
done
ok "it builds and renews nothing in other cases" eval 'postinst true triggered && has_built "" && has_renewed ""'
echo "1..$n"
exit $failed
