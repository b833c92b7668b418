# SPDX-License-Identifier: GPL-2.0-only
"""The loads of wu-2011 chapter II: four processes that read or write a file each, postmark, and operations like an NFS
server's. Guest side; each is prepared once on a new file system and then measured."""

import os
import re
import subprocess

import files
import lab

FILE = 64 << 20                 # paper: 512 MB
# Seconds. Pools have to see what there is and move it, caches to read it; as long for all.
WARM, MEASURED = 60, 30
SFS_PROCESSES, SFS_STEP = (1, 2, 4, 8), 10
# files, their sizes, transactions; paper: 40,000 and 400,000 each, or 4,000 and 80,000
POSTMARK = {"postmark": (5000, "500 10000", 4000), "postmark-large": (250, "500 500000", 1500)}


def parse_postmark(text):
    """What a run of postmark says: seconds of transactions, bytes read and written in all."""
    seconds = re.search(r"(\d+) seconds of transactions", text)
    moved = re.findall(r"([\d.]+) (bytes|kilobytes|megabytes|gigabytes) (read|written) ", text)
    if not seconds or len(moved) != 2:
        raise SystemExit("postmark printed no result:\n" + text[-2000:])
    scale = {"bytes": 1, "kilobytes": 1 << 10, "megabytes": 1 << 20, "gigabytes": 1 << 30}
    return dict(seconds=int(seconds[1]), **{what: float(n) * scale[unit] for n, unit, what in moved})


class Mix:
    """nRmW: so many processes read and write, by Zipf, 4 KiB directly, a file each."""

    def __init__(self, cell):
        self.cell, self.program = cell, lab.stage("fio")
        self.readers = int(cell.load[0])

    def run(self, seconds):
        said = lab.fio(self.program, {f"p{i}": dict(
            filename=f"{files.MNT}/f{i}", rw="randread" if i < self.readers else "randwrite", bs="4k", size=FILE,
            random_distribution="zipf:0.99", randseed=self.cell.seed * 10 + i, ioengine="psync", time_based=1,
            runtime=seconds) for i in range(4)}, together=True, group_reporting=0).values()
        ways = {way: [j[way] for j in said if j[way]["total_ios"]] for way in ("read", "write")}
        rate = {way: sum(j["iops"] for j in some) for way, some in ways.items()}
        total = sum(rate.values())
        ns = sum(j["iops"] * j["lat_ns"]["mean"] for some in ways.values() for j in some) / total
        return dict(iops=total, mean_ms=ns / 1e6, reads=rate["read"], writes=rate["write"])

    def prepare(self):
        lab.fio(self.program, {f"fill{i}": dict(filename=f"{files.MNT}/f{i}", rw="write", bs="1M", size=FILE,
                                                ioengine="psync") for i in range(4)})
        files.sync_volume()

    def warm(self):
        self.run(WARM)

    def seconds(self):
        return WARM, MEASURED

    def measure(self):
        return self.run(MEASURED)


class Sfs:
    """Operations of an NFS server in SPECsfs 3.0's proportions (netmix --mix nfs), written before the reply."""

    def __init__(self, cell):
        self.cell, self.program = cell, files.stage_netmix()
        self.options = ("--mix", "nfs", "--seed", cell.seed)

    def prepare(self):
        self.program("--setup", SFS_PROCESSES[-1], *self.options)
        files.sync_volume()
        lab.run("mount", "-o", "remount,sync", files.MNT)

    def warm(self):
        self.program("--phases", f"{SFS_PROCESSES[-1]}:{WARM}", *self.options)

    def seconds(self):
        return WARM, MEASURED + SFS_STEP * (len(SFS_PROCESSES) - 1)

    def measure(self):
        """The most operations a second of all numbers of processes, and the curve."""
        phases = ",".join(f"{n}:{SFS_STEP}" for n in SFS_PROCESSES[:-1]) + f",{SFS_PROCESSES[-1]}:{MEASURED}"
        curve = [{k: p[k] for k in ("processes", "iops", "mean_ms", "mbps")}
                 for p in self.program("--phases", phases, *self.options)["phases"]]
        top = max(curve, key=lambda p: p["iops"])
        return dict(iops=top["iops"], mean_ms=top["mean_ms"], curve=curve)


class Postmark:
    """Two of them, unbuffered, each in a directory of its own."""

    def __init__(self, cell):
        self.cell, self.program = cell, lab.stage("postmark")
        lab.stage_libraries(self.program)

    def prepare(self):
        for i in range(2):
            os.mkdir(f"{files.MNT}/{i}")

    def warm(self):
        """It learns while it runs, as in the paper."""

    def seconds(self):
        """It is as long as it takes."""
        return 0, None

    def start(self, i):
        number, sizes, transactions = POSTMARK[self.cell.load]
        script = f"{lab.RAM}/postmark{i}"
        with open(script, "w", encoding="ascii") as f:
            f.write(f"set location {files.MNT}/{i}\nset number {number}\nset size {sizes}\n"
                    f"set transactions {transactions}\nset seed {10 * self.cell.seed + i}\nset buffering false\n"
                    "set subdirectories 10\nrun\nquit\n")
        return files.limited([self.program, script], stdin=subprocess.DEVNULL,
                             env={**os.environ, "LD_LIBRARY_PATH": lab.LIBS})

    def measure(self):
        number, transactions = POSTMARK[self.cell.load][0], POSTMARK[self.cell.load][2]
        said = [parse_postmark(files.finish(p, "postmark")) for p in [self.start(i) for i in range(2)]]
        rates = [transactions / max(1, s["seconds"]) for s in said]
        return dict(iops=sum(rates), mean_ms=2e3 / sum(rates), each=rates, files=number,
                    read_kbps=[s["read"] / 1024 / max(1, s["seconds"]) for s in said],
                    written_kbps=[s["written"] / 1024 / max(1, s["seconds"]) for s in said])


LOADS = {"mix": Mix, "sfs": Sfs, "postmark": Postmark}
