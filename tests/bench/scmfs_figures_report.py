# SPDX-License-Identifier: GPL-2.0-only
"""Tables and targets of what tests/bench/scmfs_figures.py has measured."""

import statistics

import scmfs_figures_loads as loads
from scmfs_figures_loads import name_of

MAIL = 5                # times as fast as ext4 on DAX
AGED = 0.95             # of what a fresh one does


class Records:
    """Figures 25 to 27: MB a virtual second, (file system, way, bytes, huge pages) -> it."""

    def __init__(self, records):
        self.ns, self.faults = {}, {}
        for r in records:
            if r["what"] == "records":
                key = (r["fs"], r["way"], r["bytes"], r["huge"])
                self.ns[key] = r["ns"]
                self.faults[key] = r["faults"]
        self.fs = [f for f in loads.ALL if any(k[0] == f for k in self.ns)]
        self.sizes = sorted({k[2] for k in self.ns})

    def mbps(self, fs, way, length, huge=True):
        ns = self.ns.get((fs, way, length, huge))
        return length * 1e3 / ns if ns else None

    def over_tmpfs(self, fs, way, length, huge=True):
        one, other = self.mbps(fs, way, length, huge), self.mbps("tmpfs", way, length, huge)
        return one / other if one and other else None


def text(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def show_records(cells, table):
    for way in loads.WAYS:
        table([f"{way}, tmpfs: us, others: times its MB/s"] + [name_of(n) for n in cells.sizes],
              [["tmpfs"] + [text(cells.ns["tmpfs", way, n, True] / 1e3) for n in cells.sizes]]
              + [[fs] + [text(cells.over_tmpfs(fs, way, n)) for n in cells.sizes] for fs in cells.fs if fs != "tmpfs"])
        print()
    for way in loads.WAYS:
        if "mmap" in way:
            table([f"{way}, huge pages off: times tmpfs's MB/s"] + [name_of(n) for n in cells.sizes],
                  [[fs] + [text(cells.over_tmpfs(fs, way, n, False)) for n in cells.sizes]
                   for fs in cells.fs if fs != "tmpfs"])
            print()
    most = max(cells.sizes)
    table([f"page faults, {loads.FILE_MIB} MiB mapped"] + [w for w in loads.WAYS if "mmap" in w] + ["huge pages off"],
          [[fs] + [cells.faults.get((fs, w, most, True), "") for w in loads.WAYS if "mmap" in w]
           + [cells.faults.get((fs, "mmap write", most, False), "")] for fs in cells.fs])
    print()


def worst(cells, ways):
    """(least part of tmpfs's throughput, where)."""
    return min((cells.over_tmpfs("scmfs", way, n), f"{way} {name_of(n)}") for way in ways for n in cells.sizes)


def judge_records(cells, target):
    ok = []
    for title, ways in (("reads", ("read", "random read")), ("writes", ("new write", "write", "random write")),
                        ("mapped reads", ("mmap read", "mmap random read")),
                        ("mapped writes", ("mmap write", "mmap random write"))):
        part, where = worst(cells, ways)
        ok.append(target(f"tmpfs's MB/s over scmfs's, {title}, worst of all records ({where})", 1 / part, 1))
    return ok


# --- figures 28 and 29 -----------------------------------------------------------------------------------

def thread_ratios(records):
    """A ratio of each turn, then the median: turns are as far apart as what else the host does."""
    found = {}
    for beside in dict.fromkeys(r["beside"] for r in records):
        by = {(r["fs"], r["engine"], r["rw"], r["threads"], r["turn"]): r["mbps"] for r in records if r["beside"] == beside}
        turns = sorted({k[-1] for k in by})
        for key in dict.fromkeys(k[1:3] for k in by):
            found[(beside, *key)] = (
                {n: statistics.median(by[(beside, *key, n, t)] / by[("tmpfs", *key, n, t)] for t in turns) for n in (1, 2)},
                [statistics.median(by[(fs, *key, 2, t)] / by[(fs, *key, 1, t)] for t in turns) for fs in (beside, "tmpfs")])
    return found


def show_threads(records, table):
    table(["times tmpfs, real time", "1 thread", "2 threads", "2 over 1", "tmpfs's 2 over 1"],
          [[f"{beside}, {engine} {rw}", ratios[1], ratios[2], *gains]
           for (beside, engine, rw), (ratios, gains) in thread_ratios(records).items()])
    print()


# --- figure 30, dbench, mail -----------------------------------------------------------------------------

def rates(records):
    return {(r["fs"], r["kind"]): r["transactions"] / r["seconds"] for r in records}


def show_postmark(records, table, target):
    rate = rates(records)
    names = list(dict.fromkeys(r["fs"] for r in records))
    kinds = ("read", "write")
    table([f"postmark, {records[0]['transactions']} transactions, a second"]
          + [f"{k}: {x}" for k in kinds for x in ("all", "times tmpfs")],
          [[fs] + [x for k in kinds for x in (f"{rate[fs, k]:.0f}", text(rate[fs, k] / rate["tmpfs", k])
                                              if "tmpfs" in names else "")] for fs in names])
    print()

    return [target(f"tmpfs's postmark transactions over {fs}'s, {k} mostly", rate["tmpfs", k] / rate[fs, k], 1)
            for fs in names if fs.startswith("scmfs") and "tmpfs" in names for k in kinds]


def show_dbench(records, table):
    by = {(r["fs"], r["clients"]): r["mbps"] for r in records}
    clients = sorted({r["clients"] for r in records})
    table(["dbench, MB a virtual second"] + [f"{n} clients" for n in clients],
          [[fs] + [text(by[fs, n]) for n in clients] for fs in dict.fromkeys(r["fs"] for r in records)])
    print()


def show_mail(records, table, target):
    ns = {fs: statistics.median(r["ns"] for r in records if r["fs"] == fs) for fs in dict.fromkeys(r["fs"] for r in records)}
    table(["create, append 4K, fsync", "ns", "times scmfs"],
          [[fs, f"{x:.0f}", text(x / ns["scmfs"] if "scmfs" in ns else None)] for fs, x in ns.items()])
    print()
    if not {"scmfs", "ext4"} <= set(ns):
        return []
    return [target(f"{MAIL} times scmfs's create, append and fsync over ext4's", MAIL * ns["scmfs"] / ns["ext4"], 1)]


# --- aged ------------------------------------------------------------------------------------------------

def show_aged(records, table, target):
    looks = [r for r in records if r["what"] == "aged"]
    table(["a new file of 64 MiB", "used", "faults of 2 MiB", "faults of 4 KiB", "MiB by huge pages"],
          [[r["state"], f"{100 * r['used']:.0f}%", r["faults_2m"], r["faults_4k"], r["huge_bytes"] >> 20] for r in looks])
    print()
    ns = {(r["state"], r["way"], r["bytes"]): r["ns"] for r in records if r["what"] == "aged records"}
    keys = list(dict.fromkeys(k[1:] for k in ns))
    states = list(dict.fromkeys(k[0] for k in ns))
    table(["ns"] + states + [f"{s} over {states[0]}" for s in states[1:]],
          [[f"{way} {name_of(n)}"] + [f"{ns[s, way, n]:.0f}" for s in states]
           + [text(ns[s, way, n] / ns[states[0], way, n]) for s in states[1:]] for way, n in keys])
    print()
    ok = []
    for r in looks[1:]:
        ok.append(target(f"{r['state']}: faults of 4 KiB in a new file", r["faults_4k"], 0))
        most, where = max((ns[r["state"], *k] / ns[states[0], *k], f"{k[0]} {name_of(k[1])}") for k in keys)
        ok.append(target(f"{r['state']}: time over a fresh file system's, worst ({where})", most, 1 / AGED))
    return ok


def show_counters(records):
    for r in records:
        print("perf, " + r["fs"] + ": " + ", ".join(f"{k} {'not here' if v is None else v}" for k, v in r["values"].items()))
    print()


def of(records, *what):
    return [r for r in records if r["what"] in what]


def not_measured(records):
    """Who was measured beside nobody says nothing of a target."""
    for what, sides in (("records", ("scmfs", "tmpfs")), ("postmark", ("scmfs", "tmpfs")), ("mail", ("scmfs", "ext4"))):
        there = {r["fs"] for r in of(records, what)}
        yield from (f"{what} on {fs}" for fs in sides if there and fs not in there)


def show(records, table, target):
    ok, cells = [], Records(records)
    if "tmpfs" in cells.fs:
        show_records(cells, table)
        if "scmfs" in cells.fs:
            ok += judge_records(cells, target)
    for what, shown in (("threads", lambda some: show_threads(some, table)),
                        ("postmark", lambda some: show_postmark(some, table, target)),
                        ("dbench", lambda some: show_dbench(some, table)),
                        ("mail", lambda some: show_mail(some, table, target)),
                        ("counters", show_counters)):
        if of(records, what):
            ok += shown(of(records, what)) or []
    if of(records, "aged"):
        ok += show_aged(of(records, "aged", "aged records"), table, target)
    missing = list(not_measured(records))
    for what in missing:
        print("not measured: " + what)
    return all(ok) and not missing
