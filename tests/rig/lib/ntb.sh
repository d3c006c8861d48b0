# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The NTB drivers: Debian's kernels have CONFIG_NTB off, so drivers/ntb of the same
# source is built out of tree, unpatched. ntb/NAME/ then holds the modules, ntb_netdev among
# them, and the Module.symvers that NTB clients are built with. Also taken from the source:
# checkpatch, and the kernel's own test of NTBs, ntb_test.sh.

NTB_OPTIONS='CONFIG_NTB=m CONFIG_NTB_MSI=y CONFIG_NTB_INTEL=m CONFIG_NTB_AMD=m CONFIG_NTB_EPF=m
	CONFIG_NTB_SWITCHTEC=n CONFIG_NTB_IDT=n CONFIG_NTB_TOOL=m CONFIG_NTB_PINGPONG=m
	CONFIG_NTB_PERF=m CONFIG_NTB_TRANSPORT=m'

# out_of_tree RELEASE DIR [MAKE ARGUMENT...]: modules of DIR, for a kernel that has no CONFIG_NTB.
out_of_tree()
{
	local release=$1 dir=$2
	shift 2
	in_chroot make -s -C "/usr/src/linux-headers-$release" M="$dir" -j"$(nproc)" \
		KCFLAGS='-DCONFIG_NTB_MODULE=1 -DCONFIG_NTB_MSI=1' CONFIG_DEBUG_INFO_BTF_MODULES= "$@" modules
}

# build_ntb NAME: needs the kernel's headers in the chroot.
build_ntb()
{
	local name=$1 out=$CACHE/ntb/$1 release
	release=$(cat "$CACHE/debs/$name/release")
	fresh "$out"
	mkdir "$out.new/src"
	unpack_source "$name" "$out.new/src" '*/drivers/ntb/*' '*/drivers/net/ntb_netdev.c' \
		'*/tools/testing/selftests/ntb/ntb_test.sh' '*/scripts/checkpatch.pl' \
		'*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
	# The tree's own options come from here: the kernel's configuration has none of them.
	# shellcheck disable=SC2086 # a list of options
	out_of_tree "$release" "$out.new/src/drivers/ntb" $NTB_OPTIONS
	cp "$out.new/src/drivers/ntb/Module.symvers" "$out.new"
	echo 'obj-m := ntb_netdev.o' >"$out.new/src/drivers/net/Makefile"
	out_of_tree "$release" "$out.new/src/drivers/net" KBUILD_EXTRA_SYMBOLS="$out.new/Module.symvers"
	find "$out.new/src/drivers" -name '*.ko' -exec cp {} "$out.new" \;
	cp "$out.new/src/tools/testing/selftests/ntb/ntb_test.sh" "$out.new"
	mv "$out.new/src/scripts" "$out.new/scripts"
	rm -rf "$out.new/src"
	settle "$out"
	write_env "$name" "$release" "/usr/src/linux-headers-$release" "$out"
}
