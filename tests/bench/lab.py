# SPDX-License-Identifier: GPL-2.0-only
"""What the measurements share: commands, device-mapper, emulated disks, fio. Runs inside scripts/vm."""

import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import time

RAM = "/run/lab"            # a tmpfs: what runs during a measurement must not come over 9p
LIBS = RAM + "/lib"         # for LD_LIBRARY_PATH
SECTOR = 512


def say(*words):
    print(*words, flush=True)


def run(*argv, check=True, stdin=None):
    """Run a command; its standard output as text."""
    done = subprocess.run([str(a) for a in argv], input=stdin, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(map(str, argv))}: status {done.returncode}\n"
                         f"{done.stdout}{done.stderr}")
    return done.stdout


def modprobe(name, *args):
    run("modprobe", name, *args)


def stage(*names):
    """Copy programs or files to RAM; the new paths. A program runs once so that its libraries are in memory."""
    os.makedirs(RAM, exist_ok=True)
    installed = ":".join(d for d in os.environ["PATH"].split(":") if d != RAM)
    os.environ["PATH"] = RAM + ":" + installed
    out = []
    for name in names:
        path = name if "/" in name else shutil.which(name, path=installed)
        if not path:
            raise SystemExit(f"{name}: not installed")
        new = os.path.join(RAM, os.path.basename(path))
        shutil.copy(path, new)
        if os.access(path, os.X_OK):
            run(new, "--version", check=False)
        out.append(new)
    return out if len(out) > 1 else out[0]


def stage_libraries(program):
    """Copy the shared libraries of a program to LIBS: what is in a tmpfs is not thrown out by a memory limit."""
    os.makedirs(LIBS, exist_ok=True)
    for line in run("ldd", program).splitlines():
        if "=> /" in line:
            shutil.copy(line.split()[2], LIBS)


def size(text):
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    text = str(text)
    return int(text[:-1]) << units[text[-1]] if text[-1] in units else int(text)


def wait_for(path, there=True):
    """A path appears, or goes; not longer than ten seconds."""
    end = uptime() + 10
    while os.path.exists(path) != there:
        if uptime() > end:
            raise SystemExit(f"{path}: {'does not appear' if there else 'stays'}")
        time.sleep(0.01)


def sectors(dev):
    return int(run("blockdev", "--getsz", dev))


# --- devices -------------------------------------------------------------------------------------

def null_blk(name, mbytes):
    """A null_blk that keeps its data in memory."""
    if not os.path.isdir("/sys/module/null_blk"):
        modprobe("null_blk", "nr_devices=0")
    d = f"/sys/kernel/config/nullb/{name}"
    os.mkdir(d)
    for key, value in (("size", mbytes), ("memory_backed", 1), ("blocksize", 512),
                       ("max_sectors", 2048)):
        with open(f"{d}/{key}", "w") as f:
            f.write(str(value))
    with open(f"{d}/power", "w") as f:
        f.write("1")
    if os.path.exists(f"/dev/{name}"):
        return f"/dev/{name}"
    with open(f"{d}/index") as f:
        return f"/dev/nullb{f.read().strip()}"


def null_blk_del(name):
    os.rmdir(f"/sys/kernel/config/nullb/{name}")


def blank(dev):
    """As good as new: no label or superblock of anything, and for an SSD nothing stored."""
    run("blkdiscard", "-f", dev, check=False)
    run("wipefs", "-a", "-q", dev)
    mbyte = sectors(dev) * SECTOR >> 20
    for seek in (0, mbyte - 1):
        run("dd", "if=/dev/zero", f"of={dev}", "bs=1M", "count=1", f"seek={seek}", "oflag=direct")
    run("dd", "if=/dev/zero", f"of={dev}", "bs=64K", "count=1", f"seek={sectors(dev) // 128 - 1}", "oflag=direct")


