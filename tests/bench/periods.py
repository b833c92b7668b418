# SPDX-License-Identifier: GPL-2.0-only
"""What a pool did, period by period, out of its tracepoint."""

import re
import threading
import time

import lab

TRACE = "/sys/kernel/tracing"
LINE = re.compile(r" (\d+\.\d+): hybrid_period: .*member=(\d+) requests=(\d+) mean_ns=(\d+) share=(\d+) target=(\d+)")


def put(path, text):
    with open(f"{TRACE}/{path}", "w", encoding="ascii") as f:
        f.write(text)


def start():
    put("trace_clock", "mono")      # time.monotonic()'s
    put("trace", "")
    put("events/hybrid/hybrid_period/enable", "1")


def so_far():
    """Periods since start: the time of each one's end, and of each member its requests, mean us, share and target (%)."""
    out = []
    with open(f"{TRACE}/trace", encoding="ascii") as f:
        for m in LINE.finditer(f.read()):
            member = int(m[2])
            if not member:
                out.append(dict(t=float(m[1]), requests=[], us=[], share=[], target=[]))
            if not out or len(out[-1]["share"]) != member:
                raise SystemExit("the trace of the periods has holes")
            for key, value in (("requests", int(m[3])), ("us", int(m[4]) / 1e3), ("share", int(m[5]) / 1e4),
                               ("target", int(m[6]) / 1e4)):
                out[-1][key].append(value)
    return out


def stop():
    """The same, and no more of them."""
    put("events/hybrid/hybrid_period/enable", "0")
    out = so_far()
    while out and not any(out[-1]["requests"]):     # the load had ended
        out.pop()
    return out


def moved():
    """Bytes that the pool has migrated."""
    return lab.hybrid_status("pool")["migrations_bytes"]


class Later(threading.Thread):
    """Does something in so many seconds, while the main thread waits for a load."""

    def __init__(self, seconds, what):
        super().__init__(daemon=True)
        self.seconds, self.what, self.value = seconds, what, None
        self.start()

    def run(self):
        time.sleep(self.seconds)
        self.value = self.what()

    def result(self):
        self.join()
        return self.value
