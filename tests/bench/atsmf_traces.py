# SPDX-License-Identifier: GPL-2.0-only
"""What tests/bench/atsmf.py traced: response times, and what came from memory."""

import json
import os

import atsmf_loads
import blktrace


def reduce(record, folder, expected, fastest_ssd):
    """
    The record with what its trace says. What took less than half of the SSD's shortest time has been answered by
    memory: caches don't count alike, and some don't count writes at all.
    """
    path = os.path.join(folder, record["trace"])
    times, _ = blktrace.response_times(path)
    if len(times) != expected:
        raise SystemExit(f"{path}: {len(times)} of {expected} requests ended: that is no result")
    ns = sorted(t for _, t in times)
    if record["device"] == "ssd":
        fastest_ssd = ns[0]
    memory = [t for t in ns if t < fastest_ssd / 2]
    begin, windows = times[0][0], {}
    for t, took in times:
        windows.setdefault(int((t - begin) / 1e9 / atsmf_loads.WINDOW), []).append(took)
    record.update(requests_seen=len(ns), mean_us=sum(ns) / len(ns) / 1e3, p99_us=ns[len(ns) * 99 // 100] / 1e3,
                  least_us=ns[0] / 1e3, memory_part=len(memory) / len(ns),
                  memory_us=sum(memory) / len(memory) / 1e3 if memory else None,
                  windows_us=[sum(w) / len(w) / 1e3 if (w := windows.get(i)) else None for i in range(max(windows) + 1)])
    return fastest_ssd


def reduce_all(path, name, seed):
    """Records of a machine, their traces beside them, to records without."""
    with open(path, encoding="utf-8") as f:
        records = [json.loads(line) for line in f]
    expected, fastest = sum(1 for _ in atsmf_loads.requests(name, seed)), None
    for r in records:
        fastest = reduce(r, os.path.dirname(path), expected, fastest)
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in records)
    for r in records:
        os.remove(os.path.join(os.path.dirname(path), r["trace"]))
