# SPDX-License-Identifier: GPL-2.0
"""Devices of many kinds: each lent, borrowed, used there by its stock driver, returned, reclaimed, and used again
by the lender's, which finds what the borrower wrote. Documentation/devices.rst has the table.

The large window is `fast`: QEMU's xhci does DMA while a register of its own is written, which in a trapped
window meets the borrower's reads of registers; and nothing here counts or asks for isolation.
"""

import contextlib
import json
import random

import pytest

import lending
from cards import card_of, traffic
from rig import WithDrives
from rig.guest import BOUNCE
from rig.pair import NTB_MODULES

MAPS = f"x-max-bounce-buffer-size={BOUNCE}"
MODERN = f"disable-legacy=on,iommu_platform=on,{MAPS}"
SIZE = 8 << 20
BYTES = 16 << 10
CMB = 2 << 20
ADDRESSES = ("10.9.0.1", "10.9.0.2")	# the lender's and the borrower's
OWN_CARD = "0000:00:0d.0"
# Behind ports of their own, as cards are: what has no reset of its own is then reset by its bus.
PORTS = [f"pcie-root-port,id=port{n},chassis={n},addr={6 + n:x}" for n in (1, 2, 3)]
DRIVE, DISK, NET, USB = "0000:00:06.0", "0000:01:00.0", "0000:02:00.0", "0000:03:00.0"
IGB, FUNCTION, OTHER_FUNCTION = "0000:00:0a.0", "0000:00:0b.0", "0000:00:0b.1"
DEVICES = PORTS + [
    WithDrives(f"virtio-blk-pci,bus=port1,addr=0,drive=disk,{MODERN}", {"disk": SIZE}),
    f"virtio-net-pci,bus=port2,addr=0,netdev=n0,{MODERN}",
    WithDrives(f"qemu-xhci,id=usb,bus=port3,addr=0,{MAPS}", {"stick": SIZE}, ("usb-storage,bus=usb.0,drive=stick",)),
    "igb,addr=a,netdev=n1",
    WithDrives(f"nvme,serial=FUNCTION,drive=function,addr=b.0,multifunction=on,{MAPS}", {"function": SIZE}),
    "e1000e,addr=b.1,netdev=n2",
    f"e1000e,addr={OWN_CARD[-4:-2]},netdev=n3",
]
MANY = WithDrives(f"nvme,id=many,serial=MANY,addr=6,cmb_size_mb=2,max_ioqpairs=2,msix_qsize=3,{MAPS}",
                  {"first": SIZE, "second": SIZE, "zones": SIZE},
                  ("nvme-ns,bus=many,drive=first,nsid=1", "nvme-ns,bus=many,drive=second,nsid=2",
                   "nvme-ns,bus=many,drive=zones,nsid=3,zoned=on,zoned.zone_size=1M"))
HUB = [word for n in range(4) for word in ("-netdev", f"hubport,id=n{n},hubid=0")]
STOCK = ("nvme", "virtio_blk", "virtio_net", "xhci-pci", "usb-storage", "sd_mod", "e1000e", "igb", "igbvf")
PAIR = lending.options(devices=DEVICES, lender_extra_args=HUB, fast=True, append="iomem=relaxed",
                       modules=NTB_MODULES + STOCK + ("devlend_core", "devlend_lender", "devlend_borrower"))


def wait_driver(guest, bdf, name):
    """Wait until a device is with a driver; probes may go on when what caused them has ended."""
    link = f"/sys/bus/pci/devices/{bdf}/driver"
    lending.wait(guest, f'[ "$(basename "$(readlink {link})")" = "{name}" ]', what=f"{name} at {bdf}")


@contextlib.contextmanager
def borrowed(pair, bdf, irq_mode="auto"):
    """BDF of the shadow of a device that is lent and borrowed; returned and reclaimed afterwards."""
    lending.ready(pair)
    driver = lending.driver_of(pair.lender, bdf)
    lending.lend(pair.lender, bdf)
    offer = lending.wait_offer(pair.borrower, bdf)
    lending.set_irq_mode(pair.borrower, offer, irq_mode)
    lease = lending.borrow(pair.borrower, offer)
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


def namespaces(guest, bdf):
    """Disks of the drive's three namespaces, by namespace id: they are found in any order."""
    first = lending.nvme_block(guest, bdf)
    names = [f"{first[:-1]}{n}" for n in (1, 2, 3)]
    for name in names:
        lending.wait(guest, f"[ -e /dev/{name} ]")
    return sorted(names, key=lambda name: int(guest.read(f"/sys/block/{name}/nsid")))


def write_pointer(guest, disk):
    """Sectors of its first zone that are written."""
    zone = json.loads(guest.text(f"nvme zns report-zones /dev/{disk} -d 1 -o json"))["zone_list"][0]
    return zone["wp"] - zone["slba"]


def memory_of(guest, bdf):
    """Address of the controller memory buffer, its BAR 2, and whether the driver could use it."""
    name = guest.text(f"ls /sys/bus/pci/devices/{bdf}/nvme")
    said = guest.text(f"dmesg | grep '{name}: .*CMB' || true")
    return int(guest.read(f"/sys/bus/pci/devices/{bdf}/resource").splitlines()[2].split()[0], 16), said


