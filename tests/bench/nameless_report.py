# SPDX-License-Identifier: GPL-2.0-only
"""Tables, targets and pictures of what tests/bench/nameless.py measured."""

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt     # noqa: E402

COMBINATIONS = [(ftl, rw) for ftl in ("page", "hybrid") for rw in ("write", "randwrite")]
NAMES = {("page", "write"): "page, sequential", ("page", "randwrite"): "page, random",
         ("hybrid", "write"): "hybrid, sequential", ("hybrid", "randwrite"): "hybrid, random"}
STYLES = {("page", "write"): "b-", ("page", "randwrite"): "b--", ("hybrid", "write"): "r-", ("hybrid", "randwrite"): "r--"}
LEAST = {("page", "write"): 17, ("page", "randwrite"): 19, ("hybrid", "write"): 19, ("hybrid", "randwrite"): 21}
KIB = {"328 MB": (328, 38), "2 GB": (2 << 10, 235), "10 GB": (10 << 10, 1.1 * 1024), "100 GB": (100 << 10, 11 << 10),
       "400 GB": (400 << 10, 46 << 10), "1 TB": (1 << 20, 118 << 10)}
PARTS = ("write", "erase", "merge_write", "merge_read", "idle_in_merge", "idle")


class Figures:
    """Axes, one a figure of the dissertation, on one picture."""

    def __init__(self, count, columns=4):
        rows = (count + columns - 1) // columns
        self.figure, axes = plt.subplots(rows, columns, figsize=(5 * columns, 4 * rows))
        self.axes = iter(axes.flat)
        self.last = None

    def axis(self, title, x, y):
        self.last = next(self.axes)
        self.last.set_title(title)
        self.last.set_xlabel(x)
        self.last.set_ylabel(y)
        return self.last

    def save(self, path):
        for rest in self.axes:
            rest.axis("off")
        self.figure.tight_layout()
        self.figure.savefig(path, dpi=70)


def of(records, what, **key):
    return [r for r in records if r["what"] == what and all(r[k] == v for k, v in key.items())]


def late(row):
    return sum(row[1:])


def at(quantiles, percent):
    return quantiles[min(len(quantiles) - 1, round(percent / 100 * (len(quantiles) - 1)))]


# --- what the emulator itself takes ------------------------------------------------------------------

def distributions(records, figures):
    for title, key, some in (("3.3: emulation time", "total", COMBINATIONS), ("3.4: data store", "store", COMBINATIONS[:1]),
                             ("3.5: model", "model", COMBINATIONS)):
        axis = figures.axis("Figure " + title, "us", "requests, %")
        for key_of in some:
            for r in of(records, "overhead", ftl=key_of[0], rw=key_of[1]):
                q = r[key]
                axis.plot([x / 1000 for x in q], [100 * i / (len(q) - 1) for i in range(len(q))], STYLES[key_of],
                          label=NAMES[key_of])
        axis.set_xscale("log")
        axis.legend(fontsize="small")


def show_overhead(records, table, target, figures):
    distributions(records, figures)
    rows, ok = [], []
    for key in COMBINATIONS:
        r = of(records, "overhead", ftl=key[0], rw=key[1])[0]
        rows.append([NAMES[key], *(at(r[k], p) / 1000 for k in ("total", "store", "model") for p in (50, 99)),
                     (r["request_ns"] - r["bio_ns"]) / 1000])
    table(["us", "T_E median", "99%", "store median", "99%", "model median", "99%", "mean T_E"], rows)
    for row in rows:
        ok.append(target(f"{row[0]}: median emulation time, us", row[1], 3))
    return ok


