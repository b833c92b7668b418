# SPDX-License-Identifier: GPL-2.0-only
"""Figures 25 to 30 of wu-2011, and what ageing does: one load on one file system. Runs inside scripts/vm."""

import ctypes
import json
import os
import random
import subprocess
import sys

import files
import lab
import scmfs
from scmfs_figures_loads import FILE_MIB, RECORDS, TRANSACTIONS, WAYS, file_bytes, sizes

PHYS = "phys=4G,size=768M"
DEV = {"ext2": "/dev/pmem0", "ext4": "/dev/pmem0", "xfs": "/dev/pmem0", "ext2 brd": "/dev/ram0"}
MKFS = {"ext2": ("mkfs.ext4", "-t", "ext2", "-q", "-F", "-b", 4096), "ext4": ("mkfs.ext4", "-q", "-F", "-b", 4096),
        "xfs": ("mkfs.xfs", "-q", "-f", "-m", "reflink=0")}
PAGES = ("page 2M", "page 4K")
PR_SET_THP_DISABLE = 41
AGED = 0.8              # of the blocks
TURNS = 4               # of nearly full and half empty, before
SMALL, LARGE = 4096, 1 << 20


def make(name):
    """Mount a new file system of that name; its directory."""
    if name.startswith("scmfs"):
        data = "atomic" if name == "scmfs atomic" else "inplace"
        return scmfs.mounted("fs", "-t", "scmfs", "-o", f"{PHYS},init=force,data={data}", "none")
    if name not in DEV:
        return scmfs.mounted("fs", "-t", name, "none")
    kind, dev = name.split()[0], DEV[name]
    if name == "ext2 brd" and not os.path.exists(dev):
        lab.modprobe("brd", "rd_nr=1", "rd_size=786432")
    lab.wait_for(dev)
    lab.run("udevadm", "settle", check=False)
    lab.run(*MKFS[kind], dev)
    return scmfs.mounted("fs", "-t", kind, "-o", "defaults" if name == "ext2 brd" else "dax", dev)


def begin(name):
    """Modules and entropy, then the file system."""
    scmfs.seed_random()
    for module in ("scmfs", "nd_e820", "nd_pmem"):
        lab.modprobe(module)
    return make(name)


# --- figures 25 to 27: records -----------------------------------------------------------------------

def jobs_of(path, lengths, only_mapped=False):
    """fio's jobs: all ways for all lengths of a record."""
    jobs = {}
    for length in lengths:
        base = dict(bs=length, size=file_bytes(length), number_ios=RECORDS, filename=f"{path}/data")
        for way, options in WAYS.items():
            if only_mapped and "mmap" not in way:
                continue
            jobs[f"{way}/{length}"] = {**base, **options}
            if way == "new write":
                jobs[f"{way}/{length}"].update(filename=f"{path}/new", create_on_open=1, fallocate="none", unlink=1)
    return jobs


def fio(program, jobs):
    """
    {job: ns of a record, records, faults}. Without the slowest record: the first one, in which fio's buffer is touched
    for the first time.
    """
    done = {}
    for name, job in lab.fio(program, jobs, direct=0, norandommap=0, invalidate=0, scramble_buffers=0, fadvise_hint=0,
                             fallocate="none").items():
        lat = job["read" if job["read"]["total_ios"] else "write"]["lat_ns"]
        done[name] = dict(ns=(lat["mean"] * lat["N"] - lat["max"]) / (lat["N"] - 1), count=lat["N"], faults=job["minf"])
    return done


def prepare_file(path, mib=FILE_MIB):
    with open(f"{path}/data", "wb", buffering=0) as f:
        block = bytes(range(256)) * 4096
        for _ in range(mib):
            f.write(block)


def huge_pages(on):
    """Of mappings of the programs started from here on."""
    if scmfs.LIBC.prctl(PR_SET_THP_DISABLE, 0 if on else 1, 0, 0, 0):
        raise SystemExit(f"prctl: {os.strerror(ctypes.get_errno())}")


def records(out, name, quick):
    program, path = lab.stage("fio"), begin(name)
    prepare_file(path)
    fio(program, jobs_of(path, [4096]))                     # warms up
    for huge in (True, False):
        huge_pages(huge)
        for job, result in fio(program, jobs_of(path, sizes(quick), only_mapped=not huge)).items():
            way, length = job.split("/")
            out.add(bench="figures", what="records", fs=name, way=way, bytes=int(length), huge=huge, **result)
    huge_pages(True)


# --- figure 30: postmark -----------------------------------------------------------------------------

