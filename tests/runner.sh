#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: tests/run, tests/mutants/run, tests/coverage and the examples' judge: what they draw, repeat and take for an answer
# quick: yes
# timeout: 120
# No machine boots and nothing is built: they are in a tree of their own, where scripts/vm and the suites are empty ones that
# say what they are told to.
set -u
cd "$(dirname "$(dirname "$(readlink -f "$0")")")" || exit
top=$PWD tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{scripts,src,tests/{vm,mutants},tools,drivers/lib}
cp tests/run tests/coverage "$tree/tests/"
cp tests/mutants/run "$tree/tests/mutants/"
echo "all:" >"$tree/tests/Makefile"
unset EVENKEEL_SEED EVENKEEL_COVERAGE
n=0 failed=0
echo "KTAP version 1"

# judge TITLE STATUS-OF-WHAT-WAS-ASKED [OUTPUT]
judge() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/# /' "$tree/out"
		failed=1
	fi
}

# says TITLE REGEX..., lacks TITLE REGEX: lines of what ran last
says() {
	local regex r=0
	for regex in "${@:2}"; do grep -Eqx -- "$regex" "$tree/out" || { r=1; echo "# no line: $regex" >>"$tree/out"; }; done
	judge "$1" $r
}
lacks() { ! grep -Eq -- "$2" "$tree/out"; judge "$1" $?; }

# suite NAME SECONDS KERNELS [APPEND]
suite() {
	printf '#!/bin/sh\n# title: empty\n# timeout: %s\n# kernels: %s\n# append: %s\n' "$2" "$3" "${4:-}" >"$tree/tests/vm/$1.sh"
	chmod +x "$tree/tests/vm/$1.sh"
}

