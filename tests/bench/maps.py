# SPDX-License-Identifier: GPL-2.0
"""What it costs a driver to map memory and to unmap it, in instructions: tests/kmod/rig_map.c on a borrowed device, and
on a local one of the same guest, whose mappings are the kernel's own.

QEMU counts the borrower's instructions as its time (-icount), so that the time stamp counter tells them. One boot:
the policy of the borrower's IOMMU is changed by its groups' types.
"""

import contextlib
import tempfile
from pathlib import Path

import lending
from bare import bound
from rig import Nvme, Pair
from rig.pair import DEVICE_BDF, NTB_BDF, NTB_MODULES

# the mode of the borrowed device by the type of the NTB's IOMMU group
POLICIES = {"DMA": "iommu", "DMA-FQ": "iommu", "identity": "direct"}
SHAPES = ("page", "sg")
REPEATS = 15
PATIENCE_MS = 300000
MODULES = NTB_MODULES + ("devlend_core", "devlend_lender", "devlend_borrower")


def cost(guest, bdf):
    """Instructions of a map and of an unmap by shape: {shape: [[map, unmap], ...]}."""
    path = f"/sys/bus/pci/devices/{bdf}/cost"
    made = {}
    with bound(guest, bdf, "rig_map"):
        for shape in SHAPES:
            made[shape] = []
            # the first fills the caches of the kernel's allocators
            for _ in range(1 + REPEATS):
                lending.must_write(guest, path, shape)
                pages, *ticks = map(int, guest.read(path).split())
                made[shape].append([n / pages for n in ticks])
            del made[shape][0]
    return made


def set_type(guest, bdf, wanted):
    """Type of a device's IOMMU group, with its driver, if any, unbound meanwhile."""
    folder = f"/sys/bus/pci/devices/{bdf}"
    driver = lending.driver_of(guest, bdf)
    if driver:
        lending.must_write(guest, f"{folder}/driver/unbind", bdf)
    lending.must_write(guest, f"{folder}/iommu_group/type", wanted)
    if driver:
        lending.must_write(guest, f"/sys/bus/pci/drivers/{driver}/bind", bdf)


@contextlib.contextmanager
def borrowed(pair, mode):
    """A lease in a DMA mode: its shadow."""
    guest = pair.borrower
    lending.ready(pair)
    # a guest whose instructions are its time has a slow clock, on a busy machine a very slow one, and so has its beat
    lending.must_write(pair.lender, f"{lending.BUS}/link0/beat_timeout_ms", str(PATIENCE_MS))
    lease = lending.borrow(guest, lending.wait_offer(guest, DEVICE_BDF))
    found = guest.read(f"{lending.BUS}/{lease}/dma_mode")
    if found != mode:
        raise lending.StepFailed(f"DMA mode {found} instead of {mode}")
    yield lending.shadow_of(guest, lease)
    lending.give_back(guest, lease)


def measure():
    """Boot, measure all: {group type: {"local" or "borrowed": {shape: [[map, unmap], ...]}}}; and complaints of kernels."""
    made = {}
    with tempfile.TemporaryDirectory(prefix="devlend-maps-") as run_dir, Pair(
            Path(run_dir), **lending.options(
                modules=MODULES, devices=[Nvme()], borrower_devices=[Nvme("LOCAL001")], borrower_iommu=True,
                append="iommu.strict=1", borrower_extra_args=["-icount", "shift=0"])) as pair:
        guest = pair.borrower
        lending.lent_drive(pair)
        for group_type, mode in POLICIES.items():
            for bdf in (NTB_BDF, DEVICE_BDF):
                set_type(guest, bdf, group_type)
            with borrowed(pair, mode) as shadow:
                made[group_type] = {"local": cost(guest, DEVICE_BDF), "borrowed": cost(guest, shadow)}
        return made, pair.check()
