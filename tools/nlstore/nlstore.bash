# SPDX-License-Identifier: GPL-2.0-only
# bash completion for nlstore

_nlstore_devices() {
	local d
	for d in /dev/nameless/*:names; do
		[ -e "$d" ] && basename "$d" :names
	done
}

_nlstore() {
	local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=

	COMPREPLY=()
	case $COMP_CWORD:$command in
	1:*) words="format import export list verify tend --help --version" ;;
	2:*) words="--help $(_nlstore_devices)" ;;
	3:import | 3:export) compopt -o default -o dirnames; return ;;
	*:format) words="--force --help" ;;
	*:export) words="--help" ;;
	*:import) words="--reread --json --help" ;;
	*) words="--json --help" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _nlstore nlstore
