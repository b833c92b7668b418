# SPDX-License-Identifier: GPL-2.0-only
"""One cell of the policies' measurement: a load of wu-2011 chapter II on volumes of two devices, one after the other,
each new. The cell is the JSON in the third argument; see policies_cells.py. Devices are at their own speed."""

import copy
import glob
import json
import os
import sys

import files
import lab
import policies_cells
import policies_loads
import volumes

PERIOD_MS = 2000        # as it comes
DATA = 320 << 20        # the file system
MEMORY = "32M"          # for a load and its page cache
STAT = (0, 2, 4, 6)     # of a block device: reads, sectors, writes, sectors


def two_disks(cell):
    """The paper's peer."""
    twin = copy.copy(cell)
    twin.models = cell.models[1:] * 2
    return volumes.stripe(twin)


def pool(cell, words):
    """A policy's words; the pool's own are extent SIZE and, at the end, pin: the file system's metadata on the SSD."""
    other = copy.copy(cell)
    words = words.removesuffix(" pin").split()
    if "extent" in words:
        at = words.index("extent")
        other.extent = words[at + 1]
        del words[at:at + 2]
    return volumes.hybrid(other, " ".join(words))


def every_volume(cell, group, policies):
    if group == "plain":
        yield "stripe", volumes.stripe(cell)
        yield "2 disks", two_disks(cell)
        yield from volumes.single(cell)
    if group == "rivals":
        yield from volumes.caches(cell)
    for name, words in policies.items():
        yield name, pool(cell, words)


def of_pool():
    """What became of it."""
    s = lab.hybrid_status("pool")
    keys = ("share_ppm", "read_ns", "write_ns", "used")
    return dict(moved=s["migrations_completed"], not_migrated={k: n for k, n in s["not_migrated"].items() if n},
                members=[{k: m[k] for k in keys} for m in s["members"]])


def sys_folders():
    """Of a cell's devices, in their order."""
    devs = sorted(glob.glob("/dev/emudisk/d?") + glob.glob("/dev/nameless/d?"), key=os.path.basename)
    numbers = [os.stat(d).st_rdev for d in devs]
    return [f"/sys/dev/block/{os.major(n)}:{os.minor(n)}" for n in numbers]


def of_disks():
    """What each of a cell's devices has done: reads, sectors, writes, sectors."""
    out = []
    for folder in sys_folders():
        with open(folder + "/stat", encoding="ascii") as f:
            words = f.read().split()
        out.append([int(words[i]) for i in STAT])
    return out


def measure(out, cell, load, name, volume, words):
    ours = name.startswith("hybrid")
    with volume as dev, files.mounted(dev, cell.data):
        if words.endswith(" pin"):
            lab.run("hybridctl", "pin", "pool", "--ext4-metadata", "0")
        load.prepare()
        load.warm()
        cpu, before = lab.Cpu(), of_disks()
        record = load.measure()
        record["cpu"] = cpu.used()
        record["disks"] = [[b - a for a, b in zip(x, y)] for x, y in zip(before, of_disks())]
        if ours:
            record.update(of_pool())
    out.add(load.seconds(), bench="policies", cell=cell.name, device=name, **record)
    lab.say(f"# {name}: {record['iops']:.1f}/s, {record['mean_ms']:.2f} ms, CPU {100 * record['cpu']:.0f}%, "
            f"disks {record['disks']}" + (f", {record['moved']} moved, {record['not_migrated']}" if ours else ""))


def policies(out, quick):
    del quick
    said = json.loads(sys.argv[3])
    cell = volumes.Cell(said)
    out.meta["cell"] = {k: v for k, v in said.items() if k not in ("done", "wanted")}
    cell.data, cell.member, cell.period_ms = DATA, policies_cells.SIZES, PERIOD_MS
    for module in ("dm-hybrid", "emudisk", "nameless", "dm-cache-smq", "dm-writecache", "bcache"):
        lab.modprobe(module)
    if cell.boost:
        lab.modprobe("libcrc32c")
        lab.run("insmod", cell.boost)
    out.meta["absent"] = volumes.absent()
    lab.stage("dmsetup", "blockdev", "dd", "mount", "umount", "mkfs.ext2", "emuctl", "nlctl", "make-bcache",
              "hybridctl")
    files.limit_memory(MEMORY)
    load = policies_loads.LOADS[cell.kind](cell)
    for name, volume in every_volume(cell, said["group"], said["policies"]):
        if name in said["done"] or (said["wanted"] and name not in said["wanted"]):
            continue
        measure(out, cell, load, name, volume, said["policies"].get(name, ""))
        out.close()     # so that a machine that is ended has measured something


if __name__ == "__main__":
    lab.main({"policies": policies})
