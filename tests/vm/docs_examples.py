#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# title: what the administrator's guide and README tell people to type works as it stands
# kernels: 6.1
# timeout: 180
"""An example is a literal block after a line `.. example: NAME` (in Markdown: a fenced block after
`<!-- example: NAME -->`).  A page's examples run in its order, in one shell each, on fresh disks.  A literal block of
commands without such a line has one that says why: `.. not run: REASON` (in Markdown, where an indented block is a literal
one, too: `<!-- not run: REASON -->`).
"""

import os
import re
import subprocess
import sys
import textwrap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PAGES = {"Documentation/admin-guide/dm-hybrid.rst": 13, "Documentation/admin-guide/emudisk.rst": 1,
         "Documentation/admin-guide/vm.rst": 1, "README.md": 1}    # and how many examples at least

COMMANDS = "hybridctl|dmsetup|emuctl|mem2mctl|nlctl|mkfs\\S*|mount|umount|fio|blktrace|trace-cmd|modprobe|echo|dd"
RST = re.compile(r"^\.\. example: (\S+)\n\s*\n::\n\s*\n((?:(?:[ \t]+.*)?\n)+)", re.M)
MARKDOWN = re.compile(r"^<!-- example: (\S+) -->\n\s*```\w*\n(.*?)^```", re.M | re.S)


def examples(page):
    with open(os.path.join(TOP, page), encoding="utf-8") as f:
        text = f.read()
    found = (MARKDOWN if page.endswith(".md") else RST).findall(text + "\n")
    marks = len(re.findall(r"^(?:\.\.|<!--) example:", text, re.M))
    return marks, [(name, textwrap.dedent(code)) for name, code in found]


def literal(text):
    """Of Markdown, blocks that are fenced or indented: the line before, and the block's own."""
    before, block, fenced, blank = "", [], False, True
    for line in text.split("\n") + ["."]:
        fence = line.startswith("```")
        if fenced:
            if not fence:
                block.append(line.strip())
                continue
            fenced = False
        elif fence:
            fenced = True
        elif line.startswith("    ") and (block or blank):
            block.append(line.strip())
            continue
        elif block and not line.strip():    # perhaps within it
            continue
        if block:
            yield before, block
            before, block = "", []
        if line.strip() and not fence:
            before = line
        blank = not line.strip()


def unmarked(page):
    """Commands that nothing runs and nothing is said of."""
    with open(os.path.join(TOP, page), encoding="utf-8") as f:
        text = f.read()
    if page.endswith(".md"):
        return [line for before, block in literal(text) for line in block
                if re.match(r"(?:%s) " % COMMANDS, line) and not re.match(r"<!-- (example|not run): \S", before)]
    blocks = re.finditer(r"^(.*::)\n\s*\n[ \t]+((?:%s) .*)$" % COMMANDS, text, re.M)
    before = lambda block: (text[:block.start()].split("\n\n")[-2:] + [""])[0].strip()
    return [b.group(2) for b in blocks if b.group(1) != "::" or not re.match(r"\.\. (example|not run): \S", before(b))]


DISKS = (("fast", "sata-ssd", "1G"), ("slow", "hdd7200", "2G"), ("third", "hdd7200", "1G"),
         ("fourth", "hdd7200", "1G"), ("fifth", "sata-ssd", "64M"))


def delete_disks():
    for name, _, _ in DISKS:
        subprocess.run(["emuctl", "del", name, "--force"], check=False, stderr=subprocess.DEVNULL)


def fresh_disks():
    delete_disks()
    for name, model, length in DISKS:
        subprocess.run(["emuctl", "add", name, model, length], check=True)
        if not os.path.islink(f"/dev/{name}"):
            os.symlink(f"/dev/emudisk/{name}", f"/dev/{name}")


def main(pages):
    tests = failures = 0

    def test(ok, title, text=""):
        nonlocal tests, failures
        tests += 1
        failures += not ok
        print(f"{'ok' if ok else 'not ok'} {tests} - {title}")
        if not ok:
            print(textwrap.indent(text.rstrip(), "# "))
        sys.stdout.flush()

    print("KTAP version 1")
    subprocess.run(["modprobe", "emudisk"], check=True)
    for page, least in pages.items():
        marks, found = examples(page)
        test(len(found) == marks >= least, f"{page}: all examples found",
             f"{marks} marked, {len(found)} with a block, at least {least} expected")
        left = unmarked(page)
        test(not left, f"{page}: all commands are of an example, or it says why not", "\n".join(left))
        fresh_disks()
        for name, code in found:
            done = subprocess.run(["bash", "-euxo", "pipefail", "-c", code], check=False, text=True, timeout=120,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            test(done.returncode == 0, f"{page}: {name}", f"status {done.returncode}\n{done.stdout}")
    delete_disks()
    subprocess.run(["emuctl", "del", "--all"], check=False)    # what a page's last example leaves to its reader
    print(f"1..{tests}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(PAGES))
