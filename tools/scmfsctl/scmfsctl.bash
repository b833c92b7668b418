# SPDX-License-Identifier: GPL-2.0-only
# bash completion for scmfsctl

_scmfsctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=

	COMPREPLY=()
	case $COMP_CWORD:$prev:$cur in
	1:*) words="usage windows wear frag gc --help --version" ;;
	*:--watch:* | *:--count:* | *:--low:* | *:--high:* | *:--whole:* | *:--cold:*) return ;;
	*:-*) words="--json --watch --count --help"
		[ "${COMP_WORDS[1]}" != gc ] ||
			words+=" --on --off --start --stop --run --low --high --whole --cold" ;;
	*) compopt -o default; return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _scmfsctl scmfsctl
