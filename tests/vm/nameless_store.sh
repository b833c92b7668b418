#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: a store of files on names: imported, churned, leveled, cut at many points; what is exported is one of two trees
# kernels: 6.1 6.12
# timeout: 120
. tests/vm/lib.sh

modprobe nameless || die "no nameless"
d=/dev/nameless
conf=/sys/kernel/config/nameless
# shellcheck disable=SC2034 # in what is evaluated
quick="t_read=0 t_program=0 t_erase=0 t_bus_control=0 t_bus_data=0 t_ram=0 t_register=0"
# On a file system whose times tell of changes, which tmpfs' don't.
tree=/tmp/disk/tree back=/tmp/back

stat_of() {
	local key value
	while read -r key value; do [ "$key" != "$1" ] || { echo "$value"; return; }; done <"$conf/a/stat"
	return 1
}

# All that a store keeps of a folder.
manifest() {
	(cd "$1" && find . -type d -printf '%p %y %m %U %G %T@\n' -o -printf '%p %y %m %U %G %T@ %n %s %l\n' | sort &&
		find . -type f -print0 | sort -z | xargs -0 md5sum &&
		find . \( -type b -o -type c \) -exec stat -c '%n %t:%T' {} + | sort)
}

# remember NAME: what the tree is now
remember() { manifest $tree >"/tmp/is.$1"; }
# is_now NAME: is what was exported that?
is_now() { diff "/tmp/is.$1" /tmp/is.back; }

exported() {
	rm -rf $back
	nlstore export a $back && manifest $back >/tmp/is.back
}

# comes_back TITLE [NAME]: the tree, or what it was
comes_back() {
	[ $# = 2 ] || remember now
	check "$1" eval "exported && is_now ${2:-now}"
}

# No block is there that is not in the tree, and each is what it was.
whole() {
	check "$1: nothing is left over, nothing damaged" eval '
		nlstore tend a >/dev/null && nlstore verify a --json >/tmp/verify &&
		[ "$(json /tmp/verify blocks)" = "$(stat_of valid)" ] && [ "$(json /tmp/verify orphans)" = 0 ]'
}

# change SEED: some files are other ones, some gone, some new, some longer
change() {
	local n i f files
	mapfile -t files < <(find $tree -name '*.[ch]' | sort)
	n=${#files[@]}
	for ((i = 0; i < 12; i++)); do
		f=${files[($1 * 7 + i * 13) % n]}
		case $(((i + $1) % 4)) in
		0) echo "$1 $i" >>"$f" ;;
		1) printf '%05000d' "$1" | dd of="$f" bs=1000 seek=3 conv=notrunc 2>/dev/null ;;
		2) rm -f "$f" ;;
		3) mkdir -p "$tree/new/$1" && head -c $((i * 3000)) /dev/urandom >"$tree/new/$1/$i.c" ;;
		esac
	done
}

