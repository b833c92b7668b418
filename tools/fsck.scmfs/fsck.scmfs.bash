# SPDX-License-Identifier: GPL-2.0-only
# bash completion for fsck.scmfs

_fsck_scmfs() {
	local cur=${COMP_WORDS[COMP_CWORD]} words=

	COMPREPLY=()
	[[ $cur != -* ]] || words="--no --yes --auto --preen --force --from-copy --quiet --help --version"
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o default -F _fsck_scmfs fsck.scmfs
