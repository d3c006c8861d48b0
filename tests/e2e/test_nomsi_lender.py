# SPDX-License-Identifier: GPL-2.0
"""A lender that is booted with pci=nomsi: its NTB's doorbells come by INTx, and its own drivers are given no message.

A lent device sends its messages to the borrower, which needs nothing of the lender's CPU: all is as ever. Where the lender is asked to take the
interrupts, it has INTx only.
"""

import pytest

import lending
from edu import Edu
from fio import works_by_interrupts
from rig import Nvme

PAIR = lending.options(devices=[Nvme(size=8 << 20), "edu,dma_mask=0xffffffffffffffff"],
                       lender_append="pci=nomsi", borrower_smp=2)
EDU_BDF = "0000:00:07.0"
RAISES = 300
# by lender and borrower, where the lender is asked for messages
SAID = ("MSI is off on this host, so that only INTx can be taken for the borrower; boot without pci=nomsi",
        "the lender takes no messages of")


def message_writes(pair):
    """Writes of lent devices into the borrower's interrupt range."""
    return pair.ntbsim.counters()["ports"]["a"]["out"]["windows"]["bar4"]["msi_writes"]


def test_the_ntb_has_its_pin(pair):
    """The NTB's own interrupt is a level; the lender's own drive has no message either."""
    lending.ready(pair)
    assert "fasteoi" in pair.lender.text("grep ndev_irq_isr /proc/interrupts")
    assert "MSI" not in pair.lender.text("cat /proc/interrupts")
    assert "ndev_vec" in pair.borrower.text("cat /proc/interrupts")


def test_a_drive_by_its_own_messages(pair):
    """MSI-X of the device is the borrower's, and no interrupt of the lender's; given back, its own driver has INTx."""
    pair.ntbsim.reset_counters()
    bdf, lease, disk = lending.borrowed_drive(pair)
    assert pair.borrower.read(f"{lending.BUS}/{lease}/irq_mode") == "direct"
    works_by_interrupts(pair.borrower, disk)
    taken = pair.borrower.text("grep nvme0q /proc/interrupts").splitlines()
    assert len(taken) == 3 and all("devlend-MSI" in line for line in taken)
    # a message that comes while another of its vector waits is not counted by a CPU
    assert 100 < sum(int(n) for line in taken for n in line.split()[1:3]) <= message_writes(pair)
    assert pair.lender.run("grep devlend_lender /proc/interrupts", check=False).rc == 1
    lending.take_down(pair, bdf)
    own = lending.nvme_block(pair.lender, bdf)
    pair.lender.text(f"dd if=/dev/{own} of=/dev/null bs=64k count=16 iflag=direct status=none")
    assert "fasteoi" in pair.lender.text("grep nvme0q /proc/interrupts")


def test_each_message_is_an_interrupt(pair):
    """Plain MSI, straight to the borrower: each is an interrupt there."""
    with lending.borrowed_edu(pair, EDU_BDF) as lease:
        assert pair.borrower.read(f"{lending.BUS}/{lease}/irq_mode") == "direct"
        pair.borrower.modprobe("rig_edu")
        edu, before = Edu(pair, lease), message_writes(pair)
        edu.raise_(RAISES)
        assert (edu.handled, edu.spurious, edu.lost) == (RAISES, 0, 0)
        assert message_writes(pair) - before == RAISES


def test_each_level_is_served(pair):
    """By doorbell the lender has INTx only, and says so; each level is told once."""
    lending.ready(pair)
    said = [guest.dmesg().count(text) for guest, text in zip(pair.guests, SAID)]
    with lending.borrowed_edu(pair, EDU_BDF, "doorbell") as lease:
        assert [guest.dmesg().count(text) for guest, text in zip(pair.guests, SAID)] == [n + 1 for n in said]
        assert lending.taken(pair)[0] == 0 and lending.taken(pair)[2]
        pair.borrower.run("modprobe rig_edu intx=1")
        edu = Edu(pair, lease)
        told = lending.taken(pair)[3]
        edu.raise_(RAISES)
        assert (edu.handled, edu.spurious, edu.lost) == (RAISES, 0, 0)
        assert lending.taken(pair)[3] - told == RAISES


def test_a_drive_by_doorbell(pair):
    """A drive whose MSI-X the lender cannot take has INTx, and works by it."""
    bdf, _, disk = lending.borrowed_drive(pair, "doorbell")
    works_by_interrupts(pair.borrower, disk)
    assert "devlend-INTx" in pair.borrower.text("grep nvme0q /proc/interrupts")
    lending.take_down(pair, bdf)


@pytest.mark.parametrize("who", ["borrower", "lender"])
@pytest.mark.allow_complaints(*lending.LOSS)
def test_the_end_by_a_level(pair, who):
    """A lender whose bell is a level hears of a return under load, and ends what it takes back by force. In the latter case its own driver is
    not there afterwards: a reset leaves INTx of QEMU's drive asserted, where completions waited."""
    bdf, lease, disk = lending.borrowed_drive(pair)
    job = lending.start_reads(pair.borrower, disk)
    if who == "borrower":
        lending.give_back(pair.borrower, lease)
        lending.take_down(pair, bdf)
    else:
        pair.lender.run("modprobe -r nvme")
        lending.must_write(pair.lender, f"{lending.DRIVER}/reclaim", bdf + " force", timeout=180)
        lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]", 60, "the lease to go")
        assert lending.driver_of(pair.lender, bdf) is None
    job.wait(60)
