# SPDX-License-Identifier: GPL-2.0
"""Every file that the modules show in sysfs is described in Documentation/ABI, and no other."""

import re
from pathlib import PurePosixPath

from rig import paths

ABI = paths.TOP / "Documentation/ABI/testing"
DECLARATION = re.compile(r"^(?:static )?(?:DEVICE|DRIVER|BUS)_ATTR_(?:RO|WO|RW|ADMIN_R[OW])\((\w+)\)"
                         r"|^\s*__BIN_ATTR\((\w+),|^OFFER_ATTR\((\w+),|^module_param\((\w+),", re.M)
# macros that declare an attribute by another name
PLACEHOLDERS = {"_name", "name"}


def declared():
    """Names of attributes and parameters in the modules' sources."""
    found = set()
    for folder in ("common", "lender", "borrower"):
        for path in sorted((paths.TOP / folder).glob("*.c")):
            found |= {name for match in DECLARATION.findall(path.read_text()) for name in match if name}
    return found - PLACEHOLDERS


def described():
    """Last components of what the ABI documents name, without folders and debugfs."""
    found = set()
    for path in sorted(ABI.iterdir()):
        for what in re.findall(r"^What:\s+(\S+)$", path.read_text(), re.M):
            if what.startswith("/sys/kernel/debug") or what.endswith("/"):
                continue
            name = PurePosixPath(what).name
            several = re.fullmatch(r"(.*)\[(\d)-(\d)\](.*)", name)
            if several:
                before, first, last, after = several.groups()
                found |= {f"{before}{n}{after}" for n in range(int(first), int(last) + 1)}
            else:
                found.add(name)
    return found


def test_every_file_is_described():
    assert not declared() - described()


def test_every_described_file_exists():
    assert not described() - declared()
