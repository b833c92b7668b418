# SPDX-License-Identifier: GPL-2.0-only
"""The emulated SSD and null_blk on as many processors as there are, in real time: in turns, as the host is never the same."""

import os
import statistics

import intervals
import lab
import nameless

WAYS = ("randread", "randwrite")
ROUNDS = 30
DEPTH = 32


def measure(out, quick):
    lab.stage("nlctl")
    lab.modprobe("nameless")
    lab.modprobe("evenkeel_biogen")
    null_blk = lab.null_blk("memory", 64)
    nameless.area(32)
    with nameless.Ssd("page", "64M", ftl="page", **nameless.NOTHING) as page:
        devices = {"null_blk": null_blk, "page": page.path}
        for path in devices.values():
            lab.generate("block", path, "write", nameless.PAGE, DEPTH, 8192)
        for i in range(5 if quick else ROUNDS):
            for rw in WAYS:
                for threads in range(1, os.cpu_count() + 1):
                    for name in sorted(devices, reverse=i % 2):
                        ns = lab.generate("block", devices[name], rw, nameless.PAGE, DEPTH, 8000, threads)
                        out.add(bench="cpus", device=name, rw=rw, threads=threads, round=i, iops=threads * 1e9 / ns)


def compare(records, rw, threads):
    """(null_blk's KIOPS, ours, our rate over null_blk's, and the ends of its 95% confidence interval)."""
    rate = {(r["device"], r["round"]): r["iops"] for r in records if r["rw"] == rw and r["threads"] == threads}
    over = intervals.ratio(rate["page", i] / rate["null_blk", i] for d, i in rate if d == "page")
    mid = {d: statistics.median(v for (name, _), v in rate.items() if name == d) / 1000 for d in ("null_blk", "page")}
    return mid["null_blk"], mid["page"], *over[:3]


def show(records, table, target):
    cells = sorted({(r["threads"], r["rw"]) for r in records})
    rows = [[f"{rw}, {threads} threads", *compare(records, rw, threads)] for threads, rw in cells]
    table(["KIOPS, in turns", "null_blk", "page map", "ratio", "from", "to (95%)"], rows)
    return all([target(f"{row[0]}: null_blk over the page map, at most", 1 / row[4], 1, strict=True)
                for row, (threads, _) in zip(rows, cells) if threads > 1])


if __name__ == "__main__":
    lab.main({"cpus": measure})