# A machine: its kernel and its suites go to the list of those that there were. The first that runs dies.sh ends by a
# breakpoint; in the second or later one leaks.sh leaks.
cat >"$tree/scripts/vm" <<'EOF'
#!/bin/bash
[ "$1" = --kernel ] && kernel=$2
while [ "$1" != --mark ]; do shift; done
mark=$2
shift 4
said="$kernel:"
args=("$@")
while [ $# -gt 0 ]; do s=${1##*/}; said+=" ${s%.sh}"; shift 2; done
echo "$said" >>machines
set -- "${args[@]}"
while [ $# -gt 0 ]; do
	echo "$mark begin $1"
	if [[ $1 == */dies.sh ]] && ! grep -q "^$kernel$" died 2>/dev/null; then
		echo "$kernel" >>died
		echo "vm: complaint in the kernel log: int3: 0000 [#1] SMP; kernel log: none" >&2
		exit 99
	fi
	[[ $1 != */leaks.sh ]] || [ "$(grep -c "^$kernel: .*\<leaks" machines)" = 1 ] || echo "$mark problem $1 kmemleak found something"
	printf 'ok 1 - fine\n1..1\n%s end %s 0\n' "$mark" "$1"
	shift 2
done
EOF
chmod +x "$tree/scripts/vm"

# run OPTION...: tests/run in the tree
run() {
	rm -f "$tree/machines" "$tree/died"
	"$tree/tests/run" --suites tests/vm --jobs 1 "$@" >"$tree/out" 2>&1
}
machines() { paste -sd, "$tree/machines" | tee -a "$tree/out"; }

# --- a breakpoint that was gone
suite fine 40 "6.1 debug"
suite leaks 30 "6.1 debug"
suite dies 20 "6.1 debug"
suite last 10 "6.1 debug"
run --kernel debug
[ "$(machines)" = "debug: fine leaks dies last,debug: dies last,debug: fine leaks" ]
judge "what passed before it is run again where there is kmemleak" $?
says "which then has the last word" '# FAILED: tests/vm/leaks.sh \[debug\]: kmemleak found something' '4 passed, 1 failed, 0 skipped'
run --kernel debug --spare 0
[ "$(machines)" = "debug: fine leaks dies last,debug: dies last" ]
judge "not when the time is up" $?
says "and then it has passed" ' +# no time was left to look for leaks' '# not looked at for leaks: tests/vm/fine.sh \[debug\]' '4 passed, 0 failed, 0 skipped'
run --kernel 6.1
[ "$(machines)" = "6.1: fine leaks dies last,6.1: dies last" ]
judge "nor where there is none" $?
says "and all is well" '4 passed, 0 failed, 0 skipped'

# --- where the time went
suite mem2m_hybrid 40 6.1
run --kernel 6.1
says "what each module took is told, by the first in a suite's name" '# minutes by module' '# all of them +[0-9.]+' '# mem2m +[0-9.]+'
lacks "and none of a module without a suite" '^# (hybrid|scmfs|nameless) +[0-9]'

# --- what comes last
rm "$tree"/tests/vm/*.sh
for s in a b c d e f g h; do suite $s 30 "6.1 debug" $s; done
suite names 30 "debug 6.12" i
drawn=0 all='' late=''
for seed in 1 2 3 4; do
	run --spare 1000 --seed $seed
	spare=$(sed -n '10,${s/^debug: //p}' "$tree/machines")
	[ "$(sort <<<"$spare")" = "$spare" ] || drawn=$((drawn + 1))
	all+=$(sort "$tree/machines" | paste -sd,)$'\n'
	# of the spare ones, which come behind nine others, none of the debug kernel's is behind another's
	late+=$(tail -n +10 "$tree/machines" | cut -d: -f1 | uniq | paste -sd,)$'\n'
done
cp "$tree/machines" "$tree/out"
[ $drawn = 4 ]
judge "the order of what may be left out is drawn" $?
[ "$(sort -u <<<"${all%$'\n'}" | wc -l)" = 1 ]
judge "and nothing is left out when there is time" $?
! grep -vxE 'debug(,6\.[0-9]+)+' <<<"${late%$'\n'}"
judge "the debug kernel's machines come first among these" $?
kept=0
for seed in 1 2 3 4; do
	run --spare 0 --seed $seed
	! grep -qx 'debug: names' "$tree/machines" || kept=$((kept + 1))
done
[ $kept = 4 ]
judge "one that names the debug kernel first always meets it" $?

# --- mutants
suite suite 30 6.1
echo 'check "it is right"; check "another"' >>"$tree/tests/vm/suite.sh"
echo "int how = FINE;" >"$tree/src/a.c"
echo "/build" >"$tree/.gitignore"
git -C "$tree" init -q
mv "$tree/tests/run" "$tree/tests/run.real"
cat >"$tree/tests/run" <<'EOF'
#!/bin/bash
echo "KTAP version 1"
problem() { printf '    # PROBLEM: %s\n' "$1"; }
how=$(<src/a.c)
case $how in
*FINE*) echo "    ok 1 - it is right"; echo "ok 1 vm/suite.sh [6.1]: empty # 1 s"; exit ;;
*RED*) echo "    not ok 1 - it is right" ;;
*OTHER*) echo "    not ok 1 - another" ;;
*BUILD*) echo "    # vm: the build failed"; problem "the machine did not run it (status 125)" ;;
*GONE*) problem "its machine ended (status 125)" ;;
*BREAK*) echo "    ok 1 - it is right"; problem "the machine stopped: complaint in the kernel log: int3: 0000 [#1]" ;;
*WARN*) echo "    ok 1 - it is right"; problem "complaint in the kernel log: WARNING: CPU: 0" ;;
esac
echo "not ok 1 vm/suite.sh [6.1]: empty # 1 s"
exit 1
EOF
chmod +x "$tree/tests/run"
mutate() { printf 'mutant %s\nwhy of course\nfile src/a.c\n- FINE\n+ %s\nkill run vm/suite.sh%s\n\n' "$1" "$2" "${3:+ $3}"; }
{
	mutate red RED
	mutate titled RED "it is right"
	mutate other OTHER "it is right"
	mutate untitled OTHER
	mutate unbuilt BUILD
	mutate gone GONE
	mutate breakpoint BREAK
	mutate warns WARN
	mutate fine "FINE "
} >"$tree/tests/mutants/list"
"$tree/tests/mutants/run" --alone >"$tree/out" 2>&1
says "a mutant is killed by a test that goes red, or by what the kernel says" 'ok [0-9]+ - red: killed by .*' 'ok [0-9]+ - titled: killed by .*' \
	'ok [0-9]+ - untitled: killed by .*' 'ok [0-9]+ - warns: killed by .*'
says "not by a test of another title" 'not ok [0-9]+ - other: ERROR'
says "nor by not being built" 'not ok [0-9]+ - unbuilt: ERROR'
says "nor by a machine that ends without a word, or by the emulator" 'not ok [0-9]+ - gone: ERROR' 'not ok [0-9]+ - breakpoint: ERROR'
says "and one that nothing notices has survived" 'not ok [0-9]+ - fine SURVIVED.*' '5 passed, 5 failed, 0 skipped'
says "the suite was green without one" 'ok 1 - vm/suite.sh is green as it is .*'
sed -i 's/FINE/OTHER/' "$tree/src/a.c"
mutate red RED | sed 's/FINE/OTHER/' >"$tree/tests/mutants/list"
"$tree/tests/mutants/run" --alone >"$tree/out" 2>&1
says "if it is not nothing can be said" 'not ok 1 - vm/suite.sh is green as it is .*' '# the tests are not green on the tree as it is.*'
lacks "and nothing is" 'killed'
"$tree/tests/mutants/run" --alone --no-baseline >"$tree/out" 2>&1
says "but for who knows that it is" 'ok 1 - red: killed by .*'

# Many in one machine
cat >"$tree/scripts/vm" <<'EOF'
#!/bin/bash
echo "KTAP version 1"
echo "vm: complaint in the kernel log: $(<complaint); kernel log: none"
exit 99
EOF
cat >"$tree/ask.py" <<'EOF'
import importlib.machinery, importlib.util, io, os, sys, types
def load(path):
    sys.argv, sys.dont_write_bytecode = [path], True
    loader = importlib.machinery.SourceFileLoader("it", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("it", loader))
    loader.exec_module(module)
    return module
if sys.argv[1] == "machine":
    run = load("tests/mutants/run")
    run.TREE, run.build_module.build = os.getcwd(), types.SimpleNamespace(top="")
    print([verdict for _, verdict, _ in run.run_machine("vm/suite.sh", ["one"], {"one": ""}, io.StringIO())])
else:
    page, judge = sys.argv[2], load(sys.argv[1])
    judge.TOP = os.getcwd()
    print(judge.unmarked(page))
EOF
for complaint in "int3: 0000 [#1] SMP" "BUG: KASAN"; do
	echo "$complaint" >"$tree/complaint"
	(cd "$tree" && python3 ask.py machine) >>"$tree/out.machine" 2>&1
done
mv "$tree/out.machine" "$tree/out"
[ "$(paste -sd, "$tree/out")" = "[None],['red']" ]
judge "a machine that the emulator ended says nothing of a mutant, one whose kernel complained does" $?

# --- reasons of tests/coverage
printf 'static int well(void)\n{\n\treturn 1;\n}\n\nint *known_too(void)\n' >"$tree/drivers/lib/a.c"
printf '%s\t%s\t%s\tbecause\n' drivers/lib/a.c well "return 1|none" drivers/lib/a.c 'known_*' '' drivers/lib/a.c '*' '' >"$tree/tests/coverage.reasons"
"$tree/tests/coverage" --check >"$tree/out" 2>&1 && [ ! -s "$tree/out" ]
judge "reasons for what is there" $?
printf '%s\t%s\t%s\tbecause\n' drivers/lib/b.c well '' drivers/lib/a.c gone '' drivers/lib/a.c well "return 2" >"$tree/tests/coverage.reasons"
! "$tree/tests/coverage" --check >"$tree/out" 2>&1
judge "reasons for what is not are refused" $?
says "each by what is missing" '.*b.c well : no such file' '.*a.c gone : no such function' '.*a.c well return 2: no such line'

# --- examples of Markdown
cat >"$tree/page.md" <<'EOF'
Text.

<!-- example: use -->
```sh
hybridctl list
```

<!-- not run: it is known -->

    make
    dmsetup create known

    dmsetup create more

Text:

    make
    dmsetup create unknown

```
mount unknown
```
    modprobe is no block here
EOF
(cd "$tree" && python3 ask.py "$top/tests/vm/docs_examples.py" page.md) >"$tree/out" 2>&1
says "a command in Markdown that nothing runs, and nothing is said of, is found" "\\['dmsetup create unknown', 'mount unknown'\\]"
echo "1..$n"
exit $failed
