# SPDX-License-Identifier: GPL-2.0
"""What is installed, and the modules as DKMS builds them: from the installed sources, in the rig's chroot, with
folders of its own; and Debian packages of both, built there."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from rig import paths

TOOL = paths.TOP / "tools/devlend"
INSTALLED = {"sbin/devlend": None, "share/devlend/schema.json": "schema.json", "share/man/man8/devlend.8": "devlend.8",
             "share/bash-completion/completions/devlend": "completion/devlend.bash",
             "share/zsh/site-functions/_devlend": "completion/_devlend",
             "lib/udev/rules.d/90-devlend.rules": "system/90-devlend.rules",
             "lib/systemd/system/devlend.service": None, "lib/systemd/system/devlend-apply@.service": None}
DOCS = {str(path.relative_to(paths.TOP / "Documentation")): path for path in (paths.TOP / "Documentation").rglob("*")
        if path.is_file()} | {"README.md": paths.TOP / "README.md"}
# what DKMS calls its own, away from that of the chroot: /var/lib/dkms also holds keys
OWN_FOLDER = "mount -t tmpfs tmpfs /var/lib/dkms && exec \"$@\""


def version():
    """That of dkms.conf, from which the others take it."""
    return re.search(r'^PACKAGE_VERSION="(.*)"', (paths.TOP / "dkms.conf").read_text(), re.M).group(1)


@pytest.mark.parametrize("prefix", ["/usr", "/usr/local"])
def test_install(command, tmp_path, prefix):
    """Each file where it belongs, and nothing else; no file for others to write."""
    done = command("make", "-s", "install", f"DESTDIR={tmp_path}", *([f"PREFIX={prefix}"] * (prefix == "/usr")))
    assert done.returncode == 0, done.stdout
    found = {str(path.relative_to(f"{tmp_path}{prefix}")): path for path in tmp_path.rglob("*") if path.is_file()}
    for name, source in DOCS.items():
        path = found.pop(f"share/doc/devlend/{name}")
        assert path.stat().st_mode & 0o777 == 0o644 and path.read_bytes() == source.read_bytes(), name
    assert set(found) == set(INSTALLED)
    for name, path in found.items():
        assert path.stat().st_mode & 0o777 == (0o755 if "sbin" in name else 0o644), name
        assert INSTALLED[name] is None or path.read_bytes() == (TOOL / INSTALLED[name]).read_bytes(), name
    said = subprocess.run([found["sbin/devlend"], "--version"], check=True, capture_output=True, text=True).stdout
    assert said == f"devlend {version()}\n"


def test_units_and_rules(command):
    """systemd and udev find nothing wrong with them, nor any command that is not there."""
    root = paths.BUILD / "install"
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["make", "-s", "install", f"DESTDIR={root}", f"PREFIX={root}/usr"], cwd=paths.TOP, check=True)
    found = {name.rsplit("/", 1)[-1]: f"{root}{root}/usr/{name}" for name in INSTALLED}
    for unit in ("devlend.service", "devlend-apply@.service"):
        text = Path(found[unit]).read_text()
        assert f"ExecStart={root}/usr/sbin/devlend config apply --automatic\n" in text
    checks = [["udevadm", "verify", found["90-devlend.rules"]],
              ["systemd-analyze", "verify", "--man=no", found["devlend.service"], found["devlend-apply@.service"]]]
    # the tool where the units say that it is
    shutil.copytree(f"{root}{root}/usr", root / "usr")
    for check in checks:
        done = in_chroot(command, *check)
        assert done.returncode == 0 and "devlend" not in done.stdout.replace(str(root), ""), done.stdout
    shutil.rmtree(root)


def test_pages_that_are_named_are_installed():
    """A message, or the manual page, sends nobody to a page that is not there."""
    texts = [path.read_text() for path in [*TOOL.glob("*.c"), TOOL / "devlend.8"]]
    named = {name for text in texts for name in re.findall(r"[\w-]+\.rst", text.replace("\\-", "-"))}
    assert {"quick-start.rst", "porting.rst", "troubleshooting.rst"} <= named <= set(DOCS)


def test_one_version():
    """The manual page cannot take it from dkms.conf."""
    assert f'"devlend {version()}"' in (TOOL / "devlend.8").read_text()


@pytest.fixture(scope="module")
def sources():
    """The tree's own build folder, since the chroot sees that: the sources as they are installed for DKMS."""
    root = paths.BUILD / "dkms"
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["make", "-s", "install-dkms", f"DESTDIR={root}"], cwd=paths.TOP, check=True)
    yield root / "usr/src"
    shutil.rmtree(root)


