#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: its status is 1, and no test failed
# kernels: 6.1
# timeout: 20
echo "ok 1 - so far"
echo "1..1"
exit 1
