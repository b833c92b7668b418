# SPDX-License-Identifier: GPL-2.0-only
"""Tables, targets and pictures of what tests/bench/scmfs_figures.py has measured."""

import os
import statistics

import matplotlib
import scmfs_figures_loads as loads
from scmfs_figures_loads import name_of

matplotlib.use("Agg")
import matplotlib.pyplot as plt   # noqa: E402  pylint: disable=wrong-import-position

MAIL = 5                # times as fast as ext4 on DAX
AGED = 0.95             # of what a fresh one does
STYLES = {"tmpfs": "k-", "ramfs": "k:", "scmfs": "b-", "ext2 brd": "r-", "ext2": "y--", "ext4": "m--", "xfs": "c--"}


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


def lines(axis, cells, way, huge=True, title=None):
    for fs in cells.fs:
        points = [(n, cells.mbps(fs, way, n, huge)) for n in cells.sizes if cells.mbps(fs, way, n, huge)]
        axis.plot(*zip(*points), STYLES[fs], label=fs)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_title(title or way)
    axis.set_xticks(cells.sizes[::2], [name_of(n) for n in cells.sizes[::2]], rotation=45)
    axis.set_xlabel("bytes of a record")
    axis.set_ylabel("MB a virtual second")
    axis.legend(fontsize="small")


def picture_of(path, draws):
    figure, axes = plt.subplots(1, len(draws), figsize=(5.5 * len(draws), 5))
    for axis, draw in zip(axes if len(draws) > 1 else [axes], draws):
        draw(axis)
    figure.tight_layout()
    figure.savefig(path, dpi=70)
    plt.close(figure)
    print(f"picture: {path}")


def draw_records(cells, folder):
    for figure, ways in (("25", ("new write", "write", "read")), ("26", ("random write", "random read"))):
        picture_of(os.path.join(folder, f"figure-{figure}.png"),
                   [lambda axis, w=way: lines(axis, cells, w) for way in ways])
    picture_of(os.path.join(folder, "figure-27.png"),
               [lambda axis, w=way, h=huge: lines(axis, cells, w, h, f"{w}, {'with' if h else 'without'} huge pages")
                for way in ("mmap read", "mmap random write") for huge in (True, False)])


# --- figures 28 and 29 -----------------------------------------------------------------------------------

def show_threads(records, table, folder):
    """A ratio of each turn, then the median: turns are as far apart as what else the host does."""
    rows, found = [], {}
    for beside in dict.fromkeys(r["beside"] for r in records):
        some = [r for r in records if r["beside"] == beside]
        by = {(r["fs"], r["engine"], r["rw"], r["threads"], r["turn"]): r["mbps"] for r in some}
        turns = sorted({r["turn"] for r in some})
        for engine, rw in dict.fromkeys((r["engine"], r["rw"]) for r in some):
            ratios = {n: statistics.median(by[beside, engine, rw, n, t] / by["tmpfs", engine, rw, n, t] for t in turns)
                      for n in (1, 2)}
            gain = {fs: statistics.median(by[fs, engine, rw, 2, t] / by[fs, engine, rw, 1, t] for t in turns)
                    for fs in (beside, "tmpfs")}
            rows.append([f"{beside}, {engine} {rw}", ratios[1], ratios[2], gain[beside], gain["tmpfs"]])
            found[beside, engine, rw] = ratios
    table(["times tmpfs, real time", "1 thread", "2 threads", "2 over 1", "tmpfs's 2 over 1"], rows)
    print()

    def draw(engine):
        def one(axis):
            for at, beside in enumerate(dict.fromkeys(k[0] for k in found)):
                bars = [found[beside, engine, rw][n] for rw in ("read", "write") for n in (1, 2)]
                axis.bar([x + at / 4 for x in range(4)], bars, 0.22, label=beside)
            axis.axhline(1, color="k", linewidth=0.8)
            axis.set_xticks([x + 0.25 for x in range(4)], [f"{rw}, {n}" for rw in ("read", "write") for n in (1, 2)])
            axis.set_title("read(), write()" if engine == "psync" else "mmap")
            axis.set_ylabel("times tmpfs, by threads")
            axis.legend(fontsize="small")
        return one
    picture_of(os.path.join(folder, "figure-28-29.png"), [draw("psync"), draw("mmap")])


# --- figure 30, dbench, mail -----------------------------------------------------------------------------

def show_postmark(records, table, target, folder):
    rate = {(r["fs"], r["kind"]): r["transactions"] / r["seconds"] for r in records}
    names = list(dict.fromkeys(r["fs"] for r in records))
    kinds = ("read", "write")
    table([f"postmark, {records[0]['transactions']} transactions, a second"]
          + [f"{k}: {x}" for k in kinds for x in ("all", "times tmpfs")],
          [[fs] + [x for k in kinds for x in (f"{rate[fs, k]:.0f}", text(rate[fs, k] / rate["tmpfs", k])
                                              if "tmpfs" in names else "")] for fs in names])
    print()

    def draw(kind):
        def one(axis):
            axis.bar(names, [rate[fs, kind] / 1e3 for fs in names])
            axis.tick_params("x", rotation=30)
            axis.set_title(f"postmark, {kind} mostly")
            axis.set_ylabel("thousand transactions a virtual second")
        return one
    picture_of(os.path.join(folder, "figure-30.png"), [draw(k) for k in kinds])
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


def show(records, table, target, folder):
    def of(*what):
        return [r for r in records if r["what"] in what]

    ok, cells = [], Records(records)
    if "tmpfs" in cells.fs:
        show_records(cells, table)
        draw_records(cells, folder)
        if "scmfs" in cells.fs:
            ok += judge_records(cells, target)
    if of("threads"):
        show_threads(of("threads"), table, folder)
    if of("postmark"):
        ok += show_postmark(of("postmark"), table, target, folder)
    if of("dbench"):
        show_dbench(of("dbench"), table)
    if of("mail"):
        ok += show_mail(of("mail"), table, target)
    if of("aged"):
        ok += show_aged(of("aged", "aged records"), table, target)
    show_counters(of("counters"))
    return all(ok)
