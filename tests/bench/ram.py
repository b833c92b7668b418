# SPDX-License-Identifier: GPL-2.0-only
"""Memory that a pool takes per mapped extent once its whole map was used."""

import mmap
import os

import lab

MKMETA = "/mnt/share/mkmeta"     # made by tests/bench/run
EXTENT = 128 << 10


def free():
    """Bytes not in use, when nothing is kept that can be dropped."""
    lab.run("sync")
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
        f.write("3")
    with open("/proc/meminfo", encoding="ascii") as f:
        return int(next(line for line in f if line.startswith("MemFree")).split()[1]) << 10


def slabs():
    """Bytes by slab cache."""
    with open("/proc/slabinfo", encoding="ascii") as f:
        rows = [line.split() for line in f.readlines()[2:]]
    return {r[0]: int(r[2]) * int(r[3]) for r in rows}


def measure(mkmeta, gib, out):
    devs = [lab.emudisk(n, "mem", f"{gib // 2 + 16}G") for n in ("m0", "m1")]
    meta = lab.emudisk("meta", "mem", "1G")
    table = lab.hybrid_table((meta, 0), [(d, 0) for d in devs], length=gib << 21,
                             # the list of hot extents is bounded, whatever is mapped: keep it out
                             policy="wardrop 2 candidates 256")
    lab.dm("pool", table)
    lab.dm_del("pool")
    lab.say("#", lab.run(mkmeta, "fill", meta).strip())
    before, slabs_before = free(), slabs()
    lab.dm("pool", table)
    activated = before - free()
    fd = os.open("/dev/mapper/pool", os.O_RDONLY | os.O_DIRECT)
    buf = mmap.mmap(-1, 4096)
    extents = (gib << 30) // EXTENT
    for le in range(0, extents, 508):       # one extent of each page of the map
        os.preadv(fd, [buf], le * EXTENT)
    os.close(fd)
    loaded = before - free()
    grown = {k: v - slabs_before.get(k, 0) for k, v in slabs().items()}
    grown = dict(sorted(grown.items(), key=lambda kv: -kv[1])[:6])
    s = lab.hybrid_status("pool")
    if s["mapped"] != extents:
        raise SystemExit(f"{s['mapped']} of {extents} extents are mapped")
    out.add(bench="ram", extents=extents, activated_bytes=activated, loaded_bytes=loaded, slabs=grown)
    lab.dm_del("pool")
    for n in ("m0", "m1", "meta"):
        lab.emudisk_del(n)


def bench(out, _quick):
    mkmeta = lab.stage(MKMETA)
    lab.stage("dmsetup")
    lab.modprobe("dm-hybrid")
    for gib in (512, 2048):     # the difference is what an extent costs, the rest is what a pool costs
        measure(mkmeta, gib, out)


lab.main({"ram": bench})
