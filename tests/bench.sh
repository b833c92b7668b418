#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: what measures: netmix and loads of atsmf keep to the tables, verdicts follow from records
# quick: yes
# timeout: 120
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")" || exit
make -s ../build/tests/bin/netmix >&2 || exit
exec python3 bench/selftest.py ../build/tests/bin/netmix
