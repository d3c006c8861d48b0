# SPDX-License-Identifier: GPL-2.0
"""The lender dies without a word while its drive is in use: the borrower loses the shadow within
moments, applications get errors instead of hanging, nothing is written into memory that was given
back, and the same drive is borrowed again when the lender is there again."""

import hashlib
import time
from pathlib import Path

import pytest

import aftermath
import lending
from rig import Nvme

PAIR = lending.options(devices=[Nvme(size=16 << 20)])
ALLOWED = lending.LOSS + ("EXT4-fs", "JBD2", "Aborting journal", "nvme nvme", "lost async page write")
LOST = r"lease-.*: .* is lost;"


def gone(guest, lease, disk=None):
    """Until nothing is left of a lease."""
    lending.wait(guest, f"[ ! -e {lending.BUS}/{lease} ]", what="the lease to go")
    assert not guest.text("ls /sys/bus/pci/devices | grep ^8 || true")
    if disk:
        lending.wait(guest, f"[ ! -e /dev/{disk} ]", what="the drive to go")
    assert guest.text("awk '/nvme[0-9]q/' /proc/interrupts") == ""


def lender_again(pair, want):
    """The lender boots, lends again; the borrower borrows again and reads what there must be."""
    pair.lender.restart()
    bdf, _, disk = lending.borrowed_drive(pair)
    got = pair.borrower.text(f"dd if=/dev/{disk} bs=128k count=16 iflag=direct status=none | sha256sum", timeout=200)
    assert got.split()[0] == want
    lending.take_down(pair, bdf)


def start_of(drive):
    """SHA-256 of the first 2 MiB of a drive's image."""
    return hashlib.sha256(Path(drive.image).read_bytes()[:2 << 20]).hexdigest()


@pytest.mark.allow_complaints(*ALLOWED)
def test_with_a_file_system_and_readers(pair, record_property):
    """Power cut with ext4 mounted and written, the controller's device held open, and others reading sysfs."""
    guest = pair.borrower
    bdf, lease, disk = lending.borrowed_drive(pair)
    shadow = lending.shadow_of(guest, lease)
    guest.text(f"mkfs.ext4 -q -F /dev/{disk} && mkdir -p /mnt/d && mount /dev/{disk} /mnt/d", timeout=200)
    writer = guest.spawn("i=0; while dd if=/dev/zero of=/mnt/d/f bs=64k count=8 conv=fsync,notrunc status=none; do i=$((i+1)); "
                         "echo wrote $i; done")
    writer.send(b"")
    holder = guest.spawn(f"exec 3</dev/{disk[:-2]}; echo held; read _")
    reader = guest.spawn(f"while [ -e /sys/bus/pci/devices/{shadow} ]; do lspci -vvv -s {shadow}; "
                         f"cat /sys/bus/pci/devices/{shadow}/config; blkid -p /dev/{disk}; done >/dev/null 2>&1")
    reader.send(b"")
    writer.wait_output("wrote 2", 200)
    holder.wait_output("held")
    stuck = aftermath.StuckTasks(guest).start()
    pair.lender.kill()
    record_property("injected", {"host without power": 1})
    gone(guest, lease, disk)
    assert "Input/output error" in writer.wait(90).err or "Read-only" in writer.wait(1).err
    reader.wait(60)
    guest.text("umount /mnt/d", timeout=60)
    longest, name = stuck.longest()
    record_property("link_down_to_shadow_gone_s", aftermath.seconds_between(guest, aftermath.DOWN, LOST))
    record_property("longest_uninterruptible_s", [longest, name])
    record_property("leases_lost", 1)
    assert longest < aftermath.HUNG_S
    # who holds the dead controller's file holds the module's objects, and nobody else does
    holder.send(b"\n")
    holder.wait(30)
    guest.run("rmmod devlend_borrower && modprobe devlend_borrower", timeout=60)
    lender_again(pair, start_of(pair.lender.devices[0]))


@pytest.mark.allow_complaints(*ALLOWED)
def test_in_the_middle_of_a_borrow(pair, record_property):
    """Power cut after the grant: the borrow fails, and nothing is left of it."""
    guest = pair.borrower
    offer = lending.wait_offer(guest, lending.lent_drive(pair))
    job = guest.spawn(f"echo auto > {lending.BUS}/{offer}/borrow")
    job.send(b"")
    lending.wait(guest, f"ls -d {lending.BUS}/lease-* >/dev/null 2>&1", what="the borrow to begin")
    pair.lender.kill()
    record_property("injected", {"host without power": 1})
    job.wait(90)
    lending.wait(guest, f"! ls -d {lending.BUS}/lease-* >/dev/null 2>&1", what="the lease to go")
    gone(guest, "lease-8000")
    lender_again(pair, start_of(pair.lender.devices[0]))


