# SPDX-License-Identifier: GPL-2.0-only
"""The cells of the balance's measurement, which of them are measured already, and what they say. Host side."""

import json
import math
import os

# pair: models, the fast one first; how many times slower they are made so that the processor isn't the bottleneck
PAIRS = {
    "nvme+sata": (["nvme", "sata-ssd"], 20),
    "x25m+mba3073": (["x25m", "mba3073"], 4),
    "memoright32+mba3073": (["memoright32", "mba3073"], 4),
    "transcend16+mba3073": (["transcend16", "mba3073"], 4),
    "sata+2hdd": (["sata-ssd", "mba3073", "mba3073"], 4),
    "sata+4hdd": (["sata-ssd", "mba3073", "mba3073", "mba3073", "mba3073"], 4),
    "mem+nvme": (["mem", "nvme"], 40),
}
LOADS = ("read4k", "mixed4k", "mixed16k", "read16k", "zipf4k", "stream128k")
DEPTHS = (1, 4, 16, 32, 64)
SEEDS = (1, 2, 3)
QUICK = [("nvme+sata", "read4k", 64), ("x25m+mba3073", "mixed4k", 16)]
RIVALS = ("stripe", "cache:", "writecache", "bcache:")
# of the best split, of the best member, of the best rival
REACH = {"split": 0.97, "member": 0.98, "rival": 0.98}


def cells(quick):
    picked = QUICK if quick else [(p, l, d) for p in PAIRS for l in LOADS for d in DEPTHS]
    for seed in SEEDS[:1] if quick else SEEDS:
        for pair, load, depth in picked:
            models, dilate = PAIRS[pair]
            yield dict(name=f"{pair}/{load}/{depth}/{seed}", pair=pair, models=models, dilate=dilate, load=load,
                       depth=depth, seed=seed)


def on_devices(devices, data):
    """Of real devices, the fast one first."""
    names = [os.path.basename(d) for d in devices]
    for seed in SEEDS:
        for load in LOADS:
            for depth in DEPTHS:
                yield dict(name=f"{'+'.join(names)}/{load}/{depth}/{seed}", pair="+".join(names), models=names,
                           devices=devices, data=data, dilate=1, load=load, depth=depth, seed=seed)


def file_of(folder, cell):
    return os.path.join(folder, cell["name"].replace("/", "_") + ".jsonl")


def read(path):
    """The records of a cell that was measured to its end."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def judge(records, device="hybrid"):
    """What the pool reaches in a cell, over each of what it is held against."""
    iops = {r["device"]: r["iops"] for r in records}

    def best(*prefixes):
        return max((v for k, v in iops.items() if k.startswith(prefixes)), default=math.nan)

    x = iops[device]
    return dict(iops=x, split=x / best("split:"), member=x / best("alone:"), rival=x / best(*RIVALS),
                sum=x / sum(r["iops"] * r["members"] for r in records if r["device"].startswith("alone:")),
                sd=next(r.get("share_sd", math.nan) for r in records if r["device"] == device),
                moved=next(r.get("moved", 0) for r in records if r["device"] == device),
                cpu=max(r["cpu"] for r in records))


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def mean_and_interval(values):
    """Mean, and half the 95% interval by Student's t; nan of a single value."""
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, math.nan
    t = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}.get(n, 2.0)
    return mean, t * math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)
