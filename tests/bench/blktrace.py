# SPDX-License-Identifier: GPL-2.0-only
"""Traces of blktrace."""

import struct

EVENT = struct.Struct("<IIQQIIIIIHH")
QUEUED, COMPLETED, MAGIC = 1, 8, 0x65617400


def completed(waiting, at, end):
    """When those were queued that a completion from at to end, sectors, is about: a scheduler may have merged several."""
    while at < end:
        some = [r for r in waiting.get(at, ()) if r[1] <= end - at]
        if not some:
            return
        one = next((r for r in some if r[1] == end - at), some[0])
        waiting[at].remove(one)
        yield one[0]
        at += one[1]


def response_times(path):
    """(when it was queued, ns that it took) of each request in a trace, and how many were never completed."""
    with open(path, "rb") as f:
        data = f.read()
    at, waiting, out = 0, {}, []
    while at + EVENT.size <= len(data):
        magic, _, t, sector, length, action, *_, more = EVENT.unpack_from(data, at)
        if magic & 0xffffff00 != MAGIC:
            raise SystemExit(f"{path}: no event at {at}")
        at += EVENT.size + more
        if action & 0xffff == QUEUED and length:
            waiting.setdefault(sector, []).append((t, length >> 9))
        elif action & 0xffff == COMPLETED:
            out += [(queued, t - queued) for queued in completed(waiting, sector, sector + (length >> 9))]
    return out, sum(map(len, waiting.values()))
