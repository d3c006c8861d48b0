# SPDX-License-Identifier: GPL-2.0
"""The simulator's unit tests, built with the address and undefined-behaviour sanitizers."""

import pytest
from rig import paths

PROGRAMS = sorted(path.stem for path in (paths.TOP / "tools/ntbsim/tests").glob("test_*.c"))


def test_there_are_programs():
    assert PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(command, program):
    binary = paths.BUILD / "ntbsim" / program
    built = command("make", "-s", "-C", "tools/ntbsim", binary)
    assert built.returncode == 0, built.stdout
    done = command(binary, timeout=300)
    assert done.returncode == 0, done.stdout
