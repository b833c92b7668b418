# SPDX-License-Identifier: GPL-2.0-only
"""What measurements that go by cells have in common: their arguments, and the folder where what was measured stays."""

import argparse
import os
import shutil

from machine import OUT


def parser(name, only=None):
    """@only: the words that --only takes; None: any part of a cell's name."""
    result = argparse.ArgumentParser(prog="tests/bench/run " + name, usage="see tests/bench/run --help")
    for switch in ("--quick", "--again", "--report"):
        result.add_argument(switch, action="store_true")
    result.add_argument("--only", action="append", choices=only)
    result.add_argument("--jobs", type=int, default=os.cpu_count())
    return result


def folder(name, again):
    """It is there; @again: and empty."""
    path = os.path.join(OUT, name)
    if again:
        shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path, exist_ok=True)
    return path
