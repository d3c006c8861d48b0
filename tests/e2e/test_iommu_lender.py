# SPDX-License-Identifier: GPL-2.0
"""A lender with an IOMMU: the lent device reaches its borrower, and nothing else.

The lender translates everything strictly and remaps interrupts; the borrower has no IOMMU. The lender
has more memory than its borrower, so that some of it lies where no I/O address of the lease does.
"""

import errno
import random
import re
from pathlib import Path

import pytest

import lending
from rig import Nvme
from rig.pair import DEVICE_BDF, NTB_BDF

SIZE = 4 << 20
EDU = "0000:00:07.0"
LENDER_MIB, BORROWER_MIB = 1280, 512
# a page of the lender's RAM that its kernel leaves to the test
PAGE, PATTERN = 0x48000000, random.Random(4).randbytes(4096)
# behind a conventional bridge both have one requester id, and so one group
DEVICES = [Nvme(size=SIZE), "edu,dma_mask=0xffffffff", "pcie-pci-bridge,id=old"]
DEVICES += [f"edu,dma_mask=0xffffffff,bus=old,addr={slot}" for slot in (1, 2)]
PAIR = lending.options(devices=DEVICES, lender_iommu=True, borrower_append="iomem=relaxed",
                       lender_append=f"iommu.strict=1 iomem=relaxed memmap=1M${PAGE:#x}",
                       lender_memory=LENDER_MIB, borrower_memory=BORROWER_MIB)
LEND = f"{lending.DRIVER}/lend"
UNSAFE = "/sys/module/devlend_lender/parameters/unsafe"
POKED = "a5" * 8


def said(guest, text):
    """How many lines of a guest's kernel log have a text."""
    return int(guest.run(f"dmesg | grep -c -F '{text}'", check=False).out)


def group(guest, bdf):
    """A device's IOMMU group: (number, type of its default domain)."""
    folder = f"/sys/bus/pci/devices/{bdf}/iommu_group"
    return guest.text(f"basename $(readlink {folder})"), guest.read(f"{folder}/type")


def addresses(guest, bdf):
    """What a lent device may address, as the lender's dump has it: [(first, length)]."""
    part = guest.read("/sys/kernel/debug/devlend/lent").split(f"{bdf}: ")[1].split("\n0000:")[0]
    found = re.findall(r"map \d+: .* length (\w+) .* device address (\w+)", part)
    return [(int(address, 16), int(length, 16)) for length, address in found]


def aperture(guest):
    """Lowest address of the lender's CPU behind which its peer lies, in the larger window."""
    return int(guest.read(f"/sys/bus/pci/devices/{NTB_BDF}/resource").splitlines()[4].split()[0], 16)


@pytest.fixture
def edu(pair):
    """A lent and borrowed edu with a driver that knows 32 bits: (pair, its folder on the borrower)."""
    with lending.borrowed_edu(pair, EDU) as lease:
        pair.borrower.run("modprobe rig_edu dma_bits=32")
        yield pair, f"/sys/bus/pci/devices/{lending.shadow_of(pair.borrower, lease)}"


def test_drive(pair):
    """Lent, borrowed, read, written, returned and reclaimed, as without an IOMMU; nothing faults."""
    lender, borrower = lending.ready(pair).guests
    assert group(lender, DEVICE_BDF)[1] == "DMA" and group(lender, NTB_BDF)[1] == "DMA"
    want = lending.fill(lender.devices[0])
    bdf, lease, disk = lending.borrowed_drive(pair)
    assert lender.read(f"{lending.BUS}/lent-{bdf}/isolated") == "1"
    assert int(borrower.text(f"cat {lending.BUS}/offer-*-{bdf}/lender_iommu")) >= 39
    # memory and interrupts, apart, below 4 GiB though the aperture is above
    (ram, ram_size), (msi, msi_size) = addresses(lender, bdf)
    assert aperture(lender) >= 1 << 32
    assert ram + ram_size <= 0x80000000 and msi + msi_size <= 0x80000000
    assert ram >= msi + msi_size or msi >= ram + ram_size
    assert not any(w["fast"] for port in pair.ntbsim.config["ports"] for w in port["windows"])
    got = borrower.text(f"dd if=/dev/{disk} bs=128k iflag=direct status=none | sha256sum", timeout=300)
    assert got.split()[0] == want
    borrower.run(f"dd if=/dev/urandom of=/tmp/new bs=64k count=4 status=none && "
                 f"dd if=/tmp/new of=/dev/{disk} bs=64k seek=3 oflag=direct status=none", timeout=120)
    new = borrower.pull("/tmp/new")
    assert Path(lender.devices[0].image).read_bytes()[3 << 16:7 << 16] == new
    lending.give_back(borrower, lease)
    lending.wait_state(lender, f"lent-{bdf}", "offered")
    # between two leases it reaches nothing
    assert addresses(lender, bdf) == []
    assert lender.read(f"{lending.BUS}/lent-{bdf}/isolated") == "1"
    lending.reclaim(lender, bdf)
    disk = lending.nvme_block(lender, bdf)
    lender.run(f"dd if=/dev/{disk} of=/tmp/back bs=64k skip=3 count=4 iflag=direct status=none", timeout=120)
    assert lender.pull("/tmp/back") == new


