#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Files whose fsync was acknowledged are there after a power cut.

files.py run DIR LOG SEED COUNT RECORD    write, rename, remove; log what is durable since when
files.py check DIR LOG POINT              is what was durable at POINT there?
"""

import hashlib
import json
import os
import random
import sys


def now(record):
    with open(record) as f:
        return int(dict(line.split(None, 1) for line in f)["now"])


def sync(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def run(folder, log, seed, count, record):
    rng = random.Random(int(seed))
    with open(log, "w") as out:
        for _ in range(int(count)):
            name = "f%d" % rng.randrange(20)
            path = os.path.join(folder, name)
            begin, digest = now(record), None
            what = rng.random()
            if what < 0.15 and os.path.exists(path):
                os.unlink(path)
            else:
                data = rng.randbytes(rng.randrange(1, 120000))
                digest = hashlib.sha256(data).hexdigest()
                with open(path + ".new", "wb") as f:
                    f.write(data)
                    f.flush()
                    os.fsync(f.fileno())
                os.rename(path + ".new", path)
            sync(folder)
            out.write(json.dumps([name, digest, begin, now(record)]) + "\n")


def check(folder, log, point):
    point, legal = int(point), {}
    with open(log) as f:
        for name, digest, begin, end in map(json.loads, f):
            if begin >= point:
                break
            if end <= point:
                legal[name] = {digest}      # durable: nothing older may come back
            else:
                legal.setdefault(name, {None}).add(digest)
    bad = 0
    for name, allowed in sorted(legal.items()):
        try:
            with open(os.path.join(folder, name), "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()
        except FileNotFoundError:
            digest = None
        if digest not in allowed:
            print("# %s is %s" % (name, "not there" if digest is None else "something else"))
            bad += 1
    return bad


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(*sys.argv[2:])
    else:
        sys.exit(1 if check(*sys.argv[2:]) else 0)
