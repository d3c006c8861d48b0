# SPDX-License-Identifier: GPL-2.0
"""What the checks share: the rig's library, and running a command whose output matters.

These tests wrap what is no test of its own (builds, linters, unit tests in C), so that one
runner counts everything. They come before the end-to-end tests, which use what is built here.
"""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from rig import paths  # noqa: E402 # the path comes first
from rig.process import clean_up_on_signals, stop_all  # noqa: E402

COMMAND_TIMEOUT = 900


def pytest_configure():
    clean_up_on_signals()


def pytest_unconfigure():
    stop_all()


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