def show_accuracy(records, table, target, figures):
    rows, ok = [], []
    none = of(records, "no device")[0]["median_ns"] / 1000
    for number, key in zip((6, 7, 8, 9), COMBINATIONS):
        some = of(records, "accuracy", ftl=key[0], rw=key[1])
        axis = figures.axis(f"Figure 3.{number}: {NAMES[key]}", "asked for, us", "median, us")
        wanted = [r["wanted_us"] for r in some]
        axis.plot(wanted, wanted, "k:", label="target")
        axis.plot(wanted, [r["median_ns"] / 1000 for r in some], "o-", label="here")
        axis.plot(wanted, [LEAST[key] + 9 if w <= LEAST[key] else w + 9 for w in wanted], "r--", label="dissertation")
        axis.legend(fontsize="small")
        exact = [r for r in some if r["wanted_us"] >= 17]
        over = max(r["median_ns"] / 1000 - r["wanted_us"] for r in exact)
        rows.append([NAMES[key], some[0]["median_ns"] / 1000, max(r["median_ns"] / 1000 - r["wanted_us"] for r in some), over,
                     sum(late(r["late"]) for r in exact), sum(sum(r["late"]) for r in exact)])
        ok += [target(f"{NAMES[key]}: more than asked for, from 17 us on, us", over, 3),
               target(f"{NAMES[key]}: completions a microsecond late or later, from 17 us on, percent",
                      100 * rows[-1][-2] / rows[-1][-1], 0)]
    table(["us", "median of 0", "most above", "from 17 on", "late", "of"], rows)
    print(f"a device that does nothing, traced likewise: {none:.2f} us")
    return ok


def show_capability(records, table, target, figures):
    some = of(records, "capability")
    axis = figures.axis("Figure 3.10: capability", "planes", "least time of a plane's request, us")
    planes = [r["planes"] for r in some]
    axis.plot(planes, [r["least_ns"] / 1000 for r in some], "bo-", label="here")
    axis.plot(planes, [17 * p for p in planes], "r--", label="dissertation")
    axis.plot([10, 10], [214, 99], "kx", label="ssd1, ssd2")
    axis.set_yscale("log")
    axis.legend(fontsize="small")
    table(["planes", "a request, us", "least, us", "of the flash's rate at 1.3 times that"],
          [[str(r["planes"]), r["request_ns"] / 1000, r["least_ns"] / 1000, r["flash_bound"]] for r in some])
    return [target("ten planes: least time of a plane's request, us", r["least_ns"] / 1000, 170) for r in some if r["planes"] == 10]


def show_rates(records, table, target):
    rows = of(records, "rate")
    table(["65 KIOPS", "IOPS", "CPU %", "late", "of", "latest, us"],
          [[f"{r['ftl']}, by {r['by']}", f"{r['iops']:.0f}", 100 * r["cpu"], late(r["late"]), sum(r["late"]), r["late_max_ns"] / 1000] for r in rows])
    return [target(f"{r['ftl']}: late at that rate, percent", 100 * late(r["late"]) / sum(r["late"]), 0) for r in rows
            if r["by"] != "fio"]


# --- the flash -----------------------------------------------------------------------------------------

def show_parallelism(records, table, target, figures):
    some = of(records, "planes")
    for number, what, unit, per in ((11, "iops", "KIOPS", 1000), (12, "us", "ms", 1000)):
        axis = figures.axis(f"Figure 3.{number}: random writes", "planes", unit)
        for preset, color in (("ssd1", "b"), ("ssd2", "g")):
            for ftl, line in (("page", "-"), ("hybrid", "--")):
                mine = [r for r in some if r["preset"] == preset and r["ftl"] == ftl]
                axis.plot([r["planes"] for r in mine], [r[what] / per for r in mine], color + line + "o", label=f"{preset} {ftl}")
        axis.legend(fontsize="small")
    table(["random writes", "KIOPS", "ms", "CPU %", "amplified"],
          [[f"{r['preset']} {r['ftl']}, {r['planes']} planes", r["iops"] / 1000, r["us"] / 1000, 100 * r["cpu"],
            r["amplification"]] for r in some])
    rate = {(r["preset"], r["ftl"], r["planes"]): r["iops"] for r in some}
    gain = {ftl: rate["ssd1", ftl, 10] / rate["ssd1", ftl, 1] for ftl in ("page", "hybrid")}
    return [target("ssd1 page: one plane's rate times ten over that of ten planes", 10 / gain["page"], 1.15),
            target("hybrid gains less from planes: its gain over the page map's", gain["hybrid"] / gain["page"], 1, strict=True)]


