# SPDX-License-Identifier: GPL-2.0
"""The devlend tool on a host whose files say anything: it ends with a status of its own, and sanitizers find nothing.

What is read is the kernel's and udev's, and not made to do harm; but versions differ, and lists are edited.
DEVLEND_SEED is the seed, 1 if it is not set.
"""

import os
import random

import pytest

from fake_host import BUS, PEER
from tool_host import CARD, DRIVE, OFFERED, built, devlend, host

__all__ = ["built", "host"]	# fixtures
SEED = int(os.environ.get("DEVLEND_SEED", "1"))
JUNK = (b"", b"\n", b"A" * 9000, bytes(range(256)) * 20, b"-1\n", b"9" * 40, b"0x\n", b":" * 300, b" - " * 500,
        b"\0" * 20, b"%s%n\n", b"1 2 3 4 5 6 7 8\n" * 400, b"/dev/nvme0n1 " * 100)
VERBS = (("list",), ("list", "--json"), ("show",), ("show", "--json"), ("status",), ("preflight", DRIVE, OFFERED),
         ("lend", "-n", DRIVE), ("config", "check"), ("watch", "--count", "1"), ("lspci", "--json", "8000"),
         ("borrow", "-n", OFFERED), ("return", "-n", "8000"), ("reclaim", "-n", CARD))


@pytest.fixture
def full(host):
    """A host with one of everything, and all that is looked at beside it."""
    link = host.link()
    host.lent(CARD, "borrowed", PEER)
    host.offer(link=link)
    host.lease(host.offer("0000:3c:00.0", "lent", link=link))
    debug = "sys/kernel/debug/devlend"
    host.put(f"{debug}/link0/windows", "inbound: window state\n0 closed 0x0 0x0 0 0x1000000 0x1000 0x1000\n"
                                       "outbound: window\n0 0x3800000000 0x1000000 2\nbounce: \n0x1 0x2\n")
    host.put(f"{debug}/leases", "lease-8000: active\n  bar0: yes\n")
    for path, text in (("proc/iomem", "00001000-7fffffff : System RAM\n"), ("proc/interrupts", "CPU0\n 24: 3 nvme\n"),
                       ("proc/cpuinfo", "flags : x\n"), ("proc/cmdline", "quiet\n"),
                       ("boot/config-6", "CONFIG_X86_64=y\n"), ("proc/sys/kernel/osrelease", "6\n"),
                       ("run/udev/data/b259:1", "E:ID_FS_TYPE=ext4\n"),
                       ("etc/devlend.conf", f"lend {DRIVE}\nborrow {OFFERED}\n"),
                       ("sys/bus/pci/devices/8000:00:00.0/config", "x" * 4096),
                       ("sys/bus/pci/devices/8000:00:00.0/msi_irqs/24", "msix\n"),
                       ("sys/class/block/nvme1n1/stat", "1 2\n"),
                       (f"sys/bus/pci/devices/{DRIVE}/config", "x" * 4096),
                       (f"sys/bus/pci/devices/{DRIVE}/resource", "0x1000 0x1fff 0x200\n" * 6),
                       (f"{BUS}/lent-{CARD}/allow", "any\n")):
        host.put(path, text)
    return host


def test_junk_in_each_file(full):
    chance = random.Random(SEED)
    files = sorted(path for path in full.root.rglob("*") if path.is_file() and not path.is_symlink())
    assert len(files) > 100
    for path in files:
        kept = path.read_bytes()
        for junk, verb in zip(chance.sample(JUNK, 3), chance.sample(VERBS, 3)):
            path.write_bytes(junk)
            said = devlend(full, *verb)
            assert 0 <= said.status <= 9, (path, junk[:20], verb)
        path.write_bytes(kept)
