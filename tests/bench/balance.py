# SPDX-License-Identifier: GPL-2.0-only
"""One cell of the balance's measurement: a pair of devices, a load, a depth, a seed; every volume that a user could make
of the pair, one after the other on fresh devices. The cell is the JSON in the third argument; see balance_cells.py.

Devices are slowed down (dilate) until they and not the processor are the bottleneck, and a policy's period is as long
as the fast member takes for PERIOD requests, but no longer than the default of devices at their own speed: fewer than on real devices, so what the policy sees is noisier. Rates and
times in the records are multiplied back; what the processor takes is not slowed down, and so counts as so many times
less than it is."""

import json
import statistics
import sys

import balance_files
import balance_steps
import lab
import periods
import volumes

DATA = 64 << 20         # what is read and written of emulated devices
MEMBER = "96M"          # each of them, the metadata apart
PERIOD = 6000           # requests that the fast member serves in a period
LONGEST = 2000          # ms of it, at the devices' own speed: the default
# Periods before what is measured, and then. Pools first copy up to half of the data, as fast as members' queues let
# them: less of the first, and it is not the balance that is measured but the way there. Caches have as long to read what
# they keep. A fixed split has everything where it stays.
WARM, MEASURED = {"split": 2, "other": 80}, 20

LOADS = {
    "mixed4k": dict(rw="randrw", rwmixread=70, bs="4k"),
    "mixed16k": dict(rw="randrw", rwmixread=70, bs="16k"),
    "read4k": dict(rw="randread", bs="4k"),
    "read16k": dict(rw="randread", bs="16k"),
    "zipf4k": dict(rw="randrw", rwmixread=70, bs="4k", random_distribution="zipf:0.99"),
    "stream128k": dict(rw="read", bs="128k"),
}


def every_volume(cell):
    """Name, context; without the sweep of static splits."""
    yield from volumes.single(cell)
    if len(cell.models) > 2:
        yield "alone:slow-stripe", volumes.slow_stripe(cell)
    yield "stripe", volumes.stripe(cell)
    yield from volumes.pools(cell)
    yield "cache:writeback", volumes.dm_cache(cell, "writeback")
    yield "cache:writethrough", volumes.dm_cache(cell, "writethrough")
    yield "writecache", volumes.writecache(cell)
    yield "bcache:writeback", volumes.bcache(cell, "writeback")
    if volumes.boost_loaded():
        yield "writeboost", volumes.writeboost(cell)


class Fio:
    """fio on a volume of a cell."""

    def __init__(self, cell):
        self.cell, self.program = cell, lab.stage("fio")

    def fill(self, dev):
        lab.fio(self.program, {"fill": dict(filename=dev, rw="write", bs="1M", size=self.cell.data, ioengine="psync")})

    def load(self, dev, **options):
        cell = self.cell
        return lab.fio(self.program, {"j": {**LOADS[cell.load], **dict(
            filename=dev, size=cell.data, ioengine="libaio", iodepth=cell.depth, randseed=cell.seed), **options}})["j"]

    def timed(self, dev, warm, measured, **options):
        """Periods that don't count, and then."""
        ms = self.cell.period_ms
        return self.load(dev, time_based=1, ramp_time=f"{warm * ms}ms", runtime=f"{measured * ms}ms", **options)

    def calibrate(self):
        """A period in ms: how long the fast member takes for PERIOD requests."""
        with volumes.alone(self.cell, 0) as dev:
            self.fill(dev)
            return period_ms(total(self.load(dev, number_ios=2 * PERIOD, io_size="4G"))[0], self.cell.dilate)


def period_ms(iops, dilate):
    """@iops: the fast member's, slowed down."""
    return min(LONGEST * dilate, max(10, round(1000 * PERIOD / iops)))


def total(job):
    r, w = job["read"], job["write"]
    ios = r["total_ios"] + w["total_ios"]
    ns = r["lat_ns"]["mean"] * r["total_ios"] + w["lat_ns"]["mean"] * w["total_ios"]
    return r["iops"] + w["iops"], ns / ios if ios else 0


