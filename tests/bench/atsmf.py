# SPDX-License-Identifier: GPL-2.0-only
"""A load with concentrations on the memory tier and on what there is instead: its argument is a JSON with load and seed.

The load, as a file of requests, runs once on a disk without latency, traced by blktrace; btrecord makes of that what
btreplay then does to every volume, which is traced as well: what a request took is between its queueing and its
completion. The traces are reduced outside of the machine (atsmf_traces.py)."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import atsmf_loads
import lab
import volumes

MIB = 1 << 20
LABELS = 64             # MiB of the SSD that are not the volume's
TRACE = "/sys/kernel/tracing"
NAME = "vol"            # btreplay opens /dev/NAME
BUCKET = "16k"          # bcache wants a thousand of them
MIN_TIER = 4            # MiB: two sub-LUNs
LOOK = 5                # s between two looks at a replay
STUCK = 60              # s without any request: it has ended, or never will


def put(path, text):
    with open(f"{TRACE}/{path}", "w", encoding="ascii") as f:
        f.write(text)


class Blktrace:
    """Traces a block device into lab.RAM/NAME.blktrace.0."""

    def __init__(self, dev, name, *actions):
        self.path = os.path.join(lab.RAM, name + ".blktrace.0")
        argv = ["blktrace", "-d", os.path.realpath(dev), "-o", name, "-D", lab.RAM, "-b", "1024", "-n", "8"]
        for action in actions:
            argv += ["-a", action]
        self.tracer = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lab.wait_for(self.path)
        time.sleep(1)       # its file is there before it traces, and nothing tells when it does

    def stop(self):
        self.tracer.send_signal(signal.SIGINT)
        said = self.tracer.communicate()[0]
        if self.tracer.returncode or "dropped 0)" not in said:
            raise SystemExit(f"blktrace: {said}")


def record(program, requests):
    """What btreplay takes, in lab.RAM: the load at its times, traced."""
    dev = lab.emudisk("source", "null", atsmf_loads.VOLUME)
    trace = Blktrace(dev, NAME, "queue")
    lab.run(program, dev, requests)
    trace.stop()
    lab.run("btrecord", "-d", lab.RAM, "-D", lab.RAM, "-M", "1", NAME)
    os.remove(trace.path)
    lab.emudisk_del("source")


# --- the volumes -----------------------------------------------------------------------------------

@contextlib.contextmanager
def ssd(spec):
    lab.emudisk("ssd", "nvme", f"{(spec['volume'] >> 20) + LABELS}M", **spec.get("ssd", {}))
    try:
        yield "/dev/emudisk/ssd"
    finally:
        lab.emudisk_del("ssd")


def unload(module):
    """bcache lets go of its devices a moment after it is gone."""
    end = lab.uptime() + 10
    while lab.run("lsmod").find(f"\n{module} ") >= 0:
        lab.run("rmmod", module, check=lab.uptime() > end)
        time.sleep(0.01)


@contextlib.contextmanager
def brd(mib):
    lab.modprobe("brd", "rd_nr=1", f"rd_size={mib << 10}")
    lab.wait_for("/dev/ram0")
    try:
        yield "/dev/ram0"
    finally:
        unload("brd")


@contextlib.contextmanager
def mem2m(mib):
    lab.run("mem2mctl", "create", "mem", f"{mib}M")
    lab.wait_for("/dev/mem2m/mem")
    try:
        yield "/dev/mem2m/mem"
    finally:
        lab.run("mem2mctl", "delete", "mem")


@contextlib.contextmanager
def slow_memory(mib):
    """Section 5: 500 ns."""
    lab.emudisk("slow", "mem", f"{mib}M", read_lat="500", write_lat="500", flush="500", discard="500")
    try:
        yield "/dev/emudisk/slow"
    finally:
        lab.emudisk_del("slow")


@contextlib.contextmanager
def meta():
    lab.emudisk("meta", "null", "32M")
    try:
        yield "/dev/emudisk/meta"
    finally:
        lab.emudisk_del("meta")


@contextlib.contextmanager
def tier(spec, memory):
    """The pool, every extent of it written."""
    with ssd(spec) as slow, memory as fast, meta() as m:
        words = (f"sublun {atsmf_loads.SUBLUN >> 20} window_ms {atsmf_loads.WINDOW * 1000:.0f} fast 1 period_ms 125"
                 .split() + spec.get("policy", "").split())
        table = lab.hybrid_table((m, 0), [(slow, 0), (fast, 0)], extent="64K", length=spec["volume"] // lab.SECTOR,
                                 policy=f"concentrate {len(words)} {' '.join(words)}")
        with volumes.mapped("pool", table) as dev:
            lab.run("dd", "if=/dev/zero", f"of={dev}", "bs=1M", f"count={spec['volume'] >> 20}", "oflag=direct")
            yield dev


@contextlib.contextmanager
def dm_cache(spec, mib):
    with ssd(spec) as slow, brd(mib) as fast, meta() as m:
        n = spec["volume"] // lab.SECTOR
        with volumes.mapped("cache", f"0 {n} cache {m} {fast} {slow} 128 1 writeback smq 0") as dev:
            yield dev


@contextlib.contextmanager
def bcache(spec, mib):
    """bcache hands the bio on as its disk's, so that it ends as that: what is traced is a linear target above it."""
    with ssd(spec) as slow, brd(mib) as fast, volumes.bcache_on(fast, slow, "writeback", BUCKET) as below:
        with volumes.mapped("above", f"0 {spec['volume'] // lab.SECTOR} linear {below} 0") as dev:
            yield dev


