# SPDX-License-Identifier: GPL-2.0-only
"""File system images for table 4.3: real trees, walked by libext2fs (e2image), and trees of Impressions' distribution, counted.

Of an image all that is not a regular file's data is metadata: superblocks, descriptors, bitmaps, inodes in use, directories,
indirect blocks, or an extent tree's. A journal that was never used counts one block."""

import errno
import json
import os
import random
import subprocess
import tempfile

from names_loads import DISTRIBUTED

PAGE = 4096
TREES = ("/usr/include",)
TYPES = ("ext3", "ext4")
INODES = PAGE // 256            # of a block, as mkfs has them
POINTERS = PAGE // 4
DIRECT = 12
# Agrawal and others, FAST 2009, table 2: sizes of files, and directories beside them
MU, SIGMA, BODY, TAIL_K, TAIL_LEAST = 9.48, 2.46, 0.99994, 0.91, 512 << 20
FILES_OF_A_DIRECTORY = 5


def runs_of(path):
    """[first, n]: pages of a sparse file that are there."""
    runs = []
    with open(path, "rb") as f:
        at = 0
        while True:
            try:
                at = os.lseek(f.fileno(), at, os.SEEK_DATA)
            except OSError as e:
                if e.errno == errno.ENXIO:
                    return runs
                raise
            end = os.lseek(f.fileno(), at, os.SEEK_HOLE)
            runs.append([at // PAGE, -(-end // PAGE) - at // PAGE])
            at = end


def not_zero(path, runs):
    """Pages of these in which there is something."""
    found, zeros = [], bytes(PAGE)
    with open(path, "rb") as f:
        for first, n in runs:
            f.seek(first * PAGE)
            for page in range(first, first + n):
                if f.read(PAGE).rstrip(b"\0") in (b"", zeros):
                    continue
                if found and sum(found[-1]) == page:
                    found[-1][1] += 1
                else:
                    found.append([page, 1])
    return found


def of_tree(tree, kind):
    files = sum(len(names) for _, _, names in os.walk(tree))
    kib = int(subprocess.run(["du", "-skx", tree], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[0])
    size = max(64 << 20, kib * 1024 * 115 // 100 >> 20 << 20)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        image, sparse = os.path.join(folder, "image"), os.path.join(folder, "sparse")
        subprocess.run(["mke2fs", "-q", "-t", kind, "-b", str(PAGE), "-I", "256", "-d", tree, image, f"{size >> 10}k"], check=True)
        data = os.stat(image).st_blocks // 8
        subprocess.run(["e2image", "-r", image, sparse], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        runs = not_zero(sparse, runs_of(sparse))
    metadata = sum(n for _, n in runs)
    return dict(name=f"{tree} {kind}", source="tree", bytes=size, files=files, metadata=metadata, data=data - metadata, runs=runs)


# --- counted ---------------------------------------------------------------------------------------------

def sizes(total, seed):
    """Of files of so many bytes together."""
    chance = random.Random(seed)
    while total > 0:
        if chance.random() < BODY:
            size = int(chance.lognormvariate(MU, SIGMA))
        else:
            size = int(TAIL_LEAST * chance.paretovariate(TAIL_K))
        size = min(size, total)
        total -= max(size, 1)
        yield size


def indirect(pages):
    """Blocks of pointers of a file of so many pages."""
    left, n, reach = max(0, pages - DIRECT), 0, 1
    for _ in range(3):
        reach *= POINTERS
        some, below = min(left, reach), reach
        left -= some
        while some and below > 1:
            n += -(-some // below)
            below //= POINTERS
    return n


def counted(name, total, kind, seed=1):
    """Metadata of an image that is full of such files."""
    files = pages = pointers = 0
    for size in sizes(total, seed):
        own = -(-size // PAGE)
        files += 1
        pages += own
        pointers += indirect(own) if kind == "ext3" else own > 4 * 32768    # an inode has four extents
    folders = files // FILES_OF_A_DIRECTORY
    groups = -(-total // PAGE // 32768)
    # superblock and descriptors once, two bitmaps a group, inodes, directories of a block
    metadata = 1 + -(-groups // (PAGE // 64)) + 2 * groups + -(-(files + folders) // INODES) + folders + pointers
    return dict(name=f"{name} {kind}", source="distribution", bytes=total, files=files, metadata=metadata, data=pages, runs=[])


def every_image(quick):
    trees = TREES
    images = [of_tree(tree, kind) for tree in trees for kind in TYPES]
    some = list(DISTRIBUTED.items())[:1] if quick else DISTRIBUTED.items()
    return images + [counted(name, total, kind) for name, total in some for kind in TYPES]


if __name__ == "__main__":
    print(json.dumps(every_image(True)))
