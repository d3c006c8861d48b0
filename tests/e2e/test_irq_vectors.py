# SPDX-License-Identifier: GPL-2.0
"""Interrupt mode vectors: a borrower that remaps interrupts admits them by the NTB's requester id."""

import errno

import pytest

import lending
from rig import Nvme
from rig.pair import DEVICE_BDF
from test_irq_short import borrowed, leave, lines, refused

EDU = "0000:00:07.0"
NTB_ID = 0x0028		# 00:05.0
IRTA = 0xfed900b8	# VT-d's register: where the remapping table is
DEVICES = [Nvme(size=8 << 20, queues=2), "edu,dma_mask=0xffffffffffffffff"]
PAIR = lending.options(devices=DEVICES, borrower_iommu=True, borrower_smp=2, borrower_append="iommu=pt")


def physical(guest, address):
    """Eight bytes of a guest's physical memory or registers, seen from outside."""
    said = guest.qmp.command("human-monitor-command", command_line=f"xp /1gx {address:#x}")
    return int(said.split(":")[1], 16)


def requester(guest, bdf):
    """What remapping compares for a device's first message: (how, requester id)."""
    low = int(guest.text(f"setpci -s {bdf} CAP_MSI+4.l"), 16)
    assert low >> 4 & 1, "not a remappable message"
    index = (low >> 5 & 0x7fff) | (low >> 2 & 1) << 15
    high = physical(guest, (physical(guest, IRTA) & ~0xfff) + 16 * index + 8)
    return high >> 18 & 3, high & 0xffff


def test_drive(pair):
    """Chosen by itself, proven, and each queue has its vector."""
    borrower = lending.ready(pair).borrower
    want = lending.fill(pair.lender.devices[0])
    bdf, lease, disk = lending.borrowed_drive(pair)
    assert borrower.read(f"{lending.BUS}/{lease}/irq_mode") == "vectors"
    assert borrower.read(f"{lending.BUS}/{lease}/irq_proof") == "seen"
    got = borrower.text(f"dd if=/dev/{disk} bs=128k iflag=direct status=none | sha256sum", timeout=300)
    assert got.split()[0] == want
    lending.take_down(pair, bdf)


def test_direct_is_refused(pair):
    """Messages that remapping does not know would be lost."""
    borrower = lending.ready(pair).borrower
    lending.lend(pair.lender, DEVICE_BDF)
    name = lending.wait_offer(borrower, DEVICE_BDF)
    lending.must_write(borrower, f"{lending.BUS}/{name}/irq_mode", "direct")
    assert borrower.write(f"{lending.BUS}/{name}/borrow", "auto", timeout=180) == errno.EOPNOTSUPP
    assert "interrupt mode direct cannot be had: this host remaps interrupts" in borrower.dmesg()
    lending.reclaim(pair.lender, DEVICE_BDF)


def test_each_message_is_an_interrupt(pair):
    """Plain MSI, as many interrupts as messages, while the vector moves: remapping does not touch the device."""
    borrower = lending.ready(pair).borrower
    with lending.borrowed_edu(pair, EDU) as lease:
        borrower.run("modprobe rig_edu")
        folder = f"/sys/bus/pci/devices/{lending.shadow_of(borrower, lease)}"
        # it is verified in full, against the NTB; QEMU itself does not verify what comes from the simulator
        assert requester(borrower, lending.shadow_of(borrower, lease)) == (1, NTB_ID)
        number = borrower.text("grep rig_edu /proc/interrupts").split()[0].rstrip(":")
        moving = borrower.spawn(f"n=0; while [ ! -e /tmp/enough ]; do n=$((n+1)); "
                                f"echo $((1 + n % 2)) > /proc/irq/{number}/smp_affinity; sleep 0.01; done; echo $n")
        moving.send(b"")
        assert borrower.write(f"{folder}/raise", "500", timeout=300) == 0
        borrower.run("touch /tmp/enough")
        assert int(moving.wait(30).out) > 1
        borrower.run("rm /tmp/enough")
        assert borrower.read(f"{folder}/handled") == "500" and borrower.read(f"{folder}/lost") == "0"


@pytest.fixture
def short(pair):
    """(borrower, BDF of the drive, which is lent), vectors to be taken by leave(); all is put back."""
    bdf = lending.lent_drive(pair)
    pair.borrower.modprobe("rig_vectors")
    yield pair.borrower, bdf
    pair.borrower.run("modprobe -r rig_vectors")
    lending.take_down(pair, bdf)


def test_few_vectors(pair, short):
    """Fewer than the drive's driver wants: it makes do, and has all again when there are."""
    borrower, bdf = short
    for number, want in ((1, 1), (-1, 3)):
        leave(borrower, number)
        lease, got = borrowed(pair, bdf, "auto")
        assert (borrower.read(f"{lending.BUS}/{lease}/irq_mode"), got) == ("vectors", want)
        assert borrower.read(f"{lending.BUS}/{lease}/irq_proof") == "seen"
        lending.give_back(borrower, lease)


def test_no_vectors(pair, short):
    """None: refused where mode vectors was asked for; else the lender takes the interrupts, and a line says so."""
    borrower, bdf = short
    leave(borrower, 0)
    refused(pair, bdf, "vectors", borrower, "no interrupt to prove their way by (-28)")
    assert "devlend-proof" not in borrower.read("/proc/interrupts")
    said = len(borrower.dmesg().splitlines())
    lease, got = borrowed(pair, bdf, "auto")
    assert got == 3 and borrower.read(f"{lending.BUS}/{lease}/irq_mode") == "doorbell"
    assert len(lines(borrower, "falls back to interrupt mode doorbell", said)) == 1