@pytest.mark.long
def test_nvme_with_namespaces_zones_and_cmb(make_pair):
    """Two namespaces and a zoned one, each with its own content, and memory in the controller that both hosts reach."""
    # its registers and its memory lie far apart, so they want both windows, and a fast one leads to memory only
    pair = make_pair(**lending.options(devices=[MANY], append="iomem=relaxed"))
    assert "failed to register the CMB" in memory_of(pair.lender, DRIVE)[1]
    there = memory_of(pair.lender, DRIVE)[0]
    with borrowed(pair, DRIVE) as shadow:
        guest = pair.borrower
        disks = namespaces(guest, shadow)
        # Debian's kernels have no PCI_P2PDMA, by which the driver would have it: as on the lender
        here, said = memory_of(guest, shadow)
        assert "failed to register the CMB" in said
        for offset in (0, CMB - 4):
            guest.run(f"busybox devmem {here + offset:#x} 32 {0xd0000000 + offset:#x}")
            for host, start in ((guest, here), (pair.lender, there)):
                assert int(host.text(f"busybox devmem {start + offset:#x} 32"), 16) == 0xd0000000 + offset
        assert guest.read(f"/sys/block/{disks[2]}/queue/zoned") == "host-managed"
        assert guest.read(f"/sys/block/{disks[2]}/queue/nr_zones") == "8"
        assert write_pointer(guest, disks[2]) == 0
        for n, disk in enumerate(disks):
            put(guest, disk, pattern(n))
        assert [get(guest, disk) for disk in disks] == [pattern(n) for n in range(3)]
        assert write_pointer(guest, disks[2]) == BYTES // 512
    disks = namespaces(pair.lender, DRIVE)
    assert [get(pair.lender, disk) for disk in disks] == [pattern(n) for n in range(3)]
    assert write_pointer(pair.lender, disks[2]) == BYTES // 512
    pair.lender.run(f"nvme zns reset-zone /dev/{disks[2]} -s 0")
    assert write_pointer(pair.lender, disks[2]) == 0


def selftest(guest, bdf):
    """What `ethtool -t ... offline` says of a card."""
    name = guest.text(f"ls /sys/bus/pci/devices/{bdf}/net")
    return guest.run(f"ethtool -t {name} offline", timeout=240, check=False).out


@pytest.mark.long
@pytest.mark.parametrize("bdf", [NET, IGB, OTHER_FUNCTION], ids=["virtio-net", "igb", "e1000e, a function of two"])
def test_card(pair, bdf):
    """iperf3 between a borrowed card and the lender's own; ethtool's offline test says what it says locally."""
    own = card_of(pair.lender, OWN_CARD, ADDRESSES[0])
    before = bdf != NET and selftest(pair.lender, bdf)
    # e1000e's own test wants INTx, whatever it uses otherwise
    with borrowed(pair, bdf, "doorbell" if bdf == OTHER_FUNCTION else "auto") as shadow:
        if bdf == OTHER_FUNCTION:
            assert lending.driver_of(pair.lender, FUNCTION) == "nvme"
            put(pair.lender, lending.nvme_block(pair.lender, FUNCTION), pattern(bdf))
        card_of(pair.borrower, shadow, ADDRESSES[1])
        traffic(pair.lender, pair.borrower, ADDRESSES, pattern(3))
        assert before is False or selftest(pair.borrower, shadow) == before
    pair.lender.run(f"ip link set {own} down; ip addr flush dev {own}")
    card_of(pair.lender, bdf, "10.9.1.1")


@pytest.mark.long
def test_multifunction_device_whole(pair):
    """Both functions of one device, each by a lease of its own, at the same time."""
    put(pair.lender, lending.nvme_block(pair.lender, FUNCTION), pattern(1))
    own = card_of(pair.lender, OWN_CARD, ADDRESSES[0])
    with borrowed(pair, FUNCTION) as drive, borrowed(pair, OTHER_FUNCTION) as card:
        disk = lending.nvme_block(pair.borrower, drive)
        assert get(pair.borrower, disk) == pattern(1)
        card_of(pair.borrower, card, ADDRESSES[1])
        traffic(pair.lender, pair.borrower, ADDRESSES, pattern(3))
        put(pair.borrower, disk, pattern(2))
    assert get(pair.lender, lending.nvme_block(pair.lender, FUNCTION)) == pattern(2)
    pair.lender.run(f"ip link set {own} down; ip addr flush dev {own}")


@pytest.mark.long
def test_virtual_functions(pair):
    """A virtual function is borrowed while the lender keeps the physical one; they talk through the card's switch."""
    control = f"/sys/bus/pci/devices/{IGB}/sriov_numvfs"
    lending.ready(pair)
    card_of(pair.lender, IGB, ADDRESSES[0])
    lending.must_write(pair.lender, control, "2")
    vf = pair.lender.text(f"basename $(readlink /sys/bus/pci/devices/{IGB}/virtfn0)")
    with borrowed(pair, vf) as shadow:
        card_of(pair.borrower, shadow, ADDRESSES[1])
        traffic(pair.lender, pair.borrower, ADDRESSES, pattern(3))
    lending.must_write(pair.lender, control, "0")
