# SPDX-License-Identifier: GPL-2.0-only
"""The cells of the balance's measurement, which of them are measured already, and what they say. Both sides."""

import json
import math
import os
import statistics

import intervals

# pair: models, the fast one first; how many times slower they are made so that the processor isn't the bottleneck: where all
# is read, and where a part is written. The papers' SSDs are slow enough at that, and no cell takes longer than it has to.
PAIRS = {
    "nvme+sata": (["nvme", "sata-ssd"], 20, 20),
    "x25m+mba3073": (["x25m", "mba3073"], 2, 1),
    "memoright32+mba3073": (["memoright32", "mba3073"], 1, 1),
    "transcend16+mba3073": (["transcend16", "mba3073"], 1, 1),
    "sata+2hdd": (["sata-ssd", "mba3073", "mba3073"], 4, 4),
    "sata+4hdd": (["sata-ssd", "mba3073", "mba3073", "mba3073", "mba3073"], 4, 4),
    "mem+nvme": (["mem", "nvme"], 60, 60),
}
# The paper's, for loads of files; not slowed down.
FILE_PAIRS = {
    "x25m+mba3073": ["x25m", "mba3073"],
    "memoright32+mba3073": ["memoright32", "mba3073"],
    "transcend16+mba3073": ["transcend16", "mba3073"],
    "x25m+2hdd": ["x25m", "mba3073", "mba3073"],
    "x25m+4hdd": ["x25m", "mba3073", "mba3073", "mba3073", "mba3073"],
}
LOADS = ("read4k", "mixed4k", "mixed16k", "read16k", "zipf4k", "zipf16k", "zipfread4k", "zipfread16k", "stream128k")
READING = ("read4k", "read16k", "zipfread4k", "zipfread16k", "stream128k")
DEPTHS = (1, 4, 16, 32, 64)
PROCESSES = {"dbench": (1, 2, 4, 8, 16), "netmix": (1, 2, 4, 6, 8, 10), "transition": (10,)}
# pair, load: one that both members can carry, or there is no share to find
STEP_PAIRS = {"nvme+sata": "read4k", "x25m+mba3073": "mixed4k"}
# name, depth, what steps
# In the key set beside the square.
KEY = (("x25m+mba3073", "stream128k", 32), ("memoright32+mba3073", "mixed4k", 32), ("mem+nvme", "read4k", 64))
KEY_PAIR, KEY_PROCESSES = "x25m+mba3073", {"netmix": (1, 4, 10), "dbench": (1, 16, 8)}  # on other pairs the last of them only
STEPS = (("step-up", 32, dict(depths=(4, 32))), ("step-down", 4, dict(depths=(32, 4))),
         ("step-speed", 16, dict(slower=4)))
GAIN = (("nvme+sata", "read4k", 64), ("x25m+mba3073", "mixed4k", 16))
# 64 MiB are 1024 extents: the list of those that were used, as it comes, has room for all of them. Here it has not.
CANDIDATES = ("nvme+sata", "read4k", 64, 256)
# Two runs, and their batches; three of what is judged by the runs alone. Of cells that these leave open all of them.
SEEDS, SEEDS_OF_RUNS, ALL_SEEDS = (1, 2), (1, 2, 3), (1, 2, 3, 4)
BATCH = 2               # periods, of which what is measured is cut into
SHORT = 4               # periods: a share's deviation over fewer says nothing by itself
QUICK = ("nvme+sata/read4k/64/1", "x25m+mba3073/netmix/10/1", "x25m+mba3073/step-speed/16/1")
# Rivals that a cell has, by its kind: what a user could make of the same devices.
SIX = ("stripe", "cache:writeback", "cache:writethrough", "writecache", "bcache:writeback", "writeboost")
WANTED = dict.fromkeys(("fio", "dbench", "netmix"), SIX)
RIVALS = ("stripe", "cache:", "writecache", "bcache:", "writeboost")
OURS = ("hybrid", "hybrid:average", "hybrid:paper")
# of the best split, of the best member, of the best rival
REACH = {"split": 0.97, "member": 0.98, "rival": 0.98}
REACH_MEAN = 1.2        # of the best rival, geometric mean
REACH_SUM = 0.9         # of the sum of comparable members, from this depth
REACH_SUM_DEPTH, COMPARABLE = 32, 2
REACH_SD = 3            # points, at most, of the share in steady state
# of the NetApp-like mix with 10 processes, wu-reddy section III: throughput and time of an operation over the SSD's and the stripe's
REACH_NETMIX = {"alone": (1.38, 0.72), "stripe": (1.16, 0.83)}
# A member so fast that the target's own time bounds what a pool can reach, and on which nothing queues below this depth: what
# is reached there over the members and caches is stated, with that bound, and not judged.
BOUNDED = {"mem+nvme": 32}
CPU = 0.6               # of the processor, at most, or it is not the devices that are measured
REACH_STEP, NEAR, FINAL = 10, 5, 20     # periods; points; periods that the final value is the mean of
STILL, REST = 10, 1     # periods; points
SPLITS, BRACKET = 6, 10     # fixed shares that are tried; points
LOOKED = (0, 25, 50, 75, 100)   # and for a short time before that
BESIDE = 15             # points: where a split does less than what a pool ends at, if that is the best
KINDS = {"dbench": "dbench", "netmix": "netmix", "transition": "transition", "gain": "gain"}


