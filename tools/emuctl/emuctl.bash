# SPDX-License-Identifier: GPL-2.0-only
# bash completion for emuctl

_emuctl_names() {
	local d
	for d in /sys/kernel/config/emudisk/*/; do
		[ -d "$d" ] && basename "$d"
	done
}

_emuctl_models() {
	cut -d ' ' -f 1 /sys/kernel/config/emudisk/models 2>/dev/null
}

_emuctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=
	local keys="stall= power= dilate= fail= fail_range= fail_after= fail_drop= cache_size= cmd= link_bw= flush= discard=
		channels= chunk= read_lat= write_lat= read_bw= write_bw= wbuf= rw_penalty= rw_size= jitter= rpm=
		seek_track= seek_avg= seek_full= settle= outer_bw= inner_bw= buffer= qd= elevator= starve="

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words="add set del list models cut power record --help --version"
	else
		case $prev in
		--keep) words="none all random" ;;
		--seed|--to) return ;;
		esac
	fi
	if [ -z "$words" ]; then
		case ${COMP_WORDS[1]}:$COMP_CWORD in
		add:2|add:4) return ;;
		add:3) words=$(_emuctl_models) ;;
		add:*) words="seed= lbs= cache= wcache= $keys" ;;
		set:2) words=$(_emuctl_names) ;;
		set:*) words=$keys ;;
		del:*) words="$(_emuctl_names) --all --force" ;;
		list:*) words="$(_emuctl_names) --json" ;;
		models:*) words=--json ;;
		cut:*) words="$(_emuctl_names) --all --keep --seed --tear" ;;
		power:2) words="$(_emuctl_names) --all" ;;
		power:*) words="on off" ;;
		record:2) words="start stop clear status list mark replay" ;;
		record:*)
			case ${COMP_WORDS[2]} in
			status|list) words=--json ;;
			replay) words="--to --keep --seed --tear" ;;
			esac
			;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	[[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace
}

complete -F _emuctl emuctl
