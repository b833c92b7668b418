# SPDX-License-Identifier: GPL-2.0-only
"""The cells of the policies' measurement, wu-2011 chapter II, and what they say. Both sides.

Files and devices are an eighth of the paper's, so that a disk's arm goes as far as there."""

import json
import math
import os

import balance_cells
import intervals

DISK = "sp2504c"
SIZES = {"transcend16": "2G", "memoright32": "4G", "nameless": "1G", DISK: "31G", "mba3073": "9G"}
PAIRS = {"transcend16+sp2504c": ["transcend16", DISK], "memoright32+sp2504c": ["memoright32", DISK],
         "nameless+sp2504c": ["nameless", DISK], "transcend16+mba3073": ["transcend16", "mba3073"]}
PAPERS = ("transcend16+sp2504c", "memoright32+sp2504c")
MIXES = ("0R4W", "1R3W", "2R2W", "3R1W", "4R0W")
SEEDS = (1, 2, 3)
QUICK = ("2R2W/transcend16+sp2504c/plain/1", "2R2W/transcend16+sp2504c/pools/1")
POLICIES = {"hybrid:wardrop": "wardrop", "hybrid:migration-1": "asymmetry sizes 0", "hybrid:migration-2": "asymmetry",
            "hybrid:unified": "unified"}
OURS = tuple(POLICIES)
CACHED, CACHE = "+cache", " cache_extents 100"
# what migration-1 has is not among them: 1, 64K
DELTAS = {f"hybrid:delta {d}": f"asymmetry sizes 0 delta {d}" for d in (0.6, 0.5, 2, 0, 4)}
CHUNKS = {f"hybrid:chunk {c}": f"asymmetry sizes 0 extent {c}" for c in ("128K", "256K")}
METADATA = {"hybrid:stripe": "stripe", "hybrid:stripe, metadata on flash": "stripe pin",
            "hybrid:migration-1, metadata on flash": "asymmetry sizes 0 pin"}
# A cell's volumes, some in each machine: those without a pool, pools, the same with 100 extents in memory, caches.
GROUPS = {"plain": {}, "pools": POLICIES, "cached": {n + CACHED: p + CACHE for n, p in POLICIES.items()}, "rivals": {}}
FIGURES = {"delta": DELTAS, "chunk": CHUNKS, "metadata": METADATA}
# load: kind, pairs, groups
LOADS = {**{mix: ("mix", tuple(PAIRS), tuple(GROUPS)) for mix in MIXES},
         "2R2W": ("mix", tuple(PAIRS), (*GROUPS, "delta")),
         "sfs": ("sfs", (*PAPERS, "nameless+sp2504c"), (*GROUPS, *FIGURES)),
         "postmark": ("postmark", (*PAPERS, "nameless+sp2504c"), (*GROUPS, "delta")),
         "postmark-large": ("postmark", (*PAPERS, "nameless+sp2504c"), tuple(GROUPS))}
RIVALS, WANTED = balance_cells.RIVALS, balance_cells.SIX
# What the paper's text says, over striping: load, pair, volume
PAPER = {("sfs", PAPERS[0], "hybrid:migration-1"): 600 / 426,
         ("postmark", PAPERS[0], "hybrid:migration-1"): 115 / 102,
         ("postmark", PAPERS[1], "hybrid:migration-1"): 271 / 251,
         ("postmark-large", PAPERS[0], "hybrid:migration-1"): 35 / 34,
         ("postmark-large", PAPERS[0], "hybrid:migration-2"): 37 / 34,
         ("postmark-large", PAPERS[1], "hybrid:migration-1"): 52 / 50,
         ("postmark-large", PAPERS[1], "hybrid:migration-2"): 63 / 50}
# The same over two striped disks; of figure 9 only who is ahead.
PAPER_DISKS = {("postmark", PAPERS[0], "hybrid:migration-1"): 115 / 236,
               ("postmark", PAPERS[1], "hybrid:migration-1"): 271 / 236,
               ("postmark-large", PAPERS[0], "hybrid:migration-2"): 37 / 48,
               ("postmark-large", PAPERS[1], "hybrid:migration-2"): 63 / 48,
               ("sfs", PAPERS[1], "hybrid:migration-1"): 1.5,
               **{(mix, PAPERS[0], "hybrid:migration-1"): 1 for mix in MIXES[1:]}}
REACH_RIVAL = REACH_CACHE = 0.98
CPU = 0.6


def cell(load, pair, group, seed):
    policies = {**GROUPS, **FIGURES}[group]
    return dict(name=f"{load}/{pair}/{group}/{seed}", kind=LOADS[load][0], pair=pair, models=PAIRS[pair], dilate=1,
                load=load, depth=4, group=group, policies=policies, seed=seed)


def every_cell():
    for seed in SEEDS:
        for load, (_, pairs, groups) in LOADS.items():
            for pair in pairs:
                for group in groups:
                    yield cell(load, pair, group, seed)


def cells(quick):
    return [c for c in every_cell() if not quick or c["name"] in QUICK]


def forget_volumes(path, part, wanted):
    """The cell is not done any more: what it has of other volumes stays."""
    kept = [r for r in balance_cells.read(path) or balance_cells.read(part) or [] if r["device"] not in wanted]
    with open(part, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in kept)
    if os.path.exists(path):
        os.remove(path)


def together(measured):
    """{(load, pair): [records of each seed]} out of [(cell, records)]."""
    runs = {}
    for c, records in measured:
        kept = runs.setdefault((c["load"], c["pair"]), {}).setdefault(c["seed"], [])
        # figures repeat a volume; the same seed does the same
        kept += [r for r in records if not balance_cells.find(kept, r["device"])]
    return {key: list(seeds.values()) for key, seeds in runs.items()}


def over(records, device, other):
    """A volume's rate over the best of those that begin so; nan where one is missing."""
    mine = balance_cells.find(records, device)
    best = balance_cells.best(records, *([other] if isinstance(other, str) else other))
    return balance_cells.rate(mine) / best if mine else math.nan


def over_seeds(runs, device, other):
    """The same over the seeds that have both."""
    return intervals.ratio(over(r, device, other) for r in runs)


def absent(runs):
    """Rivals that a seed is without."""
    return [d for d in WANTED if not all(balance_cells.find(r, d) for r in runs)]