def models_of(pair, load):
    """And how many times slower they are made."""
    if load in PROCESSES:
        return FILE_PAIRS[pair], 1
    models, reading, writing = PAIRS[pair]
    return models, reading if load in READING else writing


def cell(pair, called, depth, seed, **more):
    """@more: as its load, where that isn't what it is called."""
    load = more.get("load", called)
    models, dilate = models_of(pair, load)
    base = dict(name=f"{pair}/{called}/{depth}/{seed}", kind=KINDS.get(called, "fio"), pair=pair, models=models, dilate=dilate,
                load=load, depth=depth, seed=seed)
    return {**base, **more}


def seeds_for(kind):
    return SEEDS if kind in ("fio", "gain") else SEEDS_OF_RUNS


def of_every_seed(*args, **more):
    """With two more pools in the first one: they are in the key set only, and not judged."""
    for seed in seeds_for(cell(*args, 1, **more)["kind"]):
        yield cell(*args, seed, presets=seed == 1, **more)


def square():
    """A load for each pair and depth, so that each pair has five loads and each depth has seven: a part of a Latin square."""
    for p, pair in enumerate(PAIRS):
        for d, depth in enumerate(DEPTHS):
            yield pair, LOADS[(p + 2 * d) % len(LOADS)], depth


def key_cells():
    """
    What the whole matrix is about in a part of its time: the square; two cells whose members are comparable, a memory that has a
    queue, and a short list; the papers' mix, dbench and the transition; every step and gain.
    """
    for c in (*square(), *KEY):
        yield from of_every_seed(*c)
    pair, load, depth, few = CANDIDATES
    yield from of_every_seed(pair, "candidates", depth, load=load, words=f"candidates {few}", title=f"{load}, candidates {few}")
    for load, numbers in KEY_PROCESSES.items():
        for pair in FILE_PAIRS:
            for n in numbers if pair == KEY_PAIR else numbers[-1:]:
                yield from of_every_seed(pair, load, n)
    yield from of_every_seed(KEY_PAIR, "transition", 10)
    for pair, load in STEP_PAIRS.items():
        for name, depth, step in STEPS:
            yield from of_every_seed(pair, name, depth, kind="step", load=load, title=name, step=step)
    for pair, load, depth in GAIN:
        yield cell(pair, "gain", depth, 1, load=load, title=f"gain {load}")


def other_seeds(first):
    """The cells with the seeds that one like this may have beyond those it has."""
    for seed in ALL_SEEDS:
        if judged_by_seeds(first) and seed not in seeds_for(first["kind"]):
            yield {**first, "name": first["name"].rsplit("/", 1)[0] + f"/{seed}", "seed": seed, "presets": False}


def judged_by_seeds(c):
    return c["kind"] in WANTED or c["kind"] == "step"


def more_seeds(measured):
    """Of (cell, records) of one cell each: those of other seeds, where its own leave a bound open."""
    by_title = {}
    for c, records in measured:
        if judged_by_seeds(c) and c["seed"] in seeds_for(c["kind"]):
            by_title.setdefault(title(c), []).append((c, records))
    for some in by_title.values():
        first = some[0][0]
        if len(some) == len(seeds_for(first["kind"])) and is_open(first, [records for _, records in some]):
            yield from other_seeds(first)


