# SPDX-License-Identifier: GPL-2.0-only
"""What measurements that go by cells have in common: their arguments, and the folder where what was measured stays."""

import argparse
import contextlib
import os

import balance_cells
import revisions
from machine import OUT

PART = ".part"          # of a cell that isn't done


def parser(name, only=None):
    """@only: the words that --only takes; None: any part of a cell's name."""
    result = argparse.ArgumentParser(prog="tests/bench/run " + name, usage="see tests/bench/run --help")
    for switch in ("--quick", "--mixed"):
        result.add_argument(switch, action="store_true")
    # Who only wants to see what there is forgets none of it.
    what = result.add_mutually_exclusive_group()
    for switch in ("--again", "--report"):
        what.add_argument(switch, action="store_true")
    result.add_argument("--only", action="append", choices=only)
    result.add_argument("--jobs", type=int, default=os.cpu_count())
    return result


def folder(name):
    """It is there."""
    path = os.path.join(OUT, name)
    os.makedirs(path, exist_ok=True)
    return path


def record(path):
    """
    The name under which a machine writes what becomes the cell at @path. The folder is in it, and so the kernel: what
    another one has left when it was ended is not taken for this one's.
    """
    return os.path.basename(os.path.dirname(path)) + "-" + os.path.basename(path).removesuffix(".jsonl")


def raw(path):
    return os.path.join(OUT, record(path) + ".jsonl")


def forget(paths):
    """What was measured of these cells, and what machines that were ended have left of them; nothing else."""
    for path in paths:
        for file in (path, path + PART, path + ".new", raw(path)):
            with contextlib.suppress(FileNotFoundError):
                os.remove(file)


def read(path):
    """The rows of a cell, also of one that isn't done."""
    return balance_cells.read(path) or balance_cells.read(path + PART) or []


def to_measure(paths, args, kernel):
    """
    Those that aren't there. What is there is shown beside them, so it has to be of the same code and kernel, or who
    asks has to know; @kernel as revisions.meta() has it.
    """
    found = revisions.known(r for p in paths for r in read(p))
    missing = [] if args.report else [p for p in paths if not os.path.exists(p)]
    if missing:
        found.setdefault(revisions.of(revisions.meta(kernel)), "what would be measured now")
    if len(found) > 1 and not args.mixed:
        raise SystemExit("rows are of different code, which --mixed allows and --again forgets:\n" + "\n".join(
            f"  code {code}, kernel {on}: {revision}" for (code, on), revision in found.items()))
    return missing
