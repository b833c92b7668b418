# SPDX-License-Identifier: GPL-2.0-only
"""One cell of the balance's measurement: a pair of devices, a load, a depth, a seed; every volume that a user could make
of the pair, one after the other on fresh devices. The cell is the JSON in the third argument; see balance_cells.py.

Devices are slowed down (dilate) until they and not the processor are the bottleneck, and a policy's period is as long
as the fast member takes for PERIOD requests: fewer than on real devices, so what the policy sees is noisier. Rates and
times in the records are multiplied back."""

import contextlib
import json
import os
import re
import statistics
import sys

import lab

DATA = 64 << 20         # what is read and written of emulated devices
MEMBER = "96M"          # each of them, the metadata apart
META = "16M"
PERIOD = 6000           # requests that the fast member serves in a period
# Periods before what is measured, and then. Pools first copy up to half of the data, as fast as members' queues let
# them: less of the first, and it is not the balance that is measured but the way there.
WARM, MEASURED = {"hybrid": 80, "split": 2, "other": 15}, {"hybrid": 20, "split": 10, "other": 10}
TRACE = "/sys/kernel/tracing"

LOADS = {
    "mixed4k": dict(rw="randrw", rwmixread=70, bs="4k"),
    "mixed16k": dict(rw="randrw", rwmixread=70, bs="16k"),
    "read4k": dict(rw="randread", bs="4k"),
    "read16k": dict(rw="randread", bs="16k"),
    "zipf4k": dict(rw="randrw", rwmixread=70, bs="4k", random_distribution="zipf:1.0"),
    "stream128k": dict(rw="read", bs="128k"),
}


class Cell:
    def __init__(self, cell):
        self.models, self.dilate = cell["models"], cell["dilate"]
        self.load, self.depth, self.seed = cell["load"], cell["depth"], cell["seed"]
        self.name, self.devices = cell["name"], cell.get("devices")
        self.data, self.extent = (DATA, "64K") if not self.devices else (cell["data"], "128K")
        self.period_ms = 0


# --- volumes: each a context that gives a block device ---------------------------------------------

@contextlib.contextmanager
def disks(cell):
    if cell.devices:
        for d in cell.devices:
            lab.blank(d)
        yield cell.devices
        return
    names = []
    for i, model in enumerate(cell.models):
        lab.emudisk(f"d{i}", model, MEMBER, dilate=cell.dilate, seed=cell.seed)
        names.append(f"d{i}")
    try:
        yield [f"/dev/emudisk/{n}" for n in names]
    finally:
        for n in names:
            lab.emudisk_del(n)


@contextlib.contextmanager
def mapped(name, table):
    dev = lab.dm(name, table)
    try:
        yield dev
    finally:
        lab.dm_del(name)


@contextlib.contextmanager
def alone(cell, which):
    picked = Cell.__new__(Cell)
    picked.__dict__.update(cell.__dict__, models=[cell.models[which]],
                           devices=cell.devices and [cell.devices[which]])
    with disks(picked) as (dev,):
        yield dev


@contextlib.contextmanager
def stripe(cell):
    with disks(cell) as devs:
        n = min(map(lab.sectors, devs)) // 256 * 256
        legs = " ".join(f"{d} 0" for d in devs)
        with mapped("stripe", f"0 {len(devs) * n} striped {len(devs)} 256 {legs}") as dev:
            yield dev


@contextlib.contextmanager
def meta_disk(cell):
    """Metadata of the pool and of dm-cache: in memory for both, so that no member pays for it."""
    if cell.devices:
        path = os.path.join(lab.RAM, "meta")
        with open(path, "wb") as f:
            f.truncate(lab.size(META) + (cell.data >> 10))
        dev = lab.run("losetup", "--find", "--show", path).strip()
    else:
        dev = lab.emudisk("meta", "null", META)
    try:
        yield dev
    finally:
        if cell.devices:
            lab.run("losetup", "-d", dev)
        else:
            lab.emudisk_del("meta")


