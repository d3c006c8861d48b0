# SPDX-License-Identifier: GPL-2.0
"""What befalls a lent device on its own host: PCI errors with the kernel's recovery, and removal, in
order or by surprise; lent, borrowed, under I/O. The lease ends by its one way out, the borrower
hears of it, and the device can be lent again with its data whole."""

import pytest

import lending
from rig import Nvme
from rig.agent import until

# COMP_TIME (completion time-out) is not fatal by default, DLP (data link protocol) is
ERRORS = ("COMP_TIME", "DLP")
# Slot control: with power indicator and power controller off QEMU pulls the card. Interrupts are off until
# the power is on again: else pciehp would take it for a slot that was emptied in order.
PULL = "CAP_EXP+18.w=0700:0720 CAP_EXP+18.w=0120:0720"


def slot(number):
    """A root port and the drive in it, which is 0000:0<number>:00.0; QEMU never reports the link of a
    card that was there at boot as active, so the port is not to say that it can tell."""
    return [f"pcie-root-port,id=port{number},slot={number},chassis=1,x-pcie-lnksta-dllla=off",
            Nvme(serial=f"SLOT{number}", size=1 << 20, options=f"bus=port{number},addr=0")]


# the ports' own hotplug, not ACPI's. One drive comes back, three are unplugged for good
PAIR = lending.options(devices=slot(1) + slot(2) + slot(3) + slot(4),
                       lender_extra_args=["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"])
pytestmark = pytest.mark.allow_complaints(*lending.LOSS)


def said(guest, text):
    """How many lines of a guest's kernel log have a text."""
    return int(guest.run(f"dmesg | grep -c -F '{text}'", check=False).out)


def inject(pair, error):
    """Have the root port above the drive signal an error."""
    answer = pair.lender.qmp.command("human-monitor-command", command_line=f"pcie_aer_inject_error port1 {error}")
    assert answer.startswith("OK"), answer


def sha(guest, disk):
    """Digest of all of a disk, as the guest reads it."""
    return guest.text(f"dd if=/dev/{disk} bs=64k iflag=direct status=none | sha256sum", timeout=120).split()[0]


def lease_over(pair, lease):
    """Wait until the borrower has nothing left of a lease."""
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ] && ! lspci -n | grep -q ' {lending.NVME}'",
                 what="the lease and its shadow to go")


@pytest.mark.allow_complaints("AER: ")
@pytest.mark.parametrize("error", ERRORS)
def test_error_while_borrowed(pair, error):
    """The lease ends under I/O; the drive is reset when the PCI core has done with it, and offered again."""
    want = lending.fill(pair.lender.devices[1])
    bdf, lease, disk = lending.borrowed_drive(pair)
    job = lending.start_reads(pair.borrower, disk)
    recoveries = said(pair.lender, "device recovery successful")
    inject(pair, error)
    lease_over(pair, lease)
    job.wait(90)
    offer = lending.wait_offer(pair.borrower, bdf)
    log = pair.lender.text("dmesg")
    assert log.count("device recovery successful") == recoveries + 1
    assert log.rindex("device recovery successful") < log.rindex("taken back: the device failed")
    lease = lending.borrow(pair.borrower, offer)
    assert sha(pair.borrower, lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))) == want
    lending.take_down(pair, bdf)


@pytest.mark.allow_complaints("AER: ")
@pytest.mark.parametrize("error", ERRORS)
def test_error_while_offered(pair, error):
    """Nobody gets the drive between the error and the reset that follows."""
    bdf = lending.lent_drive(pair)
    resets, recoveries = (said(pair.lender, text) for text in ("taken back: the device failed", "recovery successful"))
    inject(pair, error)
    lending.wait(pair.lender, f"[ $(dmesg | grep -c -F 'taken back: the device failed') -gt {resets} ]")
    assert said(pair.lender, "recovery successful") == recoveries + 1
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    assert pair.lender.read(f"{lending.BUS}/lent-{bdf}/leases") == "0"
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")
    lending.take_down(pair, bdf)


