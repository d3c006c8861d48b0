# SPDX-License-Identifier: GPL-2.0
"""The lender takes a device back while it is in use: the windows close under traffic."""

import hashlib
import subprocess
from pathlib import Path

import pytest

import lending
from rig.agent import until
from test_windows import bar_start, in_use

# a guest may write to the NTB's BARs by /dev/mem
PAIR = lending.options(append="iomem=relaxed")
WRITER = "/tmp/bar_writer"
VERSION = 8		# offset of a register of nvme that takes no writes
MORE = 1000


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
    """The lender closes its window alone. The borrower hears of its grace when that is over; and of that too, so its
    driver waits for no command."""
    bdf, lease, disk = lending.borrowed_drive(pair)
    job = lending.start_reads(pair.borrower, disk)
    for guest in pair.guests:
        guest.run("dmesg -C")
    pair.borrower.qmp.command("stop")
    reclaim = pair.lender.spawn(f"echo {bdf} > {lending.DRIVER}/reclaim")
    reclaim.send(b"")
    lending.wait(pair.lender, "dmesg | grep -q 'taken back: the borrower did not return it in time'")
    assert not in_use(pair.lender)
    assert not any(w["inbound_open"] for port in pair.ntbsim.status()["ports"] if port["name"] == "a"
                   for w in port["windows"])
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


@pytest.fixture
def writers(pair, tmp_path):
    """writers(file=offset, ...) -> programs on the borrower that write there until standard input ends."""
    program = tmp_path / "bar_writer"
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "-static", "-o", program, Path(__file__).parent / "bar_writer.c"],
                   check=True)
    pair.borrower.push(program, WRITER, mode=0o755)
    jobs = []

    def start(*places):
        jobs.extend(pair.borrower.spawn(f"{WRITER} {file} {offset:#x}") for file, offset in places)
        for job in jobs:
            job.wait_output("writing")
        return jobs
    yield start
    for job in jobs:
        if not job.done:
            job.kill()


def windows_of(sim, port):
    """What crossed from a port, by window."""
    return sim.counters()["ports"][port]["out"]["windows"]


@pytest.mark.allow_complaints(*lending.LOSS)
def test_closed_under_writes_of_the_cpu(pair, writers, record_property):
    """Processes write to the registers, by the shadow's file and past it, while the lender takes the drive back: what
    comes too late arrives at a closed window and is dropped there, and not one write goes anywhere else."""
    guest, sim = pair.borrower, pair.ntbsim
    assert not any(w["fast"] for port in sim.config["ports"] for w in port["windows"])
    want = lending.fill(pair.lender.devices[0])
    bdf, lease, _ = lending.borrowed_drive(pair)
    shadow = lending.shadow_of(guest, lease)
    sim.reset_counters()
    jobs = writers((f"/sys/bus/pci/devices/{shadow}/resource0", VERSION),
                   ("/dev/mem", bar_start(guest, shadow, 0) + VERSION))
    until(lambda: windows_of(sim, "b")["bar2"]["message_writes"] > MORE, 60, "writes that arrive")
    lending.must_write(pair.lender, f"{lending.DRIVER}/reclaim", bdf + " force", timeout=180)
    jobs[1].wait_output("closed")
    lending.wait(guest, f"[ ! -e {lending.BUS}/{lease} ]", what="the lease to go")
    first = windows_of(sim, "b")["bar2"]
    until(lambda: windows_of(sim, "b")["bar2"]["dropped_closed"] > first["dropped_closed"] + MORE, 60,
          "writes at the closed window")
    last = windows_of(sim, "b")["bar2"]
    assert last["message_writes"] == first["message_writes"]
    for job in jobs:
        job.send(b"")
    assert jobs[1].wait(30).rc == 0
    said = jobs[0].wait(30)
    record_property("writer_by_resource_file", f"{said.rc}, {said.out.split()}")
    after = windows_of(sim, "b")
    registers = after["bar2"]
    assert registers["writes"] + registers["reads"] == \
        registers["message_writes"] + registers["message_reads"] + registers["dropped_closed"]
    for window in after.values():
        assert window["ram_writes"] == window["msi_writes"] == window["below_1m_writes"] == window["errors"] == 0
    assert after["bar4"]["writes"] == 0
    record_property("writes_before_the_close_and_dropped_after",
                    f"{registers['message_writes']}, {registers['dropped_closed']}")
    # the drive, with its own driver again, has not felt anything
    assert lending.driver_of(pair.lender, bdf) == "nvme"
    mine = lending.nvme_block(pair.lender, bdf)
    got = pair.lender.text(f"dd if=/dev/{mine} bs=1M iflag=direct status=none | sha256sum", timeout=120)
    assert got.split()[0] == want == hashlib.sha256(Path(pair.lender.devices[0].image).read_bytes()).hexdigest()
