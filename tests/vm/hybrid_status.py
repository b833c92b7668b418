#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The status line of dm-hybrid, read strictly: whatever the grammar does not name is an error.

Reads lines of `dmsetup status` from standard input, prints them as JSON; exits with 1 and says what was wrong.
"""

import json
import re
import sys

NUMBER = re.compile(r"0|[1-9][0-9]*")
REASON = re.compile(r"[a-z][a-z_]*")
POLICIES = {"wardrop", "static", "stripe", "fill", "concentrate", "asymmetry", "unified"}
REASONS = {"cooldown", "busy", "nospace", "rate", "foreground", "candidate", "unmapped", "raced", "member", "error",
           "balanced", "token", "cost", "size", "pinned", "share"}


class Malformed(ValueError):
    pass


class Words:
    def __init__(self, text):
        if text != " ".join(text.split()):
            raise Malformed("not one blank between words: %r" % text)
        self.words, self.at = text.split(" "), 0

    def word(self, what, *allowed, pattern=None):
        if self.at == len(self.words):
            raise Malformed("ends where %s is expected" % what)
        word = self.words[self.at]
        self.at += 1
        if (allowed and word not in allowed) or (pattern and not pattern.fullmatch(word)):
            raise Malformed("word %d, %s: %r" % (self.at, what, word))
        return word

    def number(self, what, low=0, high=2**64 - 1):
        value = int(self.word(what, pattern=NUMBER))
        if not low <= value <= high:
            raise Malformed("%s %d is not within %d and %d" % (what, value, low, high))
        return value

    def ratio(self, what):
        word = self.word(what, pattern=re.compile(r"(%s)/(%s)" % (NUMBER.pattern, NUMBER.pattern)))
        used, total = map(int, word.split("/"))
        if used > total:
            raise Malformed("%s: %s" % (what, word))
        return used, total

    def end(self):
        if self.at != len(self.words):
            raise Malformed("more words than the grammar has: %r" % " ".join(self.words[self.at:]))


def parse_member(w):
    m = {"dev": w.word("device", pattern=re.compile(r"[0-9]+:[0-9]+|-")),
         "state": w.word("member state", "active", "degraded", "failed", "draining", "removed")}
    m["used"], m["total"] = w.ratio("extents")
    m["share"] = w.number("share", high=1000000)
    m["target"] = w.number("target", high=1000000)
    for key in ("read_ns", "write_ns", "read_p99_ns", "write_p99_ns", "inflight", "allocations"):
        m[key] = w.number(key)
    return m


def parse(line):
    """A line of `dmsetup status`, with or without the device's name."""
    w = Words(re.sub(r"^[^ ]+: ", "", line.rstrip("\n")))
    s = {"start": w.number("start"), "length": w.number("length", 1)}
    w.word("target", "hybrid")
    s["mode"] = w.word("mode", "rw", "ro", "fail")
    s["needs_check"] = w.word("needs_check", "needs_check", "-") != "-"
    s["extent_sectors"] = w.number("extent sectors", 128, 8192)
    if s["extent_sectors"] & (s["extent_sectors"] - 1):
        raise Malformed("extent size %d" % s["extent_sectors"])
    s["mapped"], s["logical"] = w.ratio("mapped extents")
    s["journal_used"], s["journal_total"] = w.ratio("journal blocks")
    s["meta"] = [w.word("metadata state", "A", "S", "F", "L", "R", "-") for _ in range(w.number("metadata areas", 1, 2))]
    s["members"] = [parse_member(w) for _ in range(w.number("members", 1, 32))]
    s["tokens"] = w.number("tokens")
    direction = w.word("direction", pattern=re.compile(r"(?:%s)>(?:%s)|-" % (NUMBER.pattern, NUMBER.pattern)))
    s["direction"] = None if direction == "-" else [int(n) for n in direction.split(">")]
    if s["direction"] and not all(n < len(s["members"]) for n in s["direction"]):
        raise Malformed("direction %s with %d members" % (direction, len(s["members"])))
    for key in ("started", "completed", "failed", "bytes", "queued"):
        s[key] = w.number("migrations " + key)
    s["not_migrated"] = {}
    for _ in range(w.number("reasons")):
        reason = w.word("reason", *REASONS)
        if reason in s["not_migrated"]:
            raise Malformed("reason %s twice" % reason)
        s["not_migrated"][reason] = w.number(reason)
    for key in ("flushes", "commits", "checkpoints", "errors"):
        s[key] = w.number(key)
    s["policy"] = w.word("policy", *POLICIES)
    args = w.number("policy arguments")
    if args % 2:
        raise Malformed("%d policy arguments" % args)
    s["args"] = {}
    for _ in range(args // 2):
        key = w.word("key", pattern=REASON)
        s["args"][key] = w.word("value")
    w.end()
    if s["completed"] + s["failed"] > s["started"]:
        raise Malformed("migrations: %(completed)d + %(failed)d of %(started)d" % s)
    return s


def answer():
    """Line by line, for one who asks often."""
    for line in sys.stdin:
        try:
            parse(line)
            print("right", flush=True)
        except Malformed as error:
            print("malformed status: %s" % error, flush=True)


def main():
    if sys.argv[1:] == ["--answer"]:
        return answer()
    try:
        for line in sys.stdin:
            print(json.dumps(parse(line)))
    except Malformed as error:
        sys.exit("malformed status: %s\n%s" % (error, line))


if __name__ == "__main__":
    main()
