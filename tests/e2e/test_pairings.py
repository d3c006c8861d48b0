# SPDX-License-Identifier: GPL-2.0
"""Each pairing of the kernels: one lends, the other borrows, its stock driver reads what the lender's drive has,
and all is given back. 6.12 with itself is what all other tests have.

A host that is up stays up for the next pairing: its peer has a power cut and boots the other kernel, so that the
eight pairings take six boots. Both hosts have a drive, and either lends."""

from types import SimpleNamespace

import pytest

import lending
from rig import Nvme, paths

SIZE = 256 << 10
# by the kernels of guests a and b; neighbours differ in one guest at the most
PAIRINGS = (("6.12", "6.1"), ("6.1", "6.1"), ("6.1", "7.x"), ("7.x", "7.x"), ("7.x", "6.12"))
PAIR = lending.options(devices=[Nvme("LENTA", SIZE)], borrower_devices=[Nvme("LENTB", SIZE)],
                       lender_kernel=PAIRINGS[0][0], borrower_kernel=PAIRINGS[0][1])
KERNELS = sorted({kernel for pairing in PAIRINGS for kernel in pairing})
pytestmark = pytest.mark.usefixtures("built")


@pytest.mark.allow_complaints(*lending.LOSS)
@pytest.mark.parametrize("kernels", PAIRINGS, ids="-".join)
def test_lend_borrow_read_return_reclaim(pair, kernels):
    """Both ways, and the borrower's driver finds the lender's drive: serial and every byte."""
    for guest, kernel in zip(pair.guests, kernels):
        if guest.kernel.name != kernel:
            guest.restart(kernel)
        assert guest.text("uname -r") == paths.kernel(kernel).release
    a, b = pair.guests
    for lender, borrower in ((a, b),) if kernels[0] == kernels[1] else ((a, b), (b, a)):
        way = SimpleNamespace(lender=lender, borrower=borrower, guests=[lender, borrower])
        drive = lender.devices[0]
        want = lending.fill(drive)
        bdf, lease, disk = lending.borrowed_drive(way)
        assert lending.driver_of(borrower, lending.shadow_of(borrower, lease)) == "nvme"
        assert borrower.read(f"/sys/block/{disk}/device/serial").strip() == drive.serial
        got = borrower.text(f"dd if=/dev/{disk} bs=64k iflag=direct status=none | sha256sum", timeout=120)
        assert got.split()[0] == want
        lending.take_down(way, bdf)
