# SPDX-License-Identifier: GPL-2.0-only
"""Loads whose accesses concentrate as section 2.1 of oe-nanri has it, scaled: a sub-LUN of 1 GB is SUBLUN here, the 24 s
between two decisions are WINDOW. Proportions of writes are table 1's; how long concentrations last, how large a part of the
accesses they have and where they go are chosen so that as much is in memory as figure 8 shows. They are not the traces."""

import random
import struct

WINDOW = 0.5            # s
SUBLUN = 2 << 20
VOLUME = 512 << 20
UNIT = 65536            # no request crosses it
REQUEST = struct.Struct("<QQII")    # of tests/bench/issue.c
SIZES = [(4096, 0.6), (8192, 0.8), (16384, 0.92), (UNIT, 1)]


def load(writes, share, life, rate=250, width=3, at_once=2, shift=0.0, seconds=25, volume=VOLUME, **more):
    """
    writes: part of the requests; share: part of them in concentrations; life: of one, windows, on average, but no less than
    three; rate: requests/s; width: of one, sub-LUNs; at_once: so many; shift: so likely it goes on to what lies above when
    it ends
    """
    return dict(rate=rate, writes=writes, share=share, life=life * WINDOW, width=width, at_once=at_once, shift=shift,
                seconds=seconds, volume=volume, **more)


# An SSD that the loads of figures 9, 12 and 13 are too much for: 8 channels and 100 times slower, some 800 requests/s.
BUSY = dict(channels=8, dilate=100)

LOADS = {
    "src1_0": load(0.8424, 0.90, 40),
    "src1_1": load(0.0091, 0.86, 25),
    "proj1": load(0.0116, 0.75, 5, width=4, at_once=1, shift=0.9),
    "proj2": load(0.4229, 0.82, 20),
    "proj4": load(0.0022, 0.78, 20),
    # Bursts on one of a few sub-LUNs, which are nearly all there is; then nearly nothing.
    "usr1": load(0.0025, 0.95, 1, rate=1000, burst=1.0 * WINDOW, pause=2.5 * WINDOW, among=4),
    "usr2": load(0.0022, 0.97, 15, shift=0.5),
    "web2": load(0.0003, 0.88, 30),
    "DBT2": load(1.0, 0.80, 30, rate=1200, seconds=15, ssd=dict(BUSY, dilate=200)),
    "VDI": load(0.2298, 0.75, 20, rate=1200, seconds=15, ssd=BUSY),
    "VDI quarter": load(0.2298, 0.70, 8, rate=500, at_once=1, volume=VOLUME // 4, seconds=15, ssd=BUSY),
    "VDI half": load(0.2298, 0.70, 8, rate=1000, at_once=2, volume=VOLUME // 2, seconds=15, ssd=BUSY),
    "VDI all": load(0.2298, 0.70, 8, rate=2000, at_once=4, seconds=15, ssd=BUSY),
}
DIVIDED = ("VDI quarter", "VDI half", "VDI all")
CALM = ("src1_0", "src1_1", "proj1", "proj2", "proj4", "usr1", "usr2", "web2")
OVERLOADED = ("DBT2", "VDI")
# Those of figure 11: also with memory of a tenth of the volume for all, and with half of what the tier would use.
LIMITED = ("src1_0", "src1_1", "proj1", "proj4", "usr2", "web2", "VDI")
QUICK = ("src1_0", "proj1", "usr1")


class Places:
    """Where the next request goes."""

    def __init__(self, spec, rng):
        self.spec, self.rng, self.end = spec, rng, spec["volume"] // SUBLUN
        self.now = [self.begin(0.0) for _ in range(spec["at_once"])]

    def begin(self, t, first=None):
        """A concentration: first sub-LUN, end."""
        last = self.end - self.spec["width"]
        if first is None:
            first = self.rng.randrange(last + 1)
        life = max(3 * WINDOW, self.rng.expovariate(1 / self.spec["life"]))
        return [min(first, last), t + life]

    def at(self, t):
        """The sub-LUN of a request."""
        rng, spec = self.rng, self.spec
        for i, (first, end) in enumerate(self.now):
            if t > end:
                goes_on = rng.random() < spec["shift"] and first + spec["width"] < self.end
                self.now[i] = self.begin(t, first + spec["width"] if goes_on else None)
        if rng.random() >= spec["share"]:
            return rng.randrange(self.end)
        return rng.choice(self.now)[0] + rng.randrange(spec["width"])


class Bursts:
    """Of usr1."""

    def __init__(self, spec, rng):
        self.spec, self.rng, self.end = spec, rng, spec["volume"] // SUBLUN
        self.first = rng.randrange(self.end - spec["among"])
        self.until, self.busy, self.there = 0.0, False, self.first

    def rate(self, t):
        if t >= self.until:
            self.busy = not self.busy
            self.until = t + self.rng.uniform(0.5, 1.5) * self.spec["burst" if self.busy else "pause"]
            self.there = self.first + self.rng.randrange(self.spec["among"])
        return self.spec["rate"] * (1 if self.busy else 0.02)

    def at(self, _t):
        return self.there if self.rng.random() < self.spec["share"] else self.rng.randrange(self.end)


def requests(name, seed):
    """(time in s, is it a write, offset, bytes), in order."""
    spec, rng, t = LOADS[name], random.Random(f"{name} {seed}"), 0.0
    places = Bursts(spec, rng) if "burst" in spec else Places(spec, rng)
    while True:
        t += rng.expovariate(places.rate(t) if "burst" in spec else spec["rate"])
        if t >= spec["seconds"]:
            return
        drawn = rng.random()
        length = next(n for n, up_to in SIZES if drawn <= up_to)
        inside = rng.randrange(SUBLUN // length) * length
        yield t, rng.random() < spec["writes"], places.at(t) * SUBLUN + inside, length


def write_requests(path, name, seed):
    """For tests/bench/issue.c, and for who counts them."""
    with open(path, "wb") as f:
        for t, write, offset, length in requests(name, seed):
            f.write(REQUEST.pack(int(t * 1e9), offset, length, write))


def part_of_few(name, seed, few=0.05):
    """Of the requests of a window those to the most accessed few of the sub-LUNs: mean over the windows."""
    spec, windows = LOADS[name], {}
    for t, _, offset, _ in requests(name, seed):
        counts = windows.setdefault(int(t / WINDOW), {})
        counts[offset // SUBLUN] = counts.get(offset // SUBLUN, 0) + 1
    most = max(1, int(few * spec["volume"] / SUBLUN))
    parts = [sum(sorted(c.values())[-most:]) / sum(c.values()) for c in windows.values()]
    return sum(parts) / len(parts)
