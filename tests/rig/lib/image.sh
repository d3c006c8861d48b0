# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What guests boot: a small archive for every kernel, and per kernel an archive of the
# modules that tests may want. The kernel unpacks archives one after another, so the
# modules under test are a third one, made for each run (tests/e2e/rig/image.py).
#
#   image/usr.img                a file system, mounted at /usr by all guests
#   image/boot.cpio              the rest of the userland
#   kernels/NAME/modules.cpio    lib/modules/RELEASE, uncompressed, with modules.dep
#   kernels/NAME/tree/           the same as files

# Module files that guests get, with all that they depend on.
GUEST_MODULES='virtio_pci virtio_console virtio_blk virtio_net xhci-pci usb-storage nvme nvmet nvme-tcp nvmet-tcp e1000e igb igbvf
	ahci sd_mod ext4 vfio-pci pci-stub uio uio_pci_generic loop vmd af_packet null_blk
	ntb_hw_intel ntb_hw_amd ntb_hw_epf ntb_hw_switchtec ntb_tool ntb_pingpong ntb_perf
	ntb_transport ntb_netdev'

build_userland()
{
	fresh "$CACHE/image"
	mkdir "$CACHE/image.new/root"
	in_chroot -b "$RIG" "$RIG/guest/files.sh" "$CACHE/image.new"
	rm -rf "$CACHE/image.new/root"
	settle "$CACHE/image"
}

# build_guest_modules NAME: from kernels/NAME/mods and the NTB drivers.
build_guest_modules()
{
	local dir=$CACHE/kernels/$1 release from to file
	release=$(ls "$dir/mods/lib/modules")
	from=$dir/mods/lib/modules/$release
	to=$dir/tree/lib/modules/$release
	rm -rf "$dir/tree"
	mkdir -p "$to"
	rm -rf "$from/extra"
	mkdir -p "$from/extra"
	find "$CACHE/ntb/$1" -maxdepth 1 -name '*.ko' -exec cp {} "$from/extra" \;
	find "$from/extra" -name '*.ko' -exec strip --strip-debug {} +
	depmod -b "$dir/mods" "$release"
	# shellcheck disable=SC2086 # a list of modules
	for file in $(modprobe -d "$dir/mods" -S "$release" -a -D $GUEST_MODULES 2>/dev/null |
			sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u); do
		file=${file#"$from/"}
		file=${file#*/lib/modules/"$release"/}
		mkdir -p "$to/$(dirname "$file")"
		case $file in
		*.xz) xz -dc "$from/$file" >"$to/${file%.xz}" ;;
		*.zst) zstd -qdc "$from/$file" >"$to/${file%.zst}" ;;
		*) cp "$from/$file" "$to/$file" ;;
		esac
	done
	for file in modules.builtin modules.builtin.modinfo modules.order; do
		[ ! -e "$from/$file" ] || cp "$from/$file" "$to"
	done
	depmod -b "$dir/tree" "$release"
	( cd "$dir/tree" && find lib -print0 | LC_ALL=C sort -z |
		cpio --null --create --quiet --format=newc --owner=0:0 ) >"$dir/modules.cpio.new"
	mv "$dir/modules.cpio.new" "$dir/modules.cpio"
}
