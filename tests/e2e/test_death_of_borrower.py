# SPDX-License-Identifier: GPL-2.0
"""The borrower dies without a word while the drive writes into its memory: the lender stops the
drive before it accepts the borrower's next life, nothing is written into the memory of that life,
the drive is whole, and it is lent again."""

import hashlib
import time
from pathlib import Path

import pytest

import aftermath
import lending
from rig import Nvme
from rig.agent import until

PAIR = lending.options(devices=[Nvme(size=16 << 20)])
TAKEN_BACK = r"lent-.*: taken back: the link to the borrower is lost"


@pytest.fixture
def read_slowly(pair):
    """The drive is lent, borrowed, and in the middle of reads that take many seconds: (BDF, SHA-256 of the image)."""
    yield aftermath.reads_in_flight(pair, 128 << 10)
    lending.throttle(pair.lender, pair.lender.devices[0], 0)


def power(pair):
    """Cut; another machine's memory, so there is nothing to watch."""
    pair.borrower.kill()
    yield
    pair.borrower.restart()


def sysrq(pair):
    """A reboot by sysrq-b: the same memory, and nobody told the lender."""
    guest = pair.borrower
    boots = guest.agent.hellos
    guest.qmp.command("set-action", reboot="reset")
    guest.run("echo 1 > /proc/sys/kernel/sysrq")
    guest.spawn("echo b > /proc/sysrq-trigger").send(b"")
    yield
    guest.agent.wait_hello(boots + 1, 120)
    guest.qmp.command("set-action", reboot="shutdown")


def freeze(pair):
    """All CPUs hang, then live on."""
    lending.must_write(pair.lender, f"{lending.BUS}/link0/beat_timeout_ms", "1500")
    job = pair.borrower.spawn("modprobe rig_hang seconds=12")
    job.send(b"")
    yield
    job.wait(90)


@pytest.mark.parametrize("way", [power, sysrq, freeze])
@pytest.mark.allow_complaints(*lending.LOSS)
def test_drive_is_stopped_and_lent_again(pair, read_slowly, way, record_property):
    """Whatever the way: the lender takes the drive back by itself, and what it had begun reaches no memory of the next life."""
    bdf, want = read_slowly
    lender, guest, sim = pair.lender, pair.borrower, pair.ntbsim
    reads = int(lender.text(f"cat {lending.BUS}/lent-{bdf}/leases"))
    dying = way(pair)
    next(dying)
    lending.wait(lender, f"[ $(cat {lending.BUS}/lent-{bdf}/leases) -gt {reads} ]", what="the end of the lease")
    lending.wait_state(lender, f"lent-{bdf}", "offered")
    assert int(lender.text(f"setpci -s {bdf} COMMAND"), 16) & 4 == 0, "bus mastering is on"
    written = sim.counters()["ports"]["a"]["out"]["windows"]["bar4"]["ram_writes"]
    next(dying, None)
    if way is sysrq:
        record_property("megabytes_watched", aftermath.fill_memory(guest))
    lending.ready(pair)
    time.sleep(10 if way is sysrq else 1)
    assert sim.counters()["ports"]["a"]["out"]["windows"]["bar4"]["ram_writes"] == written
    if way is sysrq:
        assert aftermath.intact(guest) == 0
    record_property("injected", {way.__name__ + " of the borrower": 1})
    record_property("leases_lost", 1)
    record_property("link_down_to_drive_at_rest_s", aftermath.seconds_between(lender, aftermath.DOWN, TAKEN_BACK))
    lending.throttle(lender, lender.devices[0], 0)
    lease = lending.borrow(guest, lending.wait_offer(guest, bdf))
    disk = lending.nvme_block(guest, lending.shadow_of(guest, lease))
    got = guest.text(f"dd if=/dev/{disk} bs=128k iflag=direct status=none | sha256sum", timeout=300)
    assert got.split()[0] == want
    record_property("data_mismatches", 0)
    lending.take_down(pair, bdf)
    assert hashlib.sha256(Path(lender.devices[0].image).read_bytes()).hexdigest() == want


@pytest.mark.allow_complaints(*lending.LOSS)
def test_module_unloaded_under_reads(pair, read_slowly):
    """rmmod on the borrower returns the drive in order, though it is in the middle of reads."""
    bdf, want = read_slowly
    pair.borrower.run("rmmod devlend_borrower", timeout=120)
    until(lambda: pair.lender.read(f"{lending.BUS}/lent-{bdf}/state") == "offered", 60, "the drive offered again")
    assert "returned" in pair.lender.text("dmesg | grep lent- | tail -n 1")
    pair.borrower.run("modprobe devlend_borrower")
    lending.take_down(pair, bdf)
    assert hashlib.sha256(Path(pair.lender.devices[0].image).read_bytes()).hexdigest() == want
