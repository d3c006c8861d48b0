# SPDX-License-Identifier: GPL-2.0
"""What a guest boots from.

The initrd is three archives in a row: what mounts /usr and the kernel's modules, both from
the cache, and the project's own modules with a modules.dep that knows them. It is made
when one of them changed and shared by all guests of that kernel, as is the disk with /usr.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .paths import BUILD, CACHE, SetupMissing


def initrd(kernel, with_modules=True):
    """The initrd for guests of a kernel, with the project's modules as they are now."""
    own = kernel.built_modules if with_modules else []
    parts = [_must_exist(CACHE / "image" / "boot.cpio"), _must_exist(kernel.modules_cpio)]
    key = hashlib.sha256()
    for path in parts + own:
        stat = path.stat()
        key.update(f"{path} {stat.st_mtime_ns} {stat.st_size}\n".encode())
    out = BUILD / "rig" / f"{kernel.name}-{key.hexdigest()[:16]}.initrd"
    if out.exists():
        os.utime(out)
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=out.parent, prefix=".", delete=False) as new:
        for part in parts:
            with open(part, "rb") as f:
                shutil.copyfileobj(f, new, 1 << 20)
        if own:
            new.write(_modules_archive(kernel, own))
    os.replace(new.name, out)
    _forget_old(kernel, out.parent)
    return out


def with_tree(archive, tree, out):
    """An initrd for one guest: that archive, and a folder's files over it."""
    names = sorted(str(path.relative_to(tree)) for path in tree.rglob("*"))
    with open(out, "wb") as new:
        new.write(archive.read_bytes())
        new.flush()
        subprocess.run(["cpio", "--create", "--quiet", "--format=newc", "--owner=0:0"], cwd=tree,
                       input="\n".join(names).encode(), stdout=new, check=True)
    return out


def usr_disk():
    """QEMU's arguments for the disk that guests mount at /usr."""
    path = _must_exist(CACHE / "image" / "usr.img")
    return ["-drive", f"if=none,id=usr,file={path},format=raw,readonly=on", "-device", "virtio-blk-pci,drive=usr,addr=4"]


def _must_exist(path):
    if not path.exists():
        raise SetupMissing(f"no {path}: run tests/rig/setup.sh")
    return path


def _modules_archive(kernel, own):
    """A cpio of the project's modules, as depmod would install them."""
    with tempfile.TemporaryDirectory(prefix="devlend-modules-") as tmp:
        tree = Path(tmp) / "tree"
        shutil.copytree(kernel.modules_tree, tree, copy_function=_link)
        where = tree / "lib" / "modules" / kernel.release
        (where / "updates").mkdir(exist_ok=True)
        for path in own:
            # debug information is most of a module, and guests have no use for it
            subprocess.run(["strip", "--strip-debug", "-o", where / "updates" / path.name, path], check=True)
        for path in where.glob("modules.*"):
            if not path.name.startswith(("modules.builtin", "modules.order")):
                path.unlink()
        subprocess.run(["depmod", "-b", str(tree), kernel.release], check=True)
        relative = where.relative_to(tree)
        names = [str(relative / "updates")]
        names += [str(p.relative_to(tree)) for p in sorted((where / "updates").iterdir())]
        names += [str(p.relative_to(tree)) for p in sorted(where.glob("modules.*"))]
        cpio = subprocess.run(["cpio", "--create", "--quiet", "--format=newc", "--owner=0:0"], cwd=tree,
                              input="\n".join(names).encode(), stdout=subprocess.PIPE, check=True)
        return cpio.stdout


def _link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _forget_old(kernel, where, keep=3):
    """QEMU maps the file: removing one that runs is safe."""
    found = sorted(where.glob(f"{kernel.name}-*.initrd"), key=lambda p: p.stat().st_mtime)
    for path in found[:-keep]:
        path.unlink(missing_ok=True)


def raw_image(path, size, content=None):
    """A sparse disk image; content, if given, is written at its start."""
    with open(path, "wb") as f:
        f.truncate(size)
        if content:
            f.write(content)
    return path