def part_of_all(chosen, measured):
    """In words. Both are names."""
    whole = {c["name"] for c in every_cell()}
    beyond = len(measured - whole)
    return f"{len(measured)} of {len(chosen)} cells that were chosen are measured; the whole matrix has {len(whole)}, of which " \
        f"these are {len(measured & whole)}" + (f", and {beyond} are seeds beyond it" if beyond else "") + "."


def every_cell():
    """A cell of the key set is the same one here."""
    some = {c["name"] for c in key_cells() if c.get("presets")}
    return (dict(c, presets=c["name"] in some) for c in whole_matrix())


def whole_matrix():
    for seed in ALL_SEEDS:
        yield from (c for c in whole_seed(seed) if seed in seeds_for(c["kind"]))
    for pair, load, depth in GAIN:
        yield cell(pair, "gain", depth, 1, load=load, title=f"gain {load}")


def whole_seed(seed):
    for pair in PAIRS:
        for load in LOADS:
            for depth in DEPTHS:
                yield cell(pair, load, depth, seed)
    for load, numbers in PROCESSES.items():
        for pair in FILE_PAIRS:
            for n in numbers:
                yield cell(pair, load, n, seed)
    pair, load, depth, few = CANDIDATES
    yield cell(pair, "candidates", depth, seed, load=load, words=f"candidates {few}", title=f"{load}, candidates {few}")
    for pair, load in STEP_PAIRS.items():
        for name, depth, step in STEPS:
            yield cell(pair, name, depth, seed, kind="step", load=load, title=name, step=step)


def cells(quick, key=False):
    if key:
        return list({c["name"]: c for c in key_cells()}.values())
    return [c for c in every_cell() if not quick or c["name"] in QUICK]


def on_devices(devices, data, period_ms):
    """Of real devices, the fast one first."""
    names = [d.removeprefix("/dev/").replace("/", "-") for d in devices]
    pair = "+".join(names)
    for seed in ALL_SEEDS:
        for load in (*LOADS, "dbench", "netmix"):
            if seed not in seeds_for(KINDS.get(load, "fio")):
                continue
            for depth in PROCESSES.get(load, DEPTHS):
                yield dict(name=f"{pair}/{load}/{depth}/{seed}", kind=KINDS.get(load, "fio"), pair=pair, models=names,
                           devices=devices, data=data, period_ms=period_ms, dilate=1, load=load, depth=depth, seed=seed)


def title(c):
    return c["pair"], c.get("title", c["load"]), c["depth"]


def file_of(folder, c):
    return os.path.join(folder, c["name"].replace("/", "_") + ".jsonl")


