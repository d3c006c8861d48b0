# SPDX-License-Identifier: GPL-2.0
"""Where things are: the tree, the cache that tests/rig/setup.sh fills, a kernel's files."""

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
BUILD = TOP / "build"
CACHE = Path(os.environ.get("DEVLEND_CACHE", "/var/cache/devlend"))
CHROOT = CACHE / "chroot"
LIBDIR = "usr/lib/x86_64-linux-gnu"


class SetupMissing(Exception):
    """Something that setup.sh or make would have made is not there."""


@dataclass(frozen=True)
class Kernel:
    """One of the rig's kernels: "6.1", "6.12", "7.x" or "checking"."""

    name: str
    release: str

    @property
    def dir(self):
        return CACHE / "kernels" / self.name

    @property
    def image(self):
        return self.dir / "vmlinuz"

    @property
    def modules_cpio(self):
        return self.dir / "modules.cpio"

    @property
    def modules_tree(self):
        return self.dir / "tree"

    @property
    def built_modules(self):
        """The project's modules as build-modules.sh left them; maybe none."""
        return modules_in(BUILD / "modules" / self.name)


def modules_in(folder):
    return sorted(folder.glob("**/*.ko"))


def kernel(name):
    """Look a kernel up; the error says how to get it."""
    env = CACHE / "kernels" / f"{name}.env"
    try:
        found = re.search(r"^KRELEASE='(.*)'$", env.read_text(), re.M)
    except FileNotFoundError:
        target = "demo" if name == "6.12" else "check"
        raise SetupMissing(f"no kernel {name} in {CACHE}: run tests/rig/setup.sh {target}") from None
    return Kernel(name, found.group(1))


def qemu_command():
    """QEMU's argv so far: the host's where setup.sh found it new enough, else the chroot's,
    started through the chroot's own loader, so that it sees the host's files and its
    process is the one that was started."""
    choice = CACHE / "qemu"
    if choice.exists() and choice.read_text().strip() != "chroot":
        return [choice.read_text().strip()]
    loader = CHROOT / "usr/lib64/ld-linux-x86-64.so.2"
    binary = CHROOT / "usr/bin/qemu-system-x86_64"
    if not binary.exists():
        raise SetupMissing(f"no QEMU in {CACHE}: run tests/rig/setup.sh demo")
    return [str(loader), "--library-path", str(CHROOT / LIBDIR), "--argv0", "qemu-system-x86_64", str(binary),
            "-L", str(CHROOT / "usr/share/qemu"), "-L", str(CHROOT / "usr/share/seabios")]


def qemu_environment():
    """The chroot's QEMU finds its loadable parts; the host's looks elsewhere by itself."""
    if not qemu_command()[0].startswith(str(CHROOT)):
        return dict(os.environ)
    return dict(os.environ, QEMU_MODULE_DIR=str(CHROOT / LIBDIR / "qemu"))


def ntbsim_binary():
    binary = Path(os.environ.get("DEVLEND_NTBSIM", BUILD / "ntbsim" / "ntbsim"))
    if not binary.exists():
        raise SetupMissing(f"no {binary}: run make -C tools/ntbsim")
    return binary


def scratch_dir(base):
    """A folder of this run with a short name; those of killed runs are removed."""
    for old in Path(base).glob("devlend-*-*"):
        pid = old.name.split("-")[1]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"devlend-{os.getpid()}-", dir=base))


def socket_dir():
    """For sockets, whose paths have room for 107 bytes."""
    return scratch_dir("/tmp")
