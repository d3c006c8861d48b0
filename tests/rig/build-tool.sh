#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-tool.sh [MAKE ARGUMENT...]: build the devlend tool for the guests, with the chroot's compiler
# and libraries, as build/tool-guest/devlend.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail

RIG=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$RIG/../.." && pwd)
CACHE=${DEVLEND_CACHE:-/var/cache/devlend}
# shellcheck source=lib/step.sh
. "$RIG/lib/step.sh"
# shellcheck source=lib/chroot.sh
. "$RIG/lib/chroot.sh"

[ -e "$CHROOT/usr/lib/x86_64-linux-gnu/pkgconfig/libpci.pc" ] || die "no libpci-dev in $CHROOT: run tests/rig/setup.sh demo"
mkdir -p "$TOP/build/tool-guest"
exec 9>"$TOP/build/tool-guest.lock"
flock 9
in_chroot -b "$TOP" make -C "$TOP/tools/devlend" -s --no-print-directory O="$TOP/build/tool-guest" "$@"