def emudisk(name, model, length, **options):
    if not os.path.isdir("/sys/module/emudisk"):
        modprobe("emudisk")
    run("emuctl", "add", name, model, length, *(f"{k}={v}" for k, v in options.items()))
    return f"/dev/emudisk/{name}"


def emudisk_del(name):
    run("emuctl", "del", name)


def dm(name, table):
    """Make a device-mapper device; its path."""
    run("dmsetup", "create", name, "--table", table)
    return f"/dev/mapper/{name}"


def dm_del(name):
    run("dmsetup", "remove", "--retry", name)


class DmIoctl:
    """device-mapper without a program to start: for what is timed."""

    CREATE, REMOVE, RESUME, LOAD = 3, 4, 6, 9
    HEADER = "=3I2IIiIII Q 128s 129s 7x"

    def __init__(self, name):
        self.name = name.encode()
        self.control = os.open("/dev/mapper/control", os.O_RDWR)

    def call(self, command, payload=b""):
        size_ = struct.calcsize(self.HEADER)
        buf = bytearray(max(16384, size_ + len(payload)))
        struct.pack_into(self.HEADER, buf, 0, 4, 0, 0, len(buf), size_, 1 if payload else 0, 0, 0, 0, 0, 0,
                         self.name, b"")
        buf[size_:size_ + len(payload)] = payload
        fcntl.ioctl(self.control, 3 << 30 | size_ << 16 | 0xfd << 8 | command, buf)
        return struct.unpack_from(self.HEADER, buf)

    def create(self):
        """An empty device; its path."""
        dev = self.call(self.CREATE)[10]
        return f"/dev/dm-{(dev & 0xff) | (dev >> 12 & 0xfff00)}"

    def load(self, table):
        start, length, target, params = table.split(" ", 3)
        text = params.encode() + b"\0"
        spec = struct.pack("=QQiI16s", int(start), int(length), 0, 0, target.encode())
        self.call(self.LOAD, spec + text + bytes(-len(text) % 8))

    def resume(self):
        self.call(self.RESUME)

    def remove(self):
        self.call(self.REMOVE)


GENERATOR = "/sys/module/evenkeel_biogen/parameters/run"


def generate(way, dev, rw, length, depth, count, threads=1):
    """Bios from drivers/biogen, whose head says what there is; nanoseconds for one of them."""
    with open(GENERATOR, "w") as f:
        f.write(f"{way} {dev} {rw} {length} {depth} {count} {threads}")
    with open(GENERATOR) as f:
        return int(f.read()) / count


# --- the hybrid target ---------------------------------------------------------------------------

