# SPDX-License-Identifier: GPL-2.0-only
"""The policies' measurement as Markdown, out of its records. Host side; measured is policies_cells.together()'s."""

import math

import balance_cells
import intervals
import policies_cells
from balance_report import table
from policies_cells import CACHED, OURS, PAPER, PAPER_DISKS, REACH_CACHE, REACH_RIVAL, RIVALS


def devices(runs):
    """In the order in which they were measured."""
    return list(dict.fromkeys(r["device"] for records in runs for r in records))


def mean_of(runs, device, what):
    return intervals.mean(r[what] for r in (balance_cells.find(records, device) for records in runs) if r)


def volume_rows(runs):
    for device in devices(runs):
        row = [device, mean_of(runs, device, "iops"), mean_of(runs, device, "mean_ms").value]
        row += [policies_cells.over_seeds(runs, device, other) for other in ("stripe", "2 disks")]
        some = [r for r in (balance_cells.find(records, device) for records in runs) if r]
        moved = [r["moved"] for r in some if "moved" in r]
        yield row + [sum(moved) / len(moved) if moved else "-", round(100 * max(r["cpu"] for r in some)), len(some)]


def volumes_part(measured):
    text = "## Every volume\n\nTransactions, operations or requests a second; / is over dm-stripe on both devices, " \
        "and over two such disks: geometric means over the seeds, in brackets intervals of 95%; a single seed has none.\n"
    for (load, pair), runs in measured.items():
        text += f"\n### {load} on {pair}\n\n" + table(
            ["volume", "rate", "mean ms", "/stripe", "/2 disks", "extents moved", "CPU", "seeds"],
            volume_rows(runs))
    return text


def paper_rows(measured):
    """What the text of the paper says in figures, or who it says is ahead."""
    for other, said in (("stripe", PAPER), ("2 disks", PAPER_DISKS)):
        for (load, pair, device), least in said.items():
            runs = measured.get((load, pair))
            if runs:
                here = policies_cells.over_seeds(runs, device, other)
                yield [f"{load}, {pair}", f"{device} / {other}", least, here, here.n, intervals.verdict(here, least=least)]


def ahead(values):
    """The policy that is best, by its interval where there are some."""
    known = [v for v in values if not math.isnan(v.value)]
    return max(known, key=lambda v: v.value if math.isnan(v.low) else v.low, default=intervals.NOTHING)


def rival_rows(measured):
    for (load, pair), runs in measured.items():
        values = [policies_cells.over_seeds(runs, d, RIVALS) for d in OURS]
        best, missing = ahead(values), policies_cells.absent(runs)
        if math.isnan(best.value):
            continue
        is_ = intervals.verdict(best, least=REACH_RIVAL)
        if missing and is_ != intervals.MISSED:     # who is missing may be ahead of those that were beaten
            is_ = intervals.NONE
        yield [f"{load}, {pair}", balance_cells.best_rival(runs), *values,
               is_ + (f" (without {', '.join(missing)})" if missing else "")]


def cache_rows(measured):
    for (load, pair), runs in measured.items():
        values = [policies_cells.over_seeds(runs, d + CACHED, d) for d in OURS]
        known = [v for v in values if not math.isnan(v.value)]
        if known:
            least = min(known, key=lambda v: v.value if math.isnan(v.low) else v.low)
            yield [f"{load}, {pair}", *values, intervals.verdict(least, least=REACH_CACHE)]


def targets_part(measured):
    text, ok = "## To reach\n", True
    parts = (("The paper's gains", ["cell", "what", "paper", "here", "seeds", "target"], paper_rows),
             (f"Over the best rival (aim: the best policy at least {REACH_RIVAL})",
              ["cell", "rival", *OURS, "target"], rival_rows),
             (f"With 100 extents in memory over without (aim: at least {REACH_CACHE} with each policy)",
              ["cell", *OURS, "target"], cache_rows))
    for title, head, rows in parts:
        made = list(rows(measured))
        if made:
            text += f"\n### {title}\n\n" + table(head, made)
            ok = ok and all(r[-1] == intervals.REACHED for r in made)
    return text, ok


def stays_part(measured):
    """Why extents stayed, as pools counted it, of the first seed."""
    rows = []
    for (load, pair), runs in measured.items():
        for r in runs[0]:
            if r.get("not_migrated"):
                why = sorted(r["not_migrated"].items(), key=lambda item: -item[1])
                rows.append([f"{load}, {pair}", r["device"], r["moved"], ", ".join(f"{k} {n}" for k, n in why)])
    return "\n## Why extents stayed\n\n" + table(["cell", "pool", "moved", "stayed for"], rows) if rows else ""


def report(measured):
    """Markdown, and whether all that was measured is as it is to be."""
    text, ok = targets_part(measured)
    return "# The policies of wu-2011, measured\n\n" + text + "\n" + volumes_part(measured) + stays_part(measured), ok
