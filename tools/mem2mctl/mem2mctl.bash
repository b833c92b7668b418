# SPDX-License-Identifier: GPL-2.0-only
# bash completion for mem2mctl

_mem2mctl_names() {
	local d
	for d in /sys/kernel/config/mem2m/*/; do
		[ -d "$d" ] && basename "$d"
	done
}

_mem2mctl_dax_devices() {
	local q
	for q in /sys/class/block/*/queue/dax; do
		[ "$(cat "$q" 2>/dev/null)" != 1 ] || { q=${q%/queue/dax}; echo "/dev/${q##*/}"; }
	done
}

_mem2mctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words=

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words="create resize delete configured list --help --version"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	case $command:$prev in
	create:--dax) words=$(_mem2mctl_dax_devices) ;;
	create:--phys) return ;;
	create:--unit) words="2M 16M 128M 1G" ;;
	create:*) [[ $cur != -* ]] || words="--phys --dax --unit --force --progress --help" ;;
	resize:*)
		words="--progress --help"
		[ "$COMP_CWORD" != 2 ] || words=$(_mem2mctl_names) ;;
	delete:*) words="--help $(_mem2mctl_names)" ;;
	configured:*) [ "$COMP_CWORD" = 2 ] && words=/etc/evenkeel/mem2m.conf || words=$(_mem2mctl_dax_devices) ;;
	list:*) words="--json --help $(_mem2mctl_names)" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _mem2mctl mem2mctl
