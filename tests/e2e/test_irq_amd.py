# SPDX-License-Identifier: GPL-2.0
"""A way of interrupts that does not deliver, for a cause of the host's own.

QEMU passes on what the simulator writes without a requester id. Intel's model does not verify it then, AMD's takes it for
that of 00:00.0, so that no message is admitted: the proof has to see it, before a driver waits for an interrupt.
"""

import errno

import pytest

import lending
from rig import Nvme
from rig.pair import DEVICE_BDF

PAIR = lending.options(devices=[Nvme(size=8 << 20)], borrower_iommu="amd", borrower_append="iommu=pt")
pytestmark = pytest.mark.long


def test_refused(pair):
    """Asked for, tried, and refused with one line."""
    borrower = lending.ready(pair).borrower
    assert "AMD-Vi: Interrupt remapping enabled" in borrower.dmesg()
    lending.lend(pair.lender, DEVICE_BDF)
    name = lending.wait_offer(borrower, DEVICE_BDF)
    lending.must_write(borrower, f"{lending.BUS}/{name}/irq_mode", "vectors")
    assert borrower.write(f"{lending.BUS}/{name}/borrow", "auto", timeout=180) == errno.EIO
    assert borrower.dmesg().count("the lender's interrupt message") == 1
    assert lending.names(borrower, "lease") == [] and "pci 8000:" not in borrower.dmesg()
    lending.reclaim(pair.lender, DEVICE_BDF)


def test_falls_back(pair):
    """Where nothing was asked for the lender tells the interrupts instead, and the drive works."""
    borrower = lending.ready(pair).borrower
    bdf, lease, disk = lending.borrowed_drive(pair)
    assert borrower.read(f"{lending.BUS}/{lease}/irq_mode") == "doorbell"
    borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=64 iflag=direct status=none")
    assert borrower.read(f"{lending.BUS}/{lease}/irq_proof") == "seen"
    lending.take_down(pair, bdf)
