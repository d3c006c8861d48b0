# SPDX-License-Identifier: GPL-2.0
"""The main job: lend, borrow, use, return, reclaim; and what the shadow looks like."""

from pathlib import Path

import pytest

import lending

# windows cover all memory: hosts without bounce buffers will do
PAIR = lending.options(append="swiotlb=noforce")


@pytest.fixture
def lent(pair):
    """BDF of the lender's drive, lent; taken back afterwards."""
    bdf = lending.lent_drive(pair)
    yield bdf
    lending.take_down(pair, bdf)


@pytest.fixture
def lease(pair, lent):
    """Name of a lease of the drive on the borrower."""
    return lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, lent))


def test_stock_driver_binds_and_reads(pair):
    """The ordinary nvme driver finds the lender's drive: serial, size, every byte."""
    drive = pair.lender.devices[0]
    want = lending.fill(drive)
    bdf, lease, disk = lending.borrowed_drive(pair)
    guest = pair.borrower
    assert guest.read(f"{lending.BUS}/{lease}/dma_mode") == "direct"
    assert all("IO TLB: mapped" not in one.dmesg() for one in pair.guests)
    assert lending.driver_of(guest, lending.shadow_of(guest, lease)) == "nvme"
    assert guest.read(f"/sys/block/{disk}/device/serial").strip() == drive.serial
    assert int(guest.text(f"blockdev --getsize64 /dev/{disk}")) == Path(drive.image).stat().st_size
    got = guest.text(f"dd if=/dev/{disk} bs=128k iflag=direct status=none | sha256sum", timeout=300)
    assert got.split()[0] == want
    lending.take_down(pair, bdf)


def test_shadow_config_space(pair, lent, lease):
    """BARs hold the lender's addresses, resources lie in the aperture, chains walk."""
    shadow = lending.shadow_of(pair.borrower, lease)
    dump = pair.borrower.text(f"lspci -vv -xxxx -s {shadow}")
    assert "Unknown header" not in dump and "<chain" not in dump
    for gone in ("Single Root I/O", "Address Translation Service", "Advanced Error", "Access Control"):
        assert gone not in dump
    low, high = (int(pair.borrower.text(f"setpci -s {shadow} BASE_ADDRESS_{n}.l"), 16) for n in (0, 1))
    first = "head -n1 /sys/bus/pci/devices/{}/resource"
    there = int(pair.lender.text(first.format(lent)).split()[0], 16)
    here = int(pair.borrower.text(first.format(shadow)).split()[0], 16)
    assert high << 32 | low & ~0xf == there
    aperture = pair.borrower.text("sed -n 3p /sys/bus/pci/devices/0000:00:05.0/resource").split()
    assert int(aperture[0], 16) <= here <= int(aperture[1], 16)


def test_file_written_by_borrower_is_read_on_lender(pair, lent):
    """mkfs, write, sync and unmount on the borrower; the lender mounts and reads the same.

    Small requests, one at a time: QEMU's drive moves each with the lender's CPUs stopped, and a
    lender that stands for 20 s is taken for dead.
    """
    name = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, lent))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, name))
    want = pair.borrower.text(
        f"mkfs.ext4 -q -F /dev/{disk} && mkdir -p /tmp/m && mount /dev/{disk} /tmp/m && "
        "dd if=/dev/urandom of=/tmp/m/file bs=32k count=32 oflag=direct status=none && sync && "
        "sha256sum < /tmp/m/file && umount /tmp/m", timeout=300)
    lending.give_back(pair.borrower, name)
    lending.wait_state(pair.lender, f"lent-{lent}", "offered")
    lending.reclaim(pair.lender, lent)
    disk = lending.nvme_block(pair.lender, lent)
    got = pair.lender.text(
        f"mkdir -p /tmp/m && mount -o ro /dev/{disk} /tmp/m && sha256sum < /tmp/m/file; "
        "e=$?; umount /tmp/m; exit $e", timeout=120)
    assert got == want
    lending.lend(pair.lender, lent)     # as the fixture wants to find it


def test_rebind_and_resets(pair, lease):
    """Unbind and bind, nvme reset, format, sysfs reset and rescan leave a working drive."""
    guest = pair.borrower
    shadow = lending.shadow_of(guest, lease)
    driver = "/sys/bus/pci/drivers/nvme"

    def works():
        disk = lending.nvme_block(guest, shadow)
        guest.text(f"dd if=/dev/{disk} of=/dev/null bs=64k count=16 iflag=direct status=none", timeout=100)
        return disk

    works()
    lending.must_write(guest, f"{driver}/unbind", shadow)
    lending.must_write(guest, f"{driver}/bind", shadow)
    disk = works()
    guest.text(f"nvme reset /dev/{disk[:-2]}")
    works()
    guest.text(f"nvme format /dev/{disk} -f", timeout=120)
    works()
    lending.must_write(guest, f"/sys/bus/pci/devices/{shadow}/reset", "1")
    works()
    lending.must_write(guest, "/sys/bus/pci/rescan", "1")
    works()
    # taken off the bus and found again: as it was granted, not as the PCI core would place it
    before = guest.text(f"head -n1 /sys/bus/pci/devices/{shadow}/resource")
    lending.must_write(guest, f"/sys/bus/pci/devices/{shadow}/remove", "1")
    lending.must_write(guest, "/sys/bus/pci/rescan", "1")
    works()
    assert guest.text(f"head -n1 /sys/bus/pci/devices/{shadow}/resource") == before


def test_domain_is_the_same_after_each_borrow(pair, lent):
    """Interface names depend on the domain: the same offer gets the same one again."""
    seen = set()
    for _ in range(3):
        name = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, lent))
        seen.add(lending.shadow_of(pair.borrower, name))
        lending.give_back(pair.borrower, name)
    assert len(seen) == 1
