# SPDX-License-Identifier: GPL-2.0-only
"""A picture of figures 4.2 to 4.9 of zhang-2013."""

import names_loads as loads
from names_report import PAGE_MIB, PARTS, by, of
from nameless_report import Figures

COLOURS = {"page": "tab:blue", "nameless": "tab:green", "hybrid": "tab:red", "checked": "tab:olive", "pointers": "tab:cyan",
           "late": "tab:olive"}


def legend(axis, size="small"):
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=size)


def bars(axis, groups, values):
    """@values: {(group, FTL): number}."""
    ftls = [f for f in COLOURS if any(ftl == f for _, ftl in values)]
    width = 0.8 / max(1, len(ftls))
    for i, ftl in enumerate(ftls):
        axis.bar([n + i * width for n in range(len(groups))], [values.get((g, ftl), 0) for g in groups], width,
                 color=COLOURS[ftl], label=ftl)
    axis.set_xticks([n + 0.4 - width / 2 for n in range(len(groups))], groups)
    legend(axis)


def lines(axis, some, x, y):
    for ftl in dict.fromkeys(r["ftl"] for r in some):
        own = sorted((r for r in some if r["ftl"] == ftl), key=x)
        axis.plot([x(r) for r in own], [y(r) for r in own], "o-", color=COLOURS[ftl], label=ftl)
    legend(axis)


def utilisation(figures, some):
    for ftl in loads.FTLS:
        own = sorted((r for r in some if r["ftl"] == ftl), key=lambda r: r["mib"])
        axis = figures.axis(f"Figure 4.6: {ftl}", "range, MB of 4096", "the planes' time, %")
        below = [0] * len(own)
        for part in PARTS:
            share = [100 * r["shares"][part] for r in own]
            axis.bar(range(len(own)), share, 0.8, bottom=below, label=part.replace("_", " "))
            below = [a + b for a, b in zip(below, share)]
        axis.set_xticks(range(len(own)), [r["mib"] * loads.SCALE for r in own])
        legend(axis, "x-small")


def draw(records, path):
    figures = Figures(10, columns=5)
    axis = figures.axis("Figure 4.2: random writes and reads", "", "KIOPS")
    bars(axis, list(loads.MIXES), {(r["mix"], r["ftl"]): r["iops"] / 1000 for r in of(records, "mix")})
    names = {"write": "sequential", "randwrite": "random"}
    axis = figures.axis("Figure 4.3: writes", "", "KIOPS")
    bars(axis, list(names.values()), {(names[r["rw"]], r["ftl"]): r["iops"] / 1000 for r in of(records, "writes")})
    some = of(records, "range")
    lines(figures.axis("Figure 4.4: random writes", "range, MB of 4096", "KIOPS"), some, lambda r: r["mib"] * loads.SCALE,
          lambda r: r["iops"] / 1000)
    axis = figures.axis("Figure 4.5: moved for each write", "range, MB of 4096", "pages")
    lines(axis, some, lambda r: r["mib"] * loads.SCALE, lambda r: r["moved"] / r["count"])
    axis.set_yscale("symlog", linthresh=0.1)
    utilisation(figures, some)
    axis = figures.axis("Figure 4.7: synchronous random writes", "writes before each sync", "us a write")
    lines(axis, of(records, "sync"), lambda r: r["depth"], lambda r: r["us"])
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    wear = by(of(records, "wear"), "load", "ftl")
    axis = figures.axis("Figure 4.8: writes with wear leveling", "", "KIOPS")
    bars(axis, list(loads.HOT), {key: r["iops"] / 1000 for key, r in wear.items()})
    axis = figures.axis("Figure 4.9: migrated by wear leveling", "", "MB")
    bars(axis, list(loads.HOT), {key: r["wear"] / PAGE_MIB for key, r in wear.items()})
    figures.save(path)