def read(path):
    """The records of a cell that was measured to its end."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def keep(raw, part):
    """What a machine has measured, ended or not, goes to what there is of the cell; the volumes that are done."""
    with open(part, "a", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in read(raw) or [])
    if os.path.exists(raw):
        os.remove(raw)
    return [r["device"] for r in read(part)]


def done(records):
    """What a machine that goes on with a cell has to know of its volumes: what they did, and of pools where they ended."""
    return {r["device"]: dict(rate=rate(r), share=settling(r)["after"] if "step_at" in r and "series" in r else r.get("share"))
            for r in records}


def rate(record):
    """What a volume is judged by: operations a second; dbench says MB/s."""
    return record["iops"] if "iops" in record else record["mbps"]


def best(records, *prefixes):
    return max((rate(r) for r in records if r["device"].startswith(prefixes)), default=math.nan)


def find(records, device):
    return next((r for r in records if r["device"] == device), None)


def absent(records, kind):
    """Rivals that a cell of this kind has and that were not measured: dm-writeboost builds for 6.1 only, and may be nowhere."""
    return [d for d in WANTED.get(kind, ()) if not find(records, d)]


def cpu_ns(record, dilate):
    """Of a request."""
    return record["cpu"] * dilate / record["iops"] * 1e9


def with_cost(cell, records):
    """
    The same with what the processor takes put back, where devices are slowed down and it isn't, so that multiplied back it
    counts as an Nth: of a volume that takes more of it than the best member alone a request is by that much longer.
    """
    base = max((r for r in records if r["device"].startswith("alone:")), key=rate, default=None)
    if cell["dilate"] == 1 or not base:
        return records

    def costed(record):
        more = (1 - 1 / cell["dilate"]) * (cpu_ns(record, cell["dilate"]) - cpu_ns(base, cell["dilate"]))
        out = dict(record, iops=costed_rate(record["iops"], more))
        if "batches" in record:
            out["batches"] = [costed_rate(r, more) for r in record["batches"]]
        return out

    def costed_rate(iops, more):    # of a batch in which a rival stood still there is none
        return cell["depth"] / (cell["depth"] / iops + more / 1e9) if iops else 0
    return [costed(r) if r.get("iops") else r for r in records]


def limit(cell, records, device):
    """What a request takes on the best member alone, over that and what the pool takes of the processor."""
    base, mine = max((r for r in records if r["device"].startswith("alone:")), key=rate, default=None), find(records, device)
    if not base or not mine or cell["depth"] >= BOUNDED.get(cell["pair"], 0):
        return math.nan
    alone = cell["depth"] / base["iops"] * 1e9
    return alone / (alone + max(0, cpu_ns(mine, cell["dilate"]) - cpu_ns(base, cell["dilate"])))


def batches(record):
    return record.get("batches") or [rate(record)] if record else []


def over_batches(mine, others):
    """
    Of a volume over the best of others, or over their sum where each is as often: batch by batch, where both are so many.
    One that has fewer is held against as many, of several batches each; and where one stood still in a batch, of which there is
    no ratio, in as many as leave none like that.
    """
    if isinstance(others, dict):
        rates = [[x * n for x in batches(r)] for r, n in others.values()]
        other = [sum(x) for x in zip(*rates)]
    else:
        other = batches(max(others, key=rate, default=None))
    mine = batches(mine)

    def grouped(rates, n):      # all of them are in one
        return [statistics.mean(rates[i * len(rates) // n:(i + 1) * len(rates) // n]) for i in range(n)]
    for n in range(min(len(mine), len(other)), 0, -1):
        both = grouped(mine, n), grouped(other, n)
        if all(map(all, both)):
            return [x / y for x, y in zip(*both)]
    return []


def each_batch(cell, records, device):
    """judge()'s ratios, batch by batch."""
    costed = with_cost(cell, records)

    def some(of, *prefixes):
        return [r for r in of if r["device"].startswith(prefixes)]
    members = {r["device"]: (r, r["members"]) for r in some(records, "alone:") if r.get("members")}
    mine, mine_costed = find(records, device), find(costed, device)
    return dict(split=over_batches(mine, some(records, "split:")), member=over_batches(mine_costed, some(costed, "alone:")),
                rival=over_batches(mine_costed, some(costed, *RIVALS)), member_raw=over_batches(mine, some(records, "alone:")),
                rival_raw=over_batches(mine, some(records, *RIVALS)), sum=over_batches(mine, members))


def judge(cell, records, device="hybrid"):
    """What the pool reaches in a cell, over each of what it is held against; nan of what was not measured."""
    mine, costed = find(records, device), with_cost(cell, records)
    x = rate(mine) if mine else math.nan
    y = rate(find(costed, device)) if mine else math.nan
    members = [r for r in records if r["device"].startswith("alone:") and r.get("members")]
    rates = [rate(r) for r in members]
    return dict(rate=x, split=x / best(records, "split:"), member=y / best(costed, "alone:"), rival=y / best(costed, *RIVALS),
                member_raw=x / best(records, "alone:"), rival_raw=x / best(records, *RIVALS),
                limit=limit(cell, records, device), sum=x / (sum(rate(r) * r["members"] for r in members) or math.nan),
                comparable=bool(rates) and max(rates) <= COMPARABLE * min(rates),
                sd=mine.get("share_sd", math.nan) if mine else math.nan,
                moved=mine.get("moved_kb", math.nan) if mine else math.nan, cpu=max(r["cpu"] for r in records))


RATIOS = ("split", "member", "rival", "member_raw", "rival_raw", "limit", "sum")


def is_open(cell, runs, device="hybrid"):
    """Whether intervals leave any bound of a cell open, so that more seeds may decide it."""
    if cell["kind"] == "step":
        some = step_bounds(runs, device)
    else:
        some = [*bounds(title(cell), of_seeds(cell, runs, device)), *netmix_bounds(cell, runs, device)]
    return any(intervals.verdict(interval, **within) == intervals.OPEN for _, interval, within in some)


