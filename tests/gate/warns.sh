#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: makes the kernel warn
# kernels: 6.1
# timeout: 20
modprobe evenkeel_gate fault=warn
echo "ok 1 - loaded"
echo "1..1"
