# SPDX-License-Identifier: GPL-2.0-only
"""Traces of blktrace."""

import struct

EVENT = struct.Struct("<IIQQIIIIIHH")
QUEUED, COMPLETED, MAGIC = 1, 8, 0x65617400


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
            waiting.setdefault(sector, []).append(t)
        elif action & 0xffff == COMPLETED and waiting.get(sector):
            queued = waiting[sector].pop(0)
            out.append((queued, t - queued))
    return out, sum(map(len, waiting.values()))
