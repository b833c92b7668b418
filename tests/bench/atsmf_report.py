# SPDX-License-Identifier: GPL-2.0-only
"""What tests/bench/atsmf.py measured: tables, pictures, what was to be reached."""

import matplotlib
import atsmf_loads

matplotlib.use("Agg")
import matplotlib.pyplot as plt   # noqa: E402  pylint: disable=wrong-import-position

TENTH = ", a tenth"
HALF = ", half of it"
SHOWN = ("ssd", "tier", "tier on brd", "tier of 500 ns", "dm-cache", "bcache")
COLOURS = dict(zip(SHOWN, ("#999999", "#1b6ca8", "#7fb3d5", "#7570b3", "#d95f02", "#1b9e77")))


def per_cent(x):
    return f"{100 * x:.1f}"


class Results:
    def __init__(self, records):
        self.by = {(r["load"], r["device"]): r for r in records}

    def loads(self, among, device="tier"):
        return [n for n in among if (n, device) in self.by]

    def us(self, name, device):
        r = self.by.get((name, device))
        return r["mean_us"] if r else None

    def over(self, name, device, other="ssd"):
        return self.us(name, device) / self.us(name, other)


def cell(value, digits=1):
    return "" if value is None else f"{value:.{digits}f}"


def show_loads(results, table):
    table(["load", "requests", "writes %", "to 5% of sub-LUNs %", "s"],
          [[n, str(results.by[n, "ssd"]["requests_seen"]), f"{100 * atsmf_loads.LOADS[n]['writes']:.2f}",
            per_cent(atsmf_loads.part_of_few(n, 1)), str(atsmf_loads.LOADS[n]["seconds"])]
           for n in results.loads(atsmf_loads.LOADS, "ssd")])


def show_times(results, table, names, suffix=""):
    """Figures 6, 9 and 11, and 8: mean response times, and what came from memory."""
    devices = ["ssd"] + [d + suffix for d in SHOWN[1:] if any((n, d + suffix) in results.by for n in names)]
    table([f"mean us{suffix}"] + devices, [[n] + [cell(results.us(n, d)) for d in devices] for n in names])
    table(["% from memory"] + devices[1:] + ["memory used, % of the volume", "moved up, down MiB"],
          [[n] + [per_cent(results.by[n, d]["memory_part"]) if (n, d) in results.by else "" for d in devices[1:]]
           + [per_cent(results.by[n, "tier" + suffix]["most_bytes"] / atsmf_loads.LOADS[n]["volume"]),
              " ".join(str(results.by[n, "tier" + suffix][k] >> 20) for k in ("up_bytes", "down_bytes"))] for n in names])


def show_half(results, table, names):
    """Less memory than the tier would use."""
    names = [n for n in names if (n, "tier" + HALF) in results.by]
    if names:
        table(["half of the memory", "ssd us", "tier us", "with half", "% from memory", "with half", "of MiB"],
              [[n, cell(results.us(n, "ssd")), cell(results.us(n, "tier")), cell(results.us(n, "tier" + HALF)),
                per_cent(results.by[n, "tier"]["memory_part"]), per_cent(results.by[n, "tier" + HALF]["memory_part"]),
                str(results.by[n, "tier" + HALF]["mib"])] for n in names])


def show_memory(results, table, names):
    """Figures 7 and 10: the memory's own response time."""
    devices = [d for d in SHOWN[1:] if any((n, d) in results.by for n in names)]
    table(["us from memory"] + devices,
          [[n] + [cell(results.by[n, d]["memory_us"], 2) if (n, d) in results.by else "" for d in devices] for n in names])


def show_estimate(results, table, names):
    """Table 2: 500 ns added to what memory answers, and memory that takes them."""
    rows = []
    for n in names:
        r = results.by[n, "tier"]
        rows.append([n, cell(r["mean_us"]), per_cent(r["memory_part"]), cell(r["mean_us"] + 0.5 * r["memory_part"]),
                     cell(results.us(n, "tier of 500 ns"))])
    table(["500 ns memory", "tier us (A)", "from memory % (B)", "A + 0.5 B / 100", "measured"], rows)


