#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: the one that passes, after all of them
# kernels: 6.1 debug
# timeout: 10
[ ! -d /sys/module/evenkeel_gate ] || exit
[ ! -e /dev/mapper/gate-left ] || exit
[ ! -e /tmp/left ] && [ ! -e /tmp/left-over ] || exit
[ "$(cat /sys/kernel/tracing/tracing_on)" = 1 ] || exit
echo "ok 1 - nothing is left of the others"
echo "1..1"
