# SPDX-License-Identifier: GPL-2.0
"""Fewer interrupt vectors than a drive wants, or none: it works with what there is, or is refused by the right errno.

tests/kmod/rig_vectors.c takes the vectors of a host's CPUs, but for as many as a test leaves. The first drive's driver
wants three here: its own and one for each of two queues. The second's wants 41, one for each CPU that there might be.
"""

import errno
import re

import pytest

import lending
from rig import Nvme

PAIR = lending.options(devices=[Nvme(size=8 << 20), Nvme("MANY0001", size=8 << 20, queues=64)],
                       borrower_smp=40, borrower_append="maxcpus=2")
MANY_BDF = "0000:00:07.0"
MESSAGES_MAX = 32	# that a lender tells
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


def test_more_messages_than_are_told(pair):
    """A drive of 65 vectors, whose driver wants 41: the shadow has 32, and the first queue's and the last's come."""
    lender, borrower = lending.ready(pair).guests
    want = lending.fill(lender.devices[1])
    lending.lend(lender, MANY_BDF)
    offer = lending.wait_offer(borrower, MANY_BDF)
    lending.set_irq_mode(borrower, offer, "doorbell")
    lease = lending.borrow(borrower, offer)
    shadow = lending.shadow_of(borrower, lease)
    disk = lending.nvme_block(borrower, shadow)
    table = [int(guest.text(f"setpci -s {bdf} CAP_MSIX+2.w"), 16) & 0x7ff
             for guest, bdf in ((lender, MANY_BDF), (borrower, shadow))]
    assert table == [64, MESSAGES_MAX - 1]
    assert f"doorbell: {MESSAGES_MAX} messages of MSI-X" in lender.read("/sys/kernel/debug/devlend/lent")
    assert len(borrower.text(f"ls /sys/bus/pci/devices/{shadow}/msi_irqs").split()) == MESSAGES_MAX
    assert len(borrower.text(f"ls /sys/block/{disk}/mq").split()) == MESSAGES_MAX - 1
    borrower.run("echo 1 > /sys/devices/system/cpu/cpu39/online")
    for cpu, queue in ((0, 0), (39, MESSAGES_MAX - 2)):
        assert str(cpu) in borrower.read(f"/sys/block/{disk}/mq/{queue}/cpu_list").split(", ")
        got = borrower.text(f"taskset -c {cpu} dd if=/dev/{disk} bs=128k iflag=direct status=none | sha256sum",
                            timeout=300)
        assert got.split()[0] == want
    assert "polled" not in borrower.text("dmesg | grep 'nvme nvme' || true")
    lending.give_back(borrower, lease)
    lending.wait_state(lender, f"lent-{MANY_BDF}", "offered")
    lending.reclaim(lender, MANY_BDF)
    assert lending.driver_of(lender, MANY_BDF) == "nvme"
