# SPDX-License-Identifier: GPL-2.0-only
"""A cell of the nameless FTL's measurements, beside the page map and the hybrid one: its argument is a file beside its
records, a JSON (names_loads).

All three get their requests from within the kernel, as many at a time, by drivers/biogen: as bios, or as requests of a
client of the physical segment, which keeps its pointers in the virtual one."""

import json
import os
import sys
import time

import lab
from nameless import PAGE, Ssd, amplified, area, busy, shares
import names_loads as loads

PARAMS = "/sys/module/evenkeel_biogen_names/parameters/"
CLIENT = {"nameless": dict(trust=1), "checked": {}, "pointers": dict(trust=1), "late": dict(trust=1)}
LINE = 1 << 20


def put(name, value):
    with open(PARAMS + name, "w", encoding="ascii") as f:
        f.write(str(value))


def got(name):
    with open(PARAMS + name, encoding="ascii") as f:
        return f.read().split()


class Device:
    """An emulated SSD of any FTL, and who writes to it."""

    def __init__(self, ftl, mib, **params):
        self.ftl, self.names = ftl, ftl in CLIENT
        if self.names:
            params = dict(CLIENT[ftl], **params)
        self.ssd = Ssd("ssd", f"{mib + loads.SPARE}M",
                       ftl="nameless" if self.names else ftl, **params)
        self.pages = self.stat()["flash_pages"]

    def __enter__(self):
        return self

    def __exit__(self, *what):
        lab.run("nlctl", "check", "ssd")
        self.ssd.__exit__(*what)

    def stat(self):
        return self.ssd.stat()

    def run(self, rw, count, depth=loads.DEPTH):
        """ns of a request."""
        count = max(depth, count // depth * depth)
        return lab.generate("names" if self.names else "block", self.ssd.path, rw, PAGE, depth, count)

    def fill(self, mib):
        """MiB of data, in order."""
        area(mib)
        if self.names:
            self.run("write", -(-mib * LINE // PAGE // loads.DEPTH) * loads.DEPTH)    # all of it: what has no name can't be read
        else:
            lab.generate("block", self.ssd.path, "write", LINE, 4, mib)

    def windows(self, rw, count, depth, nr):
        """(ns of a request, requests that were far too late) of each of so many runs."""
        seen, late = [], sum(self.ssd.late()[LATE:])
        for _ in range(nr):
            ns = self.run(rw, count, depth)
            before, late = late, sum(self.ssd.late()[LATE:])
            seen.append((ns, late - before))
        return seen

    def measure(self, out, rw, count, depth=loads.DEPTH, windows=4, tries=3, **key):
        """Once more, if time jumped in all of it."""
        for _ in range(tries):
            old, cpu = self.stat(), lab.Cpu()
            seen = self.windows(rw, count // windows, depth, windows)
            used, new = cpu.used(), self.stat()
            if disturbed(seen) < windows:
                break
        ns, done = mean(seen), sum(new["flash"]["program"][c] - old["flash"]["program"][c] for c in ("host",))
        out.add(bench="names", ftl=self.ftl, rw=rw, depth=depth, count=done, iops=1e9 / ns, us=ns / 1000, cpu=used,
                moved=moved(old, new), disturbed=disturbed(seen), amplification=amplified(old, new),
                shares=parts(old, new, ns * windows * (max(depth, count // windows // depth * depth))),
                wasted=new.get("wasted", 0) - old.get("wasted", 0), **key)
        lab.say(f"{self.ftl} {rw} {depth} {key}: {1e9 / ns:.0f} IOPS, {disturbed(seen)} of {windows} disturbed")

    def age(self, ftl, rw):
        """Writes until what is measured goes on like that."""
        if ftl == "hybrid":
            self.run(rw, 2 * self.pages // 20)      # two log areas
        else:
            self.run(rw, self.pages * 3 // 2)


def moved(old, new):
    """Pages programmed for none of the host's."""
    def programs(stat):
        return sum(n for cause, n in stat["flash"]["program"].items() if cause in ("gc", "merge", "wear"))
    return programs(new) - programs(old)


def parts(old, new, ns):
    """Figure 4.6: of the planes' time, with GC of all kinds for merges."""
    part = shares(old, new, ns)
    whole = ns * new["nr_planes"]
    for name, op in (("merge_read", "read"), ("merge_write", "program")):
        part[name] = sum(busy(new, op, c) - busy(old, op, c) for c in ("gc", "merge", "wear")) / whole
    part["idle"] = 1 - sum(busy(new, *w) - busy(old, *w) for w in ((),)) / whole - part["idle_in_merge"]
    return part


# --- what a busy host does to the machine's time -----------------------------------------------------------

LATE = 10       # of the device's buckets: requests later than a millisecond, by which no request is late of itself


def mean(windows):
    """ns of a request in those windows in which time went as it should, if there are any."""
    good = [ns for ns, late in windows if not late] or [ns for ns, _ in windows]
    return sum(good) / len(good)


def disturbed(windows):
    return sum(1 for _, late in windows if late)


# --- figures 4.3 to 4.7 --------------------------------------------------------------------------------

def some(ftl):
    return (4 if ftl == "hybrid" else 24) * loads.DEPTH


def writes(out, ftl, _cell):
    """Figure 4.3."""
    for rw in ("write", "randwrite"):
        with Device(ftl, loads.MIB) as device:
            device.fill(loads.RANGE)
            device.age("page" if rw == "write" else ftl, rw)
            device.measure(out, rw, some("page" if rw == "write" else ftl), what="writes")


def working_set(out, ftl, _cell):
    """Figures 4.4 to 4.6: all that is written is of one file, whose size it is."""
    for mib in loads.WORKING_SETS:
        with Device(ftl, loads.MIB) as device:
            device.fill(mib)
            device.age(ftl, "randwrite")
            device.measure(out, "randwrite", some(ftl), what="range", mib=mib)


def sync(out, ftl, _cell):
    """Figure 4.7: so many writes, then all are waited for."""
    with Device(ftl, loads.MIB) as device:
        device.fill(loads.RANGE)
        device.age(ftl, "randwrite")
        put("commit", 1 if ftl == "pointers" else 0)
        for n in loads.SYNCS:
            device.measure(out, "randwrite", 1024 if ftl == "hybrid" else 6144, n, what="sync")
        put("commit", loads.COMMIT)


# --- figure 4.2 -------------------------------------------------------------------------------------------

def mix(out, ftl, _cell):
    """A new file, so that the hybrid FTL's log area is empty."""
    for name, writes_of_1000 in loads.MIXES.items():
        with Device(ftl, loads.MIB) as device:
            device.fill(loads.RANGE)
            device.measure(out, f"randmix{writes_of_1000}", loads.REQUESTS, windows=1, tries=1, what="mix", mix=name)


# --- figures 4.8, 4.9, table 4.4 ------------------------------------------------------------------------------

def wear(out, ftl, cell):
    """Blocks live for 50 erases; worn is who has less than 90% of what the average has left."""
    rule = dict(wear="90%", wear_at="25%" if ftl == "late" else "0%")
    with Device(ftl, loads.WEAR_MIB, op="14%", endurance=50, moves=8192 // loads.SCALE, **rule) as device:
        device.fill(loads.WEAR_MIB)
        mib = loads.HOT[cell["load"]]
        area(mib)
        old = device.stat()
        seen = device.windows("write", mib * LINE // PAGE, loads.DEPTH, loads.TIMES)
        new = device.stat()
        out.add(bench="names", what="wear", ftl=ftl, load=cell["load"], iops=1e9 / mean(seen), disturbed=disturbed(seen),
                wear=new["flash"]["program"]["wear"] - old["flash"]["program"]["wear"],
                gc=new["flash"]["program"]["gc"] - old["flash"]["program"]["gc"],
                erases=sum(new["flash"]["erase"].values()) - sum(old["flash"]["erase"].values()),
                swaps=new["wear_swaps"] - old["wear_swaps"], stalled=new.get("stalled", 0), migrated=new.get("migrated", 0),
                bad=new["bad_blocks"], passes=[ns for ns, _ in seen], told=int(got("moved")[0]), most=int(got("most_moves")[0]),
                pointers=int(got("moved_written")[0]), committed=int(got("committed")[0]), stat=new)


# --- table 4.3 --------------------------------------------------------------------------------------------------

def tables(out, _ftl, cell):
    """A file system's metadata, written: as close together as a file system for such a device has it, and where they are."""
    for image in cell["images"]:
        for ftl in ("page", "hybrid"):
            # of the hybrid FTL's device 5% are the log area
            visible = image["bytes"] // PAGE * (95 if ftl == "hybrid" else 100) // 100 * PAGE
            with Ssd("table", visible, ftl=ftl) as ssd:
                stat = ssd.stat()
            out.add(bench="names", what="table", image=image["name"], ftl=ftl,
                    bytes=sum(stat[f"map_bytes_{kind}"] for kind in ("page", "block", "log")))
        for how in ("dense", "in place"):
            runs = [[0, image["metadata"]]] if how == "dense" else image["runs"]
            if not runs:
                continue
            with Ssd("table", image["bytes"] // PAGE * PAGE, ftl="nameless") as ssd:
                write_runs(ssd.path, runs)
                stat = ssd.stat()
            out.add(bench="names", what="table", image=image["name"], ftl="nameless", how=how, metadata=image["metadata"],
                    mapped=stat["mapped"], bytes=stat["map_bytes_page"], validity=stat["flash_pages"] // 8, files=image["files"],
                    data=image["data"], source=image["source"])


def write_runs(path, runs):
    """Pages [from, n] of a device."""
    zeros = bytes(256 * PAGE)
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    for first, n in runs:
        at = first * PAGE
        end = at + n * PAGE
        while at < end:
            at += os.pwrite(fd, zeros[:min(end - at, len(zeros))], at)
    os.fsync(fd)
    os.close(fd)


# --- recovery ---------------------------------------------------------------------------------------------------

def recovery(out, _ftl, _cell):
    """Cuts after so many random writes whose pointers were not written."""
    mib, data = loads.RECOVERY
    with Device("nameless", mib) as device:
        put("commit", 1)
        device.fill(data)
        put("commit", 0)
        for n in loads.UNCOMMITTED:
            if n:
                device.run("randwrite", n)
            with open("/sys/kernel/config/nameless/ssd/cut", "w", encoding="ascii") as cut:
                begin = time.monotonic_ns()     # a command's program would be read meanwhile, in any time
                cut.write("\n")
            put("recover", device.ssd.path)     # waits for the scan, too
            total = time.monotonic_ns() - begin
            stat = device.stat()
            ns, blocks, wrong = map(int, got("recover"))
            out.add(bench="names", what="recovery", writes=n, scan_ns=stat["recovery_ns"], client_ns=ns, total_ns=total, blocks=blocks, wrong=wrong,
                    valid=stat["valid"], scanned=stat["recovered_by_scan"])


KINDS = {"writes": writes, "range": working_set, "sync": sync, "mix": mix, "wear": wear, "tables": tables,
         "recovery": recovery}


def measure(out, _quick):
    with open(os.path.join(os.path.dirname(sys.argv[2]), sys.argv[3]), encoding="utf-8") as f:
        cell = json.load(f)
    out.meta["cell"] = {k: v for k, v in cell.items() if k != "images"}
    lab.stage("nlctl")
    for module in ("nameless", "evenkeel_biogen", "evenkeel_biogen_names"):
        lab.modprobe(module)
    put("commit", loads.COMMIT)
    began = lab.uptime()
    for ftl in cell.get("ftls", [None]):
        KINDS[cell["what"]](out, ftl, cell)
    lab.say(f"{lab.uptime() - began:.1f} s of virtual time")


if __name__ == "__main__":
    lab.main({"names": measure})
