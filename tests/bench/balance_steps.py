# SPDX-License-Identifier: GPL-2.0-only
"""Step response: after a step in load, or in a device's speed, how many periods pass until a pool's share has settled; and
what it does there, over fixed splits beside it in the state after the step: to stand still somewhere is not enough.

A cell's load is one of LOADS with the step's name behind: the load runs with one depth and then with another, or with one
speed of the fast member and then with another (emuctl set dilate, live)."""

import time

import balance_cells
import lab
import periods
import volumes

BEFORE, AFTER = 80, 80      # periods
THERE = 4                   # periods that a fixed split has before its last ones count
COPY = {"randread": "read", "randwrite": "write"}


def copy_bandwidth(fio, cell):
    """What members read and write of whole extents, two at a time as the pool's movers do: bytes a second."""
    out = []
    for i in range(len(cell.models)):
        with volumes.alone(cell, i) as dev:
            fio.fill(dev)
            out.append({rw: fio.load(dev, rw=rw, bs=cell.extent.lower(), iodepth=2, number_ios=400, io_size="4G")[
                way]["bw_bytes"] for rw, way in COPY.items()})
    return out


def two_depths(fio, dev, depths):
    ms = fio.cell.period_ms
    fio.load(dev, time_based=1, runtime=f"{BEFORE * ms}ms", iodepth=depths[0])
    now = time.monotonic()
    fio.load(dev, time_based=1, runtime=f"{AFTER * ms}ms", iodepth=depths[1])
    return now


def after_step(fio, dev):
    """All of it as it is after the step, from the beginning."""
    cell = fio.cell
    depth = cell.depth
    if "depths" in cell.step:
        depth = cell.step["depths"][1]
    else:
        lab.run("emuctl", "set", "d0", f"dilate={cell.dilate * cell.step['slower']}")
    fio.load(dev, time_based=1, runtime=f"{(THERE + balance_cells.FINAL + 1) * cell.period_ms}ms", iodepth=depth)


def rates(series, cell):
    return [r * cell.dilate for r in balance_cells.final_batches(series)]


def splits(out, fio, share):
    """@share: at which the pool ends."""
    cell = fio.cell
    for percent in balance_cells.splits_beside(share):
        if f"split:{percent}" in cell.done:
            continue
        with volumes.split(cell, percent) as dev:
            fio.fill(dev)
            periods.start()
            cpu = lab.Cpu()
            after_step(fio, dev)
            used = cpu.used()
            series = periods.stop()
        iops = balance_cells.final_rate(series) * cell.dilate
        seconds = [n * cell.period_ms / 1e3 for n in (THERE, balance_cells.FINAL)]
        out.add(seconds, bench="balance", cell=cell.name, device=f"split:{percent}", iops=iops, cpu=used,
                batches=rates(series, cell))
        lab.say(f"# split:{percent} after the step: {iops:.0f} IOPS; CPU {100 * used:.0f}%")
        out.close()


def two_speeds(fio, dev, slower):
    """The fast member's times become so many times longer while the load runs."""
    cell = fio.cell

    def step():
        lab.run("emuctl", "set", "d0", f"dilate={cell.dilate * slower}")
        return time.monotonic()

    later = periods.Later(BEFORE * cell.period_ms / 1e3, step)
    fio.load(dev, time_based=1, runtime=f"{(BEFORE + AFTER) * cell.period_ms}ms")
    return later.result()


def run(out, cell, fio):
    copy = copy_bandwidth(fio, cell)
    lab.say("# copies of extents, MB/s: " + ", ".join(
        f"{m} reads {c['randread'] / 1e6:.1f}, writes {c['randwrite'] / 1e6:.1f}" for m, c in zip(cell.models, copy)))
    ends = {name: said["share"] for name, said in cell.done.items()}
    for name, volume in volumes.pools(cell):
        if name in cell.done:
            continue
        with volume as dev:
            fio.fill(dev)
            periods.start()
            cpu = lab.Cpu()
            at = two_depths(fio, dev, cell.step["depths"]) if "depths" in cell.step else \
                two_speeds(fio, dev, cell.step["slower"])
            used = cpu.used()
            mapped = sum(m["used"] for m in lab.hybrid_status("pool")["members"])
            moved = periods.moved()
            series = periods.stop()
        record = dict(device=name, cpu=used, iops=balance_cells.final_rate(series) * cell.dilate,
                      batches=rates(series, cell), step_at=at, period_ms=cell.period_ms, copy=copy, moved=moved, mapped_bytes=mapped * lab.size(cell.extent),
                      series=series)
        out.add([n * cell.period_ms / 1e3 for n in (BEFORE, AFTER)], bench="balance", cell=cell.name, **record)
        said = balance_cells.settling(record)
        lab.say(f"# {name}: {said['before']:.1f}% to {said['after']:.1f}%, settled after {said['periods']} periods, "
                f"{said['own']:.1f} without the copies; {record['iops']:.0f} IOPS there; CPU {100 * used:.0f}%")
        ends[name] = said["after"]
        out.close()
    splits(out, fio, ends["hybrid"])
