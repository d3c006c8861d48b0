# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Kernels: Debian's packages of one kernel taken apart into the cache. Nothing is
# installed as a package, so no hook runs and kernels of several releases sit side by
# side. What a kernel leaves:
#
#   debs/NAME/            its packages, and "release"
#   kernels/NAME/vmlinuz  what guests boot, and mods/ with all of its modules
#   kernels/NAME.env      how to build modules for it, see write_env
#
# The headers go into the chroot, since they name each other by absolute paths.

# Which suite has which kernel. The checking kernel is made from the source of 6.12.
declare -A KERNEL_SUITE=([6.12]=trixie [6.1]=bookworm [7.x]=trixie-backports)

# version_in SUITE PACKAGE: the version that SUITE has.
version_in()
{
	in_chroot apt-cache madison "$2" |
		awk -v suite="$1/main" '$6 == suite { print $3; exit }'
}

# depends_of PACKAGE VERSION REGEX: the first dependency that matches, or nothing.
depends_of()
{
	in_chroot apt-cache show "$1=$2" |
		sed -nE 's/^(Pre-)?Depends: //p' | tr ',' '\n' | sed 's/^ *//; s/ .*//' | grep -E -m1 "$3" || true
}

# fetch_debs NAME: image, headers and source of one kernel. Newer images are split.
fetch_debs()
{
	local name=$1 suite=${KERNEL_SUITE[$1]} out=$CACHE/debs/$1
	local version image headers common kbuild source part
	local -a wanted=()
	version=$(version_in "$suite" linux-headers-amd64)
	[ -n "$version" ] || die "$suite has no linux-headers-amd64"
	image=$(depends_of linux-image-amd64 "$version" '^linux-image-[0-9]')
	headers=$(depends_of linux-headers-amd64 "$version" '^linux-headers-[0-9]')
	version=$(version_in "$suite" "$headers")
	common=$(depends_of "$headers" "$version" '^linux-headers-.*-common$')
	kbuild=$(depends_of "$headers" "$version" '^linux-kbuild-')
	source=linux-source-$(printf '%s\n' "$version" | grep -oE '^[0-9]+\.[0-9]+')
	wanted=("$headers=$version" "$common=$version" "$kbuild=$version" "$source=$version" "$image/$suite")
	for part in base binary modules; do
		part=$(depends_of "$image" "$version" "^linux-$part-[0-9]")
		[ -z "$part" ] || wanted+=("$part/$suite")
	done
	fresh "$out"
	printf '%s\n' "${headers#linux-headers-}" >"$out.new/release"
	# shellcheck disable=SC2164 # errexit is on
	cd "$out.new"
	in_chroot apt-get -q -o APT::Sandbox::User=root download "${wanted[@]}"
	settle "$out"
}

# unpack_headers NAME: into the chroot.
unpack_headers()
{
	local deb
	for deb in "$CACHE/debs/$1"/linux-headers-*.deb "$CACHE/debs/$1"/linux-kbuild-*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$CHROOT" --keep-directory-symlink --exclude='./usr/share/doc*'
	done
}

# unpack_image NAME: the kernel and all of its modules.
unpack_image()
{
	local name=$1 out=$CACHE/kernels/$1 deb release
	release=$(cat "$CACHE/debs/$name/release")
	fresh "$out"
	mkdir "$out.new/all"
	for deb in "$CACHE/debs/$name"/linux-{image,base,binary,modules}-*.deb; do
		[ -e "$deb" ] || continue
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$out.new/all" --exclude='./usr/share/doc*' \
			--exclude='*/drivers/gpu/*' --exclude='*/drivers/media/*' --exclude='*/sound/*'
	done
	# Where they lie differs between releases.
	find "$out.new/all" -name "vmlinuz-$release" -o -path '*/modules/*/vmlinuz' |
		head -n1 | xargs -I{} mv {} "$out.new/vmlinuz"
	mkdir -p "$out.new/mods/lib/modules"
	find "$out.new/all" -type d -path "*lib/modules/$release" |
		head -n1 | xargs -I{} mv {} "$out.new/mods/lib/modules/"
	[ -e "$out.new/vmlinuz" ] && [ -d "$out.new/mods/lib/modules/$release/kernel" ]
	rm -rf "$out.new/all"
	settle "$out"
}

# unpack_source NAME DIR PATTERN...: parts of its linux-source, without the top folder.
unpack_source()
{
	local name=$1 dir=$2
	shift 2
	dpkg-deb --fsys-tarfile "$CACHE/debs/$name"/linux-source-*.deb |
		tar -xO --wildcards './usr/src/linux-source-*.tar.*' |
		xz -dc -T0 | tar -x -C "$dir" --strip-components=1 --wildcards "$@"
}

# write_env NAME RELEASE KDIR NTB: how to build modules for this kernel, as shell text.
# Builds run inside the chroot, see build-modules.sh.
write_env()
{
	local file=$CACHE/kernels/$1.env
	cat >"$file.new" <<-EOF
	KRELEASE='$2'
	KDIR='$3'
	NTB_SYMVERS='$4/Module.symvers'
	NTB_MODULES='$4'
	EOF
	mv "$file.new" "$file"
}
