# SPDX-License-Identifier: GPL-2.0-only
"""The emulated SSD: figures 3.3 to 3.16 of zhang-2013, what a request costs, what memory it takes."""

import json
import re
import sys

import lab

PAGE = 4096
NOTHING = dict(t_read=0, t_program=0, t_erase=0, t_bus_control=0, t_bus_data=0, t_ram=0, t_register=0)
AREA = "/sys/module/evenkeel_biogen/parameters/area_mib"
TRACE = "/sys/kernel/tracing"
REQUEST = re.compile(r"nameless_request: \S+ \w \d+ \+ \d+ model=(\d+) store=(\d+) end=(\d+) flash=(\d+)")
BIO = re.compile(r" (\d+): block_bio_(queue|complete): \d+,\d+ \w+ (?:\(\) )?(\d+) \+")
FTLS = ("page", "hybrid")
WAYS = ("write", "randwrite")
QUANTILES = 200         # of a distribution


class Ssd:
    """An emulated SSD that collects nothing by itself; gone at the end."""

    def __init__(self, name, length, **params):
        self.name, self.path = name, f"/dev/nameless/{name}"
        params.setdefault("gc_idle", 0)
        lab.run("nlctl", "create", name, length, *(f"{k}={v}" for k, v in params.items()))
        lab.wait_for(self.path)
        lab.run("udevadm", "settle", check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lab.run("nlctl", "delete", self.name)

    def set(self, **params):
        lab.run("nlctl", "set", self.name, *(f"{k}={v}" for k, v in params.items()))

    def stat(self):
        return json.loads(lab.run("nlctl", "stat", self.name, "--json"))

    def late(self):
        return self.stat()["late_us"]


def area(mib):
    """What the generator's requests go to."""
    with open(AREA, "w") as f:
        f.write(str(mib))


def settle(ssd, mib, times):
    """Fill the first MiB, then write so many times as much anywhere in them: as after long use."""
    area(mib)
    lab.generate("block", ssd.path, "write", 1 << 20, 4, mib)
    if times:
        lab.generate("block", ssd.path, "randwrite", PAGE, 64, times * mib * 256)


def parts(values):
    """A distribution as its quantiles, the least and the greatest among them."""
    values = sorted(values)
    return [values[min(len(values) - 1, i * len(values) // QUANTILES)] for i in range(QUANTILES)] + [values[-1]]


class Tracer:
    """Events of a generator's run."""

    def __init__(self):
        for name, value in (("buffer_size_kb", "32768"), ("trace_clock", "x86-tsc")):
            self.set(name, value)

    @staticmethod
    def set(name, value):
        with open(f"{TRACE}/{name}", "w", encoding="ascii") as f:
            f.write(value)

    def run(self, events, *job):
        self.set("trace", "")
        for e in events:
            self.set(f"events/{e}/enable", "1")
        lab.generate(*job)
        for e in events:
            self.set(f"events/{e}/enable", "0")
        with open(f"{TRACE}/trace", encoding="ascii", errors="replace") as f:
            return f.readlines()

    def costs(self, *job):
        """(model, store, end, flash) of each request."""
        lines = self.run(["nameless/nameless_request"], *job)
        found = [tuple(map(int, m.groups())) for m in map(REQUEST.search, lines) if m]
        assert len(found) == job[-1], f"{len(found)} of {job[-1]} requests were traced"
        return found

    def times(self, *job):
        """ns of each request, from the block layer's queueing to its end: one at a time."""
        begun, times = None, []
        for line in self.run(["block/block_bio_queue", "block/block_bio_complete"], *job):
            m = BIO.search(line)
            if m and m[2] == "queue":
                begun = int(m[1])
            elif m and begun is not None:
                times.append(int(m[1]) - begun)
                begun = None
        assert len(times) == job[-1], f"{len(times)} of {job[-1]} requests were traced"
        return times


# --- what the emulator itself takes ----------------------------------------------------------------

def overhead(out, quick):
    """Figures 3.3 to 3.5: no flash takes any time, so what is left is the emulator's own."""
    tracer = Tracer()
    count = 1000 if quick else 4000
    for ftl in FTLS:
        for rw in WAYS:
            with Ssd("cost", "64M", ftl=ftl, **NOTHING) as ssd:
                settle(ssd, 32, 2)
                none = lab.generate("block", "/dev/biogen-null", rw, PAGE, 1, count)
                whole = lab.generate("block", ssd.path, rw, PAGE, 1, count)
                costs = tracer.costs("block", ssd.path, rw, PAGE, 1, count)
            out.add(bench="nameless", what="overhead", ftl=ftl, rw=rw, count=count, bio_ns=none, request_ns=whole,
                    total=parts([m + s + e for m, s, e, _ in costs]), store=parts([s for _, s, _, _ in costs]),
                    model=parts([m for m, _, _, _ in costs]))


def accuracy(out, quick):
    """Figures 3.6 to 3.9: requests that are to take so long."""
    tracer = Tracer()
    wanted = (0, 17, 40) if quick else (0, 2, 5, 8, 11, 14, 17, 19, 21, 25, 30, 35, 40)
    count = 500
    for ftl in FTLS:
        for rw in WAYS:
            with Ssd("exact", "64M", ftl=ftl, **NOTHING) as ssd:
                settle(ssd, 32, 2)
                for us in wanted:
                    ssd.set(t_program=f"{us}us")
                    before = ssd.late()
                    times = sorted(tracer.times("block", ssd.path, rw, PAGE, 1, count))
                    late = [b - a for a, b in zip(before, ssd.late())]
                    out.add(bench="nameless", what="accuracy", ftl=ftl, rw=rw, wanted_us=us, median_ns=times[count // 2],
                            least_ns=times[0], p99_ns=times[count * 99 // 100], late=late)
    times = sorted(tracer.times("block", "/dev/biogen-null", "write", PAGE, 1, count))
    out.add(bench="nameless", what="no device", median_ns=times[count // 2])


def capability(out, quick):
    """Figure 3.10: with so many planes, how fast may each be? As fast as requests can be dealt with."""
    count = 128 * (8 if quick else 60)
    for planes in (1, 10) if quick else (1, 2, 4, 6, 8, 10, 12, 16, 20):
        depth = 128 // planes * planes
        with Ssd("planes", "64M", packages=planes, **NOTHING) as ssd:
            settle(ssd, 32, 0)
            own = lab.generate("block", ssd.path, "write", PAGE, depth, count)
            least = own * planes
            ssd.set(t_program=f"{int(1.3 * least)}ns")
            slow = lab.generate("block", ssd.path, "write", PAGE, depth, depth * 8)
        out.add(bench="nameless", what="capability", planes=planes, request_ns=own, least_ns=least,
                flash_bound=1.3 * own / slow)


# --- the flash ---------------------------------------------------------------------------------------

def busy(stat, op=None, cause=None):
    return sum(ns for o, row in stat["busy_ns"].items() for c, ns in row.items()
               if o == (op or o) and c == (cause or c))


def shares(old, new, ns):
    """Of the planes' time while all of it was done (figures 3.14 and 3.15)."""
    whole = ns * new["nr_planes"]
    part = {name: (busy(new, *which) - busy(old, *which)) / whole for name, which in {
        "write": ("program", "host"), "merge_read": ("read", "merge"), "merge_write": ("program", "merge"),
        "erase": ("erase",), "all": ()}.items()}
    part["idle_in_merge"] = min((new["idle_in_merge_ns"] - old["idle_in_merge_ns"]) / whole, 1 - part["all"])
    part["idle"] = 1 - part.pop("all") - part["idle_in_merge"]
    return part


def amplified(old, new):
    def programs(stat):
        return sum(stat["flash"]["program"].values())
    return (programs(new) - programs(old)) / (new["flash"]["program"]["host"] - old["flash"]["program"]["host"])


class Load:
    """4K writes, after which the device says what they made it do. From within the kernel: no program waits for anything."""

    DEPTH = 1280        # two erase blocks for each of 10 planes, of a run, too

    def __init__(self, out):
        self.out, self.tracer = out, Tracer()

    def run(self, what, ssd, rw, count, **key):
        old, cpu = ssd.stat(), lab.Cpu()
        ns = lab.generate("block", ssd.path, rw, PAGE, self.DEPTH, count)
        used, new = cpu.used(), ssd.stat()
        took = [flash for _, _, _, flash in self.tracer.costs("block", ssd.path, rw, PAGE, 32, 2048)]
        self.out.add(bench="nameless", what=what, rw=rw, iops=1e9 / ns, us=sum(took) / len(took) / 1000, cpu=used,
                     amplification=amplified(old, new), shares=shares(old, new, ns * count), **key)


def parallelism(out, quick):
    """Figures 3.11 and 3.12: random writes of a half of the device."""
    load = Load(out)
    mib = 16 if quick else 64
    for preset in ("ssd1", "ssd2"):
        for ftl in FTLS:
            for planes in (1, 10) if quick else (1, 2, 5, 10, 15, 20):
                with Ssd("planes", f"{2 * mib}M", preset=preset, ftl=ftl, packages=planes) as ssd:
                    settle(ssd, mib, 2)
                    load.run("planes", ssd, "randwrite", 4 * Load.DEPTH, preset=preset, ftl=ftl, planes=planes)


def comparison(out, quick):
    """Figure 3.13: writes all over the device. Both FTLs have as much flash: what is the log area's in one is spare in the other."""
    load = Load(out)
    mib = 32 if quick else 128
    for preset in ("ssd1", "ssd2"):
        for ftl, spare in (("page", dict(op="25%")), ("hybrid", dict(log="20%"))):
            for rw in WAYS:
                with Ssd("both", f"{mib}M", preset=preset, ftl=ftl, **spare) as ssd:
                    settle(ssd, mib, 2 if rw == "randwrite" else 0)
                    load.run("comparison", ssd, rw, 4 * Load.DEPTH, preset=preset, ftl=ftl)


def logs(out, quick):
    """Figures 3.14 to 3.16: random writes of a quarter of the device, more and more of which is the log area."""
    load = Load(out)
    mib = 16 if quick else 64
    for percent in (10, 50) if quick else (10, 20, 30, 40, 50):
        with Ssd("log", f"{4 * mib * (100 - percent) // 100 * 1024}K", ftl="hybrid", log=f"{percent}%") as ssd:
            settle(ssd, mib, 4)
            load.run("log", ssd, "randwrite", 2 * 256 * mib // Load.DEPTH * Load.DEPTH, percent=percent)


def rates(out, quick):
    """Completions at the rate that the dissertation's emulator ended at, and what fio sees of that."""
    program = lab.stage("fio")
    for ftl, depth, time in (("page", 10, "110us"), ("hybrid", Load.DEPTH, "145us")):    # a run is in few planes at a time
        with Ssd("rate", "64M", ftl=ftl, **dict(NOTHING, t_program=time)) as ssd:
            settle(ssd, 32, 0)
            before, cpu = ssd.late(), lab.Cpu()
            ns = lab.generate("block", ssd.path, "write", PAGE, depth, 6400)
            out.add(bench="nameless", what="rate", by="the kernel", ftl=ftl, iops=1e9 / ns, cpu=cpu.used(),
                    late=[b - a for a, b in zip(before, ssd.late())], late_max_ns=ssd.stat()["late_max_ns"])
    with Ssd("rate", "64M", preset="ssd2", packages=20) as ssd:
        settle(ssd, 32, 0)
        before, cpu = ssd.late(), lab.Cpu()
        job = lab.fio(program, {"load": dict(filename=ssd.path, rw="write", bs=PAGE, size="32M", rate_iops=65000,
                                             io_size=PAGE * (6500 if quick else 65000), ioengine="libaio",
                                             iodepth=32)})["load"]["write"]
        out.add(bench="nameless", what="rate", by="fio", ftl="page", iops=job["iops"], cpu=cpu.used(),
                late=[b - a for a, b in zip(before, ssd.late())], late_max_ns=ssd.stat()["late_max_ns"])


# --- how fast, how large -----------------------------------------------------------------------------

def ceiling(out, quick):
    """ns of the processor for a request, against null_blk; what none could be below is beside it."""
    count = 2000 if quick else 8000
    null_blk = lab.null_blk("memory", 64)
    area(32)
    with Ssd("page", "64M", ftl="page", **NOTHING) as page, Ssd("hybrid", "64M", ftl="hybrid", **NOTHING) as hybrid:
        devices = {"nothing": "/dev/biogen-null", "null_blk": null_blk, "page": page.path, "hybrid": hybrid.path}
        for name, path in devices.items():
            for rw in ("write", "read", "randread", "randwrite"):
                for depth in (1, 32):
                    lab.generate("block", path, rw, PAGE, depth, max(count, 8192 if rw == "write" else 0))
                    ns = lab.generate("block", path, rw, PAGE, depth, count)
                    out.add(bench="nameless", what="ceiling", device=name, rw=rw, depth=depth, ns=ns)


def memory(out, quick):
    """What a device takes beyond the data and the OOB of the flash pages that were written."""
    mib = 128 if quick else 512
    area(mib)
    for ftl in FTLS:
        before = lab.free_kib()
        with Ssd("whole", f"{mib}M", ftl=ftl, **NOTHING) as ssd:
            lab.generate("block", ssd.path, "write", 1 << 20, 4, mib)
            stat = ssd.stat()
            taken = before - lab.free_kib()
            params = stat["params"]
        blocks = stat["flash"]["program"]["host"] // params["pages"]
        out.add(bench="nameless", what="memory", ftl=ftl, mib=mib, taken_kib=taken,
                data_kib=stat["pages_stored"] * 4, oob_kib=blocks * params["pages"] * params["oob_size"] >> 10,
                flash_kib=stat["flash_pages"] * (PAGE + params["oob_size"]) >> 10,
                tables_kib=sum(v for k, v in stat.items() if k.endswith("_bytes") or k.startswith("map_bytes_")) -
                stat["page_bytes"] >> 10)


IMAGES = {"328 MB": 328 << 20, "2 GB": 2 << 30, "10 GB": 10 << 30, "100 GB": 100 << 30}


def tables(out, quick):
    """Table 4.3, as far as there is memory; of the hybrid FTL's device 5% are the log area."""
    for image, length in list(IMAGES.items())[:2 if quick else 4]:
        for ftl in FTLS:
            visible = length // PAGE * (95 if ftl == "hybrid" else 100) // 100 * PAGE
            with Ssd("table", visible, ftl=ftl) as ssd:
                stat = ssd.stat()
            out.add(bench="nameless", what="table", where="kernel", image=image, bytes=length, ftl=ftl,
                    **{kind: stat[f"map_bytes_{kind}"] for kind in ("page", "block", "log", "chain")})
    for percent in (20, 50):
        with Ssd("table", (4 << 30) // PAGE * (100 - percent) // 100 * PAGE, ftl="hybrid", log=f"{percent}%") as ssd:
            stat = ssd.stat()
        out.add(bench="nameless", what="log table", percent=percent,
                **{kind: stat[f"map_bytes_{kind}"] for kind in ("page", "block", "log", "chain")})


# --- a member of a pool --------------------------------------------------------------------------------

def pool(out, quick):
    """Random reads of two SSDs that are unlike each other, alone and together."""
    program = lab.stage("fio")
    lab.modprobe("dm-hybrid")
    run = dict(rw="randread", bs=PAGE, size="48M", ioengine="libaio", iodepth=32, time_based=1,
               ramp_time="1s" if quick else "8s", runtime="1s" if quick else "3s")
    with Ssd("fast", "64M", preset="ssd1", packages=1) as fast, Ssd("slow", "64M", preset="ssd2", packages=1) as slow:
        meta = lab.null_blk("meta", 64)
        for name, path in (("ssd1", fast.path), ("ssd2", slow.path)):
            lab.run("dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=64", "oflag=direct")
            job = lab.fio(program, {"load": dict(run, filename=path, ramp_time=0)})["load"]["read"]
            out.add(bench="nameless", what="pool", device=name, iops=job["iops"], us=job["lat_ns"]["mean"] / 1000)
        for policy in ("stripe", "wardrop"):
            lab.blank(meta)
            lab.blank(fast.path)
            lab.blank(slow.path)
            path = lab.dm("pool", lab.hybrid_table((meta, 0), [(fast.path, 0), (slow.path, 0)], policy=f"{policy} 0"))
            lab.run("dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=48", "oflag=direct")
            job = lab.fio(program, {"load": dict(run, filename=path)})["load"]["read"]
            status = lab.hybrid_status("pool")
            out.add(bench="nameless", what="pool", device=policy, iops=job["iops"], us=job["lat_ns"]["mean"] / 1000,
                    shares=[m["share_ppm"] / 1e6 for m in status["members"]])
            lab.dm_del("pool")
            lab.run("nlctl", "check", fast.name)
            lab.run("nlctl", "check", slow.name)


PARTS = {
    "memory": memory, "tables": tables, "ceiling": ceiling, "overhead": overhead, "accuracy": accuracy,
    "capability": capability, "parallelism": parallelism, "comparison": comparison, "logs": logs, "rates": rates, "pool": pool,
}


def measure(out, quick):
    """Those parts that --part=NAME names, or all."""
    lab.stage("dmsetup", "nlctl")
    lab.modprobe("nameless")
    lab.modprobe("evenkeel_biogen")
    chosen = [a.partition("=")[2] for a in sys.argv if a.startswith("--part=")]
    for name in chosen or PARTS:
        began = lab.uptime()
        PARTS[name](out, quick)
        lab.say(f"{name}: {lab.uptime() - began:.1f} s of virtual time")


if __name__ == "__main__":
    lab.main({"nameless": measure})
