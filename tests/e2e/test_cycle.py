# SPDX-License-Identifier: GPL-2.0
"""The main job: lend, borrow, use, return, reclaim; and what the shadow looks like."""

import hashlib

import pytest

import lending

NVME = "1b36:0010"


@pytest.fixture
def lent(pair):
    """BDF of the lender's drive, lent; taken back afterwards."""
    lending.wait_link(pair.lender)
    lending.wait_link(pair.borrower)
    bdf = lending.find_pci(pair.lender, NVME)
    lending.lend(pair.lender, bdf)
    yield bdf
    lending.reclaim(pair.lender, bdf)
    assert lending.driver_of(pair.lender, bdf) == "nvme"


@pytest.fixture
def lease(pair, lent):
    """Name of a lease of the drive on the borrower; returned afterwards."""
    name = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, lent))
    yield name
    if name in lending.leases(pair.borrower):
        lending.give_back(pair.borrower, name)
    lending.wait(pair.lender, f'[ "$(cat {lending.BUS}/lent-{lent}/state)" = offered ]')


def test_stock_driver_binds_and_reads(pair, lease):
    """The ordinary nvme driver finds the lender's drive: serial, size, every byte."""
    shadow = lending.shadow_of(pair.borrower, lease)
    assert lending.driver_of(pair.borrower, shadow) == "nvme"
    disk = lending.nvme_block(pair.borrower, shadow)
    serial = lending.sh(pair.borrower, f"cat /sys/block/{disk}/device/serial").strip()
    assert serial == pair.drive.serial
    size = int(lending.sh(pair.borrower, f"blockdev --getsize64 /dev/{disk}"))
    assert size == pair.drive.image.stat().st_size
    digest = lending.sh(pair.borrower, f"dd if=/dev/{disk} bs=64k iflag=direct 2>/dev/null | sha256sum",
                        timeout=300).split()[0]
    assert digest == hashlib.sha256(pair.drive.image.read_bytes()).hexdigest()


def test_shadow_config_space(pair, lent, lease):
    """BARs hold the lender's addresses, resources lie in the aperture, chains walk."""
    shadow = lending.shadow_of(pair.borrower, lease)
    dump = lending.sh(pair.borrower, f"lspci -vv -xxxx -s {shadow}")
    assert "Unknown header" not in dump and "<chain" not in dump
    for gone in ("Single Root I/O", "Address Translation Service", "Advanced Error", "Access Control"):
        assert gone not in dump
    here = lending.sh(pair.borrower, f"setpci -s {shadow} BASE_ADDRESS_0.l")
    there = lending.sh(pair.lender, f"head -n1 /sys/bus/pci/devices/{lent}/resource").split()[0]
    assert int(here, 16) & ~0xf == int(there, 16) & 0xffffffff
    start = int(lending.sh(pair.borrower, f"head -n1 /sys/bus/pci/devices/{shadow}/resource").split()[0], 16)
    assert start != int(there, 16)


def test_file_written_by_borrower_is_read_on_lender(pair, lent):
    """mkfs, write, sync and unmount on the borrower; the lender mounts and reads the same."""
    name = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, lent))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, name))
    want = lending.sh(
        pair.borrower,
        f"mkfs.ext4 -q -F /dev/{disk} && mkdir -p /tmp/m && mount /dev/{disk} /tmp/m && "
        "dd if=/dev/urandom of=/tmp/m/file bs=1M count=4 2>/dev/null && sync && "
        "sha256sum < /tmp/m/file && umount /tmp/m", timeout=300)
    lending.give_back(pair.borrower, name)
    lending.wait(pair.lender, f'[ "$(cat {lending.BUS}/lent-{lent}/state)" = offered ]')
    lending.reclaim(pair.lender, lent)
    disk = lending.nvme_block(pair.lender, lent)
    got = lending.sh(
        pair.lender,
        f"mkdir -p /tmp/m && mount -o ro /dev/{disk} /tmp/m && sha256sum < /tmp/m/file; "
        "e=$?; umount /tmp/m; exit $e", timeout=120)
    assert got == want
    lending.lend(pair.lender, lent)     # as the fixture wants to find it


def test_rebind_and_resets(pair, lease):
    """Unbind and bind, nvme reset, sysfs reset and rescan leave a working drive."""
    guest = pair.borrower
    shadow = lending.shadow_of(guest, lease)
    driver = "/sys/bus/pci/drivers/nvme"

    def works():
        disk = lending.nvme_block(guest, shadow)
        lending.sh(guest, f"dd if=/dev/{disk} of=/dev/null bs=64k count=16 iflag=direct")
        return disk

    works()
    lending.must_write(guest, f"{driver}/unbind", shadow)
    lending.must_write(guest, f"{driver}/bind", shadow)
    disk = works()
    lending.sh(guest, f"nvme reset /dev/{disk[:-2]}")
    works()
    lending.sh(guest, f"nvme format /dev/{disk} -f", timeout=120)
    works()
    lending.must_write(guest, f"/sys/bus/pci/devices/{shadow}/reset", "1")
    works()
    lending.must_write(guest, "/sys/bus/pci/rescan", "1")
    works()


def test_domain_is_the_same_after_each_borrow(pair, lent):
    """Interface names depend on the domain: the same offer gets the same one again."""
    seen = set()
    for _ in range(3):
        name = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, lent))
        seen.add(lending.shadow_of(pair.borrower, name))
        lending.give_back(pair.borrower, name)
    assert len(seen) == 1
