# SPDX-License-Identifier: GPL-2.0-only
"""Throughput of a pool against its members alone and striping, by queue depth and pattern."""

import lab

SIZE = "256M"           # each member
META = 32768            # sectors at the head of the first member for the metadata
PAIRS = {
    # x25m beside mba3073: the paper's pair. Ten times as slow as they are, so that they and not the
    # processor are the bottleneck; times and rates in the table are multiplied back.
    "x25m+mba3073": ("x25m", "mba3073", 10),
    "nvme+sata-ssd": ("nvme", "sata-ssd", 20),
}


def volumes(fast, slow, dilate):
    """Each volume lies on its own pair of fresh devices; (name, path, how to remove it)."""
    def disks(tag, *models):
        return [lab.emudisk(f"{tag}{i}", m, SIZE, dilate=dilate) for i, m in enumerate(models)]

    def gone(tag, count, dm):
        if dm:
            lab.dm_del(tag)
        for i in range(count):
            lab.emudisk_del(f"{tag}{i}")

    for name, models in (("fast", [fast]), ("slow", [slow])):
        yield name, disks(name, *models)[0], lambda n=name: gone(n, 1, False)
    a, b = disks("stripe", fast, slow)
    n = lab.sectors(a) // 256 * 256
    yield "stripe", lab.dm("stripe", f"0 {2 * n} striped 2 256 {a} 0 {b} 0"), lambda: gone("stripe", 2, True)
    lab.modprobe("dm-hybrid")
    a, b = disks("pool", fast, slow)
    table = lab.hybrid_table((a, 0), [(a, META), (b, 0)],
                             policy=f"wardrop 2 period_ms {2000 * dilate // 10}")
    yield "pool", lab.dm("pool", table), lambda: gone("pool", 2, True)


def depth(out, quick):
    fio = lab.stage("fio")
    lab.stage("dmsetup")
    seconds = 10 if quick else 40
    for pair, (fast, slow, dilate) in list(PAIRS.items())[:1 if quick else None]:
        for name, dev, remove in volumes(fast, slow, dilate):
            lab.say(f"# {pair}: {name}")
            lab.fio(fio, {"fill": dict(filename=dev, rw="write", bs="1M", size="160M", ioengine="psync")})
            for rw, bs in (("randread", "4k"), ("randwrite", "4k"), ("read", "128k"), ("write", "128k")):
                for qd in (1, 16, 64):
                    cpu = lab.Cpu()
                    j = lab.fio(fio, {"j": dict(
                        filename=dev, rw=rw, bs=bs, size="128M", ioengine="libaio", iodepth=qd, time_based=1,
                        runtime=seconds, ramp_time=seconds // 2)})["j"]["read" if "read" in rw else "write"]
                    out.add(bench="depth", pair=pair, device=name, rw=rw, bs=bs, depth=qd, dilate=dilate,
                            iops=j["iops"] * dilate, mbps=j["bw_bytes"] * dilate / 1e6,
                            us=j["lat_ns"]["mean"] / dilate / 1e3, cpu=cpu.used())
            remove()


lab.main({"depth": depth})
