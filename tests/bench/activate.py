# SPDX-License-Identifier: GPL-2.0-only
"""Time to activate a fully mapped pool, clean and after a crash with a full journal."""

import mmap
import os
import time

import lab

# More than half of the pool's logical size each; memory is only taken where something was written.
MEMBER, LENGTH = "8208G", 16 << 40
MKMETA = "/mnt/share/mkmeta"     # made by tests/bench/run


def activate(table, state, out):
    """The table's load and resume, and the first read, which needs a page of the map."""
    dm = lab.DmIoctl("pool")
    node = dm.create()
    t0 = time.monotonic()
    dm.load(table)
    t1 = time.monotonic()
    dm.resume()
    t2 = time.monotonic()
    fd = os.open(node, os.O_RDONLY | os.O_DIRECT)
    buf = mmap.mmap(-1, 4096)
    os.preadv(fd, [buf], 0)
    t3 = time.monotonic()
    os.close(fd)
    s = lab.hybrid_status("pool")
    if s["mapped"] != s["logical"]:
        raise SystemExit(f"{s['mapped']} of {s['logical']} extents are mapped")
    out.add(bench="activate", state=state, seconds=t3 - t0, load=t1 - t0, resume=t2 - t1, read=t3 - t2,
            extents=s["mapped"], tib=s["logical"] / 2**23, journal_used=s["journal_used"],
            journal_blocks=s["journal_blocks"])
    lab.say(f"# {state}: load {t1 - t0:.3f} s, resume {t2 - t1:.3f} s, first read {t3 - t2:.3f} s")
    dm.remove()


def bench(out, quick):
    mkmeta = lab.stage(MKMETA)
    lab.stage("dmsetup")
    lab.modprobe("dm-hybrid")
    length = LENGTH >> (6 if quick else 0)
    devs = [lab.emudisk(n, m, MEMBER) for n, m in (("ssd", "sata-ssd"), ("hdd", "hdd7200"))]
    meta = lab.emudisk("meta", "sata-ssd", "4G")
    table = lab.hybrid_table((meta, 0), [(d, 0) for d in devs], length=length // 512)
    lab.dm("pool", table)
    lab.dm_del("pool")
    lab.say("# writing the map")
    lab.say("#", lab.run(mkmeta, "fill", meta).strip())
    for r in range(3):          # the first brings programs and modules into memory
        keep = out if r else lab.Out(os.devnull)
        activate(table, "clean", keep)
        for state, step in (("crash, journal full, one region", 1),
                            ("crash, journal full, scattered", 508 * 61 + 1)):
            said = lab.run(mkmeta, "journal", meta, step).strip()
            lab.say("#", said)
            activate(table, state, keep)


lab.main({"activate": bench})
