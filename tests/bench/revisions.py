# SPDX-License-Identifier: GPL-2.0-only
"""What rows are of: each says by which code, on which kernel and with what settings it was measured. Host side."""

import hashlib
import os
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SOURCES = (".c", ".h", "Kbuild", "probes")
# These say what rows mean. Rows stay what they are when that changes.
READERS = ("_main.py", "_report.py", "_plot.py", "by_cells.py", "intervals.py", "report.py", "revisions.py", "selftest.py",
           "tables.py")


def sources():
    """What is measured, and what measures it; as it is, committed or not."""
    for folder in ("drivers", "include"):
        for where, _, names in os.walk(os.path.join(TOP, folder)):
            yield from (os.path.join(where, n) for n in names if n.endswith(SOURCES) and not n.endswith(".mod.c"))
    for name in os.listdir(HERE):
        if name.endswith((".py", ".c")) and not name.endswith(READERS):
            yield os.path.join(HERE, name)


def code():
    """
    A hash over them. The revision alone would call two states of a tree that is worked on the same, and one whose
    documentation has changed another.
    """
    total = hashlib.sha256()
    for path in sorted(sources()):
        with open(path, "rb") as f:
            total.update(os.path.relpath(path, TOP).encode() + b"\0" + hashlib.sha256(f.read()).digest())
    return total.hexdigest()[:12]


def said(*argv):
    """A command's output; nothing where it fails or isn't there."""
    try:
        return subprocess.run(argv, cwd=TOP, check=True, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def meta(kernel):
    """@kernel: a machine's; None: this one's, whose modules are those that are installed."""
    installed = "" if kernel else "+" + said("modinfo", "-F", "srcversion", "dm-hybrid")
    return dict(revision=said("git", "describe", "--always", "--dirty") or "no git", code=code() + installed,
                kernel=kernel or os.uname().release)


def of(meta_of_row):
    """What two rows have to have in common to be compared."""
    return tuple(meta_of_row.get(k, "unknown") for k in ("code", "kernel"))


def known(records):
    """{what rows have in common: a revision of that}."""
    found = {}
    for r in records:
        meta_of_row = r.get("meta", {})
        found.setdefault(of(meta_of_row), meta_of_row.get("revision", "unknown"))
    return found


def line(records):
    """For a report."""
    found = known(records)
    each = ", ".join(f"{revision} (code {c}, kernel {kernel})" for (c, kernel), revision in found.items())
    return f"Rows are of {len(found)} revision{'s' if len(found) > 1 else ''}: {each}."