@pytest.mark.allow_complaints(*ALLOWED)
def test_in_the_middle_of_a_probe(pair, record_property):
    """Power cut while the driver waits for its first commands. It waits as long as it likes, but alone: a rescan, and all
    else that needs the lock of hot-plug, goes on."""
    guest = pair.borrower
    offer = lending.wait_offer(guest, lending.lent_drive(pair))
    guest.run("echo 12 > /sys/module/nvme_core/parameters/admin_timeout")
    job = guest.spawn(f"echo auto > {lending.BUS}/{offer}/borrow")
    job.send(b"")
    lending.wait(guest, "dmesg | tail -n 5 | grep -q 'nvme.*enabling device'", what="the probe to begin")
    pair.lender.kill()
    record_property("injected", {"host without power": 1})
    lending.wait(guest, f"[ $(cat {lending.BUS}/link0/state) != up ]", what="the loss of the link")
    guest.text("time echo 1 > /sys/bus/pci/rescan", timeout=8)
    job.wait(90)
    lending.wait(guest, f"! ls -d {lending.BUS}/lease-* >/dev/null 2>&1", what="the lease to go")
    gone(guest, "lease-8000")
    lender_again(pair, start_of(pair.lender.devices[0]))


@pytest.mark.allow_complaints(*ALLOWED)
def test_in_the_middle_of_controller_resets(pair, record_property):
    """Power cut while the driver resets its controller over and over."""
    guest = pair.borrower
    _, lease, disk = lending.borrowed_drive(pair)
    job = guest.spawn(f"n=0; while nvme reset /dev/{disk[:-2]}; do n=$((n + 1)); echo reset $n; done")
    job.send(b"")
    job.wait_output("reset 3", 120)
    pair.lender.kill()
    record_property("injected", {"host without power": 1})
    gone(guest, lease, disk)
    job.wait(90)
    lender_again(pair, start_of(pair.lender.devices[0]))


@pytest.mark.allow_complaints(*ALLOWED)
def test_frozen_lender_with_a_living_drive(pair, record_property):
    """The lender hangs with interrupts off, its drive goes on writing: this host closes its window, and memory that was
    given back stays what it is."""
    guest, sim = pair.borrower, pair.ntbsim
    want = lending.fill(pair.lender.devices[0])
    bdf, lease, disk = lending.borrowed_drive(pair)
    lending.must_write(guest, f"{lending.BUS}/link0/beat_timeout_ms", "1500")
    lending.throttle(pair.lender, pair.lender.devices[0], 128 << 10)
    reads = guest.spawn(f"for n in 0 1 2 3 4 5 6 7; do dd if=/dev/{disk} of=/dev/null bs=128k skip=$((n * 8)) count=8 "
                        "iflag=direct status=none & done; wait")
    reads.send(b"")
    lending.wait(guest, f"[ $(awk '{{print $9}}' /sys/block/{disk}/stat) -ge 8 ]", what="8 reads in flight")
    hang = pair.lender.spawn("modprobe rig_hang seconds=20")
    hang.send(b"")
    gone(guest, lease, disk)
    before = sim.counters()["ports"]["a"]["out"]["windows"]["bar4"]
    size = aftermath.fill_memory(guest)
    time.sleep(10)
    after = sim.counters()["ports"]["a"]["out"]["windows"]["bar4"]
    # else the test would prove nothing: the drive went on, and all that it wrote was stopped
    assert after["dropped_closed"] > before["dropped_closed"]
    assert after["ram_writes"] == before["ram_writes"]
    assert aftermath.intact(guest) == 0
    reads.wait(60)
    lending.throttle(pair.lender, pair.lender.devices[0], 0)
    record_property("megabytes_watched", size)
    record_property("writes_stopped_at_the_window", after["dropped_closed"])
    record_property("link_down_to_shadow_gone_s", aftermath.seconds_between(guest, aftermath.DOWN, LOST))
    record_property("injected", {"host hung": 1})
    record_property("leases_lost", 1)
    hang.wait(90)
    lending.ready(pair)
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    lease = lending.borrow(guest, lending.wait_offer(guest, bdf))
    disk = lending.nvme_block(guest, lending.shadow_of(guest, lease))
    got = guest.text(f"dd if=/dev/{disk} bs=128k iflag=direct status=none | sha256sum", timeout=300)
    assert got.split()[0] == want
    record_property("data_mismatches", 0)
    lending.take_down(pair, bdf)
