# SPDX-License-Identifier: GPL-2.0
"""A borrower that is booted with pci=nomsi: no driver there is given a message.

What has INTx is borrowed with that alone, told by doorbell, exactly; what has none, and each mode of messages, is refused, by the right errno and
a line that says what helps. The lender's NTB has MSI-X, the borrower's INTx.
"""

import errno

import pytest

import lending
from edu import Edu
from fio import works_by_interrupts
from rig import Nvme

PAIR = lending.options(modules=lending.MODULES + ("igb",), borrower_append="pci=nomsi", borrower_smp=2,
                       devices=[Nvme(size=8 << 20), "edu,dma_mask=0xffffffffffffffff", "igb,id=pf"])
EDU_BDF, IGB_BDF = "0000:00:07.0", "0000:00:08.0"
PCI = "/sys/bus/pci/devices"
RAISES = 300
REMEDY = "boot without pci=nomsi"


def said(guest, since):
    """What the guest's kernel said since its log had so many lines."""
    return "\n".join(guest.dmesg().splitlines()[since:])


def lines(guest):
    """How many lines its kernel's log has."""
    return len(guest.dmesg().splitlines())


def messages(guest, bdf):
    """Message capabilities that a function shows: of "MSI" and "MSI-X"."""
    text = guest.text(f"lspci -vv -s {bdf}")
    return {kind for kind in ("MSI", "MSI-X") if f"] {kind}: Enable" in text}


def test_the_ntb_has_its_pin(pair):
    """The NTB's own interrupt is a level; the peer's is messages."""
    lending.ready(pair)
    assert "fasteoi" in pair.borrower.text("grep ndev_irq_isr /proc/interrupts")
    assert "MSI" not in pair.borrower.text("cat /proc/interrupts")
    assert "ndev_vec" in pair.lender.text("cat /proc/interrupts")


def test_each_level_is_served(pair):
    """A device of MSI and INTx comes with INTx: each time that it asks, the driver is called once."""
    lending.ready(pair)
    guest, before = pair.borrower, lines(pair.borrower)
    with lending.borrowed_edu(pair, EDU_BDF) as lease:
        assert guest.read(f"{lending.BUS}/{lease}/irq_mode") == "doorbell"
        log = said(guest, before)
        assert log.count("MSI is off on this host") == 1 and REMEDY in log
        assert messages(guest, lending.shadow_of(guest, lease)) == set()
        assert lending.taken(pair)[0] == 0 and lending.taken(pair)[2]
        guest.run("modprobe rig_edu intx=1")
        edu = Edu(pair, lease)
        told = lending.taken(pair)[3]
        edu.raise_(RAISES)
        assert (edu.handled, edu.spurious, edu.lost) == (RAISES, 0, 0)
        assert lending.taken(pair)[3] - told == RAISES
        assert "devlend-INTx" in guest.text("grep rig_edu /proc/interrupts")
    assert pair.lender.run("grep devlend_lender /proc/interrupts", check=False).rc == 1


def test_a_driver_that_insists_on_messages(pair):
    """It is told that there are none, as it would be of a local device, and does not bind."""
    with lending.borrowed_edu(pair, EDU_BDF) as lease:
        guest, shadow = pair.borrower, lending.shadow_of(pair.borrower, lease)
        before = lines(guest)
        guest.modprobe("rig_edu")
        assert lending.driver_of(guest, shadow) is None
        assert "error -EINVAL: no MSI" in said(guest, before)


def test_a_drive(pair):
    """A stock driver takes INTx by itself; what is written is read back, and nothing is found by polling."""
    guest = pair.borrower
    bdf, lease, disk = lending.borrowed_drive(pair)
    assert guest.read(f"{lending.BUS}/{lease}/irq_mode") == "doorbell"
    assert messages(guest, lending.shadow_of(guest, lease)) == set()
    told = lending.taken(pair)[3]
    works_by_interrupts(guest, disk)
    assert "devlend-INTx" in guest.text("grep nvme0q /proc/interrupts")
    assert lending.taken(pair)[3] > told
    lending.take_down(pair, bdf)


@pytest.mark.parametrize("mode", ["direct", "vectors"])
def test_messages_are_refused(pair, mode):
    """A mode of messages that is asked for is not had; one line says what helps, no lease is left, and auto works."""
    guest, bdf = pair.borrower, lending.lent_drive(pair)
    offer = lending.wait_offer(guest, bdf)
    lending.set_irq_mode(guest, offer, mode)
    before = lines(guest)
    assert guest.write(f"{lending.BUS}/{offer}/borrow", "auto", timeout=180) == errno.EOPNOTSUPP
    log = said(guest, before)
    assert log.count(f"interrupt mode {mode} cannot be had: MSI is off on this host; {REMEDY}") == 1
    assert lending.names(guest, "lease") == []
    lending.set_irq_mode(guest, offer, "auto")
    lending.nvme_block(guest, lending.shadow_of(guest, lending.borrow(guest, offer)))
    lending.take_down(pair, bdf)


def test_without_intx(pair):
    """A virtual function has messages only: it is refused, each host says why, and nothing of it stays taken."""
    guest = lending.ready(pair).borrower
    lending.must_write(pair.lender, f"{PCI}/{IGB_BDF}/sriov_numvfs", "1")
    bdf = pair.lender.text(f"basename $(readlink {PCI}/{IGB_BDF}/virtfn0)")
    lending.lend(pair.lender, bdf)
    offer = lending.wait_offer(guest, bdf)
    before, lent = lines(guest), lines(pair.lender)
    assert guest.write(f"{lending.BUS}/{offer}/borrow", "auto", timeout=180) == errno.EOPNOTSUPP
    log = said(guest, before)
    assert log.count(f"{offer} has INTx only, which cannot be told; {REMEDY}") == 1 and "pci 8000:" not in log
    assert said(pair.lender, lent).count("the borrower wants no messages, only INTx") == 1
    assert lending.names(guest, "lease") == []
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    assert lending.taken(pair) is None
    assert pair.lender.run("grep devlend_lender /proc/interrupts", check=False).rc == 1
    lending.reclaim(pair.lender, bdf)
    lending.must_write(pair.lender, f"{PCI}/{IGB_BDF}/sriov_numvfs", "0")
