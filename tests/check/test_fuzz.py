# SPDX-License-Identifier: GPL-2.0
"""The fuzz targets, built with gcc and the sanitizers: the corpus, and a bounded number of inputs made of it.

DEVLEND_SEED is the seed, 1 if it is not set. "make fuzz" runs longer.
"""

import os
import re
import shutil
import sys

import pytest
from rig import paths

SEED = int(os.environ.get("DEVLEND_SEED", "1"))
RUNS = 3000
SOURCES = ("include", "common", "lender", "borrower", "tests/fuzz", "tests/e2e/hostile")

# A check that is left out, for each target: what shows that the target would have found it.
PLANTED = {
    "lanes": ("common/lane_sleep.c", "lane->rx_len + n * 4 > sizeof(lane->rx_buf)", "n > DEVLEND_WORDS_MAX"),
    "grant": ("borrower/grant.c", "size > ap->size || offset > ap->size - size", "size > ap->size"),
    "config": ("borrower/config_image.c", "first + count > DEVLEND_CONFIG_DWORDS", "first > DEVLEND_CONFIG_DWORDS"),
    "filter": ("lender/config_filter.c", "n + 1 + (end - first + 1) > max", "n > max"),
    "atomic": ("lender/atomic_check.c", "if (!atomic_msi_allowed(st))", "if (st->ranges > LENDER_ATOMIC_WRITES_MAX)"),
    "plan": ("common/plan.c", "!region[i].size || plan_last_byte(&region[i]) < region[i].bus_addr", "!region[i].size"),
}


@pytest.fixture(scope="module")
def seeds(command, tmp_path_factory):
    """The first inputs of all targets, a folder for each."""
    folder = tmp_path_factory.mktemp("seeds")
    done = command(sys.executable, "tests/fuzz/seeds.py", folder)
    assert done.returncode == 0, done.stdout
    return folder


def build(command, top, target, out):
    """The target's program, of the sources in top."""
    program = out / f"fuzz_{target}"
    built = command("make", "-s", "-C", top / "tests/fuzz", f"O={out}", program)
    assert built.returncode == 0, built.stdout
    return program


def run(command, program, target, seeds, runs):
    artifact = program.with_name(f"{target}-crash")
    return command(program, f"-runs={runs}", f"-seed={SEED}", f"-artifact={artifact}",
                   paths.TOP / f"tests/fuzz/corpus/{target}.hex", seeds / target, timeout=300)


@pytest.mark.parametrize("target", PLANTED)
def test_target(command, record_property, seeds, target):
    done = run(command, build(command, paths.TOP, target, paths.BUILD / "fuzz"), target, seeds, RUNS)
    assert done.returncode == 0, f"seed {SEED}\n{done.stdout}"
    record_property(f"fuzz {target}, seed {SEED}", done.stdout.strip())


@pytest.mark.parametrize("target", PLANTED)
def test_planted_fault_is_found(command, seeds, target, tmp_path):
    for folder in SOURCES:
        shutil.copytree(paths.TOP / folder, tmp_path / folder)
    name, good, bad = PLANTED[target]
    source = (tmp_path / name).read_text()
    assert good in source, f"{name} has changed: plant another fault"
    (tmp_path / name).write_text(source.replace(good, bad))
    done = run(command, build(command, tmp_path, target, tmp_path / "build"), target, seeds, 10 * RUNS)
    assert done.returncode != 0, "not found"
    assert re.search(r"does not hold|AddressSanitizer|runtime error", done.stdout), done.stdout
