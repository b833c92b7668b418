# SPDX-License-Identifier: GPL-2.0-only
"""Machines in which something is measured, and where their records are."""

import concurrent.futures
import json
import os
import shutil
import subprocess

import revisions

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(TOP, "build", "bench")
ENDED = 124                     # scripts/vm's status
VIRTUAL = ("--virtual-time",)
REAL = ("--cpus", "2")          # virtual time has one processor


def build(program):
    """One of the tests' programs; the machines find it in OUT."""
    subprocess.run(["make", "-s", "-C", os.path.join(TOP, "tests"), f"../build/tests/bin/{program}"], check=True)
    shutil.copy(os.path.join(TOP, "build/tests/bin", program), OUT)


class OutOfTime(SystemExit):
    """A machine was ended. It may have left records."""


def run(name, kernel, memory, *options, record=None, append="", clock=VIRTUAL, seconds=6000):
    """
    Run HERE/NAME.py in a machine; where its records are. It writes them at its end, all or nothing, or after each volume.
    @seconds: of the host.
    """
    path = os.path.join(OUT, (record or name) + ".jsonl")
    if os.path.exists(path):
        os.remove(path)
    command = [os.path.join(TOP, "scripts/vm"), "--kernel", kernel, *clock, "--memory", memory, "--append", append,
               "--share", OUT, "--timeout", str(seconds), "--", "env",
               "BENCH_META=" + json.dumps(revisions.meta(kernel)), "python3", os.path.join(HERE, name + ".py"), name,
               f"/mnt/share/{os.path.basename(path)}", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as machine:
        for line in machine.stdout:
            print(f"{record}: {line}" if record else line, end="", flush=True)
    if machine.returncode == ENDED:
        raise OutOfTime(f"{record or name}: not done after {seconds} s")
    if machine.returncode:
        raise SystemExit(f"{record or name}: status {machine.returncode}")
    return path


def side_by_side(calls, jobs):
    """Virtual time does not depend on what else the host does: machines may run side by side."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        todo = [pool.submit(*call) for call in calls]
        try:
            for done in concurrent.futures.as_completed(todo):
                done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
