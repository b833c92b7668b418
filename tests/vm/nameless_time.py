#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# title: nameless: requests take as long as table 3.1 says, in virtual time
# kernels: 6.1 6.12
# timeout: 60
# virtual-time: yes
"""What a request takes is what is between the block layer's tracepoints of its queueing and its completion."""

import json
import os
import re
import subprocess
import sys
import time

TRACE = "/sys/kernel/tracing"
EVENT = re.compile(r" (\d+)\.(\d{6}): block_bio_(queue|complete): \d+,\d+ (\w+) (\d+) \+ (\d+)")
SLACK = 3       # us of the emulator's own per request
# The sums of table 3.1: control, transfer, register and RAM beside the flash's own time.
READ = {"ssd1": 2 + 25 + 1 + 10 + 1, "ssd2": 2 + 65 + 1 + 10 + 1}
WRITE = {"ssd1": 1 + 12 + 1 + 200, "ssd2": 1 + 12 + 1 + 85}
tests = failures = 0


def test(ok, title, *notes):
    global tests, failures
    tests += 1
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} {tests} - {title}")
    for note in notes:
        print("#", note)
    sys.stdout.flush()


def run(*words):
    subprocess.run(words, check=True)


def setting(name, value):
    with open(f"{TRACE}/{name}", "w", encoding="ascii") as f:
        f.write(value)


def took(*words):
    """Microseconds that each request of a blkio command took."""
    setting("trace", "")
    run("blkio", *map(str, words))
    with open(f"{TRACE}/trace", encoding="ascii") as f:
        events = [m.groups() for m in map(EVENT.search, f) if m]
    begun, times = {}, []
    for sec, usec, what, _, sector, count in events:
        at = int(sec) * 1000000 + int(usec)
        if what == "queue":
            begun[sector, count] = at
        elif (sector, count) in begun:
            times.append(at - begun.pop((sector, count)))
    return times


def close(times, wanted):
    return bool(times) and all(wanted <= t <= wanted + SLACK for t in times)


def measure(preset):
    dev = f"/dev/nameless/{preset}"
    run("nlctl", "create", preset, "64M", "--preset", preset)
    while not os.path.exists(dev):
        time.sleep(0.01)
    run("udevadm", "settle")
    run("blkio", "write", dev, "4096", "80", "1")       # each plane erases the block that it begins
    one = []
    for i in range(8):
        one += took("write", dev, 8 * i, 8, 1)
    test(close(one, WRITE[preset]), f"{preset}: a page's write takes {WRITE[preset]} us", f"took {one}")
    one = []
    for i in range(8):
        one += took("verify", dev, 8 * i, 8, 1)
    test(close(one, READ[preset]), f"{preset}: a page's read takes {READ[preset]} us", f"took {one}")
    times = took("write", dev, 1024, 80, 2)
    test(close(times, WRITE[preset]), f"{preset}: ten pages are written by ten planes in the same time", f"took {times}")
    both = 2 * WRITE[preset] - 1    # the second page's way to the device's RAM is over by then
    times = took("write", dev, 2048, 160, 3)
    test(close(times, both), f"{preset}: twenty take {both} us", f"took {times}")
    times = took("verify", dev, 65536, 8, 0)
    test(bool(times) and max(times) <= SLACK, f"{preset}: what was never written needs no flash", f"took {times}")
    stat = json.loads(subprocess.run(["nlctl", "stat", preset, "--json"], check=True, stdout=subprocess.PIPE).stdout)
    late = stat["late_us"]
    test(sum(late[1:]) <= sum(late) // 100, f"{preset}: completions are in time to the microsecond",
         f"late by powers of two us: {late}, the latest {stat['late_max_ns']} ns")
    run("nlctl", "delete", preset)


def wait(seconds):
    time.sleep(seconds)     # of virtual time: nothing is waited for that could be told


def idle():
    """GC begins when no request has come for so long, and ends."""
    def seen():
        stat = json.loads(subprocess.run(["nlctl", "stat", "idle", "--json"], check=True, stdout=subprocess.PIPE).stdout)
        return stat["idle_steps"], stat["gc_idle"]
    dev = "/dev/nameless/idle"
    run("nlctl", "create", "idle", "8M", "pages=16", "gc_idle=1s")
    while not os.path.exists(dev):
        time.sleep(0.01)
    run("udevadm", "settle")
    run("blkio", "write", dev, "0", "16384", "1", "--", "discard", dev, "0", "8192", "--", "flush", dev)
    during = []
    for i in range(4):
        wait(0.7)
        run("blkio", "write", dev, str(8 * i), "8", "2")
        during.append(seen())
    test(all(s == (0, "waiting") for s in during), "idle: requests put GC off", f"{during}")
    wait(1.5)
    steps, state = seen()
    test(steps > 0, "idle: it begins a second after the last one", f"{steps} {state}")
    wait(2)
    done = seen()
    wait(2)
    test(done[1] == "asleep" and seen() == done, "idle: and is asleep after that", f"{done} {seen()}")
    run("nlctl", "delete", "idle")


print("KTAP version 1")
run("modprobe", "nameless")
setting("trace_clock", "mono")
for event in ("block_bio_queue", "block_bio_complete"):
    setting(f"events/block/{event}/enable", "1")
for name in READ:
    measure(name)
idle()
print(f"1..{tests}")
sys.exit(1 if failures else 0)
