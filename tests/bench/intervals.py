# SPDX-License-Identifier: GPL-2.0-only
"""What runs say together, and how sure that is: means, ratios and quantiles with intervals of 95%, verdicts on these."""

import itertools
import math
import typing

# Student's t for 1, 2, ... degrees of freedom: 95%, both sides.
T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
     2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
Z = 1.95996
# What the mean square between 2, 3, 4 runs of so many batches each, over that within them, stays below with 95%, where runs are no
# more than batches: F with 1, 8; 2, 12; 3, 16 degrees of freedom, and 1, 18; 2, 27; 3, 36.
SPREAD = {5: (5.32, 3.89, 3.24), 10: (4.41, 3.35, 2.87)}
ALIKE = 2               # degrees of freedom that it counts for that runs should differ as their batches do
CARRIED = 0.8           # at most
LEAST_DEVIATION = 0.05  # points: less is nothing
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


def middle_of(values):
    return sum(values) / len(values)


def carried(runs):
    """
    How much of a batch's deviation the next one has, of a drift say: the correlation of neighbours. That of n values about
    their own mean is too small, by about (1 + 4 rho) / n.
    """
    off = [[x - middle_of(r) for x in r] for r in runs]
    total = sum(x * x for r in off for x in r)
    if not total:
        return 0
    n = sum(map(len, runs)) / len(runs)
    rho = sum(x * y for r in off for x, y in zip(r, r[1:])) / total
    return max(0, min(CARRIED, (n * rho + 1) / max(n - 4, n / 2)))


def longer(rho, n):
    """By how much the variance of the mean of n values is larger where neighbours are alike, than that of as many others."""
    return (1 + rho) / (1 - rho) - 2 * rho * (1 - rho ** n) / n / (1 - rho) ** 2


def within(runs):
    """The mean square within runs, as one between them shows where they differ no more than by that."""
    n = sum(map(len, runs)) / len(runs)
    by = longer(carried(runs), n)
    square = sum((x - middle_of(r)) ** 2 for r in runs for x in r) / sum(len(r) - 1 for r in runs)
    return square * (n - 1) / (n - by) * by


def between(runs):
    middle = sum(map(sum, runs)) / sum(map(len, runs))
    return sum(len(r) * (middle_of(r) - middle) ** 2 for r in runs) / (len(runs) - 1)


def apart(between_, within_, runs, each):
    """Whether so many runs of so many values differ by more than these do."""
    return between_ > 1e-18 and between_ > SPREAD[10 if each >= 10 else 5][runs - 2] * within_


def half_of(between_, within_, runs):
    """
    Half of an interval, in deviations of a mean that runs have these mean squares of. One between two runs has a single degree
    of freedom, and that it is small says little: so what is within runs counts for two more, no less, however many there are.
    """
    return t(ALIKE + runs) * math.sqrt((ALIKE * within_ + (runs - 1) * between_) / (ALIKE + runs - 1))


def batches(runs):
    """
    Of ratios, batch by batch, of several runs that differ in the seed. Two or three runs by themselves leave an interval of
    which the half is .02 where they differ by a hundredth, so what batches show is weighed in: half_of(). Where runs differ by
    more than that, it is the runs alone. Without batches, too, and one run says nothing about another.
    """
    runs = [[math.log(v) for v in r if not math.isnan(v)] for r in runs]
    runs = [r for r in runs if r]
    means = [math.exp(middle_of(r)) for r in runs]
    if not 2 <= len(runs) <= 1 + len(SPREAD[10]) or min(map(len, runs)) < 5:
        return ratio(means)
    b, w = between(runs), within(runs)
    if apart(b, w, len(runs), min(map(len, runs))):
        return ratio(means)
    count = sum(map(len, runs))
    middle = sum(map(sum, runs)) / count
    half = half_of(b, w, len(runs)) / math.sqrt(count)
    return Interval(*(math.exp(middle + x) for x in (0, -half, half)), len(runs))


def deviation(runs):
    """
    Standard deviation of values of several runs, by its logarithm: of so few runs each one's own, which is known out of all of its
    values, as far as these are independent. Where runs differ by more than that, from the least's end to the greatest's.
    """
    runs = [r for r in runs if len(r) >= 3]
    if not runs:
        return NOTHING
    rho = carried(runs)
    logs, squares = [], []
    for r in runs:
        square = sum((x - middle_of(r)) ** 2 for x in r) / (len(r) - longer(rho, len(r)))
        logs.append(math.log(max(LEAST_DEVIATION, math.sqrt(square))))
        squares.append(1 / 2 / max(1, (len(r) - 1) * (1 - rho ** 2) / (1 + rho ** 2)))
    middle, n = middle_of(logs), len(runs)
    if n < 2:
        return Interval(math.exp(middle), math.nan, math.nan, n)
    b, w = sum((x - middle) ** 2 for x in logs) / (n - 1), middle_of(squares)
    if n > 1 + len(SPREAD[10]) or apart(b, w, n, min(map(len, runs))):
        low, high = min(logs) - t(4) * math.sqrt(w), max(logs) + t(4) * math.sqrt(w)
    else:
        half = half_of(b, w, n) / math.sqrt(n)
        low, high = middle - half, middle + half
    return Interval(*map(math.exp, (middle, low, high)), n)


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
