# SPDX-License-Identifier: GPL-2.0-only
"""Figures 5 to 9 of wu-2011 and its tables as bars, out of the policies' records; a picture for each."""

import os

import matplotlib
import balance_cells
import policies_cells

matplotlib.use("Agg")
import matplotlib.pyplot as plt   # noqa: E402  pylint: disable=wrong-import-position

SSD, DISK = "#fdbf6f", "#bbbbbb"
COLOURS = {"alone:transcend16": SSD, "alone:memoright32": SSD, "alone:nameless": SSD, "alone:sp2504c": DISK,
           "alone:mba3073": DISK, "2 disks": "#777777", "stripe": "#222222", "hybrid:wardrop": "#1b6ca8",
           "hybrid:migration-1": "#e7298a", "hybrid:migration-2": "#984ea3", "hybrid:unified": "#7fb3d5",
           "cache:writeback": "#d95f02", "bcache:writeback": "#1b9e77", "writeboost": "#66a61e"}
SHOWN = tuple(COLOURS)


def bars(axis, groups, devices=SHOWN):
    """groups: [(label, runs)]; a bar for each volume, in proportion to the stripe: the geometric mean over the seeds."""
    over = {(d, x): policies_cells.over_seeds(runs, d, "stripe") for d in devices for x, (_, runs) in enumerate(groups)}
    devices = [d for d in devices if any(over[d, x].n for x in range(len(groups)))]
    for i, device in enumerate(devices):
        label = device
        for x in range(len(groups)):
            said = over[device, x]
            if said.n:
                axis.bar(x + 0.8 * i / len(devices), said.value, 0.8 / len(devices), color=COLOURS.get(device, f"C{i}"),
                         label=label)
                label = None        # one for all groups, the first that has this volume
    axis.axhline(1, color="black", linewidth=0.6)
    axis.set_xticks([x + 0.4 for x in range(len(groups))], [label for label, _ in groups])
    axis.set_ylabel("over dm-stripe")
    axis.legend(fontsize="x-small", ncols=4)


def curves(axis, runs, devices):
    """Response time over throughput, as SPECsfs reports it; the first seed."""
    for i, device in enumerate(devices):
        record = balance_cells.find(runs[0], device)
        if record:
            axis.plot([p["iops"] for p in record["curve"]], [p["mean_ms"] for p in record["curve"]], marker="o",
                      markersize=3, color=COLOURS.get(device, f"C{i}"), label=device)
    axis.set_xlabel("operations a second")
    axis.set_ylabel("ms")
    axis.legend(fontsize="x-small")


def writes(axis, runs, devices):
    """Figure 5(b): MiB read and written at each device while it was measured."""
    labels = {"read", "written"}
    for x, device in enumerate(devices):
        record = balance_cells.find(runs[0], device)
        for i, disk in enumerate(record["disks"] if record else []):
            for way, sectors, colour in (("read", disk[1], "#7fb3d5"), ("written", disk[3], "#d95f02")):
                axis.bar(x + 0.4 * i + (0.18 if way == "written" else 0), sectors / 2048, 0.18, color=colour,
                         label=way if way in labels else None)
                labels.discard(way)
    axis.set_xticks([x + 0.3 for x in range(len(devices))], [f"{d}\nSSD, disk" for d in devices], fontsize="x-small")
    axis.set_ylabel("MiB")
    axis.legend(fontsize="x-small")


def panels(measured):
    """{picture: [(title, function, arguments)]}, of what was measured."""
    out = {}
    for pair in policies_cells.PAIRS:
        runs = measured.get(("sfs", pair))
        if runs:
            alone = [f"alone:{m}" for m in policies_cells.PAIRS[pair]]
            out.setdefault("figure5", []).append((pair, curves, (runs, [*alone, "stripe", "hybrid:migration-1"])))
            out["figure5"].append((pair, writes, (runs, ["stripe", "hybrid:migration-1"])))
            out.setdefault("figure8", []).append((pair, curves, (runs, ["2 disks", "stripe", *policies_cells.OURS])))
            for picture, devices in (("figure6", policies_cells.DELTAS), ("figure6", policies_cells.CHUNKS),
                                     ("figure7", policies_cells.METADATA)):
                if any(balance_cells.find(runs[0], d) for d in devices):
                    out.setdefault(picture, []).append((pair, curves, (runs, ["hybrid:migration-1", *devices])))
        for picture, loads in (("figure9", policies_cells.MIXES), ("tables", ("postmark", "postmark-large"))):
            groups = [(load, measured[load, pair]) for load in loads if (load, pair) in measured]
            if groups:
                out.setdefault(picture, []).append((pair, bars, (groups,)))
    return out


def pictures(measured, folder):
    """One for each figure; their paths."""
    paths = []
    for name, drawn in panels(measured).items():
        fig, axes = plt.subplots(len(drawn), figsize=(9, 3.2 * len(drawn)), squeeze=False)
        for (title, draw, args), axis in zip(drawn, axes):
            draw(axis[0], *args)
            axis[0].set_title(title, fontsize="small")
        fig.tight_layout()
        paths.append(os.path.join(folder, name + ".png"))
        fig.savefig(paths[-1], dpi=100)
        plt.close(fig)
    return paths
