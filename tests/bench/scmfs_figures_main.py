# SPDX-License-Identifier: GPL-2.0-only
"""tests/bench/run scmfs-figures: loads on file systems, each measured once."""

import json
import os

import balance_cells
import by_cells
import machine
import revisions
import scmfs_figures_loads as loads
import scmfs_figures_plot
import scmfs_figures_report
from machine import REAL, VIRTUAL
from tables import table, target

APPEND = "memmap=768M$4G memmap=768M!4864M"     # reserved plainly, and for nd_pmem


def measure_cell(name, cell, path, kernel, quick):
    """What is at path counts, so it gets there last."""
    load, fs = cell
    clock = REAL if load == "threads" else VIRTUAL
    print(f"# {name}: measuring (kernel {kernel}, {'virtual' if clock == VIRTUAL else 'real'} time)", flush=True)
    os.rename(machine.run("scmfs_figures", kernel, "6G", json.dumps(dict(load=load, fs=fs)), *(["--quick"] if quick else []),
                          record=by_cells.record(path), append=APPEND, clock=clock), path)


def figures(args, kernel):
    folder = by_cells.folder(f"scmfs-figures-{kernel}{'-quick' if args.quick else ''}")
    chosen = {n: c for n, c in loads.CELLS.items() if not args.only or any(t in n for t in args.only)}
    paths = {n: os.path.join(folder, n.replace("/", "-") + ".jsonl") for n in chosen}
    if args.again:
        by_cells.forget(paths.values())
    todo = by_cells.to_measure(paths.values(), args, kernel)
    missing = [n for n in chosen if paths[n] in todo]
    if any(chosen[n][0] == "mail" for n in missing):
        machine.build("fsops")
    for some, jobs in (([n for n in missing if chosen[n][0] != "threads"], args.jobs),
                       ([n for n in missing if chosen[n][0] == "threads"], 1)):
        machine.side_by_side([(measure_cell, n, chosen[n], paths[n], kernel, args.quick) for n in some], jobs)
    records = [r for p in paths.values() for r in balance_cells.read(p) or []]
    if not records:
        print("nothing was measured")
        return False
    print(revisions.line(records))
    scmfs_figures_plot.draw_all(records, folder)
    return scmfs_figures_report.show(records, table, target)


def main(args, kernel):
    parser = by_cells.parser("scmfs-figures")
    return 0 if figures(parser.parse_args(args), kernel) else 1
