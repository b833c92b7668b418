# SPDX-License-Identifier: GPL-2.0-only
"""What tests/bench.sh runs: usage: selftest.py NETMIX. Prints KTAP."""

import contextlib
import io
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import traceback
from unittest import mock

# Nothing is drawn here, and nothing that draws has to be there.
sys.modules.update({name: mock.MagicMock() for name in ("matplotlib", "matplotlib.pyplot")})

# pylint: disable=wrong-import-position
import atsmf
import atsmf_loads
import atsmf_traces
import balance
import balance_cells
import balance_files
import balance_main
import balance_report
import blktrace
import by_cells
import cpus
import intervals
import lab
import nameless_report
import names_images
import names_loads
import names_report
import policies
import policies_cells
import policies_loads
import policies_report
import report
import revisions
import scmfs_figures_loads
import scmfs_figures_report
import scmfs_report
import tables
import volumes

# wu-reddy, tables I and II, once more: netmix has its own
TABLE = dict(NTCreateX=46614, Close=46610, Rename=145, Unlink=29, Qpathinfo=99896, Qfileinfo=22506, Qfsinfo=37255,
             Sfileinfo=50527, Find=34393, WriteX=47626, ReadX=43044, Flush=118)
READ, WRITE = 18105, 6204


def near(x, y, part):
    assert abs(x - y) <= part * y, f"{x} is not within {100 * part:.0f}% of {y}"


MIXED = 40000    # operations, for the mean sizes of their requests to be near those of the table


def mixed(folder, interval):
    """six intervals of netmix"""
    phases = f"1:{interval},2:{5 * interval}"
    return json.loads(subprocess.run([sys.argv[1], "--directory", folder, "--phases", phases, "--interval", str(interval), "--seed", "5"],
                                     check=True, stdout=subprocess.PIPE, text=True).stdout)


def in_all_intervals(said):
    return len(said["series"]) == 6 and all(p["iops"] > 0 for p in said["series"])


def netmix_proportions():
    """netmix's operations have the proportions of table I, its requests the sizes of table II"""
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shm) as folder:
        subprocess.run([sys.argv[1], "--directory", folder, "--setup", "2", "--seed", "5"], check=True)
        # longer on a machine that is slow, or stood still meanwhile
        for interval in (0.5, 1, 2, 4):
            said = mixed(folder, interval)
            if in_all_intervals(said) and said["phases"][1]["ops"] > MIXED:
                break
    one, two = said["phases"]
    assert (one["processes"], two["processes"]) == (1, 2)
    assert in_all_intervals(said), said["series"]
    count = {kind: sum(p["kinds"][kind][0] for p in (one, two)) for kind in TABLE}
    assert sum(count.values()) == one["ops"] + two["ops"] > MIXED, count
    for kind, n in TABLE.items():
        expected = n / sum(TABLE.values()) * sum(count.values())
        near(count[kind], expected, 0.02 + 4 / expected ** 0.5)
    near(two["read_bytes"], READ, 0.06)
    near(two["write_bytes"], WRITE, 0.06)


def record(device, iops, **more):
    return dict(device=device, iops=iops, cpu=0.3, us=1.0, **more)


def cell_of(hybrid, cpu=0.3, sd=1.0, without=()):
    pools = [record(d, hybrid, share_sd=sd, moved_kb=0.0) for d in balance_cells.OURS]
    pools[0]["cpu"] = cpu
    rivals = {"stripe": 110, "writeboost": 95, **dict.fromkeys(("cache:writeback", "cache:writethrough", "writecache",
                                                                "bcache:writeback"), 90)}
    return [record("alone:a", 100, members=1), record("alone:b", 60, members=1), record("split:80", 100),
            record("split:50", 140), *(record(d, n) for d, n in rivals.items() if d not in without), *pools]


def seeds_of(*rates, **more):
    return [cell_of(r, **more) for r in rates]


def verdict_of(runs, depth=32):
    cell = dict(pair="a+b", load="read4k", depth=depth, dilate=1, kind="fio")
    return balance_cells.verdict(balance_cells.title(cell), balance_cells.of_seeds(cell, runs, "hybrid"))


def costly(cell, pool_ns, *rates):
    """A seed for each rate of the pool, kIOPS; a member's request takes 13 us of the processor, others' that much more."""
    def row(device, kiops, ns, **more):
        return dict(record(device, kiops * 1e3, **more), cpu=kiops * 1e3 / cell["dilate"] * (13000 + ns) / 1e9)
    return [[row("alone:a", 149.3, 0, members=1), row("alone:b", 40, 0, members=1), row("hybrid", x, pool_ns, share_sd=1.0),
             *(row(d, 140, 0) for d in balance_cells.WANTED["fio"]), row("split:95", x, pool_ns)] for x in rates]


def with_processor():
    """what slowed down devices hide of a target's time is judged, and both ratios are shown"""
    cell = balance_cells.cell("nvme+sata", "mixed4k", 16, 1)
    said = balance_cells.of_seeds(cell, costly(cell, 2310, 148.8, 148.82, 148.81), "hybrid")
    assert round(said["member"].value, 3) == .977 and round(said["member_raw"].value, 3) == .997, said
    text = balance_cells.verdict(balance_cells.title(cell), said)
    assert text.startswith("missed: member 0.98 ("), text
    said = balance_cells.of_seeds(cell, costly(cell, 0, 148.8, 148.82, 148.81), "hybrid")
    assert balance_cells.verdict(balance_cells.title(cell), said) == "reached", said
    real = dict(cell, dilate=1)
    said = balance_cells.of_seeds(real, costly(real, 2310, 148.8, 148.82, 148.81), "hybrid")
    assert said["member"] == said["member_raw"], said
    report_, _ = balance_report.report([(cell, costly(cell, 2310, 148.8))])
    assert "| 0.98 | 1.04 |" in report_ and "| 1.00 | 1.06 |" in report_, report_
    # beside a memory that takes any of a few requests at once the target's own time is all there is to see
    for depth, judged in ((16, False), (32, True)):
        cell = balance_cells.cell("mem+nvme", "read4k", depth, 1)
        said = balance_cells.of_seeds(cell, costly(cell, 20000, 148.8, 148.82, 148.81), "hybrid")
        text = balance_cells.verdict(balance_cells.title(cell), said)
        near(said["limit"].value, 16 / (16 + .02 * 149.3), 0.01) if not judged else None
        assert text.startswith("missed: member" if judged else "reached; member ") and ("not judged" in text) != judged, text


def verdicts():
    """a cell's verdict names the targets that are missed, and only those"""
    assert verdict_of(seeds_of(147, 148, 147)) == "reached"
    assert verdict_of(seeds_of(137, 138, 137)) == "missed: sum 0.86 (0.85 to 0.87)"
    assert verdict_of(seeds_of(137, 138, 137), depth=16) == "reached"
    said = verdict_of(seeds_of(90, 91, 90))
    assert said.startswith("missed: ") and [w.split()[0] for w in said[8:].split(", ")] == ["split", "member", "rival", "sum"]
    # the processor where it was used most, not on average
    assert verdict_of([cell_of(147, cpu=c) for c in (0.3, 0.3, 0.7)]) == "missed: CPU 70%"
    assert verdict_of([cell_of(147, sd=x) for x in (3.2, 3.3, 3.2)]).startswith("missed: sd 3.23")


def unsure():
    """what an interval leaves open is not reached, and one seed is no verdict"""
    assert verdict_of(seeds_of(136, 140, 134)).startswith("open: split 0.98 (0.92 to 1.03), sum ")
    one = verdict_of(seeds_of(144))
    assert one.startswith("one seed: no verdict: split 1.03, ") and "below" not in one
    assert "split 0.64 below" in verdict_of(seeds_of(90))