def steady(record):
    """The first member's share, period by period, while a pool was measured; of files half of what was watched at least."""
    if not record:
        return []
    if "shares" in record and "batches" in record:
        return record["shares"][-BATCH * len(record["batches"]):]
    series = [p["share"][0] for p in record.get("series", [])]
    return series[-max(record.get("measured_periods", 0), (len(series) + 1) // 2):]


def deviation(runs, device, by_seed):
    """Of the share, out of all its periods, or of runs too short for that by the seeds."""
    shares = [steady(find(r, device)) for r in runs]
    return intervals.deviation(shares) if shares and min(map(len, shares)) >= SHORT else intervals.mean(by_seed)


def of_seeds(cell, runs, device):
    """The same of all of a cell's seeds, as intervals; the processor where it was used most, and rivals that are missing."""
    each = [judge(cell, r, device) for r in runs]
    in_batches = [each_batch(cell, r, device) for r in runs]
    said = {w: intervals.batches([b.get(w) or [j[w]] for j, b in zip(each, in_batches)]) for w in RATIOS}
    said.update({w: intervals.mean(j[w] for j in each) for w in ("rate", "moved")})
    said["sd"] = deviation(runs, device, [j["sd"] for j in each])
    said.update(comparable=all(j["comparable"] for j in each), cpu=max(j["cpu"] for j in each),
                absent=sorted({d for r in runs for d in absent(r, cell["kind"])}),
                best=best_rival([with_cost(cell, r) for r in runs]))
    return said


def best_rival(runs):
    """Its name, by the mean over the seeds."""
    rates = {}
    for r in (r for records in runs for r in records if r["device"].startswith(RIVALS)):
        rates.setdefault(r["device"], []).append(rate(r))
    return max(rates, key=lambda d: sum(rates[d]) / len(rates[d]), default="-")


def bounds(key, said):
    """What a cell is judged by: name, interval, bounds."""
    for what, least in REACH.items():
        if math.isnan(said["limit"].value) or what == "split":
            yield what, said[what], dict(least=least)
    if key[2] >= REACH_SUM_DEPTH and said["comparable"]:
        yield "sum", said["sum"], dict(least=REACH_SUM)
    if not math.isnan(said["sd"].value):
        yield "sd", said["sd"], dict(most=REACH_SD)


def is_short(interval, least=-math.inf, most=math.inf):
    """By the value alone."""
    return interval.value < least or interval.value > most


def verdict(key, said):
    """
    Of a cell: each target that is missed, that intervals leave open, or that nothing is known of. A rival that is absent
    can only make it less, so it takes no miss away, and leaves nothing reached.
    """
    found = {}
    for what, interval, within in bounds(key, said):
        is_ = intervals.verdict(interval, **within)
        if what == "rival" and said["absent"] and is_ != intervals.MISSED:
            is_ = intervals.NONE
        short = " below" if is_short(interval, **within) and is_ in (intervals.ONE, intervals.NONE) else ""
        found.setdefault(is_, []).append(f"{what} {interval}{short}")
    if said["cpu"] > CPU:
        found.setdefault(intervals.MISSED, []).append(f"CPU {100 * said['cpu']:.0f}%")
    order = (intervals.MISSED, intervals.NONE, intervals.ONE, intervals.OPEN)
    text = "; ".join(f"{is_}: {', '.join(found[is_])}" for is_ in order if is_ in found) or intervals.REACHED
    if not math.isnan(said["limit"].value):
        text += f"; member {said['member']}, rival {said['rival']}: not judged, the target's own time allows {said['limit']}"
    return text + (f" (without {', '.join(said['absent'])})" if said["absent"] else "")


def over_netmix(records, device):
    """Throughput and time of an operation over the first member's and the stripe's; without what was not measured."""
    mine, out = find(records, device), {}
    for what in REACH_NETMIX:
        other = next((r for r in records if r["device"].startswith(what)), None)
        if mine and other:
            out[what] = (rate(mine) / rate(other), mine["mean_ms"] / other["mean_ms"])
    return out


def netmix_bounds(cell, runs, device):
    """The paper's targets: name, interval, bounds."""
    if cell["kind"] != "netmix" or cell["depth"] != 10:
        return []
    over = [over_netmix(r, device) for r in runs]
    return [(f"{unit} / {what}", intervals.ratio(o[what][i] for o in over if what in o), within)
            for what, (least, most) in REACH_NETMIX.items()
            for i, (unit, within) in enumerate((("operations", dict(least=least)), ("ms", dict(most=most))))]


def final_batches(series):
    """final_rate() in batches."""
    some = series[-FINAL - 2:-1]
    parts = [some[i:i + BATCH + 1] for i in range(0, len(some) - BATCH, BATCH)]
    return [sum(sum(p["requests"]) for p in part[1:]) / (part[-1]["t"] - part[0]["t"]) for part in parts]


def final_rate(series):
    """Requests a second in the last periods but the very last one, in which the load ended."""
    some = series[-FINAL - 2:-1]
    return sum(sum(p["requests"]) for p in some[1:]) / (some[-1]["t"] - some[0]["t"])


def splits_beside(share):
    """The fixed shares that a pool's final one, percent, is held against: well to each side of it."""
    return [min(100, max(0, round(share) + by)) for by in (-BESIDE, BESIDE)]


def rests(shares):
    """Whether a pool has come to rest: for so many periods means of three stay that near to all of theirs."""
    last = shares[-STILL:]
    middle = statistics.mean(last) if last else 0
    return len(last) == STILL and all(abs(statistics.mean(last[i - 2:i + 1]) - middle) <= REST for i in range(2, STILL))


def next_split(seen, share, looked):
    """
    The fixed share to try next, percent, after {share: rate}: the one at which the pool is, and the best of those that were
    @looked at for a short time, if that is another one; one on each side of the better of these, and then
    by the best so far: on beyond it, where it is the last one on a side, or halfway to its neighbours. None: no more.
    """
    start = [min(100, max(0, round(share)))]
    start += [p for p in [max(looked, key=looked.get)] if abs(p - start[0]) > BRACKET]
    for p in start:
        if p not in seen:
            return p
    about = max(start, key=seen.get)
    for p in (min(100, max(0, about + by)) for by in (-BRACKET, BRACKET)):
        if p not in seen:
            return p
    top = max(seen, key=seen.get)
    # of both sides the one first on which more is done
    sides = sorted((max((p for p in seen if p < top), default=None), min((p for p in seen if p > top), default=None)),
                   key=lambda p: -math.inf if p is None else seen[p], reverse=True)
    new = [(top + p + 1) // 2 if p > top else (top + p) // 2 for p in sides if p is not None]
    if None in sides and abs(sides[0] - top) <= BRACKET:
        new.insert(0, min(100, max(0, top + (2 * BRACKET if sides[0] < top else -2 * BRACKET))))
    return next((p for p in new if p not in seen), None) if len(seen) < SPLITS else None


def stepped(records, device):
    """Settling, and what it comes to at that over the better of the splits; None where the pool was not measured."""
    mine = find(records, device)
    return dict(settling(mine), split=mine.get("iops", math.nan) / best(records, "split:")) if mine else None


def step_bounds(runs, device):
    """What a step is judged by: name, interval, bounds."""
    there = [r for r in runs if find(r, device)]
    over = [over_batches(find(r, device), [s for s in r if s["device"].startswith("split:")]) or [math.nan] for r in there]
    return [("own", intervals.mean(settling(find(r, device))["own"] for r in there), dict(most=REACH_STEP)),
            ("split", intervals.batches(over), dict(least=REACH["split"]))]


def settling(record):
    """Of a record with a series and the time of a step: the share before, finally, and periods until it stayed near that."""
    share = [p["share"][0] for p in record["series"]]
    old = [x for x, p in zip(share, record["series"]) if p["t"] <= record["step_at"]]
    new = share[len(old):]
    before, after = statistics.mean(old[-FINAL:]), statistics.mean(new[-FINAL:])
    # means of three, for the noise that remains when it has settled
    smooth = [statistics.mean(new[max(0, i - 2):i + 1]) for i in range(len(new))]
    n = max((i + 1 for i, x in enumerate(smooth) if abs(x - after) > NEAR), default=0)
    out = dict(before=before, after=after, periods=n + 1, own=math.nan, sd=statistics.pstdev(new[-FINAL:]))
    if "copy" in record:
        giver, taker = record["copy"] if after < before else record["copy"][::-1]
        speed = min(giver["randread"], taker["randwrite"])
        out["copies"] = abs(after - before) / 100 * record["mapped_bytes"] / speed / (record["period_ms"] / 1e3)
        out["own"] = max(0, out["periods"] - out["copies"])
    return out
