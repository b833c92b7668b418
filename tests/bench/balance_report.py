# SPDX-License-Identifier: GPL-2.0-only
"""The balance's measurement as Markdown, out of its records. Host side.

measured is a list of (cell, records of each seed); what differs in the seed only is one entry."""

import math

import balance_cells
import intervals


def number(x):
    if isinstance(x, (str, intervals.Interval)):
        return str(x)
    return str(x) if isinstance(x, int) else intervals.number(x)


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)] + [[number(x) for x in r] for r in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def of_kind(measured, *kinds):
    return [(cell, runs) for cell, runs in measured if cell["kind"] in kinds]


def name_of(cell):
    return "%s %s %d" % balance_cells.title(cell)


def judged(measured):
    """Cell, pool, what it is over all seeds."""
    for cell, runs in measured:
        for device in balance_cells.OURS:
            if any(balance_cells.find(r, device) for r in runs):
                yield cell, device, balance_cells.of_seeds(cell, runs, device)


def balance_rows(some):
    for cell, device, said in some:
        yield [name_of(cell), device, *(said[w] for w in ("rate", "split", "member", "rival", "best", "member_raw", "rival_raw",
                                                          "sum", "sd")),
               said["moved"].value, round(100 * said["cpu"]), said["rate"].n, balance_cells.verdict(balance_cells.title(cell), said)]


def over_rivals(some, device):
    """In words, whether the aim is reached: the geometric mean of all cells, each with all of its rivals."""
    mine = [said for _, d, said in some if d == device]
    over = intervals.product([said["rival"] for said in mine])
    lacking = sum(bool(said["absent"]) or math.isnan(said["rival"].value) for said in mine)
    is_ = intervals.verdict(over, least=balance_cells.REACH_MEAN)
    if lacking and is_ != intervals.MISSED:
        is_ = intervals.NONE
    text = f"{device} {over}: {is_}" + (f", rivals are missing in {lacking} of {len(mine)} cells" if lacking else "")
    return text, is_ == intervals.REACHED


def balance_part(measured):
    cells = of_kind(measured, "fio", "dbench", "netmix")
    if not cells:
        return "", True
    some = list(judged(cells))
    rows = list(balance_rows(some))
    text = "## The balance\n\nOperations a second, of dbench MB/s. / is over the best static split, the best member alone, " \
        "the best rival, the sum of the members: geometric means over the seeds. In brackets are intervals of 95%, by which " \
        "targets are judged; a single seed has none. Where devices are slowed down and the processor isn't, what it takes of " \
        "a request beyond what it takes of the best member's is added in full; *by rate* is without that. Share sd in points, " \
        "moved in KiB in a period at balance, CPU in percent of the seed with most.\n\n"
    text += table(["cell", "pool", "rate", "/split", "/member", "/rival", "best rival", "/member by rate", "/rival by rate",
                   "/sum", "share sd", "moved", "CPU", "seeds", "targets"], rows)
    over = {device: over_rivals(some, device) for device in balance_cells.OURS}
    text += f"\nOver the best rival, geometric mean of all cells (aim: at least {balance_cells.REACH_MEAN}): "
    text += "; ".join(said for said, _ in over.values()) + ".\n"
    return text, over["hybrid"][1] and all(r[-1] == intervals.REACHED for r in rows if r[1] == "hybrid")


def volumes_part(measured):
    cells = of_kind(measured, "fio", "dbench", "netmix")
    text = "\n## Every volume\n"
    for cell, runs in cells:
        rows = []
        for device in dict.fromkeys(r["device"] for records in runs for r in records):
            some = [r for r in (balance_cells.find(records, device) for records in runs) if r]
            ms = intervals.mean(r["mean_ms"] if "mean_ms" in r else r["us"] / 1e3 for r in some).value
            rows.append([device, intervals.mean(map(balance_cells.rate, some)), ms, round(100 * max(r["cpu"] for r in some)),
                         len(some)])
        missing = [d for r in runs for d in balance_cells.absent(r, cell["kind"])]
        rows += [[device, intervals.NONE, "-", "-", missing.count(device)] for device in dict.fromkeys(missing)]
        text += f"\n### {name_of(cell)}\n\n" + table(["volume", "rate", "mean ms", "CPU", "seeds"], rows)
    return text if cells else ""


def worst(verdicts):
    """Of several, what all of them are together."""
    order = (intervals.MISSED, intervals.NONE, intervals.ONE, intervals.OPEN)
    return next((is_ for is_ in order if is_ in verdicts), intervals.REACHED)


def netmix_row(cell, runs, device):
    bounds = balance_cells.netmix_bounds(cell, runs, device)
    return [name_of(cell), device, *(said for _, said, _ in bounds), worst([intervals.verdict(said, **w) for _, said, w in bounds])]


def netmix_part(measured):
    cells = [(c, runs) for c, runs in of_kind(measured, "netmix") if c["depth"] == 10]
    if not cells:
        return "", True
    rows = [netmix_row(cell, runs, device) for cell, runs in cells for device in balance_cells.OURS]
    text = "\n## The NetApp-like mix with 10 processes\n\nOperations a second and time of an operation over the SSD's and " \
        "the stripe's; the paper has 1.38 and 0.72, 1.16 and 0.83.\n\n"
    return text + table(["cell", "pool", "operations / SSD", "ms / SSD", "operations / stripe", "ms / stripe", "targets"],
                        rows), all(r[-1] == intervals.REACHED for r in rows if r[1] == "hybrid")


def phase_share(record, after):
    part = [p["share"][0] for p in record["series"] if (p["t"] > record["step_at"]) == after]
    return sum(part[len(part) // 2:]) / len(part[len(part) // 2:])


def transition_part(measured):
    text = ""
    for cell, runs in of_kind(measured, "transition"):
        rows = []
        for r in runs[0]:
            one, many = r["phases"]
            row = [r["device"], one["mbps"], many["mbps"], one["mean_ms"], many["mean_ms"], one["p99_ms"], many["p99_ms"]]
            row += [phase_share(r, False), phase_share(r, True), balance_cells.settling(r)["periods"]] if "series" in r \
                else ["-", "-", "-"]
            rows.append(row)
        text += f"\n## {name_of(cell)}: from 1 to {cell['depth']} processes (seed {cell['seed']})\n\n"
        text += table(["volume", "MB/s, 1", f"MB/s, {cell['depth']}", "ms, 1", f"ms, {cell['depth']}", "p99 ms, 1",
                       f"p99 ms, {cell['depth']}", "% on SSD, 1", f"% on SSD, {cell['depth']}", "periods to settle"], rows)
    return text


def step_part(measured):
    rows, ok = [], True
    for cell, runs in of_kind(measured, "step"):
        for device in balance_cells.OURS:
            said = [s for s in (balance_cells.stepped(records, device) for records in runs) if s]
            if not said:
                continue
            mean = {k: intervals.mean(s[k] for s in said) for k in said[0]}
            bounds = balance_cells.step_bounds(runs, device)
            over = bounds[1][1]
            is_ = worst([intervals.verdict(interval, **within) for _, interval, within in bounds])
            ok = ok and (is_ == intervals.REACHED or device != "hybrid")
            rows.append([name_of(cell), device, *(mean[k].value for k in ("before", "after", "periods", "copies")), mean["own"],
                         over, mean["sd"].value, len(said), is_])
    if not rows:
        return "", True
    text = "\n## Steps in load and in speed\n\nThe fast member's share before and finally, periods until it stays within " \
        f"{balance_cells.NEAR} points of that, periods that the copies take at the members' own bandwidth, the difference " \
        f"(aim: at most {balance_cells.REACH_STEP}), what it does in the end over the better one of two fixed splits " \
        f"{balance_cells.BESIDE} points beside that (aim: at least {balance_cells.REACH['split']}), deviation in the end.\n\n"
    return text + table(["cell", "pool", "before", "finally", "periods", "copies", "without", "/split", "sd", "seeds", "target"],
                        rows), ok


def gain_part(measured):
    text = ""
    for cell, runs in of_kind(measured, "gain"):
        top = balance_cells.best(runs[0], "split:")
        rows = [[r["device"].split(":")[2], r["device"].split(":")[3], balance_cells.rate(r), balance_cells.rate(r) / top,
                 r["share_sd"], r["moved"]] for r in runs[0] if r["device"].startswith("hybrid:gain:")]
        text += f"\n## {name_of(cell)}: alpha and beta\n\n"
        text += table(["alpha", "beta", "rate", "/split", "share sd", "extents moved"], rows)
    return text


def report(measured):
    """Markdown, and whether the pool as it comes reaches every target."""
    parts = [balance_part(measured), netmix_part(measured), step_part(measured)]
    text = "# The balance, measured\n\n" + "".join(p[0] for p in parts) + transition_part(measured) + gain_part(measured)
    return text + volumes_part(measured), all(p[1] for p in parts)