def other_targets():
    """the mix against the SSD and the stripe is judged by intervals, too"""
    cells = {c["name"]: c for c in balance_cells.every_cell()}

    def mixed(iops, ms):
        return [dict(record(d, n), mean_ms=m) for d, n, m in
                (("alone:x25m", 100, 2.0), ("stripe", 110, 1.9), *((d, iops, ms) for d in balance_cells.OURS))]

    def mix_of(*values):
        text, ok = balance_report.netmix_part([(cells["x25m+mba3073/netmix/10/1"], [mixed(*v) for v in values])])
        return ok, text.splitlines()[-3].split(" | ")[-1]
    assert mix_of((150, 1.3), (151, 1.3), (150, 1.3)) == (True, "reached |")
    assert mix_of((150, 1.5), (151, 1.5), (150, 1.5)) == (False, "missed |")
    assert mix_of((150, 1.3)) == (False, "one seed: no verdict |")
    assert mix_of((150, 1.3), (130, 1.3), (150, 1.3)) == (False, "open |")

def steps_reach():
    """a step's target is to settle soon, and at a share that does no less than those beside it"""
    step = next(c for c in balance_cells.every_cell() if c["name"] == "x25m+mba3073/step-speed/16/1")

    def runs_of(split, seeds=(1, 2, 1)):
        return [[*(stepped([80] * 20 + [30] * n + [60] + [30] * 30, device=d, iops=100) for d in balance_cells.OURS),
                 *(record(d, r) for d, r in split.items())] for n in seeds]

    def said(runs):
        text, ok = balance_report.step_part([(step, runs)])
        return ok, text.splitlines()[-3].split(" | ")[-1]
    fine = {"split:15": 90, "split:45": 102}
    assert said(runs_of(fine)) == (True, "reached |") and said(runs_of(fine, (1,))) == (False, "one seed: no verdict |")
    # it stands still where it is, and another one would do more
    assert said(runs_of({"split:15": 90, "split:45": 110})) == (False, "missed |")
    assert said(runs_of({})) == (False, "not measured |")
    runs = runs_of(fine)
    assert balance_report.step_part([(step, [runs[0], runs[1][1:], runs[2]])])[0].count("| 2 |") == 1
    assert balance_cells.splits_beside(30.4) == [15, 45] and balance_cells.splits_beside(95) == [80, 100]
    assert balance_cells.final_rate(stepped([80] * 60)["series"]) == 100


def without_rivals():
    """a rival that was not measured is not one that was beaten, and the report says so"""
    said = verdict_of(seeds_of(147, 148, 147, without=("writeboost",)))
    assert said.startswith("not measured: rival 1.34") and said.endswith("(without writeboost)"), said
    # of those that are there one is ahead: no other one makes that good
    assert verdict_of(seeds_of(90, 91, 90, without=("writeboost",))).startswith("missed: split")
    cell = next(c for c in balance_cells.every_cell() if c["name"] == "nvme+sata/read4k/32/1")
    text, ok = balance_report.report([(cell, [cell_of(150), cell_of(150, without=("writeboost", "split:50")), cell_of(150)])])
    assert not ok and "rivals are missing in 1 of 1 cells" in text and "| writeboost | not measured | - | - | 1 |" in text
    everything = ("stripe", *balance_cells.WANTED["fio"])
    text, ok = balance_report.report([(cell, seeds_of(150, 151, 150, without=everything))])
    assert not ok and "not measured: rival -" in text, text


def whole_report():
    """the report says that all is reached only where it is, and names the best rival"""
    cell = next(c for c in balance_cells.every_cell() if c["name"] == "nvme+sata/read4k/32/1")
    text, ok = balance_report.report([(cell, seeds_of(150, 151, 150))])
    assert ok and "| stripe |" in text
    assert not balance_report.report([(cell, seeds_of(130, 131, 130))])[1]      # 1.2 times the best rival it is not
    text, ok = balance_report.report([(cell, seeds_of(150))])
    assert not ok and "one seed: no verdict" in text
    # a volume that a seed is without
    runs = seeds_of(150, 151, 150)
    runs[1] = [r for r in runs[1] if r["device"] != "split:80"]
    assert "| split:80 | 100 (100 to 100) |" in balance_report.report([(cell, runs)])[0]


def with_intervals():
    """ratios are the same either way round, and no interval is shorter than its values say"""
    over, under = intervals.ratio([.365, 1.24, .328]), intervals.ratio([1 / .365, 1 / 1.24, 1 / .328])
    near(over.value, 0.53, 0.01)
    near(over.low * under.high, 1, 1e-9)
    assert over.low < 0.1 and over.high > 3 and intervals.verdict(over, least=.98) == intervals.OPEN
    assert intervals.mean([1, 3]).high > 14 and math.isnan(intervals.mean([1]).low) and intervals.mean([]).n == 0
    assert intervals.t(6) == 2.571 and intervals.t(31) == 2.042
    near(intervals.t(61), 2.0003, 0.001)
    near(intervals.product([intervals.Interval(2, 1.9, 2.1, 3), intervals.Interval(.5, .4, .6, 3)]).value, 1, 1e-9)
    assert math.isnan(intervals.product([intervals.ratio([2]), over]).low)
    assert intervals.verdict(intervals.ratio([2]), least=1) == intervals.ONE
    five = [dict(device=d, round=i, iops=r, rw="r", threads=2) for d, rates in (("page", (9, 10, 11, 10, 9)),
                                                                              ("null_blk", (5, 5, 5, 5, 5)))
            for i, r in enumerate(rates)]
    _, _, _, low, high = cpus.compare(five, "r", 2)
    near(high / low, math.exp(2 * 2.776 * statistics.stdev(map(math.log, (9, 10, 11, 10, 9))) / 5 ** .5), 0.001)


