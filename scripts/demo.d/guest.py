# SPDX-License-Identifier: GPL-2.0-only
"""The demonstration's side inside the virtual machine. usage: guest.py PLAN.json

For each volume of the plan: fresh emulated disks, a file system, a source tree unpacked, dbench with rising
process counts. Says what it does, line by line, and leaves records (JSON lines) beside the plan.
"""

import json
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests/bench"))
import files  # noqa: E402  (after the path)
import lab  # noqa: E402

MNT = files.MNT
META = 32768        # sectors at the head of the SSD for the pool's metadata
BAR = 20


class Volume:
    """A block device made of fresh emulated disks."""

    def __init__(self, name, plan):
        self.name, self.mapped = name, name in ("pool", "stripe")
        wanted = {"ssd": ("ssd",), "hdd": ("hdd",)}.get(name, ("ssd", "hdd"))
        self.disks = wanted
        dev = {d: lab.emudisk(d, plan[d], plan["size"][d], dilate=plan["dilate"]) for d in wanted}
        if name == "pool":
            lab.modprobe("dm-hybrid")
            self.path = lab.dm(name, lab.hybrid_table((dev["ssd"], 0), [(dev["ssd"], META), (dev["hdd"], 0)],
                                                      policy=plan["policy"]))
        elif name == "stripe":
            n = min(map(lab.sectors, dev.values())) // 256 * 256
            self.path = lab.dm(name, f"0 {2 * n} striped 2 256 {dev['ssd']} 0 {dev['hdd']} 0")
        else:
            self.path = dev[name]

    def mount(self, fs):
        lab.run("mkfs." + fs, "-q", *(["-E", "lazy_itable_init=0,lazy_journal_init=0"] if fs != "xfs" else []),
                self.path)
        os.makedirs(MNT, exist_ok=True)
        lab.run("mount", "-t", fs, "-o", "noatime", self.path, MNT)

    def remove(self):
        lab.run("umount", MNT)
        if self.mapped:
            lab.dm_del(self.name)
        for d in self.disks:
            lab.emudisk_del(d)


def disk_stat(name):
    with open(f"/sys/block/emudisk!{name}/stat", encoding="ascii") as f:
        v = [int(x) for x in f.read().split()]
    return {"reads": v[0], "read_ms": v[3], "writes": v[4], "write_ms": v[7],
            "mb": (v[2] + v[6]) * 512 / 1e6}


def bar(share):
    full = round(share * BAR)
    return "#" * full + "." * (BAR - full)


class Watch(threading.Thread):
    """Looks at the volume once a period."""

    def __init__(self, volume, seconds, out, dilate):
        super().__init__(daemon=True)
        self.volume, self.seconds, self.out, self.dilate = volume, seconds, out, dilate
        self.label, self.stop_now = "", threading.Event()
        self.begin = time.monotonic()
        self.moved = 0

    def run(self):
        last = {d: disk_stat(d) for d in self.volume.disks}
        cpu = lab.Cpu()
        while not self.stop_now.wait(self.seconds):
            stat = {d: disk_stat(d) for d in self.volume.disks}
            delta = {d: {k: stat[d][k] - last[d][k] for k in stat[d]} for d in stat}
            self.period(delta, cpu.used())
            last, cpu = stat, lab.Cpu()

    def period(self, delta, cpu):
        t = time.monotonic() - self.begin
        total = sum(d["reads"] + d["writes"] for d in delta.values()) or 1
        record = {"kind": "period", "volume": self.volume.name, "t": t, "load": self.label, "cpu": cpu,
                  "disks": delta}
        parts = []
        status = lab.hybrid_status("pool") if self.volume.name == "pool" else None
        for i, (d, v) in enumerate(delta.items()):
            n = v["reads"] + v["writes"]
            ms = (v["read_ms"] + v["write_ms"]) / n if n else 0.0
            share, target = n / total, None
            if status:
                m = status["members"][i]
                target = m["target_ppm"] / 1e6
                # A period of the pool in which no answer came says nothing; the disk's own figures do.
                if any(x["share_ppm"] for x in status["members"]):
                    share, ms = m["share_ppm"] / 1e6, max(m["read_ns"], m["write_ns"]) / 1e6
            v.update(share=share, target=target, ms=ms)
            parts.append(f"{d} {share:4.0%} {bar(share)} " +
                         (f"target {target:4.0%} " if target is not None else "") + f"{ms:7.2f} ms")
        if status:
            record["status"] = status
            parts.append(f"moved {status['migrations_completed'] - self.moved:4d}")
            self.moved = status["migrations_completed"]
        self.out.add(**record)
        lab.say(f"{self.volume.name:6} {t:5.0f}s {self.label:10} " + "  ".join(parts) + f"  cpu {cpu:3.0%}")

    def end(self):
        self.stop_now.set()
        self.join()


