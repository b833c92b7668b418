#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: what POSIX says, and programs that need a whole file system
# kernels: 6.1
# timeout: 60
# memory: 2G
# append: memmap=128M$1G
. tests/vm/lib.sh

modprobe scmfs || die "no scmfs"
m=/tmp/mnt twin=/tmp/twin here=phys=1G,size=128M
mkdir -p $m $twin
rm -rf ${twin:?}/*	# of another suite
export HOME=/tmp GIT_CONFIG_GLOBAL=/tmp/gitconfig

mounted_again() { umount $m && mount -t scmfs -o "$1" none $m; }
again() { mounted_again $here; }
cleanup_mount() { umount $m 2>/dev/null; cleanup; }
trap cleanup_mount EXIT
mount -t scmfs -o $here,init none $m || die "no file system"

check "the table of calls is right about tmpfs" posix $twin tests/vm/posix.table
mkdir $m/posix
check "and scmfs does what it says" posix $m/posix tests/vm/posix.table
check "with data=atomic, too" eval "mounted_again $here,data=atomic && mkdir $m/posix2 && posix $m/posix2 tests/vm/posix.table"
again
rm -rf $m/posix $m/posix2

# --- git ---------------------------------------------------------------------------------------------

git config --global user.name tests
git config --global user.email tests@localhost
git config --global safe.directory '*'
source_tree() { git init -q $m/from && cp -a drivers/lib drivers/scmfs $m/from && git -C $m/from add . && git -C $m/from commit -qm all; }
check "git: a tree is committed" source_tree
check "git: and cloned" git clone -q --no-hardlinks $m/from $m/to
check "git: packed" git -C $m/to gc -q
check "git: after mounting again all of it is there" eval "again && git -C $m/to fsck --strict && git -C $m/from fsck --strict &&
	git -C $m/to status --porcelain | cmp - /dev/null && diff -r drivers/lib $m/to/lib"

# --- sqlite ------------------------------------------------------------------------------------------

rows="with recursive c(x) as (select 1 union all select x + 1 from c where x < 500) insert into t select x, randomblob(300) from c;"

# database JOURNAL [PRAGMA]: make one, change it, and look at it after mounting again
database() {
	sqlite3 $m/$1.db "${2:-} pragma journal_mode=$1; create table t(a integer primary key, b); $rows
		update t set b = randomblob(500) where a % 3 = 0; delete from t where a % 7 = 0; begin; delete from t; rollback; vacuum;" &&
		again && [ "$(sqlite3 $m/$1.db 'pragma integrity_check; select count(*) from t')" = $'ok\n429' ]
}
check "sqlite: with a journal" database delete
check "sqlite: with a write-ahead log" database wal
check "sqlite: mapped" database truncate "pragma mmap_size=16777216;"

# --- a build -----------------------------------------------------------------------------------------

build() { cp -a drivers/emudisk/../../tests/dm $1/dm && (cd $1/dm && cc -O1 -o dmt dmt.c dm.c status.c && ./dmt nothing >/dev/null 2>&1; [ -x dmt ]); }
check "programs are compiled, linked and run" eval "build $m && build $twin"
check "and are what they are on tmpfs" eval "cmp $m/dm/dmt $twin/dm/dmt && again && cmp $m/dm/dmt $twin/dm/dmt"
check "fsck finds all of it in order" eval "umount $m && dd if=/dev/mem of=/tmp/image bs=1M iflag=fullblock skip=1026 count=126 status=none &&
	fsck.scmfs -n /tmp/image && mount -t scmfs -o $here none $m"
umount $m
rmmod scmfs
done_testing
