#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: takes the machine down with a breakpoint that nobody set
# kernels: 6.1
# timeout: 20
echo "ok 1 - so far"
modprobe evenkeel_gate fault=int3
echo "1..1"