def busy_ns():
    """Of all tasks, the kernel's too: without what is waited for, the host's files for example."""
    with open("/proc/schedstat", encoding="ascii") as f:
        return sum(int(line.split()[7]) for line in f if line.startswith("cpu"))


def postmark_seconds(program, path, numbers, transactions, reads):
    """All of a run: it also makes the files, and removes them."""
    script = os.path.join(lab.RAM, "postmark.in")
    with open(script, "w", encoding="ascii") as f:
        f.write(f"set number {numbers}\nset subdirectories 100\nset size 4096 40960\nset transactions {transactions}\n"
                f"set bias read {reads}\nset location {path}\nrun\nquit\n")
    began = busy_ns()
    text = lab.run(program, script)
    took = busy_ns() - began
    if transactions and "Deleting files...Done" not in text:
        raise SystemExit("postmark did not end:\n" + text[-1000:])
    return took / 1e9


def postmark(out, name, quick):
    """Reads mostly, and appends mostly; what making and removing the files takes is measured without transactions."""
    program, path = lab.stage("postmark"), begin(name)
    numbers, transactions = (1000, 2000) if quick else (10000, TRANSACTIONS)
    postmark_seconds(program, path, 500, 500, 5)            # warms up
    none = postmark_seconds(program, path, numbers, 0, 5)
    for kind, reads in (("read", 9), ("write", 1)):
        whole = postmark_seconds(program, path, numbers, transactions, reads)
        out.add(bench="figures", what="postmark", fs=name, kind=kind, files=numbers, transactions=transactions,
                seconds=whole - none, making=none)


# --- dbench ------------------------------------------------------------------------------------------

def dbench(out, name, quick):
    program, script = lab.stage("dbench", files.SCRIPT)
    lab.stage_libraries(program)
    env = {**os.environ, "LD_LIBRARY_PATH": lab.LIBS}

    def run(path, clients, seconds):
        return files.parse_dbench(subprocess.run([program, "-D", path, "-c", script, "-t", str(seconds), str(clients)],
                                                 check=True, env=env, text=True, stdout=subprocess.PIPE).stdout)

    path = begin(name)
    run(path, 1, 1)                                         # warms up
    for clients in (1,) if quick else (1, 4):
        began, busy = lab.uptime(), busy_ns()
        result = run(path, clients, 1 if quick else 2)
        out.add(bench="figures", what="dbench", fs=name, clients=clients, **result,
                cpu=(busy_ns() - busy) / 1e9 / (lab.uptime() - began))


# --- create, append, fsync -----------------------------------------------------------------------------

def mail(out, name, quick):
    """A new file of 4 KiB that lasts."""
    program, path = lab.stage("/mnt/share/fsops"), begin(name)
    for line in lab.run(program, "mail", path, 300 if quick else 2000).splitlines():
        out.add(bench="figures", what="mail", fs=name, **json.loads(line))


# --- aged to 80% -------------------------------------------------------------------------------------

class Aged:
    """Files of 4 KiB to 1 MiB, small ones mostly, that come and go."""

    def __init__(self, path):
        self.path, self.random, self.live, self.made = path, random.Random(1), [], 0
        os.mkdir(f"{path}/aged")

    def used(self):
        s = os.statvfs(self.path)
        return 1 - s.f_bfree / s.f_blocks

    def grow(self, to):
        block = bytes(LARGE)
        while self.used() < to:
            length = int(SMALL * (LARGE / SMALL) ** self.random.random())
            name = f"{self.path}/aged/{self.made}"
            with open(name, "wb", buffering=0) as f:
                f.write(block[:length])
            self.live.append(name)
            self.made += 1

    def shrink(self, to):
        while self.used() > to:
            at = self.random.randrange(len(self.live))
            self.live[at], self.live[-1] = self.live[-1], self.live[at]
            os.unlink(self.live.pop())

    def turn(self, times):
        for _ in range(times):
            self.grow(0.95)
            self.shrink(0.5)
        self.grow(0.95)


def page_faults(path):
    """Store once in each 4 KiB of a mapping of the file: what was mapped by 2 MiB, and what by 4 KiB."""
    program = ("import mmap, sys\nf = open(sys.argv[1], 'r+b')\nm = mmap.mmap(f.fileno(), 0)\n"
               "for i in range(0, len(m), 4096): m[i] = 1\n")
    found = {}
    for label, function in zip(PAGES, ("dax_pmd_fault_done", "dax_pte_fault_done")):
        event = f"events/fs_dax/{function}/enable"
        scmfs.trace("trace", "")
        scmfs.trace(event, "1")
        lab.run("python3", "-c", program, path)
        scmfs.trace(event, "0")
        with open(scmfs.TRACING + "trace", encoding="ascii", errors="replace") as f:
            found[label] = sum(function in line and "NOPAGE" in line for line in f)
    return found


