# SPDX-License-Identifier: GPL-2.0-only
"""tests/bench/run balance: cells, each measured once."""

import json
import os
import subprocess

import balance_cells
import balance_plot
import balance_report
import by_cells
import lab
import machine
import revisions
import writeboost
from by_cells import PART
from machine import HERE, OUT, TOP


PIECE = 1500            # seconds of a machine, after which another one goes on with the cell


def on_devices(cell, path):
    """Here, not in a machine."""
    environment = {**os.environ, "BENCH_META": json.dumps(revisions.meta(None))}
    command = ["python3", os.path.join(HERE, "balance.py"), "balance", path, json.dumps(cell)]
    if subprocess.run(command, env=environment, check=False).returncode:
        raise SystemExit(f"{cell['name']}: failed")


def measure_cell(cell, path, kernel, boost):
    """In pieces: a volume that was measured is not measured again, whatever ended the machine."""
    raw, part = path + ".new" if cell.get("devices") else by_cells.raw(path), path + PART
    while True:
        before = balance_cells.keep(raw, part)
        rows = balance_cells.read(part)
        said = dict(cell, boost=boost, done=balance_cells.done(rows))
        if not cell.get("period_ms"):
            said["period_ms"] = next((r["period_ms"] for r in rows if "period_ms" in r), None)
        try:
            if cell.get("devices"):
                on_devices(said, raw)
            else:
                machine.run("balance", kernel, "3G", json.dumps(said), record=by_cells.record(path), seconds=PIECE)
            break
        except machine.OutOfTime:
            if balance_cells.keep(raw, part) == before:
                raise
    balance_cells.keep(raw, part)
    os.rename(part, path)


def folder_of(args, kernel):
    """Rows of real devices are of this kernel, and of so much data and such a period; the devices are in the cells' names."""
    if not args.devices:
        return "balance-" + kernel
    return f"balance-devices-{os.uname().release}-{args.data >> 20}M-{args.period}ms"


def balance(args, kernel):
    folder = by_cells.folder(folder_of(args, kernel))
    cells = balance_cells.on_devices(args.devices, args.data, args.period) if args.devices else \
        balance_cells.cells(args.quick, args.key)
    chosen = [c for c in cells if not args.only or any(o in c["name"] for o in args.only)]
    if args.again:
        more = [m for c in chosen for m in balance_cells.other_seeds(c)] if args.key else []
        by_cells.forget({balance_cells.file_of(folder, c) for c in [*chosen, *more]})
    measure(chosen, folder, args, kernel)
    if args.key:
        chosen += balance_cells.more_seeds(there(chosen, folder))
        measure(chosen, folder, args, kernel)
    return show_balance(chosen, folder)


def there(cells, folder):
    """Those that were measured, with their records."""
    read = [(c, balance_cells.read(balance_cells.file_of(folder, c))) for c in cells]
    return [(c, records) for c, records in read if records]


def measure(chosen, folder, args, kernel):
    paths = {balance_cells.file_of(folder, c): c for c in chosen}
    missing = by_cells.to_measure(paths, args, None if args.devices else kernel)
    if missing:
        machine.build("netmix")
        boost = writeboost.module(kernel, OUT, args.devices)
        print(f"# {len(missing)} cells to measure", flush=True)
        machine.side_by_side([(measure_cell, paths[p], p, kernel, boost) for p in missing],
                             1 if args.devices else args.jobs)


def show_balance(cells, folder):
    measured, found = {}, there(cells, folder)
    for cell, records in found:
        measured.setdefault(balance_cells.title(cell), (cell, []))[1].append(records)
    if not measured:
        print("nothing was measured")
        return False
    text, ok = balance_report.report(list(measured.values()))
    if not any(c.get("devices") for c in cells):
        text += "\n" + balance_cells.part_of_all({c["name"] for c in cells}, {c["name"] for c, _ in found}) + "\n"
    text += "\n" + revisions.line(r for _, runs in measured.values() for records in runs for r in records) + "\n"
    report, picture = (os.path.join(folder, name) for name in ("report.md", "summary.png"))
    with open(report, "w", encoding="utf-8") as f:
        f.write(text)
    balance_plot.summary(list(measured.values()), picture)
    print(text)
    print(f"report: {os.path.relpath(report, TOP)}, picture: {os.path.relpath(picture, TOP)}")
    return ok


def main(args, kernel):
    parser = by_cells.parser("balance")
    parser.add_argument("--devices", type=lambda text: text.split(","))
    parser.add_argument("--key", action="store_true")
    parser.add_argument("--destroy", action="store_true")
    parser.add_argument("--data", type=lab.size, default=4 << 30)
    parser.add_argument("--period", type=int, default=2000)
    args = parser.parse_args(args)
    if args.key and (args.quick or args.devices):
        parser.error("--key is a set of cells by itself")
    if args.devices and (not args.destroy or len(args.devices) < 2):
        parser.error("--devices takes two or more, and --destroy: what is on them is lost")
    return 0 if balance(args, kernel) else 1
