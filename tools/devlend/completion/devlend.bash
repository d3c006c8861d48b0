# SPDX-License-Identifier: GPL-2.0
# bash completion for devlend(8)

# _devlend_bus PREFIX...: names on the devlend bus; of lent devices, their addresses.
_devlend_bus()
{
	local bus=${DEVLEND_SYSROOT:-}/sys/bus/devlend/devices prefix path
	for prefix in "$@"; do
		for path in "$bus/$prefix"*; do
			[ -e "$path" ] || continue
			path=${path##*/}
			[ "$prefix" = lent- ] && path=${path#lent-}
			printf '%s\n' "$path"
		done
	done
}

# Functions of this host that a driver has, and that are neither lent nor borrowed.
_devlend_pci()
{
	local path
	for path in "${DEVLEND_SYSROOT:-}"/sys/bus/pci/devices/*; do
		[[ $(readlink -f "$path") == */lease-* ]] && continue
		[ -e "$path/driver" ] && [ ! -e "${DEVLEND_SYSROOT:-}/sys/bus/devlend/devices/lent-${path##*/}" ] &&
			printf '%s\n' "${path##*/}"
	done
}

_devlend_options()
{
	local common='--json --sysroot --help --usage --version'
	case $1 in
	list) echo "$common --filter" ;;
	preflight) echo "$common --filter --test" ;;
	lend) echo "$common --filter --force --no-reset --wait --dry-run" ;;
	reclaim) echo "$common --filter --force --revoke --wait --dry-run" ;;
	borrow) echo "$common --filter --slot --wait --dry-run" ;;
	return) echo "$common --filter --force --wait --dry-run" ;;
	lspci) echo "$common --raw --verbose" ;;
	config) echo "$common --automatic --dry-run" ;;
	watch) echo "$common --interval --count" ;;
	*) echo "$common" ;;
	esac
}

_devlend()
{
	local verbs='list lend reclaim borrow return show status watch lspci preflight config'
	local verb='' i cur words
	COMPREPLY=()
	# a colon ends a word, as bash sees it: put addresses together again
	cur=${COMP_LINE:0:COMP_POINT}
	cur=${cur##*[[:space:]]}
	for ((i = 1; i < COMP_CWORD; i++)); do
		case " $verbs " in
		*" ${COMP_WORDS[i]} "*) verb=${COMP_WORDS[i]}; break ;;
		esac
	done
	case $cur in
	-*) words=$(_devlend_options "$verb") ;;
	*)
		case $verb in
		'') words=$verbs ;;
		lend) words=$(_devlend_pci) ;;
		reclaim) words=$(_devlend_bus lent-) ;;
		borrow) words=$(_devlend_bus offer-) ;;
		return) words=$(_devlend_bus lease-) ;;
		lspci) words=$(_devlend_bus lent- lease-) ;;
		preflight) words="$(_devlend_pci) $(_devlend_bus lent- offer-)" ;;
		config)
			words='check apply'
			case ${COMP_WORDS[COMP_CWORD - 1]} in
			check | apply) words=$(compgen -f -- "$cur") ;;
			esac
			;;
		show) words=$(_devlend_bus link lent- lease- offer-) ;;
		*) words='' ;;
		esac
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		-f | --filter) words='class= id= slot= driver= host=' ;;
		--sysroot) words=$(compgen -d -- "$cur") ;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	# give back only what follows the last colon
	if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
		COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
	fi
	[[ ${COMPREPLY[0]:-} == *= ]] && compopt -o nospace 2>/dev/null
	return 0
}

complete -F _devlend devlend
