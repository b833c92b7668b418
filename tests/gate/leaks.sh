#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: leaks, and unloads its module
# kernels: debug
# timeout: 20
modprobe evenkeel_gate fault=leak && rmmod evenkeel_gate || exit
echo "ok 1 - loaded and unloaded"
echo "1..1"
