# SPDX-License-Identifier: GPL-2.0-only
"""What a user could make of the devices of a cell: each volume is a context that gives a block device."""

import contextlib
import os
import re

import lab

META = "16M"
BLOCK = 128             # sectors, of dm-cache
# What comes in real time and has to keep to devices that are so many times slower: of the pool, KiB a second that it migrates
# and ms between commits; of bcache, seconds that it leaves what is dirty alone.
MIGRATE_KBPS, COMMIT_MS, WRITEBACK_DELAY = 131072, 1000, 30


class Cell:
    """What balance_cells.py says of it, and what is chosen for all of its kind."""

    def __init__(self, cell):
        self.models, self.dilate = cell["models"], cell["dilate"]
        self.kind, self.load, self.depth, self.seed = cell["kind"], cell["load"], cell["depth"], cell["seed"]
        self.name, self.devices = cell["name"], cell.get("devices")
        self.data = cell.get("data")     # how much of the volume is used
        self.member = None               # size of each emulated member, or {model: size}
        self.extent = "64K" if not self.devices else "128K"
        self.period_ms = cell.get("period_ms")
        self.step = cell.get("step")
        self.done = dict(cell.get("done", {}))   # volumes that were measured: balance_cells.done()
        self.presets = cell.get("presets", False)    # of wardrop, beside the pool as it comes
        self.words = cell.get("words", "")   # of every pool's policy
        self.warm_s = None               # for how long caches are under the load before they are measured
        self.boost = cell.get("boost")   # dm-writeboost: a file, or "modprobe"


@contextlib.contextmanager
def disks(cell):
    if cell.devices:
        for d in cell.devices:
            lab.blank(d)
        yield cell.devices
        return
    made = []
    try:
        for i, model in enumerate(cell.models):
            made.append(disk(cell, f"d{i}", model))
        yield [f"/dev/{kind}/{name}" for kind, name in made]
    finally:
        for kind, name in made:
            if kind == "nameless":
                lab.run("nlctl", "delete", name)
            else:
                lab.emudisk_del(name)


def disk(cell, name, model):
    """One of them; what kind it is, and its name. nameless: an SSD out of flash and a hybrid FTL."""
    size = cell.member[model] if isinstance(cell.member, dict) else cell.member
    if model != "nameless":
        lab.emudisk(name, model, size, dilate=cell.dilate, seed=cell.seed)
        return "emudisk", name
    lab.run("nlctl", "create", name, size, "ftl=hybrid")
    lab.wait_for(f"/dev/nameless/{name}")
    return "nameless", name


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


def striped(name, devs):
    n = min(map(lab.sectors, devs)) // 256 * 256
    legs = " ".join(f"{d} 0" for d in devs)
    return mapped(name, f"0 {len(devs) * n} striped {len(devs)} 256 {legs}")


@contextlib.contextmanager
def stripe(cell):
    with disks(cell) as devs, striped("stripe", devs) as dev:
        yield dev


@contextlib.contextmanager
def fast_and_slow(cell):
    """As a cache wants them: the other members are a stripe if there are several."""
    with disks(cell) as devs:
        if len(devs) == 2:
            yield devs
        else:
            with striped("slow", devs[1:]) as slow:
                yield devs[0], slow


@contextlib.contextmanager
def slow_stripe(cell):
    """Of all members but the fast one."""
    with fast_and_slow(cell) as (_, slow):
        yield slow