def settings(kernel):
    """How to build for a kernel of the rig."""
    return dict(re.findall(r"^(\w+)='(.*)'$", (paths.CACHE / f"kernels/{kernel}.env").read_text(), re.M))


def in_chroot(command, *argv):
    """Run a command in the rig's chroot."""
    return command("env", f"CHROOT={paths.CHROOT}", "unshare", "--mount", "--fork", "--kill-child",
                   "tests/rig/lib/enter.sh", paths.CACHE, paths.TOP, "--", *argv)


def dkms_build(command, sources, kernel, symvers):
    """Add and build, as an operator does; returns the process and the log of make."""
    env = settings(kernel)
    tree = sources.parent / f"dkms-{kernel}{'' if symvers else '-bare'}"
    (tree / "tree").mkdir(parents=True)
    dkms = ["dkms", "build", "-m", "devlend", "-v", version(), "-k", env["KRELEASE"], "-a", "x86_64",
            "--kernelsourcedir", env["KDIR"], "--dkmstree", tree / "tree", "--sourcetree", sources,
            "--installtree", tree / "modules"]
    named = [f"NTB_SYMVERS={env['NTB_SYMVERS']}"] if symvers else []
    done = in_chroot(command, "sh", "-ec", OWN_FOLDER, "sh", "env", *named, *dkms)
    logs = [path.read_text() for path in tree.rglob("make.log")]
    return done, logs[0] if logs else "", tree


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
def test_dkms_build(command, sources, kernel):
    """All three modules, for that kernel."""
    done, log, tree = dkms_build(command, sources, kernel, symvers=True)
    assert done.returncode == 0, done.stdout + log
    assert not re.search(r"\bwarning: (?!pahole)|undefined!", log), log
    built = list((tree / "tree").rglob("module/*.ko*"))
    assert {path.name.split(".")[0] for path in built} == {"devlend_core", "devlend_lender", "devlend_borrower"}, built
    for path in built:
        made_for = subprocess.run(["modinfo", "-F", "vermagic", path], check=True, capture_output=True,
                                  text=True).stdout
        assert made_for.startswith(settings(kernel)["KRELEASE"] + " "), path


def test_dkms_build_without_ntb(command, sources):
    """A kernel without CONFIG_NTB, and nobody said where its NTB drivers are: one line says so."""
    done, log, _ = dkms_build(command, sources, "6.12", symvers=False)
    assert done.returncode != 0
    said = [line for line in log.splitlines() if line.startswith("devlend: ")]
    assert len(said) == 1 and "no CONFIG_NTB" in said[0] and "NTB_SYMVERS" in said[0], done.stdout + log


@pytest.mark.long
def test_debian_packages(command):
    """They build; lintian finds no error; the tool, and the sources for DKMS, are where they belong."""
    done = in_chroot(command, "make", "-s", "deb")
    assert done.returncode == 0, done.stdout
    folder = paths.BUILD / "deb"
    done = in_chroot(command, "lintian", "--allow-root", "--fail-on", "error", next(folder.glob("*.changes")))
    assert done.returncode == 0 and not re.search("^E:", done.stdout, re.M), done.stdout
    in_package = {deb.name.split("_")[0]: subprocess.run(["dpkg-deb", "-c", deb], check=True, capture_output=True,
                                                         text=True).stdout for deb in folder.glob("*.deb")}
    assert f"./usr/src/devlend-{version()}/dkms.conf\n" in in_package["devlend-dkms"]
    assert f"./usr/src/devlend-{version()}/common/Kbuild\n" in in_package["devlend-dkms"]
    for name in ("sbin/devlend", "share/zsh/vendor-completions/_devlend", "share/man/man8/devlend.8.gz",
                 "share/doc/devlend/troubleshooting.rst.gz",
                 "lib/udev/rules.d/90-devlend.rules", "lib/systemd/system/devlend.service"):
        assert f"./usr/{name}\n" in in_package["devlend"], in_package["devlend"]
    assert f"devlend ({version()}) " in (paths.TOP / "debian/changelog").read_text()
