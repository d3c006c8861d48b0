# SPDX-License-Identifier: GPL-2.0
"""Several leases over one link: apart where windows allow, refused where not, shared by `unsafe` alone.

The drives' BARs lie above 4 GiB, side by side; those of edu (1 MiB) and the network card below. So a
window of 1 MiB and one of 4 GiB carry a drive and edu apart, but never two drives.
"""

import errno
from pathlib import Path

import pytest

import lending
from rig import Nvme
from rig.pair import DEVICE_BDF
from test_windows import in_use

DRIVE, OTHER, EDU, CARD = DEVICE_BDF, "0000:00:07.0", "0000:00:08.0", "0000:00:09.0"
PAIR = lending.options(devices=[Nvme("LENT0001", 1 << 20), Nvme("LENT0002", 1 << 20),
                                "edu,dma_mask=0xffffffffffffffff", "e1000e"],
                       windows=[{"bar": 2, "size": "1M", "fast": False}, {"bar": 4, "size": "4G", "fast": False}])
UNSAFE = "/sys/module/devlend_lender/parameters/unsafe"
BYTES = 64 << 10


@pytest.fixture
def lent(pair):
    """The pair, all devices lent; taken back afterwards, whatever was borrowed."""
    lending.ready(pair)
    for drive, seed in zip(pair.lender.devices[:2], (1, 2)):
        lending.fill(drive, seed)
    for bdf in (DRIVE, OTHER, EDU, CARD):
        lending.lend(pair.lender, bdf, force=bdf == EDU)
    yield pair
    for lease in lending.names(pair.borrower, "lease"):
        lending.give_back(pair.borrower, lease)
    assert not in_use(pair.lender) and not in_use(pair.borrower)
    lending.must_write(pair.lender, UNSAFE, "N")
    for bdf in (DRIVE, OTHER, EDU, CARD):
        lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
        lending.reclaim(pair.lender, bdf)


def borrow(pair, bdf):
    """Borrow a lent device; return its lease."""
    return lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))


def reads(pair, lease, number):
    """A borrowed drive reads what its image holds."""
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    pair.borrower.run(f"dd if=/dev/{disk} of=/tmp/read bs={BYTES} count=1 iflag=direct status=none", timeout=120)
    with Path(pair.lender.devices[number].image).open("rb") as image:
        assert pair.borrower.pull("/tmp/read") == image.read(BYTES)


def shared(pair, bdf):
    """Whether the lender says that a lease is not isolated from another; sysfs and debugfs agree."""
    said = pair.lender.read(f"{lending.BUS}/lent-{bdf}/shared") == "1"
    part = pair.lender.read("/sys/kernel/debug/devlend/lent").split(f"{bdf}: ")[1].split("\n0000:")[0]
    assert ("not isolated from another lease" in part) == said
    return said


def refused(pair, bdf, error, why):
    """A borrow is refused, with one line at the lender; nothing is left of it on either host."""
    before = in_use(pair.lender), in_use(pair.borrower), lending.names(pair.borrower, "lease")
    lines = pair.lender.dmesg().count(why)
    offer = lending.wait_offer(pair.borrower, bdf)
    assert pair.borrower.write(f"{lending.BUS}/{offer}/borrow", "auto", timeout=180) == error
    assert pair.lender.dmesg().count(why) == lines + 1
    assert (in_use(pair.lender), in_use(pair.borrower), lending.names(pair.borrower, "lease")) == before
    assert pair.lender.read(f"{lending.BUS}/lent-{bdf}/state") == "offered"
    lending.wait_offer(pair.borrower, bdf)


def test_apart(lent):
    """Each has a window, neither window reaches the other's registers; the end of one leaves the other alone."""
    drive = borrow(lent, DRIVE)
    edu = borrow(lent, EDU)
    first, second = ((int(w["base"], 16), int(w["size"], 16)) for w in in_use(lent.lender))
    assert first[0] + first[1] <= second[0] or second[0] + second[1] <= first[0]
    assert not shared(lent, DRIVE) and not shared(lent, EDU)
    lent.borrower.modprobe("rig_edu")
    edu_folder = f"/sys/bus/pci/devices/{lending.shadow_of(lent.borrower, edu)}"
    assert lent.borrower.write(f"{edu_folder}/raise", "5", timeout=120) == 0
    reads(lent, drive, 0)
    lent.borrower.run("rmmod rig_edu")
    lending.give_back(lent.borrower, edu)
    assert len(in_use(lent.lender)) == 1 and [w["users"] for w in in_use(lent.borrower)] == ["2"]
    reads(lent, drive, 0)


def test_no_free_window(lent):
    """A third device, in reach of neither window: ENOSPC; the first two work on."""
    borrow(lent, EDU)
    drive = borrow(lent, DRIVE)
    refused(lent, CARD, errno.ENOSPC, "no window for")
    reads(lent, drive, 0)


def test_shared_only_by_unsafe(lent):
    """Two drives side by side: refused, then granted as told, seen in the status, and each ends alone."""
    first = borrow(lent, DRIVE)
    refused(lent, OTHER, errno.EPERM, "would share a memory window with another lease")
    assert not shared(lent, DRIVE)
    reads(lent, first, 0)
    lending.must_write(lent.lender, UNSAFE, "Y")
    second = borrow(lent, OTHER)
    assert shared(lent, DRIVE) and shared(lent, OTHER)
    assert [w["users"] for w in in_use(lent.lender)] == ["2"]
    reads(lent, first, 0)
    reads(lent, second, 1)
    lending.give_back(lent.borrower, first)
    assert not shared(lent, DRIVE) and not shared(lent, OTHER)
    assert [w["users"] for w in in_use(lent.lender)] == ["1"]
    reads(lent, second, 1)