def measure(out, fio, name, volume):
    cell = fio.cell
    kind = name.split(":")[0]
    warm = WARM.get(kind, WARM["other"])
    with volume as dev:
        fio.fill(dev)
        ours = kind == "hybrid"
        if ours:
            periods.start()
            late = periods.Later(warm * cell.period_ms / 1e3, periods.moved)
        cpu = lab.Cpu()
        job = fio.timed(dev, warm, MEASURED)
        used = cpu.used()
        iops, ns = total(job)
        more = {"members": cell.models.count(name.split(":")[1])} if name.startswith("alone:") else {}
        if ours:
            now = periods.moved()
            steady = [p["share"][0] for p in periods.stop()]
            more = dict(moved=now >> 16, moved_kb=(now - late.result()) / MEASURED / 1024, shares=steady,
                        share_sd=statistics.pstdev(steady[-MEASURED:]) if steady else 0)
    record = dict(device=name, iops=iops * cell.dilate, us=ns / cell.dilate / 1e3, cpu=used, **more)
    seconds = [n * cell.period_ms / 1e3 for n in (warm, MEASURED)]
    out.add(seconds, bench="balance", cell=cell.name, **record)
    lab.say(f"# {name}: {record['iops']:.0f} IOPS, {record['us']:.0f} us, CPU {100 * used:.0f}%"
            + (f", share {steady[-1] if steady else 0:.1f}%, sd {more['share_sd']:.1f}" if ours else ""))
    return iops


def best_split(out, fio):
    """Static shares of the first member: by 20 points, then by 10 and by 5 about the best."""
    seen = {}

    def at(percent):
        if percent not in seen and 0 <= percent <= 100:
            seen[percent] = measure(out, fio, f"split:{percent}", volumes.split(fio.cell, percent))

    for step, around in ((20, None), (10, True), (5, True)):
        for p in range(0, 101, 20) if not around else [max(seen, key=seen.get) + d for d in (-step, step)]:
            at(p)


def balance_fio(out, cell, fio):
    for name, volume in every_volume(cell):
        measure(out, fio, name, volume)
    best_split(out, fio)


def gain(out, cell, fio):
    """Sensitivity to alpha and beta: the default's other parameters, and the published ones."""
    for alpha in (0.1, 1, 10):
        for beta in (100, 1000, 5000):
            words = f"objective average alpha {alpha / cell.dilate:.6f} beta {beta}"
            measure(out, fio, f"hybrid:gain:{alpha:g}:{beta}", volumes.hybrid(cell, f"wardrop {words}"))
    for percent in (80, 90, 95):
        measure(out, fio, f"split:{percent}", volumes.split(cell, percent))


def load_modules(cell):
    names = ["dm-hybrid", "dm-cache-smq", "dm-writecache", "bcache"] + ([] if cell.devices else ["emudisk"])
    for m in names:
        lab.modprobe(m)
    if cell.boost == "modprobe":
        lab.modprobe("dm-writeboost")
    elif cell.boost:
        lab.modprobe("libcrc32c")
        lab.run("insmod", cell.boost)


def balance(out, quick):
    del quick
    said = json.loads(sys.argv[3])
    cell = volumes.Cell(said)
    out.meta["cell"] = said
    lab.stage("dmsetup", "blockdev", "dd", "make-bcache", *([] if cell.devices else ["emuctl"]))
    load_modules(cell)
    out.meta["absent"] = volumes.absent()
    if cell.kind in ("dbench", "netmix", "transition"):
        balance_files.run(out, cell)
        return
    if not cell.devices:
        cell.data, cell.member = DATA, MEMBER
    fio = Fio(cell)
    cell.period_ms = cell.period_ms or fio.calibrate()
    cell.warm_s = WARM["other"] * cell.period_ms / 1e3
    lab.say(f"# {cell.name}: a period is {cell.period_ms} ms")
    {"fio": balance_fio, "gain": gain, "step": balance_steps.run}[cell.kind](out, cell, fio)


if __name__ == "__main__":
    lab.main({"balance": balance})
