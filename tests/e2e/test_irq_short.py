# SPDX-License-Identifier: GPL-2.0
"""Fewer interrupt vectors than a drive wants, or none: it works with what there is, or is refused by the right errno.

tests/kmod/rig_vectors.c takes the vectors of a host's CPUs, but for as many as a test leaves. The drive's driver wants
three here: its own and one for each of two queues.
"""

import errno
import re

import pytest

import lending
from rig import Nvme

PAIR = lending.options(devices=[Nvme(size=8 << 20)], borrower_smp=2)
LEAVE = "/sys/module/rig_vectors/parameters/leave"

pytestmark = pytest.mark.long


@pytest.fixture
def hosts(pair):
    """(pair, BDF of the drive, which is lent)."""
    bdf = lending.lent_drive(pair)
    for guest in pair.guests:
        guest.modprobe("rig_vectors")
    yield pair, bdf
    for guest in pair.guests:
        guest.run("modprobe -r rig_vectors")
    lending.take_down(pair, bdf)


def leave(guest, number):
    """Have no more than that many vectors free on a guest; -1: as many as there are."""
    lending.must_write(guest, LEAVE, str(number))
    assert (int(guest.read(LEAVE)) > 50) == (number >= 0)


def lines(guest, text, since):
    """Lines of the kernel's log with a text, after so many others."""
    return [line for line in guest.dmesg().splitlines()[since:] if text in line]


def borrowed(pair, bdf, irq_mode):
    """(lease, how many interrupts the drive's driver got), after it was read from."""
    borrower = pair.borrower
    name = lending.wait_offer(borrower, bdf)
    lending.set_irq_mode(borrower, name, irq_mode)
    lease = lending.borrow(borrower, name)
    shadow = lending.shadow_of(borrower, lease)
    disk = lending.nvme_block(borrower, shadow)
    borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=32 iflag=direct status=none", timeout=300)
    assert not lines(borrower, "completion polled", 0)
    return lease, len(borrower.text(f"ls /sys/bus/pci/devices/{shadow}/msi_irqs").split())


def refused(pair, bdf, irq_mode, guest, text):
    """ENOSPC, one line on a host that says why, no lease."""
    borrower = pair.borrower
    name = lending.wait_offer(borrower, bdf)
    lending.set_irq_mode(borrower, name, irq_mode)
    said = len(guest.dmesg().splitlines())
    assert borrower.write(f"{lending.BUS}/{name}/borrow", "auto", timeout=180) == errno.ENOSPC
    assert len(lines(guest, text, said)) == 1
    assert lending.names(borrower, "lease") == []


def test_borrower_has_none(hosts):
    """A message cannot be had; what the lender tells needs no vector here."""
    pair, bdf = hosts
    borrower = pair.borrower
    leave(borrower, 0)
    refused(pair, bdf, "direct", borrower, "no interrupt to prove their way by (-28)")
    lease, got = borrowed(pair, bdf, "auto")
    assert got == 3 and borrower.read(f"{lending.BUS}/{lease}/irq_mode") == "doorbell"
    lending.give_back(borrower, lease)
    leave(borrower, -1)
    lease, got = borrowed(pair, bdf, "auto")
    assert got == 3 and borrower.read(f"{lending.BUS}/{lease}/irq_mode") == "direct"


def test_lender_has_few(hosts):
    """In mode doorbell it is the lender who takes them: as many as it has, and the drive's driver makes do."""
    pair, bdf = hosts
    lender, borrower = pair.guests
    leave(lender, 2)
    said = len(lender.dmesg().splitlines())
    lease, got = borrowed(pair, bdf, "doorbell")
    line, = lines(lender, "interrupts are taken for the borrower instead of", said)
    number = int(re.search(r"(\d+) interrupts are taken", line)[1])
    assert got == number in (1, 2)
    lending.give_back(borrower, lease)
    leave(lender, 0)
    refused(pair, bdf, "doorbell", lender, "cannot take its interrupts for the borrower (-28)")
    leave(lender, -1)
    lease, got = borrowed(pair, bdf, "doorbell")
    assert got == 3
