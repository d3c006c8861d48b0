# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Steps: what setup.sh is made of. A step is a shell function that puts something into
# the cache. It is run once for each state of its inputs: the stamp beside it holds a
# hash of the function's own text and of whatever else the caller names. Its output goes
# to a log, one line goes to the terminal. A step builds beside its place and renames, so
# that an interrupted run leaves nothing half done.
#
# Sourced by setup.sh and build-modules.sh. Uses CACHE, set by the caller.

# say TEXT...: one line for a person.
say()
{
	printf 'rig: %s\n' "$*"
}

die()
{
	printf 'rig: error: %s\n' "$*" >&2
	exit 1
}

# text FUNCTION...: what functions say, for the INPUTS of a step that calls them.
text()
{
	declare -f "$@"
}

# stamp_of NAME: the hash that a finished step left, for steps that depend on it.
stamp_of()
{
	cat "$CACHE/stamps/$1" 2>/dev/null || echo none
}

# step NAME INPUTS FUNCTION [ARGUMENT...]: unless that was done with these inputs, this text
# of the function and these arguments already.
step()
{
	local name=$1 key log start=$SECONDS rc=0
	key=$({ printf '%s\n' "$@"; text "$3"; } | sha256sum | cut -c1-32)
	shift 2
	if [ "$(stamp_of "$name")" = "$key" ]; then
		say "$name: cached"
		return 0
	fi
	log=$CACHE/logs/$name.log
	rm -f "$CACHE/stamps/$name"
	# A function called under || or if runs without errexit: hence the subshell and wait.
	( set -euo pipefail; set -x; "$@" ) >"$log" 2>&1 </dev/null &
	wait $! || rc=$?
	if [ "$rc" != 0 ]; then
		say "$name: FAILED (status $rc), the end of $log:"
		tail -n 40 "$log" | sed 's/^/    /'
		return 1
	fi
	printf '%s\n' "$key" >"$CACHE/stamps/$name.new"
	mv "$CACHE/stamps/$name.new" "$CACHE/stamps/$name"
	say "$name: done ($((SECONDS - start)) s)"
}

# all PID...: wait for every job; fail if one failed, when all have ended.
all()
{
	local pid failed=0
	for pid in "$@"; do
		wait "$pid" || failed=1
	done
	return $failed
}

# descendants PID: all processes that it started, deepest first.
descendants()
{
	local child
	for child in $(pgrep -P "$1"); do
		descendants "$child"
		printf '%s\n' "$child"
	done
}

# fresh DIR: an empty directory beside DIR to build in; renamed by settle.
fresh()
{
	rm -rf "$1.new"
	mkdir -p "$1.new"
}

# settle DIR: what was built beside DIR takes its place.
settle()
{
	rm -rf "$1.old"
	if [ -e "$1" ]; then
		mv "$1" "$1.old"
	fi
	mv "$1.new" "$1"
	rm -rf "$1.old"
}