# into_mapping BYTE: into the first one of the file that somebody has mapped
into_mapping() { echo "$1" >&"${mapper[1]}" && read -r -t 30 <&"${mapper[0]}"; }
map_file() {
	coproc mapper { exec python3 -uc 'import mmap, sys
with open(sys.argv[1], "r+b") as f:
    data = mmap.mmap(f.fileno(), 0)
for line in sys.stdin:
    data[:1] = line[:1].encode()
    print()' "$1"; }
	mapper_pid=$!
}

emuctl add t mem 64M && mkfs.ext4 -q /dev/emudisk/t && mkdir /tmp/disk && mount /dev/emudisk/t /tmp/disk || die "no file system"
check "a nameless device" eval 'nlctl create a 12M --ftl nameless packages=4 pages=16 wear=100% wear_at=0 endurance=10000 \
	moves=48 buffer=64 gc_idle=0 $quick && wait_for 10 test -c $d/a:names'
check_fails "without a store" "there is no store" nlstore list a
check "one is made" nlstore format a
check_fails "but not over another" "something already" nlstore format a
mkdir -p $tree/deep/er/and/deeper
cp -a drivers/nameless include/uapi $tree
ln -s ../nowhere $tree/deep/link
ln $tree/nameless/io.c $tree/deep/io.c
mkfifo -m 640 $tree/deep/fifo
truncate -s 3000000 $tree/deep/er/sparse
echo end >>$tree/deep/er/sparse
: >$tree/deep/empty
echo odd >"$tree/deep/ a name"$'\n'"of two lines"
mknod $tree/deep/null c 1 3
chown 12:34 $tree/deep/empty && chmod 4711 $tree/deep/empty
touch -t 199912312359.59 $tree/deep/er $tree/uapi
echo a file >$tree/deep/mapped
map_file $tree/deep/mapped
check "somebody stores into a file that he has mapped" into_mapping A
check "a tree is imported" nlstore import a $tree
comes_back "and comes back as it was"
check_fails "not into a folder that holds something" "is not empty" nlstore export a $tree
mkdir -m 777 /tmp/theirs && chown 12 /tmp/theirs
check_fails "nor into somebody else's" "somebody else's" nlstore export a /tmp/theirs
whole "at first"
sleep_until=$(($(date +%s) + 2))
while [ "$(date +%s)" -lt $sleep_until ]; do nap 0.2; done
check "imported again" eval 'touch $tree/deep/empty && nlstore import a $tree >/dev/null && nlstore import a $tree --json >/tmp/again'
is "no block is written again" "$(json /tmp/again blocks_written)" 0
check "at most two files were even read" eval '(($(json /tmp/again files) - $(json /tmp/again unchanged) <= 2)) &&
	(($(json /tmp/again files) > 20))'
check "all are read when that is asked for" eval 'nlstore import a $tree --reread --json >/tmp/again'
is "and nothing is written" "$(json /tmp/again unchanged) $(json /tmp/again blocks_written)" "0 0"
check "he stores again" into_mapping B
check "which is imported" nlstore import a $tree
is "as any change is" "$(<$tree/deep/mapped)" "B file"
comes_back "and comes back"
eval "exec ${mapper[1]}>&-"
check "he goes" wait "$mapper_pid"
matches "it is listed" "$(nlstore list a)" $'link +[0-7]+.* nameless/io.c -> deep/io.c'
matches "each on one line" "$(nlstore list a)" 'deep/ a name\\012of two lines'
check "as JSON" eval 'nlstore list a --json >/tmp/list'
is "each path once" "$(grep -c '"path"' /tmp/list)" "$(find $tree -printf x | wc -c)"

check "a block of it is lost" build/tests/bin/names a - lose
check_fails "which is damage" "damaged" nlstore verify a
check "and told as missing" eval 'nlstore tend a --json >/tmp/tended'
is "one block" "$(json /tmp/tended missing)" 1
check "the same tree is imported" eval 'nlstore import a $tree --json >/tmp/again'
is "what is missing is written again" "$(json /tmp/again missing) $(json /tmp/again blocks_written)" "1 1"
whole "with that"
comes_back "and all of it comes back"

: >"$tree/deep/odd"$'\xff'
ln -s $'\xfe'there $tree/deep/odd
check "paths that are not UTF-8 are kept" nlstore import a $tree
check "and listed" eval 'nlstore list a --json >/tmp/list'
matches "without their text" "$(</tmp/list)" '"path": null,[^}]*"path_hex": "646565702f6f6464ff"'
matches "so are targets" "$(</tmp/list)" '"path": "deep/odd",[^}]*"target": null,[^}]*"target_hex": "fe7468657265"'

echo own >$tree/deep/listed
chmod 600 $tree/deep/listed
check "a file with an access control list" setfacl -m u:12:rw,g::- $tree/deep/listed
is "whose mode has the list's mask for the group" "$(stat -c %a $tree/deep/listed)" 660
check "is imported" nlstore import a $tree
matches "which says that the list is not kept" "$(<"$said")" 'nlstore: deep/listed: its access control list is not kept'
rm -rf $back
mkdir -m 755 $back
check "a folder that gives all that is made in it to somebody" setfacl -m u:12:rwx,d:u:12:rwx $back
check "gets the tree" nlstore export a $back
is "the group has what it had: nothing" "$(stat -c %a $back/deep/listed)" 600
is "and nobody is named there" "$(getfacl -Rcps $back)" ""
rm $tree/deep/listed

deepest=$tree/down
for ((level = 0; level < 1100; level++)); do deepest+=/d; done
check "a folder that is deeper than files may be open" eval 'mkdir -p $deepest && echo deep >$deepest/f && (ulimit -Sn 1024 && nlstore import a $tree)'
comes_back "is kept"
# busybox' goes no deeper than files may be open
/bin/rm -rf $tree/down $back

for round in 1 2 3; do
	change $round
	nlstore import a $tree >"$said" 2>&1 || not_ok "import $round" "$(<"$said")"
done
ok "changed and imported three times"
comes_back "the last tree is there"
whole "after that"
waiting=0
for ((round = 0; round < 40 && waiting < 24; round++)); do
	# far behind the catalogues
	blkio write $d/a $((10 << 11)) 4096 $round >/dev/null || break
	change $((100 + round))
	waiting=$(stat_of waiting)
	nlstore verify a --json >/tmp/verify
	nlstore import a $tree --json >/tmp/again 2>"$said" || not_ok "import $round" "$(<"$said")"
done
matches "blocks of it migrated meanwhile" "$(stat_of migrated)" '^[1-9][0-9]+$'
# By a commit before that of the tree.
check "half of those that may wait are not let wait for the end of an import" eval \
	'((waiting >= 24)) && (($(json /tmp/again generation) > $(json /tmp/verify generation) + 1))'
note "$(stat_of migrated) migrated, $(stat_of victims) collected, $(stat_of waiting) waiting"
comes_back "which no export notices"
whole "with migrations"
# The catalogue that has the new addresses is written itself, which may move others.
settled() { nlstore tend a >/dev/null && [ "$(stat_of waiting)" = 0 ]; }
check "all of them acknowledged, sooner or later" wait_for 120 settled

# cut_at N TEAR: while a change is imported; then there is the tree before or the one after
old=0 new=0
cut_at() {
	local status
	nlctl cut a --after "$1" --tear "$2"
	nlstore import a $tree >"$said" 2>&1
	status=$?
	nlctl power a on || return
	exported || { not_ok "cut at $1, $2: no export" "$(<"$said")"; return; }
	if is_now after >/dev/null; then
		new=$((new + 1))
	elif [ $status != 0 ] && is_now before >/dev/null; then
		old=$((old + 1))
	else
		not_ok "cut at $1, $2: a third thing" "status $status, $(<"$said")"
	fi
	return $status
}
at=1
for round in {1..24}; do
	remember before
	nlstore import a $tree >"$said" 2>&1 || not_ok "import $round" "$(<"$said")"
	change $((200 + round))
	remember after
	tears=(not error blank)
	if cut_at $at "${tears[round % 3]}"; then break; fi
	at=$((at + 1 + at / 4))
done
is "the power went at $round points while a change was imported: the tree is the old or the new one" "$failures" 0
note "$old times the old one, $new times the new one"
matches "mostly the old one" "$old" '^([4-9]|[1-9][0-9])$'
# what was not reached is not to come later
nlctl cut a
check "the tree of then is imported" nlstore import a $tree
comes_back "and is there"
whole "after the cuts"
check "every invariant of the device holds" nlctl check a

# The power goes and comes back at once, at any time; at least once in the middle.
hit=0
for round in {1..60}; do
	remember before
	change $((300 + round))
	head -c 800000 /dev/urandom >$tree/new/large
	remember after
	valid=$(stat_of valid)
	nlstore import a $tree >"$said" 2>&1 &
	while [ "$(stat_of valid)" = "$valid" ] && kill -0 $! 2>/dev/null; do :; done
	echo >$conf/a/cut	# without a process, for which the rest of an import may be too short
	wait $! && status=0 || status=$?
	if ! exported >/dev/null 2>&1; then
		not_ok "blink $round: no export"
	elif ! is_now after >/dev/null && { [ $status = 0 ] || ! is_now before >/dev/null; }; then
		not_ok "blink $round: a third thing" "status $status"
	fi
	hit=$((hit + (status != 0)))
	nlstore import a $tree >"$said" 2>&1 || not_ok "the next import" "$(<"$said")"
	[ $round -lt 2 ] || [ $hit = 0 ] || break
done
is "the power blinked $round times: one of the two trees" "$failures" 0
matches "it did while a tree was imported" "$hit" '^[1-9]'

# Nothing more fits: what takes no space is possible. The store uses the beginning of each half, and trims the rest with
# each commit: no migration is to cause one meanwhile.
check "a device that levels no wear" eval 'nlctl delete a && nlctl create a 12M --ftl nameless packages=4 pages=16 buffer=64 \
	gc_idle=0 $quick && wait_for 10 test -c $d/a:names && nlstore format a && nlstore import a $tree'
bytes=$(($(<"/sys/dev/block/$((0x$(stat -c %t $d/a))):$((0x$(stat -c %T $d/a)))/size") * 512))
half=$((bytes / 2 / 65536))
for from in 16 $((half + 17)); do
	dd if=/dev/zero of=$d/a bs=64k seek=$from count=$((half - 18)) oflag=direct conv=notrunc 2>/dev/null
done
remember full
head -c 3000000 /dev/urandom >$tree/new/larger
check_fails "nothing fits into a device that is full" "No space" nlstore import a $tree
comes_back "the tree stays" full
rm -rf $tree/new $tree/nameless $tree/deep/io.c
check "a smaller one fits" nlstore import a $tree
comes_back "and is there"
whole "of the device that was full"

check "a volume on it" dmt create onit --table "0 8 linear $d/a 0"
check_fails "is not written over" "in use" nlstore format a --force
check "and goes" dmt remove onit
check "deleted" nlctl delete a
umount /tmp/disk && emuctl del t
check "and the module goes" rmmod nameless
done_testing
