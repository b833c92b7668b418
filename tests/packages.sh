#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# title: Debian packages: built, installed, modules for both kernels by DKMS, root on a volume, upgraded, removed
# timeout: 2100
# by-hand: yes
# A bare Debian in a directory (debootstrap, kept in the cache) is where the packages are installed. Nothing of this
# machine is changed: no initial file system is made but inside. It takes root, the archive and some 3 GiB.
set -u
cd "$(dirname "$(dirname "$(readlink -f "$0")")")" || exit 1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel/debian
root=$cache/root
work=$(mktemp -d)
mounted=()
leave() {
	rm -f "$root/usr/local/bin/uname"
	for m in "${mounted[@]}"; do
		umount "$m"
	done
	rm -rf "$work"
}
trap leave EXIT
version=$(cat VERSION)
arch=$(dpkg --print-architecture)
home=6a1c2c70-9f0e-4c31-a2d8-0b1f0c7d8e11	# its file system's UUID

inside() {
	DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$root" "$@" >>"$work/log" 2>&1 </dev/null
}

# Without fsync: what is lost with the power is made again.
get() {
	inside apt-get -o Dpkg::Options::=--force-unsafe-io -qq -y --no-install-recommends "$@"
}

# What debian/control says; the archive's lists may never have been fetched here.
builds() {
	scripts/install-packages && dpkg-checkbuilddeps && return
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq -y --no-install-recommends build-dep ./ ||
		{ apt-get update -qq && apt-get -qq -y --no-install-recommends build-dep ./; }
}

# No daemon is started in there, and no initial file system made before all is installed.
bare() {
	[ -f "$root/.complete" ] && return
	command -v debootstrap >/dev/null ||
		apt-get install -qq -y --no-install-recommends debootstrap >>"$work/log" 2>&1 || return
	rm -rf "$root"
	mkdir -p "$root"
	debootstrap --variant=minbase bookworm "$root" \
		"$(sed -n 's/^URIs: //p; s/^deb [^ ]* *\(http[^ ]*\).*/\1/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null | head -n 1)" \
		>>"$work/log" 2>&1 || return
	rm -f "$root/etc/apt/sources.list"
	cp -a /etc/apt/sources.list* "$root/etc/apt/"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
}

kernels() {
	[ -f "$root/.complete" ] && return
	inside apt-get update -qq &&
		get install systemd-sysv udev dmsetup initramfs-tools e2fsprogs dkms rsync linux-image-amd64 \
			linux-headers-amd64 linux-headers-6.12-amd64 && touch "$root/.complete"
}

mount_inside() {
	mount -t proc proc "$root/proc" && mounted=("$root/proc") &&
		mount -t tmpfs tmpfs "$root/run" && mounted=("$root/run" "${mounted[@]}") &&
		mount --bind /dev "$root/dev" && mounted=("$root/dev" "${mounted[@]}")
}

# DKMS builds for the kernel that it takes for the running one, and for newer ones.
runs_newest() {
	local newest
	newest=$(basename "$(ls -d "$root"/lib/modules/6.12.*)")
	mkdir -p "$root/usr/local/bin"
	printf '#!/bin/sh\n[ "$*" = -r ] && echo %s || exec /usr/bin/uname "$@"\n' "$newest" >"$root/usr/local/bin/uname"
	chmod +x "$root/usr/local/bin/uname"
}

modules=(evenkeel dm-hybrid mem2m scmfs nameless emudisk)
# Every module that is no test's own, for each kernel
modules_there() {
	local kernel module
	for kernel in "$root"/lib/modules/*/; do
		for module in "${modules[@]}"; do
			compgen -G "${kernel}updates/dkms/$module.ko*" >/dev/null ||
				{ echo "# ${kernel#"$root"} has no $module"; return 1; }
		done
	done
	[ "$(find "$root"/lib/modules -maxdepth 1 -name '6.*' | wc -l)" = 2 ]
}

# Every program, with its manual page and its completion
programs_there() {
	local program rules
	for program in hybridctl mem2mctl emuctl nlctl nlstore mkfs.scmfs fsck.scmfs dumpscmfs scmfsctl; do
		[ -x "$root/usr/sbin/$program" ] && compgen -G "$root/usr/share/man/man8/$program.8*" >/dev/null &&
			[ -f "$root/usr/share/bash-completion/completions/$program" ] ||
			{ echo "# not all of $program"; return 1; }
	done
	rules=/usr/lib/udev/rules.d/66-evenkeel-mem2m.rules
	grep -q '"/usr/sbin/mem2mctl configured ' "$root$rules" || { echo "# no $rules, or not its program"; return 1; }
}

# What the library takes came along.
library_works() {
	inside ldd /usr/lib/libnameless.so.0 && grep -q 'liburing.so.2 => /' "$work/log" && ! grep -q 'not found' "$work/log"
}

none_left() {
	local module names=(-name '*evenkeel*')
	for module in "${modules[@]}"; do names+=(-o -name "$module.ko*"); done
	cd "$root" || return
	! find lib/modules usr/src var/lib/dkms \( "${names[@]}" \) | grep . &&
		! find usr/sbin/hybridctl usr/lib/udev/rules.d usr/share/initramfs-tools/hooks -name '*evenkeel*' -o -name hybridctl -o -name '*scmfs*' | grep . &&
		! find lib/systemd/ etc/systemd -name '*evenkeel*' | grep .
}

# Not in those of kernels that are not the newest, either.
none_in_images() {
	local image
	for image in "$root"/boot/initrd.img-*; do
		inside lsinitramfs "/boot/${image##*/}" || return
	done
	grep -q 'lib/modules/6.1.' "$work/log" && ! grep -q -e sbin/hybridctl -e 64-evenkeel.rules "$work/log"
}

