# SPDX-License-Identifier: GPL-2.0
"""A borrower with an IOMMU, and a mapping that fails in the middle, after some of its pages: the driver gets ENOMEM,
what was mapped is not any more, and the next mapping is as good as ever.

tests/kmod/rig_half.c makes it fail, at whichever call to the IOMMU's driver; it knows that of Linux 6.12.
"""

import errno

import pytest

import lending
from rig.pair import DEVICE_BDF, NTB_MODULES
from test_iommu_borrower import PAGE, slice_of

PAIR = lending.options(kernel="6.12", devices=["edu,dma_mask=0xffffffffffffffff"], borrower_iommu=True,
                       modules=NTB_MODULES + ("devlend_core", "devlend_lender", "devlend_borrower"))
HALF = "/sys/module/rig_half/parameters"
OWN = 2 * PAGE		# rig_edu's buffers
MIB = 8
STEP = 7
SEGMENTS = 16		# of each of rig_map's two lists


@pytest.fixture
def shadow(pair):
    """(borrower, lease, BDF) of a borrowed edu without driver, and rig_half loaded."""
    guest = lending.ready(pair).borrower
    with lending.borrowed_edu(pair, DEVICE_BDF) as lease:
        assert guest.read(f"{lending.BUS}/{lease}/dma_mode") == "iommu"
        guest.modprobe("rig_half")
        yield guest, lease, lending.shadow_of(guest, lease)
        guest.run("rmmod rig_half")


def test_coherent_memory(shadow, record_property):
    """Eight MiB from pieces of memory, of which one is mapped by half: of some hundred calls every STEPth in turn."""
    guest, lease, bdf = shadow
    guest.run("modprobe rig_edu")
    path = f"/sys/bus/pci/devices/{bdf}/coherent"
    halves = []
    while True:
        lending.must_write(guest, f"{HALF}/arm", str(len(halves) * STEP + 1))
        code = guest.write(path, str(MIB), timeout=120)
        if not code:
            break
        assert code == errno.ENOMEM
        halves.append(int(guest.read(f"{HALF}/done")))
        assert slice_of(guest, lease)[2] == OWN
    assert guest.read(f"{HALF}/done") == "-1"
    lending.must_write(guest, f"{HALF}/arm", "0")
    record_property("mappings_that_failed", len(halves))
    record_property("of_these_after_some_pages", sum(pages > 0 for pages in halves))
    assert max(halves) > 0
    assert slice_of(guest, lease)[2] == OWN + (MIB << 20)
    lending.must_write(guest, path, "0")
    assert slice_of(guest, lease)[2] == OWN
    lending.must_write(guest, f"/sys/bus/pci/devices/{bdf}/transfer", "4096")
    guest.run("rmmod rig_edu")
    assert slice_of(guest, lease)[2] == 0


def test_scatter_lists(shadow):
    """Each segment of two lists in turn."""
    guest, lease, bdf = shadow
    folder = f"/sys/bus/pci/devices/{bdf}"
    guest.modprobe("rig_map")
    lending.must_write(guest, f"{folder}/driver_override", "rig_map")
    lending.must_write(guest, "/sys/bus/pci/drivers/rig_map/bind", bdf)
    for segment in range(1, 2 * SEGMENTS + 1):
        lending.must_write(guest, f"{HALF}/arm", str(segment))
        assert guest.write(f"{folder}/cost", "sg", timeout=120) == errno.ENOMEM
        assert guest.read(f"{HALF}/done") == "0"
        assert slice_of(guest, lease)[2] == 0
    lending.must_write(guest, f"{folder}/cost", "sg")
    assert slice_of(guest, lease)[2] == 0
    guest.run("rmmod rig_map")
    lending.must_write(guest, f"{folder}/driver_override", "\n")
