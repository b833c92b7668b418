# SPDX-License-Identifier: GPL-2.0-only
"""What tests/bench/run scmfs-figures measures: loads, file systems, lengths of records."""

FILE_MIB = 64
RECORDS = 4096          # at most, of a file that is no longer than FILE_MIB
LEAST = 2 << 20         # of which only a part is touched by the least records, or huge pages would show in nothing
TRANSACTIONS = 20000    # a 20th of the dissertation's: a run is minutes then, not hours

ALL = ("tmpfs", "ramfs", "scmfs", "ext2 brd", "ext2", "ext4", "xfs")
WAYS = {
    "new write": dict(rw="write", ioengine="psync"),
    "write": dict(rw="write", ioengine="psync"),
    "read": dict(rw="read", ioengine="psync"),
    "random read": dict(rw="randread", ioengine="psync"),
    "random write": dict(rw="randwrite", ioengine="psync"),
    "mmap read": dict(rw="read", ioengine="mmap"),
    "mmap write": dict(rw="write", ioengine="mmap"),
    "mmap random read": dict(rw="randread", ioengine="mmap"),
    "mmap random write": dict(rw="randwrite", ioengine="mmap"),
}


def sizes(quick):
    """64 B to 16 MiB, closer where the dissertation's curves fall."""
    return (64, 4096, 1 << 20, 16 << 20) if quick else (*(64 << i for i in range(0, 13, 3)), *(1 << i for i in range(20, 25)))


def file_bytes(length):
    """All of the file is read or written once."""
    return max(LEAST, min(FILE_MIB << 20, RECORDS * length))


def name_of(length):
    return f"{length >> 20}M" if length >> 20 else f"{length >> 10}K" if length >> 10 else str(length)


CELLS = {
    **{f"records/{fs.replace(' ', '-')}": ("records", (fs,)) for fs in ALL},
    **{f"postmark/{fs.replace(' ', '-')}": ("postmark", (fs,)) for fs in (*ALL, "scmfs atomic")},
    **{f"dbench/{fs.replace(' ', '-')}": ("dbench", (fs,)) for fs in ALL},
    "mail": ("mail", ALL), "aged": ("aged", ("scmfs",)), "counters": ("counters", ("scmfs",)),
    "threads": ("threads", ("scmfs", "ext2 brd", "ext4")),
}       # name: load, file systems, one after the other in a machine
