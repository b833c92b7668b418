# SPDX-License-Identifier: GPL-2.0-only
"""One cell of the balance's measurement: a pair of devices, a load, a depth, a seed; every volume that a user could make
of the pair, one after the other on fresh devices. The cell is the JSON in the third argument; see balance_cells.py.

Devices are slowed down (dilate) until they and not the processor are the bottleneck, and a policy's period is as long
as the fast member takes for PERIOD requests, but no longer than the default of devices at their own speed: fewer than on
real devices, so what the policy sees is noisier. Rates and times in the records are multiplied back; what the processor
takes is not slowed down, and so counts as so many times less than it is."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time

import balance_cells
import balance_files
import balance_steps
import lab
import periods
import volumes

DATA = 64 << 20         # what is read and written of emulated devices
MEMBER = "96M"          # each of them, the metadata apart
PERIOD = 6000           # requests that the fast member serves in a period
LONGEST = 2000          # ms of it, at the devices' own speed: the default
# Periods before what is measured. Pools first copy up to half of the data, as fast as members' queues let them: less, and it
# is not the balance that is measured but the way there. So they have until their share stays, and no more than the last of
# these. Caches have until all of it was asked for ASKED times, and as often no longer than the last of theirs. In what is left
# everything is where it stays.
CACHES, CACHE_WARM, POOL_WARM, ASKED = ("cache", "writecache", "bcache", "writeboost"), (40, 120), (20, 80), 4
STANDING = 2
LOOK = 5                # periods after which it is seen whether a share stays
# What is measured are batches of so many periods.
BATCH, BATCHES = balance_cells.BATCH, {"look": 2, "split": 5, "other": 10}

LOADS = {
    "mixed4k": dict(rw="randrw", rwmixread=70, bs="4k"),
    "mixed16k": dict(rw="randrw", rwmixread=70, bs="16k"),
    "read4k": dict(rw="randread", bs="4k"),
    "read16k": dict(rw="randread", bs="16k"),
    "zipf4k": dict(rw="randrw", rwmixread=70, bs="4k", random_distribution="zipf:0.99"),
    "zipf16k": dict(rw="randrw", rwmixread=70, bs="16k", random_distribution="zipf:0.99"),
    "zipfread4k": dict(rw="randread", bs="4k", random_distribution="zipf:0.99"),
    "zipfread16k": dict(rw="randread", bs="16k", random_distribution="zipf:0.99"),
    "stream128k": dict(rw="read", bs="128k"),
}


def every_volume(cell):
    """Name, context; without the sweep of static splits."""
    yield from volumes.single(cell)
    if len(cell.models) > 2:
        yield "alone:slow-stripe", volumes.slow_stripe(cell)
    yield "stripe", volumes.stripe(cell)
    yield from volumes.pools(cell)
    yield from volumes.caches(cell)


class Fio:
    """fio on a volume of a cell."""

    def __init__(self, cell):
        self.cell, self.program = cell, lab.stage("fio")

    def fill(self, dev):
        lab.fio(self.program, {"fill": dict(filename=dev, rw="write", bs="1M", size=self.cell.data, ioengine="psync")})

    def job(self, dev, **options):
        cell = self.cell
        return {**LOADS[cell.load], **dict(filename=dev, size=cell.data, ioengine="libaio", iodepth=cell.depth,
                                           randseed=cell.seed), **options}

    def load(self, dev, **options):
        return lab.fio(self.program, {"j": self.job(dev, **options)})["j"]

    def begin(self, dev, n):
        """It goes on for so many periods, or until it is ended."""
        argv = lab.fio_argv(self.program, {"j": self.job(dev, time_based=1, runtime=f"{n * self.cell.period_ms}ms")})
        return subprocess.Popen(argv, text=True, stdout=subprocess.PIPE)

    @staticmethod
    def end(process):
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate()
        return lab.fio_said(text)["j"]

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


def extents(bytes_, cell):
    return bytes_ // lab.size(cell.extent)


class Watch:
    """What a volume has done and when, beside the load: by the sectors it has counted, which no split of a bio changes."""

    def __init__(self, dev, load):
        number = os.stat(dev).st_rdev
        self.stat = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat"
        self.bytes = lab.size(LOADS[load]["bs"].upper())
        self.first = self.requests()

    def requests(self):
        with open(self.stat, encoding="ascii") as f:
            words = f.read().split()
        return (int(words[2]) + int(words[6])) * lab.SECTOR / self.bytes

    def asked(self, data):
        """How many times each byte of @data on average."""
        return (self.requests() - self.first) * self.bytes / data

    def now(self):
        return time.monotonic(), self.requests()

    def begun(self):
        """Waits until the load has; when that was."""
        while self.requests() == self.first:
            time.sleep(0.01)
        return time.monotonic()

    def kept_to(self, job):
        """What was counted is what fio says it has done."""
        said = job["read"]["total_ios"] + job["write"]["total_ios"]
        counted = self.requests() - self.first
        if abs(counted - said) > 0.02 * said + 100:
            raise SystemExit(f"{self.stat}: {counted:.0f} requests, by fio {said}")


def sleep_until(t):
    time.sleep(max(0, t - time.monotonic()))


def at_rest():
    return balance_cells.rests([p["share"][0] for p in periods.so_far()])


def warm_up(kind, begin, period, asked):
    """Until what is measured begins, seconds; how many periods that were. @asked: how many times all there is was."""
    if kind == "hybrid":
        (least, most), ready = POOL_WARM, at_rest
    elif kind in CACHES:
        (least, most), ready = CACHE_WARM, lambda: asked() >= ASKED
    else:
        sleep_until(begin + STANDING * period)
        return STANDING
    for n in range(least, most + 1, LOOK):
        sleep_until(begin + n * period)
        if n == most or ready():
            return n
    return most


def cache_state(kind):
    """What dm-cache says of itself: hits, promotions, and how much is in it and dirty."""
    return lab.run("dmsetup", "status", "cache").strip() if kind == "cache" else None


def batches_of(watch, period, n):
    """Requests a second in each of so many."""
    begin, before = watch.now()
    out = []
    for i in range(n):
        sleep_until(begin + (i + 1) * BATCH * period)
        t, count = watch.now()
        out.append((t, count))
    rates = [(y - x) / (b - a) for (a, x), (b, y) in zip([(begin, before), *out], out)]
    return rates, (out[-1][1] - before) / (out[-1][0] - begin)


def measure(out, fio, name, volume):
    """What it does, and of a pool its share; as a machine before this one has found it, where one has."""
    if name not in fio.cell.done:
        record = measured(out, fio, name, volume)
        fio.cell.done[name] = dict(rate=record["iops"], share=record.get("share"))
        out.close()     # so that a machine that is ended has measured something
    return fio.cell.done[name]


def measured(out, fio, name, volume):
    """Its record."""
    cell, kind = fio.cell, name.split(":")[0]
    n, period, ours = BATCHES.get(kind, BATCHES["other"]), cell.period_ms / 1e3, kind == "hybrid"
    with volume as dev:
        fio.fill(dev)
        if ours:
            periods.start()
        watch = Watch(dev, cell.load)
        process = fio.begin(dev, max(POOL_WARM[1], CACHE_WARM[1]) + BATCH * n + LOOK)
        warm = warm_up(kind, watch.begun(), period, lambda: watch.asked(cell.data))
        asked, state = watch.asked(cell.data), cache_state(kind)
        early = periods.moved() if ours else 0
        cpu = lab.Cpu()
        rates, iops = batches_of(watch, period, n)
        used = cpu.used()
        more = {"members": cell.models.count(name.split(":")[1])} if name.startswith("alone:") else {}
        if ours:
            now = periods.moved()
            shares = [p["share"][0] for p in periods.stop()]
            more = dict(moved=extents(now, cell), moved_kb=(now - early) / (BATCH * n) / 1024, shares=shares,
                        share=statistics.mean(shares[-BATCH * n:]), share_sd=statistics.pstdev(shares[-BATCH * n:]))
        if state:
            more["states"] = [state, cache_state(kind)]
        watch.kept_to(fio.end(process))
    # as many are under way all the time, so what one takes follows from what is done in a second
    record = dict(device=name, iops=iops * cell.dilate, us=cell.depth / iops / cell.dilate * 1e6, cpu=used, asked=asked,
                  batches=[r * cell.dilate for r in rates], period_ms=cell.period_ms, **more)
    out.add([warm * period, BATCH * n * period], bench="balance", cell=cell.name, **record)
    lab.say(f"# {name}: {record['iops']:.0f} IOPS, {record['us']:.0f} us, CPU {100 * used:.0f}%"
            + (f", share {more['share']:.1f}%, sd {more['share_sd']:.1f}, after {warm} periods" if ours else ""))
    return record


def best_split(out, fio, share):
    """Fixed shares of the first member, about the pool's and the best of a short look at all."""
    looked = {p: measure(out, fio, f"look:{p}", volumes.split(fio.cell, p))["rate"] for p in balance_cells.LOOKED}
    seen = {}
    while (percent := balance_cells.next_split(seen, share, looked)) is not None:
        seen[percent] = measure(out, fio, f"split:{percent}", volumes.split(fio.cell, percent))["rate"]


def balance_fio(out, cell, fio):
    share = 50
    for name, volume in every_volume(cell):
        said = measure(out, fio, name, volume)
        if name == "hybrid":
            share = said["share"]
    best_split(out, fio, share)


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
    out.meta["cell"] = {k: v for k, v in said.items() if k != "done"}
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
    cell.warm_s = CACHE_WARM[0] * cell.period_ms / 1e3
    lab.say(f"# {cell.name}: a period is {cell.period_ms} ms")
    {"fio": balance_fio, "gain": gain, "step": balance_steps.run}[cell.kind](out, cell, fio)


if __name__ == "__main__":
    lab.main({"balance": balance})
