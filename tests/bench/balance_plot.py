# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the balance's measurement: each cell's volumes over the best static split."""

import matplotlib
import balance_cells

matplotlib.use("svg")
import matplotlib.pyplot as plt   # noqa: E402  pylint: disable=wrong-import-position

SHOWN = ("hybrid", "hybrid:marginal", "hybrid:paper", "stripe", "cache:writeback", "cache:writethrough", "writecache", "bcache:writeback")
COLOURS = ("#1b6ca8", "#e7298a", "#7fb3d5", "#999999", "#d95f02", "#f1a340", "#7570b3", "#1b9e77")


def over_best_split(runs, device):
    """Mean and half interval over the seeds, None where the device was not measured."""
    values = []
    for records in runs:
        iops = {r["device"]: r["iops"] for r in records}
        best = max((v for k, v in iops.items() if k.startswith("split:")), default=None)
        if device in iops and best:
            values.append(iops[device] / best)
    return balance_cells.mean_and_interval(values) if values else None


def summary(measured, path):
    fig, axis = plt.subplots(figsize=(9, 1.2 + 0.75 * len(measured)))
    height = 0.8 / len(SHOWN)
    for n, (device, colour) in enumerate(zip(SHOWN, COLOURS)):
        for row, runs in enumerate(measured.values()):
            value = over_best_split(runs, device)
            if value:
                error = value[1] if value[1] == value[1] else None
                axis.barh(row + n * height, value[0], height, xerr=error, color=colour, label=device if not row else None)
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_yticks([r + 0.4 for r in range(len(measured))], ["%s\n%s, depth %d" % k for k in measured])
    axis.invert_yaxis()
    axis.set_xlabel("throughput over the best static split")
    axis.legend(loc="lower right", fontsize="small")
    fig.tight_layout()
    fig.savefig(path)
    plt.close(fig)