def test_32_bit_device(edu):
    """Its buffers have short addresses, though the aperture has none; data and interrupts arrive."""
    pair, folder = edu
    assert aperture(pair.lender) >= 1 << 32
    assert int(pair.borrower.read(f"{folder}/buffer").split()[1], 16) < 1 << 32
    for size in (1, 333, 4096):
        assert pair.borrower.write(f"{folder}/transfer", str(size), timeout=120) == 0
    assert pair.borrower.read(f"{folder}/handled") == "6"
    assert pair.borrower.read(f"{folder}/lost") == "0"


@pytest.mark.allow_complaints("DMAR: ")
def test_outside_its_aperture(edu):
    """Told a page of the lender, it faults there and harms nobody; told its borrower's, it arrives."""
    pair, folder = edu
    lender, borrower = pair.guests
    assert all(address + length <= PAGE for address, length in addresses(lender, EDU))
    page = "bs=4096 count=1 status=none iflag=fullblock"
    lender.run(f"dd of=/dev/mem seek={PAGE >> 12} {page}", stdin=PATTERN)
    assert said(lender, "fault addr") == 0
    for address in (PAGE, PAGE + 512):
        assert borrower.write(f"{folder}/poke", hex(address), timeout=120) == 0
    lending.wait(lender, f"dmesg | grep -q 'Request device .*{EDU[5:]}. fault addr {PAGE:#x}'")
    lender.run(f"dd if=/dev/mem of=/tmp/page skip={PAGE >> 12} {page}")
    assert lender.pull("/tmp/page") == PATTERN
    # it works on, and what is its borrower's it reaches
    assert borrower.read(f"{folder}/first") != POKED
    assert borrower.write(f"{folder}/poke", borrower.read(f"{folder}/buffer").split()[1], timeout=120) == 0
    assert borrower.read(f"{folder}/first") == POKED
    assert borrower.write(f"{folder}/transfer", "4096", timeout=120) == 0


@pytest.mark.allow_complaints("DMAR: ")
def test_around_its_registers(pair):
    """The borrower's CPU reaches the BAR that it was granted, and nothing before or behind it in the window."""
    lender, borrower = lending.ready(pair).guests
    bdf, lease, _ = lending.borrowed_drive(pair)
    part = lender.read("/sys/kernel/debug/devlend/lent").split(f"{bdf}: ")[1]
    size, window, offset = (int(n, 0) for n in re.search(
        r"bar 0: bus \w+ size (\w+) window (\d) offset (\w+)", part).groups())
    shadow = lending.shadow_of(borrower, lease)
    first = int(borrower.read(f"/sys/bus/pci/devices/{shadow}/resource").split()[0], 16)
    resources = borrower.read(f"/sys/bus/pci/devices/{NTB_BDF}/resource").splitlines()
    start, end = (int(word, 16) for word in resources[(2, 4)[window]].split()[:2])
    assert first == start + offset
    assert lending.devmem(borrower, first + 8) != 0xffffffff	# version register
    # the page before and the one behind, and others far off, as far as the window reaches
    around = [first + by for by in (-4, -4096, -(1 << 20), -offset, size, size + 4096, 1 << 20)]
    around = [address & ~3 for address in around if start <= address < end and not first <= address < first + size]
    assert len(around) >= 3
    assert [lending.devmem(borrower, address) for address in around] == [0xffffffff] * len(around)
    if any(address < first for address in around):
        # below the BAR the NTB lets all in, and the IOMMU nothing
        lending.wait(lender, f"dmesg | grep -q 'Request device .*{NTB_BDF[5:]}. fault addr'")
    lending.take_down(pair, bdf)


