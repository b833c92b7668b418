# SPDX-License-Identifier: GPL-2.0-only
"""The demonstration's table and picture. usage: plot.py DIRECTORY (with plan.json, records.jsonl)"""

import json
import os
import sys

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of the backend)

NAMES = {"pool": "pool", "ssd": "SSD alone", "hdd": "HDD alone", "stripe": "striped"}
COLOURS = {"pool": "#1b7837", "ssd": "#2166ac", "hdd": "#b2182b", "stripe": "#777777"}


def load(directory):
    with open(os.path.join(directory, "plan.json"), encoding="utf-8") as f:
        plan = json.load(f)
    with open(os.path.join(directory, "records.jsonl"), encoding="utf-8") as f:
        records = [json.loads(line) for line in f]
    return plan, records


def results(records, plan):
    """{(volume, clients): dbench result}, {volume: unpack result}"""
    dbench = {(r["volume"], r["clients"]): r for r in records if r["kind"] == "result" and r["load"] == "dbench"}
    unpack = {r["volume"]: r for r in records if r["kind"] == "result" and r["load"] == "unpack"}
    for v in plan["volumes"]:
        for c in plan["clients"]:
            if (v, c) not in dbench:
                raise SystemExit(f"no result for {v} with {c} processes")
    return dbench, unpack


def slowed(plan):
    return f", {plan['dilate']} times as slow as the originals" if plan["dilate"] != 1 else ""


def summary(plan, records):
    dbench, unpack = results(records, plan)
    lines = [f"dbench in MB/s, kernel {plan['kernel']}, virtual time, {plan['fs']}; emulated {plan['ssd']} and "
             f"{plan['hdd']}{slowed(plan)}", "",
             f"{'':10}{'unpack':>10}" + "".join(f"{c:>7} proc{'s' if c > 1 else ' '}" for c in plan["clients"])
             + f"{'most CPU':>12}"]
    for v in plan["volumes"]:
        cpu = max(dbench[v, c]["cpu"] for c in plan["clients"])
        lines.append(f"{NAMES[v]:10}{unpack[v]['seconds']:8.1f} s" +
                     "".join(f"{dbench[v, c]['mbps']:13.1f}" for c in plan["clients"]) + f"{cpu:12.0%}")
    lines.append("")
    if "pool" in plan["volumes"]:
        for c in plan["clients"]:
            others = {v: dbench[v, c]["mbps"] for v in plan["volumes"] if v != "pool"}
            if others:
                best = max(others, key=others.get)
                lines.append(f"{c:3} process{'es' if c > 1 else ''}: the pool gives "
                             f"{dbench['pool', c]['mbps'] / others[best]:.2f} of the best other ({NAMES[best]})")
        lines += moved([r for r in records if r["kind"] == "period" and r["volume"] == "pool"])
    return "\n".join(lines)


def moved(periods):
    if not periods:
        raise SystemExit("no periods of the pool")
    target = [p["disks"]["ssd"]["target"] for p in periods]
    share = [p["disks"]["ssd"]["share"] for p in periods]
    last = periods[-1]["status"]
    return ["", f"SSD's target share: {target[0]:.1%} at first, {target[-1]:.1%} at last, "
                f"{min(target):.1%} to {max(target):.1%} between; measured {min(share):.1%} to {max(share):.1%}",
            f"migrations: {last['migrations_completed']} done, {last['migrations_failed']} failed, "
            f"{last['migrations_bytes'] / 1e6:.1f} MB"]


def steps(ax, periods):
    """A line and a word where the load changes."""
    label = None
    for p in periods:
        if p["load"] != label:
            label = p["load"]
            ax.axvline(p["t"], color="#bbbbbb", lw=0.8)
            ax.annotate(label, (p["t"], 1.0), xycoords=("data", "axes fraction"), xytext=(2, 2),
                        textcoords="offset points", fontsize=7, color="#555555")


def draw(plan, records, path):
    periods = [r for r in records if r["kind"] == "period" and r["volume"] == "pool"]
    dbench, _ = results(records, plan)
    fig, (top, mid, low) = plt.subplots(3, 1, figsize=(8, 9), constrained_layout=True)
    t = [p["t"] for p in periods]
    for d in ("ssd", "hdd"):
        top.plot(t, [100 * p["disks"][d]["share"] for p in periods], "-", color=COLOURS[d], lw=1.4,
                 label=f"{d.upper()} measured")
        top.plot(t, [100 * p["disks"][d]["target"] for p in periods], "--", color=COLOURS[d], lw=1,
                 label=f"{d.upper()} target")
        mid.plot(t, [p["disks"][d]["ms"] or None for p in periods], "-", color=COLOURS[d], lw=1.4, label=d.upper())
    top.set(ylabel="share of requests, %", ylim=(-3, 103))
    top.legend(fontsize=7, ncol=2)
    mid.set(ylabel="response time, ms", yscale="log", xlabel="seconds (virtual)")
    mid.legend(fontsize=7)
    for ax in (top, mid):
        steps(ax, periods)
    top.set_title("A pool of an SSD and a hard disk under dbench", fontsize=10, pad=18)
    width = 0.8 / len(plan["volumes"])
    for i, v in enumerate(plan["volumes"]):
        x = [k + (i - (len(plan["volumes"]) - 1) / 2) * width for k in range(len(plan["clients"]))]
        bars = low.bar(x, [dbench[v, c]["mbps"] for c in plan["clients"]], width * 0.95, color=COLOURS[v],
                       label=NAMES[v])
        low.bar_label(bars, fmt="%.1f", fontsize=7)
    low.set_xticks(range(len(plan["clients"])),
                   [f"{c} process{'es' if c > 1 else ''}" for c in plan["clients"]])
    low.set(ylabel="dbench, MB/s")
    low.legend(fontsize=7, ncol=4, loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
    fig.supxlabel(f"kernel {plan['kernel']}, virtual time, {plan['fs']}, emulated {plan['ssd']} and "
                  f"{plan['hdd']}{slowed(plan)}", x=0.995, ha="right", fontsize=6, color="#777777")
    fig.savefig(path, dpi=110)


def main():
    directory = sys.argv[1]
    plan, records = load(directory)
    text = summary(plan, records)
    with open(os.path.join(directory, "summary.txt"), "w", encoding="utf-8") as f:
        f.write(text + "\n")
    print("\n" + text + "\n")
    if "pool" in plan["volumes"]:
        path = os.path.join(directory, "demo.png")
        draw(plan, records, path)
        print(f"demo: the picture is {path}")


main()
