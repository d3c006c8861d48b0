# SPDX-License-Identifier: GPL-2.0
"""The devlend tool on fake hosts: --wait, for what it waits and for what not."""

import contextlib
import fcntl
import os
import re
import struct
import subprocess
import termios
import time

import pytest

from fake_host import DRIVER
from tool_host import (BINARY, DRIVE, IMPOSSIBLE, OFFERED, OK, TIMEOUT, USAGE, Running, built, devlend, environment,
                       hold, host, mounted)

__all__ = ["built", "host"]	# fixtures


def test_wait_for_unmount(host):
    """It says once what it waits for, and goes on when that is over."""
    mounted(host)
    tool = Running(host, "lend", "--wait=60", DRIVE)
    tool.hear("waiting")
    host.put("proc/self/mountinfo", "")
    said = tool.end()
    assert said.status == OK
    assert [line for line in said.err.splitlines() if "waiting: nvme0n1p1 is mounted" in line] == said.err.splitlines()
    assert len(said.err.splitlines()) == 1
    assert host.read(f"{DRIVER}/lend") == DRIVE


def test_wait_in_vain(host):
    mounted(host)
    said = devlend(host, "lend", "--wait=1", DRIVE)
    assert said.status == TIMEOUT and "not within 1 s: nvme0n1p1 is mounted" in said.err
    assert host.read(f"{DRIVER}/lend") == ""


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_on_a_terminal(host, columns):
    """The line is rewritten in place, which only works while it does not wrap; it leaves nothing behind."""
    here, there = os.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    host.link()
    with subprocess.Popen([str(BINARY), "borrow", "--wait=1", OFFERED], env=environment(host), stdin=there,
                          stdout=there, stderr=there) as tool:
        os.close(there)
        said = b""
        with contextlib.suppress(OSError):		# EIO, when the tool has ended
            while piece := os.read(here, 4096):
                said += piece
        os.close(here)
    *lines, last = said.decode().split("\r\033[K")
    assert tool.returncode == TIMEOUT and last.startswith(f"devlend: {OFFERED}: not within 1 s: no such offer")
    assert lines[0] == "" and len(lines) > 2
    for line in lines[1:]:
        assert re.fullmatch(rf"{OFFERED}: waiting: no such .* \.\.\. [01] s", line) and len(line) < columns, line
    whole = "the other host ... 0 s"
    assert lines[1].endswith(whole) if columns == 200 else not lines[1].endswith(whole)
    assert columns == 200 or len(lines[1]) == columns - 1


def test_no_wait_for_what_time_does_not_change(host):
    start = time.monotonic()
    assert devlend(host, "lend", "--wait=30", "0000:00:20.0").status == USAGE
    host.link()
    host.offer(state="quarantined")
    assert devlend(host, "borrow", "--wait=30", OFFERED).status == IMPOSSIBLE
    assert time.monotonic() - start < 25


def test_seconds_as_a_word_of_their_own(host):
    """They would be a device, for which it waits a minute: that is told at once."""
    for argv in (("lend", "--wait", "30", DRIVE), ("borrow", "-w", "5", OFFERED), ("return", "8000", "--wait", "120")):
        said = devlend(host, *argv)
        assert said.status == USAGE and re.search(r"--wait=(\d+) or -w\1\n", said.err), argv
    assert not host.read(f"{DRIVER}/lend")
    host.lease(host.offer(state="lent"))
    assert devlend(host, "return", "--wait", "8000").status == OK


def test_wait_for_offer_and_disk(host):
    """The link, then the offer, then the lease, then the disk."""
    tool = Running(host, "borrow", "--wait=60", OFFERED)
    tool.hear("no NTB")
    link = host.link()
    tool.hear("no such offer")
    path = f"{link}/offer-4c4c4544-{OFFERED}"
    let_go = hold(host, f"{path}/borrow")
    offer = host.offer(link=link)
    let_go(lambda: host.lease(offer, disk=None))
    tool.hear("shows no disk yet")
    host.block("sys/devices/devlend-leases/lease-8000/pci8000:00/8000:00:00.0/nvme/nvme1", "nvme1n1", "259:8")
    said = tool.end()
    assert (said.status, said.out) == (OK, f"{OFFERED}: borrowed as 8000:00:00.0, driver nvme, /dev/nvme1n1\n")


def test_kernel_takes_too_long(host):
    """The writer is ended, and it is said that the kernel goes on."""
    hold(host, f"{DRIVER}/lend")
    said = devlend(host, "lend", "--wait=1", DRIVE)
    assert said.status == TIMEOUT and "the kernel goes on" in said.err and "lending" in said.err
