#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: dm-hybrid: tables are measured by IMA
# kernels: 6.1 6.12
# timeout: 30
# append: ima_policy=critical_data
. tests/vm/lib.sh

disk m 16M
disk a 24M
disk b 24M
modprobe dm-hybrid || die "no dm-hybrid"
mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security || lacks securityfs
number() { cat "/sys/block/emudisk!$1/dev"; }

# loads: what IMA has of the tables that device-mapper loaded, a line each
loads() {
	python3 -c '
for line in open("/sys/kernel/security/ima/ascii_runtime_measurements"):
    words = line.split()
    if words[4] == "dm_table_load":
        print(bytes.fromhex(words[5]).decode())'
}

check "a pool" pool p "$(table 65536 128 m "a:2048 b" "1 no_discard_passdown")"
measured=$(loads | tail -n 1)
matches "its name is measured" "$measured" "name=p,"
want="target_name=hybrid,target_version=[0-9.]+,extent_sectors=128,nr_meta=1,meta_device_0=$(number m),meta_start_0=0,"
want+="nr_members=2,member_device_0=$(number a),member_start_0=2048,member_device_1=$(number b),member_start_1=0,"
want+="discard_passdown=n,read_only=n;"
matches "and its table" "$measured" "$want"
check "remove" remove_pool p
check "made for reading" pool p "$(table 65536 128 m "a:2048 -" "1 read_only")"
matches "is measured as such, the member that is missing, too" "$(loads | tail -n 1)" \
	"member_device_1=-,member_start_1=0,discard_passdown=y,read_only=y;"
done_testing
