# SPDX-License-Identifier: GPL-2.0-only
"""Loads of files: a file system on a volume, programs whose page cache is limited, dbench and netmix."""

import contextlib
import ctypes
import json
import os
import re
import subprocess

import lab

MNT = "/run/mnt"
CGROUP = "/sys/fs/cgroup/load"
SCRIPT = "/usr/share/dbench/client.txt"
NETMIX = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../build/tests/bin/netmix")
LIBC = ctypes.CDLL(None, use_errno=True)


def limit_memory(memory):
    """For what limited() starts."""
    if not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        lab.run("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")
    with open("/sys/fs/cgroup/cgroup.subtree_control", "w", encoding="ascii") as f:
        f.write("+memory")
    os.makedirs(CGROUP, exist_ok=True)
    with open(CGROUP + "/memory.max", "w", encoding="ascii") as f:
        f.write(str(lab.size(memory)))


def limited(argv, **keys):
    """Start a program whose page cache is limited, as the paper's machine had less memory than data."""
    def enter():
        with open(CGROUP + "/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(os.getpid()))
    return subprocess.Popen(argv, preexec_fn=enter, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, **keys)


def finish(process, what):
    text, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{what}: status {process.returncode}\n{text[-2000:]}")
    return text


def sync_volume():
    fd = os.open(MNT, os.O_RDONLY)
    if LIBC.syncfs(fd):
        raise SystemExit(f"syncfs: {os.strerror(ctypes.get_errno())}")
    os.close(fd)


@contextlib.contextmanager
def mounted(dev, data):
    """An ext2 of the same size on whatever volume; few inodes, or making it would take longer than the load."""
    lab.run("mkfs.ext2", "-q", "-m", "0", "-N", "16384", dev, f"{data >> 10}k")
    os.makedirs(MNT, exist_ok=True)
    lab.run("mount", "-t", "ext2", "-o", "noatime", dev, MNT)
    try:
        yield
    finally:
        lab.run("umount", MNT)


def stage_dbench():
    """Copy dbench to memory and run it once; what starts it from then on."""
    program, script = lab.stage("dbench", SCRIPT)
    lab.stage_libraries(program)
    keys = dict(env={**os.environ, "LD_LIBRARY_PATH": lab.LIBS})
    os.makedirs("/run/warm", exist_ok=True)
    subprocess.run([program, "-D", "/run/warm", "-c", script, "-t", "1", "1"], check=True,
                   stdout=subprocess.DEVNULL, **keys)

    def run(clients, seconds, *options):
        return parse_dbench(finish(limited([program, "-D", MNT, "-c", script, "-t", str(seconds), *options,
                                            str(clients)], **keys), "dbench"))
    return run


def parse_dbench(text):
    end = re.search(r"^Throughput\s+(\S+)\s+MB/sec", text, re.M)
    ops = re.findall(r"^\s+(\w+)\s+(\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$", text, re.M)
    if not end or not ops:
        raise SystemExit("dbench printed no result:\n" + text[-2000:])
    count = sum(int(n) for _, n, _, _ in ops)
    return {"mbps": float(end[1]), "ops": count,
            "mean_ms": sum(int(n) * float(avg) for _, n, avg, _ in ops) / count}


def stage_netmix():
    program = lab.stage(NETMIX)

    def run(*options):
        text = finish(limited([program, "--directory", MNT, *map(str, options)]), "netmix")
        return json.loads(text) if text else None
    return run
