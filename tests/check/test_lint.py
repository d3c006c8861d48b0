# SPDX-License-Identifier: GPL-2.0
"""What the kernel's own checkers say of the tree: nothing."""

import re
import subprocess

import pytest
from rig import paths

SCRIPTS = paths.CACHE / "kernels/checking/build/scripts"
KERNEL_FOLDERS = ("include", "common", "lender", "borrower", "tests/kunit")

TOOL_FOLDER = "tools/devlend"

# Types of checkpatch that are wrong about something, by file (or "*") and why.
EXCEPT = {
    "*": ("CONST_STRUCT",		# a macro stands for const where the kernel allows it
          "UNCOMMENTED_DEFINITION",	# what a lock protects is in its struct's kernel-doc
          "TYPO_SPELLING"),		# British spelling
    # stands for what another kernel has
    "include/devlend/compat.h": ("MACRO_ARG_REUSE", "MACRO_ARG_UNUSED"),
    # shared with user space, which has no BIT()
    "include/devlend/wire.h": ("BIT_MACRO",),
    "include/devlend/wire_messages.h": ("BIT_MACRO",),
    # initialisers of tables
    "tests/kunit/plan_fixture.h": ("MACRO_ARG_REUSE",),
}
# What differs in user space: attributes are the compiler's, argp wants positive errnos, texts for people are long,
# and a function is called as what it is about.
USER_SPACE = ("PREFER_DEFINED_ATTRIBUTE_MACRO", "USE_NEGATIVE_ERRNO", "SPLIT_STRING", "EMBEDDED_FUNCTION_NAME",
              "MACRO_ARG_REUSE")
# The form of tracepoints is the kernel's own, and checkpatch knows it only in its own folders.
TRACE = ("COMPLEX_MACRO", "MACRO_ARG_REUSE", "OPEN_ENDED_LINE", "PARENTHESIS_ALIGNMENT", "SPACING")


def tracked(*suffixes):
    """Files of the tree, as git knows them, whose names end so."""
    out = subprocess.run(["git", "ls-files"], cwd=paths.TOP, check=True, capture_output=True, text=True).stdout
    return [name for name in out.splitlines() if name.endswith(suffixes) and (paths.TOP / name).exists()]


def silent(done):
    """Fail with what a checker said."""
    if done.returncode or done.stdout.strip():
        pytest.fail(f"status {done.returncode}\n{done.stdout}", pytrace=False)


KERNEL_CODE = [name for name in tracked(".c", ".h") if name.startswith(KERNEL_FOLDERS)]
TOOL_CODE = [name for name in tracked(".c", ".h") if name.startswith(TOOL_FOLDER)]


@pytest.mark.parametrize("name", KERNEL_CODE + TOOL_CODE)
def test_checkpatch(command, name):
    ignore = EXCEPT["*"] + EXCEPT.get(name, ()) + (TRACE if name.endswith("/trace.h") else ())
    ignore += USER_SPACE if name in TOOL_CODE else ()
    done = command("perl", SCRIPTS / "checkpatch.pl", "--ignore", ",".join(ignore), "-f", name)
    silent(done)


@pytest.mark.parametrize("folder", KERNEL_FOLDERS + (TOOL_FOLDER,))
def test_kernel_doc(command, folder):
    files = [name for name in KERNEL_CODE + TOOL_CODE if name.startswith(folder)]
    done = command("perl", SCRIPTS / "kernel-doc", "-none", *files)
    silent(done)


def test_sparse(build_modules):
    """Endianness and address spaces; the kernel's headers are clean of their own."""
    done, _ = build_modules("6.12", "C=2")
    silent(done)


def test_shellcheck(command):
    scripts = [name for name in tracked("") if is_shell_script(name)]
    done = command("env", f"CHROOT={paths.CACHE}/chroot", "unshare", "--mount", "--fork", "--kill-child",
                   "tests/rig/lib/enter.sh", paths.TOP, "--", "shellcheck", "-x", *scripts)
    silent(done)


def is_shell_script(name):
    with open(paths.TOP / name, "rb") as file:
        head = file.read(80).split(b"\n", 1)[0]
    return re.match(rb"#!.*\b(ba)?sh$", head) is not None or name.startswith("tests/rig/lib/")


@pytest.mark.parametrize("suffix", (".c", ".h", ".py", ".sh", "Makefile", "Kbuild"))
def test_spdx(suffix):
    """Every source says its licence."""
    without = [name for name in tracked(suffix)
               if not any("SPDX-License-Identifier: GPL-2.0" in line for line in
                          (paths.TOP / name).read_text(errors="replace").splitlines()[:3])]
    assert not without
