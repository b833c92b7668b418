# SPDX-License-Identifier: GPL-2.0-only
"""The cells of tests/bench/run names: figures 4.2 to 4.9 of zhang-2013, tables 4.3 and 4.4, on devices a sixteenth of its size."""

SCALE = 16                      # table 4.2's SSD has 4 GB
MIB = 4096 // SCALE             # that users see
RANGE = 2048 // SCALE           # of random writes
SPARE = 2                       # MiB more, for pointers
DEPTH = 1280                    # requests under way: two erase blocks of each plane
FTLS = ("page", "hybrid", "nameless")
WORKING_SETS = tuple(n // SCALE for n in (256, 1024, 2048, 3072, 3840))
SYNCS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
# of all requests, so many in a thousand are random writes; the others read
MIXES = {"varmail": 908, "fileserver": 706, "webserver": 38}
# MiB that are overwritten 40 times, of 3.5 GB
HOT = {"workload 1": 500 // SCALE, "workload 2": 1024 // SCALE}
TIMES = 40
REQUESTS = 1000000 // SCALE // DEPTH * DEPTH    # of a mix
RECOVERY = (1024, 896)          # MiB of an SSD, and of its data: a fourth
WEAR_MIB = 3584 // SCALE
# ext3 commits every 5 seconds: about so many requests of this device
COMMIT = 5 * 40000 // SCALE
UNCOMMITTED = (0, 1280, 12800, 128000)
DISTRIBUTED = {"10 GB": 10 << 30, "100 GB": 100 << 30}


def every_cell():
    """{name: what names.py is told}."""
    cells = {"writes": dict(what="writes", ftls=FTLS + ("checked",)),
             "ranges": dict(what="range", ftls=FTLS),
             "sync": dict(what="sync", ftls=FTLS + ("pointers",)),
             "mixes": dict(what="mix", ftls=FTLS),
             "tables": dict(what="tables"),
             "recovery": dict(what="recovery")}
    for load in HOT:
        for ftls in (("page", "nameless"), ("late",)):
            cells[f"{load.replace(' ', '')}-{ftls[-1]}"] = dict(what="wear", ftls=ftls, load=load)
    return {name: dict(dict(memory="4G"), **cell) for name, cell in cells.items()}


QUICK = ("writes", "tables")
