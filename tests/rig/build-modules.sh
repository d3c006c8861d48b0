#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-modules.sh KERNEL [MAKE ARGUMENT...]: build the project's modules for one of the
# rig's kernels (6.1, 6.12, 7.x, checking), e.g. "build-modules.sh 6.12 C=2". With W=1, and every
# warning an error: what is there to be loaded was built without one.
#
# The sources are copied to build/modules/KERNEL (DEVLEND_MODULES_OUT/KERNEL) first, only what changed: kernels before
# 6.13 can build a module only where its source lies. The compiler is the chroot's, so
# that every host gives the same result, and sees the copy in the same place for every tree, so that ccache (in the
# chroot after "setup.sh check") knows what another tree had compiled. Messages are given with the tree's own paths.
#
# cmd_checkdoc: W=1 would start kernel-doc for each file; tests/check/test_lint.py does once for all.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail

RIG=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$RIG/../.." && pwd)
CACHE=${DEVLEND_CACHE:-/var/cache/devlend}
# shellcheck source=lib/step.sh
. "$RIG/lib/step.sh"
# shellcheck source=lib/chroot.sh
. "$RIG/lib/chroot.sh"

[ $# -ge 1 ] || die "usage: build-modules.sh KERNEL [MAKE ARGUMENT...]"
kernel=$1
shift
env=$CACHE/kernels/$kernel.env
[ -e "$env" ] || die "no kernel $kernel in $CACHE: run tests/rig/setup.sh (demo: 6.12; check: all)"
# shellcheck source=/dev/null
. "$env"

out=${DEVLEND_MODULES_OUT:-$TOP/build/modules}/$kernel
mkdir -p "$out"
exec 9>"$out.lock"
flock 9
# -c and no -t: a file keeps its time unless its content differs, so make rebuilds what must be.
rsync -rlc --delete --delete-excluded \
	--include='/Makefile' --include='/Kbuild*' --include='/dkms.conf' \
	--include='/include/***' --include='/common/***' --include='/lender/***' --include='/borrower/***' \
	--include='/tests/' --include='/tests/kunit/***' --include='/tests/kmod/***' \
	--filter='P *.o' --filter='P *.ko' --filter='P *.mod' --filter='P *.mod.c' --filter='P .*.cmd' \
	--filter='P Module.symvers' --filter='P modules.order' --filter='P .module-common.c' \
	--exclude='*' "$TOP/" "$out/"

target=("$@")
case " $* " in
*' modules '* | *' clean '*) ;;
*) target+=(modules) ;;
esac
place=/devlend/$kernel
ccache=()
if [ -x "$CHROOT/usr/bin/ccache" ]; then
	ccache=(DEBIAN_KERNEL_USE_CCACHE=1)
	# a kernel that is not Debian's
	[ "$kernel" != checking ] || ccache=('CC=ccache gcc')
fi
rc=0
in_chroot -b "$out:$place" env CCACHE_DIR="$CACHE/ccache" CCACHE_MAXSIZE=1G \
	make -C "$place" -s --no-print-directory -j"$(nproc)" \
	KDIR="$KDIR" NTB_SYMVERS="$NTB_SYMVERS" CONFIG_DEBUG_INFO_BTF_MODULES= DEVLEND_TEST_MODULES=m \
	W=1 KCFLAGS=-Werror cmd_checkdoc= "${ccache[@]}" "${target[@]}" \
	> >(sed "s#$place/#$TOP/#g") 2> >(sed "s#$place/#$TOP/#g" >&2) || rc=$?
wait
exit $rc
