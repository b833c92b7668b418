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
import revisions
import writeboost
from by_cells import PART
from machine import OUT, TOP


def measure_cell(cell, path, kernel, boost, wanted):
    raw, part = by_cells.raw(path), path + PART
    done = balance_cells.keep(raw, part)
    machine.run("policies", kernel, "3G", json.dumps(dict(cell, boost=boost, done=done, wanted=wanted)),
                record=by_cells.record(path))
    balance_cells.keep(raw, part)
    if not wanted:
        os.rename(part, path)


def forget(paths, wanted):
    """Of the cells; of these volumes only where there is a choice of them."""
    if not wanted:
        by_cells.forget(paths)
        return
    for path in paths:
        balance_cells.keep(by_cells.raw(path), path + PART)
        policies_cells.forget_volumes(path, path + PART, wanted)


def collect(paths):
    """What machines that were ended have left. None may be at it any more."""
    for path in paths:
        if os.path.exists(by_cells.raw(path)):
            balance_cells.keep(by_cells.raw(path), path + PART)


def policies(args, kernel):
    folder = by_cells.folder("policies-" + kernel)
    chosen = [c for c in policies_cells.cells(args.quick) if not args.only or any(o in c["name"] for o in args.only)]
    paths = {balance_cells.file_of(folder, c): c for c in chosen}
    if args.again:
        forget(paths, args.volume)
    if not args.report:
        collect(paths)
    missing = by_cells.to_measure(paths, args, kernel)
    if missing:
        machine.build("netmix")
        boost = writeboost.module(kernel, OUT, None)
        print(f"# {len(missing)} cells to measure", flush=True)
        machine.side_by_side([(measure_cell, paths[p], p, kernel, boost, args.volume) for p in missing], args.jobs)
    return show(paths, folder)


def show(cells, folder):
    read = [(c, by_cells.read(p)) for p, c in cells.items()]
    measured = policies_cells.together([(c, records) for c, records in read if records])
    if not measured:
        print("nothing was measured")
        return False
    text, ok = policies_report.report(measured)
    text += "\n" + revisions.line(r for _, records in read for r in records) + "\n"
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
