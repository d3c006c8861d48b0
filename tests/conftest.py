# SPDX-License-Identifier: GPL-2.0
"""What all tests share: the rig's library, running a command whose output matters, and building the modules."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "e2e"))

from rig import paths  # noqa: E402 # the path comes first

COMMAND_TIMEOUT = 900
# what takes longest, so that it does not come last, when the other workers have nothing left to do
FIRST = ("test_checking.py", "test_hostile.py", "test_death.py", "test_pairings.py")


def pytest_collection_modifyitems(items):
    """The longest files first; the others as they come."""
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))


@pytest.fixture(scope="session")
def command():
    """command(ARGUMENT...) -> the finished process, stdout and stderr as one text."""
    def run(*argv, timeout=COMMAND_TIMEOUT):
        return subprocess.run([str(a) for a in argv], cwd=paths.TOP, stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=timeout)
    return run


@pytest.fixture(scope="session")
def build_modules(command):
    """build_modules(KERNEL, ARGUMENT...) -> the finished build, and the modules that there are then."""
    def build(kernel, *argv):
        done = command(paths.TOP / "tests/rig/build-modules.sh", kernel, *argv, timeout=1800)
        return done, paths.modules_in(paths.BUILD / "modules" / kernel)
    return build
