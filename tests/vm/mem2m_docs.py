#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# title: what the administrator's guide to mem2m tells people to type works as it stands
# kernels: 6.1
# timeout: 60
# memory: 2G
# append: memmap=384M$1G memmap=64M!1408M
"""In the machine of mem2m_phys.sh, which has reserved memory and a pmem device; as blank as a new one."""

import subprocess
import sys

import docs_examples

for module in ("nd_e820", "nd_pmem", "mem2m"):
    subprocess.run(["modprobe", "-q", module], check=False)
subprocess.run("""
    until [ -b /dev/pmem0 ]; do sleep 0.1; done
    dd if=/dev/zero of=/dev/pmem0 bs=1M count=2 status=none
    dd if=/dev/zero of=/dev/mem bs=1M seek=1024 count=1 status=none
    dd if=/dev/zero of=/dev/mem bs=1M seek=1407 count=1 status=none
    mkdir -p /mnt""", shell=True, check=True, timeout=20)
sys.exit(docs_examples.main({"Documentation/admin-guide/mem2m.rst": 5}))
