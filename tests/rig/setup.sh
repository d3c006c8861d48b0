#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# setup.sh TARGET...: put what the rig needs into the cache, ${DEVLEND_CACHE:-/var/cache/devlend}.
#
#   demo    QEMU, kernel 6.12 with headers and NTB drivers, the guests' userland
#   bench   demo, and what draws the plots of "make bench"
#   check   bench, and: the checking kernel, kernels 6.1 and 7.x, sparse, checkpatch
#   clean   remove the cache
#
# Runs as root on Debian 12 or 13, without a terminal. Every step is skipped when its inputs
# are those of the last time, may be interrupted anywhere, and has a log in the cache. Steps
# that do not need each other run side by side. What each does is in lib/.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail

RIG=$(cd "$(dirname "$0")" && pwd)
CACHE=${DEVLEND_CACHE:-/var/cache/devlend}
export DEBIAN_FRONTEND=noninteractive
# shellcheck source=lib/step.sh
. "$RIG/lib/step.sh"
# shellcheck source=lib/chroot.sh
. "$RIG/lib/chroot.sh"
# shellcheck source=lib/kernels.sh
. "$RIG/lib/kernels.sh"
# shellcheck source=lib/ntb.sh
. "$RIG/lib/ntb.sh"
# shellcheck source=lib/checking.sh
. "$RIG/lib/checking.sh"
# shellcheck source=lib/image.sh
. "$RIG/lib/image.sh"

HOST_PACKAGES='debootstrap gcc make libc6-dev pkg-config libjson-c-dev libpci-dev libcmocka-dev python3 python3-pytest
	python3-pytest-xdist python3-jsonschema groff-base rsync cpio kmod procps xz-utils zstd util-linux'

BENCH_HOST_PACKAGES='gnuplot-nox'

# missing_host_packages PACKAGE...: which of them the host does not have.
missing_host_packages()
{
	local name
	for name in "$@"; do
		dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$name"
	done
}

install_host_packages()
{
	apt-get -q update
	apt-get -q -y -o Dpkg::Use-Pty=false install --no-install-recommends "$@"
}

# host_packages STEP PACKAGE...: install those that the host does not have, if any.
host_packages()
{
	local step=$1
	shift
	if [ -n "$(missing_host_packages "$@")" ]; then
		step "$step" "$SECONDS $RANDOM" install_host_packages "$@"
	fi
}

# A kernel's packages, headers and NTB drivers: what building modules for it takes.
kernel_to_build_with()
{
	local name=$1
	step "debs-$name" "$(text version_in depends_of) ${KERNEL_SUITE[$name]}" fetch_debs "$name"
	step "headers-$name" "$(stamp_of chroot) $(stamp_of "debs-$name")" unpack_headers "$name"
}

kernel_to_boot()
{
	local name=$1
	step "image-$name" "$(stamp_of "debs-$name")" unpack_image "$name"
	step "ntb-$name" "$(text unpack_source out_of_tree write_env) $NTB_OPTIONS $(stamp_of "headers-$name")" build_ntb "$name"
	guest_modules "$name" "image-$name" "ntb-$name"
}

# guest_modules NAME STEP...: after the steps that made the modules.
guest_modules()
{
	local name=$1 after='' stamp
	shift
	for stamp in "$@"; do
		after+=" $(stamp_of "$stamp")"
	done
	step "guest-modules-$name" "$GUEST_MODULES$after" build_guest_modules "$name"
}

userland()
{
	step userland "$(cat "$RIG"/guest/*) $(stamp_of chroot-packages)" build_userland
}

checking_kernel()
{
	step checking "$(text missing_options write_env) $(stamp_of debs-6.12) $(cat "$RIG/checking-kernel.config")" build_checking
	guest_modules checking checking
}

# Ends as a step does: what it started has ended too.
demo()
{
	local -a jobs=()
	# shellcheck disable=SC2086 # a list of packages
	host_packages host-packages $HOST_PACKAGES
	if host_qemu >"$CACHE/qemu.new"; then
		QEMU_PACKAGES=''
		say "using the host's QEMU"
	else
		echo chroot >"$CACHE/qemu.new"
	fi
	mv "$CACHE/qemu.new" "$CACHE/qemu"
	step chroot "$(text mirror apt_settings)" build_chroot
	kernel_to_build_with 6.12 &
	jobs+=($!)
	step chroot-packages "$QEMU_PACKAGES $USERLAND_PACKAGES $BUILD_PACKAGES $(stamp_of chroot)" install_demo_packages &
	jobs+=($!)
	all "${jobs[@]}"
	kernel_to_boot 6.12 &
	jobs=($!)
	userland &
	jobs+=($!)
	all "${jobs[@]}"
}

bench()
{
	demo
	# shellcheck disable=SC2086 # a list of packages
	host_packages bench-host-packages $BENCH_HOST_PACKAGES
}

check()
{
	local -a jobs=()
	local name
	bench
	step check-packages "$CHECK_PACKAGES $(stamp_of chroot)" install_check_packages
	checking_kernel &
	jobs+=($!)
	for name in 6.1 7.x; do
		kernel_to_build_with "$name"
		kernel_to_boot "$name"
	done
	all "${jobs[@]}"
}

clean()
{
	rm -rf "${CACHE:?}"/{qemu,chroot,debs,kernels,ntb,image,ccache,stamps,logs}
}

[ "$(id -u)" = 0 ] || die "must run as root: it makes a chroot"
[ $# -gt 0 ] || die "usage: setup.sh demo|bench|check|clean"
mkdir -p "$CACHE"/{stamps,logs,debs,kernels,ntb}
exec 9>"$CACHE/lock"
flock -n 9 || { say "another set-up is running, waiting for it"; flock 9; }
trap 'trap - INT TERM HUP; kill $(descendants $$) 2>/dev/null; exit 130' INT TERM HUP
for target in "$@"; do
	case $target in
	demo | bench | check | clean) "$target" ;;
	*) die "no target $target: demo, bench, check or clean" ;;
	esac
done
