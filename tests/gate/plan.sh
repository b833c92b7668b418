#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: ends half way
# kernels: 6.1
# timeout: 20
echo "ok 1 - so far"
