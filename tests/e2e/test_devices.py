# SPDX-License-Identifier: GPL-2.0
"""Devices of many kinds: each lent, borrowed, used there by its stock driver, returned, reclaimed, and used again
by the lender's, which finds what the borrower wrote. Documentation/devices.rst has the table.

The large window is `fast`: in a trapped one QEMU's xhci reports a Host Controller Error. Nothing here counts or
asks for isolation.
"""

import contextlib
import random

import pytest

import lending
from rig import WithDrives
from rig.guest import BOUNCE
from rig.pair import NTB_MODULES

MAPS = f"x-max-bounce-buffer-size={BOUNCE}"
MODERN = f"disable-legacy=on,iommu_platform=on,{MAPS}"
SIZE = 8 << 20
BYTES = 16 << 10
# Behind ports of their own, as cards are: what has no reset of its own is then reset by its bus.
PORTS = [f"pcie-root-port,id=port{n},chassis={n},addr={6 + n:x}" for n in (1, 2)]
DISK, USB = "0000:01:00.0", "0000:02:00.0"
DEVICES = PORTS + [
    WithDrives(f"virtio-blk-pci,bus=port1,addr=0,drive=disk,{MODERN}", {"disk": SIZE}),
    WithDrives(f"qemu-xhci,id=usb,bus=port2,addr=0,{MAPS}", {"stick": SIZE}, ("usb-storage,bus=usb.0,drive=stick",)),
]
STOCK = ("virtio_blk", "xhci-pci", "usb-storage", "sd_mod")
PAIR = lending.options(devices=DEVICES, fast=True,
                       modules=NTB_MODULES + STOCK + ("devlend_core", "devlend_lender", "devlend_borrower"))


def wait_driver(guest, bdf, name):
    """Wait until a device is with a driver; probes may go on when what caused them has ended."""
    link = f"/sys/bus/pci/devices/{bdf}/driver"
    lending.wait(guest, f'[ "$(basename "$(readlink {link})")" = "{name}" ]', what=f"{name} at {bdf}")


@contextlib.contextmanager
def borrowed(pair, bdf):
    """BDF of the shadow of a device that is lent and borrowed; returned and reclaimed afterwards."""
    lending.ready(pair)
    driver = lending.driver_of(pair.lender, bdf)
    lending.lend(pair.lender, bdf)
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    shadow = lending.shadow_of(pair.borrower, lease)
    wait_driver(pair.borrower, shadow, driver)
    yield shadow
    lending.give_back(pair.borrower, lease)
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    lending.reclaim(pair.lender, bdf)
    wait_driver(pair.lender, bdf, driver)


def block_of(guest, bdf):
    """The disk below a device, once it is there."""
    find = f"find /sys/bus/pci/devices/{bdf}/ -maxdepth 12 -path '*/block/[sv]d?'"
    lending.wait(guest, f'[ -n "$({find})" ]', what=f"a disk below {bdf}")
    return guest.text(find).rsplit("/", 1)[-1]


def pattern(seed):
    """Bytes that nothing else holds."""
    return random.Random(seed).randbytes(BYTES)


def put(guest, disk, data):
    """Write the first bytes of a disk."""
    guest.push(data, "/tmp/data")
    guest.run(f"dd if=/tmp/data of=/dev/{disk} bs={BYTES} oflag=direct conv=fsync status=none", timeout=120)


def get(guest, disk):
    """Read the first bytes of a disk."""
    guest.run(f"dd if=/dev/{disk} of=/tmp/read bs={BYTES} count=1 iflag=direct status=none", timeout=120)
    return guest.pull("/tmp/read")


@pytest.mark.parametrize("bdf", [DISK, USB], ids=["virtio-blk", "xhci with a USB disk"])
def test_disk(pair, bdf):
    """What either host writes, the other reads."""
    before, after = pattern(bdf), pattern(bdf + "after")
    put(pair.lender, block_of(pair.lender, bdf), before)
    with borrowed(pair, bdf) as shadow:
        disk = block_of(pair.borrower, shadow)
        assert get(pair.borrower, disk) == before
        put(pair.borrower, disk, after)
        assert get(pair.borrower, disk) == after
    assert get(pair.lender, block_of(pair.lender, bdf)) == after
