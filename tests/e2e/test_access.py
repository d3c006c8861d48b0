# SPDX-License-Identifier: GPL-2.0
"""Who may see and borrow a lent device: no offer, a precise errno and one log line for all others; a borrower that
is taken off the list loses the device, and those on the list find it clean."""

import errno

import pytest

import lending
from rig import Nvme

PAIR = lending.options(devices=[Nvme(size=8 << 20)])
STRANGER = "11111111-2222-3333-4444-555555555555"
REFUSED = "it is not in the allow list"


@pytest.fixture
def drive(pair):
    """BDF of the drive, lent to anybody; taken back afterwards."""
    bdf = lending.lent_drive(pair)
    yield bdf
    lending.take_down(pair, bdf)


def attribute(bdf, name):
    """A file of a lent device."""
    return f"{lending.BUS}/lent-{bdf}/{name}"


def peer(pair):
    """The borrower, as the lender knows it."""
    return pair.lender.read(f"{lending.BUS}/link0/peer_host")


def said(guest, text):
    """How many lines of a guest's kernel log have a text."""
    return int(guest.run(f"dmesg | grep -c -F '{text}'", check=False).out)


def wait_no_offer(pair):
    """Wait until the borrower has no offer."""
    lending.wait(pair.borrower, f"! ls -d {lending.BUS}/offer-* 2>/dev/null", what="the offer to go")


def read_some(guest, lease):
    """Read a borrowed drive."""
    disk = lending.nvme_block(guest, lending.shadow_of(guest, lease))
    guest.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")


def test_who_is_not_allowed(pair, drive):
    """No offer; one that may only be seen; asking for it is refused by the lender, with one line there."""
    assert pair.lender.read(attribute(drive, "allow")) == "any"
    assert pair.lender.read(attribute(drive, "visible")) == "none"
    lending.wait_offer(pair.borrower, drive)
    lending.must_write(pair.lender, attribute(drive, "allow"), STRANGER)
    wait_no_offer(pair)
    lending.must_write(pair.lender, attribute(drive, "visible"), f"{STRANGER} {peer(pair)}")
    offer = lending.wait_offer(pair.borrower, drive, "forbidden")
    before = said(pair.lender, REFUSED)
    for _ in range(3):
        assert pair.borrower.write(f"{lending.BUS}/{offer}/borrow", "auto") == errno.EPERM
    assert said(pair.lender, REFUSED) == before + 1
    assert lending.names(pair.borrower, "lease") == []
    assert pair.lender.read(attribute(drive, "state")) == "offered"
    lending.must_write(pair.lender, attribute(drive, "allow"), f"{STRANGER}\n{peer(pair)}\n")
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, drive))
    read_some(pair.borrower, lease)


def test_revoked_while_borrowed(pair, drive):
    """Taken off the list: asked to return, and does; nothing to be had until it is on the list again."""
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, drive))
    read_some(pair.borrower, lease)
    # one that keeps the borrower on the list is nothing to it
    lending.must_write(pair.lender, attribute(drive, "allow"), peer(pair))
    read_some(pair.borrower, lease)
    before = said(pair.lender, f"lent-{drive}: returned")
    lending.must_write(pair.lender, attribute(drive, "allow"), STRANGER)
    # the write returned, so it is over
    assert pair.lender.read(attribute(drive, "leases")) == "1"
    assert pair.lender.read(attribute(drive, "state")) == "offered"
    assert pair.lender.read(attribute(drive, "peer")) == ""
    assert said(pair.lender, f"lent-{drive}: returned") == before + 1
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]")
    wait_no_offer(pair)
    lending.must_write(pair.lender, attribute(drive, "allow"), "any")
    read_some(pair.borrower, lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, drive)))


@pytest.mark.allow_complaints(*lending.LOSS)
def test_revoked_by_force(pair, drive):
    """No grace, in the middle of reads: cut off, and the drive is whole."""
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, drive))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    reads = lending.start_reads(pair.borrower, disk)
    lending.must_write(pair.lender, attribute(drive, "allow"), "none force")
    assert pair.lender.read(attribute(drive, "state")) == "offered"
    reads.wait(60)
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]")
    wait_no_offer(pair)
    lending.must_write(pair.lender, attribute(drive, "allow"), peer(pair))
    read_some(pair.borrower, lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, drive)))


def test_lent_to_nobody_at_first(pair):
    """With "private" no peer hears of the device before the list says so."""
    lending.ready(pair)
    bdf = lending.find_pci(pair.lender, lending.NVME)
    calls = pair.lender.read(f"{lending.BUS}/link0/calls_sent")
    lending.must_write(pair.lender, f"{lending.DRIVER}/lend", f"{bdf} private")
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    assert pair.lender.read(attribute(bdf, "allow")) == "none"
    assert pair.lender.read(f"{lending.BUS}/link0/calls_sent") == calls
    assert lending.names(pair.borrower, "offer") == []
    lending.must_write(pair.lender, attribute(bdf, "allow"), peer(pair))
    lending.wait_offer(pair.borrower, bdf)
    lending.take_down(pair, bdf)


def test_what_is_no_list(pair, drive):
    """Refused with its errno, and the list stays as it is."""
    many = " ".join(f"{n:08x}-0000-0000-0000-000000000000" for n in range(1, 18))
    for text, code in (("", errno.EINVAL), ("all", errno.EINVAL), (STRANGER[:-1], errno.EINVAL),
                       (f"any {STRANGER}", errno.EINVAL), ("0" * 8 + "-0000-0000-0000-" + "0" * 12, errno.EINVAL),
                       (many, errno.E2BIG)):
        for name in ("allow", "visible"):
            assert pair.lender.write(attribute(drive, name), text + "\n") == code, (name, text)
    assert pair.lender.write(attribute(drive, "visible"), "any force\n") == errno.EINVAL
    assert pair.lender.read(attribute(drive, "allow")) == "any"
    assert pair.lender.read(attribute(drive, "visible")) == "none"
    fits = " ".join(many.split()[:16])
    lending.must_write(pair.lender, attribute(drive, "visible"), fits)
    assert pair.lender.read(attribute(drive, "visible")) == fits
