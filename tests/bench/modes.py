# SPDX-License-Identifier: GPL-2.0
"""What the modes of a lease cost under load: each DMA mode and each interrupt mode, on borrowers that have them."""

import tempfile
from pathlib import Path

import lending
import load
from cost import Meter
from fio import fio
from rig import Nvme, Pair
from rig.pair import NTB_BDF

DRIVE = {"serial": "BENCH001", "size": 64 << 20}
# options of the pair -> (DMA, as the report says; the lease's dma_mode; irq_mode; type of the NTB's IOMMU group)
HOSTS = (
    ({}, (("direct", "direct", "direct", None), ("direct", "direct", "doorbell", None))),
    ({"borrower_iommu": True, "append": "iommu.strict=1"},
     (("IOMMU, strict", "iommu", "vectors", None), ("IOMMU, strict", "iommu", "doorbell", None),
      ("IOMMU, lazy", "iommu", "vectors", "DMA-FQ"))),
    # memory beyond 4 GiB, which the window does not reach
    ({"memory": 768, "machine": "max-ram-below-4g=512M"}, (("direct, bounced", "direct", "direct", None),)),
)


def under_load(pair, dma_mode, irq_mode, seconds):
    """A borrow in these modes: what the load gave, and what a run of fio costs that reads next to nothing."""
    guest = pair.borrower
    bdf, lease, disk = lending.borrowed_drive(pair, irq_mode)
    found = [guest.read(f"{lending.BUS}/{lease}/{mode}") for mode in ("dma_mode", "irq_mode")]
    if found != [dma_mode, irq_mode]:
        raise lending.StepFailed(f"modes {found} instead of {[dma_mode, irq_mode]}")
    # an emulator translates what it runs for the first time
    fio(guest, disk, rw="randread", bs="4k", iodepth=32, number_ios=64)
    with Meter(pair) as meter:
        fio(guest, disk, rw="randread", bs="4k", number_ios=1)
    made = load.run(pair, guest, disk, "iops", seconds)[0]
    lending.take_down(pair, bdf)
    return made, meter.cost


def measure(seconds, say):
    """A boot for each kind of borrower: [{"dma", "irq", "figures", "start", "idle"}, ...]; and complaints of kernels."""
    made, found = [], []
    for options, modes in HOSTS:
        with tempfile.TemporaryDirectory(prefix="devlend-modes-") as run_dir, Pair(
                Path(run_dir), **lending.options(devices=[Nvme(**DRIVE)], core=None, **options)) as pair:
            lending.ready(pair)
            lending.fill(pair.lender.devices[0])
            idle = load.idle(pair, seconds)
            for dma, dma_mode, irq_mode, group_type in modes:
                say(f"  DMA {dma}, interrupts {irq_mode}")
                if group_type:
                    lending.must_write(pair.borrower, f"/sys/bus/pci/devices/{NTB_BDF}/iommu_group/type", group_type)
                figures, start = under_load(pair, dma_mode, irq_mode, seconds)
                made.append({"dma": dma, "irq": irq_mode, "figures": figures, "start": start, "idle": idle})
            found += pair.check()
    return made, found