def bars(axis, results, names, title, value, suffix="", devices=SHOWN):
    """A group for each load, a bar for each device: value(load, device), None where there is none."""
    keys = [d if d == "ssd" else d + suffix for d in devices]
    keys = [k for k in keys if any((n, k) in results.by and value(n, k) is not None for n in names)]
    for i, k in enumerate(keys):
        axis.bar([x + 0.8 / len(keys) * i for x in range(len(names))],
                 [value(n, k) or 0 if (n, k) in results.by else 0 for n in names], 0.8 / len(keys),
                 color=COLOURS[k.removesuffix(suffix)], label=k)
    axis.set_xticks([x + 0.4 for x in range(len(names))], names, rotation=30)
    axis.set_title(title, fontsize="medium")
    if keys:
        axis.legend(fontsize="x-small", ncols=len(keys), loc="upper center")
        axis.set_ylim(top=1.12 * axis.get_ylim()[1])


def picture(results, path):
    """Figures 6 to 13, and what a window's requests took."""
    figure, axes = plt.subplots(4, 2, figsize=(14, 17))
    calm, busy, divided, tenth = (results.loads(*x) for x in (
        (atsmf_loads.CALM,), (atsmf_loads.OVERLOADED,), (atsmf_loads.DIVIDED,), (atsmf_loads.LOADS, "tier" + TENTH)))

    def memory(n, d):
        return results.by[n, d]["memory_us"]

    def part(n, d):
        return 100 * results.by[n, d]["memory_part"]

    bars(axes[0][0], results, calm, "figure 6: mean response time over the SSD's", results.over)
    bars(axes[0][1], results, calm + busy, "figures 7, 10: us of what memory answers", memory, devices=SHOWN[1:])
    bars(axes[1][0], results, calm + busy, "figure 8: % from memory", part, devices=SHOWN[1:])
    bars(axes[1][1], results, busy, "figure 9: mean response time over the SSD's, overloaded", results.over)
    bars(axes[2][0], results, tenth, "figure 11: memory of a tenth of the volume, over the SSD's", results.over, TENTH)
    bars(axes[2][1], results, divided, "figures 12, 13: us, volume divided", results.us)
    bars(axes[3][0], results, divided, "figures 12, 13: % from memory, volume divided", part, devices=("tier",))
    for n in results.loads(("src1_0", "proj1", "usr1")):
        axes[3][1].plot([x or float("nan") for x in results.by[n, "tier"]["windows_us"]], label=n)
    axes[3][1].set_title("tier: mean us of a window's requests, window by window", fontsize="medium")
    if axes[3][1].lines:
        axes[3][1].legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    plt.close(figure)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def judge(results, target):
    """What was to be reached."""
    ok = []
    for n in results.loads(atsmf_loads.CALM + atsmf_loads.OVERLOADED):
        ok.append(target(f"{n}: the tier over the SSD alone", results.over(n, "tier"), 1))
        for other in ("dm-cache", "bcache"):
            ok.append(target(f"{n}: the tier over {other} with as much memory", results.over(n, "tier", other), 1))
    for n in results.loads(atsmf_loads.LOADS, "tier" + TENTH):
        ok.append(target(f"{n}, memory of a tenth: the tier over the SSD alone", results.over(n, "tier" + TENTH), 1))
        for other in ("dm-cache", "bcache"):
            ok.append(target(f"{n}, memory of a tenth: the tier over {other}", results.over(n, "tier" + TENTH, other + TENTH), 1))
    for n in results.loads(atsmf_loads.LOADS, "tier" + HALF):
        ok.append(target(f"{n}, half of the memory: the tier over the SSD alone", results.over(n, "tier" + HALF), 1))
    if results.loads(atsmf_loads.CALM, "tier on brd"):
        ok.append(target("the tier on mem2m over that on brd, mean of the calm loads (paper: 0.73)",
                         mean(results.over(n, "tier", "tier on brd") for n in results.loads(atsmf_loads.CALM, "tier on brd")), 1))
    return all(ok)


def show(records, table, target, path):
    results = Results(records)
    show_loads(results, table)
    for names in (atsmf_loads.CALM, atsmf_loads.OVERLOADED):
        names = results.loads(names)
        if names:
            print()
            show_times(results, table, names)
            show_memory(results, table, names)
    tenth = results.loads(atsmf_loads.LOADS, "tier" + TENTH)
    if tenth:
        print()
        show_times(results, table, tenth, TENTH)
        show_half(results, table, tenth)
    divided = results.loads(atsmf_loads.DIVIDED)
    if divided:
        print()
        show_times(results, table, divided)
    calm = results.loads(atsmf_loads.CALM, "tier of 500 ns")
    if calm:
        print()
        show_estimate(results, table, calm)
    picture(results, path)
    print(f"\npicture: {path}; most CPU used {100 * max(r['cpu'] for r in records):.0f}%")
    return judge(results, target)
