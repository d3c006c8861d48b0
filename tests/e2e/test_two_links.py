# SPDX-License-Identifier: GPL-2.0
"""Two NTBs between the same two hosts: a device is one offer, and when one link dies there is the other."""

import errno

import pytest

import lending
from rig import Nvme
from rig.pair import DEVICE_BDF

pytestmark = pytest.mark.long
PAIR = lending.options(devices=[Nvme(size=1 << 20)], second_ntb=True)


def links_of(guest, offer):
    """Over which link an offer would be borrowed."""
    return guest.text(f"readlink -f {lending.BUS}/{offer}").split("/")[-2]


def reads(pair, lease, want):
    """The whole drive reads as its image."""
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    got = pair.borrower.text(f"dd if=/dev/{disk} bs=128k count=8 iflag=direct status=none | sha256sum", timeout=300)
    assert got.split()[0] == want


def test_other_link(pair):
    """Offered once, borrowed through one link; that link dies, and it is borrowed again through the other."""
    borrower = lending.ready(pair).borrower
    want = lending.fill(pair.lender.devices[0])
    lending.lend(pair.lender, DEVICE_BDF)
    offer = lending.wait_offer(borrower, DEVICE_BDF)
    assert lending.names(borrower, "offer") == [offer]
    first = links_of(borrower, offer)
    second = {"link0": "link1", "link1": "link0"}[first]
    lease = lending.borrow(borrower, offer)
    domain = lending.shadow_of(borrower, lease)
    assert borrower.read(f"{lending.BUS}/{lease}/link") == first
    assert borrower.write(f"{lending.BUS}/{offer}/borrow", "auto") == errno.EBUSY
    reads(pair, lease, want)

    # the second goes and comes: nothing happens to the lease
    pair.ntbsim.link(False, link=int(second[-1]))
    lending.wait_state(borrower, second, "down")
    pair.ntbsim.link(True, link=int(second[-1]))
    lending.wait_state(borrower, second, "up")
    reads(pair, lease, want)

    pair.ntbsim.link(False, link=int(first[-1]))
    lending.wait(borrower, f"[ ! -e {lending.BUS}/{lease} ]")
    assert lending.wait_offer(borrower, DEVICE_BDF) == offer
    assert links_of(borrower, offer) == second
    lease = lending.borrow(borrower, offer)
    assert borrower.read(f"{lending.BUS}/{lease}/link") == second
    assert lending.shadow_of(borrower, lease) == domain
    reads(pair, lease, want)

    # an offer that is not borrowed moves, too
    pair.ntbsim.link(True, link=int(first[-1]))
    lending.wait_state(borrower, first, "up")
    lending.give_back(borrower, lease)
    lending.wait_offer(borrower, DEVICE_BDF)
    pair.ntbsim.link(False, link=int(second[-1]))
    lending.wait_state(borrower, second, "down")
    assert lending.wait_offer(borrower, DEVICE_BDF) == offer
    assert links_of(borrower, offer) == first
    pair.ntbsim.link(True, link=int(second[-1]))
    lending.wait_state(borrower, second, "up")
    lending.reclaim(pair.lender, DEVICE_BDF)
    lending.wait(borrower, f"! ls -d {lending.BUS}/offer-*")
