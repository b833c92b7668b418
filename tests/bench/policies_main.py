# SPDX-License-Identifier: GPL-2.0-only
"""tests/bench/run policies: cells, each measured once."""

import json
import os

import balance_cells
import by_cells
import machine
import policies_cells
import policies_plot
import policies_report
import writeboost
from by_cells import PART
from machine import OUT, TOP


def measure_cell(cell, path, kernel, boost, wanted):
    raw, part = by_cells.raw(path), path + PART
    done = policies_cells.keep(raw, part)
    machine.run("policies", kernel, "3G", json.dumps(dict(cell, boost=boost, done=done, wanted=wanted)),
                record=by_cells.record(path))
    policies_cells.keep(raw, part)
    if not wanted:
        os.rename(part, path)


def forget(paths, wanted):
    """Of the cells; of these volumes only where there is a choice of them."""
    if not wanted:
        by_cells.forget(paths)
        return
    for path in paths:
        policies_cells.keep(by_cells.raw(path), path + PART)
        policies_cells.forget_volumes(path, path + PART, wanted)


def policies(args, kernel):
    folder = by_cells.folder("policies-" + kernel)
    chosen = [c for c in policies_cells.cells(args.quick) if not args.only or any(o in c["name"] for o in args.only)]
    if args.again:
        forget([balance_cells.file_of(folder, c) for c in chosen], args.volume)
    missing = [c for c in chosen if not os.path.exists(balance_cells.file_of(folder, c))]
    if missing and not args.report:
        machine.build("netmix")
        boost = writeboost.module(kernel, OUT, None)
        print(f"# {len(missing)} cells to measure", flush=True)
        machine.side_by_side([(measure_cell, c, balance_cells.file_of(folder, c), kernel, boost, args.volume)
                              for c in missing], args.jobs)
    return show(chosen, folder)


def show(chosen, folder):
    paths = [balance_cells.file_of(folder, c) for c in chosen]
    read = [(c, balance_cells.read(p) or balance_cells.read(p + PART)) for c, p in zip(chosen, paths)]
    measured = policies_cells.together([(c, records) for c, records in read if records])
    if not measured:
        print("nothing was measured")
        return False
    text, ok = policies_report.report(measured)
    path = os.path.join(folder, "report.md")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    print(text)
    for p in [path, *policies_plot.pictures(measured, folder)]:
        print(os.path.relpath(p, TOP))
    return ok


def main(args, kernel):
    parser = by_cells.parser("policies")
    parser.add_argument("--volume", action="append")
    return 0 if policies(parser.parse_args(args), kernel) else 1