def show_comparison(records, table, target, figures):
    some = of(records, "comparison")
    axis = figures.axis("Figure 3.13: writes", "", "KIOPS")
    for i, r in enumerate(some):
        axis.bar(i, r["iops"] / 1000, color={"page": "b", "hybrid": "r"}[r["ftl"]])
    axis.set_xticks(range(len(some)), [f"{r['preset']}\n{r['ftl']}\n{'seq' if r['rw'] == 'write' else 'rand'}" for r in some],
                    fontsize="x-small")
    table(["writes", "KIOPS", "amplified"], [[f"{r['preset']} {NAMES[r['ftl'], r['rw']]}", r["iops"] / 1000, r["amplification"]]
                                             for r in some])
    rate = {(r["preset"], r["ftl"], r["rw"]): r["iops"] for r in some}
    ok = []
    for preset in ("ssd1", "ssd2"):
        ok += [target(f"{preset}: sequential, page over hybrid", rate[preset, "page", "write"] / rate[preset, "hybrid", "write"], 1.1),
               target(f"{preset}: random, hybrid over page", rate[preset, "hybrid", "randwrite"] / rate[preset, "page", "randwrite"],
                      0.5)]
    return ok


def show_logs(records, table, target, figures):
    some = of(records, "log")
    percent = [r["percent"] for r in some]
    for number, parts in ((14, PARTS), (15, PARTS[:4])):
        axis = figures.axis(f"Figure 3.{number}: the planes' time", "log area, %", "%")
        below = [0] * len(some)
        for part in parts:
            share = [100 * r["shares"][part] for r in some]
            axis.bar(percent, share, 6, bottom=below, label=part.replace("_", " "))
            below = [a + b for a, b in zip(below, share)]
        axis.legend(fontsize="small")
    axis = figures.axis("Figure 3.16: random writes, hybrid", "log area, %", "KIOPS")
    axis.plot(percent, [r["iops"] / 1000 for r in some], "ro-")
    tables = {r["percent"]: r for r in of(records, "log table")}
    table(["log area", "KIOPS"] + [p.replace("_", " ") + " %" for p in PARTS],
          [[f"{r['percent']}%", r["iops"] / 1000] + [100 * r["shares"][p] for p in PARTS] for r in some])
    for p, text in ((20, "0.85"), (50, "2.03")) if tables else ():
        r = tables[p]
        print(f"4 GB, {p}% log area: {(r['block'] + r['log']) / 2**20:.2f} MB, with 4 B of a log page "
              f"{(r['block'] + r['log'] / 2) / 2**20:.2f} MB (chapter 3: {text} MB)")
    rising = all(a["iops"] < b["iops"] for a, b in zip(some, some[1:]))
    print(f"{'met' if rising else 'MISSED'}: more log area, more writes")
    writes = max(r["shares"]["write"] for r in some)
    return [rising, target("host writes' part of the planes' time at most", writes, 0.5, strict=True)]


# --- how fast, how large -------------------------------------------------------------------------------

