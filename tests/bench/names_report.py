# SPDX-License-Identifier: GPL-2.0-only
"""Tables and targets of what tests/bench/names.py measured."""

import names_loads as loads

PARTS = ("write", "erase", "merge_write", "merge_read", "idle_in_merge", "idle")
PAGE_MIB = 256                  # pages of a MiB
MOVED_BYTES = 40                # an entry of the table of migrations
# of the dissertation: KB of the page map, the hybrid one, the nameless one
TABLE_4_3 = {"328 MB": (328, 38, 2.7), "2 GB": (2048, 235, 12), "10 GB": (10240, 1126, 31), "100 GB": (102400, 11264, 251)}
LEAST_OF_PAGE = 0.95            # of the page map's random writes
TIMES_HYBRID = 10
PART_OF_HYBRID = 1 / 40         # of its mapping table
WEAR_PERCENT = 9
RECOVERY = 6                    # seconds


def of(records, what, **key):
    return [r for r in records if r["what"] == what and all(r.get(k) == v for k, v in key.items())]


def by(records, *keys):
    return {tuple(r[k] for k in keys): r for r in records}


def show_writes(records, table, target):
    rate = by(of(records, "writes"), "ftl", "rw")
    table(["figure 4.3", "IOPS", "MB/s", "amplified", "disturbed"],
          [[f"{ftl}, {'sequential' if rw == 'write' else 'random'}", f"{r['iops']:.0f}", r["iops"] * 4096 / 1e6, r["amplification"],
            r["disturbed"]] for (ftl, rw), r in rate.items()])
    random = {ftl: r["iops"] for (ftl, rw), r in rate.items() if rw == "randwrite"}
    if not {"page", "hybrid", "nameless"} <= set(random):
        return []
    return [target("random writes: page over nameless", random["page"] / random["nameless"], 1 / LEAST_OF_PAGE),
            target(f"random writes: {TIMES_HYBRID} times hybrid over nameless", TIMES_HYBRID * random["hybrid"] / random["nameless"], 1)]


def show_ranges(records, table):
    some = of(records, "range")
    table(["figures 4.4 to 4.6", "IOPS", "amplified", "moved, of writes"] + [f"{p.replace('_', ' ')} %" for p in PARTS],
          [[f"{r['ftl']}, {r['mib'] * loads.SCALE} MB", f"{r['iops']:.0f}", r["amplification"], r["moved"] / r["count"]]
           + [100 * r["shares"][p] for p in PARTS] for r in some])


def show_sync(records, table):
    some = by(of(records, "sync"), "ftl", "depth")
    ftls = list(dict.fromkeys(ftl for ftl, _ in some))
    depths = sorted({depth for _, depth in some})
    table(["figure 4.7: us a write"] + [str(n) for n in depths], [[ftl] + [some[ftl, n]["us"] for n in depths] for ftl in ftls])


def show_mixes(records, table):
    some = by(of(records, "mix"), "mix", "ftl")
    ftls = list(dict.fromkeys(ftl for _, ftl in some))
    table(["figure 4.2: IOPS"] + ftls,
          [[mix] + [f"{some[mix, ftl]['iops']:.0f}" if (mix, ftl) in some else "" for ftl in ftls] for mix in loads.MIXES])


def show_wear(records, table, target):
    some = by(of(records, "wear"), "load", "ftl")
    table(["figures 4.8, 4.9, table 4.4", "IOPS", "migrated MB", "GC MB", "erases", "told", "pointers KB", "most waiting, KB", "bad"],
          [[f"{load}, {ftl}", f"{r['iops']:.0f}", r["wear"] / PAGE_MIB, r["gc"] / PAGE_MIB, r["erases"], r["told"], r["pointers"] * 4,
            r["most"] * MOVED_BYTES / 1024, r["bad"]] for (load, ftl), r in some.items()])
    return [target(f"{load}: nameless below page, percent", overhead(some[load, "page"], some[load, "nameless"]), WEAR_PERCENT)
            for load in loads.HOT if {(load, "page"), (load, "nameless")} <= set(some)]


def overhead(page, nameless):
    """Percent of the page map's throughput that is missing."""
    return 100 * (1 - nameless["iops"] / page["iops"])


def show_tables(records, table, target):
    some = of(records, "table")
    rows, ok = [], []
    for image in dict.fromkeys(r["image"] for r in some):
        plain = {r["ftl"]: r["bytes"] for r in some if r["image"] == image and r["ftl"] != "nameless"}
        for r in of(some, "table", image=image, ftl="nameless"):
            rows.append([f"{image}, {r['how']}", r["files"], r["metadata"], plain["page"] / 1024, plain["hybrid"] / 1024,
                         r["bytes"] / 1024, plain["hybrid"] / r["bytes"], r["validity"] / 1024])
            if image.startswith("100 GB") and r["how"] == "dense":
                ok.append(target(f"{image}: nameless table, of hybrid's", r["bytes"] / plain["hybrid"], PART_OF_HYBRID))
    table(["table 4.3: KB", "files", "metadata pages", "page", "hybrid", "nameless", "hybrid's over it", "bits of validity"], rows)
    return ok


def show_recovery(records, table, target):
    some = of(records, "recovery")
    table(["recovery, after writes without pointers", "blocks", "scan, s", "client and its waiting, s", "all, s", "blocks of pointers wrong"],
          [[str(r["writes"]), r["blocks"], r["scan_ns"] / 1e9, r["client_ns"] / 1e9, r["total_ns"] / 1e9, r["wrong"]] for r in some])
    most = max(r["total_ns"] for r in some) / 1e9
    return [target("recovery of 4 GB, in proportion, s", most * 4096 / loads.RECOVERY[0], RECOVERY)]


def show(records, table, target):
    ok = []
    for what, part in (("mix", lambda: show_mixes(records, table)), ("writes", lambda: show_writes(records, table, target)),
                       ("range", lambda: show_ranges(records, table)), ("sync", lambda: show_sync(records, table)),
                       ("wear", lambda: show_wear(records, table, target)), ("table", lambda: show_tables(records, table, target)),
                       ("recovery", lambda: show_recovery(records, table, target))):
        if of(records, what):
            ok += part() or []
            print()
    return all(ok)
