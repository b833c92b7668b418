#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: emudisk and emuctl
# kernels: 6.1 6.12 debug
# quick: no
# timeout: 150
#
# tests/emudisk has the tests. EVENKEEL_SEED in the environment repeats a run.
PATH=$PATH:$PWD/build/tests/bin exec emudisk-test
