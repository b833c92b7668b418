# SPDX-License-Identifier: GPL-2.0-only
"""What runs say together, and how sure that is: means, ratios and quantiles with intervals of 95%, verdicts on these."""

import itertools
import math
import typing

# Student's t for 1, 2, ... degrees of freedom: 95%, both sides.
T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
     2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
Z = 1.95996
# What spread() stays below with 95% for 2, 3, 4 runs of five batches each, where runs are no more than batches (F with 1, 8;
# 2, 12; 3, 16 degrees of freedom). Of more batches it is less, so this is too much for ten by a fifth.
SPREAD = (5.32, 3.89, 3.24)
OUTSIDE = 0.025         # on each side
REACHED, MISSED, OPEN, ONE, NONE = "reached", "missed", "open", "one seed: no verdict", "not measured"


class Interval(typing.NamedTuple):
    """Ends are nan where there is one value only, and all of it where there is none."""
    value: float
    low: float
    high: float
    n: int

    def __str__(self):
        if self.n < 2 or math.isnan(self.low):
            return number(self.value)
        return f"{number(self.value)} ({number(self.low)} to {number(self.high)})"


NOTHING = Interval(math.nan, math.nan, math.nan, 0)


def number(x):
    return "-" if math.isnan(x) else f"{x:.0f}" if abs(x) >= 100 else f"{x:.2f}"


def t(n):
    """For n values; beyond the table by the first term of its expansion, which is right to a thousandth there."""
    return T[n - 2] if n - 2 < len(T) else Z + (Z ** 3 + Z) / (4 * (n - 1))


def mean(values):
    """Of what may be added."""
    values = [v for v in values if not math.isnan(v)]
    n = len(values)
    if not n:
        return NOTHING
    middle = sum(values) / n
    if n < 2:
        return Interval(middle, math.nan, math.nan, n)
    half = t(n) * math.sqrt(sum((v - middle) ** 2 for v in values) / (n - 1) / n)
    return Interval(middle, middle - half, middle + half, n)


def ratio(values):
    """
    Of ratios, by their logarithms: so half and twice as much are 1 together, and A over B is what B over A says. The
    arithmetic mean of .5 and 2 is 1.25 either way round.
    """
    logs = mean(math.log(v) for v in values if not math.isnan(v))
    return Interval(*(math.exp(x) for x in logs[:3]), logs.n)


def spread(runs):
    """Mean squares of what differs between runs and within them, over each other; 0 where neither does."""
    n = sum(map(len, runs))
    middle = sum(map(sum, runs)) / n
    between = sum(len(r) * (sum(r) / len(r) - middle) ** 2 for r in runs) / (len(runs) - 1)
    within = sum((x - sum(r) / len(r)) ** 2 for r in runs for x in r) / (n - len(runs))
    return between / within if within else math.inf if between > 1e-18 else 0


def carried(runs):
    """How much of a batch's deviation the next one has, of a drift say: the correlation of neighbours; not below 0."""
    off = [[x - sum(r) / len(r) for x in r] for r in runs]
    total = sum(x * x for r in off for x in r)
    return max(0, min(0.9, sum(x * y for r in off for x, y in zip(r, r[1:])) / total)) if total else 0


def batches(runs):
    """
    Of ratios, batch by batch, of several runs that differ in the seed. Two or three runs by themselves leave an interval of
    which the half is .02 where they differ by a hundredth. Where they do not differ by more than their batches do, and that is
    tested, all batches together are the sample: of fewer that are independent, if one has some of the last one's deviation.
    Where they do, it is the runs. Without batches, too, and one run says nothing about another.
    """
    runs = [[math.log(v) for v in r if not math.isnan(v)] for r in runs]
    runs = [r for r in runs if r]
    means = [math.exp(sum(r) / len(r)) for r in runs]
    if len(runs) < 2 or len(runs) - 2 >= len(SPREAD) or min(map(len, runs)) < 5 or spread(runs) > SPREAD[len(runs) - 2]:
        return ratio(means)
    rho = carried(runs)
    alike = [x for r in runs for x in r]
    middle = sum(alike) / len(alike)
    count = max(2, round(len(alike) * (1 - rho) / (1 + rho)))
    half = t(count) * math.sqrt(sum((x - middle) ** 2 for x in alike) / (len(alike) - 1) / count)
    return Interval(*(math.exp(middle + x) for x in (0, -half, half)), len(runs))


def product(ratios):
    """
    The geometric mean of what isn't of the same: its interval is made of theirs, which are independent. None, if one has
    none.
    """
    known = [r for r in ratios if not math.isnan(r.value)]
    if not known:
        return NOTHING
    middle = sum(math.log(r.value) for r in known) / len(known)
    half = math.sqrt(sum((math.log(r.high / r.low) / 2) ** 2 for r in known)) / len(known)
    return Interval(*(math.exp(middle + x) for x in (0, -half, half)), min(r.n for r in known))


def below(count, n, part):
    """How likely no more than so many of n are, when each is with that probability."""
    return sum(math.comb(n, k) * part ** k * (1 - part) ** (n - k) for k in range(count + 1))


def quantile(values, part):
    """
    What this part of the values stays below, and where that is with 95%: which of the values in their order have it
    between them. No end where even the least value is above it too often, as of a tenth with fewer than 36 values.
    """
    values = sorted(values)
    n = len(values)
    value = values[max(0, round(n * part) - 1)]
    if below(0, n, part) > OUTSIDE or below(n - 1, n, part) < 1 - OUTSIDE:
        return Interval(value, math.nan, math.nan, n)
    first = max(k for k in range(1, n + 1) if below(k - 1, n, part) <= OUTSIDE)
    last = next(k for k in itertools.count(1) if below(k - 1, n, part) >= 1 - OUTSIDE)
    return Interval(value, values[first - 1], values[last - 1], n)


def verdict(said, least=-math.inf, most=math.inf):
    """Whether something is within bounds. A single run says nothing about another one."""
    if math.isnan(said.value):
        return NONE
    if math.isnan(said.low):
        return ONE
    if said.low >= least and said.high <= most:
        return REACHED
    return MISSED if said.high < least or said.low > most else OPEN
