# SPDX-License-Identifier: GPL-2.0-only
"""What a bio costs on a memory device, on others like it, and as nothing but a copy."""

import lab

AREA = 16               # MiB of each device that requests go to
MB = 64                 # each device
PHYS = 1024             # MiB: the machine has reserved memory from there on, and behind it as much for nd_pmem
SIZES = [512 << i for i in range(12)]
FIO_SIZES = [512, 4096, 65536, 1 << 20]
COPIES = ["nothing", "words", "memcpy", "nt", "mc"]


def mem2m(name, length, *where):
    lab.run("mem2mctl", "create", name, f"{length}M", *where)
    lab.wait_for(f"/dev/mem2m/{name}")
    return f"/dev/mem2m/{name}"


def devices():
    """Name -> (way of the generator, path)."""
    lab.modprobe("evenkeel_biogen", f"area_mib={AREA}")
    lab.modprobe("brd", "rd_nr=4", f"rd_size={MB << 10}")
    lab.modprobe("nd_e820")
    lab.modprobe("nd_pmem")
    lab.modprobe("mem2m")
    ram, phys = mem2m("ram", MB), mem2m("phys", MB, "--phys", f"{PHYS}M")
    null_blk = lab.null_blk("memory", MB)
    for path in ("/dev/ram0", "/dev/pmem0"):
        lab.wait_for(path)
    lab.run("udevadm", "settle", check=False)
    return {"completes": ("block", "/dev/biogen-null"), "mem2m": ("block", ram), "mem2m direct": ("direct", ram),
            "brd": ("block", "/dev/ram0"), "null_blk": ("block", null_blk),
            "mem2m phys": ("block", phys), "mem2m phys direct": ("direct", phys), "nd_pmem": ("block", "/dev/pmem0")}


def targets():
    """The same through device-mapper, which holds what is beneath: once that was measured itself."""
    n = MB << 11
    return {"mem2m .map": ("block", lab.dm("map", f"0 {n} mem2m ram 0")),
            "linear on brd": ("block", lab.dm("onbrd", f"0 {n} linear /dev/ram0 0")),
            "linear on completes": ("block", lab.dm("onnull", f"0 {n} linear /dev/biogen-null 0"))}


def hybrids():
    """Pools of one kind of memory, which dm-hybrid finds by itself."""
    lab.modprobe("dm-hybrid")
    devs, n = {}, AREA * 2 << 11
    for name, members in (("hybrid on brd", ["/dev/ram1", "/dev/ram2"]),
                          ("hybrid on mem2m", [mem2m(f"m{i}", MB) for i in range(2)])):
        meta = lab.null_blk(name.replace(" ", ""), MB)
        table = lab.hybrid_table((meta, 0), [(m, 0) for m in members], length=n, policy="fill 0")
        devs[name] = ("block", lab.dm(name.replace(" ", ""), table))
    return devs


class Generator:
    def __init__(self, out, quick):
        self.out, self.quick = out, quick

    def count(self, length):
        return max(64, min(500 if self.quick else 4000, (16 if self.quick else 64) << 20 >> length.bit_length() - 1))

    def cell(self, name, way, path, rw, length, depth):
        count = self.count(length)
        lab.generate(way, path, rw, length, depth, max(16, count // 8))     # warms up
        ns = lab.generate(way, path, rw, length, depth, count)
        self.out.add(bench="mem2m", tool="generator", device=name, rw=rw, bytes=length, depth=depth, ns=ns, count=count)

    def sweep(self, devs):
        for name, (way, path) in devs.items():
            for rw in ("read", "write"):
                for length in SIZES:
                    for depth in (1, 32):
                        self.cell(name, way, path, rw, length, depth)

    def first_writes(self, name, way, path):
        """Of every page of the area, which a device may have to get first."""
        count = AREA << 20 >> 12
        ns = lab.generate(way, path, "write", 4096, 1, count)
        self.out.add(bench="mem2m", tool="generator", device=name, rw="first write", bytes=4096, depth=1, ns=ns, count=count)


def fio_sweep(out, fio, devs, quick):
    jobs = {}
    for name, (_, path) in devs.items():
        for rw in ("write", "read"):
            for length in FIO_SIZES:
                for depth in (1, 32):
                    ios = (2000 if quick else 8000) if length < 65536 else (100 if quick else 400)
                    engine = dict(ioengine="psync") if depth == 1 else dict(
                        ioengine="libaio", iodepth=depth, iodepth_batch_submit=8, iodepth_batch_complete_min=1)
                    jobs[f"{name}/{rw}/{length}/{depth}"] = dict(
                        filename=path, rw="rand" + rw, bs=length, size=f"{AREA}M", io_size=length * ios, **engine)
    for job, j in lab.fio(fio, jobs).items():
        name, rw, length, depth = job.split("/")
        ios = j[rw]["total_ios"]
        out.add(bench="mem2m", tool="fio", device=name, rw=rw, bytes=int(length), depth=int(depth), count=ios,
                ns=j[rw]["lat_ns"]["mean"] if depth == "1" else j[rw]["runtime"] * 1e6 / ios)


def ram_overhead(out):
    """What a device of 1 GiB takes away, and gives back."""
    size, taken = 1024, []
    for _ in range(3):
        before = lab.free_kib()
        mem2m("whole", size)
        during = lab.free_kib()
        lab.run("mem2mctl", "delete", "whole")
        taken += [before - during, lab.free_kib() - during]
    out.add(bench="mem2m", tool="meminfo", mib=size, taken_kib=taken)


def measure(out, quick):
    fio = lab.stage("fio")
    lab.stage("dmsetup", "mem2mctl")
    devs = devices()
    ram_overhead(out)
    generator = Generator(out, quick)
    generator.sweep({f"copy {c}" if c != "nothing" else c: (c, "/dev/biogen-null") for c in COPIES})
    for name in ("mem2m", "brd", "null_blk", "nd_pmem"):
        generator.first_writes(name, *devs[name])
    generator.sweep(devs)
    generator.sweep({"mem2m pmem": ("block", mem2m("pmem", MB, "--dax", "/dev/pmem0", "--force"))})
    lab.run("mem2mctl", "delete", "pmem")
    generator.sweep(targets())
    pools = hybrids()
    for name, (way, path) in pools.items():
        generator.first_writes(name, way, path)
        generator.cell(name, way, path, "read", 4096, 1)
        generator.cell(name, way, path, "write", 4096, 1)
    lab.dm_del("onbrd")
    lab.dm_del("map")
    lab.dm_del("onnull")
    raw = {name: d for name, d in devs.items() if "direct" not in name}
    fio_sweep(out, fio, {**raw, **pools}, quick)
    fio_sweep(out, fio, targets(), quick)


if __name__ == "__main__":
    lab.main({"mem2m": measure})
