# SPDX-License-Identifier: GPL-2.0-only
"""What operations on files cost on scmfs and others like it, and how that grows. Runs inside scripts/vm."""

import ctypes
import fcntl
import json
import mmap
import os
import struct
import sys
import time

import lab

SMALL = dict(phys="4G", bytes="256M")
LARGE = "6G"            # where reserved memory for the large ones begins
SIZES = ["256M", "1G", "4G", "16G"]
FILES, EXTENTS = 1000000, 100000
STATE = 2048            # of the file system: its first word says whether it was closed
MAGIC = b"SMKEEFS1"
TRACING = "/sys/kernel/tracing/"


def seed_random():
    """Inodes get random numbers. Without entropy, as here, each of them costs the kernel several thousand instructions."""
    fd = os.open("/dev/random", os.O_WRONLY)
    fcntl.ioctl(fd, 0x40085203, struct.pack("ii64s", 512, 64, bytes(range(64))))     # RNDADDENTROPY
    os.close(fd)


def mounted(name, *options):
    path = f"{lab.RAM}/{name}"
    os.makedirs(path, exist_ok=True)
    lab.run("mount", *options, path)
    return path


def file_systems():
    """Name -> directory."""
    for name in ("scmfs", "nd_e820", "nd_pmem"):
        lab.modprobe(name)
    for i in range(4):
        lab.wait_for(f"/dev/pmem{i}")
    lab.run("udevadm", "settle", check=False)
    lab.run("mkfs.ext4", "-q", "-F", "-b", 4096, "/dev/pmem1")
    lab.run("mkfs.ext4", "-q", "-F", "-b", 4096, "-t", "ext2", "/dev/pmem2")
    lab.run("mkfs.xfs", "-q", "-f", "-m", "reflink=0", "/dev/pmem3")
    return {
        "tmpfs": mounted("tmpfs", "-t", "tmpfs", "none"),
        "ramfs": mounted("ramfs", "-t", "ramfs", "none"),
        "scmfs": mounted("phys", "-t", "scmfs", "-o", f"phys={SMALL['phys']},size={SMALL['bytes']},init", "none"),
        "scmfs pmem": mounted("pmem", "-t", "scmfs", "-o", "init", "/dev/pmem0"),
        "ext4": mounted("ext4", "-t", "ext4", "-o", "dax", "/dev/pmem1"),
        "ext2": mounted("ext2", "-t", "ext2", "-o", "dax", "/dev/pmem2"),
        "xfs": mounted("xfs", "-t", "xfs", "-o", "dax", "/dev/pmem3"),
    }


def fsops(out, *args):
    for line in lab.run(os.path.join(lab.RAM, "fsops"), *args).splitlines():
        out.add(bench="scmfs", tool="fsops", **json.loads(line))


# --- counting ------------------------------------------------------------------------------------

def trace(name, text):
    with open(TRACING + name, "w") as f:
        f.write(text)


def traced(function, tracer, what):
    """Lines of the trace that tell of a function while WHAT runs."""
    trace("set_ftrace_filter", function)
    trace("trace", "")
    trace("current_tracer", tracer)
    try:
        what()
    finally:
        with open(TRACING + "trace") as f:
            lines = [line for line in f if function in line and not line.startswith("#")]
        trace("current_tracer", "nop")
    return lines


def fences(out, path, count=200):
    def each(op):
        def all_of_them():
            for i in range(count):
                op(f"{path}/n{i}", f"{path}/m{i}")
        return all_of_them

    def replace(a, b):
        os.rename(b, a)

    def append(a, b):
        fd = os.open(a, os.O_WRONLY | os.O_APPEND)
        os.write(fd, bytes(4096))
        os.close(fd)

    steps = {"create": lambda a, b: os.mknod(a), "rename": os.rename, "create again": lambda a, b: os.mknod(a),
             "rename over": replace, "append": append, "unlink": lambda a, b: os.unlink(a)}
    for name, op in steps.items():
        lines = traced("scm_fence", "function", each(op))
        out.add(bench="scmfs", tool="fences", op=name, fences=len(lines) / count)


