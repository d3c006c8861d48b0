# SPDX-License-Identifier: GPL-2.0
"""The lender takes a device back while it is in use: the windows close under traffic."""

import hashlib
from pathlib import Path

import pytest

import lending

PAIR = lending.options()


@pytest.mark.allow_complaints(*lending.LOSS)
@pytest.mark.parametrize("force", [False, True])
def test_reclaim_under_reads(pair, force):
    """Reclaim, with and without grace: the reader gets errors, not a hang; the drive is whole; no access strays."""
    drive = pair.lender.devices[0]
    want = lending.fill(drive)
    bdf, lease, disk = lending.borrowed_drive(pair)
    job = lending.start_reads(pair.borrower, disk)
    lending.must_write(pair.lender, f"{lending.DRIVER}/reclaim", bdf + (" force" if force else ""), timeout=180)
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]", what="the lease to go")
    job.wait(90)
    assert lending.driver_of(pair.lender, bdf) == "nvme"
    assert hashlib.sha256(Path(drive.image).read_bytes()).hexdigest() == want
    disk = lending.nvme_block(pair.lender, bdf)
    got = pair.lender.text(f"dd if=/dev/{disk} bs=1M iflag=direct status=none | sha256sum", timeout=120)
    assert got.split()[0] == want
    # and all begins anew
    bdf, _, disk = lending.borrowed_drive(pair)
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=16 iflag=direct status=none")
    lending.take_down(pair, bdf)


@pytest.mark.allow_complaints(*lending.LOSS)
def test_reclaim_from_a_borrower_that_hangs(pair):
    """It hears of its grace when that is over; and of that too, so its driver waits for no command."""
    bdf, lease, disk = lending.borrowed_drive(pair)
    job = lending.start_reads(pair.borrower, disk)
    for guest in pair.guests:
        guest.run("dmesg -C")
    pair.borrower.qmp.command("stop")
    reclaim = pair.lender.spawn(f"echo {bdf} > {lending.DRIVER}/reclaim")
    reclaim.send(b"")
    lending.wait(pair.lender, "dmesg | grep -q 'taken back: the borrower did not return it in time'")
    pair.borrower.qmp.command("cont")
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]", what="the lease to go")
    job.wait(90)
    log = pair.borrower.dmesg()
    assert log.count("within 30000 ms") == 1 and log.count("within 0 ms") == 1
    assert "timeout" not in log and "down: " not in log
    assert reclaim.wait().rc == 0
    assert lending.driver_of(pair.lender, bdf) == "nvme"


@pytest.mark.allow_complaints(*lending.LOSS)
def test_reset_at_the_lender_ends_the_lease(pair):
    """Somebody resets the real device: the borrower loses it in order, and it is offered again."""
    bdf, lease, disk = lending.borrowed_drive(pair)
    job = lending.start_reads(pair.borrower, disk)
    lending.must_write(pair.lender, f"/sys/bus/pci/devices/{bdf}/reset", "1", timeout=120)
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]", what="the lease to go")
    job.wait(90)
    lending.wait_offer(pair.borrower, bdf)
    lending.take_down(pair, bdf)
