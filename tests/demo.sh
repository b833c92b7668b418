#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: the demonstration runs through, and shows what its page says
# one-of: 8
# The demonstration does what its page says: runs through, leaves a picture and figures that parse, and the
# SSD has the files of one process from the first one on. Prints KTAP.
set -uo pipefail
top=$(dirname "$(dirname "$(readlink -f "$0")")")
out=$top/build/demo
log=$(mktemp)
trap 'rm -f "$log"' EXIT
n=0 failed=0

ok() {		# ok DESCRIPTION COMMAND...
	local what=$1
	shift
	n=$((n + 1))
	if "$@" >"$log.cmd" 2>&1; then
		echo "ok $n $what"
	else
		sed 's/^/# /' "$log.cmd"
		echo "not ok $n $what"
		failed=1
	fi
	rm -f "$log.cmd"
}

run_demo() {
	"$top/scripts/demo" --quick "$@" >"$log" 2>&1 || { tail -n 30 "$log"; return 1; }
}

picture() {	# a PNG of a size and with colours that an empty canvas has not
	/usr/bin/python3 - "$out/demo.png" <<'EOF'
import sys
import matplotlib.image
image = matplotlib.image.imread(sys.argv[1])
height, width = image.shape[:2]
colours = {tuple(p) for row in image[::3, ::3, :3].round(2).tolist() for p in row}
assert width >= 600 and height >= 600 and len(colours) > 30, (width, height, len(colours))
EOF
}

records() {
	python3 - "$out" <<'EOF'
import json, sys
plan = json.load(open(sys.argv[1] + "/plan.json"))
records = [json.loads(line) for line in open(sys.argv[1] + "/records.jsonl")]
done = {(r["volume"], r["clients"]): r for r in records if r["kind"] == "result" and r["load"] == "dbench"}
for v in plan["volumes"]:
    for c in plan["clients"]:
        r = done[v, c]
        assert r["mbps"] > 0 and r["ops"] > 0 and 0 < r["cpu"] < 1, r
pool = [r for r in records if r["kind"] == "period" and r["volume"] == "pool"]
assert len(pool) >= 5, len(pool)
for r in pool:
    for m in r["status"]["members"]:
        assert 0 <= m["share_ppm"] <= 1000000 and 0 <= m["target_ppm"] <= 1000000, m
assert pool[-1]["status"]["mode"] == "rw" and pool[-1]["status"]["errors"] == 0
EOF
}

placed() {
	python3 - "$out" <<'EOF'
import json, sys
pool = [r for r in map(json.loads, open(sys.argv[1] + "/records.jsonl"))
        if r["kind"] == "period" and r["volume"] == "pool"]
busy = [r for r in pool if any(d["reads"] + d["writes"] for d in r["disks"].values())]
assert busy
for r in busy[:5]:
    ssd = r["disks"]["ssd"]
    assert ssd["target"] >= 0.9 and ssd["share"] >= 0.9, r
EOF
}

echo "KTAP version 1"
ok "the demonstration runs through" run_demo "$@"
ok "it says where the picture is" grep -q "^demo: the picture is $out/demo.png" "$log"
ok "the picture is one" picture
ok "records parse and every load was run on every volume" records
ok "the SSD has the load from the first period on" placed
echo "1..$n"
exit $failed
