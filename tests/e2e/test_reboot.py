# SPDX-License-Identifier: GPL-2.0
"""A host reboots in order while a device is lent: it says goodbye, so that the other loses the lease at
once and not for silence; bus mastering is off and the windows are closed before the machine restarts; the
reboot hangs nowhere, and all can be had again afterwards by hand. How it comes back by itself: test_system.py."""

import re

import pytest

import lending
import system
from rig import Nvme

# the lender's trace goes to its console, where it survives the reboot
PAIR = lending.options(devices=[Nvme(size=1 << 20)], lender_append="tp_printk")
pytestmark = [pytest.mark.allow_complaints(*lending.LOSS), pytest.mark.long]
REBOOT = "busybox reboot -f"


def heard_goodbye(guest):
    """Whether a guest lost its link for the peer's goodbye, and for nothing else."""
    log = guest.dmesg()
    return "the peer said goodbye" in log and "no beat" not in log and "is silent" not in log


@pytest.mark.parametrize("younger", [False, True])
def test_lender_reboots(pair, younger):
    """Under reads; where the drive was found after the link began, it is shut down before the link."""
    guest = lending.ready(pair).lender
    bdf = lending.find_pci(guest, lending.NVME)
    if younger:
        lending.must_write(guest, f"/sys/bus/pci/devices/{bdf}/remove", "1")
        lending.must_write(guest, "/sys/bus/pci/rescan", "1")
        lending.nvme_block(guest, bdf)
    bdf, lease, disk = lending.borrowed_drive(pair)
    job = lending.start_reads(pair.borrower, disk)
    pair.borrower.run("dmesg -C")
    lending.must_write(guest, "/sys/kernel/tracing/events/devlend_lender/lender_step/enable", "1")
    said = system.reboot([guest], REBOOT)[0]
    steps = [step for step in re.findall(rf"lender_step: {bdf} ([a-z ]+): 0", said) if step in ("unexpose", "stop")]
    assert steps[0] == "unexpose" and "stop" in steps, said
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]", what="the lease to go")
    job.wait(90)
    assert heard_goodbye(pair.borrower)
    assert ("shuts down" in said) == younger
    if younger:
        assert "wants" in pair.borrower.text("dmesg | grep 'reason 3'")
    bdf, _, disk = lending.borrowed_drive(pair)
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")
    lending.take_down(pair, bdf)


def test_borrower_reboots(pair):
    """Under reads: the driver shuts the drive down over the link, then the link says goodbye."""
    bdf, _, disk = lending.borrowed_drive(pair)
    lending.start_reads(pair.borrower, disk)
    pair.lender.run("dmesg -C")
    system.reboot([pair.borrower], REBOOT)
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    assert heard_goodbye(pair.lender)
    assert pair.lender.read(f"{lending.BUS}/lent-{bdf}/leases") == "1"
    lending.ready(pair)
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")
    lending.take_down(pair, bdf)