def unpack(tree, out, volume):
    """
    By a static tar that asks for nobody's name. A page of a library or of /etc that the memory limit threw out would
    come back over 9p, and while the machine waits for its host nothing holds virtual time.
    """
    begin = time.monotonic()
    files.finish(files.limited([os.path.join(lab.RAM, "busybox"), "tar", "-x", "-o", "-f", tree, "-C", MNT]), "tar")
    files.sync_volume()
    seconds = time.monotonic() - begin
    out.add(kind="result", volume=volume.name, load="unpack", seconds=seconds,
            mbps=os.path.getsize(tree) / 1e6 / seconds)
    lab.say(f"{volume.name:6} unpacked {os.path.getsize(tree) / 1e6:.0f} MB in {seconds:.1f} s")


def dbench(program, script, clients, seconds, out, volume):
    before = {d: disk_stat(d) for d in volume.disks}
    cpu = lab.Cpu()
    text = files.finish(files.limited([program, "-D", MNT, "-c", script, "-t", str(seconds), str(clients)],
                          env={**os.environ, "LD_LIBRARY_PATH": lab.LIBS}), "dbench")
    result = files.parse_dbench(text)
    disks = {d: {k: v - before[d][k] for k, v in disk_stat(d).items()} for d in volume.disks}
    out.add(kind="result", volume=volume.name, load="dbench", clients=clients, seconds=seconds,
            cpu=cpu.used(), disks=disks, **result)
    lab.say(f"{volume.name:6} dbench with {clients} processes: {result['mbps']:.1f} MB/s, "
            f"{result['mean_ms']:.2f} ms an operation, CPU {cpu.used():.0%}")


def prepare(plan):
    lab.say("machine: copying programs to memory")
    staged = lab.stage("dbench", plan["tree"], plan["script"], "dmsetup", "busybox")
    lab.stage_libraries(staged[0])
    files.limit_memory(plan["memory"])
    lab.say("machine: warming up")
    os.mkdir("/run/warm")
    subprocess.run([staged[0], "-D", "/run/warm", "-c", staged[2], "-t", "1", "1"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "LD_LIBRARY_PATH": lab.LIBS})
    return staged[:3]


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        plan = json.load(f)
    out = lab.Out(os.path.join(os.path.dirname(sys.argv[1]), "records.jsonl"))
    program, tree, script = prepare(plan)
    try:
        for name in plan["volumes"]:
            lab.say(f"{name:6} making the file system ({plan['fs']})")
            volume = Volume(name, plan)
            volume.mount(plan["fs"])
            watch = Watch(volume, plan["watch"], out, plan["dilate"])
            watch.label = "unpack"
            watch.start()
            unpack(tree, out, volume)
            for clients in plan["clients"]:
                watch.label = f"dbench {clients}"
                dbench(program, script, clients, plan["seconds"], out, volume)
            watch.end()
            volume.remove()
    finally:
        out.close()


main()