# Those of devices that no machine here has.
no_modules=(--exclude=/usr/lib/modules/*/kernel/drivers/{gpu,net,media,infiniband,staging,usb,scsi}
	--exclude=/usr/lib/modules/*/kernel/{sound,net})

# The root file system's image, and an initial file system that says what it takes to mount it.
make_image() {
	kernel=$(basename "$(ls -d "$root"/lib/modules/6.1.*)")
	inside update-initramfs -c -k "$kernel" || inside update-initramfs -u -k "$kernel" || return
	inside lsinitramfs "/boot/initrd.img-$kernel" || return
	grep -q 'dm-hybrid.ko' "$work/log" && grep -q '64-evenkeel.rules' "$work/log" || return
	cp "$root/boot/vmlinuz-$kernel" "$root/boot/initrd.img-$kernel" "$work/"
	mkdir "$work/tree"
	rsync -aHx --exclude=/boot/* --exclude=/usr/src/* --exclude=/usr/lib/gcc --exclude=/usr/share/{doc,man,locale,perl}/* \
		--exclude=/usr/include --exclude=/usr/libexec/gcc --exclude=/usr/bin/*-linux-gnu-* \
		--exclude=/var/cache/apt/* --exclude=/var/lib/{apt,dkms}/* --exclude='/usr/lib/modules/6.1[0-9]*' \
		"${no_modules[@]}" --exclude=/var/lib/dpkg/info --exclude=/packages \
		"$root/" "$work/tree/" || return
	printf '%s\n' '/dev/mapper/root / ext4 defaults 0 1' "/dev/disk/by-uuid/$home /home scmfs defaults,x-systemd.device-timeout=300 0 2" >"$work/tree/etc/fstab"
	cat >"$work/tree/etc/systemd/system/told.service" <<-'EOF'
		[Unit]
		After=multi-user.target
		[Service]
		Type=oneshot
		StandardOutput=tty
		TTYPath=/dev/ttyS0
		ExecStart=/bin/sh -c 'uname -r; echo built $(od -An -v -tx1 /sys/module/dm_hybrid/notes/.note.gnu.build-id | tr -d " \\n"); findmnt -no SOURCE,FSTYPE /; findmnt -no SOURCE,FSTYPE /home; cat /home/here; date >/home/here; hybridctl list; echo told $(hybridctl status root --json | tr -d "\\n ")'
		ExecStart=/bin/systemctl poweroff --no-block
		[Install]
		WantedBy=multi-user.target
	EOF
	# A login prompt hangs up whoever else writes there.
	ln -s /dev/null "$work/tree/etc/systemd/system/serial-getty@ttyS0.service"
	mkdir -p "$work/tree/etc/systemd/system/evenkeel-stop.service.d"
	cat >"$work/tree/etc/systemd/system/evenkeel-stop.service.d/told.conf" <<-'EOF'
		[Service]
		StandardOutput=tty
		TTYPath=/dev/ttyS0
		ExecStopPost=/bin/sh -c 'echo left $$(dmsetup ls --target hybrid)'
	EOF
	mkdir -p "$work/tree/etc/systemd/system/multi-user.target.wants"
	ln -s ../told.service "$work/tree/etc/systemd/system/multi-user.target.wants/told.service"
	truncate -s 700M "$work/image"
	mke2fs -q -t ext4 -d "$work/tree" "$work/image" || return
	rm -rf "$work/tree"
	truncate -s 600M "$work/fast" "$work/slow" "$work/one" "$work/two"
	truncate -s 64M "$work/pmem"
	"$root/usr/sbin/mkfs.scmfs" -q -U "$home" "$work/pmem" || return
	# the memory of all of its machines, in which that is at 512 MiB
	truncate -s 1G "$work/ram"
	dd if="$work/pmem" of="$work/ram" bs=1M seek=512 conv=notrunc status=none
}

# Nothing of it is in an initial file system when the rule is masked.
masked() {
	local mask=$root/etc/udev/rules.d/64-evenkeel.rules ret=0
	mkdir -p "${mask%/*}" && ln -s /dev/null "$mask" || return
	inside update-initramfs -u -k "$kernel" && inside lsinitramfs "/boot/initrd.img-$kernel" || ret=1
	rm "$mask"
	[ "$ret" = 0 ] && ! grep -q 'sbin/hybridctl' "$work/log"
}

# An edited one is in it.
edited() {
	local own=$root/etc/udev/rules.d/64-evenkeel.rules ret=0
	{ echo '# edited' && cat "$root/usr/lib/udev/rules.d/64-evenkeel.rules"; } >"$own" || return
	inside update-initramfs -u -k "$kernel" && rm -rf "$root/tmp/unpacked" &&
		inside unmkinitramfs "/boot/initrd.img-$kernel" /tmp/unpacked || ret=1
	rm "$own"
	[ "$ret" = 0 ] && grep -qrx '# edited' --include=64-evenkeel.rules "$root/tmp/unpacked" || ret=1
	rm -rf "$root/tmp/unpacked"
	return "$ret"
}

# The older kernel's has what the upgrade brought, though it was made before.
older_is_renewed() {
	local program module
	rm -rf "$root/tmp/unpacked"
	inside unmkinitramfs "/boot/initrd.img-$kernel" /tmp/unpacked || return
	program=$(find "$root/tmp/unpacked" -name hybridctl -type f) module=$(find "$root/tmp/unpacked" -name 'dm-hybrid.ko*' -type f)
	cmp "$program" "$root/usr/sbin/hybridctl" && cmp "$module" "$root/lib/modules/$kernel/updates/dkms/${module##*/}" || return
	rm -rf "$root/tmp/unpacked"
}

