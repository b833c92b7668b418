# SPDX-License-Identifier: GPL-2.0-only
"""What a target adds to a 4K request that it only has to map, over one kind of raw device."""

import statistics

import lab

MB = 96                 # each raw device
AREA = 32               # MiB of it that requests go to
BLOCK = 256             # sectors: extent, chunk and cache block


def pattern(fio, dev, bs="1M"):
    """Write the whole area once, so that every request later finds its block mapped."""
    lab.fio(fio, {"fill": dict(filename=dev, rw="write", bs=bs, size=f"{AREA}M", ioengine="psync")})


def hot_cache(fio, dev):
    """Bring the whole area into the cache: full-block writes are promoted at once while there is room."""
    pattern(fio, dev, bs=f"{BLOCK // 2}K")
    w = lab.run("dmsetup", "status", "cache").split()
    have = int(w[6].split("/")[0])
    if have < AREA * 2048 // BLOCK:
        raise SystemExit(f"dm-cache holds {have} blocks, {AREA * 2048 // BLOCK} wanted")


def cache_misses():
    w = lab.run("dmsetup", "status", "cache").split()
    return int(w[8]) + int(w[10])


def targets(fio, quick):
    raw = {n: lab.null_blk(n, MB) for n in ("raw", "lin", "str0", "str1", "org", "fast", "cmeta",
                                            "tmeta", "tdata", "hmeta", "hyb0", "hyb1", "hyb2", "hyb3", "hyb4")}
    n = AREA * 2048
    devs = {"raw": raw["raw"]}
    devs["linear"] = lab.dm("linear", f"0 {n} linear {raw['lin']} 0")
    devs["stripe"] = lab.dm("stripe", f"0 {n} striped 2 {BLOCK} {raw['str0']} 0 {raw['str1']} 0")
    lab.modprobe("dm-cache")
    lab.modprobe("dm-cache-smq")
    devs["cache"] = lab.dm("cache", f"0 {n} cache {raw['cmeta']} {raw['fast']} {raw['org']} {BLOCK} "
                                    "1 writeback smq 0")
    hot_cache(fio, devs["cache"])
    lab.modprobe("dm-thin-pool")
    lab.dm("thinpool", f"0 {MB * 2048} thin-pool {raw['tmeta']} {raw['tdata']} {BLOCK} 0 1 skip_block_zeroing")
    lab.run("dmsetup", "message", "thinpool", "0", "create_thin 0")
    devs["thin"] = lab.dm("thin", f"0 {n} thin /dev/mapper/thinpool 0")
    lab.modprobe("dm-hybrid")
    devs["hybrid"] = lab.dm("hybrid", lab.hybrid_table((raw["hmeta"], 0), [(raw["hyb0"], 0), (raw["hyb1"], 0)],
                                                       length=n))
    devs["hybrid-static"] = lab.dm("static", lab.hybrid_table(
        (raw["hyb4"], 0), [(raw["hyb2"], 0), (raw["hyb3"], 0)], policy="static 2 shares 50,50", length=n))
    for name in devs:
        if name != "cache":
            pattern(fio, devs[name])
    return devs


def cost(out, quick):
    fio = lab.stage("fio")
    lab.stage("dmsetup")
    devs = targets(fio, quick)
    rounds, ios = (3, 4000) if quick else (7, 20000)
    jobs = {}
    for r in range(-1, rounds):             # round -1 warms up and is thrown away
        for rw in ("read", "write"):
            for name, dev in devs.items():
                jobs[f"{name} {rw} {r}"] = dict(filename=dev, rw="rand" + rw, bs="4k", size=f"{AREA}M",
                                                io_size=f"{4 * ios}k", ioengine="psync", iodepth=1)
    missed = cache_misses()
    results = lab.fio(fio, jobs)
    missed = cache_misses() - missed
    if missed:
        lab.say(f"dm-cache missed {missed} of {len(jobs) * ios} requests")
    us = {}
    for job, j in results.items():
        name, rw, r = job.split()
        if int(r) >= 0:
            us.setdefault((name, rw), []).append(j[rw]["lat_ns"]["mean"] / 1e3)
    for (name, rw), v in us.items():
        out.add(bench="cost", device=name, rw=rw, us=statistics.median(v), least=min(v), most=max(v),
                added_us=statistics.median(v) - statistics.median(us["raw", rw]), rounds=rounds, ios=ios,
                cache_misses=missed)


lab.main({"cost": cost})
