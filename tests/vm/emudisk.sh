#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: emudisk and emuctl
# kernels: 6.1 6.12 debug
# quick: no
# timeout: 300
#
# Functional test of emudisk and emuctl; runs as root inside scripts/vm. Prints KTAP.
# SEED in the environment (EVENKEEL_SEED) repeats a run.
set -u

seed=${EVENKEEL_SEED:-$RANDOM}
work=$(mktemp -d /tmp/emudisk.XXXXXX)
n=0 failed=0

echo "KTAP version 1"
echo "# seed $seed"

ok() { # TITLE COMMAND...
	local title=$1 out
	shift
	n=$((n + 1))
	if out=$("$@" 2>&1); then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		printf '%s\n' "$out" | sed 's/^/# /'
		failed=$((failed + 1))
	fi
}

reset() {
	emuctl record stop >/dev/null 2>&1
	emuctl record clear >/dev/null 2>&1
	emuctl del --all --force
}

dev() { echo "/dev/emudisk/$1"; }

# One process does the I/O for all tests: starting one costs far more than the I/O in a machine that is
# emulated. Devices are opened for each request, so that they are closed between.
cat >"$work/io.py" <<'EOF'
import fcntl, json, mmap, os, random, struct, subprocess, sys

BLKDISCARD, BLKZEROOUT = 0x1277, 0x127f

def path(name):
    return "/dev/emudisk/" + name

def io(name, flags, do):
    fd = os.open(path(name), flags)
    try:
        return do(fd)
    finally:
        os.close(fd)

def put(name, byte, at, kib, *flags):
    buf = mmap.mmap(-1, int(kib) * 1024)
    buf[:] = bytes([int(byte)]) * len(buf)
    dsync = os.O_DSYNC if "dsync" in flags else 0
    n = io(name, os.O_WRONLY | os.O_DIRECT | dsync, lambda fd: os.pwritev(fd, [buf], int(at) * 1024))
    assert n == len(buf), f"{n} bytes written"

def holds(name, byte, at, kib):
    buf = mmap.mmap(-1, int(kib) * 1024)
    n = io(name, os.O_RDONLY | os.O_DIRECT, lambda fd: os.preadv(fd, [buf], int(at) * 1024))
    assert n == len(buf), f"{n} bytes read"
    bad = [i for i in range(0, n, 512) if buf[i:i + 512] != bytes([int(byte)]) * 512]
    assert not bad, f"{name}: not {byte} at {at}K + {bad[:8]}"

def flush(name):
    io(name, os.O_RDONLY, os.fsync)

