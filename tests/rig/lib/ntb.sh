# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The NTB drivers: Debian's kernels have CONFIG_NTB off, so drivers/ntb of the same
# source is built out of tree, unpatched. ntb/NAME/ then holds the modules and the
# Module.symvers that NTB clients are built with. Also taken from the source: checkpatch.

NTB_OPTIONS='CONFIG_NTB=m CONFIG_NTB_MSI=y CONFIG_NTB_INTEL=m CONFIG_NTB_AMD=m CONFIG_NTB_EPF=m
	CONFIG_NTB_SWITCHTEC=n CONFIG_NTB_IDT=n CONFIG_NTB_TOOL=m CONFIG_NTB_PINGPONG=m
	CONFIG_NTB_PERF=m CONFIG_NTB_TRANSPORT=m'

# build_ntb NAME: needs the kernel's headers in the chroot.
build_ntb()
{
	local name=$1 out=$CACHE/ntb/$1 release
	release=$(cat "$CACHE/debs/$name/release")
	fresh "$out"
	mkdir "$out.new/src"
	unpack_source "$name" "$out.new/src" '*/drivers/ntb/*' '*/drivers/net/ntb_netdev.c' \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
	# The tree's own options come from here: the kernel's configuration has none of them.
	# shellcheck disable=SC2086 # a list of options
	in_chroot make -s -C "/usr/src/linux-headers-$release" M="$out.new/src/drivers/ntb" -j"$(nproc)" \
		KCFLAGS='-DCONFIG_NTB_MODULE=1 -DCONFIG_NTB_MSI=1' CONFIG_DEBUG_INFO_BTF_MODULES= $NTB_OPTIONS modules
	find "$out.new/src/drivers/ntb" -name '*.ko' -exec cp {} "$out.new" \;
	cp "$out.new/src/drivers/ntb/Module.symvers" "$out.new"
	mv "$out.new/src/scripts" "$out.new/scripts"
	rm -rf "$out.new/src"
	settle "$out"
	write_env "$name" "$release" "/usr/src/linux-headers-$release" "$out"
}
