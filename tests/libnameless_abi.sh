#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: libnameless: what programs that were linked with it find there
# quick: yes
# timeout: 60
# Who changes what is below changes what programs are linked with: then the library's name has another number.
set -u
cd "$(dirname "$(dirname "$(readlink -f "$0")")")" || exit
make -s -C tools/libnameless || exit
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
lib=build/tools/libnameless.so.0
n=0 failed=0
echo "KTAP version 1"

ok() {
	local title=$1
	shift
	n=$((n + 1))
	if "$@" >"$work/out" 2>&1; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		sed 's/^/# /' "$work/out"
		failed=1
	fi
}

sort >"$work/functions" <<'END'
nameless_acknowledge@@NAMELESS_0
nameless_close@@NAMELESS_0
nameless_discard@@NAMELESS_0
nameless_fd@@NAMELESS_0
nameless_flush@@NAMELESS_0
nameless_free@@NAMELESS_0
nameless_list@@NAMELESS_0
nameless_moves@@NAMELESS_0
nameless_open@@NAMELESS_0
nameless_overwrite@@NAMELESS_0
nameless_pread@@NAMELESS_0
nameless_pwrite@@NAMELESS_0
nameless_query@@NAMELESS_0
nameless_read@@NAMELESS_0
nameless_ring_close@@NAMELESS_0
nameless_ring_is_async@@NAMELESS_0
nameless_ring_open@@NAMELESS_0
nameless_ring_submit@@NAMELESS_0
nameless_ring_wait@@NAMELESS_0
nameless_size@@NAMELESS_0
nameless_write@@NAMELESS_0
END
nm -D --defined-only $lib | awk '$2 != "A" { print $3 }' | sort >"$work/defined"
ok "these functions, and nothing else" diff "$work/functions" "$work/defined"
sed 's/@.*//' "$work/functions" >"$work/names"
grep -Eo '^[a-z].*\bnameless_[a-z_]+\(' tools/libnameless/libnameless.h | grep -Eo 'nameless_[a-z_]+' | sort >"$work/header"
ok "all of them are in its header" diff "$work/names" "$work/header"
readelf -d $lib | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p' >"$work/soname"
ok "its name" grep -qx libnameless.so.0 "$work/soname"

cat >"$work/sizes.c" <<'END'
#include "libnameless.h"
#define AT(member, at) _Static_assert(offsetof(struct nameless_request, member) == (at), #member)
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(struct nameless_request) == 112, "size");
AT(op, 0);
AT(nr, 4);
AT(names, 8);
AT(old, 16);
AT(data, 24);
AT(user, 32);
AT(result, 40);
AT(done, 44);
AT(io, 48);
AT(at, 80);
AT(reserved, 88);
#endif
END
ok "a request is as long as it was, each part where it was" \
	"${CC:-gcc}" -Itools/libnameless -Iinclude/uapi -fsyntax-only "$work/sizes.c"
echo "1..$n"
exit $failed
