# SPDX-License-Identifier: GPL-2.0-only
"""Tables, targets and the picture of what tests/bench/mem2m.py has measured."""

import statistics

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt   # noqa: E402  pylint: disable=wrong-import-position

# How each device copies; what is above that and the making of the bio is what it costs.
COPY = {"completes": "nothing", "mem2m": "copy words", "mem2m direct": "copy words", "mem2m .map": "copy words",
        "brd": "copy memcpy", "null_blk": "copy memcpy"}
COPY_LASTING = {"read": "copy mc", "write": "copy nt"}
LASTING = ("mem2m phys", "mem2m phys direct", "mem2m pmem", "nd_pmem")
SHOWN = (512, 4096, 65536, 1 << 20)


class Cells:
    def __init__(self, records):
        self.records = records
        self.ns = {(r["tool"], r["device"], r["rw"], r["bytes"], r["depth"]): r["ns"] for r in records if "ns" in r}

    def devices(self, tool):
        return list(dict.fromkeys(r["device"] for r in self.records if r["tool"] == tool))

    def gen(self, device, rw, length=4096, depth=1):
        return self.ns["generator", device, rw, length, depth]

    def copy(self, device, rw, length=4096, depth=1):
        return self.gen(COPY_LASTING[rw] if device in LASTING else COPY[device], rw, length, depth)

    def above(self, device, rw, length=4096, depth=1):
        return self.gen(device, rw, length, depth) - self.copy(device, rw, length, depth)

    def least_of(self, device, others, what=max):
        """The device's time over another's, where it is worst."""
        return what(self.gen(device, *key) / self.gen(others, *key)
                    for key in {k[2:] for k in self.ns if k[:2] == ("generator", device)}
                    if ("generator", others, *key) in self.ns)


def name_of(length):
    return f"{length >> 20}M" if length >> 20 else f"{length >> 10}K" if length >> 10 else str(length)


def show_generator(cells, table):
    full = [d for d in cells.devices("generator") if ("generator", d, "read", 512, 1) in cells.ns]
    for depth in (1, 32):
        table([f"ns a bio, depth {depth}"] + [f"{rw} {name_of(n)}" for rw in ("read", "write") for n in SHOWN],
              [[d] + [f"{cells.gen(d, rw, n, depth):.0f}" for rw in ("read", "write") for n in SHOWN] for d in full])
        print()
    table(["4K, depth 1", "read above its copy", "over brd", "write above its copy", "over brd"],
          [[d] + [x for rw in ("read", "write")
                  for x in (f"{cells.above(d, rw):.0f}", cells.above(d, rw) / cells.above("brd", rw))]
           for d in (*COPY, *LASTING)])


def show_fio(cells, table):
    for depth in (1, 32):
        print()
        table([f"fio, us {'of a request' if depth == 1 else 'between two'}, depth {depth}"] + [f"{rw} {name_of(n)}" for rw in ("read", "write") for n in SHOWN],
              [[d] + [cells.ns["fio", d, rw, n, depth] / 1e3 for rw in ("read", "write") for n in SHOWN]
               for d in cells.devices("fio")])


def show_breakdown(cells, table):
    """Section 2.3 of the paper: where the time of a 4K write through device-mapper goes."""
    rows = []
    for name, mapped in (("brd", "linear on brd"), ("mem2m", "mem2m .map")):
        copy, plain = cells.copy(name, "write"), cells.gen(name, "write")
        making, layer = cells.gen("nothing", "write"), cells.above("completes", "write")
        rows.append([name, f"{making:.0f}", f"{layer:.0f}", f"{copy - making:.0f}", f"{plain - copy - layer:.0f}",
                     f"{cells.gen(name, 'first write') - plain:.0f}", f"{cells.gen(mapped, 'write') - plain:.0f}"])
    print()
    table(["4K write, ns", "bio", "block layer", "copy", "finding memory", "getting it, once", "device-mapper"], rows)


def overhead(cells):
    record = next(r for r in cells.records if r["tool"] == "meminfo")
    return statistics.median(record["taken_kib"]) / (record["mib"] << 10) - 1


def picture(cells, path):
    figure, axes = plt.subplots(1, 2, figsize=(13, 5.5))
    for axis, rw in zip(axes, ("read", "write")):
        for device, style in (("nothing", "k:"), ("copy words", "k--"), ("copy nt", "k-."), ("completes", "y-"),
                              ("mem2m direct", "b-"), ("mem2m", "b--"), ("mem2m .map", "b:"), ("mem2m phys", "c--"),
                              ("nd_pmem", "m-"), ("brd", "r-"), ("null_blk", "g-")):
            sizes = sorted({k[3] for k in cells.ns if k[:3] == ("generator", device, rw) and k[4] == 1})
            axis.loglog(sizes, [cells.gen(device, rw, n) for n in sizes], style, label=device)
        axis.set_xticks(SHOWN, [name_of(n) for n in SHOWN])
        axis.set_title(f"{rw}, depth 1")
        axis.set_xlabel("bytes of a bio")
        axis.set_ylabel("ns of virtual time (instructions)")
        axis.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def show(records, table, target, path):
    cells = Cells(records)
    show_generator(cells, table)
    show_breakdown(cells, table)
    show_fio(cells, table)
    picture(cells, path)
    print(f"\npicture: {path}")
    ok = []
    for rw in ("read", "write"):
        brd = cells.above("brd", rw)
        ok += [target(f"4K {rw}, above the copy: direct mode over brd", cells.above("mem2m direct", rw) / brd, 0.15),
               target(f"4K {rw}, above the copy: block device over brd", cells.above("mem2m", rw) / brd, 0.75)]
        print(f"        (one that only completes bios: {cells.above('completes', rw) / brd:.2f})")
        ok += [target(f"1M {rw}: {d} over the copy", cells.gen(d, rw, 1 << 20) / cells.copy(d, rw, 1 << 20), 1.05)
               for d in ("mem2m direct", "mem2m", "mem2m .map", "mem2m phys")]
    ok += [target(f"{d} over nd_pmem, where it is worst", cells.least_of(d, "nd_pmem"), 1)
           for d in ("mem2m direct", "mem2m", "mem2m phys direct", "mem2m phys", "mem2m pmem")]
    ok.append(target("RAM beyond the device's size, percent", 100 * overhead(cells), 0.25))
    return all(ok)
