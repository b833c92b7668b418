#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: the hook of initramfs-tools', the tools' package and the unit: what they take along, what they stop, what they say
# timeout: 60
# It is run with what it reads in a directory, and with functions that note what they are asked for; tests/packages.sh has
# the real ones.
set -u
cd "$(dirname "$(dirname "$(readlink -f "$0")")")" || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0
sys=$work/sys/dev/block rules=$work/etc/udev/rules.d
mkdir -p "$sys" "$rules" "$work/proc/self" "$work/bin" "$work/sbin" "$work/lib/udev/rules.d"
touch "$work/sbin/hybridctl" "$work/lib/udev/rules.d/64-evenkeel.rules"
chmod +x "$work/sbin/hybridctl"
sed -E "s,@SBINDIR@,$work/sbin,g; s,@RULES@,$work/lib/udev/rules.d,g; s,(/sys/|/proc/|/etc/udev|/etc/evenkeel|/usr/share/initramfs),$work\\1,g" \
	tools/system/initramfs-hook >"$work/hook"
mkdir -p "$work/usr/share/initramfs-tools"
cat >"$work/usr/share/initramfs-tools/hook-functions" <<-'END'
	copy_exec() { [ -x "$1" ] && echo "exec $*"; }
	copy_file() { [ -f "$2" ] || return 2; echo "file $*"; [ -z "${copied:-}" ]; }
	manual_add_modules() { echo "modules $*"; }
	force_load() { echo "load $*"; }
END
# The kernel named "with" has the modules, that named "without" mem2m alone, and "half" all but that.
cat >"$work/bin/modprobe" <<-END
	#!/bin/sh
	case "\$*" in
	-c) cat "$work/options" ;;
	"-S with -n -q dm-hybrid" | "-S with -n -q mem2m" | "-S without -n -q mem2m" | "-S half -n -q dm-hybrid") ;;
	*) exit 1 ;;
	esac
END
chmod +x "$work/bin/modprobe"
export version
echo "KTAP version 1"

ok() {
	local title=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		sed 's/^/# /' "$work/out" "$work/err"
		failed=1
	fi
}

# hook VERSION STATUS: it ends with that
hook() {
	local status
	version=$1
	PATH="$work/bin:$PATH" sh -u "$work/hook" >"$work/out" 2>"$work/err"
	status=$?
	[ "$status" = "$2" ]
}

takes() { grep -qxe "$1" "$work/out"; }
takes_nothing() { ! [ -s "$work/out" ]; }
takes_all() { takes "exec $work/sbin/hybridctl" && takes "modules dm-hybrid" && takes_rule "$work/lib/udev/rules.d/64-evenkeel.rules"; }
takes_rule() { takes "file rule $1 $work/lib/udev/rules.d/64-evenkeel.rules"; }
says() { grep -q "$1" "$work/err"; }
says_nothing() { ! [ -s "$work/err" ]; }

asks() {
	PATH="$work/bin:$PATH" sh -u "$work/hook" on-volume >"$work/out" 2>"$work/err"
}