def deterministic(n, seed):
    """Numbers like those of a normal distribution: sums of 12 of a generator's."""
    out, x = [], seed
    for _ in range(n):
        total = 0
        for _ in range(12):
            x = (x * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            total += x / (1 << 64)
        out.append(total - 6)
    return out


def batches_of(mean, sd, seed, n=10, between=0.0, keep=0.0):
    values, last = [], 0
    for x in deterministic(n, seed):
        last = keep * last + x
        values.append(mean * math.exp(sd * last + between))
    return values


def by_batches():
    """two runs whose batches say the same decide what three values can't; runs or batches that hang together do not"""
    for seed in range(1, 40):
        two = [batches_of(1.0, 0.01, seed), batches_of(1.0, 0.01, 1000 + seed)]
        said = intervals.batches(two)
        apart = intervals.apart(*(f([[math.log(x) for x in r] for r in two]) for f in (intervals.between, intervals.within)), 2, 10)
        assert said.n == 2 and (said.high - said.low < .04 or apart), said
    hits = [intervals.batches([batches_of(1.0, 0.01, 2 * s), batches_of(1.0, 0.01, 2 * s + 1)]) for s in range(300)]
    assert sum(i.low <= 1 <= i.high for i in hits) >= 270       # 285 of them, but for chance
    apart = intervals.batches([batches_of(1.0, 0.01, 5), batches_of(1.0, 0.01, 6, between=.05)])
    assert apart.low < 0.9 and apart.high > 1.1, apart
    # as of one drift: nine tenths of each batch's deviation are the last one's
    loose, tight = (intervals.batches([batches_of(1.0, 0.01, s, 40, keep=k) for s in (7, 8)]) for k in (.9, 0))
    assert loose.high / loose.low > 1 + 5 * (tight.high / tight.low - 1), (loose, tight)
    one = intervals.batches([batches_of(1.0, 0.01, 5)])
    assert math.isnan(one.low) and intervals.verdict(one, least=.9) == intervals.ONE
    assert intervals.batches([[.365], [1.24], [.328]]) == intervals.ratio([.365, 1.24, .328])
    assert math.isnan(intervals.batches([[math.nan], [math.nan]]).value)


def covers():
    """of intervals of 95% that many have the truth in them, also where runs differ and batches are alike, and are of use"""
    def tried_(n, between, keep):
        wide = deterministic(4000, 99 + n)
        own = math.sqrt(1 - keep * keep)
        said = [intervals.batches([batches_of(1.0, .02 * own, 7000 * n + n * s + i, 10, .02 * between * wide[n * s + i], keep)
                                   for i in range(n)]) for s in range(400)]
        return sum(i.low <= 1 <= i.high for i in said) / len(said), statistics.median((i.high - i.low) / 2 for i in said)
    for n, between, keep, least, most in ((2, 0, 0, .95, .018), (2, .5, 0, .92, .024), (2, 0, .5, .94, .035), (2, .5, .5, .92, .045),
                                          (2, 1, 0, .84, .2), (4, 0, 0, .94, .01), (4, .5, .5, .92, .025), (4, 1, 0, .91, .04)):
        covered, half = tried_(n, between, keep)
        assert covered >= least and half <= most, (n, between, keep, covered, half)
    near(intervals.carried([batches_of(1, 1, s, 10, keep=.5) for s in range(300)]), .5, .15)


def deviations():
    """a deviation is judged by all periods of few runs, and where runs differ by the worst of them"""
    def said(*deviations_, n=20, keep=0.0):
        return intervals.deviation([[math.log(x) for x in batches_of(1.0, d, 40 + i, n, keep=keep)]
                                    for i, d in enumerate(deviations_)])
    two = said(1.0, 1.4)
    assert intervals.verdict(two, most=3) == intervals.REACHED and two.low < 1.2 < two.high, two
    assert intervals.verdict(said(2.5, 2.8), most=3) == intervals.OPEN
    assert intervals.verdict(said(6, 6), most=3) == intervals.MISSED
    far = said(.05, 1.0)
    assert intervals.verdict(far, most=3) == intervals.REACHED and far.high > 1.2, far
    assert intervals.verdict(said(.1, 6), most=3) == intervals.OPEN
    assert math.isnan(said(1.0).low)
    near(intervals.deviation([[100] * 20] * 2).value, intervals.LEAST_DEVIATION, 1e-9)
    assert said(1, 1, keep=.8).high / said(1, 1, keep=.8).low > 1.3 * said(1, 1).high / said(1, 1).low
    hits = [intervals.deviation([[math.log(x) for x in batches_of(1.0, 1.0, 2 * s + i, 20)] for i in (0, 1)]) for s in range(300)]
    assert sum(i.low <= 1 <= i.high for i in hits) >= 280
    # as a cell has it: only what was measured, of files the second half
    assert balance_cells.steady(record("hybrid", 1, batches=[1] * 2, shares=[9, 1, 2, 3, 4])) == [1, 2, 3, 4]
    assert balance_cells.steady(stepped([9, 1, 2])) == [1, 2] and balance_cells.steady(None) == []
    assert balance_cells.steady(stepped([5, 6, 1, 2], measured_periods=4)) == [5, 6, 1, 2]
    assert balance_files.settled_share(stepped([9, 1, 3], measured_periods=2)) == (2, 1)
    two = [[dict(r, batches=[r["iops"]] * 10, shares=[7] + [50, 51, 50, 49 - i] * 5) for r in cell_of(150, sd=9 * i)] for i in (0, 1)]
    assert verdict_of(two) == "reached", verdict_of(two)
    written, t = {}, [dict(t=n, share=[n]) for n in range(1, 11)]
    with mock.patch.multiple(balance_files.periods, start=mock.Mock(), stop=lambda: t, moved=lambda: 0), \
            mock.patch.object(balance_files.lab, "uptime", lambda: 1), balance_files.watched("hybrid", written, 0.01):
        pass
    assert written["measured_periods"] == 9, written


def pairs_of_batches():
    """a pool's batches are held against those of the best other volume, also where that has fewer"""
    ten = record("hybrid", 11, batches=[10, 12] * 5)
    best = record("stripe", 10, batches=[10] * 10)
    assert balance_cells.over_batches(ten, [record("writecache", 9, batches=[90] * 10), best]) == [1, 1.2] * 5
    assert balance_cells.over_batches(ten, [record("split:5", 10, batches=[11] * 5)]) == [1] * 5
    members = {"a": (record("a", 4, batches=[4] * 10), 1), "b": (record("b", 3, batches=[3] * 10), 2)}
    assert balance_cells.over_batches(ten, members) == [1, 1.2] * 5
    assert balance_cells.over_batches(None, [best]) == [] and balance_cells.over_batches(ten, []) == []
    stalls = record("writeboost", 12, batches=[0, 0, 16, 16, 0, 16, 16, 16, 20, 20])
    threes = balance_cells.over_batches(ten, [stalls, best])
    assert [round(x, 3) for x in threes] == [2, 1.063, .611], threes
    stood = balance_cells.over_batches(record("hybrid", 60, batches=[100] * 6 + [0] * 4), [record("stripe", 100, batches=[100] * 10)])
    assert stood == [1, .2], stood      # what a pool did not do at the end is not forgotten
    slowed = balance_cells.cell("nvme+sata", "mixed4k", 16, 1)
    assert balance_cells.find(balance_cells.with_cost(slowed, costly(slowed, 9, 1)[0][:1] + [dict(stalls, cpu=.1)]),
                              "writeboost")["batches"][:2] == [0, 0]
    runs = []
    for seed in (3, 4):
        records = cell_of(160)
        for r in records:
            r["batches"] = batches_of(r["iops"], 0.002, seed + len(r["device"]))
        runs.append(records)
    cell = dict(pair="a+b", load="read4k", depth=32, dilate=1, kind="fio")
    said = balance_cells.of_seeds(cell, runs, "hybrid")
    assert 0 < said["split"].high - said["split"].low < .02 and verdict_of(runs) == "reached", said["split"]
    # the deviation of two seeds' shares, of which nothing else is known
    assert not balance_cells.is_open(cell, runs) and balance_cells.is_open(cell, seeds_of(150, 150, sd=1)[:1] + seeds_of(150, sd=1.4))


def stepped(shares, step=20, **more):
    return dict(more, step_at=10.0 + step, period_ms=1000, mapped_bytes=100 << 20,
                copy=[dict(randread=200 << 20, randwrite=50 << 20), dict(randread=20 << 20, randwrite=10 << 20)],
                series=[dict(t=10.0 + i + 1, share=[x, 100 - x], requests=[x, 100 - x]) for i, x in enumerate(shares)])


def settles():
    """settling counts periods until a share stays near its final value, and what the copies take"""
    said = balance_cells.settling(stepped([80] * 20 + [70, 60, 50, 40, 30] + [30] * 30))
    assert (said["before"], said["after"]) == (80, 30)
    assert said["periods"] == 6, said           # means of three: 70 65 60 50 40 33
    near(said["copies"], 5, 0.01)               # 50 MiB at the slower one's 10 MiB/s of writes
    near(said["own"], 1, 0.01)
    back = balance_cells.settling(stepped([30] * 20 + [80] * 30))
    assert back["periods"] == 1 and back["own"] == 0, back
    near(back["copies"], 2.5, 0.01)             # read there at 20 MiB/s
    assert balance_cells.settling(stepped([80] * 20 + [30] * 10 + [60] * 3 + [30] * 30))["periods"] > 13


def whole_matrix():
    """cells have names of their own, and the quick ones are among them"""
    names = [c["name"] for c in balance_cells.every_cell()]
    assert len(set(names)) == len(names)
    assert sorted(c["name"] for c in balance_cells.cells(True)) == sorted(balance_cells.QUICK)


def bounded_periods():
    """a period is no longer than the default is on real devices, however slow they are made"""
    assert balance.period_ms(100, 1) == 2000 and balance.period_ms(100 / 4, 4) == 8000
    assert balance.period_ms(600000 / 20, 20) == 200 and balance.period_ms(1e6, 1) == 10
    cells = {c["name"]: c for c in balance_cells.every_cell()}
    for name, dilate in {"x25m+mba3073/mixed4k/1/1": 1, "x25m+mba3073/read4k/1/1": 2, "transcend16+mba3073/read4k/1/1": 1,
                         "x25m+mba3073/step-up/32/1": 1, "x25m+mba3073/gain/16/1": 1, "nvme+sata/step-up/32/1": 20}.items():
        assert cells[name]["dilate"] == dilate, name


def table_of(said, **more):
    """The words behind a policy's name in the table of a cell's pool."""
    cell = volumes.Cell(dict(dict(models=["a", "b"], dilate=1, kind="fio", load="read4k", depth=4, seed=1, name="x"), **said))
    cell.data, cell.period_ms = 1 << 20, 300
    cell.__dict__.update(more)
    tables_, nothing = [], contextlib.nullcontext
    with mock.patch.multiple(volumes, meta_disk=lambda _: nothing("/dev/m"), disks=lambda _: nothing(["/dev/a", "/dev/b"]),
                             mapped=lambda _, table: nothing(tables_.append(table))), volumes.hybrid(cell, "wardrop"):
        pass
    words = tables_[0].split(" wardrop ")[1].split()
    assert int(words[0]) == len(words) - 1, words
    return dict(zip(words[1::2], words[2::2]))


def resting():
    """a pool has come to rest when its share stays, for all the noise there is in that, and not while it moves"""
    noise = [0.6, -0.9, 0.3, -0.5, 0.8, -0.2, -0.7, 0.5, 0.1, -0.4]
    assert balance_cells.rests([50 + x for x in noise]) and balance_cells.rests([90] * 7 + [97] * 10)
    assert not balance_cells.rests([97] * 9) and not balance_cells.rests([])
    assert not balance_cells.rests([70 + 0.3 * i for i in range(40)]) and not balance_cells.rests([90] * 4 + [97] * 9)


def tried(best, share, does):
    """The fixed shares that are tried about a pool's, and what they do by the distance from @best."""
    seen, looked = {}, {p: does(abs(p - best)) for p in balance_cells.LOOKED}
    while (p := balance_cells.next_split(seen, share, looked)) is not None:
        assert p not in seen and 0 <= p <= 100 and len(seen) < 9
        seen[p] = does(abs(p - best))
    return seen


def bracketed():
    """six fixed shares find one that does all that can be done but a hundredth or so, wherever that and the pool are"""
    for best, share in itertools.product(range(0, 101, 5), range(0, 101, 7)):
        for does, least in ((lambda x: 1 - (x / 60) ** 2, .985), (lambda x: 1 - x / 200, .97)):
            seen = tried(best, share, does)
            assert len(seen) <= 6 and round(share) in seen
            assert max(seen.values()) > least, (best, share, seen)


def watched():
    """what is measured begins after the periods before, is cut into batches by the clock, and is what fio has done"""
    clock, done = [100.0], [0.0]

    def pass_(seconds):
        clock[0] += seconds
        done[0] += seconds * 1000
    slow = mock.Mock(monotonic=lambda: clock[0], sleep=pass_)
    watch = mock.Mock(now=lambda: (clock[0], done[0]), requests=lambda: done[0], first=done[0])
    shares = [10] * 15 + [30] * 45 + [50] * 60
    so_far = mock.Mock(side_effect=lambda: [dict(share=[x, 100 - x]) for x in shares[:round((clock[0] - 100) / 2)]])
    with mock.patch.multiple(balance, time=slow), mock.patch.object(balance.periods, "so_far", so_far):
        assert balance.warm_up("split", clock[0], 2, None) == 2 and clock[0] == 104
        assert balance.warm_up("bcache", 100, 2, lambda: 4) == 40 and clock[0] == 180
        # one that is slow, and one that is slower than that
        clock[0] = 100
        assert balance.warm_up("writecache", 100, 2, lambda: 4 * (clock[0] - 100) / 178) == 90 and clock[0] == 280
        clock[0] = 100
        assert balance.warm_up("cache", 100, 2, lambda: 1) == 120 and clock[0] == 340
        clock[0] = 100
        assert balance.warm_up("hybrid", 100, 2, None) == 25 and clock[0] == 150
        shares[:] = range(200)
        clock[0] = 100
        assert balance.warm_up("hybrid", 100, 2, None) == 80 and clock[0] == 260
        rates, iops = balance.batches_of(watch, 2, 10)
    assert len(rates) == 10 and clock[0] == 300
    near(iops, 1000, 1e-9)
    near(min(rates), max(rates), 1e-9)
    watch.first = done[0] - 5000
    for said, good in ((5000, True), (4000, False)):
        try:
            balance.Watch.kept_to(watch, dict(read=dict(total_ios=said), write=dict(total_ios=0)))
            assert good
        except SystemExit:
            assert not good


def as_slow():
    """what a pool and bcache do by the clock is as many times slower as their devices, or there in a cell at all"""
    plain = dict(period_ms="300", cooldown_ms="1500")
    assert table_of({}) == plain
    assert table_of({"dilate": 20}) == {**plain, "migrate_kbps": "6553", "commit_ms": "20000"}
    few = next(c for c in balance_cells.every_cell() if "/candidates/" in c["name"])
    assert table_of(few)["candidates"] == "256" and int(few["words"].split()[1]) < balance.DATA >> 16
    assert max(n for _, *more in balance_cells.PAIRS.values() for n in more) * volumes.COMMIT_MS <= 60000
    delays = [volumes.writeback_delay(mock.Mock(dilate=n, warm_s=s)) for n, s in ((20, 9), (60, 9), (1, 9), (1, 120), (1, None))]
    assert delays == [1, 0, 0, 30, 30], delays


def whole_extents():
    """what was moved is counted in extents of the size the cell has"""
    emulated = balance_cells.cell("nvme+sata", "read4k", 4, 1)
    real = next(balance_cells.on_devices(["/dev/a", "/dev/b"], 1 << 30, 2000))
    counts = [balance.extents(10 << 17, volumes.Cell(c)) for c in (emulated, real)]
    assert counts == [20, 10], counts


def all_rivals():
    """a cell of every kind has all six rivals, makes them, and none is left out of what is best or absent"""
    six = {"stripe", "cache:writeback", "cache:writethrough", "writecache", "bcache:writeback", "writeboost"}
    assert {kind: set(some) for kind, some in balance_cells.WANTED.items()} == dict.fromkeys(("fio", "dbench", "netmix"), six)
    assert set(policies_cells.WANTED) == six and all(d.startswith(policies_cells.RIVALS) for d in six)
    assert all(d.startswith(balance_cells.RIVALS) for d in six)
    cell = volumes.Cell(balance_cells.cell("x25m+mba3073", "netmix", 10, 1))
    with mock.patch.object(volumes, "boost_loaded", lambda: True):
        for made in (balance.every_volume(cell), balance_files.every_volume(cell), policies.every_volume(cell, "plain", {}),
                     policies.every_volume(cell, "rivals", {})):
            made = {name for name, _ in made}
            assert six - made in (set(), {"stripe"}) or made & six == {"stripe"}, made


def nine_loads():
    """loads read or mix, of 4 or 16 KiB, uniform or Zipf, or stream; each is known to what measures"""
    assert set(balance_cells.LOADS) == set(balance.LOADS) and len(balance_cells.LOADS) == 9
    known = {(j["rw"], j["bs"], "random_distribution" in j): name for name, j in balance.LOADS.items()}
    assert len(known) == 9 and {n for (rw, _, _), n in known.items() if rw != "randrw"} == set(balance_cells.READING)


def key_set():
    """the key set has each pair with each depth once, five loads a pair and seven a depth, and two seeds of each cell or three"""
    square = list(balance_cells.square())
    assert len(square) == 35 and len({(p, d) for p, _, d in square}) == 35
    for i, n in ((0, 5), (2, 7)):
        for what in {c[i] for c in square}:
            assert len({c[1] for c in square if c[i] == what}) == n == len([c for c in square if c[i] == what])
    cells = balance_cells.cells(False, True)
    names = {c["name"] for c in cells}
    assert len(names) == len(cells) and {c["load"] for c in cells} >= set(balance_cells.LOADS)
    assert names <= {c["name"] for c in balance_cells.every_cell()} and len(names) == 143
    assert {f"{p}/{load}/{d}/{s}" for p, load, d in square for s in (1, 2)} <= names
    of = {kind: len([c for c in cells if c["kind"] == kind]) for kind in ("netmix", "dbench", "transition", "step", "gain")}
    assert of == dict(netmix=21, dbench=21, transition=3, step=18, gain=2), of
    assert {"mem+nvme/read4k/64/2", "x25m+mba3073/stream128k/32/1", "memoright32+mba3073/mixed4k/32/1"} <= names
    assert sum(c.get("presets", False) for c in cells) == sum(c["seed"] == 1 and c["kind"] != "gain" for c in cells)
    same = {c["name"]: c for c in balance_cells.every_cell()}
    assert all(c.get("presets", False) == same[c["name"]]["presets"] for c in cells if c["name"] in same)
    said = balance_cells.part_of_all(names, {"nvme+sata/read4k/1/1", "nvme+sata/read4k/1/4"})
    assert said.startswith(f"2 of {len(cells)} cells") and "these are 1, and 1 are seeds beyond it" in said, said


def near_the_aim():
    """of cells with a bound that is left open more seeds are asked for, of others none, nor of ones that lack a seed"""
    def more(cells, some):
        return [c["name"] for c in balance_cells.more_seeds(list(zip(cells, some)))]
    cells = [balance_cells.cell("nvme+sata", "read4k", 4, s) for s in (1, 2)]

    def some_of(*rates, sd=(1.0, 1.0)):
        return [[dict(r, cpu=0) for r in cell_of(rate, sd=x)] for rate, x in zip(rates, sd)]
    both = ["nvme+sata/read4k/4/3", "nvme+sata/read4k/4/4"]
    assert more(cells, some_of(160, 190)) == both       # far from any bound, and open
    assert more(cells, some_of(160, 160, sd=(1, 2))) == both
    assert not more(cells, some_of(150, 150)) and not more(cells[:1], some_of(160)) and not more(cells, some_of(136, 136))
    # the mix has targets of its own, and a step has nothing else
    mixes = [balance_cells.cell("x25m+mba3073", "netmix", 10, s) for s in (1, 2, 3)]

    def mixed(ms):
        return [dict(r, mean_ms=ms if r["device"] == "hybrid" else 2.0) for r in cell_of(160)]
    assert more(mixes, [mixed(x) for x in (1.3, 1.4, 1.5)]) == ["x25m+mba3073/netmix/10/4"]
    assert not more(mixes, [mixed(1.3)] * 3) and not more(mixes, [mixed(1.3), mixed(1.5)])
    steps = [c for c in balance_cells.every_cell() if c["name"].startswith("x25m+mba3073/step-speed/16/")]

    def step_of(n):
        return [stepped([80] * 20 + [30] * n + [60] + [30] * 30, device="hybrid", iops=100), record("split:15", 90)]
    assert len(steps) == 3 and more(steps, [step_of(n) for n in (1, 1, 20)]) == ["x25m+mba3073/step-speed/16/4"]
    assert not more(steps, [step_of(1)] * 3)
    rates = balance_cells.final_batches(stepped([80] * 60)["series"])
    assert len(rates) == 10 and set(rates) == {100}


def other_seeds_go():
    """--key --again forgets the further seeds of the cells that are chosen, too"""
    gone = []
    args = mock.Mock(devices=None, quick=False, key=True, only=["nvme+sata/read4k/1/"], again=True)
    with tempfile.TemporaryDirectory() as out, mock.patch.object(by_cells, "OUT", out), \
            mock.patch.multiple(balance_main, measure=mock.Mock(), show_balance=mock.Mock()), \
            mock.patch.object(by_cells, "forget", gone.extend):
        balance_main.balance(args, "6.1")
        assert {os.path.basename(p) for p in gone} == {f"nvme+sata_read4k_1_{s}.jsonl" for s in (1, 2, 3, 4)}, gone
        gone.clear()
        args.key = False
        balance_main.balance(args, "6.1")
        assert {os.path.basename(p) for p in gone} == {f"nvme+sata_read4k_1_{s}.jsonl" for s in (1, 2)}, gone


def concentrated():
    """loads of atsmf have most of their accesses on a few sub-LUNs, and writes in the proportions of table 1"""
    for name, spec in atsmf_loads.LOADS.items():
        requests = list(atsmf_loads.requests(name, 3))
        assert atsmf_loads.part_of_few(name, 3) > 0.5, name
        near(sum(r[1] for r in requests), spec["writes"] * len(requests), 0.03 + 4 / (len(requests) * spec["writes"]) ** 0.5)
        assert all(a[0] <= b[0] for a, b in zip(requests, requests[1:])), name
        assert all(o // atsmf_loads.UNIT == (o + n - 1) // atsmf_loads.UNIT and o + n <= spec["volume"]
                   for _, _, o, n in requests), name
    assert list(atsmf_loads.requests("VDI", 1)) != list(atsmf_loads.requests("VDI", 2))


def event(action, t, sector, length=4096):
    return blktrace.EVENT.pack(blktrace.MAGIC | 7, 0, t, sector, length, action | 1 << 16, 1, 0, 0, 0, 3) + b"pdu"


def traced_times():
    """response times come out of a trace by sector, also of requests that overtake each other"""
    queued, completed = blktrace.QUEUED, blktrace.COMPLETED
    with tempfile.NamedTemporaryFile() as f:
        f.write(event(queued, 5, 0, 0) + event(queued, 10, 8) + event(queued, 20, 16) + event(completed, 25, 16)
                + event(queued, 30, 8) + event(completed, 40, 8) + event(completed, 70, 8) + event(queued, 80, 24))
        f.flush()
        assert blktrace.response_times(f.name) == ([(20, 5), (10, 30), (30, 40)], 1)


def merged():
    """requests that were merged end together, and with no other one that lies there"""
    queued, completed = blktrace.QUEUED, blktrace.COMPLETED
    with tempfile.NamedTemporaryFile() as f:
        f.write(event(queued, 1, 0) + event(queued, 2, 16, 8192) + event(queued, 3, 8) + event(queued, 4, 8, 65536)
                + event(completed, 10, 0, 16384) + event(completed, 20, 8, 65536))
        f.flush()
        assert blktrace.response_times(f.name) == ([(1, 9), (3, 7), (2, 8), (4, 16)], 0)


def replayed(counts, script="exec sleep 100", look=0.001):
    """Whether a replay of three requests counts as done: what its device has counted at each look, the last for ever."""
    counts = itertools.chain(counts, itertools.repeat(counts[-1]))
    known = dict(sysfs=lambda *_: os.devnull, counted=lambda _: next(counts), LOOK=look, STUCK=9)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        with open(os.path.join(folder, "btreplay"), "w", opener=lambda *x: os.open(*x, mode=0o755), encoding="ascii") as f:
            f.write("#!/bin/sh\n" + script)
        stack.enter_context(mock.patch.dict(os.environ, PATH=folder + ":" + os.environ["PATH"]))
        stack.enter_context(mock.patch.multiple(atsmf, **known))
        stack.enter_context(mock.patch.object(atsmf.lab, "uptime", itertools.count().__next__))
        try:
            atsmf.btreplay("/dev/x", 3)
        except SystemExit:
            return False
        return True


def replays():
    """a replay is over when its device has ended every request, however it dawdles, and fails when one is missing"""
    assert replayed([(7, 0), (8, 1), (10, 0)])
    assert replayed([(7, 0)] * 5 + [(8, 0)] * 5 + [(10, 1)] * 5 + [(10, 0)])
    assert not replayed([(7, 0), (9, 0)])
    assert not replayed([(7, 0), (10, 1)])
    assert not replayed([(7, 0), (11, 0)])
    # one that ends is waited for, however long it takes to begin
    assert replayed([(7, 0), (10, 0)], "exit 0", look=60) and not replayed([(7, 0), (10, 0)], "exit 1", look=60)


def whole_traces():
    """a trace that lacks a request, or its end, makes no record"""
    queued, completed = blktrace.QUEUED, blktrace.COMPLETED
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "t"), "wb") as f:
            f.write(event(queued, 1000, 0) + event(queued, 2000, 8) + event(completed, 5000, 8))
        for expected, fails in ((1, False), (2, True)):
            said = dict(device="ssd", trace="t")
            try:
                assert atsmf_traces.reduce(said, folder, expected, None) == 3000 and said["mean_us"] == 3
            except SystemExit:
                assert fails
            else:
                assert not fails


