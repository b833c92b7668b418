# SPDX-License-Identifier: GPL-2.0-only
"""Cells whose load is one of files: dbench, a NetApp-like mix (netmix), and that mix going from 1 to 10 processes. All on
an ext2 of the same size, with little page cache. The depth of a cell is the number of processes."""

import contextlib
import statistics

import balance_cells
import files
import lab
import periods
import volumes

DATA = 576 << 20        # the file system; 16 processes of dbench have 400 MB
MEMBER = "704M"
MEMORY = "64M"
PERIOD_MS = 2000        # as it comes
# Seconds. netmix writes little at a time, and dirty pages are written back in bursts some seconds apart: no less of it.
# Before it is measured a pool has 60 periods, and a log that takes in writes is as full as it gets: as long for all.
WARM, MEASURED = {"dbench": 30, "netmix": 120, "transition": 0}, {"dbench": 10, "netmix": 30}
BEFORE, AFTER = 24, 80  # of the transition
SPLITS = (90, 75, 50, 25)


def every_volume(cell):
    yield from volumes.single(cell)
    if len(cell.models) > 2:
        yield "alone:slow-stripe", volumes.slow_stripe(cell)
    yield "stripe", volumes.stripe(cell)
    yield from volumes.pools(cell)
    if cell.kind == "transition":
        return
    yield from volumes.caches(cell)
    for percent in SPLITS:
        yield f"split:{percent}", volumes.split(cell, percent)


@contextlib.contextmanager
def watched(name, record, after=0):
    """The periods of a pool into the record, and what it migrates in one from so many seconds on."""
    if not name.startswith(("hybrid", "split")):     # a fixed split shows what of the deviation is the load's own
        yield
        return
    periods.start()
    begin, early = lab.uptime(), periods.Later(after, periods.moved)
    yield
    moved = periods.moved() - early.result()
    series = periods.stop()
    n = len([p for p in series if p["t"] > begin + after])
    record.update(series=series, measured_periods=n, moved_kb=moved / 1024 / n if n else 0)


def dbench(cell, program, name, warm):
    program(cell.depth, warm, "--skip-cleanup")
    record, cpu = {}, lab.Cpu()
    with watched(name, record):
        record.update(program(cell.depth, MEASURED[cell.kind]))
    return dict(record, cpu=cpu.used())


def netmix(cell, program, name, warm):
    program("--setup", cell.depth, "--seed", cell.seed)
    files.sync_volume()
    record, cpu = {}, lab.Cpu()
    with watched(name, record, warm):
        said = program("--phases", f"{cell.depth}:{warm},{cell.depth}:{MEASURED[cell.kind]}", "--seed", cell.seed)
    return dict(record, cpu=cpu.used(), **said["phases"][1])


def transition(cell, program, name, warm):
    del warm
    program("--setup", cell.depth, "--seed", cell.seed)
    files.sync_volume()
    record, cpu = {}, lab.Cpu()
    begin = lab.uptime()
    with watched(name, record):
        said = program("--phases", f"1:{BEFORE},{cell.depth}:{AFTER}", "--interval", cell.period_ms / 4e3, "--seed", cell.seed)
    return dict(record, cpu=cpu.used(), step_at=begin + BEFORE, netmix_step=BEFORE, period_ms=cell.period_ms,
                netmix=said["series"], phases=said["phases"], iops=said["phases"][1]["iops"], mbps=said["phases"][1]["mbps"],
                mean_ms=said["phases"][1]["mean_ms"])


def settled_share(record):
    """While it was measured: mean and deviation of the first member's share."""
    steady = balance_cells.steady(record)
    return (statistics.mean(steady), statistics.pstdev(steady)) if steady else (0, 0)


def run(out, cell):
    if not cell.devices:
        cell.data, cell.member, cell.extent = DATA, MEMBER, "128K"
    cell.period_ms = cell.period_ms or PERIOD_MS
    cell.warm_s = WARM[cell.kind]
    files.limit_memory(MEMORY)
    lab.stage("mount", "umount", "mkfs.ext2")
    program = files.stage_dbench() if cell.kind == "dbench" else files.stage_netmix()
    load = {"dbench": dbench, "netmix": netmix, "transition": transition}[cell.kind]
    for name, volume in every_volume(cell):
        warm = WARM[cell.kind]
        if name in cell.done:
            continue
        with volume as dev, files.mounted(dev, cell.data):
            record = load(cell, program, name, warm)
        share = ""
        if "series" in record:
            record["share"], record["share_sd"] = settled_share(record)
            share = f", share {record['share']:.1f}%, sd {record['share_sd']:.1f}"
        if name.startswith("alone:"):
            record["members"] = cell.models.count(name.split(":")[1])
        out.add((BEFORE, AFTER) if cell.kind == "transition" else (warm, MEASURED[cell.kind]), bench="balance", cell=cell.name,
                device=name, **record)
        lab.say(f"# {name}: {record['mbps']:.2f} MB/s, {record['mean_ms']:.3f} ms, CPU {100 * record['cpu']:.0f}%{share}")
        out.close()