# device NUMBER [UUID]: of device-mapper's if it has one
device() {
	mkdir -p "$sys/$1/slaves"
	[ $# = 1 ] || { mkdir -p "$sys/$1/dm" && echo "$2" >"$sys/$1/dm/uuid"; }
}
root_is() { printf '1 0 0:5 / /proc rw - proc proc rw\n2 0 %s / / rw - %s %s rw\n3 2 8:2 / /boot rw - ext4 /dev/x rw\n' "$@" >"$work/proc/self/mountinfo"; }
usr_is() { printf '4 2 %s / /usr rw - %s %s rw\n' "$@" >>"$work/proc/self/mountinfo"; }

ok "a kernel that has the module" hook with 0
ok "all is taken along" takes_all
ok "nothing is said" says_nothing
ok "one that has it not, and no /proc" hook without 0
ok "that is said" says "W: evenkeel: no module dm-hybrid for without"
device 8:1
root_is 8:1 ext4 /dev/sda1
ok "likewise, the root file system on a disk" hook without 0
ok "that is said" says "no module dm-hybrid for without"
ok "who asks for what is on a volume" asks
ok "is told nothing" takes_nothing
device 254:0 EVENKEEL-hybrid-1234
root_is 254:0 ext4 /dev/mapper/root
ok "on a volume: there is no such image" hook without 1
ok "that is said" says "E: evenkeel: the root file system is on one"
ok "with the module there is" hook with 0
ok "who asks for what is on a volume" asks
ok "is told" takes "the root file system"
ok "what it takes along is in an initial file system already" eval 'copied=y hook with 0'
mv "$work/sbin/hybridctl" "$work/away"
ok "without hybridctl there is no such image" hook with 1
ok "that is said" says "E: evenkeel: the root file system is on one"
mv "$work/away" "$work/sbin/hybridctl"
mv "$work/lib/udev/rules.d/64-evenkeel.rules" "$work/away"
ok "nor without the rule" hook with 1
root_is 8:1 ext4 /dev/sda1
ok "there is for what needs no volume" hook with 0
ok "that is said" says "W: evenkeel: no .*hybridctl or no .*rules: no volume will be there when with boots"
mv "$work/away" "$work/lib/udev/rules.d/64-evenkeel.rules"
root_is 8:1 ext4 /dev/sda1
usr_is 254:0 ext4 /dev/mapper/usr
ok "/usr alone is on it" hook without 1
ok "that is said" says "E: evenkeel: /usr is on one"
ok "who asks for what is on a volume" asks
ok "is told" takes /usr
device 254:1 LVM-abc
ln -s ../../254:0 "$sys/254:1/slaves/dm-0"
root_is 254:1 ext4 /dev/mapper/vg-root
ok "LVM on it" hook without 1
mkdir -p "$work/sys/devices/md0/slaves" "$work/sys/devices/md0/md0p1"
ln -s ../../../dev/block/254:1 "$work/sys/devices/md0/slaves/dm-1"
echo 1 >"$work/sys/devices/md0/md0p1/partition"
ln -s ../../devices/md0/md0p1 "$sys/259:0"
root_is 259:0 ext4 /dev/md0p1
ok "a partition of md's on that" hook without 1
device 254:2 LVM-def
ln -s ../../8:1 "$sys/254:2/slaves/sda1"
root_is 254:2 ext4 /dev/mapper/vg-other
ok "LVM on a disk" hook without 0

# member NAME [PARTITION]: the volume has that disk, or a partition of it
member() {
	mkdir -p "$work/sys/devices/$1/slaves"
	[ $# = 1 ] || { mkdir -p "$work/sys/devices/$1/$2" && echo 1 >"$work/sys/devices/$1/$2/partition"; }
	ln -s "$work/sys/devices/$1${2:+/$2}" "$sys/254:0/slaves/"
}
takes_pmem() { takes "modules nd_pmem" && takes "modules nd_e820" && takes "modules nfit" && takes "modules virtio_pmem"; }
takes_memory() {
	takes "exec $work/sbin/mem2mctl" && takes "modules mem2m" && takes "file config $work/etc/evenkeel/mem2m.conf" &&
		takes "file rule ${1:-$mem2m} $mem2m"
}
takes_no_memory() { ! grep -q -e pmem -e mem2m "$work/out"; }
mem2m=$work/lib/udev/rules.d/66-evenkeel-mem2m.rules
mkdir -p "$work/etc/evenkeel"
cp -p "$work/sbin/hybridctl" "$work/sbin/mem2mctl"
touch "$mem2m"
echo 'options other create=memory:1G:phys=4G' >"$work/options"
root_is 254:1 ext4 /dev/mapper/vg-root
member sdz
ok "a volume of disks" hook with 0
ok "takes no memory along" takes_no_memory
member pmem0
ok "a member is pmem" hook with 0
ok "whose drivers are taken along" takes_pmem
ok "but not mem2m's" eval '! takes "modules mem2m"'
root_is 8:1 ext4 /dev/sda1
ok "the root file system is not on that" hook with 0
ok "nothing of it is taken along" takes_no_memory
usr_is 254:1 ext4 /dev/mapper/vg-usr
ok "/usr is" hook with 0
ok "they are" takes_pmem
root_is 254:1 ext4 /dev/mapper/vg-root
rm "$sys/254:0/slaves/pmem0"
member pmem1 pmem1p1
ok "a partition of pmem" hook with 0
ok "whose drivers are taken along" takes_pmem
rm "$sys/254:0/slaves/pmem1p1"
member 'mem2m!memory'
ok "a memory device that nothing makes" hook with 1
ok "that is said" says "E: evenkeel: the root file system lies on the memory device memory, which nothing makes at boot"
printf '# memory 1G --dax /dev/pmem0\nmemory2 1G --dax /dev/pmem1\n' >"$work/etc/evenkeel/mem2m.conf"
ok "nor among others" hook with 1
printf '\tmemory 1G --dax /dev/pmem0' >>"$work/etc/evenkeel/mem2m.conf"
ok "one that mem2m.conf has" hook with 0
ok "what makes it is taken along" takes_memory
ok "and what its memory takes" takes_pmem
ok "without the module there is no such image" hook half 1
ok "that is said" says "E: .* the memory device memory, and there is no module mem2m for half"
mv "$work/sbin/mem2mctl" "$work/away"
ok "nor without mem2mctl" hook with 1
ok "that is said" says "E: .* the memory device memory, and there is no .*/sbin/mem2mctl or no "
mv "$work/away" "$work/sbin/mem2mctl"
mv "$mem2m" "$work/away"
ok "nor without the rule" hook with 1
mv "$work/away" "$mem2m"
: >"$rules/66-evenkeel-mem2m.rules"
ok "nor with an empty one" hook with 1
ok "that is said" says "E: .* the memory device memory, and .*/66-evenkeel-mem2m.rules, which is empty"
echo '# mine' >"$rules/66-evenkeel-mem2m.rules"
ok "with another one there is" hook with 0
ok "it is taken along" takes_memory "$rules/66-evenkeel-mem2m.rules"
rm "$rules/66-evenkeel-mem2m.rules" "$work/etc/evenkeel/mem2m.conf"
echo 'options mem2m x=y create=other:1G:phys=4G,memory:1G:dax=/dev/pmem0' >"$work/options"
ok "one of pmem that the module is to make, too early" hook with 1
echo 'options mem2m x=y create=other:1G:phys=4G,memory:1G:phys=8G' >"$work/options"
ok "one of reserved memory" hook with 0
ok "the module is loaded early" takes "load mem2m"
rm "$sys/254:0/slaves/sdz" "$sys/254:0/slaves/mem2m!memory"

# What the kernel tells of two of btrfs, of which the other one has the volume at first
device 8:2
for number in 8:1 8:2 254:0 254:2; do
	echo "$number" >"$sys/$number/dev"
done
mkdir -p "$work"/sys/fs/btrfs/{several,others}/devices "$work/sys/fs/btrfs/features"
ln -s "$sys/8:1" "$sys/254:2" "$work/sys/fs/btrfs/several/devices/"
ln -s "$sys/8:2" "$sys/254:0" "$work/sys/fs/btrfs/others/devices/"
root_is 8:1 btrfs /dev/sda1
ok "btrfs on several devices" hook without 0
member pmem2
ln -s "$sys/254:0" "$work/sys/fs/btrfs/several/devices/dm-0"
ok "of which one that is not named is a volume" hook without 1
ok "that is said" says "E: evenkeel: the root file system is on one"
ok "who asks for what is on a volume" asks
ok "is told once" eval '[ "$(<"$work/out")" = "the root file system" ]'
ok "and what its members in memory take" hook with 0
ok "is taken along" takes_pmem
rm -r "$work/sys/fs" "$sys/254:0/slaves/pmem2"
read -r node < <(find -L /dev -maxdepth 2 -type b 2>/dev/null)
if [ -n "$node" ]; then
	number=$((0x$(stat -Lc %t "$node"))):$((0x$(stat -Lc %T "$node")))
	device "$number" EVENKEEL-hybrid-5678
	root_is 0:30 btrfs "$node"
	ok "a file system with a number of its own" hook without 1
fi
root_is 0:30 overlay overlay
ok "one without a device" hook without 0
ln -s /dev/null "$rules/64-evenkeel.rules"
ok "the rule is masked" hook without 0
ok "nothing is taken along" takes_nothing
ok "nothing is said" says_nothing
root_is 254:0 ext4 /dev/mapper/root
ok "it is, with the root file system on a volume" hook with 1
ok "that is said" says "E: evenkeel: the root file system is on a volume, and .*rules, which is empty"
root_is 8:1 ext4 /dev/sda1
usr_is 254:0 ext4 /dev/mapper/usr
ok "with /usr on one" hook with 1
root_is 0:30 overlay overlay
rm "$rules/64-evenkeel.rules"
: >"$rules/64-evenkeel.rules"
ok "it is empty" hook with 0
ok "nothing is taken along" takes_nothing
echo '# mine' >"$rules/64-evenkeel.rules"
ok "it is another" hook with 0
ok "which is taken along, where the rule would be" takes_rule "$rules/64-evenkeel.rules"
mv "$rules/64-evenkeel.rules" "$work/mine"
ln -s "$work/mine" "$rules/64-evenkeel.rules"
ok "it is somewhere else" hook with 0
ok "which is taken along, where the rule would be" takes_rule "$work/mine"
ln -sf "$work/none" "$rules/64-evenkeel.rules"
ok "it is nowhere" hook with 0
ok "the package's is taken along" takes_all

# script NAME ARG...: what that one of the package's does then
script() {
	sed "/^#DEBHELPER#/d; s,/usr/local,$work&,; s,/etc/initramfs,$work&,; s,/usr/share/initramfs,$work&,; s,/boot/,$work&,g; s,/lib/modules,$work&," "debian/evenkeel-$1" >"$work/script"
	PATH="$work/bin:$PATH" sh "$work/script" "${@:2}" >"$work/out" 2>"$work/err"
}
refuses() { ! script "$@"; }
# renewing STATUS: of what renews initial file systems; 6.12's, and all where that comes first, can't be with status 2
renewing() {
	printf '#!/bin/sh\necho "$@"\ncase $* in *6.12 | *all) exit %s ;; *) [ %s != 1 ] ;; esac\n' "$1" "$1" >"$work/bin/update-initramfs"
	chmod +x "$work/bin/update-initramfs"
}
printf '#!/bin/sh\necho "trigger $*"\n' >"$work/bin/dpkg-trigger"
chmod +x "$work/bin/dpkg-trigger"
renewing 0
# Kernels with images; one that is gone left its, and of another one there is a copy.
mkdir -p "$work/boot" "$work"/lib/modules/{6.1,6.12,6.18}
touch "$work"/boot/initrd.img-{6.1,6.12,5.10,6.12.bak}
renews_all() { [ "$(<"$work/out")" = $'-u -k 6.1\n-u -k 6.12' ]; }
mkdir -p "$work/usr/share/initramfs-tools/hooks"
cp "$work/hook" "$work/usr/share/initramfs-tools/hooks/evenkeel"
chmod +x "$work/usr/share/initramfs-tools/hooks/evenkeel"

ok "the package is to be removed" script tools.prerm remove
root_is 254:0 ext4 /dev/mapper/root
ok "not with the root file system on a volume" refuses tools.prerm remove
ok "that is said" says "E: evenkeel-tools: the root file system is on a volume"
ok "it is upgraded" script tools.prerm upgrade 2.0
ok "nor the modules' package" refuses dkms.prerm remove
ok "that is said" says "E: evenkeel-dkms: the root file system is on a volume"
ok "that is upgraded" script dkms.prerm upgrade 2.0
mkdir -p "$work/etc/initramfs-tools/hooks" "$work/usr/local/lib/udev/rules.d"
sed "s,$work/\(s\?bin\|lib\)/,$work/usr/local/\1/,g" "$work/hook" >"$work/etc/initramfs-tools/hooks/evenkeel"
chmod +x "$work/etc/initramfs-tools/hooks/evenkeel"
ok "another one's hook is there, without its program" refuses tools.prerm remove
mkdir -p "$work/usr/local/sbin"
cp -p "$work/sbin/hybridctl" "$work/usr/local/sbin/"
ok "with that alone" refuses tools.prerm remove
touch "$work/usr/local/lib/udev/rules.d/64-evenkeel.rules"
ok "with its rule, too" script tools.prerm remove
rm -r "${work:?}/etc/initramfs-tools" "${work:?}/usr/local"
# What is asked first, beside the hook that it asks
uninstalls() {
	sed "s,/usr/share/initramfs,$work&," scripts/may-uninstall >"$work/scripts/may-uninstall"
	sh "$work/scripts/may-uninstall" >"$work/out" 2>"$work/err"
}
keeps() { ! uninstalls; }
# asks_first YES|NO VARIABLE...: make does before it removes the first file, or doesn't
asks_first() {
	make -n uninstall KDIR="$work" KVER=none "${@:2}" >"$work/out" 2>"$work/err" || return
	[ "$1" = "$(sed -n '/^rm /q; /may-uninstall$/p' "$work/out" | grep -q . && echo yes || echo no)" ]
}
mkdir -p "$work/scripts" "$work/tools/system"
cp "$work/hook" "$work/tools/system/initramfs-hook"
ok "make uninstall asks first" asks_first yes
ok "not of what is below another directory" asks_first no DESTDIR=/x
ok "nor where it has to" asks_first no FORCE=y
ok "it goes where the package's hook stays" uninstalls
ok "not where that one is what goes" eval 'PREFIX=/usr keeps'
mv "$work/sbin/hybridctl" "$work/away"
ok "not without the package's program" keeps
ok "that is said" says "E: the root file system is on a volume: the machine would not boot"
mv "$work/away" "$work/sbin/hybridctl"
mv "$work/usr/share/initramfs-tools/hooks/evenkeel" "$work/away"
ok "nor without its hook" keeps
root_is 8:1 ext4 /dev/sda1
ok "it does where nothing needs a volume" uninstalls
ok "nothing is said" says_nothing
mv "$work/away" "$work/usr/share/initramfs-tools/hooks/evenkeel"
root_is 254:0 ext4 /dev/mapper/root

ok "it is removed" script tools.postrm remove
ok "all kernels' are renewed" renews_all
ok "it is upgraded" script tools.postrm upgrade 2.0
ok "nothing is done" takes_nothing
ok "it is purged" script tools.postrm purge
ok "nothing is done" takes_nothing
ok "it is installed" script tools.postinst configure
ok "the newest kernel's is renewed" takes "-u"
ok "nothing is said" says_nothing
ok "it is upgraded" script tools.postinst configure 1.0
ok "all kernels' are to be renewed" takes "trigger --no-await evenkeel-initramfs"
ok "that is done" script tools.postinst triggered evenkeel-initramfs
ok "for all of them" renews_all
ok "the modules' package is removed" script dkms.postrm remove
ok "the newest kernel's is renewed" takes "-u"
ok "it is upgraded" script dkms.postrm upgrade 2.0
ok "nothing is done" takes_nothing
renewing 1
ok "one can't be renewed" script tools.postrm remove
ok "that is said" says "may have hybridctl still"
ok "when it is installed, too" script tools.postinst configure
ok "that is said" says "the initial file system is as it was"
ok "when the modules' package is removed" script dkms.postrm remove
ok "that is said" says "the initial file system is as it was"
ok "after an upgrade, too" script tools.postinst triggered evenkeel-initramfs
ok "that is said" says "that of 6.1 may have the version before"
renewing 2
ok "one of several can't" script tools.postinst triggered evenkeel-initramfs
ok "the others are" renews_all
ok "that is said" says "that of 6.12 may have the version before"
ok "of that one alone" eval '! says "that of 6.1 "'
ok "nor when it is removed" script tools.postrm remove
ok "the others are" renews_all
ok "that is said" says "that of 6.12 may have hybridctl still"
rm "$work"/boot/*
ok "without any image" script tools.postinst triggered evenkeel-initramfs
ok "nothing is done" takes_nothing
renewing 0

mkdir -p "$work/usr/local/lib/udev/rules.d" "$work/etc/initramfs-tools/hooks"
touch "$work/usr/local/lib/udev/rules.d/64-evenkeel.rules" "$work/etc/initramfs-tools/hooks/evenkeel"
ok "the package is installed beside what make install left" script tools.postinst configure
ok "that is said of the rule" says "usr/local/lib/udev/rules.d/64-evenkeel.rules, of \"make install\", is used instead"
ok "and of the hook" says "etc/initramfs-tools/hooks/evenkeel, of"

# shutdown STATE LINE...: what the unit does when systemd is in that state and dmsetup lists these
shutdown() {
	printf '#!/bin/sh\necho %s\n' "$1" >"$work/bin/systemctl"
	printf '%s\n' "${@:2}" >"$work/list"
	printf '#!/bin/sh\n[ "$*" = "ls --target hybrid" ] && cat "%s"\n' "$work/list" >"$work/bin/dmsetup"
	printf '#!/bin/sh\necho "hybridctl $*"\n[ "$2" != root ]\n' >"$work/bin/hybridctl"
	chmod +x "$work"/bin/*
	sed -n "/^ExecStop=/,/'\$/{ s,^ExecStop=-/bin/sh -c ',,; s,'\$,,; s,\\\\\$,,; s,\\$\\$,$,g; s,@SBINDIR@,$work/bin,; p }" \
		tools/system/evenkeel-stop.service | tr '\n' ' ' >"$work/stop"
	PATH="$work/bin:$PATH" sh -u "$work/stop" >"$work/out" 2>"$work/err"
}
ok "the machine goes down" shutdown stopping $'root\t(254:0)' $'vol\t(254:1)'
ok "each volume is asked for" takes "hybridctl stop root"
ok "though one is in use" takes "hybridctl stop vol"
ok "without any volume" shutdown stopping "No devices found"
ok "nothing is done" takes_nothing
ok "the unit is stopped while the machine runs" shutdown running $'vol\t(254:1)'
ok "nothing is done" takes_nothing
echo "1..$n"
exit $failed