def cache_metadata(fast):
    """Bytes for dm-cache's: 4 MiB and 16 for each block that the fast device has, by its documentation; twice that."""
    return (4 << 20) + 32 * (lab.sectors(fast) // BLOCK)


@contextlib.contextmanager
def meta_disk(cell, least=0):
    """Metadata of the pool and of dm-cache: in memory for both, so that no member pays for it. @least: bytes."""
    size = max(lab.size(META) + (cell.data >> 10 if cell.devices else 0), least)
    if cell.devices:
        path = os.path.join(lab.RAM, "meta")
        with open(path, "wb") as f:
            f.truncate(size)
        dev = lab.run("losetup", "--find", "--show", path).strip()
    else:
        dev = lab.emudisk("meta", "null", f"{-(-size >> 20)}M")
    try:
        yield dev
    finally:
        if cell.devices:
            lab.run("losetup", "-d", dev)
        else:
            lab.emudisk_del("meta")


def slowed(cell):
    """Words of the pool's own times and rates, with which it is as many times slower as its members."""
    if cell.dilate == 1:
        return []
    return ["migrate_kbps", str(MIGRATE_KBPS // cell.dilate), "commit_ms", str(COMMIT_MS * cell.dilate)]


@contextlib.contextmanager
def hybrid(cell, policy):
    with meta_disk(cell) as meta, disks(cell) as devs:
        words = policy.split() + cell.words.split()
        words += ["period_ms", str(cell.period_ms), "cooldown_ms", str(5 * cell.period_ms), *slowed(cell)]
        table = lab.hybrid_table((meta, 0), [(d, 0) for d in devs], extent=cell.extent,
                                 policy=f"{words[0]} {len(words) - 1} {' '.join(words[1:])}",
                                 length=cell.data // lab.SECTOR)
        with mapped("pool", table) as dev:
            yield dev


@contextlib.contextmanager
def dm_cache(cell, mode):
    with fast_and_slow(cell) as (fast, slow), meta_disk(cell, cache_metadata(fast)) as meta:
        lab.run("dd", "if=/dev/zero", f"of={meta}", "bs=4K", "count=1", "oflag=direct")
        n = lab.sectors(slow) // BLOCK * BLOCK
        with mapped("cache", f"0 {n} cache {meta} {fast} {slow} {BLOCK} 1 {mode} smq 0") as dev:
            yield dev


@contextlib.contextmanager
def writecache(cell):
    with fast_and_slow(cell) as (fast, slow):
        with mapped("wc", f"0 {lab.sectors(slow)} writecache s {slow} {fast} 4096 0") as dev:
            yield dev


@contextlib.contextmanager
def writeboost(cell):
    with fast_and_slow(cell) as (fast, slow):
        lab.run("dd", "if=/dev/zero", f"of={fast}", "bs=4K", "count=1", "oflag=direct")
        with mapped("wb", f"0 {lab.sectors(slow)} writeboost {slow} {fast} 4 writeback_threshold 70 "
                    "read_cache_threshold 127") as dev:
            yield dev


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


@contextlib.contextmanager
def bcache_on(fast, slow, mode, bucket="128k", delay=WRITEBACK_DELAY):
    said = lab.run("make-bcache", "--writeback", "--block", "4k", "--bucket", bucket, "-C", fast, "-B", slow)
    uuid = re.search(r"Set UUID:\s*(\S+)", said).group(1)
    for d in (fast, slow):
        put("/sys/fs/bcache/register", d)
    lab.wait_for("/dev/bcache0")
    put("/sys/block/bcache0/bcache/cache_mode", mode)
    put("/sys/block/bcache0/bcache/sequential_cutoff", "0")
    put("/sys/block/bcache0/bcache/writeback_delay", str(delay))
    # It goes past a cache that takes longer than these times, which are for devices at their own speed: here they may be
    # many times slower. 0 is never.
    for way in ("read", "write"):
        put(f"/sys/fs/bcache/{uuid}/congested_{way}_threshold_us", "0")
    try:
        yield "/dev/bcache0"
    finally:
        put("/sys/block/bcache0/bcache/stop", "1")
        lab.wait_for("/dev/bcache0", there=False)
        put(f"/sys/fs/bcache/{uuid}/stop", "1")
        lab.wait_for(f"/sys/fs/bcache/{uuid}", there=False)


def writeback_delay(cell):
    """
    Half a minute as it comes. A cell may be over by then, and what writing back costs would be missing in what is measured;
    cells are the shorter the more their devices are slowed down. In whole seconds, rounded down: at 60 times it is none.
    """
    if cell.dilate > 1:
        return WRITEBACK_DELAY // cell.dilate
    return 0 if cell.warm_s is not None and cell.warm_s < 2 * WRITEBACK_DELAY else WRITEBACK_DELAY


@contextlib.contextmanager
def bcache(cell, mode):
    with fast_and_slow(cell) as (fast, slow), bcache_on(fast, slow, mode, delay=writeback_delay(cell)) as dev:
        yield dev


def caches(cell):
    """The fast member as a cache, or a log, of the others."""
    yield "cache:writeback", dm_cache(cell, "writeback")
    yield "cache:writethrough", dm_cache(cell, "writethrough")
    yield "writecache", writecache(cell)
    yield "bcache:writeback", bcache(cell, "writeback")
    if boost_loaded():
        yield "writeboost", writeboost(cell)


def paper(cell):
    """The published gain is per ms: with devices so many times slower it is as many times less."""
    return f"wardrop preset paper alpha {10 / cell.dilate:.6f}"


def average(cell):
    return f"wardrop objective average alpha {1 / cell.dilate:.6f}"


def pools(cell):
    """The pool as its policies make it."""
    yield "hybrid", hybrid(cell, "wardrop")
    if not cell.presets:
        return
    yield "hybrid:average", hybrid(cell, average(cell))
    yield "hybrid:paper", hybrid(cell, paper(cell))


def split(cell, percent):
    """So much on the first member, the rest on the others in equal parts."""
    others = len(cell.models) - 1
    rest = [(100 - percent) // others + (i < (100 - percent) % others) for i in range(others)]
    return hybrid(cell, "static shares " + ",".join(map(str, [percent, *rest])))


def single(cell):
    """The members alone, one of each model."""
    for i, model in enumerate(cell.models):
        if model not in cell.models[:i]:
            yield f"alone:{model}", alone(cell, i)


def boost_loaded():
    return os.path.isdir("/sys/module/dm_writeboost")


def absent():
    """What a cell is to have and can't: it is no part of the kernel."""
    return [] if boost_loaded() else ["writeboost"]
