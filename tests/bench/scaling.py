# SPDX-License-Identifier: GPL-2.0-only
"""What a second processor makes of memory devices: 4 KiB bios at depth 1 from one thread, and from one on each of two CPUs.

In real time, as virtual time has one processor: what else the host does is in it, so every way is measured for some
milliseconds once a round, the many rounds go through all ways in turn, and what counts is what a tenth of a way's rounds stay
below, with its interval (report.low()). Waiting for locks is
counted by the kernel's tracepoint where a lock's slow path begins, with which no lock_stat is needed."""

import os
import re

import lab
import mem2m

LOCK = "/sys/kernel/tracing/events/lock/contention_begin"
HIST = "hist:keys=flags"


def devices():
    """Name -> (way of the generator, path)."""
    lab.modprobe("evenkeel_biogen", f"area_mib={mem2m.AREA}")
    lab.modprobe("brd", "rd_nr=1", f"rd_size={mem2m.MB << 10}")
    lab.modprobe("mem2m")
    lab.wait_for("/dev/ram0")
    ram = mem2m.mem2m("ram", mem2m.MB)
    mem2m.mem2m("mapped", mem2m.MB)
    return {"nothing": ("nothing", "/dev/biogen-null"), "completes": ("block", "/dev/biogen-null"),
            "mem2m direct": ("direct", ram), "mem2m": ("block", ram),
            "mem2m .map": ("block", lab.dm("map", f"0 {mem2m.MB << 11} mem2m mapped 0")),
            "brd": ("block", "/dev/ram0"), "null_blk": ("block", lab.null_blk("memory", mem2m.MB))}


class Contention:
    """How often a lock had to be waited for since the last question. The tracepoint is switched on once: to patch the
    kernel's text while another processor runs it, hundreds of times, is what an emulated machine may hang at."""

    def __init__(self):
        self.there = os.path.isdir(LOCK)
        self.hits = 0
        if self.there:
            with open(LOCK + "/trigger", "w", encoding="ascii") as f:
                f.write(HIST)

    def taken(self):
        if not self.there:
            return None
        with open(LOCK + "/hist", encoding="ascii") as f:
            hits = int(re.search(r"Hits: (\d+)", f.read()).group(1))
        new, self.hits = hits - self.hits, hits
        return new


def measure(out, quick):
    lab.stage("dmsetup", "mem2mctl")
    devs = devices()
    rounds, count = (10, 2000) if quick else (60, 5000)
    contention = Contention()
    for name, (way, path) in devs.items():     # every page is there before it counts
        lab.generate(way, path, "write", 4096, 1, mem2m.AREA << 8)
    for n in range(rounds):
        if n % 10 == 0:
            lab.say(f"# round {n + 1} of {rounds}")
        for name, (way, path) in devs.items():
            for rw in ("read", "write"):
                for threads in (1, 2):
                    contention.taken()
                    ns = lab.generate(way, path, rw, 4096, 1, count, threads)
                    out.add(bench="scaling", device=name, rw=rw, threads=threads, round=n, ns=ns, count=count,
                            waited=contention.taken())


if __name__ == "__main__":
    lab.main({"scaling": measure})
