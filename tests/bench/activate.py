# SPDX-License-Identifier: GPL-2.0-only
"""Time to activate a fully mapped pool, clean and after a crash with a full journal."""

import os
import time

import lab

# More than half of the pool's logical size each; memory is only taken where something was written.
MEMBER, LENGTH = "8208G", 16 << 40
MKMETA = "/mnt/share/mkmeta"     # made by tests/bench/run


def activate(table, state, out):
    lab.run("dmsetup", "targets")       # the program's own pages are in memory
    begin = time.monotonic()
    path = lab.dm("pool", table)
    fd = os.open(path, os.O_RDONLY)
    os.pread(fd, 4096, 0)
    seconds = time.monotonic() - begin
    os.close(fd)
    s = lab.hybrid_status("pool")
    if s["mapped"] != s["logical"]:
        raise SystemExit(f"{s['mapped']} of {s['logical']} extents are mapped")
    out.add(bench="activate", state=state, seconds=seconds, extents=s["mapped"], tib=LENGTH / 2**40,
            journal_used=s["journal_used"], journal_blocks=s["journal_blocks"])
    lab.say(f"# {state}: {seconds:.3f} s; journal {s['journal_used']}/{s['journal_blocks']}")


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
        lab.dm_del("pool")
        for state, step in (("crash, journal full, one region", 1),
                            ("crash, journal full, scattered", 508 * 61 + 1)):
            said = lab.run(mkmeta, "journal", meta, step).strip()
            lab.say("#", said)
            activate(table, state, keep)
            lab.dm_del("pool")


lab.main({"activate": bench})
