# SPDX-License-Identifier: GPL-2.0-only
# bash completion for dumpscmfs

_dumpscmfs() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=

	COMPREPLY=()
	case $prev in
	-i | --inode) return ;;
	esac
	[[ $cur != -* ]] || words="--inode --all --wear --udev --help --version"
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o default -F _dumpscmfs dumpscmfs
