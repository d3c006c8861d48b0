# SPDX-License-Identifier: GPL-2.0
"""A host with memory beyond what its window covers: bounced where there are buffers for it, else refused beforehand.

Both guests have 512 MiB of memory below 4 GiB and 256 above, and windows of 4 GiB. The borrower has bounce buffers; the
lender has none, and tries to borrow what the borrower lends.
"""

import errno
import hashlib
import random
import re
from pathlib import Path

import pytest

import lending
from rig import Nvme
from rig.pair import DEVICE_BDF
from test_windows import in_use

EDU = "edu,dma_mask=0xffffffffffffffff"
DRIVE_BDF, EDU_BDF = DEVICE_BDF, "0000:00:07.0"
PAIR = lending.options(devices=[Nvme(size=16 << 20), EDU], borrower_devices=[EDU], memory=768,
                       machine="max-ram-below-4g=512M", lender_append="swiotlb=noforce")
LOW_16M, FOUR_G = 16 << 20, 4 << 30
KIB, MIB = 1 << 10, 1 << 20
EVENTS = "/sys/kernel/tracing/events/swiotlb/swiotlb_bounced"


def ram_end(guest, below=2 ** 64):
    """The first address beyond a guest's memory, or beyond that which ends below an address."""
    ends = [int(n, 16) + 1 for n in re.findall(r"^\w+-(\w+) : System RAM$", guest.read("/proc/iomem"), re.M)]
    return max(end for end in ends if end <= below)


def pool(guest):
    """Where a guest's bounce buffers are: first address, and the first beyond."""
    return [int(n, 16) for n in re.search(r"software IO TLB: mapped \[mem (0x\w+)-(0x\w+)\]", guest.dmesg()).groups()]


def memory_map(guest):
    """(size, device address of CPU address 0) of what a guest's lease exposes of its memory."""
    text = guest.read("/sys/kernel/debug/devlend/leases")
    return [int(n, 16) for n in re.search(r"map0: cpu_phys 0x0 size (\w+) device_addr (\w+)", text).groups()]


class Bounces:
    """What the kernel bounced for a device, from its own tracepoint, while the context was there."""

    def __init__(self, guest, device):
        self.guest, self.device = guest, device

    def __enter__(self):
        self.guest.run(f"echo > /sys/kernel/tracing/trace; echo 1 > {EVENTS}/enable")
        return self

    def __exit__(self, *_):
        self.guest.run(f"echo 0 > {EVENTS}/enable")
        found = re.findall(rf"dev_name: {self.device} dma_mask=\w+ dev_addr=(\w+) size=(\d+)",
                           self.guest.read("/sys/kernel/tracing/trace"))
        self.addresses = {int(address, 16) for address, _ in found}
        self.bytes = sum(int(size) for _, size in found)


def read(pair, disk, size):
    """SHA-256 of the start of the borrowed drive, as the borrower reads it past its caches."""
    return pair.borrower.text(f"dd if=/dev/{disk} bs=64k count={size >> 16} iflag=direct status=none | sha256sum",
                              timeout=200).split()[0]


def test_a_drive_is_bounced(pair, record_property):
    """The stock nvme driver reads and writes by memory beyond the window: right data, each page of it bounced."""
    guest, drive = pair.borrower, pair.lender.devices[0]
    assert ram_end(guest) > FOUR_G
    lending.fill(drive)
    _, lease, disk = lending.borrowed_drive(pair)
    assert "RAM from 4 GiB on" in guest.dmesg() and "no window for" not in guest.dmesg()
    assert memory_map(guest)[0] == ram_end(guest, below=FOUR_G)
    written = random.Random(2).randbytes(128 * KIB)
    guest.push(written, "/tmp/new")
    with Bounces(guest, lending.shadow_of(guest, lease)) as bounces:
        assert read(pair, disk, MIB) == hashlib.sha256(Path(drive.image).read_bytes()[:MIB]).hexdigest()
        guest.run(f"dd if=/tmp/new of=/dev/{disk} bs=64k seek=8 oflag=direct status=none", timeout=120)
    image = Path(drive.image).read_bytes()
    assert image[512 * KIB:640 * KIB] == written
    assert read(pair, disk, MIB) == hashlib.sha256(image[:MIB]).hexdigest()
    record_property("kib_bounced", bounces.bytes // KIB)
    # of an address that is in no map there is none for the device
    assert bounces.addresses == {2 ** 64 - 1}
    assert bounces.bytes >= MIB + 128 * KIB
    lending.take_down(pair, DRIVE_BDF)


@pytest.fixture
def edu(pair):
    """(guest, folder of the borrowed edu with its driver)."""
    with lending.borrowed_edu(pair, EDU_BDF) as lease:
        pair.borrower.modprobe("rig_edu")
        yield pair.borrower, f"/sys/bus/pci/devices/{lending.shadow_of(pair.borrower, lease)}"


def test_what_crosses_is_the_bounce_buffer(pair, edu):
    """A page beyond 4 GiB; the device has an address in the pool, and no byte more crosses than it moves."""
    guest, folder = edu
    assert not any(w["fast"] for port in pair.ntbsim.config["ports"] for w in port["windows"])
    size, base = memory_map(guest)
    first, beyond = pool(guest)
    assert size == ram_end(guest, below=FOUR_G) and beyond <= size
    for count in (1, 333, 4096):
        pair.ntbsim.reset_counters()
        assert guest.write(f"{folder}/stream", str(count), timeout=120) == 0
        crossed = pair.ntbsim.counters()["ports"]["a"]["out"]["windows"]["bar4"]
        # and two interrupts
        assert (crossed["bytes_read"], crossed["bytes_written"]) == (count, count + 2 * 4)
        assert crossed["dropped"] == 0
        where = [int(n, 16) for n in guest.read(f"{folder}/streamed").split()]
        for phys, dma in (where[:2], where[2:]):
            assert phys >= FOUR_G
            assert base + first <= dma < base + beyond


def test_coherent_memory_is_below(pair, edu):
    """Memory that cannot be bounced comes from within the window, and not only from the lowest 16 MiB."""
    del pair
    guest, folder = edu
    phys, dma = (int(n, 16) for n in guest.read(f"{folder}/buffer").split())
    size, base = memory_map(guest)
    assert LOW_16M <= phys < size
    assert dma == base + phys
    assert guest.write(f"{folder}/transfer", "4096", timeout=120) == 0


def test_refused_without_bounce_buffers(pair):
    """Memory beyond the window, no buffers: no driver sees the device; a line has both sizes, another what to do."""
    lending.ready(pair)
    owner, guest = pair.borrower, pair.lender
    assert "software IO TLB: mapped" not in guest.dmesg()
    lending.lend(owner, DEVICE_BDF, force=True)
    offer = lending.wait_offer(guest, DEVICE_BDF)
    assert guest.write(f"{lending.BUS}/{offer}/borrow", "auto", timeout=180) == errno.ENOSPC
    assert lending.names(guest, "lease") == []
    log = guest.dmesg()
    (line,) = [line for line in log.splitlines() if "no window for" in line]
    assert f"needed {ram_end(guest) // KIB} KiB" in line and f"available {FOUR_G // KIB} KiB" in line
    assert log.count("no bounce buffers lie below 4 GiB") == 1
    assert not re.search(r"pci 8000:|pci_bus 8000:", log)
    assert not in_use(guest) and not in_use(owner)
    lending.wait_state(owner, f"lent-{DEVICE_BDF}", "offered")
    lending.reclaim(owner, DEVICE_BDF)