@contextlib.contextmanager
def hybrid(cell, policy):
    with meta_disk(cell) as meta, disks(cell) as devs:
        words = policy.split()
        words += ["period_ms", str(cell.period_ms), "cooldown_ms", str(5 * cell.period_ms)]
        table = lab.hybrid_table((meta, 0), [(d, 0) for d in devs], extent=cell.extent,
                                 policy=f"{words[0]} {len(words) - 1} {' '.join(words[1:])}",
                                 length=cell.data // lab.SECTOR)
        with mapped("pool", table) as dev:
            yield dev


@contextlib.contextmanager
def dm_cache(cell, mode):
    with meta_disk(cell) as meta, disks(cell) as (fast, slow):
        lab.run("dd", "if=/dev/zero", f"of={meta}", "bs=4K", "count=1", "oflag=direct")
        n = lab.sectors(slow) // 128 * 128
        with mapped("cache", f"0 {n} cache {meta} {fast} {slow} 128 1 {mode} smq 0") as dev:
            yield dev


@contextlib.contextmanager
def writecache(cell):
    with disks(cell) as (fast, slow):
        with mapped("wc", f"0 {lab.sectors(slow)} writecache s {slow} {fast} 4096 0") as dev:
            yield dev


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


@contextlib.contextmanager
def bcache(cell, mode):
    with disks(cell) as (fast, slow):
        said = lab.run("make-bcache", "--writeback", "--block", "4k", "--bucket", "128k", "-C", fast, "-B", slow)
        uuid = re.search(r"Set UUID:\s*(\S+)", said).group(1)
        for d in (fast, slow):
            put("/sys/fs/bcache/register", d)
        lab.wait_for("/dev/bcache0")
        put("/sys/block/bcache0/bcache/cache_mode", mode)
        put("/sys/block/bcache0/bcache/sequential_cutoff", "0")
        yield "/dev/bcache0"
        put("/sys/block/bcache0/bcache/stop", "1")
        lab.wait_for("/dev/bcache0", there=False)
        put(f"/sys/fs/bcache/{uuid}/stop", "1")
        lab.wait_for(f"/sys/fs/bcache/{uuid}", there=False)


def paper(cell):
    """The published gain is per ms: with devices so many times slower it is as many times less."""
    return f"wardrop preset paper alpha {10 / cell.dilate:.6f}"


def average(cell):
    return f"wardrop alpha {1 / cell.dilate:.6f}"


def volumes(cell):
    """Name, context; without the sweep of static splits."""
    for i, model in enumerate(cell.models):
        if model not in cell.models[:i]:
            yield f"alone:{model}", alone(cell, i)
    yield "stripe", stripe(cell)
    yield "hybrid", hybrid(cell, average(cell))
    yield "hybrid:marginal", hybrid(cell, "wardrop objective marginal")
    yield "hybrid:paper", hybrid(cell, paper(cell))
    if len(cell.models) == 2:
        yield "cache:writeback", dm_cache(cell, "writeback")
        yield "cache:writethrough", dm_cache(cell, "writethrough")
        yield "writecache", writecache(cell)
        yield "bcache:writeback", bcache(cell, "writeback")


# --- measuring ------------------------------------------------------------------------------------

def fill(fio, cell, dev):
    lab.fio(fio, {"fill": dict(filename=dev, rw="write", bs="1M", size=cell.data, ioengine="psync")})


def load(fio, cell, dev, warm_ms, ms):
    return lab.fio(fio, {"j": dict(
        LOADS[cell.load], filename=dev, size=cell.data, ioengine="libaio", iodepth=cell.depth, time_based=1,
        ramp_time=f"{warm_ms}ms", runtime=f"{ms}ms", randseed=cell.seed)})["j"]


def total(job):
    r, w = job["read"], job["write"]
    ios = r["total_ios"] + w["total_ios"]
    ns = r["lat_ns"]["mean"] * r["total_ios"] + w["lat_ns"]["mean"] * w["total_ios"]
    return r["iops"] + w["iops"], ns / ios if ios else 0


def tracing(on):
    with open(f"{TRACE}/events/hybrid/hybrid_period/enable", "w") as f:
        f.write("1" if on else "0")
    if on:
        with open(f"{TRACE}/trace", "w"):
            pass


def shares():
    """Percent of the requests that the first member had, by period."""
    with open(f"{TRACE}/trace") as f:
        return [int(m) / 1e4 for m in re.findall(r"hybrid_period: .*member=0 .*share=(\d+)", f.read())]


def measure(out, fio, cell, name, volume):
    kind = name.split(":")[0]
    kind = kind if kind in WARM else "other"
    with volume as dev:
        fill(fio, cell, dev)
        ours = kind == "hybrid"
        if ours:
            tracing(True)
            before = lab.hybrid_status("pool")
        cpu = lab.Cpu()
        job = load(fio, cell, dev, WARM[kind] * cell.period_ms, MEASURED[kind] * cell.period_ms)
        used = cpu.used()
        iops, ns = total(job)
        more = {"members": cell.models.count(name.split(":")[1])} if kind == "other" and "alone:" in name else {}
        if ours:
            tracing(False)
            after, steady = lab.hybrid_status("pool"), shares()
            more = dict(moved=(after["migrations_bytes"] - before["migrations_bytes"]) >> 16,
                        shares=steady, share_sd=statistics.pstdev(steady[-MEASURED[kind]:]) if steady else 0)
    record = dict(device=name, iops=iops * cell.dilate, us=ns / cell.dilate / 1e3, cpu=used, **more)
    out.add(bench="balance", cell=cell.name, **record)
    lab.say(f"# {name}: {record['iops']:.0f} IOPS, {record['us']:.0f} us, CPU {100 * used:.0f}%"
            + (f", share {steady[-1] if steady else 0:.1f}%, sd {more['share_sd']:.1f}" if ours else ""))
    return iops


def best_split(out, fio, cell):
    """Static shares of the first member: by 20 points, then by 10 and by 5 about the best."""
    seen = {}

    def at(percent):
        if percent not in seen and 0 <= percent <= 100:
            seen[percent] = measure(out, fio, cell, f"split:{percent}",
                                    hybrid(cell, f"static shares {percent},{100 - percent}"))

    for step, around in ((20, None), (10, True), (5, True)):
        for p in range(0, 101, 20) if not around else [max(seen, key=seen.get) + d for d in (-step, step)]:
            at(p)


def calibrate(fio, cell):
    """A period in ms: how long the fast member takes for PERIOD requests; of real devices 2 s."""
    if cell.devices:
        return 2000
    with alone(cell, 0) as dev:
        fill(fio, cell, dev)
        job = lab.fio(fio, {"j": dict(LOADS[cell.load], filename=dev, size=cell.data, ioengine="libaio", iodepth=cell.depth,
                                      number_ios=2 * PERIOD, io_size="4G", randseed=cell.seed)})["j"]
    return max(10, round(1000 * PERIOD / total(job)[0]))


def balance(out, quick):
    cell = Cell(json.loads(sys.argv[3]))
    fio = lab.stage("fio")
    lab.stage("dmsetup", "blockdev", "dd", "make-bcache", *([] if cell.devices else ["emuctl"]))
    for m in ("dm-hybrid", "dm-cache-smq", "dm-writecache", "bcache") + (() if cell.devices else ("emudisk",)):
        lab.modprobe(m)
    cell.period_ms = calibrate(fio, cell)
    lab.say(f"# {cell.name}: a period is {cell.period_ms} ms")
    for name, volume in volumes(cell):
        measure(out, fio, cell, name, volume)
    if len(cell.models) == 2:
        best_split(out, fio, cell)


lab.main({"balance": balance})
