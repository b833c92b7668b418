#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: scmfs: what is in reserved memory and pmem is there in the next machine
# timeout: 240
# one-of: 2
. "$(dirname "$(readlink -f "$0")")/vm/reboot.sh"

setup="modprobe scmfs
	a=/tmp/a b=/tmp/b
	mkdir \$a \$b"

machine "file systems are made and written, and the power goes without unmounting" "
	mount -t scmfs -o phys=512M,size=128M,init none \$a
	mount -t scmfs -o init /dev/pmem0 \$b
	cp -a drivers \$a
	cp -a include \$b
	sleep 1000 9>\$a/unlinked &
	until [ -e \$a/unlinked ]; do :; done
	rm \$a/unlinked"
machine "in the next machine all that was written is there" "
	mount -t scmfs -o phys=512M,size=128M none \$a
	mount -t scmfs /dev/pmem0 \$b
	dmesg | grep -q 'scmfs: recovered:.* 1 of .* orphans'
	diff -r drivers \$a/drivers
	diff -r include \$b/include
	[ ! -e \$a/unlinked ]
	umount \$a \$b"
machine "and nothing is left to recover" "
	mount -t scmfs -o phys=512M,size=128M none \$a
	mount -t scmfs /dev/pmem0 \$b
	! dmesg | grep -q 'scmfs: recovered'
	diff -r drivers \$a/drivers
	echo last >\$a/last
	echo last >\$b/last
	mount -o remount,ro \$a
	mount -o remount,ro \$b"
machine "nor when they were read-only as the power went" "
	mount -t scmfs -o phys=512M,size=128M,ro none \$a
	mount -t scmfs /dev/pmem0 \$b
	! dmesg | grep -q 'scmfs: recovered'
	diff -r drivers \$a/drivers
	diff -r include \$b/include
	[ \$(cat \$a/last \$b/last | tr -d '\\n') = lastlast ]
	mount -o remount,rw \$a
	mount -o remount,ro \$b
	mount -o remount,rw \$b
	echo more >>\$a/last
	echo more >>\$b/last"
machine "writable again they were in use" "
	mount -t scmfs -o phys=512M,size=128M none \$a
	mount -t scmfs /dev/pmem0 \$b
	[ \$(dmesg | grep -c 'scmfs: recovered') = 2 ]
	[ \$(cat \$a/last \$b/last | tr -d '\\n') = lastmorelastmore ]
	rm -r \$a/drivers \$b/include
	umount \$a \$b"
done_rebooting
