# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the balance's measurement: each cell's volumes over the best static split, and what steps did."""

import matplotlib
import balance_cells

matplotlib.use("Agg")
import matplotlib.pyplot as plt   # noqa: E402  pylint: disable=wrong-import-position

SHOWN = ("hybrid", "hybrid:marginal", "hybrid:paper", "stripe", "cache:writeback", "cache:writethrough", "writecache",
         "bcache:writeback", "writeboost")
COLOURS = ("#1b6ca8", "#e7298a", "#7fb3d5", "#999999", "#d95f02", "#f1a340", "#7570b3", "#1b9e77", "#66a61e")


def over_best_split(runs, device):
    """Mean and half interval over the seeds, None where the device was not measured."""
    values = []
    for records in runs:
        record, top = balance_cells.find(records, device), balance_cells.best(records, "split:")
        if record and top == top:
            values.append(balance_cells.rate(record) / top)
    return balance_cells.mean_and_interval(values) if values else None


def bars(axis, cells):
    height = 0.8 / len(SHOWN)
    labelled = set()
    for n, (device, colour) in enumerate(zip(SHOWN, COLOURS)):
        for row, (_, runs) in enumerate(cells):
            value = over_best_split(runs, device)
            if value:
                error = value[1] if value[1] == value[1] else None
                axis.barh(row + n * height, value[0], height, xerr=error, color=colour,
                          label=None if device in labelled else device)
                labelled.add(device)
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_yticks([r + 0.4 for r in range(len(cells))],
                    ["%s\n%s, depth %d" % balance_cells.title(c) for c, _ in cells])
    axis.invert_yaxis()
    axis.set_xlabel("throughput over the best static split")
    axis.legend(loc="lower right", fontsize="small")


def series(axis, cell, records):
    """The first member's share, period by period from the step."""
    for device, colour in zip(SHOWN, COLOURS):
        record = balance_cells.find(records, device)
        if record and "series" in record:
            axis.plot([(p["t"] - record["step_at"]) / (record["period_ms"] / 1e3) for p in record["series"]],
                      [p["share"][0] for p in record["series"]], color=colour, label=device, linewidth=1)
    axis.axvline(0, color="black", linewidth=0.8)
    axis.set_ylim(0, 100)
    axis.set_title("%s %s %d" % balance_cells.title(cell), fontsize="small")
    axis.set_xlabel("periods from the step")
    axis.set_ylabel("% on " + cell["models"][0])
    axis.legend(loc="lower left", fontsize="x-small")


def summary(measured, path):
    cells = [(c, runs) for c, runs in measured if c["kind"] in ("fio", "dbench", "netmix")]
    steps = [(c, runs) for c, runs in measured if c["kind"] in ("step", "transition")]
    heights = ([1.2 + 0.75 * len(cells)] if cells else []) + [2.5] * len(steps)
    if not heights:
        return
    fig, axes = plt.subplots(len(heights), figsize=(9, sum(heights)), squeeze=False,
                             gridspec_kw=dict(height_ratios=heights))
    axes = [a[0] for a in axes]
    if cells:
        bars(axes.pop(0), cells)
    for axis, (cell, runs) in zip(axes, steps):
        series(axis, cell, runs[0])
    fig.tight_layout()
    fig.savefig(path, dpi=100)
    plt.close(fig)