def hybrid_table(metadata, members, extent="128K", policy="wardrop 0", length=None):
    """A table line: the metadata area and the members are (device, start sector) pairs."""
    per = size(extent) // SECTOR
    if length is None:
        length = sum((sectors(d) - s - 2048 - 8) // per for d, s in members) * per
    words = [0, length, "hybrid", 1, *metadata, per, len(members)]
    for m in members:
        words += m
    return " ".join(map(str, words + [0, policy]))


def hybrid_status(name):
    """dmsetup status of a pool, as the administrator's guide states its words."""
    w = run("dmsetup", "status", name).split()[3:]
    take = iter(w)

    def word():
        return next(take)

    def pair(text=None):
        return tuple(int(x) for x in (text or word()).split("/"))

    s = {"mode": word(), "needs_check": word() != "-", "extent_sectors": int(word())}
    s["mapped"], s["logical"] = pair()
    s["journal_used"], s["journal_blocks"] = pair()
    s["meta"] = [word() for _ in range(int(word()))]
    s["members"] = []
    for _ in range(int(word())):
        m = {"dev": word(), "state": word()}
        m["used"], m["total"] = pair()
        for key in ("share_ppm", "target_ppm", "read_ns", "write_ns", "read_p99_ns", "write_p99_ns",
                    "inflight", "allocations"):
            m[key] = int(word())
        s["members"].append(m)
    s["tokens"], s["direction"] = int(word()), word()
    for key in ("started", "completed", "failed", "bytes", "queued"):
        s["migrations_" + key] = int(word())
    s["not_migrated"] = {}
    for _ in range(int(word())):
        reason = word()
        s["not_migrated"][reason] = int(word())
    for key in ("flushes", "commits", "checkpoints", "errors"):
        s[key] = int(word())
    s["policy"] = list(take)
    return s


# --- measuring -----------------------------------------------------------------------------------

class Cpu:
    """
    Share of time that the processors were not idle since this object was made. By idle time, which is measured; what they were
    busy with is counted by ticks, and a device whose answers come at the ticks has all of them busy, or none.
    """

    def __init__(self):
        self.begin = self.now()

    @staticmethod
    def now():
        with open("/proc/stat") as f:
            t = [int(x) for x in f.readline().split()[1:9]]
        return time.monotonic(), (t[3] + t[4]) / os.sysconf("SC_CLK_TCK") / os.cpu_count()

    def used(self):
        wall, idle = (b - a for a, b in zip(self.begin, self.now()))
        return min(max(1 - idle / wall, 0.0), 1.0) if wall else 0.0


def free_kib():
    """Free memory, and what could be: files that were read meanwhile do not matter."""
    run("udevadm", "settle", check=False)
    with open("/proc/sys/vm/compact_memory", "w") as f:     # empties the processor's own lists, too
        f.write("1")
    time.sleep(0.5)
    with open("/proc/meminfo") as f:
        info = {line.split(":")[0]: int(line.split()[1]) for line in f}
    return sum(info[key] for key in ("MemFree", "Buffers", "Cached", "SReclaimable"))


def uptime():
    with open("/proc/uptime") as f:
        return float(f.read().split()[0])


FIO_COMMON = dict(direct=1, thread=1, clocksource="clock_gettime", randrepeat=1, norandommap=1,
                  group_reporting=1, lat_percentiles=0, clat_percentiles=0)


def fio_argv(program, jobs, together=False, **common):
    """A command that runs jobs, {name: {option: value}}, one after the other or all at a time."""
    lines = ["[global]"]
    lines += [f"{k}={v}" for k, v in {**FIO_COMMON, **common}.items()]
    for name, options in jobs.items():
        lines += [f"[{name}]"] + ([] if together else ["stonewall"]) + [f"{k}={v}" for k, v in options.items()]
    path = os.path.join(RAM, "jobs.fio")
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")
    return [program, "--output-format=json", path]


def fio(program, jobs, together=False, **common):
    """Run them in one fio; {name: its JSON}."""
    return fio_said(run(*fio_argv(program, jobs, together, **common)))


def fio_said(text):
    return {j["jobname"]: j for j in json.loads(text[text.index("{"):])["jobs"]}


class Out:
    """JSON lines to a file in memory, copied to its place when closed. In each is what it was measured with."""

    def __init__(self, path):
        self.path, self.lines = path, []
        self.meta = {**json.loads(os.environ.get("BENCH_META", "{}")), "release": os.uname().release}

    def add(self, loaded=None, /, **record):
        """@loaded: how many seconds there was a load before what counts, and then."""
        meta = self.meta if loaded is None else {**self.meta, "warm_s": loaded[0], "measured_s": loaded[1]}
        self.lines.append(json.dumps({**record, "meta": meta}))

    def close(self):
        """All there is so far, or what there was: the machine may be ended at any time."""
        with open(self.path + "~", "w") as f:
            f.writelines(line + "\n" for line in self.lines)
        os.replace(self.path + "~", self.path)


def main(table):
    """table: name -> function(out, quick). Called by the guest side of tests/bench/run."""
    name, path = sys.argv[1], sys.argv[2]
    out = Out(path)
    try:
        table[name](out, "--quick" in sys.argv)
    finally:
        out.close()