def test_lend_fails_half_way(pair):
    """It is bound to the lender's driver already when its reset fails: then its own driver has it again, and
    driver_override is as it was, be it empty or not."""
    lender = lending.ready(pair).lender
    one, two = (bdf for bdf in lender.text("lspci -D -n -d 1234:11e8 | cut -d' ' -f1").split() if bdf != EDU)
    folder = f"/sys/bus/pci/devices/{one}"
    # a reset of the bus, which the kernel took for possible before it found the other
    assert lender.read(f"{folder}/reset_method") == "bus"
    lender.run("modprobe rig_edu dma_bits=32")
    lending.must_write(lender, "/sys/bus/pci/drivers/rig_edu/unbind", two)
    why = "not lent: cannot stop and reset the device"
    for n, (override, shown) in enumerate((("\n", "(null)"), ("rig_edu", "rig_edu")), 1):
        lending.must_write(lender, f"{folder}/driver_override", override)
        assert lender.write(LEND, f"{one} force") == errno.ENOTTY
        assert said(lender, why) == n
        assert lending.driver_of(lender, one) == "rig_edu"
        assert lender.read(f"{folder}/driver_override") == shown
        assert lending.names(lender, "lent") == []
    assert lender.write(f"{folder}/transfer", "64", timeout=120) == 0
    lending.must_write(lender, f"{folder}/driver_override", "\n")
    lender.run("rmmod rig_edu")


def test_group_of_two(pair):
    """Refused while its neighbour has a driver, or is lent; unsafe or not, since the IOMMU translates for both."""
    lender = lending.ready(pair).lender
    one, two = (bdf for bdf in lender.text("lspci -D -n -d 1234:11e8 | cut -d' ' -f1").split() if bdf != EDU)
    assert group(lender, one) == group(lender, two)
    why = "another device of its IOMMU group"
    lender.run("modprobe rig_edu dma_bits=32")
    assert lending.driver_of(lender, two) == "rig_edu"
    for n, unsafe in enumerate("NY", 1):
        lending.must_write(lender, UNSAFE, unsafe)
        assert lender.write(LEND, f"{one} force") == errno.EBUSY
        assert said(lender, why) == n
        assert lending.driver_of(lender, one) == "rig_edu"
    lending.must_write(lender, UNSAFE, "N")
    lender.run("rmmod rig_edu")
    # a reset of the bus, which the kernel took for possible before it found the other
    lending.must_write(lender, f"/sys/bus/pci/devices/{one}/reset_method", "\n")
    lending.lend(lender, one, force=True)
    assert lender.write(LEND, f"{two} force") == errno.EBUSY
    assert said(lender, why) == 3
    lending.reclaim(lender, one)
    # the group is its default domain's again
    lender.run("modprobe rig_edu dma_bits=32")
    assert lender.write(f"/sys/bus/pci/devices/{two}/transfer", "64", timeout=120) == 0
    lender.run("rmmod rig_edu")


def test_pass_through_without_isolated_interrupts(make_guest):
    """No interrupt remapping: refused, but for unsafe. With iommu=pt too the lent device is taken out of it."""
    guest = make_guest("lender", devices=[Nvme(size=1 << 20)], iommu=True, append="iommu=pt intremap=off",
                       modules=("ntb", "nvme", "devlend_core", "devlend_lender"))
    bdf = lending.find_pci(guest, lending.NVME)
    assert group(guest, bdf)[1] == "identity"
    assert guest.write(LEND, bdf) == errno.EPERM
    assert said(guest, "does not remap interrupts") == 1
    assert lending.driver_of(guest, bdf) == "nvme"
    lending.must_write(guest, UNSAFE, "Y")
    lending.lend(guest, bdf)
    assert guest.read(f"{lending.BUS}/lent-{bdf}/isolated") == "1"
    lending.reclaim(guest, bdf)
    guest.run(f"dd if=/dev/{lending.nvme_block(guest, bdf)} of=/dev/null bs=4k count=4 iflag=direct status=none")
