#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: leaves disks behind
# kernels: 6.1
# timeout: 20
modprobe emudisk && modprobe mem2m || exit
emuctl add gate-left mem 1M || exit
mem2mctl create gate-memory 4K || exit
echo "ok 1 - made"
echo "1..1"