def look(out, program, path, state, quick):
    """What a new file is like."""
    prepare_file(path)
    seen = page_faults(f"{path}/data")
    frag = json.loads(lab.run("scmfsctl", "frag", "--json", f"{path}/data"))
    out.add(bench="figures", what="aged", state=state, used=1 - os.statvfs(path).f_bfree / os.statvfs(path).f_blocks,
            faults_2m=seen[PAGES[0]], faults_4k=seen[PAGES[1]], huge_bytes=frag["huge_bytes"])
    for job, result in fio(program, jobs_of(path, [4096, 1 << 20] if quick else [4096, 65536, 1 << 20])).items():
        way, length = job.split("/")
        out.add(bench="figures", what="aged records", state=state, way=way, bytes=int(length), **result)
    os.unlink(f"{path}/data")


def aged(out, name, quick):
    program, path = lab.stage("fio"), begin(name)
    lab.stage("scmfsctl")
    lab.run("mount", "-t", "tracefs", "none", scmfs.TRACING, check=False)
    prepare_file(path)
    fio(program, jobs_of(path, [4096]))
    os.unlink(f"{path}/data")
    look(out, program, path, "fresh", quick)
    old = Aged(path)
    old.turn(1 if quick else TURNS)
    old.shrink(AGED)
    lab.say(f"# {old.made} files were made, {len(old.live)} are left, {100 * old.used():.1f}% is used")
    look(out, program, path, "aged", quick)
    lab.run("scmfsctl", "gc", "--run", path)
    look(out, program, path, "aged, collected", quick)


# --- figures 28 and 29: threads ------------------------------------------------------------------------

def threads(out, name, quick):
    """Real time, by turns with tmpfs, so that what else the host does meets both."""
    program, path = lab.stage("fio"), begin(name)
    other = f"{lab.RAM}/tmpfs"
    os.makedirs(other, exist_ok=True)
    lab.run("mount", "-t", "tmpfs", "none", other)
    where = {name: path, "tmpfs": other}
    common = dict(bs=65536, size="16M", fallocate="none", time_based=1, runtime="300ms", invalidate=0, fadvise_hint=0,
                  scramble_buffers=0, direct=0, norandommap=0)
    for turn in range(-1, 2 if quick else 5):
        for fs, folder in where.items():
            jobs = {f"{engine}/{rw}/{n}": dict(common, rw=rw, ioengine=engine, numjobs=n, filename_format="t.$jobnum",
                                               directory=folder)
                    for engine in ("psync", "mmap") for rw in ("read", "write") for n in (1, 2)}
            for job, result in lab.fio(program, jobs).items():
                engine, rw, n = job.split("/")
                if turn >= 0:
                    out.add(bench="figures", what="threads", fs=fs, beside=name, engine=engine, rw=rw, threads=int(n),
                            turn=turn, mbps=result[rw]["bw_bytes"] / 1e6)
    lab.run("umount", other)


# --- real counters -------------------------------------------------------------------------------------

COUNTERS = ("instructions", "L1-dcache-load-misses", "LLC-load-misses", "dTLB-load-misses", "iTLB-load-misses")


def counters(out, name, quick):
    """perf's, where the processor has any: an emulated one has none."""
    program, path = lab.stage("fio"), begin(name)
    prepare_file(path)
    job = ["--name=x", f"--filename={path}/data", "--rw=randread", "--bs=4k", f"--size={FILE_MIB}m", "--invalidate=0",
           f"--number_ios={1000 if quick else 10000}", "--thread"]
    done = subprocess.run(["perf", "stat", "-x,", "-e", ",".join(COUNTERS), program, *job], check=True, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    values = {}
    for line in done.splitlines():
        words = line.split(",")
        if len(words) > 2 and words[2].split(":")[0] in COUNTERS:
            values[words[2].split(":")[0]] = int(words[0]) if words[0].isdigit() else None
    out.add(bench="figures", what="counters", fs=name, values=values)


LOADS = {"records": records, "postmark": postmark, "dbench": dbench, "mail": mail, "aged": aged, "threads": threads,
         "counters": counters}


def measure(out, quick):
    cell = json.loads(sys.argv[3])
    out.meta["cell"] = dict(cell, quick=quick)
    began = lab.uptime()
    for fs in cell["fs"]:
        LOADS[cell["load"]](out, fs, quick)
        lab.run("umount", f"{lab.RAM}/fs")
    lab.say(f"{lab.uptime() - began:.1f} s")


if __name__ == "__main__":
    lab.main({"scmfs_figures": measure})
