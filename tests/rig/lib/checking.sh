# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The checking kernel: built once from Debian's linux-source with KASAN, lockdep, kmemleak
# and KUnit (checking-kernel.config), NTB drivers in the tree. Its build tree stays in the
# cache: modules for this kernel are built against it.

CHECKING=$CACHE/kernels/checking

# Options of the fragment that the resulting .config does not have.
missing_options()
{
	grep -E '^CONFIG_' "$RIG/checking-kernel.config" | sort -u |
		sed -E 's/^(CONFIG_[A-Z0-9_]+)=n$/# \1 is not set/' |
		while IFS= read -r line; do
			grep -qxF "$line" "$1" && continue
			case $line in
			'#'*) grep -qE "^${line:2:-11}=" "$1" || continue ;;
			esac
			printf '%s\n' "$line"
		done
}

build_checking()
{
	local missing
	fresh "$CHECKING"
	mkdir "$CHECKING.new/build"
	dpkg-deb --fsys-tarfile "$CACHE"/debs/6.12/linux-source-*.deb | tar -xO --wildcards './usr/src/*.tar.*' |
		tar -xJ -C "$CHECKING.new/build" --strip-components=1 --exclude='*/Documentation/*/*' \
			--exclude='*/arch/*/boot/dts/*' --exclude='*/drivers/gpu/drm/amd/include/*'
	# The tree remembers its place: build it where it will stay.
	settle "$CHECKING"
	cp "$RIG/checking-kernel.config" "$CHECKING/fragment"
	# shellcheck disable=SC2164 # errexit is on
	cd "$CHECKING/build"
	in_chroot make ARCH=x86_64 KCONFIG_ALLCONFIG="$CHECKING/fragment" allnoconfig
	missing=$(missing_options .config)
	[ -z "$missing" ] || die "not in the checking kernel's configuration: $missing"
	in_chroot make ARCH=x86_64 -j"$(nproc)" bzImage modules
	in_chroot make ARCH=x86_64 -s kernelrelease >"$CHECKING/release"
	in_chroot make ARCH=x86_64 INSTALL_MOD_PATH="$CHECKING/mods" modules_install
	cp arch/x86/boot/bzImage "$CHECKING/vmlinuz"
	find . -name '*.o' -path './drivers/*' -delete
	# Its own Module.symvers has the NTB symbols.
	mkdir -p "$CACHE/ntb/checking"
	: >"$CACHE/ntb/checking/Module.symvers"
	write_env checking "$(cat "$CHECKING/release")" "$CHECKING/build" "$CACHE/ntb/checking"
}
