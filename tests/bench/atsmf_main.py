# SPDX-License-Identifier: GPL-2.0-only
"""tests/bench/run atsmf: loads, each measured once."""

import json
import os

import atsmf_loads
import atsmf_report
import atsmf_traces
import balance_cells
import by_cells
import machine
import revisions
from machine import OUT
from tables import table, target


def measure_load(name, path, kernel):
    """A load of atsmf; what is at path counts, so it gets there last."""
    record = by_cells.record(path)
    requests = os.path.join(OUT, record + ".requests")
    atsmf_loads.write_requests(requests, name, 1)
    measured = machine.run("atsmf", kernel, "3G", json.dumps(dict(load=name, requests=os.path.basename(requests))),
                           record=record)
    os.remove(requests)
    atsmf_traces.reduce_all(measured, name, 1)
    os.rename(measured, path)


def atsmf(args, kernel):
    folder = by_cells.folder("atsmf-" + kernel)
    chosen = args.only or (atsmf_loads.QUICK if args.quick else list(atsmf_loads.LOADS))
    paths = {n: os.path.join(folder, n.replace(" ", "-") + ".jsonl") for n in chosen}
    if args.again:
        by_cells.forget(paths.values())
    todo = by_cells.to_measure(paths.values(), args, kernel)
    missing = [n for n in chosen if paths[n] in todo]
    if missing:
        machine.build("issue")
    machine.side_by_side([(measure_load, n, paths[n], kernel) for n in missing], args.jobs)
    records = [r for p in paths.values() for r in balance_cells.read(p) or []]
    if not records:
        print("nothing was measured")
        return False
    print(revisions.line(records))
    return atsmf_report.show(records, table, target, os.path.join(folder, "summary.png"))


def main(args, kernel):
    parser = by_cells.parser("atsmf", list(atsmf_loads.LOADS))
    return 0 if atsmf(parser.parse_args(args), kernel) else 1
