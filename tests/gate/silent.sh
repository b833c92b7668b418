#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: prints nothing
# kernels: 6.1
# timeout: 20
exit 0
