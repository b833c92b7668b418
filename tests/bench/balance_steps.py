# SPDX-License-Identifier: GPL-2.0-only
"""Step response: after a step in load, or in a device's speed, how many periods pass until a pool's share has settled.

A cell's load is one of LOADS with the step's name behind: the load runs with one depth and then with another, or with one
speed of the fast member and then with another (emuctl set dilate, live)."""

import time

import balance_cells
import lab
import periods
import volumes

BEFORE, AFTER = 80, 80      # periods
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
    for name, volume in volumes.pools(cell):
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
        record = dict(device=name, cpu=used, step_at=at, period_ms=cell.period_ms, copy=copy, moved=moved,
                      mapped_bytes=mapped * lab.size(cell.extent), series=series)
        out.add([n * cell.period_ms / 1e3 for n in (BEFORE, AFTER)], bench="balance", cell=cell.name, **record)
        said = balance_cells.settling(record)
        lab.say(f"# {name}: {said['before']:.1f}% to {said['after']:.1f}%, settled after {said['periods']} periods, "
                f"{said['own']:.1f} without the copies; CPU {100 * used:.0f}%")
