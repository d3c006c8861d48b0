# SPDX-License-Identifier: GPL-2.0
"""Interrupt modes of a host that does not remap interrupts: which is taken, which is refused, and that none is lost."""

import errno

import pytest

import lending
from rig.pair import DEVICE_BDF, NTB_MODULES

OWN = NTB_MODULES + ("devlend_core", "devlend_lender", "devlend_borrower")
PAIR = lending.options(devices=["edu,dma_mask=0xffffffffffffffff"], modules=OWN, borrower_smp=2)


@pytest.fixture
def offer(pair):
    """An offered edu that nobody borrows: (borrower, name)."""
    lender, borrower = lending.ready(pair).guests
    lending.lend(lender, DEVICE_BDF, force=True)
    yield borrower, lending.wait_offer(borrower, DEVICE_BDF)
    for lease in lending.names(borrower, "lease"):
        lending.give_back(borrower, lease)
    lending.wait_state(lender, f"lent-{DEVICE_BDF}", "offered")
    lending.reclaim(lender, DEVICE_BDF)


def proof(borrower, lease):
    """What is known of the way of a lease's interrupts."""
    return borrower.read(f"{lending.BUS}/{lease}/irq_proof")


@pytest.mark.parametrize("mode", ["auto", "direct"])
def test_direct(offer, mode):
    """Chosen by itself, and when asked for."""
    borrower, name = offer
    assert borrower.read(f"{lending.BUS}/{name}/irq_mode") == "auto"
    lending.must_write(borrower, f"{lending.BUS}/{name}/irq_mode", mode)
    lease = lending.borrow(borrower, name)
    assert borrower.read(f"{lending.BUS}/{lease}/irq_mode") == "direct"
    assert proof(borrower, lease) == "proven"
    assert "devlend-proof" not in borrower.read("/proc/interrupts")


def test_lost_message_is_refused(pair, offer):
    """The way is tried before a driver is near: where the lender's message is lost there is no shadow."""
    borrower, name = offer
    lending.must_write(borrower, f"{lending.BUS}/{name}/irq_mode", "direct")
    pair.ntbsim.faults(msi_lost=1)
    said = len(borrower.dmesg().splitlines())
    assert borrower.write(f"{lending.BUS}/{name}/borrow", "auto", timeout=180) == errno.EIO
    pair.ntbsim.faults()
    assert pair.ntbsim.injected()["msi_lost"] == 1
    text = "\n".join(borrower.dmesg().splitlines()[said:])
    assert text.count("the lender's interrupt message") == 1 and "pci 8000:" not in text
    assert lending.names(borrower, "lease") == []
    lending.borrow(borrower, name)


def test_lost_message_falls_back(pair, offer):
    """Where nothing was forced the lender takes the interrupts then, and tells them: one line, and all works."""
    borrower, name = offer
    pair.ntbsim.faults(msi_lost=1)
    lease = lending.borrow(borrower, name)
    assert borrower.read(f"{lending.BUS}/{lease}/irq_mode") == "doorbell"
    assert borrower.dmesg().count("falls back to interrupt mode doorbell") == 1
    # what was opened for the way that failed is closed again
    assert 0 < lending.open_to_lender(pair) <= lending.INTERRUPT_RANGE
    borrower.modprobe("rig_edu")
    folder = f"/sys/bus/pci/devices/{lending.shadow_of(borrower, lease)}"
    # messages are lost all the time: the device's own would not come
    assert borrower.write(f"{folder}/raise", "20", timeout=120) == 0
    assert proof(borrower, lease) == "seen"
    pair.ntbsim.faults()
    borrower.run("modprobe -r rig_edu")


def test_silent_device_is_named(pair, offer):
    """A driver has interrupts on, and none comes: one line; the first that comes ends it."""
    borrower, name = offer
    lease = lending.borrow(borrower, name)
    borrower.modprobe("rig_edu")
    folder = f"/sys/bus/pci/devices/{lending.shadow_of(borrower, lease)}"
    pair.ntbsim.faults(msi_lost=1)
    borrower.write(f"{folder}/raise", "1", timeout=120)
    lending.wait(borrower, f"[ $(cat {lending.BUS}/{lease}/irq_proof) = silent ]", 60)
    pair.ntbsim.faults()
    line = f"no interrupt of {name} has come"
    assert borrower.dmesg().count(line) == 1
    assert borrower.write(f"{folder}/raise", "1", timeout=120) == 0
    assert proof(borrower, lease) == "seen"
    assert borrower.dmesg().count(line) == 1
    borrower.run("modprobe -r rig_edu")


@pytest.mark.parametrize("mode, why", [("vectors", "does not remap interrupts")])
def test_refused(offer, mode, why):
    """A mode that cannot be had is refused at borrow, with one line; no lease is left, and auto works then."""
    borrower, name = offer
    file = f"{lending.BUS}/{name}/irq_mode"
    lending.must_write(borrower, file, mode)
    assert borrower.read(file) == mode
    said = len(borrower.dmesg().splitlines())
    assert borrower.write(f"{lending.BUS}/{name}/borrow", "auto", timeout=180) == errno.EOPNOTSUPP
    lines = [line for line in borrower.dmesg().splitlines()[said:] if "interrupt mode" in line]
    assert len(lines) == 1 and f"interrupt mode {mode} cannot be had: " in lines[0] and why in lines[0]
    assert lending.names(borrower, "lease") == []
    lending.must_write(borrower, file, "auto")
    lending.borrow(borrower, name)


def test_no_such_mode(offer):
    """What names no mode is not taken."""
    borrower, name = offer
    for text in ("vector", "4", "direct doorbell"):
        assert borrower.write(f"{lending.BUS}/{name}/irq_mode", text) == errno.EINVAL
    assert borrower.read(f"{lending.BUS}/{name}/irq_mode") == "auto"