def undisturbed():
    """of rounds that others make longer what a tenth stay below is near what they took alone, with its interval"""
    assert report.low(range(1, 101))[:3] == (10, 5, 17) and report.low(range(1, 37))[:3] == (4, 1, 8)
    assert report.low([3, 1, 2]).value == 1 and math.isnan(report.low(range(35)).low)
    rows = [dict(device="d", rw="read", threads=t, ns=100, waited=0, count=1) for t in (1, 2) for _ in range(10)]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        report.scaling(rows)
    assert said.getvalue().count("(no interval)") == 3, said.getvalue()


def figures_of(slow=None, mail=6000, rate=10.0):
    """scmfs takes 0.9 of tmpfs's time everywhere but for one way and length."""
    rows = [dict(what="records", fs=fs, way=way, bytes=n, huge=huge, faults=1,
                 ns=1000 if fs == "tmpfs" else 1001 if (way, n) == slow else 900)
            for fs in ("tmpfs", "scmfs") for way in scmfs_figures_loads.WAYS for n in (64, 1 << 20) for huge in (True, False)
            if huge or "mmap" in way]
    rows += [dict(what="mail", fs=fs, files=1, round=0, ns=ns) for fs, ns in (("scmfs", 1000), ("ext4", mail))]
    rows += [dict(what="postmark", fs=fs, kind=kind, files=1, transactions=100, seconds=s)
             for fs, s in (("tmpfs", 10.0), ("scmfs", rate)) for kind in ("read", "write")]
    return rows


