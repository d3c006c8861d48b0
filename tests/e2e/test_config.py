# SPDX-License-Identifier: GPL-2.0
"""The shadow's config space as user space sees it: whatever is written, the real device stays sane."""

import re

import pytest

import lending
from rig.agent import until

PAIR = lending.options()

COMMAND_MEMORY, COMMAND_MASTER = 2, 4
SPACE = 4096


@pytest.fixture
def shadow(pair):
    """(BDF of the lent drive, BDF of its shadow), the shadow without its driver."""
    bdf, lease, _ = lending.borrowed_drive(pair)
    there = lending.shadow_of(pair.borrower, lease)
    lending.must_write(pair.borrower, "/sys/bus/pci/drivers/nvme/unbind", there)
    yield bdf, there
    lending.take_down(pair, bdf)


def config(guest, bdf):
    """A device's whole config space."""
    return guest.pull(f"/sys/bus/pci/devices/{bdf}/config")


def capability(space, wanted):
    """Offset of a capability, by the list."""
    pos = space[0x34]
    while pos:
        if space[pos] == wanted:
            return pos
        pos = space[pos + 1]
    raise AssertionError(f"no capability {wanted:#x}")


def command(guest, bdf):
    """The command register."""
    return int(guest.text(f"setpci -s {bdf} COMMAND"), 16)


def answers(guest, bdf):
    """Is the device back from a reset?"""
    return guest.text(f"setpci -s {bdf} VENDOR_ID").strip() != "ffff"


def lender_owned(space):
    """What no borrower may change in the real device: BARs, memory decode, power, packet sizes."""
    exp, pm = capability(space, 0x10), capability(space, 0x01)
    return space[0x10:0x30], space[4] & COMMAND_MEMORY, space[exp + 8:exp + 10], space[pm + 4] & 3


def works(guest, there):
    """Bind the stock driver, and read."""
    lending.must_write(guest, "/sys/bus/pci/drivers/nvme/bind", there)
    disk = lending.nvme_block(guest, there)
    guest.text(f"dd if=/dev/{disk} of=/dev/null bs=64k count=16 iflag=direct status=none", timeout=100)


def test_noise_does_not_reach_the_device(pair, shadow):
    """4 KiB of noise, many times, function resets among them."""
    bdf, there = shadow
    before = lender_owned(config(pair.lender, bdf))
    identity = config(pair.borrower, there)[:4]
    for _ in range(12):
        pair.borrower.text(f"dd if=/dev/urandom of=/sys/bus/pci/devices/{there}/config bs={SPACE} count=1 "
                           "conv=notrunc status=none")
        until(lambda: answers(pair.borrower, there), 60, "the shadow answers")
    space = config(pair.borrower, there)
    assert space[:4] == identity and len(space) == SPACE
    assert lender_owned(config(pair.lender, bdf)) == before
    pair.borrower.text(f"setpci -s {there} COMMAND=0")
    works(pair.borrower, there)


def test_each_way_of_sizing(pair, shadow):
    """All ones to both halves of the 64-bit BAR, in each order; the real ones untouched."""
    bdf, there = shadow
    real = config(pair.lender, bdf)[0x10:0x18]
    old = [pair.borrower.text(f"setpci -s {there} BASE_ADDRESS_{n}.l").strip() for n in (0, 1)]
    size = int(pair.lender.text(f"stat -c %s /sys/bus/pci/devices/{bdf}/resource0"))
    for order in ((0,), (1,), (0, 1), (1, 0)):
        for n in order:
            pair.borrower.text(f"setpci -s {there} BASE_ADDRESS_{n}.l=ffffffff")
        low, high = (int(pair.borrower.text(f"setpci -s {there} BASE_ADDRESS_{n}.l"), 16) for n in (0, 1))
        assert low & ~0xf == (-size & 0xffffffff if 0 in order else int(old[0], 16) & ~0xf)
        assert high == (0xffffffff if 1 in order else int(old[1], 16))
        assert config(pair.lender, bdf)[0x10:0x18] == real
        for n in order:
            pair.borrower.text(f"setpci -s {there} BASE_ADDRESS_{n}.l={old[n]}")


def test_last_write_counts(pair, shadow):
    """More writes than can be on their way while the lender's CPU stands still: none is lost for good."""
    bdf, there = shadow
    pair.lender.qmp.command("stop")
    try:
        # one process: the lender must not stand still for longer than the beat may be missing
        pair.borrower.text(f"setpci -s {there}" + " COMMAND=4 COMMAND=0" * 80 + " COMMAND=6")
    finally:
        pair.lender.qmp.command("cont")
    until(lambda: command(pair.lender, bdf) & COMMAND_MASTER, 30, "bus mastering on")
    pair.borrower.text(f"setpci -s {there} COMMAND=2")
    until(lambda: not command(pair.lender, bdf) & COMMAND_MASTER, 30, "bus mastering off")
    works(pair.borrower, there)


def test_sleeping_device_does_not_master_the_bus(pair, shadow):
    """D3hot is the shadow's alone, but what it means for memory holds for the real device."""
    bdf, there = shadow
    pm = capability(config(pair.borrower, there), 0x01)
    pair.borrower.text(f"setpci -s {there} COMMAND=6 {pm + 4:x}.w=3")
    until(lambda: not command(pair.lender, bdf) & COMMAND_MASTER, 30, "bus mastering off")
    assert config(pair.lender, bdf)[capability(config(pair.lender, bdf), 1) + 4] & 3 == 0
    assert command(pair.lender, bdf) & COMMAND_MEMORY
    pair.borrower.text(f"setpci -s {there} {pm + 4:x}.w=0")
    until(lambda: command(pair.lender, bdf) & COMMAND_MASTER, 30, "bus mastering on again")
    pair.borrower.text(f"setpci -s {there} COMMAND=0")
    works(pair.borrower, there)


def test_other_functions_are_not_there(pair, shadow):
    """One function, one bus."""
    domain = shadow[1].split(":")[0]
    assert re.findall(rf"^{domain}:\S+", pair.borrower.text("lspci -D"), re.M) == [shadow[1]]
