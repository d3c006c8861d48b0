#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# enter.sh DIR[:PLACE]... -- COMMAND...: bind each DIR into $CHROOT at its own path or at PLACE, mount
# what programs expect, and run COMMAND there in the current directory (or / if that is not
# visible inside). Called by in_chroot in a new mount namespace; nothing outlives it.
set -euo pipefail

mount --make-rprivate /
while [ "$1" != -- ]; do
	mkdir -p "$CHROOT${1##*:}"
	mount --bind "${1%%:*}" "$CHROOT${1##*:}"
	shift
done
shift
mount -t proc proc "$CHROOT/proc"
mount -t sysfs -o ro sysfs "$CHROOT/sys" 2>/dev/null || true
mount --rbind /dev "$CHROOT/dev"
if [ -e /etc/resolv.conf ]; then
	cat /etc/resolv.conf >"$CHROOT/etc/resolv.conf"
fi
if [ -e /etc/hosts ]; then
	cat /etc/hosts >"$CHROOT/etc/hosts"
fi
here=$PWD
[ -d "$CHROOT$here" ] || here=/
# shellcheck disable=SC2016 # expanded inside
exec chroot "$CHROOT" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" \
	/bin/sh -c 'cd "$0" && exec "$@"' "$here" "$@"
