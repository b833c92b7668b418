# SPDX-License-Identifier: GPL-2.0-only
"""What reports print: tables, and whether a target was met."""


def table(head, rows):
    rows = [head] + [[x if isinstance(x, str) else f"{x:.2f}" if isinstance(x, float) else str(x) for x in r]
                     for r in rows]
    width = [max(len(r[i]) for r in rows) for i in range(len(head))]
    for r in rows:
        print("  ".join(x.ljust(w) if i == 0 else x.rjust(w) for i, (x, w) in enumerate(zip(r, width))))


def target(text, value, bound, strict=False):
    ok = value < bound if strict else value <= bound
    print(f"{'met' if ok else 'MISSED'}: {text}: {value:.2f} ({'below' if strict else 'at most'} {bound:.2f})")
    return ok
