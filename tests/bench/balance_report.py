# SPDX-License-Identifier: GPL-2.0-only
"""The balance's measurement as Markdown, out of its records. Host side.

measured is a list of (cell, records of each seed); what differs in the seed only is one entry."""

import math

import balance_cells
from balance_cells import mean_and_interval


def number(x):
    if isinstance(x, str):
        return x
    if isinstance(x, int):
        return str(x)
    if math.isnan(x):
        return "-"
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.2f}"


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)] + [[number(x) for x in r] for r in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def of_kind(measured, *kinds):
    return [(cell, runs) for cell, runs in measured if cell["kind"] in kinds]


def name_of(cell):
    return "%s %s %d" % balance_cells.title(cell)


def means(runs, device, what):
    return mean_and_interval([balance_cells.judge(r, device)[what] for r in runs])


def balance_rows(measured):
    for cell, runs in measured:
        for device in balance_cells.OURS:
            said = {w: means(runs, device, w)[0] for w in ("rate", "split", "member", "rival", "sum", "sd", "moved", "cpu")}
            said["comparable"] = all(balance_cells.judge(r, device)["comparable"] for r in runs)
            bad = balance_cells.missed(balance_cells.title(cell), said)
            yield [name_of(cell), device, said["rate"], means(runs, device, "rate")[1], said["split"], said["member"],
                   said["rival"], said["sum"], said["sd"], said["moved"], round(100 * said["cpu"]), len(runs),
                   "missed: " + ", ".join(bad) if bad else "reached"]


def balance_part(measured):
    cells = of_kind(measured, "fio", "dbench", "netmix")
    if not cells:
        return "", True
    rows = list(balance_rows(cells))
    text = "## The balance\n\nOperations a second, of dbench MB/s. / is over the best static split, the best member alone, " \
        "the best rival, the sum of the members. Share sd in points, moved in KiB in a period at balance, CPU in percent.\n\n"
    text += table(["cell", "pool", "rate", "+-", "/split", "/member", "/rival", "/sum", "share sd", "moved", "CPU", "seeds",
                   "targets"], rows)
    text += "\nOver the best rival, geometric mean of all cells (aim: at least "
    text += f"{balance_cells.REACH_MEAN}): "
    ok = True
    for device in balance_cells.OURS:
        over = [means(runs, device, "rival")[0] for _, runs in cells]
        mean = balance_cells.geometric_mean([x for x in over if not math.isnan(x)])
        text += f"{device} {mean:.3f}{', ' if device != balance_cells.OURS[-1] else '.'}"
        if device == "hybrid":
            ok = mean >= balance_cells.REACH_MEAN
    return text + "\n", ok and all(r[-1] == "reached" for r in rows if r[1] == "hybrid")


def volumes_part(measured):
    cells = of_kind(measured, "fio", "dbench", "netmix")
    text = "\n## Every volume\n"
    for cell, runs in cells:
        rows = []
        for device in dict.fromkeys(r["device"] for r in runs[0]):
            some = [balance_cells.find(r, device) for r in runs]
            mean, interval = mean_and_interval([balance_cells.rate(r) for r in some])
            ms = mean_and_interval([r["mean_ms"] if "mean_ms" in r else r["us"] / 1e3 for r in some])[0]
            rows.append([device, mean, interval, ms, round(100 * max(r["cpu"] for r in some))])
        text += f"\n### {name_of(cell)}\n\n" + table(["volume", "rate", "+-", "mean ms", "CPU"], rows)
    return text if cells else ""


def netmix_part(measured):
    cells = [(c, runs) for c, runs in of_kind(measured, "netmix") if c["depth"] == 10]
    if not cells:
        return "", True
    rows, ok = [], True
    for cell, runs in cells:
        for device in balance_cells.OURS:
            over = [balance_cells.over_netmix(r, device) for r in runs]
            row = [name_of(cell), device]
            good = True
            for what, (least, most) in balance_cells.REACH_NETMIX.items():
                x, y = (sum(o[what][i] for o in over) / len(over) for i in (0, 1))
                row += [x, y]
                good = good and x >= least and y <= most
            rows.append(row + ["reached" if good else "missed"])
            ok = ok and (good or device != "hybrid")
    text = "\n## The NetApp-like mix with 10 processes\n\nThroughput and time of an operation over the SSD's and the stripe's; " \
        "the paper has 1.38 and 0.72, 1.16 and 0.83.\n\n"
    return text + table(["cell", "pool", "MB/s / SSD", "ms / SSD", "MB/s / stripe", "ms / stripe", "targets"], rows), ok


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
            said = [balance_cells.settling(balance_cells.find(r, device)) for r in runs]
            mean = {k: sum(s[k] for s in said) / len(said) for k in said[0]}
            good = mean["own"] <= balance_cells.REACH_STEP
            ok = ok and (good or device != "hybrid")
            rows.append([name_of(cell), device, *(mean[k] for k in ("before", "after", "periods", "copies", "own", "sd")),
                         len(runs), "reached" if good else "missed"])
    if not rows:
        return "", True
    text = "\n## Steps in load and in speed\n\nThe fast member's share before and finally, periods until it stays within " \
        f"{balance_cells.NEAR} points of that, periods that the copies take at the members' own bandwidth, the difference " \
        f"(aim: at most {balance_cells.REACH_STEP}), deviation in the end.\n\n"
    return text + table(["cell", "pool", "before", "finally", "periods", "copies", "without", "sd", "seeds", "target"], rows), ok


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
