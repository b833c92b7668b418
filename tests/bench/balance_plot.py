# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the balance's measurement: each cell's volumes over the best static split, and what steps did."""

import matplotlib
import balance_cells
import intervals

matplotlib.use("Agg")
import matplotlib.pyplot as plt   # noqa: E402  pylint: disable=wrong-import-position

SHOWN = ("hybrid", "hybrid:average", "hybrid:paper", "stripe", "cache:writeback", "cache:writethrough", "writecache",
         "bcache:writeback", "writeboost")
COLOURS = ("#1b6ca8", "#e7298a", "#7fb3d5", "#999999", "#d95f02", "#f1a340", "#7570b3", "#1b9e77", "#66a61e")


def over_best_split(runs, device):
    """Geometric mean over the seeds with its interval, None where the device was not measured."""
    values = []
    for records in runs:
        record, top = balance_cells.find(records, device), balance_cells.best(records, "split:")
        if record and top == top:
            values.append(balance_cells.rate(record) / top)
    return intervals.ratio(values) if values else None


def bars(axis, cells):
    height = 0.8 / len(SHOWN)
    labelled = set()
    for n, (device, colour) in enumerate(zip(SHOWN, COLOURS)):
        for row, (_, runs) in enumerate(cells):
            value = over_best_split(runs, device)
            if value:
                error = [[value.value - value.low], [value.high - value.value]] if value.n > 1 else None
                axis.barh(row + n * height, value.value, height, xerr=error, color=colour,
                          label=None if device in labelled else device)
                labelled.add(device)
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_yticks([r + 0.4 for r in range(len(cells))],
                    ["%s\n%s, depth %d" % balance_cells.title(c) for c, _ in cells])
    axis.invert_yaxis()
    axis.set_xlabel("throughput over the best static split")
    axis.legend(loc="lower right", fontsize="small")


def dress(axis, cell, ylabel):
    axis.axvline(0, color="black", linewidth=0.8)
    axis.set_title("%s %s %d" % balance_cells.title(cell), fontsize="small")
    axis.set_xlabel("periods from the step")
    axis.set_ylabel(ylabel)
    axis.legend(loc="upper left", fontsize="x-small")


def since_step(record, times):
    return [(t - record["step_at"]) / (record["period_ms"] / 1e3) for t in times]


def share_series(axis, cell, records):
    """The first member's share, period by period."""
    for device, colour in zip(SHOWN, COLOURS):
        record = balance_cells.find(records, device)
        if record and "series" in record:
            axis.plot(since_step(record, [p["t"] for p in record["series"]]), [p["share"][0] for p in record["series"]],
                      color=colour, label=device, linewidth=1)
    axis.set_ylim(0, 100)
    dress(axis, cell, "% on " + cell["models"][0])


def rate_series(axis, cell, records):
    """MB/s of netmix on each volume."""
    for record in records:
        width = 1.5 if record["device"].startswith("hybrid") else 0.7
        axis.plot([(p["t"] - record["netmix_step"]) / (record["period_ms"] / 1e3) for p in record["netmix"]],
                  [p["mbps"] for p in record["netmix"]], label=record["device"], linewidth=width)
    dress(axis, cell, "MB/s")


def latency_series(axis, cell, records):
    """Mean time of a request at each member of the pool as it comes."""
    record = balance_cells.find(records, "hybrid")
    for i, model in enumerate(cell["models"]):
        axis.plot(since_step(record, [p["t"] for p in record["series"]]), [p["us"][i] / 1e3 for p in record["series"]],
                  label=f"{model} {i}", linewidth=1)
    dress(axis, cell, "hybrid: ms at member")


def panels(measured):
    """What is drawn: height, function, its arguments."""
    cells = [(c, runs) for c, runs in measured if c["kind"] in ("fio", "dbench", "netmix")]
    if cells:
        yield 1.2 + 0.75 * len(cells), bars, (cells,)
    for cell, runs in measured:
        if cell["kind"] in ("step", "transition"):
            yield 2.5, share_series, (cell, runs[0])
        if cell["kind"] == "transition":
            yield 2.5, rate_series, (cell, runs[0])
            yield 2.5, latency_series, (cell, runs[0])


def summary(measured, path):
    drawn = list(panels(measured))
    if not drawn:
        return
    heights = [height for height, _, _ in drawn]
    fig, axes = plt.subplots(len(drawn), figsize=(9, sum(heights)), squeeze=False, gridspec_kw=dict(height_ratios=heights))
    for (_, draw, args), axis in zip(drawn, axes):
        draw(axis[0], *args)
    fig.tight_layout()
    fig.savefig(path, dpi=100)
    plt.close(fig)
