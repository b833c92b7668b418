#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# title: what the administrator's guide to scmfs tells people to type works as it stands
# kernels: 6.1
# timeout: 60
# memory: 2G
# append: memmap=64M$1G memmap=32M!1088M
"""
In the machine of scmfs.sh, as blank as a new one: what was left in the middle of the memory, such as the file system
of a partition, would have init refused.
"""

import subprocess
import sys

import docs_examples

for module in ("nd_e820", "nd_pmem", "scmfs"):
    subprocess.run(["modprobe", "-q", module], check=False)
subprocess.run("""
    until [ -b /dev/pmem0 ]; do sleep 0.1; done
    dd if=/dev/zero of=/dev/pmem0 bs=1M count=32 status=none
    dd if=/dev/zero of=/dev/mem bs=1M seek=1024 count=64 status=none
    mkdir -p /mnt""", shell=True, check=True, timeout=20)
sys.exit(docs_examples.main({"Documentation/admin-guide/scmfs.rst": 9}))