install_root() {
	EVENKEEL_NO_BUILD='' scripts/vm --disk "$work/fast" --disk "$work/slow" --disk "$work/image" \
		--disk "$work/one" --disk "$work/two" -- sh -ec '
		hybridctl create root /dev/vda /dev/vdb --policy stripe
		dd if=/dev/vdc of=/dev/mapper/root bs=1M conv=sparse,fsync status=none
		hybridctl identify /dev/vdb
		hybridctl stop root
		hybridctl create other /dev/vdd /dev/vde
		hybridctl stop other' >>"$work/log" 2>&1
}

# What the upgrade brought gets into the root file system as well, with the later kernel's modules, for which it has to grow.
upgrade_root() {
	mkdir "$work/tree"
	rsync -aR --exclude=/usr/lib/modules/*/{build,source} "${no_modules[@]}" "$root/./usr/lib/modules" "$work/tree/" || return
	inside dpkg -L evenkeel-tools
	(cd "$root" && sed -n 's,^/\(usr\|lib\|etc\)/,\1/,p' "$work/log" | sort -u | rsync -a --files-from=- --ignore-missing-args . "$work/tree/") || return
	[ -x "$work/tree/usr/sbin/hybridctl" ] && tar -C "$work/tree" -cf "$work/upgrade" . || return
	rm -rf "$work/tree"
	EVENKEEL_NO_BUILD='' scripts/vm --disk "$work/fast" --disk "$work/slow" --disk "$work/upgrade" -- sh -ec '
		hybridctl assemble root
		e2fsck -fy /dev/mapper/root || [ $? = 1 ]
		resize2fs /dev/mapper/root
		mount /dev/mapper/root /mnt
		tar -C /mnt --keep-directory-symlink -xf /dev/vdc
		umount /mnt
		hybridctl stop root'
}

# The kernel and the initial file system that an upgrade leaves, and the module that DKMS made at last
boots_upgraded() {
	local module
	kernel=$1
	cp "$root/boot/vmlinuz-$kernel" "$root/boot/initrd.img-$kernel" "$work/"
	module=$(echo "$root/lib/modules/$kernel/updates/dkms/dm-hybrid.ko"*)
	xz -dcf "$module" >"$work/module" || return
	root_is_on_a_pool && home_is_in_memory && grep -aq "^${kernel}[[:space:]]*$" "$work/boot" &&
		grep -aq "^built [0-9a-f]*$(readelf -n "$work/module" | sed -n 's/.*Build ID: //p')[[:space:]]*$" "$work/boot"
}

boot_root() {
	timeout -k 5 400 qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -M q35,memory-backend=ram \
		-accel tcg,thread=multi -cpu max,-la57,-erms,-fsrm -smp 2 -m 1G -serial stdio \
		-object "memory-backend-file,id=ram,size=1G,share=on,mem-path=$work/ram" -kernel "$work/vmlinuz-$kernel" \
		-initrd "$work/initrd.img-$kernel" -append "root=/dev/mapper/root rw console=ttyS0 panic=-1 memmap=64M!512M $*" \
		-drive "file=$work/slow,if=virtio,format=raw" -drive "file=$work/fast,if=virtio,format=raw" \
		-drive "file=$work/one,if=virtio,format=raw" -drive "file=$work/two,if=virtio,format=raw" \
		</dev/null >"$work/boot" 2>"$work/boot.err"
}

# The console's lines end in CR LF.
root_is_on_a_pool() {
	boot_root && grep -aq '^/dev/mapper/root *ext4' "$work/boot" && grep -aq 'told.*"mode":"rw"' "$work/boot"
}

# By the rule, the table of file systems and the check that it asks for
home_is_in_memory() {
	grep -aq '^/dev/pmem0 *scmfs' "$work/boot" && grep -aq 'Finished.*systemd-fsck@dev-' "$work/boot"
}

# What the machine wrote to it, as it is after its shutdown
home_is_whole() {
	dd if="$work/ram" of="$work/pmem" bs=1M skip=512 count=64 status=none &&
		"$root/usr/sbin/fsck.scmfs" -n "$work/pmem" && "$root/usr/sbin/dumpscmfs" -a "$work/pmem" | grep -q '  name: .* here$'
}

# The one that is mounted stays active.
stops_the_other() {
	grep -aq '^other *rw' "$work/boot" && grep -aq 'left root ([0-9:, ]*)[[:space:]]*$' "$work/boot"
}

# A member is missing: nothing to mount, and the log says what is not there.
waits_for_member() {
	mv "$work/slow" "$work/kept"
	truncate -s 600M "$work/slow"
	boot_root panic=1 rootdelay=5
	mv "$work/kept" "$work/slow"
	! grep -aq 'told' "$work/boot" && grep -aqi 'root does not exist' "$work/boot"
}

n=0 n=0
echo "KTAP version 1"
# step TITLE COMMAND...: the others build on it
step() {
	local title=$1 began=$SECONDS
	shift
	n=$((n + 1))
	: >"$work/log"
	if "$@" >>"$work/log" 2>&1; then
		echo "ok $n - $title # $((SECONDS - began)) s"
		return
	fi
	echo "not ok $n - $title"
	tail -n 40 "$work/log" "$work/boot" 2>/dev/null | tr -d '\r' | sed 's/^/# /'
	echo "1..$n"
	exit 1
}

step "what builds them is there" builds
step "the packages are made" scripts/package "$work/new"
step "those of a later version" scripts/package --release "$version.1" "$work/newer"
step "there is a bare Debian" bare
mkdir -p "$root/packages"
cp "$work"/new*/*.deb "$root/packages/"
step "nothing else is mounted there" mount_inside
step "with two kernels" kernels
step "the packages are installed" get install "/packages/evenkeel-dkms_${version}_$arch.deb" \
	"/packages/evenkeel-tools_${version}_$arch.deb"
step "every program is there" programs_there
step "DKMS has built every module for both kernels" modules_there
step "libnameless has its io_uring" library_works
step "an initial file system has what a root on a volume takes" make_image
step "and has nothing of it when the rule is masked" masked
step "or has the one that was edited" edited
step "a root file system is put on a volume" install_root
step "a machine boots from it" root_is_on_a_pool
step "/home is on scmfs, by its UUID, and was checked" home_is_in_memory
step "and closed when it goes down" home_is_whole
step "which stops a volume that is not in use when it goes down" stops_the_other
step "and does not without one of its members" waits_for_member
step "the newest of the kernels is the running one" runs_newest
step "they are upgraded" get install "/packages/evenkeel-dkms_${version}.1_$arch.deb" \
	"/packages/evenkeel-tools_${version}.1_$arch.deb"
step "every module is there again" modules_there
step "and in the older kernel's initial file system" older_is_renewed
step "of the version before nothing is left" sh -c "! [ -e '$root/usr/src/evenkeel-$version' ] && ! [ -e '$root/var/lib/dkms/evenkeel/$version' ]"
step "the root file system is upgraded, too" upgrade_root
step "a machine boots from it with the new module" boots_upgraded "$(basename "$root"/lib/modules/6.1.*)"
step "and with the later kernel" boots_upgraded "$(basename "$root"/lib/modules/6.12.*)"
step "/home is whole" home_is_whole
step "they are removed" get purge evenkeel-dkms evenkeel-tools
step "nothing is left" eval '(none_left)'
step "nor in an initial file system" none_in_images
echo "1..$n"
exit 0
