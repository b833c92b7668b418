# SPDX-License-Identifier: GPL-2.0-only
# bash completion for mkfs.scmfs

_mkfs_scmfs() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=

	COMPREPLY=()
	case $prev in
	-O | --features) words="^unwritten ^xattr ^unwritten,^xattr" ;;
	-L | --label | -U | --uuid | -N | --inodes | -l | --lanes | -s | --size) return ;;
	*) [[ $cur != -* ]] || words="--force --label --uuid --inodes --lanes --features --size --quiet --help --version" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o default -F _mkfs_scmfs mkfs.scmfs