def volume(kind, spec, mib):
    return {"ssd": lambda: ssd(spec), "tier": lambda: tier(spec, mem2m(mib)), "tier on brd": lambda: tier(spec, brd(mib)),
            "tier of 500 ns": lambda: tier(spec, slow_memory(mib)), "dm-cache": lambda: dm_cache(spec, mib),
            "bcache": lambda: bcache(spec, mib)}[kind]()


# --- replaying -------------------------------------------------------------------------------------

class Moves:
    """What a pool moved meanwhile, and how many requests each member got, by its tracepoints."""

    def __init__(self):
        put("buffer_size_kb", "16384")
        put("trace", "")
        put("events/hybrid/hybrid_migrate/filter", "stage == 1")
        for event in ("hybrid_migrate", "hybrid_period"):
            put(f"events/hybrid/{event}/enable", "1")

    def stop(self):
        for event in ("hybrid_migrate", "hybrid_period"):
            put(f"events/hybrid/{event}/enable", "0")
        there = most = up = down = 0
        requests = [0, 0]
        with open(f"{TRACE}/trace", encoding="ascii") as f:
            for line in f:
                m = re.search(r"hybrid_period: .*member=(\d) requests=(\d+)", line)
                if m:
                    requests[int(m[1])] += int(m[2])
                elif "hybrid_migrate:" in line:
                    raised = " to=1 " in line
                    up, down, there = up + raised, down + (not raised), there + (1 if raised else -1)
                    most = max(most, there)
        return dict(most_bytes=most << 16, up_bytes=up << 16, down_bytes=down << 16, requests=requests)


def sysfs(dev, name):
    """A block device's file of that name in sysfs."""
    number = os.stat(dev).st_rdev
    return f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/{name}"


def counted(dev):
    """Requests that a block device has counted, and those under way: some kernels count them when they begin."""
    with open(sysfs(dev, "stat"), encoding="ascii") as f:
        words = f.read().split()
    return int(words[0]) + int(words[4]), int(words[8])


def watch(replaying, dev, end):
    """
    Until btreplay ends, or all has been done, seen twice: its threads may wait for each other for ever then, where
    requests end within the call that submits them. Or until nothing happens any more.
    """
    before, progress = None, lab.uptime()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return replaying.wait(LOOK)
        now = counted(dev)
        if now != before:
            progress = lab.uptime()
        elif now == (end, 0) or lab.uptime() > progress + STUCK:
            replaying.kill()
            replaying.wait()
            return 0
        before = now


def btreplay(dev, requests):
    """Nothing may be missing, nor may there be more."""
    first = counted(dev)[0]
    status = watch(subprocess.Popen(["btreplay", "-d", lab.RAM, "-W", NAME]), dev, first + requests)
    did, under_way = counted(dev)
    if status or under_way or did - first != requests:
        raise SystemExit(f"btreplay: status {status}, {did - first} of {requests} requests, {under_way} under way")


def trace_name(path, label):
    """Beside the records at @path, and no other load's or kernel's, whose machine may run at the same time."""
    return os.path.basename(path).removesuffix("jsonl") + label.replace(" ", "-") + ".trace"


def replay(out, share, name, kind, mib, label, requests):
    spec = atsmf_loads.LOADS[name]
    with volume(kind, spec, mib) as dev:
        link = f"/dev/{NAME}"
        os.symlink(dev, link)
        moves = Moves() if "tier" in kind else None
        trace = Blktrace(dev, "replayed", "queue", "complete")
        cpu = lab.Cpu()
        btreplay(dev, requests)
        used = cpu.used()
        trace.stop()
        more = moves.stop() if moves else {}
        os.remove(link)
    kept = trace_name(out.path, label)
    shutil.copy(trace.path, os.path.join(share, kept))
    os.remove(trace.path)
    out.add(bench="atsmf", load=name, device=label, mib=mib, cpu=used, trace=kept, **more)
    lab.say(f"# {name}: {label}: CPU {100 * used:.0f}%, memory {mib} MiB {more}")
    return more


def measure(out, _quick):
    cell = json.loads(sys.argv[3])
    out.meta["cell"] = dict(cell, spec=atsmf_loads.LOADS[cell["load"]])
    name, share = cell["load"], os.path.dirname(sys.argv[2])
    spec = atsmf_loads.LOADS[name]
    for m in ("dm-hybrid", "emudisk", "mem2m", "dm-cache-smq", "bcache"):
        lab.modprobe(m)
    lab.run("mount", "-t", "debugfs", "none", "/sys/kernel/debug", check=False)
    issue, file = lab.stage(os.path.join(share, "issue"), os.path.join(share, cell["requests"]))
    lab.stage("dmsetup", "mem2mctl", "emuctl", "blktrace", "btrecord", "btreplay", "make-bcache", "dd")
    requests = os.path.getsize(file) // atsmf_loads.REQUEST.size
    record(issue, file)
    whole = spec["volume"] // MIB

    def on(kind, mib, label=None):
        return replay(out, share, name, kind, mib, label or kind, requests)

    on("ssd", 0)
    took = on("tier", whole // 2)["most_bytes"]
    equal = max(16, -(-took // atsmf_loads.SUBLUN) * atsmf_loads.SUBLUN >> 20)
    if name in atsmf_loads.DIVIDED:
        return
    for kind in ("tier on brd", "tier of 500 ns"):
        on(kind, whole // 2)
    for kind in ("dm-cache", "bcache"):
        on(kind, equal)
    if name in atsmf_loads.LIMITED:
        for kind in ("tier", "dm-cache", "bcache"):
            on(kind, whole // 10, f"{kind}, a tenth")
        on("tier", max(MIN_TIER, took >> 21), "tier, half of it")


if __name__ == "__main__":
    lab.main({"atsmf": measure})
