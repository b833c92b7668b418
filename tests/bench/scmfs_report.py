# SPDX-License-Identifier: GPL-2.0-only
"""Tables, targets and the picture of what tests/bench/scmfs.py has measured."""

import statistics

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt   # noqa: E402  pylint: disable=wrong-import-position

BOUND = {"create": 1.25, "rename": 1.25, "unlink": 1.25, "append": 1.25, "read": 1.25, "append+fsync": 1.1}
FENCES = {"create": 2, "rename": 3, "rename over": 3}
FLAT = 1.5              # times what it is for the smallest


class Cells:
    def __init__(self, records):
        self.records = records
        rounds = {}
        for r in records:
            if "fs" in r:
                rounds.setdefault((r["fs"], r["op"]), []).append(r["ns"])
        self.rounds = rounds
        self.ns = {k: statistics.median(v) for k, v in rounds.items()}
        self.fs = list(dict.fromkeys(k[0] for k in rounds))
        self.ops = list(dict.fromkeys(k[1] for k in rounds))

    def ratio(self, fs, op):
        """Over tmpfs; a durable append over its plain one, which has nothing to make durable."""
        return self.ns[fs, op] / self.ns["tmpfs", "append" if op == "append+fsync" else op]

    def of(self, tool):
        return [r for r in self.records if r["tool"] == tool]

    def series(self, what):
        """op -> (numbers, ns)."""
        found = {}
        for r in self.records:
            if what in r:
                x, y = found.setdefault(r["op"], ([], []))
                x.append(r[what])
                y.append(r["ns"])
        return found


def picture(cells, path):
    figure, axes = plt.subplots(1, 3, figsize=(17, 5.5))
    shown = [f for f in cells.fs if f != "tmpfs"]
    for i, fs in enumerate(shown):
        axes[0].bar([x + i / (len(shown) + 1) for x in range(len(BOUND))], [cells.ratio(fs, op) for op in BOUND],
                    1 / (len(shown) + 1), label=fs)
    axes[0].set_yscale("log")
    axes[0].axhline(1, color="k", linewidth=0.8)
    axes[0].set_xticks([x + 0.4 for x in range(len(BOUND))], list(BOUND), rotation=20)
    axes[0].set_ylabel("times tmpfs")
    axes[0].legend(fontsize="small")
    for axis, what, title in ((axes[1], "names", "names in a directory"), (axes[2], "extents", "extents of a file")):
        for op, (x, y) in cells.series(what).items():
            axis.semilogx(x, y, "o-", label=op)
        axis.set_ylim(bottom=0)
        axis.set_xlabel(title)
        axis.set_ylabel("ns of virtual time (instructions)")
        axis.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def show_mounts(cells, table, target):
    """Targets are scmfs's own part: struct pages are the kernel's, as for any memory. Who mounts waits for both."""
    rows, ok = [], []
    for r in cells.of("mount"):
        own = r["ms"] - r["pages_ms"]
        rows.append([f"{r['state']}, {r['size']}", r["files"], r["ms"], r["pages_ms"], own])
        bound = 50 if r["state"] == "clean" else 1000
        ok.append((f"ms to mount {r['size']} with {r['files']} files, {r['state']}, without struct pages "
                   f"({r['ms']:.2f} with them)", own, bound))
    table(["mount, ms", "files", "all", "struct pages", "the rest, scmfs"], rows)
    print()
    return [target(*x) for x in ok]


def show_growth(cells, table, target):
    ok = []
    for what in ("names", "extents"):
        series = cells.series(what)
        if not series:
            continue
        sizes = next(iter(series.values()))[0]
        table([f"ns, by {what}"] + [str(n) for n in sizes], [[op] + [f"{y:.0f}" for y in ys] for op, (_, ys) in series.items()])
        print()
        for op, (x, y) in series.items():
            ok.append(target(f"{op} with {x[-1]} {what}, over {x[0]}", y[-1] / y[0], FLAT))
    return ok


def show_operations(cells, table, target):
    table(["ns"] + cells.ops, [[fs] + [f"{cells.ns[fs, op]:.0f}" for op in cells.ops] for fs in cells.fs])
    print()
    table(["times tmpfs"] + cells.ops, [[fs] + [cells.ratio(fs, op) for op in cells.ops] for fs in cells.fs])
    spread = max(max(v) / min(v) for k, v in cells.rounds.items() if k[0] in ("tmpfs", "scmfs"))
    print(f"(the rounds of tmpfs and scmfs differ by {100 * (spread - 1):.1f}% at most)\n")
    ok = [target(f"{fs}: {op}", cells.ratio(fs, op), bound)
          for fs in ("scmfs", "scmfs pmem") for op, bound in BOUND.items()]
    print()
    table(["fences"] + [r["op"] for r in cells.of("fences")], [["scmfs"] + [float(r["fences"]) for r in cells.of("fences")]])
    print()
    return ok + [target(f"fences of {r['op']}", r["fences"], FENCES[r["op"]]) for r in cells.of("fences") if r["op"] in FENCES]


def show(records, table, target, path):
    """A part of the measurement is shown as far as it goes."""
    cells = Cells(records)
    ok = show_operations(cells, table, target) if cells.fs else []
    ok += show_mounts(cells, table, target)
    ok += show_growth(cells, table, target)
    for r in cells.of("meminfo"):
        ok.append(target("bytes of RAM per idle file, mounted", r["mounted_kib"] * 1024 / r["files"], 64))
        ok.append(target("the same with the directory's index", r["indexed_kib"] * 1024 / r["files"], 64))
    if cells.fs and cells.of("mount"):
        picture(cells, path)
        print(f"\npicture: {path}")
    return all(ok)