# --- mounting ------------------------------------------------------------------------------------

def monotonic(what):
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    what()
    return (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - begin) / 1e6


LIBC = ctypes.CDLL(None, use_errno=True)


def mount_ms(path, size, options=""):
    """
    Milliseconds to mount, and those of them that the kernel took to make struct pages. By the system call: a program
    would first have to be read from the host.
    """
    def mount():
        data = f"phys={LARGE},size={size}{options}".encode()
        if LIBC.mount(b"none", path.encode(), b"scmfs", 0, data):
            raise SystemExit(f"mount: {data.decode()}: {os.strerror(ctypes.get_errno())}")

    took = []
    lines = traced("memremap_pages", "function_graph", lambda: took.append(monotonic(mount)))
    words = " ".join(lines).replace("|", " ").split()
    pages = float(words[words.index("us") - 1]) / 1e3
    return took[0], pages


def mounts(out, sizes):
    path = f"{lab.RAM}/large"
    os.makedirs(path, exist_ok=True)
    for size in sizes:
        mount_ms(path, size, ",init=force")
        lab.run("umount", path)
        ms, pages = mount_ms(path, size)
        lab.run("umount", path)
        out.add(bench="scmfs", tool="mount", state="clean", size=size, ms=ms, pages_ms=pages, files=0)
    return path


def crash(size):
    """As if power had gone when nothing was under way: only the word that says it was closed differs."""
    pages = (lab.size(size) >> 12) * 64
    at = lab.size(LARGE) + -(-pages // (2 << 20)) * (2 << 20)
    with open("/dev/mem", "r+b", buffering=0) as f, mmap.mmap(f.fileno(), 4096, offset=at) as super_block:
        if super_block[:8] != MAGIC:
            raise SystemExit(f"no scmfs at {at:#x}")
        super_block[STATE:STATE + 8] = bytes(8)


def settled_kib():
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")
    return lab.free_kib()


def many_files(out, path, size, files, extents):
    mount_ms(path, size, ",init=force")
    fsops(out, "fill", path, files)
    fsops(out, "pieces", f"{path}/pieces", extents)
    os.unlink(f"{path}/pieces")
    for state in ("clean", "crash"):
        lab.run("umount", path)
        if state == "crash":
            crash(size)
        before = settled_kib()
        ms, pages = mount_ms(path, size)
        out.add(bench="scmfs", tool="mount", state=state, size=size, ms=ms, pages_ms=pages, files=files)
    mounted_kib = settled_kib()
    root = os.open(path, os.O_RDONLY)
    os.stat(f"{path}/f{files // 2:08d}")
    out.add(bench="scmfs", tool="meminfo", files=files, mounted_kib=before - mounted_kib,
            indexed_kib=before - settled_kib())
    os.close(root)
    lab.run("umount", path)


def operations(out, quick):
    where = file_systems()
    fsops(out, "ops", 500 if quick else 2000, 1 if quick else 5, *(f"{k}={v}" for k, v in where.items()))
    fences(out, where["scmfs"])
    for path in where.values():
        lab.run("umount", path)


def growth(out, quick):
    lab.modprobe("scmfs")
    sizes = SIZES[:2] if quick else SIZES
    path = mounts(out, sizes)
    many_files(out, path, sizes[-1], *((20000, 10000) if quick else (FILES, EXTENTS)))


PARTS = {"operations": operations, "growth": growth}


def measure(out, quick):
    """Those parts that --part=NAME names, or all."""
    lab.stage("/mnt/share/fsops")
    seed_random()
    lab.run("mount", "-t", "tracefs", "none", TRACING, check=False)
    for name in [a.partition("=")[2] for a in sys.argv if a.startswith("--part=")] or PARTS:
        PARTS[name](out, quick)


if __name__ == "__main__":
    lab.main({"scmfs": measure})
