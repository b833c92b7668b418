#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: leaves a module loaded that can't be unloaded
# kernels: 6.1
# timeout: 20
modprobe evenkeel_gate fault=pin || exit
echo "ok 1 - loaded"
echo "1..1"
