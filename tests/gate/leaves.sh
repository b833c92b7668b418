#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: leaves a file, a file system and tracing off to the one that passes
# kernels: 6.1
# timeout: 11
mkdir /tmp/left && mount -t tmpfs left /tmp/left && : >/tmp/left/file || exit
echo 0 >/sys/kernel/tracing/tracing_on || exit
: >/tmp/left-over
echo "ok 1 - left"
echo "1..1"
