# SPDX-License-Identifier: GPL-2.0
"""Running the devlend tool on a fake host (fake_host.py), built with the address and undefined-behaviour
sanitizers; and the fixtures that its tests import: built, host."""

import contextlib
import errno
import fcntl
import functools
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import jsonschema
import pytest
from rig import paths

from fake_host import FakeHost

TOOL = paths.TOP / "tools/devlend"
BINARY = paths.BUILD / "tool/devlend-san"
SHIM = paths.BUILD / "tool/fake_kernel.so"
DRIVE = "0000:00:06.0"
CARD = "0000:00:07.0"
OFFERED = "0000:3b:00.0"
OK, FAILED, USAGE, MODULES, NOT_FOUND, RIGHTS, BUSY, LINK, TIMEOUT, IMPOSSIBLE = range(10)
REASONS = ("ok", "failed", "usage", "modules", "not-found", "rights", "busy", "link", "timeout", "impossible")


@contextlib.contextmanager
def one_builds(product):
    """Workers of pytest want the same thing at the same time: one makes it while the others wait, and find it made."""
    product.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{product}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session", autouse=True)
def built():
    """The tool, and what stands between it and the fake kernel: a rename, since another worker's test may be using it."""
    with one_builds(SHIM):
        subprocess.run(["make", "-s", "-C", TOOL, "ASAN=1"], check=True)
        source, made = paths.TOP / "tests/check/fake_kernel.c", SHIM.with_suffix(".new")
        if not SHIM.exists() or SHIM.stat().st_mtime < source.stat().st_mtime:
            subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", made, source, "-ldl"],
                           check=True)
            made.rename(SHIM)


@pytest.fixture
def host():
    """A host with the modules loaded, a drive and a card; another user than root can look at it."""
    with tempfile.TemporaryDirectory(prefix="devlend-tool-") as root:
        Path(root).chmod(0o755)
        fake = FakeHost(Path(root) / "host").modules()
        fake.drive(DRIVE)
        fake.card(CARD)
        yield fake


class Said:
    """What a run of the tool left."""

    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def line(self):
        """The one line of a refusal."""
        lines = self.err.splitlines()
        assert len(lines) == 1 and lines[0].startswith("devlend: "), self.err
        assert not self.out
        return lines[0]


@functools.cache
def preloaded():
    """The sanitizer comes first: it says so itself."""
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True).stdout
    return f"{asan.strip()} {SHIM}"


def environment(host):
    """That of the tool on a fake host."""
    return dict(os.environ, DEVLEND_SYSROOT=str(host.root), LD_PRELOAD=preloaded(),
                ASAN_OPTIONS="exitcode=99", UBSAN_OPTIONS="exitcode=99:halt_on_error=1", LC_ALL="C")


def devlend(host, *argv, **options):
    """Run the tool."""
    done = subprocess.run([str(BINARY), *argv], env=environment(host), capture_output=True, text=True, check=False,
                          timeout=60, stdin=subprocess.DEVNULL, **options)
    assert done.returncode != 99 and "Sanitizer" not in done.stderr, done.stderr
    return Said(done)


class Running:
    """The tool at work: what it waits for is heard, and then changed."""

    def __init__(self, host, *argv):
        self.process = subprocess.Popen([str(BINARY), *argv], env=environment(host), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.heard = ""

    def hear(self, text):
        """Until it says so on stderr."""
        while text not in self.heard:
            line = self.process.stderr.readline()
            assert line, f"no {text!r} in {self.heard}"
            self.heard += line

    def end(self):
        """Its end, as devlend() gives it."""
        out, err = self.process.communicate(timeout=60)
        return Said(subprocess.CompletedProcess([], self.process.returncode, out, self.heard + err))


def hold(host, path):
    """Have writes to a file block; returns a function that waits until one does, acts, and lets it go on."""
    held, begun = host.put(f"{path}.hold", ""), host.root / f"{path}.begun"

    def let_go(act):
        end = time.monotonic() + 30
        while not begun.exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        act()
        held.unlink()
    return let_go


def schema():
    """The schema of all documents."""
    return json.loads((TOOL / "schema.json").read_text())


def document(host, *argv, **options):
    """Run the tool with --json: (status, document that fits the schema)."""
    said = devlend(host, *argv, "--json", **options)
    assert not said.err, said.err
    made = json.loads(said.out)
    jsonschema.validate(made, schema())
    assert made["command"] == argv[0]
    return said.status, made


def fail_with(host, path, code, log=""):
    """Have the next writes to a file fail."""
    host.put(f"{path}.errno", str(getattr(errno, code)))
    if log:
        host.put(f"{path}.log", log)


def mounted(host):
    """Its drive is in use."""
    host.put("proc/self/mountinfo", "36 22 259:1 / /srv/my\\040data rw shared:1 - ext4 /dev/nvme0n1p1 rw\n")
