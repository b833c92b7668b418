# SPDX-License-Identifier: GPL-2.0-only
"""Reports of the measurements that need no module of their own for it."""

import intervals
from balance_cells import CPU
from tables import table, target


def cost(records):
    by = {(r["device"], r["rw"]): r for r in records}
    names = list(dict.fromkeys(r["device"] for r in records))
    table(["4K, depth 1", "read us", "added", "x linear", "write us", "added", "x linear"],
          [[n] + [x for rw in ("read", "write") for x in (
              by[n, rw]["us"], by[n, rw]["added_us"], by[n, rw]["added_us"] / by["linear", rw]["added_us"])]
           for n in names])
    ok = [by["cache", "read"]["cache_misses"] == 0]
    for rw in ("read", "write"):
        h, lin, cache = (by[n, rw]["added_us"] for n in ("hybrid", "linear", "cache"))
        ok += [target(f"{rw}: hybrid's added time over dm-linear's", h / lin, 1.25),
               target(f"{rw}: hybrid's added us against dm-cache's", h, cache, strict=True)]
    return all(ok)


def activate(records):
    table(["activation", "extents", "size TiB", "load", "resume", "first read", "seconds", "journal"],
          [[r["state"], r["extents"], r["tib"], r["load"], r["resume"], r["read"], r["seconds"], f"{r['journal_used']}/{r['journal_blocks']}"]
           for r in records])
    worst = {}
    for r in records:
        worst[r["state"]] = max(r["seconds"], worst.get(r["state"], 0))
    return all([target(f"{state}: seconds to activate", s, 2) for state, s in worst.items()])


def ram(records):
    table(["mapped extents", "activated B", "whole map read B", "B / extents"],
          [[r["extents"], r["activated_bytes"], r["loaded_bytes"], r["loaded_bytes"] / r["extents"]] for r in records])
    small, large = records
    each = (large["loaded_bytes"] - small["loaded_bytes"]) / (large["extents"] - small["extents"])
    print(f"each extent {each:.2f} B, and {small['loaded_bytes'] - each * small['extents']:.0f} B for the pool")
    print("slab caches that grew: " + ", ".join(f"{k} {v}" for k, v in large["slabs"].items()))
    return target("bytes of memory per mapped extent", each, 9)


def depth(records):
    ok = []
    for pair in dict.fromkeys(r["pair"] for r in records):
        some = [r for r in records if r["pair"] == pair]
        names = list(dict.fromkeys(r["device"] for r in some))
        by = {(r["device"], r["rw"], r["bs"], r["depth"]): r for r in some}
        keys = list(dict.fromkeys((r["rw"], r["bs"], r["depth"]) for r in some))
        print(f"{pair} (times {some[0]['dilate']} slower, multiplied back; most CPU used "
              f"{100 * max(r['cpu'] for r in some):.0f}%)")
        table(["MB/s"] + names, [[f"{rw} {bs} depth {d}"] + [by[n, rw, bs, d]["mbps"] for n in names]
                                 for rw, bs, d in keys])
        ok.append(target(f"{pair}: most of the processor used, or it is not the devices that are measured",
                         max(r["cpu"] for r in some), CPU))
    return all(ok)


def low(values, part=0.1):
    """
    What a tenth of the rounds stay below, and where that is with 95%: nothing makes a round shorter than what it
    measures, and whatever else the host does makes it longer, so that means say more about that. With fewer than 36 rounds
    nothing says where it is.
    """
    return intervals.quantile(values, part)


def interval(said, digits):
    return f"{said.value:.{digits}f} " + (f"({said.low:.{digits}f} to {said.high:.{digits}f})" if said.low == said.low
                                         else "(no interval)")


def scaling(records):
    """2.00 times is as much again as one thread does; intervals are of 95%, where there are rounds enough."""
    rows = []
    for name, rw in dict.fromkeys((r["device"], r["rw"]) for r in records):
        some = [r for r in records if (r["device"], r["rw"]) == (name, rw)]
        # ns is that of a bio of one thread, while the other makes as many
        one, two = (low(r["ns"] for r in some if r["threads"] == t) for t in (1, 2))
        waited = [r["waited"] for r in some if r["threads"] == 2]
        bios = sum(2 * r["count"] for r in some if r["threads"] == 2)
        times = intervals.Interval(2 * one.value / two.value, 2 * one.low / two.high, 2 * one.high / two.low, one.n)
        rows.append([f"{name} {rw}", interval(one, 0), interval(two, 0), interval(times, 2),
                     "?" if None in waited else f"{1e6 * sum(waited) / bios:.1f}"])
    table(["4K, depth 1", "ns, 1 thread", "ns, 2 threads", "times", "waits for locks per million"], rows)
    return True
