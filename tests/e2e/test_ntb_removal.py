# SPDX-License-Identifier: GPL-2.0
"""The NTB function is taken away in the middle of I/O, on either side: no deadlock, no complaint
of the kernel, everything freed, and all works again afterwards."""

import pytest

import lending

PAIR = lending.options()
NTB = "0000:00:05.0"
PCI = "/sys/bus/pci"
OWN = ("devlend_borrower", "devlend_lender", "devlend_core")

# how the NTB goes, and how it comes back
WAYS = {
    "remove": (f"echo 1 > {PCI}/devices/{NTB}/remove", f"echo 1 > {PCI}/rescan"),
    "unbind": (f"echo {NTB} > {PCI}/drivers/ntb_hw_intel/unbind", f"echo {NTB} > {PCI}/drivers/ntb_hw_intel/bind"),
    "rmmod": ("rmmod ntb_hw_intel", "modprobe ntb_hw_intel"),
}


def link_name(guest):
    """The link's device; its number grows when the NTB comes back."""
    lending.wait(guest, f"ls -d {lending.BUS}/link* >/dev/null 2>&1", what="a link")
    return guest.text(f"ls {lending.BUS} | grep ^link")


@pytest.mark.parametrize("side", ["lender", "borrower"])
@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.allow_complaints(*lending.LOSS)
def test_ntb_goes_under_load(pair, way, side):
    """Remove, unbind or unload under reads; then the same drive is borrowed again and read."""
    bdf, lease, disk = lending.borrowed_drive(pair)
    job = lending.start_reads(pair.borrower, disk)
    victim = getattr(pair, side)
    victim.run(WAYS[way][0], timeout=90)
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]", 60, "the lease to go")
    lending.wait(pair.borrower, f"[ ! -e /dev/{disk} ]", 60, "the drive to go")
    job.wait(60)
    assert pair.borrower.text("awk '$1 == \"nvme0q0\"' /proc/interrupts") == ""
    assert not pair.borrower.text(f"ls {PCI}/devices | grep ^8 || true")
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    victim.run(WAYS[way][1], timeout=90)
    for guest in pair.guests:
        lending.wait_state(guest, link_name(guest), "up", 90)
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=16 iflag=direct status=none")
    lending.take_down(pair, bdf)
    # link numbers start anew for the next test
    for guest in pair.guests:
        guest.run("rmmod " + " ".join(OWN) + " && modprobe -a " + " ".join(reversed(OWN)), timeout=90)


def test_modules_in_any_order(pair):
    """Whatever is loaded first, on either side, the offer comes to the borrower."""
    for first in (("devlend_lender", "devlend_borrower"), ("devlend_borrower", "devlend_lender")):
        for guest in pair.guests:
            guest.run("rmmod " + " ".join(OWN), timeout=90)
        for guest, order in ((pair.borrower, first), (pair.lender, first[::-1])):
            for name in order:
                guest.modprobe(name)
        bdf = lending.lent_drive(pair)
        lending.wait_offer(pair.borrower, bdf)
        lending.take_down(pair, bdf)
