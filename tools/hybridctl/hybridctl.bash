# SPDX-License-Identifier: GPL-2.0-only
# bash completion for hybridctl

_hybridctl_volumes() {
	dmsetup ls --target hybrid 2>/dev/null | awk '$1 != "No" { print $1 }'
}

# Also those that are not active
_hybridctl_pools() {
	hybridctl list 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_hybridctl_devices() {
	local name _

	while read -r name _; do
		echo "/dev/${name//\!//}"
	done < <(command ls -1 /sys/class/block 2>/dev/null)
}

# The keys that a policy takes; all there are without one
_hybridctl_keys() {
	local wardrop="objective= first= beta= alpha= floor= deadband= step= estimator= rounding= preset="
	local asymmetry="delta= accesses= rate= age_ms= sizes=" concentrate="sublun= window_ms= share= size= evict= fast="

	echo "period_ms= candidates= cooldown_ms= migrate_kbps= migrate_share= movers= low_free= commit_ms= cache_extents= degrade_errors= fail_requests= fail_flushes= tell_ms= pin="
	case $1 in
	wardrop) echo "$wardrop" ;;
	asymmetry) echo "$asymmetry first=" ;;
	unified) echo "$wardrop $asymmetry" ;;
	static) echo "shares=" ;;
	concentrate) echo "$concentrate" ;;
	'') echo "$wardrop $asymmetry $concentrate shares=" ;;
	esac
}

_hybridctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words=

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ] || [ "$COMP_CWORD:$command" = 2:help ]; then
		words="create assemble stop identify list status lost monitor set policy pin explain record report optimize add grow evacuate reinstate detach attach remove replace metadata check dump restore repair size"
		[ "$COMP_CWORD" != 1 ] || words+=" help --help --version"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	case $command:$prev in
	create:--policy) words="wardrop asymmetry unified static stripe fill concentrate" ;;
	create:--extent) words="64K 128K 256K 512K 1M 2M 4M" ;;
	create:--metadata) words=$(_hybridctl_devices) ;;
	create:--size|create:--set|monitor:--interval|monitor:--count) return ;;
	create:*)
		case $cur in
		-*) words="--policy --set --extent --size --metadata --discard --force --volatile-ok --help" ;;
		*) [ "$COMP_CWORD" = 2 ] || words=$(_hybridctl_devices) ;;
		esac ;;
	assemble:--with) words=$(_hybridctl_devices) ;;
	assemble:--name) return ;;
	assemble:*) words="--all --with --name --degraded --help $(_hybridctl_pools)" ;;
	identify:*) words="--udev --was --help $(_hybridctl_devices)" ;;
	list:*) words="--json --help" ;;
	stop:*) words="--help $(_hybridctl_volumes)" ;;
	status:*) words="--json --help $(_hybridctl_volumes)" ;;
	lost:--offset|lost:--limit) return ;;
	lost:*) words="--files --offset --limit --json --help $(_hybridctl_volumes)" ;;
	monitor:*) words="--interval --count --plain --events --help $(_hybridctl_volumes)" ;;
	policy:*)
		case $COMP_CWORD in
		2) words="--help $(_hybridctl_volumes)" ;;
		3) words="wardrop asymmetry unified static stripe fill concentrate" ;;
		*)
			words=$(_hybridctl_keys "${COMP_WORDS[3]}")
			compopt -o nospace ;;
		esac ;;
	set:*)
		words="--help $(_hybridctl_volumes)"
		if [ "$COMP_CWORD" != 2 ]; then
			words=$(_hybridctl_keys '')
			compopt -o nospace
		fi ;;
	pin:--ext4-metadata) words=$(_hybridctl_devices) ;;
	pin:*) words="--remove --ext4-metadata --dry-run --json --help $(_hybridctl_volumes)" ;;
	record:--interval|record:--for|report:--interval|report:--for|optimize:--budget|optimize:--window) return ;;
	record:-o|record:--output|report:-o|report:--output) return ;;
	record:*) words="--interval --for --output --help $(_hybridctl_volumes)" ;;
	report:*) words="--interval --for --output --help $(_hybridctl_volumes)" ;;
	optimize:*) words="--budget --window --dry-run --json --help $(_hybridctl_volumes)" ;;
	explain:*) words="--json --help $(_hybridctl_volumes)" ;;
	grow:--size) return ;;
	size:--extent) words="64K 128K 256K 512K 1M 2M 4M" ;;
	add:*|evacuate:*|reinstate:*|detach:*|attach:*|remove:*|replace:*|grow:*)
		words=$(_hybridctl_volumes)
		[ "$COMP_CWORD" = 2 ] || words=$(_hybridctl_devices)
		case $command:$cur in
		add:-*) words="--grow --force --volatile-ok --help" ;;
		replace:-*) words="--force --give-up --volatile-ok --help" ;;
		evacuate:-*) words="--no-wait --give-up --force --cancel --help" ;;
		remove:-*|detach:-*|attach:-*) words="--force --help" ;;
		reinstate:-*) words="--help" ;;
		grow:-*) words="--size --help" ;;
		esac ;;
	metadata:*)
		case $COMP_CWORD:$cur in
		*:-*) words="--force --volatile-ok --help" ;;
		2:*) words=$(_hybridctl_volumes) ;;
		3:*) words="resync move" ;;
		*) words=$(_hybridctl_devices) ;;
		esac ;;
	size:*) words="--extent --help" ;;
	restore:*) [ "$COMP_CWORD" = 2 ] || words="--degraded --force --labels --help $(_hybridctl_devices)" ;;
	repair:*) words="--degraded --force --help $(_hybridctl_devices)" ;;
	check:*) words="--json --help $(_hybridctl_volumes) $(_hybridctl_devices)" ;;
	dump:*) words="--map --help $(_hybridctl_devices)" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o default -F _hybridctl hybridctl
