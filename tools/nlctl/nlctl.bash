# SPDX-License-Identifier: GPL-2.0-only
# bash completion for nlctl

_nlctl_names() {
	local d
	for d in /sys/kernel/config/nameless/*/; do
		[ -d "$d" ] && basename "$d"
	done
}

# The first words of the lines of one of the module's files
_nlctl_lines() {
	local word rest
	while read -r word rest; do echo "$word$2"; done 2>/dev/null <"/sys/kernel/config/nameless/$1"
}

_nlctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words=

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words="create stat top names migrations check cut power set save load delete list presets keys --help --version"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	case $command:$COMP_CWORD:$prev in
	create:*:--ftl) words="page hybrid nameless zoned split raw" ;;
	create:*:--on) words=$(_nlctl_names) ;;
	create:*:--preset) words=$(_nlctl_lines presets) ;;
	create:[23]:*) return ;;
	create:*) words="--ftl --preset --on --help $(_nlctl_lines keys =)"; [[ $cur != -* ]] && compopt -o nospace ;;
	cut:*:--tear) words="not error blank" ;;
	cut:*:--after | top:*:--interval | top:*:--count | migrations:*:--count | migrations:*:--wait) return ;;
	delete:* | *:2:*) words="--help $(_nlctl_names)" ;;
	stat:* | list:*) words="--json --help" ;;
	names:*) words="--count --json --help" ;;
	migrations:*) words="--count --wait --json --help" ;;
	top:*) words="--interval --count --help" ;;
	cut:*) words="--off --after --tear --help" ;;
	power:3:*) words="on off" ;;
	set:*) words=$(_nlctl_lines keys =); compopt -o nospace ;;
	save:[4-9]:*) words="--force --help" ;;
	save:3:* | load:3:*) compopt -o default; return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _nlctl nlctl