def figures_missed(records):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        ok = scmfs_figures_report.show(records, tables.table, tables.target)
    missed = [line.split(": ")[1] for line in said.getvalue().splitlines() if line.startswith("MISSED")]
    assert ok == (not missed), said.getvalue()
    return missed


def figures():
    """scmfs's figures name each target that is missed, with the record it is worst at"""
    assert figures_missed(figures_of()) == []
    (text,) = figures_missed(figures_of(slow=("random read", 1 << 20)))
    assert text.endswith("(random read 1M)"), text
    assert len(figures_missed(figures_of(mail=4900))) == 1
    assert len(figures_missed(figures_of(rate=10.1))) == 2
    alone = [r for r in figures_of() if r["what"] != "mail" or r["fs"] == "scmfs"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert not scmfs_figures_report.show(alone, tables.table, tables.target)
    assert "not measured: mail on ext4" in said.getvalue()


def mount_times():
    """how long a mount takes is judged without struct pages, and said so, with the whole beside it"""
    mounts = [dict(tool="mount", state=s, size="16G", files=9, ms=ms, pages_ms=233.0)
              for s, ms in (("clean", 235.0), ("crash", 1300))]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert scmfs_report.show_mounts(scmfs_report.Cells(mounts), tables.table, tables.target) == [True, False]
    assert "met: ms to mount 16G with 9 files, clean, without struct pages (235.00 with them): 2.00" in said.getvalue()


def parts_of_nameless():
    """what was measured of the emulated SSD is shown, also when that is one part of it"""
    memory = dict(what="memory", ftl="page", mib=64, taken_kib=110, data_kib=90, oob_kib=9, tables_kib=1, flash_kib=100)
    logs = [dict(what="log", percent=p, iops=p, shares=dict.fromkeys(nameless_report.PARTS, 0.1)) for p in (20, 50)]
    model = [dict(what="amplification", gc="greedy", overprovisioning=0.1, got=5.0, expected=5.0, off=0.0)]
    for records in ([memory], logs, []):
        axes = mock.Mock(flat=[mock.MagicMock() for _ in range(16)])
        with contextlib.redirect_stdout(io.StringIO()) as said, \
                mock.patch.object(nameless_report.plt, "subplots", return_value=(mock.Mock(), axes)):
            ok = nameless_report.show(records, model, tables.table, tables.target, "x.png")
        assert ok == (records != [memory]) and "greedy at 10%" in said.getvalue(), said.getvalue()


def sizes_of_metadata():
    """dm-cache's metadata is as large as the fast device wants it, and never smaller than it was"""
    made = []
    lab_of = mock.Mock(size=lab.size, emudisk=lambda *args: made.append(args), sectors=lambda dev: int(dev))
    cell = mock.Mock(devices=None, data=4 << 30)
    with mock.patch.object(volumes, "lab", lab_of):
        for gib in (1, 1024):
            with volumes.meta_disk(cell, volumes.cache_metadata(str(gib << 21))):
                pass
        with volumes.meta_disk(cell):
            pass
    assert [a[2] for a in made] == ["16M", "516M", "16M"], made


def figure_cells():
    """a record is never longer than its file, and a file is all of the least ones"""
    for quick in (True, False):
        assert all(scmfs_figures_loads.file_bytes(n) % n == 0 and scmfs_figures_loads.file_bytes(n) // n > 3
                   for n in scmfs_figures_loads.sizes(quick))
    assert {load for load, _ in scmfs_figures_loads.CELLS.values()} == {
        "records", "postmark", "dbench", "mail", "aged", "counters", "threads"}


POSTMARK = """Time:
\t125 seconds total
\t100 seconds of transactions (50 per second)

Files:
\t7491 created (59 per second)
\t\tCreation alone: 5000 files (5000 per second)

Data:
\t1.50 megabytes read (12.29 kilobytes per second)
\t512.00 kilobytes written (4.10 kilobytes per second)
"""


def postmark():
    """postmark's time of transactions and what it moved are taken from its report, and nothing from another text"""
    assert policies_loads.parse_postmark(POSTMARK) == dict(seconds=100, read=1.5 * (1 << 20), written=512 * 1024)
    for text in ("", POSTMARK.replace("of transactions", ""), POSTMARK.replace("written", "")):
        try:
            policies_loads.parse_postmark(text)
        except SystemExit:
            continue
        raise AssertionError("taken for a result: " + text)


def policies_of(load, pair, rates, seed=1):
    """Records by group, as cells have them."""
    cell = {"name": load, "load": load, "pair": pair, "seed": seed}
    return [(cell, [record(device, rate, mean_ms=1.0) for device, rate in some.items()]) for some in rates]


def policies_targets():
    """the policies' report misses a gain, a rival and the extent cache where they fall short, and nothing else"""
    good = {"stripe": 100, "2 disks": 150, "hybrid:migration-1": 141, "hybrid:migration-2": 160, "cache:writeback": 160,
            "cache:writethrough": 120, "writecache": 120, "bcache:writeback": 120, "writeboost": 120, "hybrid:migration-2+cache": 158}
    cases = [({}, []), ({"hybrid:migration-1": 139}, ["hybrid:migration-1 / stripe"]),
             ({"cache:writeback": 165}, ["cache:writeback"]), ({"hybrid:migration-2+cache": 155}, ["0.97 (0.97 to 0.97)"])]
    for change, missed in cases:
        rates = {**good, **change}
        # in two machines
        first = {d: r for d, r in rates.items() if not d.startswith("hybrid")}
        measured = policies_cells.together([x for seed in (1, 2) for x in policies_of(
            "sfs", policies_cells.PAPERS[0], [first, rates], seed)])
        (runs,) = measured.values()
        assert len(runs) == 2 and len(runs[0]) == len(rates), runs
        text, ok = policies_report.report(measured)
        bad = [line for line in text.splitlines() if "missed" in line]
        assert ok == (not missed) and len(bad) == len(missed), text
        assert all(m in line for m, line in zip(missed, bad)), bad


def policies_unsure():
    """nor is a gain reached by one seed, or a rival by its absence"""
    rates = {"stripe": 100, "2 disks": 150, "hybrid:migration-1": 200, "cache:writeback": 160, "cache:writethrough": 120,
             "writecache": 120, "bcache:writeback": 120}
    for seeds, expected in (((1,), "one seed: no verdict"), ((1, 2), "not measured (without writeboost)")):
        text, ok = policies_report.report(policies_cells.together(
            [x for seed in seeds for x in policies_of("sfs", policies_cells.PAPERS[0], [rates], seed)]))
        assert not ok and expected in text, text


def policies_matrix():
    """cells of the policies have names and volumes of their own, and the quick ones are among them"""
    cells = list(policies_cells.every_cell())
    names = [c["name"] for c in cells]
    assert len(set(names)) == len(names)
    assert sorted(c["name"] for c in policies_cells.cells(True)) == sorted(policies_cells.QUICK)
    keys = {(c["load"], c["pair"]) for c in cells}
    assert {(load, pair) for load, pair, _ in {**policies_cells.PAPER, **policies_cells.PAPER_DISKS}} <= keys


def policies_resume():
    """what a machine measured before it was ended is kept, once, and its volumes are not measured again"""
    with tempfile.TemporaryDirectory() as folder:
        raw, part = os.path.join(folder, "raw"), os.path.join(folder, "part")
        assert balance_cells.keep(raw, part) == []
        for device in ("stripe", "2 disks"):
            with open(raw, "w", encoding="utf-8") as f:
                f.write(json.dumps(record(device, 100)) + "\n")
            said = balance_cells.keep(raw, part)
            assert said[-1] == device and not os.path.exists(raw)
        assert balance_cells.keep(raw, part) == ["stripe", "2 disks"]
        os.rename(part, raw)
        policies_cells.forget_volumes(raw, part, ["stripe"])
        assert balance_cells.keep(raw, part) == ["2 disks"] and not os.path.exists(raw)


def in_pieces():
    """a cell of the balance goes on in another machine with what one that was ended has not done, and with its periods"""
    asked = []

    def machine_of(ends, volumes_):
        def run(_, __, ___, said, record, seconds):
            assert seconds <= 25 * 60
            said = json.loads(said)
            asked.append(said)
            todo = [v for v in volumes_ if v not in said["done"]][:2]
            with open(os.path.join(by_cells.OUT, record + ".jsonl"), "w", encoding="utf-8") as f:
                f.writelines(json.dumps(record_of(v)) + "\n" for v in todo if v != "never")
            if len(asked) <= ends:
                raise balance_main.machine.OutOfTime("it is over")
        return run

    def record_of(device):
        return record(device, 100, period_ms=170, share=60.5)
    names = ["alone:a", "hybrid", "split:60", "stripe", "writecache"]
    with tempfile.TemporaryDirectory() as out, mock.patch.object(by_cells, "OUT", out):
        path = os.path.join(by_cells.folder("balance-6.1"), "x.jsonl")
        cell = balance_cells.cell("nvme+sata", "read4k", 4, 1)
        with mock.patch.object(balance_main.machine, "run", machine_of(2, names)):
            balance_main.measure_cell(cell, path, "6.1", None)
        assert [r["device"] for r in balance_cells.read(path)] == names and not os.path.exists(path + by_cells.PART)
        assert [len(a["done"]) for a in asked] == [0, 2, 4] and [a["period_ms"] for a in asked] == [None, 170, 170]
        assert asked[1]["done"]["hybrid"] == dict(rate=100, share=60.5)
        os.remove(path)
        asked.clear()
        with mock.patch.object(balance_main.machine, "run", machine_of(9, ["stripe", "never"])):
            try:
                balance_main.measure_cell(cell, path, "6.1", None)
                raise AssertionError("a volume that takes longer than a piece is tried for ever")
            except balance_main.machine.OutOfTime:
                assert len(asked) == 2
    end = stepped([80] * 20 + [30] * 40, device="hybrid", iops=5)
    assert balance_cells.done([end, dict(device="x", mbps=3)]) == dict(hybrid=dict(rate=5, share=30), x=dict(rate=3, share=None))


def not_again():
    """a volume that a machine before has measured is not made, and the shares that are tried follow from it"""
    cell = volumes.Cell(dict(balance_cells.cell("nvme+sata", "read4k", 4, 1), done={"hybrid": dict(rate=90, share=30)}))
    made = []
    with mock.patch.object(balance, "measured", lambda out, fio, name, _: made.append(name) or dict(iops=9)), \
            mock.patch.object(volumes, "boost_loaded", lambda: True):
        balance.balance_fio(mock.Mock(), cell, mock.Mock(cell=cell))
    assert "hybrid" not in made and set(made) >= {"split:30", "look:0", "look:75", "stripe", "alone:nvme"}, made


def like_pools():
    """caches have asked for all there is four times before they are measured, also slow ones, and bcache is never congested"""
    assert set(balance.CACHES) == {name.split(":")[0] for name in balance_cells.WANTED["fio"] if name != "stripe"}
    assert balance.CACHE_WARM[0] * balance.PERIOD >= balance.ASKED * balance.DATA / 4096
    # as fast as memoright32, whose periods are as long as they get
    assert balance.CACHE_WARM[1] * balance.LONGEST / 1e3 * 370 >= balance.ASKED * balance.DATA / 4096
    assert max(balance.BATCHES.values()) * balance.BATCH == 20 and balance.POOL_WARM[0] >= balance_cells.STILL
    written = {}
    with mock.patch.multiple(volumes, put=written.__setitem__, lab=mock.Mock(**{"run.return_value": "Set UUID: u"})):
        with volumes.bcache_on("/dev/f", "/dev/s", "writeback", delay=1) as dev:
            assert dev == "/dev/bcache0" and written["/sys/block/bcache0/bcache/writeback_delay"] == "1"
    assert [written[f"/sys/fs/bcache/u/congested_{way}_threshold_us"] for way in ("read", "write")] == ["0", "0"]


def rows_say():
    """a row says with what it was measured, and another source or another kernel is another code, another report is not"""
    with tempfile.TemporaryDirectory() as top, mock.patch.multiple(revisions, TOP=top, HERE=top):
        def code_with(name, text):
            os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
            with open(os.path.join(top, name), "w", encoding="utf-8") as f:
                f.write(text)
            return revisions.code()
        assert len({code_with(*x) for x in (("drivers/a.c", "1"), ("drivers/a.c", "2"), ("include/b.h", "2"),
                                            ("balance.py", ""), ("balance.py", "1"))}) == 5
        assert len({revisions.code()} | {code_with(*x) for x in (("x_report.py", ""), ("drivers/a.mod.c", ""))}) == 1
    meta = revisions.meta("6.1")
    assert set(meta) == {"revision", "code", "kernel"} and revisions.of(meta) != revisions.of(revisions.meta("6.12"))
    with mock.patch.dict(os.environ, BENCH_META=json.dumps(meta)):
        out = lab.Out(os.devnull)
    out.meta["cell"] = {"depth": 4}
    out.add((8, 2), device="x", iops=1)
    said = json.loads(out.lines[0])
    settings = dict(release=os.uname().release, cell={"depth": 4}, warm_s=8, measured_s=2)
    assert said["iops"] == 1 and said["meta"] == {**meta, **settings}
    out.add(device="x", seconds=2.5, loaded="y")     # fields like any other
    assert {**json.loads(out.lines[1]), "meta": 0} == dict(device="x", seconds=2.5, loaded="y", meta=0)


def no_mixing():
    """rows of another code or kernel, or of none that is known, are neither shown nor added to before that is asked for"""
    def row(**meta):
        return json.dumps(dict(device="x", meta=dict(revision="r", code="c", kernel="6.1", **meta)))
    with tempfile.TemporaryDirectory() as out, mock.patch.object(by_cells, "OUT", out), \
            mock.patch.object(revisions, "meta", lambda kernel: dict(revision="now", code="c", kernel=kernel)):
        old, new = (os.path.join(by_cells.folder("x"), n) for n in ("old", "new"))

        def measure(text, *options, kernel="6.1"):
            with open(old, "w", encoding="utf-8") as f:
                f.write(text + "\n")
            try:
                return by_cells.to_measure([old, new], by_cells.parser("x").parse_args(options), kernel)
            except SystemExit as end:
                assert "--mixed" in str(end)
                return None
        assert measure(row()) == [new] and measure(row(), "--report") == []
        strange = json.dumps(dict(device="x"))
        for text, kernel in ((row(), "6.12"), (strange, "6.1"), (row() + "\n" + strange, "6.1")):
            assert measure(text, kernel=kernel) is None and measure(text, "--mixed", kernel=kernel) == [new]
        assert measure(strange, "--report") == [] and measure(row() + "\n" + strange, "--report") is None
        assert "Rows are of 2 revisions: r (code c, kernel 6.1), unknown" in revisions.line(by_cells.read(old))


def real_devices():
    """on real devices rows of other devices, another kernel, other data or periods are other cells"""
    def args(data, period, devices=("/dev/a", "/dev/b")):
        return mock.Mock(data=data << 20, period=period, devices=devices)

    def names(some):
        return {c["name"] for c in balance_cells.on_devices(some, 1 << 30, 2000)}
    folders = {balance_main.folder_of(args(*x), "6.1") for x in ((4096, 2000), (1024, 2000), (4096, 500))}
    assert len(folders) == 3 and all(os.uname().release in f for f in folders)
    assert not names(["/dev/a", "/dev/b"]) & names(["/dev/mapper/a", "/dev/b"])


def forgotten():
    """--again forgets the cells that are chosen, with what was left of them, and no others; --report forgets nothing"""
    with tempfile.TemporaryDirectory() as out, mock.patch.object(by_cells, "OUT", out):
        folders = [by_cells.folder("policies-" + kernel) for kernel in ("6.1", "6.12")]
        paths = [os.path.join(folder, cell) for folder in folders for cell in ("a_1.jsonl", "b_1.jsonl")]
        assert len({by_cells.raw(p) for p in paths}) == 4
        assert len({atsmf.trace_name(by_cells.raw(p), "tier, half of it") for p in paths}) == 4
        left = [p + end for p in paths for end in ("", by_cells.PART)] + [by_cells.raw(p) for p in paths]
        for path in left + [os.path.join(folders[0], "report.md")]:
            with open(path, "w", encoding="utf-8"):
                pass
        by_cells.forget(paths[:1])
        assert {p for p in left if not os.path.exists(p)} == {paths[0], paths[0] + by_cells.PART, by_cells.raw(paths[0])}
        by_cells.folder("policies-6.1")
        assert os.path.exists(os.path.join(folders[0], "report.md")) and os.path.exists(paths[1])
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        by_cells.parser("x").parse_args(["--again", "--report"])
        raise AssertionError("--again --report is taken")


def names_of(nameless=46000, hybrid=1000, table=250, wear=40000, seconds=0.4):
    """Records of the nameless FTL's measurements, all targets met."""
    part = dict.fromkeys(names_report.PARTS, 0.1)
    common = dict(cpu=0.2, disturbed=0, amplification=1.2, shares=part, count=1280, moved=640)
    writes = [dict(common, what="writes", rw="randwrite", ftl=f, iops=r)
              for f, r in (("page", 46000), ("hybrid", hybrid), ("nameless", nameless))]
    worn = [dict(what="wear", load=load, ftl=f, iops=r, wear=0, gc=0, erases=0, told=0, pointers=0, most=0, bad=0)
            for load in names_loads.HOT for f, r in (("page", 40000), ("nameless", wear))]
    image = dict(what="table", image="100 GB ext4", validity=1)
    maps = [dict(image, ftl="page", bytes=102400 << 10), dict(image, ftl="hybrid", bytes=11264 << 10),
            dict(image, ftl="nameless", how="dense", files=1, metadata=1, bytes=table << 10)]
    return writes + worn + maps + [dict(what="recovery", writes=0, blocks=1, scan_ns=1e8, client_ns=1e8, total_ns=seconds * 1e9, wrong=0)]


def names_missed(**records):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        ok = names_report.show(names_of(**records), tables.table, tables.target)
    missed = [line for line in said.getvalue().splitlines() if line.startswith("MISSED")]
    assert ok == (not missed), said.getvalue()
    return missed


def names_targets():
    """the nameless FTL's report misses what is too slow, too large or too late, and only that"""
    assert not names_missed()
    for records, words, times in ((dict(nameless=43000), "page over nameless", 1), (dict(hybrid=4700), "10 times hybrid", 1),
                                  (dict(table=300), "of hybrid's", 1), (dict(wear=36000), "below page", 2),
                                  (dict(seconds=1.6), "recovery", 1)):
        missed = names_missed(**records)
        assert len(missed) == times and all(words in line for line in missed), missed


def names_cells():
    """cells of the nameless FTL have a kind of their own, and the quick ones are among them"""
    cells = names_loads.every_cell()
    assert {c["what"] for c in cells.values()} == {"writes", "range", "sync", "mix", "wear", "tables", "recovery"}
    assert all(any(q in name for name in cells) for q in names_loads.QUICK)


def counted_images():
    """a counted image has ext3's indirect blocks, its files are those of the distribution, and it is full"""
    assert [names_images.indirect(n) for n in (12, 13, 12 + 1024, 12 + 1025, 12 + 2048, 12 + 2049)] == [0, 1, 1, 3, 3, 4]
    assert names_images.indirect(12 + 1024 + (1 << 20) + 1) == 1 + 1 + 1024 + 3
    sizes = list(names_images.sizes(4 << 30, 1))
    assert sum(max(1, s) for s in sizes) == 4 << 30
    near(sorted(sizes)[len(sizes) // 2], 2.718281828 ** names_images.MU, 0.1)
    ext3, ext4 = (names_images.counted("4 GB", 4 << 30, kind) for kind in ("ext3", "ext4"))
    assert ext3["files"] == ext4["files"] == len(sizes) and ext4["metadata"] < ext3["metadata"] < ext3["data"]


def nfs_mix():
    """netmix --mix nfs has SPECsfs's proportions of what an NFS server is asked"""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        common = [sys.argv[1], "--directory", folder, "--seed", "3", "--mix", "nfs"]
        subprocess.run([*common, "--setup", "1"], check=True)
        said = json.loads(subprocess.run([*common, "--phases", "1:1"], check=True, stdout=subprocess.PIPE,
                                         text=True).stdout)
    kinds = {k: n for k, (n, _) in said["phases"][0]["kinds"].items()}
    for kind, percent in dict(LOOKUP=41, READ=18, GETATTR=11, READDIR=11, WRITE=9, COMMIT=5).items():
        near(100 * kinds[kind] / sum(kinds.values()), percent, 0.06)
    assert kinds["RENAME"] == 0 and kinds["CREATE"] > 0


def main():
    tests = (postmark, policies_targets, policies_unsure, policies_matrix, policies_resume, in_pieces, not_again, like_pools,
             forgotten, rows_say, no_mixing, real_devices, nfs_mix, netmix_proportions, verdicts, with_processor, unsure,
             other_targets, steps_reach, without_rivals, whole_report, with_intervals, by_batches, covers, deviations, other_seeds_go, pairs_of_batches, settles,
             whole_matrix, bounded_periods, as_slow, resting, bracketed, watched, whole_extents, all_rivals, nine_loads,
             key_set, near_the_aim, concentrated, traced_times, merged, replays, whole_traces, undisturbed, figures,
             mount_times, parts_of_nameless, sizes_of_metadata, figure_cells, names_targets, names_cells, counted_images)
    failed = 0
    print("KTAP version 1")
    for n, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {n} - {test.__doc__}")
        except Exception:      # whatever it is, it is this test's
            print("# " + traceback.format_exc().replace("\n", "\n# "))
            print(f"not ok {n} - {test.__doc__}")
            failed = 1
    print(f"1..{len(tests)}")
    return failed


sys.exit(main())
