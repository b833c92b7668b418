# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of what tests/bench/scmfs_figures.py has measured, one a figure."""

import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt   # noqa: E402  pylint: disable=wrong-import-position

from scmfs_figures_loads import name_of   # noqa: E402  pylint: disable=wrong-import-position
from scmfs_figures_report import Records, of, rates, thread_ratios   # noqa: E402  pylint: disable=wrong-import-position

STYLES = {"tmpfs": "k-", "ramfs": "k:", "scmfs": "b-", "ext2 brd": "r-", "ext2": "y--", "ext4": "m--", "xfs": "c--"}


def lines(axis, cells, way, huge=True, title=None):
    for fs in cells.fs:
        points = [(n, cells.mbps(fs, way, n, huge)) for n in cells.sizes if cells.mbps(fs, way, n, huge)]
        if points:
            axis.plot(*zip(*points), STYLES[fs], label=fs)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_title(title or way)
    axis.set_xticks(cells.sizes[::2], [name_of(n) for n in cells.sizes[::2]], rotation=45)
    axis.set_xlabel("bytes of a record")
    axis.set_ylabel("MB a virtual second")
    axis.legend(fontsize="small")


def picture(path, draws):
    figure, axes = plt.subplots(1, len(draws), figsize=(5.5 * len(draws), 5))
    for axis, draw in zip(axes, draws):
        draw(axis)
    figure.tight_layout()
    figure.savefig(path, dpi=70)
    plt.close(figure)
    print(f"picture: {path}")


def draw_records(cells, folder):
    for figure, ways in (("25", ("new write", "write", "read")), ("26", ("random write", "random read"))):
        picture(os.path.join(folder, f"figure-{figure}.png"), [lambda axis, w=way: lines(axis, cells, w) for way in ways])
    picture(os.path.join(folder, "figure-27.png"),
            [lambda axis, w=way, h=huge: lines(axis, cells, w, h, f"{w}, {'with' if h else 'without'} huge pages")
             for way in ("mmap read", "mmap random write") for huge in (True, False)])


def draw_threads(records, folder):
    found = thread_ratios(records)

    def draw(engine):
        def one(axis):
            for at, beside in enumerate(dict.fromkeys(k[0] for k in found)):
                axis.bar([x + at / 4 for x in range(4)],
                         [found[beside, engine, rw][0][n] for rw in ("read", "write") for n in (1, 2)], 0.22, label=beside)
            axis.axhline(1, color="k", linewidth=0.8)
            axis.set_xticks([x + 0.25 for x in range(4)], [f"{rw}, {n}" for rw in ("read", "write") for n in (1, 2)])
            axis.set_title("read(), write()" if engine == "psync" else "mmap")
            axis.set_ylabel("times tmpfs, by threads")
            axis.legend(fontsize="small")
        return one
    picture(os.path.join(folder, "figure-28-29.png"), [draw("psync"), draw("mmap")])


def draw_postmark(records, folder):
    rate = rates(records)
    names = list(dict.fromkeys(k[0] for k in rate))

    def draw(kind):
        def one(axis):
            axis.bar(names, [rate[fs, kind] / 1e3 for fs in names])
            axis.tick_params("x", rotation=30)
            axis.set_title(f"postmark, {kind} mostly")
            axis.set_ylabel("thousand transactions a virtual second")
        return one
    picture(os.path.join(folder, "figure-30.png"), [draw("read"), draw("write")])


def draw_all(records, folder):
    if of(records, "records"):
        draw_records(Records(records), folder)
    if of(records, "threads"):
        draw_threads(of(records, "threads"), folder)
    if of(records, "postmark"):
        draw_postmark(of(records, "postmark"), folder)
