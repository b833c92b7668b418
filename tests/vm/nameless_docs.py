#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# title: what the administrator's guide to nameless tells people to type works as it stands
# kernels: 6.1
# timeout: 60
"""The folders that it takes for granted are made before."""

import os
import sys

import docs_examples

os.makedirs("/mnt", exist_ok=True)
sys.exit(docs_examples.main({"Documentation/admin-guide/nameless.rst": 9}))
