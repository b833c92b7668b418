#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# title: hybridctl record and report: the page shows what was recorded, and that is what happened
# kernels: 6.1
# timeout: 120
"""A load that is known, recorded; each series of the page against the recording's lines."""

import html.parser
import json
import os
import signal
import subprocess
import sys
import time

PAGE, RECORD = "/tmp/report.html", "/tmp/record.jsonl"
TESTS = {"run": 0, "failed": 0}


def test(good, title, text=""):
    TESTS["run"] += 1
    TESTS["failed"] += not good
    print(f"{'ok' if good else 'not ok'} {TESTS['run']} - {title}")
    if not good and text:
        print("\n".join("# " + line for line in str(text).splitlines()))
    sys.stdout.flush()


def run(*argv):
    return subprocess.run(argv, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def length(path):
    with open(path, encoding="utf-8") as f:
        return len(f.readlines())


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


class Page(html.parser.HTMLParser):
    """Series by name; what is left open; what is fetched from elsewhere."""

    VOID = {"meta", "br"}

    def __init__(self, path):
        super().__init__()
        self.series, self.open, self.elsewhere = {}, [], []
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.elsewhere += [v for k, v in attrs.items() if k in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)
        if "data-series" in attrs:
            self.series[attrs["data-series"]] = [attrs[k].split() for k in ("data-times", "data-values")]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.open.append(f"not {tag}")


def same(drawn, wanted):
    """A value that is None is drawn as a gap."""
    if len(drawn) != len(wanted):
        return False
    return all(d == "-" if w is None else d != "-" and abs(float(d) - w) <= 1e-6 * max(1, abs(w))
               for d, w in zip(drawn, wanted))


def rate(lines, pick, scale=1.0):
    pairs = zip(lines, lines[1:])
    return [None] + [(pick(b) - pick(a)) * scale / (b["at"] - a["at"]) for a, b in pairs]


def compare(page, lines):
    def series(name, wanted):
        drawn = page.series.get(name, [[], []])[1]
        test(same(drawn, wanted), name, f"drawn:  {drawn}\nwanted: {wanted}")

    series("read MB/s", rate(lines, lambda r: r["io"]["read_bytes"], 1e-6))
    series("written MB/s", rate(lines, lambda r: r["io"]["write_bytes"], 1e-6))
    series("reads/s", rate(lines, lambda r: r["io"]["reads"]))
    series("writes/s", rate(lines, lambda r: r["io"]["writes"]))
    series("completed/s", rate(lines, lambda r: r["migrations"]["completed"]))
    for i in range(2):
        members = [r["devices"][i] for r in lines]
        for what, key in (("read us", "read_us"), ("write us", "write_us"), ("read p99 us", "read_p99_us"),
                          ("write p99 us", "write_p99_us")):
            series(f"{what}, member {i}", [m[key] or None for m in members])
        series(f"share %, member {i}", [m["share"] * 100 for m in members])
        series(f"target %, member {i}", [m["target"] * 100 for m in members])
        series(f"used %, member {i}", [m["extents"]["used"] * 100 / m["extents"]["total"] for m in members])
        drawn = page.series.get(f"member {i}", [[], []])[1]
        test(drawn == [m["state"] for m in members], f"member {i}", drawn)
    counts = {k: v - lines[0]["not_migrated"][k] for k, v in lines[-1]["not_migrated"].items()}
    most = max(counts, key=counts.get)
    test(counts[most] > 0, "extents stayed", counts)
    series(f"{most}/s", rate(lines, lambda r: r["not_migrated"][most]))


def main():
    print("KTAP version 1")
    subprocess.run("""
        modprobe emudisk && modprobe dm-hybrid
        emuctl add a mem 96M read_lat=200us write_lat=200us channels=2
        emuctl add b mem 96M read_lat=1ms write_lat=1ms channels=2
        until [ -b /dev/emudisk/a ] && [ -b /dev/emudisk/b ]; do sleep 0.05; done
        hybridctl create vol /dev/emudisk/a /dev/emudisk/b --policy asymmetry --extent 64K --set period_ms=200 \
            --set delta=0.2 --set rate=50 --set cooldown_ms=1000 --volatile-ok""", shell=True, check=True, timeout=60,
                   stdout=subprocess.DEVNULL)
    with subprocess.Popen(["nohup", "hybridctl", "record", "vol", "-o", RECORD, "--interval", "0.25"],
                          stderr=subprocess.DEVNULL) as recorder:
        test(wait_for(lambda: os.path.exists(RECORD) and length(RECORD), 60), "record begins")
        load = run("fio", "--name=l", "--filename=/dev/mapper/vol", "--size=16M", "--io_size=64M", "--bs=4k", "--rw=randrw",
                   "--direct=1", "--ioengine=libaio", "--iodepth=4", "--output-format=json")
        recorder.send_signal(signal.SIGHUP)     # at a signal that it heeds it writes one line more
        had = length(RECORD)
        test(wait_for(lambda: length(RECORD) >= max(had + 2, 9), 60), "who ignores SIGHUP goes on to")
        recorder.terminate()
        test(recorder.wait(60) == 0, "record, until a signal comes")
    done = json.loads(load.stdout[load.stdout.index("{"):])["jobs"][0]
    with open(RECORD, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    test(len(lines) > 8, "lines", len(lines))
    test(lines == sorted(lines, key=lambda r: r["at"]), "in order")
    test(all(member["uuid"] for line in lines for member in line["devices"]), "each line with the members' uuids")
    # The load ran within the recording.
    reads = lines[-1]["io"]["reads"] - lines[0]["io"]["reads"]
    total = done["read"]["total_ios"]
    test(total <= reads <= 1.1 * total + 500, "reads as fio counts them", f"{reads} of {total}")
    test(lines[-1]["migrations"]["completed"] > lines[0]["migrations"]["completed"], "something moved")

    made = run("hybridctl", "report", RECORD, "-o", PAGE)
    test(made.returncode == 0, "report of a recording", made.stdout)
    page = Page(PAGE)
    test(not page.open, "whole", page.open)
    test(not page.elsewhere, "needs nothing else", page.elsewhere)
    compare(page, lines)

    made = run("hybridctl", "report", "vol", "--interval", "0.1", "--for", "0.5", "-o", PAGE)
    test(made.returncode == 0, "report of an active volume", made.stdout)
    # Looks are due at their times, and late on a slow machine, but all of them are there.
    times = [float(t) for t in Page(PAGE).series["read MB/s"][0]]
    test(len(times) == 6 and times == sorted(set(times)) and times[-1] >= 0.4, "for as long as was asked for", times)
    for argv, says in ((["report", "nobody"], "no active volume"), (["report", "/etc/passwd"], "not one of a recording"),
                       (["report", RECORD, "-o", "/proc/x"], "/proc/x"), (["record", "nobody"], "no active volume"),
                       (["record", "vol", "--interval", "0"], "--interval"), (["record"], "one name"),
                       (["record", "vol", "--interval", "0.1", "--for", "0.2", "-o", "/dev/full"], "can't be written")):
        refused = run("hybridctl", *argv)
        test(refused.returncode and says in refused.stdout, "refused: " + " ".join(argv), refused.stdout)
    test(run("hybridctl", "stop", "vol").returncode == 0, "stop")
    for name in ("a", "b"):
        run("emuctl", "del", name, "--force")
    os.unlink(RECORD)
    print(f"1..{TESTS['run']}")
    return 1 if TESTS["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
