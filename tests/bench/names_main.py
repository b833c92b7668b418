# SPDX-License-Identifier: GPL-2.0-only
"""tests/bench/run names: the nameless FTL beside the others, each cell measured once in a machine of its own."""

import json
import os

import balance_cells
import by_cells
import machine
import names_images
import names_loads as loads
import names_plot
import names_report
import revisions
from tables import table, target


def measure_cell(name, cell, path, kernel, quick):
    """What is at path counts, so it gets there last."""
    print(f"# {name}: measuring (kernel {kernel}, virtual time)", flush=True)
    if cell["what"] == "tables":
        cell = dict(cell, images=names_images.every_image(quick))
    record = by_cells.record(path)
    file = os.path.join(machine.OUT, record + ".cell")
    with open(file, "w", encoding="utf-8") as f:
        json.dump(cell, f)
    os.rename(machine.run("names", kernel, cell["memory"], os.path.basename(file), record=record), path)
    os.remove(file)


def names(args, kernel):
    folder = by_cells.folder(f"names-{kernel}{'-quick' if args.quick else ''}")
    words = args.only or (loads.QUICK if args.quick else [""])
    chosen = {n: c for n, c in loads.every_cell().items() if any(w in n for w in words)}
    paths = {n: os.path.join(folder, n.replace("/", "-") + ".jsonl") for n in chosen}
    if args.again:
        by_cells.forget(paths.values())
    todo = by_cells.to_measure(paths.values(), args, kernel)
    missing = [n for n in chosen if paths[n] in todo]
    machine.side_by_side([(measure_cell, n, chosen[n], paths[n], kernel, args.quick) for n in missing], args.jobs)
    records = [r for p in paths.values() for r in balance_cells.read(p) or []]
    if not records:
        print("nothing was measured")
        return False
    print(revisions.line(records))
    names_plot.draw(records, os.path.join(folder, "summary.png"))
    return names_report.show(records, table, target)


def main(args, kernel):
    return 0 if names(by_cells.parser("names").parse_args(args), kernel) else 1
