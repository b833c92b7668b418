# SPDX-License-Identifier: GPL-2.0-only
"""dm-writeboost, which is no part of the kernel: its module out of Debian's package dm-writeboost-dkms, whose sources are
unpacked and built, not installed."""

import glob
import os
import shutil
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PACKAGE = "dm-writeboost-dkms"


def unpack(folder):
    """The package's sources; of what is installed, or else of the archive."""
    found = glob.glob("/usr/src/dm-writeboost-*/")
    if not found:
        subprocess.run(["apt-get", "-q", "download", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        subprocess.run(["dpkg", "-x", glob.glob(f"{folder}/{PACKAGE}_*.deb")[-1], folder], check=True)
        found = glob.glob(f"{folder}/usr/src/dm-writeboost-*/")
    return found[-1]


def build(folder, release, headers):
    sources = os.path.join(folder, release)
    shutil.rmtree(sources, ignore_errors=True)
    shutil.copytree(unpack(folder), sources)
    with open(os.path.join(folder, release + ".log"), "w", encoding="utf-8") as log:
        subprocess.run(["make", "-C", headers, "M=" + sources, "modules"], check=True, stdout=log, stderr=log)
    return os.path.join(sources, "dm-writeboost.ko")


def module(kernel, out, devices):
    """Its module for one of our kernels, or modprobe's for this machine's; None, and why, where there is none."""
    if devices:
        there = subprocess.run(["modprobe", "-n", "-q", "dm-writeboost"], check=False).returncode == 0
        if not there:
            print(f"# without dm-writeboost: {PACKAGE} is not installed")
        return "modprobe" if there else None
    release, headers = subprocess.run([os.path.join(TOP, "scripts/kernel-dir"), kernel], check=True, text=True,
                                      stdout=subprocess.PIPE).stdout.split()
    folder = os.path.join(out, "writeboost")
    built = os.path.join(folder, release, "dm-writeboost.ko")
    os.makedirs(folder, exist_ok=True)
    try:
        return built if os.path.exists(built) else build(folder, release, headers)
    except (subprocess.CalledProcessError, OSError, IndexError) as error:
        print(f"# without dm-writeboost: {error}; see {os.path.relpath(folder, TOP)}/{release}.log")
        return None