@pytest.mark.allow_complaints("AER: ")
def test_device_that_keeps_failing(pair):
    """An error whenever the worker is at it: it gives up, and the drive is quarantined; reclaimed, it is well."""
    bdf, guest = lending.lent_drive(pair), pair.lender
    seen = guest.spawn(f'until [ "$(cat {lending.BUS}/lent-{bdf}/state)" = quarantined ]; do sleep 0.05; done')
    seen.send(b"")

    def given_up():
        inject(pair, "COMP_TIME")
        return seen.done
    until(given_up, 120, "the lender to give up")
    # the errors that nobody has looked at yet change nothing
    lending.wait_state(guest, f"lent-{bdf}", "quarantined")
    lending.reclaim(guest, bdf)
    assert lending.driver_of(guest, bdf) == "nvme"
    bdf, _, disk = lending.borrowed_drive(pair)
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")
    lending.take_down(pair, bdf)


def gone(pair, bdf):
    """Wait until nothing is left of a lent device on either host."""
    lending.wait(pair.lender, f"[ ! -e /sys/bus/pci/devices/{bdf} ] && [ ! -e {lending.BUS}/lent-{bdf} ]")
    lending.wait(pair.borrower, f"[ -z \"$(ls -d {lending.BUS}/offer-*-{bdf} 2>/dev/null)\" ]")


@pytest.mark.parametrize("borrowed", [False, True])
def test_sysfs_remove(pair, borrowed):
    """Removed by sysfs and found by a rescan, it is the driver's again, and can be lent again."""
    want = lending.fill(pair.lender.devices[1])
    guest = pair.lender
    if borrowed:
        bdf, lease, disk = lending.borrowed_drive(pair)
        job = lending.start_reads(pair.borrower, disk)
    else:
        bdf = lending.lent_drive(pair)
    lending.must_write(guest, f"/sys/bus/pci/devices/{bdf}/remove", "1")
    if borrowed:
        lease_over(pair, lease)
        job.wait(90)
    gone(pair, bdf)
    lending.must_write(guest, "/sys/bus/pci/rescan", "1")
    assert sha(guest, lending.nvme_block(guest, bdf)) == want
    bdf, lease, disk = lending.borrowed_drive(pair)
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")
    lending.take_down(pair, bdf)


def borrow_slot(pair, number):
    """Lend and borrow the drive in a slot, and have it read; return (BDF, lease, job)."""
    bdf = f"0000:0{number}:00.0"
    lending.lend(lending.ready(pair).lender, bdf)
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    return bdf, lease, lending.start_reads(pair.borrower, disk)


def pull(pair, number):
    """Pull the card in a slot."""
    port = pair.lender.text(f"basename $(dirname $(readlink -f /sys/bus/pci/devices/0000:0{number}:00.0))")
    pulls = said(pair.lender, "Card not present")
    pair.lender.text(f"setpci -s {port} {PULL}")
    gone(pair, f"0000:0{number}:00.0")
    assert said(pair.lender, "Card not present") == pulls + 1


def test_card_is_pulled_while_offered(pair):
    """The card is out before anybody knows."""
    lending.lend(lending.ready(pair).lender, "0000:02:00.0")
    lending.wait_offer(pair.borrower, "0000:02:00.0")
    pull(pair, 2)


def test_card_is_pulled_under_io(pair):
    """The same with a borrower who reads."""
    _, lease, job = borrow_slot(pair, 3)
    pull(pair, 3)
    lease_over(pair, lease)
    job.wait(90)


def test_hot_unplug_in_order(pair):
    """Somebody presses the slot's button: the kernel removes the device from under its borrower."""
    bdf, lease, job = borrow_slot(pair, 4)
    pair.lender.qmp.command("device_del", id="slot4")
    lease_over(pair, lease)
    job.wait(90)
    gone(pair, bdf)
