#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# files.sh DIR: fill DIR/root with the guests' userland, taken from the Debian system that
# this runs in (the chroot), and pack it: DIR/usr.img is a file system for /usr, read only
# and shared by all guests; DIR/boot.cpio is the rest, with a busybox that mounts it.
set -euo pipefail

out=$1 dir=$1/root
here=$(cd "$(dirname "$0")" && pwd)

programs='bash nvme fio lspci setpci mkfs.ext4 e2fsck tune2fs ip ss ethtool kmod strace
	lsblk blkid mount umount findmnt losetup dmesg flock taskset chrt lscpu fallocate
	unshare nsenter ps top free vmstat pgrep pkill sysctl hdparm stat dd od cmp sha256sum
	timeout iperf3 kexec systemctl udevadm
	/usr/lib/systemd/systemd /usr/lib/systemd/systemd-executor /usr/lib/systemd/systemd-shutdown'
# of programs that tests bring along (the devlend tool), and what systemd opens when it wants it
libraries='libjson-c.so.5 libpci.so.3 libkmod.so.2'
# Of systemd what starts udev and the project's units, and ends them in order.
units='default.target multi-user.target basic.target sysinit.target sockets.target timers.target paths.target slices.target
	local-fs.target swap.target shutdown.target umount.target final.target reboot.target systemd-reboot.service
	systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udev-trigger.service'
rules='50-udev-default.rules 80-drivers.rules 99-systemd.rules'

mkdir -p "$dir"/{dev,proc,sys,run,tmp,root,mnt,etc,lib,rig,var/lib,var/log,usr/bin,usr/sbin,usr/lib,usr/lib64,usr/share/misc}
for link in bin sbin lib64; do
	ln -s "usr/$link" "$dir/$link"
done
# lib itself is a folder: modules are needed before /usr is there
ln -s ../usr/lib/x86_64-linux-gnu "$dir/lib/x86_64-linux-gnu"
ln -s /run "$dir/var/run"
ln -s /run/local "$dir/usr/local"

copy()
{
	local to=$dir$1
	[ -e "$to" ] || { mkdir -p "$(dirname "$to")" && cp -L "$1" "$to"; }
}

for name in $programs; do
	path=$(command -v "$name") || { echo "no $name" >&2; exit 1; }
	path=$(readlink -f "$(dirname "$path")")/$(basename "$name")
	copy "$path"
	# A script has no libraries, and ldd says so by failing.
	for lib in $(ldd "$path" 2>/dev/null | grep -oE '/[^ )]+' || true); do
		copy "$(readlink -f "$(dirname "$lib")")/$(basename "$lib")"
	done
done
for name in $libraries; do
	path=$(ldconfig -p | awk -v name="$name" '$1 == name { print $NF; exit }')
	[ -n "$path" ] || { echo "no $name" >&2; exit 1; }
	copy "$(readlink -f "$(dirname "$path")")/$name"
done
for name in modprobe insmod rmmod lsmod modinfo depmod; do
	ln -sf ../bin/kmod "$dir/usr/sbin/$name"
done
ln -sf mkfs.ext4 "$dir/usr/sbin/mkfs.ext3"
ln -s ../../bin/udevadm "$dir/usr/lib/systemd/systemd-udevd"
for name in $units; do
	copy "/usr/lib/systemd/system/$name"
done
for name in sysinit.target.wants/systemd-udevd.service sysinit.target.wants/systemd-udev-trigger.service \
		sockets.target.wants/systemd-udevd-control.socket sockets.target.wants/systemd-udevd-kernel.socket; do
	mkdir -p "$dir/usr/lib/systemd/system/$(dirname "$name")"
	ln -s "../$(basename "$name")" "$dir/usr/lib/systemd/system/$name"
done
for name in $rules; do
	copy "/usr/lib/udev/rules.d/$name"
done
copy /etc/mke2fs.conf
copy /usr/share/misc/pci.ids

# Not busybox: its shell takes its own lspci, ip and mount for the real ones.
ln -s bash "$dir/usr/bin/sh"
cp /usr/bin/busybox "$dir/usr/bin/busybox"
for name in $(busybox --list); do
	[ -e "$dir/usr/bin/$name" ] || [ -e "$dir/usr/sbin/$name" ] || ln -s busybox "$dir/usr/bin/$name"
done
ldconfig -r "$dir" 2>/dev/null

printf 'root:x:0:0:root:/root:/bin/sh\n' >"$dir/etc/passwd"
printf 'root:x:0:\n' >"$dir/etc/group"
printf '127.0.0.1 localhost\n' >"$dir/etc/hosts"
printf 'hosts: files\n' >"$dir/etc/nsswitch.conf"
ln -s /proc/mounts "$dir/etc/mtab"

gcc -O2 -Wall -Werror -static -s -o "$dir/rig/agent" "$here/agent.c"
cp /usr/bin/busybox "$dir/rig/busybox"
cp "$here/init" "$dir/rig/init"
cp "$here/mount-usr" "$dir/init"
chmod 755 "$dir/init" "$dir/rig/init"

mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$dir/usr" "$out/usr.img" 160M
rm -rf "${dir:?}/usr"
mkdir "$dir/usr"
cd "$dir"
find . -print0 | LC_ALL=C sort -z | cpio --null --create --quiet --format=newc --owner=0:0 --file="$out/boot.cpio"
