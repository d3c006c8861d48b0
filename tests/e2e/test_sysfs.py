# SPDX-License-Identifier: GPL-2.0
"""Wrong input to each writable file: a precise errno, and nothing changed."""

import errno

import pytest

import lending

NVME = "1b36:0010"
LEND = f"{lending.DRIVER}/lend"
RECLAIM = f"{lending.DRIVER}/reclaim"


@pytest.mark.parametrize("text, want", [
    ("", errno.EINVAL),
    ("\\n", errno.EINVAL),
    ("garbage", errno.EINVAL),
    ("0000:00:ff.0", errno.EINVAL),
    ("0000:00:1f.9", errno.EINVAL),
    ("0000:00:04.0.0", errno.EINVAL),
    ("0000:00:04.0 forc", errno.EINVAL),
    ("00:1e.7", errno.ENODEV),
    ("0042:00:04.0", errno.ENODEV),
])
@pytest.mark.parametrize("path", [LEND, RECLAIM])
def test_driver_attributes_refuse(pair, path, text, want):
    """A malformed BDF is EINVAL, one that is not there ENODEV."""
    if text == "":
        # a write of no bytes never reaches the file: the kernel answers 0 itself
        pytest.skip("an empty write does not reach sysfs")
    assert lending.write(pair.lender, path, text) == want


def test_long_garbage(pair):
    """A page full of garbage is EINVAL."""
    for path in (LEND, RECLAIM):
        assert lending.write(pair.lender, path, "x" * 4000) == errno.EINVAL


def test_lend_refuses_what_cannot_be_lent(pair):
    """Bridges, the NTB itself, and a device already lent."""
    guest = pair.lender
    ntb = lending.find_pci(guest, "8086:201c")
    assert lending.write(guest, LEND, ntb) == errno.EOPNOTSUPP
    nvme = lending.find_pci(guest, NVME)
    assert lending.write(guest, RECLAIM, nvme) == errno.ENODEV
    assert lending.driver_of(guest, nvme) == "nvme"
    lending.lend(guest, nvme)
    assert lending.write(guest, LEND, nvme) == errno.EBUSY
    lending.reclaim(guest, nvme)
    assert lending.driver_of(guest, nvme) == "nvme"
    override = lending.sh(guest, f"cat /sys/bus/pci/devices/{nvme}/driver_override")
    assert override == "(null)"


def test_borrow_and_return_refuse(pair):
    """Slots that are no slots, a second borrow, a shadow that is lent on."""
    nvme = lending.find_pci(pair.lender, NVME)
    lending.wait_link(pair.lender)
    lending.lend(pair.lender, nvme)
    guest = pair.borrower
    offer = lending.wait_offer(guest, nvme)
    borrow = f"{lending.BUS}/{offer}/borrow"
    for text in ("garbage", "-1", "99999999999", "x" * 4000):
        assert lending.write(guest, borrow, text) == errno.EINVAL
    lease = lending.borrow(guest, offer)
    assert lending.write(guest, borrow, "auto") == errno.EBUSY
    shadow = lending.shadow_of(guest, lease)
    assert lending.write(guest, LEND, shadow) == errno.ELOOP
    for text in ("garbage", "2", "x" * 4000):
        assert lending.write(guest, f"{lending.BUS}/{lease}/return", text) == errno.EINVAL
    lending.give_back(guest, lease)
    lending.reclaim(pair.lender, nvme)
    lending.wait(guest, f"[ ! -e {lending.BUS}/{offer} ]")
