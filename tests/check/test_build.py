# SPDX-License-Identifier: GPL-2.0
"""The modules build for every supported kernel without a warning, and say so where they cannot."""

import re
import subprocess

import pytest
from rig import paths

KERNELS = ("6.1", "6.12", "7.x", "checking")
MODULES = {"devlend_core", "devlend_lender", "devlend_borrower"}
FOR_TESTS = {source.stem for source in (paths.TOP / "tests/kmod").glob("*.c")}

# of the kernel's headers package, not of the modules
NOT_OURS = re.compile(r"warning: pahole version differs|The kernel was built with: |You are using: ")


@pytest.mark.parametrize("kernel", KERNELS)
def test_builds_without_warnings(build_modules, kernel):
    """At W=1, where a warning is an error: also of what was built before this."""
    done, modules = build_modules(kernel)
    said = [line for line in done.stdout.splitlines() if line.strip() and not NOT_OURS.search(line)]
    if done.returncode or said:
        pytest.fail(f"status {done.returncode}\n{done.stdout}", pytrace=False)
    built = {module.stem for module in modules}
    assert built == MODULES | FOR_TESTS | ({"devlend_kunit"} if kernel == "checking" else set())
    aliases = {module.stem: subprocess.run(["modinfo", "-F", "alias", module], check=True, capture_output=True,
                                           text=True).stdout.split() for module in modules if module.stem in MODULES}
    assert aliases == {"devlend_core": [], "devlend_lender": ["devlend"], "devlend_borrower": ["devlend"]}


def test_kernel_without_ntb(command, tmp_path):
    """One line says what is missing and how to supply it."""
    (tmp_path / "include/config").mkdir(parents=True)
    (tmp_path / "include/config/auto.conf").write_text("CONFIG_MODULES=y\n")
    (tmp_path / "Makefile").write_text("modules:\n\t@echo must not be reached\n")
    done = command("make", "-s", "modules", f"KDIR={tmp_path}")
    said = [line for line in done.stdout.splitlines() if line.startswith("devlend: ")]
    assert done.returncode != 0
    assert len(said) == 1 and "CONFIG_NTB" in said[0] and "NTB_SYMVERS" in said[0]
    assert "must not be reached" not in done.stdout


def test_no_kernel_tree(command, tmp_path):
    done = command("make", "-s", "modules", f"KDIR={tmp_path}")
    assert done.returncode != 0
    assert f"devlend: no kernel build tree in {tmp_path}" in done.stdout


@pytest.mark.parametrize("tool", ("ntbsim", "devlend"))
def test_tool_builds(command, tool):
    done = command("make", "-s", "-C", f"tools/{tool}")
    assert done.returncode == 0, done.stdout
    assert not done.stdout.strip()