def show_ceiling(records, table, target, per_cpu=1e6):
    by = {(r["device"], r["rw"], r["depth"]): r["ns"] for r in of(records, "ceiling")}
    ways = [(rw, depth) for rw in ("read", "randread", "write", "randwrite") for depth in (1, 32)]
    table(["ns a request"] + [f"{rw}, {depth}" for rw, depth in ways],
          [[d] + [f"{by[d, rw, depth]:.0f}" for rw, depth in ways] for d in ("nothing", "null_blk", "page", "hybrid")])
    table(["KIOPS of one CPU"] + [rw for rw, depth in ways if depth == 32],
          [[d] + [f"{per_cpu / by[d, rw, depth]:.0f}" for rw, depth in ways if depth == 32] for d in ("null_blk", "page", "hybrid")])
    return [target(f"{d}: {rw} at depth {depth}, over null_blk", by[d, rw, depth] / by["null_blk", rw, depth], 1, strict=True)
            for d in ("page", "hybrid") for rw, depth in ways if (d, rw) != ("hybrid", "randwrite")]


def show_memory(records, table, target):
    rows, ok = [], []
    for r in of(records, "memory"):
        beyond = r["taken_kib"] - r["data_kib"] - r["oob_kib"]
        rows.append([f"{r['ftl']}, {r['mib']} MiB", f"{r['taken_kib']}", f"{r['data_kib']}", f"{r['oob_kib']}", f"{beyond}",
                     f"{r['tables_kib']}", 100 * beyond / r["flash_kib"]])
        ok.append(target(f"{r['ftl']}: memory beyond the flash's, percent of it", rows[-1][-1], 1.6))
    table(["KiB", "taken", "data", "OOB", "beyond", "tables, as counted", "% of the flash"], rows)
    return ok


def show_tables(records, model, table, target):
    rows, ok = [], []
    for r in of(records, "table") + of(model, "table"):
        said = KIB[r["image"]][r["ftl"] == "hybrid"]
        formula = r["bytes"] / 4096 * 4 if r["ftl"] == "page" else r["bytes"] * (0.95 / (256 << 10) * 4 + 0.05 / 4096 * 8)
        got = (r["page"] + r["block"] + r["log"]) / 1024
        rows.append([f"{r['image']} {r['ftl']}, {r['where']}", f"{got:.0f}", f"{formula / 1024:.0f}", f"{said:.0f}",
                     f"{r['chain'] / 1024:.0f}"])
        ok.append(target(f"{rows[-1][0]}: off table 4.3, percent", 100 * abs(got / said - 1), 5))
    table(["mapping table, KB", "counted", "formula", "table 4.3", "chains beside it"], rows)
    return ok


def show_pool(records, table):
    table(["random reads, depth 32", "IOPS", "us", "shares"],
          [[r["device"], f"{r['iops']:.0f}", r["us"], " ".join(f"{s:.2f}" for s in r.get("shares", ()))] for r in of(records, "pool")])


def show_model(model, table, target):
    some = of(model, "amplification")
    table(["write amplification", "counted", "expected"],
          [[f"{r['gc']} at {100 * r['overprovisioning']:.0f}%", r["got"], r["expected"]] for r in some])
    return [target(f"{r['gc']} at {100 * r['overprovisioning']:.0f}%: off, percent", 100 * abs(r["off"]), 3) for r in some]


def show(records, model, table, target, path):
    """Of what was measured: a part of it is shown as far as it goes."""
    figures = Figures(14)
    ok = []
    for what, part in {
            "overhead": lambda: show_overhead(records, table, target, figures),
            "accuracy": lambda: show_accuracy(records, table, target, figures),
            "capability": lambda: show_capability(records, table, target, figures),
            "rate": lambda: show_rates(records, table, target),
            "parallelism": lambda: show_parallelism(records, table, target, figures),
            "comparison": lambda: show_comparison(records, table, target, figures),
            "log": lambda: show_logs(records, table, target, figures),
            "ceiling": lambda: show_ceiling(records, table, target),
            "memory": lambda: show_memory(records, table, target),
            "table": lambda: show_tables(records, model, table, target),
            "amplification": lambda: show_model(model, table, target)}.items():
        if of(records, what) or of(model, what):
            ok += part()
            print()
    if of(records, "pool"):
        show_pool(records, table)
    figures.save(path)
    print(f"\npicture: {path}")
    return all(ok)