def against_model(name, lbs, seed):
    """Random writes and discards, beside a copy in memory."""
    lbs, size, rnd = int(lbs), 1 << 20, random.Random(int(seed))
    buf, want = mmap.mmap(-1, size), bytearray(size)

    def do(fd):
        fcntl.ioctl(fd, BLKDISCARD, struct.pack("QQ", 0, size))
        for i in range(300):
            blocks = rnd.randint(1, 40)
            at = rnd.randrange(size // lbs - blocks) * lbs
            n = blocks * lbs
            op = rnd.random()
            if op < 0.7:
                data = rnd.randbytes(n)
                buf[:n] = data
                os.pwritev(fd, [memoryview(buf)[:n]], at)
                want[at:at + n] = data
            else:
                fcntl.ioctl(fd, BLKDISCARD if op < 0.85 else BLKZEROOUT, struct.pack("QQ", at, n))
                want[at:at + n] = bytes(n)
        os.preadv(fd, [buf], 0)
        bad = [i for i in range(0, size, lbs) if buf[i:i + lbs] != want[i:i + lbs]]
        assert not bad, f"blocks differ: {bad[:10]}"

    io(name, os.O_RDWR | os.O_DIRECT, do)

def show(name, key):
    out = subprocess.check_output(["emuctl", "list", name, "--json"])
    return json.loads(out)["devices"][0][key]

def run(words):
    try:
        return "+", globals()[words[0]](*words[1:])
    except Exception as e:
        return "-", f"{' '.join(words)}: {e}"

if len(sys.argv) > 3:
    how, what = run(sys.argv[3:])
    sys.exit(0 if how == "+" else what)
requests, answers = open(sys.argv[1]), open(sys.argv[2], "w", buffering=1)
for line in requests:
    how, what = run(line.split())
    print(how, "" if what is None else what, file=answers)
EOF
mkfifo "$work/requests" "$work/answers"
python3 "$work/io.py" "$work/requests" "$work/answers" &
exec 5>"$work/requests" 6<"$work/answers"

ask() {
	local how what
	echo "$@" >&5
	read -r how what <&6 || { echo "the I/O helper is gone"; return 1; }
	[ -z "$what" ] || echo "$what"
	[ "$how" = + ]
}

apart() { python3 "$work/io.py" - - "$@"; }	# for the background
put() { ask put "$@"; }				# NAME BYTE AT_KIB KIB [dsync]
holds() { ask holds "$@"; }			# NAME BYTE AT_KIB KIB
flush() { ask flush "$1"; }
against_model() { ask against_model "$@" "$seed"; }	# NAME LBS
json() { ask show "$1" "$2"; }			# NAME KEY

is() { [ "$1" = "$2" ] || { echo "is '$1', wanted '$2'"; return 1; }; }

fails() { # COMMAND...: must fail with a message
	local out
	if out=$("$@" 2>&1); then
		echo "succeeded: $*"
		return 1
	fi
	[ -n "$out" ] || { echo "failed silently: $*"; return 1; }
}

# --- arguments --------------------------------------------------------------------------------------

nothing_left() {
	! ls -d /sys/kernel/config/emudisk/*/ 2>/dev/null && ! compgen -G "/dev/emudisk/*"
}

bad_arguments() {
	local args
	while read -r args; do
		# shellcheck disable=SC2086 # the words are meant
		fails emuctl add $args || return 1
		nothing_left || { echo "left behind: emuctl add $args"; return 1; }
	done <<-'EOF'
		x nosuch 1G
		x mem
		x mem 0
		x mem 1000
		x mem 1G5
		x mem 99999999999999999999
		x mem 1G nosuch=1
		x mem 1G lbs=1024
		x mem 1G lbs
		x mem 1G cache=maybe
		x mem 1G read_lat=1y
		x mem 1G dilate=0
		x mem 1G rpm=7200
		x mem 1G stall=1
		x hdd7200 1G rpm=1
		x hdd7200 1G elevator=up
		.x mem 1G
		a/b mem 1G
		a!b mem 1G
		a23456789012345678901234 mem 1G
	EOF
}

bad_set() {
	emuctl add x mem 1M || return 1
	fails emuctl set x read_lat=50us write_lat=1y || return 1
	is "$(emuctl list x --json | grep -c '"read_lat": 10000')" 1 || return 1
	fails emuctl set x lbs=4096 && fails emuctl set x wcache=1M && fails emuctl set y stall=1 &&
		fails emuctl add x mem 1M && fails emuctl cut x --keep some && fails emuctl cut x --tear &&
		fails emuctl del y && fails emuctl record mark no && fails emuctl record replay &&
		fails emuctl record stop
}

every_model() {
	local m
	for m in $(emuctl models | cut -d ' ' -f 1); do
		emuctl add "m-$m" "$m" 1G && put "m-$m" 7 4 4 && holds "m-$m" 7 4 4 || return 1
	done
}

unload() {
	emuctl add u mem 1M && fails rmmod emudisk || return 1
	emuctl del --all && rmmod emudisk && emuctl list >/dev/null
}

# --- content ----------------------------------------------------------------------------------------

# Many requests at a time, of several sizes, on all of the disks at once; read back.
queued() {
	local jobs=() lbs cache
	for lbs in 512 4096; do
		for cache in none through volatile; do
			jobs+=(--name="c$lbs$cache" --filename="$(dev "c$lbs$cache")" --bsrange="$lbs-64k" --blockalign="$lbs")
		done
	done
	fio --rw=randwrite --size=4M --direct=1 --ioengine=libaio --iodepth=8 --verify=crc32c --randseed="$seed" \
		--allrandrepeat=1 --thread --minimal "${jobs[@]}" >/dev/null
}

content() { # LBS CACHE
	emuctl add "c$1$2" mem 64M lbs="$1" cache="$2" || return 1
	is "$(blockdev --getss "$(dev "c$1$2")")" "$1" || return 1
	against_model "c$1$2" "$1" || return 1
	blkdiscard "$(dev "c$1$2")" && holds "c$1$2" 0 0 1024
}

sparse() {
	emuctl add big nvme 20T || return 1
	put big 9 $((19 * 1024 * 1024 * 1024)) 4 && holds big 9 $((19 * 1024 * 1024 * 1024)) 4 &&
		holds big 0 $((10 * 1024 * 1024 * 1024)) 64 || return 1
	[ "$(json big memory)" -le 8192 ] || return 1
	mkfs.ext4 -q -F -E lazy_itable_init=1,lazy_journal_init=1 "$(dev big)" 64G || return 1
	e2fsck -fn "$(dev big)" >/dev/null || return 1
	blkdiscard -f "$(dev big)" || return 1
	is "$(json big memory)" 0
}

zeroes_unallocated() {
	emuctl add z mem 16M && put z 0 0 1024 && is "$(json z memory)" 0
}

misaligned() {
	emuctl add al mem 1M lbs=4096 || return 1
	fails dd if=/dev/zero of="$(dev al)" bs=512 count=1 oflag=direct
}

# --- power cuts -------------------------------------------------------------------------------------

cut_pair() { # KEEP...: a flushed 1, an unflushed 2 over it
	emuctl del --all --force
	emuctl add v mem 16M cache=volatile && put v 1 0 64 && flush v && put v 2 0 64 && put v 3 128 64 &&
		holds v 2 0 64 && emuctl cut v "$@" && fails holds v 2 0 64 && emuctl power v on
}

cut_none() { cut_pair --keep none && holds v 1 0 64 && holds v 0 128 64; }
cut_all() { cut_pair --keep all && holds v 2 0 64 && holds v 3 128 64; }

cut_random() {
	local s kept=0 lost=0 got
	for s in 1 2 3 4 5 6 7 8; do
		cut_pair --keep random --seed $((seed + s)) || return 1
		got=
		if holds v 2 0 64 >/dev/null; then
			got+=2
		elif holds v 1 0 64 >/dev/null; then
			got+=1
		else
			echo "torn without --tear"
			return 1
		fi
		if holds v 3 128 64 >/dev/null; then got+=3; else holds v 0 128 64 || return 1; fi
		case $got in *3) kept=1 ;; *) lost=1 ;; esac
		[ $kept$lost != 11 ] || return 0
	done
	is $kept$lost 11 # in 8 seeds
}

cut_repeats() { # the same seed makes the same state
	local a b
	cut_pair --keep random --tear --seed "$seed" || return 1
	a=$(md5sum <"$(dev v)")
	cut_pair --keep random --tear --seed "$seed" || return 1
	b=$(md5sum <"$(dev v)")
	is "$a" "$b"
}

cut_torn() {
	cut_pair --keep random --tear --seed "$seed" || return 1
	python3 - "$(dev v)" <<-'EOF'
		import sys
		data = open(sys.argv[1], "rb").read(65536)
		kinds = set()
		for i in range(0, 65536, 512):
		    block = set(data[i:i + 512])
		    if len(block) != 1 or not block <= {1, 2}:
		        sys.exit(f"block {i // 512} holds {block}")
		    kinds |= block
		sys.exit(0 if kinds == {1, 2} or kinds == {1} else f"holds {kinds}")
	EOF
}

tear_happens() {
	local s
	for s in 1 2 3 4 5 6 7 8 9 10 11 12; do
		cut_pair --keep random --tear --seed $((seed + s)) || return 1
		if ! holds v 1 0 64 >/dev/null && ! holds v 2 0 64 >/dev/null; then
			return 0
		fi
	done
	echo "never torn in 12 seeds"
	return 1
}

put_fua() { # O_DSYNC sends a FUA write and a flush; without the latter it is FUA alone
	emuctl set "$1" fail=flush && fails put "$@" dsync && emuctl set "$1" fail=none
}

cut_fua() {
	emuctl add f mem 16M cache=volatile && put f 1 0 4 && put_fua f 2 64 4 && emuctl cut f &&
		emuctl power f on && holds f 2 64 4 && holds f 0 0 4
}

fua_order() { # an older write must not come back over a newer FUA one
	emuctl add fo mem 16M cache=volatile && put fo 1 0 4 && put_fua fo 2 0 4 &&
		emuctl cut fo --keep all && emuctl power fo on && holds fo 2 0 4
}

discard_volatile() {
	emuctl add dv mem 16M cache=volatile && put dv 5 0 64 && flush dv &&
		blkdiscard -o 0 -l 32768 "$(dev dv)" && holds dv 0 0 32 && emuctl cut dv && emuctl power dv on &&
		holds dv 5 0 64
}

flush_of_another() {
	emuctl add p mem 16M cache=volatile && emuctl add q mem 16M cache=volatile && put p 1 0 4 && put q 1 0 4 &&
		flush p && emuctl cut --all && emuctl power --all on && holds p 1 0 4 && holds q 0 0 4
}

in_flight() { # RESULT CACHE KEEP: a write held in the device when the power goes
	emuctl del --all --force
	emuctl add i mem 16M cache="$2" && emuctl set i stall=1 || return 1
	apart put i 4 0 4 2>/dev/null &
	local writer=$!
	until [ "$(json i inflight)" = 1 ]; do :; done
	emuctl cut i --keep "$3" || return 1
	wait $writer && { echo "the write succeeded"; return 1; }
	emuctl set i stall=0 power=on && holds i "$1" 0 4
}

flush_covers_completed() { # a write still under way when the flush was submitted is not covered
	python3 - "$(dev fc)" <<-'EOF'
		import ctypes, mmap, os, subprocess, sys, threading, time
		subprocess.check_call(["emuctl", "add", "fc", "mem", "16M", "cache=volatile",
		                       "write_lat=3s", "flush=1ms"])
		fd = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
		buf = mmap.mmap(-1, 4096)
		buf[:] = b"\1" * 4096
		t = threading.Thread(target=lambda: os.pwrite(fd, buf, 0))
		t.start()
		def inflight():
		    return subprocess.run("emuctl list fc --json | grep -q '\"inflight\": 1'", shell=True).returncode == 0
		while not inflight():
		    pass
		# SSD flushes wait for the writes before them: the clock is what stands between
		f = threading.Thread(target=lambda: os.fsync(fd))
		f.start()
		t.join()
		f.join()
		os.close(fd)
		subprocess.check_call(["emuctl", "cut", "fc"])
		subprocess.check_call(["emuctl", "power", "fc", "on"])
		data = os.pread(os.open(sys.argv[1], os.O_RDONLY), 4096, 0)
		sys.exit(0 if data == bytes(4096) else "a flush covered a write that was under way")
	EOF
}

cache_bounded() {
	emuctl add cb mem 64M cache=volatile cache_size=1M && put cb 6 0 4096 && put cb 7 8192 2048 &&
		put cb 8 12288 4 && [ "$(json cb unflushed)" -le 2200000 ] && emuctl cut cb && emuctl power cb on &&
		holds cb 6 0 4096
}

ext4_survives() {
	mkdir -p "$work/m"
	emuctl add e mem 256M cache=volatile && mkfs.ext4 -q -F "$(dev e)" && mount "$(dev e)" "$work/m" || return 1
	dd if=/dev/urandom of="$work/m/kept" bs=64k count=8 conv=fsync status=none
	local sum
	sum=$(md5sum <"$work/m/kept")
	dd if=/dev/urandom of="$work/m/lost" bs=64k count=64 status=none
	emuctl cut e --keep random --seed "$seed"
	umount "$work/m"
	emuctl power e on && mount "$(dev e)" "$work/m" || return 1
	is "$(md5sum <"$work/m/kept")" "$sum"
	local status=$?
	umount "$work/m" && e2fsck -fn "$(dev e)" >/dev/null && return $status
}

# --- recorder ---------------------------------------------------------------------------------------

recorder() {
	emuctl del --all --force
	emuctl add r1 mem 16M cache=volatile && emuctl add r2 mem 16M cache=volatile && emuctl add r3 mem 16M &&
		put r1 1 0 4 && put r2 1 0 4 && put r3 1 0 4 && emuctl record start >"$work/start" || return 1
	put r1 2 0 4 && put r2 2 0 4 && put r3 2 0 4 && emuctl record mark "before flush" >"$work/m1" &&
		flush r1 && emuctl record mark "after flush" >"$work/m2" && put r1 3 0 4 && put_fua r2 3 8 4 &&
		blkdiscard -o 0 -l 4096 "$(dev r3)" && emuctl record mark end >"$work/m3" &&
		fails emuctl cut r1 && fails emuctl record replay && emuctl record stop >/dev/null
}

at() { # FILE KEEP...
	local to
	to=$(cat "$work/$1")
	shift
	emuctl record replay --to "$to" "$@"
}

replay_start() { at start && holds r1 1 0 4 && holds r2 1 0 4 && holds r3 1 0 4; }
replay_m1_none() { at m1 && holds r1 1 0 4 && holds r2 1 0 4 && holds r3 2 0 4; }
replay_m1_all() { at m1 --keep all && holds r1 2 0 4 && holds r2 2 0 4 && holds r3 2 0 4 && holds r2 0 8 4; }
replay_m2_none() { at m2 && holds r1 2 0 4 && holds r2 1 0 4; }
replay_m3_none() { at m3 && holds r1 2 0 4 && holds r2 1 0 4 && holds r2 3 8 4 && holds r3 0 0 4; }
replay_end_all() { emuctl record replay --keep all && holds r1 3 0 4 && holds r2 2 0 4 && holds r2 3 8 4; }

replay_undoes_recovery() {
	at m2 && put r1 99 0 4 && put r1 99 1024 64 && flush r1 && put r3 99 512 4 && at m2 && holds r1 2 0 4 &&
		holds r1 0 1024 64 && holds r3 0 512 4
}

replay_then_cut() { # what was replayed is durable
	at m1 --keep all && emuctl cut --all && emuctl power --all on && holds r1 2 0 4 && holds r2 2 0 4
}

replay_busy() {
	exec 7<"$(dev r1)"
	fails emuctl record replay
	local status=$?
	exec 7<&-
	return $status
}

log_listed() {
	emuctl record list --json | python3 -c '
import json, sys
log = json.load(sys.stdin)
ops = [e["op"] for e in log["events"]]
assert ops == ["write"] * 3 + ["mark", "flush", "mark", "write", "write", "discard", "mark"], ops
e = log["events"]
assert [x["seq"] for x in e] == sorted(x["seq"] for x in e)
assert all(x["done"] >= x["seq"] > log["start"] for x in e) and log["end"] > e[-1]["done"]
assert e[7]["flags"] == ["fua"] and e[7]["dev"] == "r2" and e[7]["sector"] == 16 and e[7]["sectors"] == 8
assert e[5]["text"] == "after flush" and e[8]["dev"] == "r3", e
'
}

del_recorded() { fails emuctl del r1; }

record_again() {
	emuctl record clear && emuctl record start >/dev/null && put r1 4 0 4 && emuctl record stop >/dev/null &&
		emuctl record replay --keep all && holds r1 4 0 4 && emuctl record clear
}

many_replays() { # a file system under a recorder, hundreds of points
	emuctl del --all --force
	emuctl record clear
	emuctl add j mem 64M cache=volatile && mkfs.ext4 -q -F "$(dev j)" && mkdir -p "$work/j" &&
		emuctl record start >/dev/null && mount "$(dev j)" "$work/j" || return 1
	for i in $(seq 20); do
		echo "$i" >"$work/j/f$i"
		sync "$work/j/f$i"
		emuctl record mark "$i" >>"$work/marks"
	done
	umount "$work/j" && emuctl record stop >/dev/null || return 1
	local begin=$SECONDS seqs s last i
	seqs=$(emuctl record list --json | python3 -c '
import json, sys
e = json.load(sys.stdin)["events"]
print(*sorted({x["done"] for x in e if x["done"]})[::2])')
	for s in $seqs; do
		echo "replay to=$s keep=random tear=1 seed=$((seed + s))" >/sys/kernel/config/emudisk/record || return 1
	done
	echo "$(wc -w <<<"$seqs") replays in $((SECONDS - begin)) s"
	i=0
	while read -r s; do
		i=$((i + 1))
		[ $((i % 5)) -eq 0 ] || continue
		emuctl record replay --to "$s" --keep random --seed $((seed + s)) &&
			mount "$(dev j)" "$work/j" || return 1
		last=$(cat "$work/j/f$i")
		umount "$work/j"
		is "$last" "$i" || return 1
	done <"$work/marks"
	emuctl record clear
}

# --- errors, stalls ---------------------------------------------------------------------------------

inject() {
	emuctl add x mem 16M cache=volatile && emuctl set x fail=read && fails holds x 0 0 4 && put x 1 0 4 &&
		emuctl set x fail=write && holds x 1 0 4 && fails put x 2 0 4 && holds x 1 0 4 &&
		emuctl set x fail=none && put x 2 0 4 && holds x 2 0 4
}

inject_range() {
	emuctl set x fail=all fail_range=2048+8 && holds x 0 1028 4 && fails holds x 0 1024 4 && put x 3 1028 4 &&
		fails put x 3 1024 4 && flush x && emuctl set x fail=none fail_range=0+0 && holds x 0 1024 4
}

inject_after() {
	emuctl set x fail=write fail_after=2 && put x 1 0 4 && put x 1 8 4 && fails put x 1 16 4 &&
		emuctl set x fail=none fail_after=0
}

failed_flush() { # makes nothing durable
	put x 1 64 4 && flush x && put x 2 64 4 && emuctl set x fail=flush && fails flush x && emuctl cut x &&
		emuctl set x fail=none power=on && holds x 1 64 4
}

stalled() {
	emuctl set x stall=1 || return 1
	apart put x 8 0 4 &
	local writer=$!
	until [ "$(json x inflight)" = 1 ]; do :; done
	kill -0 $writer && emuctl set x stall=0 && wait $writer && holds x 8 0 4
}

del_open() {
	exec 7<"$(dev x)"
	fails emuctl del x
	local status=$?
	exec 7<&-
	[ $status = 0 ] && emuctl del x && [ ! -e "$(dev x)" ]
}

del_stalled() {
	emuctl add s mem 1M && emuctl set s stall=1 || return 1
	apart put s 1 0 4 2>/dev/null &
	until [ "$(json s inflight)" = 1 ]; do :; done
	emuctl del s --force && ! wait $!
}

counted() {
	emuctl add st mem 16M cache=volatile || return 1
	local reads
	reads=$(json st reads)
	put st 1 0 8 && put st 1 8 8 && holds st 1 0 16 && flush st && blkdiscard -o 0 -l 4096 "$(dev st)" &&
		is "$(json st writes)" 2 && is "$(json st write_sectors)" 32 && is "$(json st flushes)" 1 &&
		is "$(json st discards)" 1 && [ "$(json st reads)" -gt "$reads" ] && is "$(json st inflight)" 0 &&
		[ "$(json st busy_ns)" -gt 0 ]
}

parallel() { # several writers, readers, cuts at once: for lockdep and KASAN
	local i
	emuctl del --all --force
	for i in 1 2 3; do emuctl add "w$i" mem 16M cache=volatile cache_size=256K || return 1; done
	for i in 1 2 3; do
		fio --name="w$i" --filename="$(dev "w$i")" --rw=randrw --bsrange=512-64k --blockalign=512 --size=16M \
			--io_size=4M --direct=1 --ioengine=libaio --iodepth=16 --fsync=8 --numjobs=2 \
			--randseed="$seed" --continue_on_error=all --output-format=terse >/dev/null 2>&1 &
	done
	for i in $(seq 10); do
		emuctl cut --all --keep random --tear --seed $((seed + i)) && emuctl power --all on || return 1
		emuctl set w1 dilate=2 stall=1 && emuctl set w1 stall=0 dilate=1 || return 1
	done
	wait
	is "$(json w1 inflight)$(json w2 inflight)$(json w3 inflight)" 000
}

ok "bad arguments are refused and leave nothing" bad_arguments
ok "bad settings are refused, all or none" bad_set
reset
ok "every model holds data" every_model
ok "unloading is refused with devices, works without" unload
for lbs in 512 4096; do
	for cache in none through volatile; do
		ok "content with lbs=$lbs cache=$cache" content $lbs $cache
	done
done
ok "many requests in flight, verified" queued
ok "20 TiB are sparse, discard frees" sparse
ok "zeroes take no memory" zeroes_unallocated
ok "requests below the logical block are refused" misaligned
reset
ok "cut --keep none: only what was flushed" cut_none
ok "cut --keep all: everything completed" cut_all
ok "cut --keep random: each write whole or not at all" cut_random
ok "cut --tear: by logical blocks" cut_torn
ok "cut --tear does tear" tear_happens
ok "cut: one seed, one result" cut_repeats
ok "FUA is durable by itself" cut_fua
ok "an older write does not return over a FUA one" fua_order
ok "a discard is volatile too" discard_volatile
ok "a flush is of its device alone" flush_of_another
ok "in flight, cache=volatile, keep none: lost" in_flight 0 volatile none
ok "in flight, cache=volatile, keep all: there" in_flight 4 volatile all
ok "in flight, cache=through, keep none: lost" in_flight 0 through none
ok "in flight, cache=through, keep all: there" in_flight 4 through all
ok "a flush covers what completed before it was submitted" flush_covers_completed
ok "the volatile cache is bounded" cache_bounded
ok "ext4 keeps what was fsynced over a cut" ext4_survives
reset
ok "recording" recorder
ok "the log lists what happened" log_listed
ok "recorded devices are not deleted" del_recorded
ok "replay to the start" replay_start
ok "replay before the flush, keep none" replay_m1_none
ok "replay before the flush, keep all" replay_m1_all
ok "replay after the flush, keep none" replay_m2_none
ok "replay to the end, keep none" replay_m3_none
ok "replay without --to, keep all" replay_end_all
ok "replay goes back again" replay_m1_none
ok "replay undoes writes since the last replay" replay_undoes_recovery
ok "what was replayed is durable" replay_then_cut
ok "replay is refused while a device is open" replay_busy
ok "clear, record and replay again" record_again
ok "many replays of a file system" many_replays
reset
ok "errors by direction" inject
ok "errors by range" inject_range
ok "errors after N" inject_after
ok "a failed flush makes nothing durable" failed_flush
ok "stall and go on" stalled
ok "deleting an open device is refused" del_open
ok "deleting a stalled device fails its requests" del_stalled
ok "statistics" counted
ok "parallel I/O under cuts and stalls" parallel
reset
ok "unloading in the end" unload

echo "1..$n"
echo "# $((n - failed)) of $n passed, seed $seed"
exec 5>&- 6<&-
rm -rf "$work"
[ "$failed" = 0 ]
