# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The Debian 13 chroot: where QEMU, the compilers and the guests' userland come from,
# so that the rig is the same on every host. Nothing is ever mounted in the host's own
# view: in_chroot works in a mount namespace of its own, which ends with the command.
#
# The mirror is the one the host's apt uses; DEVLEND_MIRROR overrides it.

CHROOT=$CACHE/chroot

# The mirror of the host's main Debian archive, whichever format its sources have.
mirror()
{
	local uri
	if [ -n "${DEVLEND_MIRROR:-}" ]; then
		printf '%s\n' "$DEVLEND_MIRROR"
		return
	fi
	# shellcheck disable=SC2016 # apt's own format
	uri=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
		awk '$2 ~ /^(bookworm|trixie|stable|oldstable|testing|forky|sid)$/ { print $1; exit }')
	case $uri in
	mirror+file:*)
		uri=$(grep -oE '^https?://[^[:space:]]+' "${uri#mirror+file:}" | head -n1)
		;;
	esac
	[ -n "$uri" ] || die "no Debian archive in apt's sources; set DEVLEND_MIRROR=http://..."
	printf '%s\n' "${uri%/}"
}

# The host's settings for reaching the archive (a proxy, a clock that is off), for the chroot.
apt_settings()
{
	apt-config dump | grep -E '^Acquire::(https?|Check-|Retries)[^ ]* "' || true
	printf '%s\n' \
		'APT::Install-Recommends "false";' \
		'Acquire::Languages "none";' \
		'Acquire::Retries "3";' \
		'Dpkg::Use-Pty "false";'
}

# in_chroot [-b DIR[:PLACE]]... COMMAND...: run inside, DIRs visible at their own paths, or at PLACE.
in_chroot()
{
	local -a dirs=("$CACHE")
	while [ "${1:-}" = -b ]; do
		dirs+=("$2")
		shift 2
	done
	CHROOT=${CHROOT_OVERRIDE:-$CHROOT} unshare --mount --fork --kill-child "$RIG/lib/enter.sh" "${dirs[@]}" -- "$@"
}

apt_in_chroot()
{
	in_chroot env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@"
}

# host_qemu: the host's own QEMU, if it is new enough to be used.
host_qemu()
{
	local qemu version
	qemu=$(command -v qemu-system-x86_64) || return 1
	version=$("$qemu" --version | sed -n 's/.*version \([0-9.]*\).*/\1/p' | head -n1)
	[ "$(printf '%s\n' 11.1 "$version" | sort -V | head -n1)" = 11.1 ] || return 1
	"$qemu" -device help 2>&1 | grep -q '"vfio-user-pci"' || return 1
	printf '%s\n' "$qemu"
}

# From backports, with what they need from there.
QEMU_PACKAGES='qemu-system-x86 qemu-utils'
USERLAND_PACKAGES='busybox-static nvme-cli fio pciutils e2fsprogs kmod iproute2 procps util-linux
	ethtool hdparm strace iperf3 kexec-tools systemd udev'
BUILD_PACKAGES='gcc make libc6-dev pkg-config libjson-c-dev libpci-dev cpio xz-utils zstd'
CHECK_PACKAGES='gcc-12 ccache bc flex bison libssl-dev sparse shellcheck perl python3 rsync zsh
	dkms dpkg-dev debhelper dh-dkms lintian'

build_chroot()
{
	local url
	url=$(mirror)
	fresh "$CHROOT"
	# It mounts: in a namespace of its own, so that an interruption leaves no mount.
	unshare --mount --fork --kill-child debootstrap --variant=minbase --include=ca-certificates trixie "$CHROOT.new" "$url"
	apt_settings >"$CHROOT.new/etc/apt/apt.conf.d/90rig"
	cat >"$CHROOT.new/etc/apt/sources.list" <<-EOF
	deb $url trixie main
	deb $url trixie-backports main
	deb $url bookworm main
	EOF
	printf 'Package: *\nPin: release n=bookworm\nPin-Priority: 50\n' >"$CHROOT.new/etc/apt/preferences.d/rig"
	printf '%s\n' force-unsafe-io 'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/man/*' \
		'path-exclude=/usr/share/locale/*' 'path-exclude=/usr/share/info/*' \
		>"$CHROOT.new/etc/dpkg/dpkg.cfg.d/rig"
	printf '#!/bin/sh\nexit 101\n' >"$CHROOT.new/usr/sbin/policy-rc.d"
	chmod 755 "$CHROOT.new/usr/sbin/policy-rc.d"
	CHROOT_OVERRIDE=$CHROOT.new apt_in_chroot update
	settle "$CHROOT"
}

# install_packages PACKAGE...: picks up where an interrupted run stopped.
install_packages()
{
	in_chroot dpkg --configure -a
	apt_in_chroot install "$@"
}

# shellcheck disable=SC2086 # lists of packages
install_demo_packages()
{
	install_packages -t trixie-backports $QEMU_PACKAGES
	install_packages $USERLAND_PACKAGES $BUILD_PACKAGES
}

# shellcheck disable=SC2086 # a list of packages
install_check_packages()
{
	install_packages -t trixie-backports libelf-dev pahole
	install_packages $CHECK_PACKAGES
}
