#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: can't be killed
# kernels: 6.1
# timeout: 5
echo "ok 1 - so far"
modprobe evenkeel_gate fault=hang seconds=600
echo "1..1"
