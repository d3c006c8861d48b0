# SPDX-License-Identifier: GPL-2.0
"""A borrower with an IOMMU: its lender reaches what the borrower's drivers have mapped, while they have, and no more.

Both hosts translate strictly and remap interrupts. What the lender's CPU reads through its aperture shows what the
borrower lets in, whatever the lent device is told.
"""

import contextlib
import hashlib
import re
from pathlib import Path

import pytest

import lending
from rig import Nvme
from rig.pair import DEVICE_BDF, NTB_BDF

SIZE = 4 << 20
EDU = "0000:00:07.0"
PAGE = 4096
TICK_MS = 4		# CONFIG_HZ=250, in all kernels of the rig
TRACING = "/sys/kernel/tracing"
NTB_UNBIND = f"echo {NTB_BDF} > /sys/bus/pci/drivers/ntb_hw_intel/unbind"
NTB_BIND = f"echo {NTB_BDF} > /sys/bus/pci/drivers/ntb_hw_intel/bind"
NTB_WAYS = {"remove": (f"echo 1 > /sys/bus/pci/devices/{NTB_BDF}/remove", "echo 1 > /sys/bus/pci/rescan"),
            "unbind": (NTB_UNBIND, NTB_BIND)}
DEVICES = [Nvme(size=SIZE), "edu,dma_mask=0xffffffff"]
PAIR = lending.options(devices=DEVICES, lender_iommu=True, borrower_iommu=True, append="iomem=relaxed")


def has_groups(guest):
    """Has a shadow an IOMMU group? Not where its DMA operations are devlend's."""
    return guest.kernel.name != "6.1"


def group_type(guest, bdf):
    """Type of the domain of a device's IOMMU group."""
    return guest.read(f"/sys/bus/pci/devices/{bdf}/iommu_group/type")


def slice_of(guest, lease):
    """I/O addresses of a lease, from the borrower's dump: (base, size, bytes mapped)."""
    part = guest.read("/sys/kernel/debug/devlend/leases").split(f"{lease}: ")[1].split("\nlease-")[0]
    return [int(n, 16) for n in re.search(r"io: base (\w+) size (\w+) mapped (\w+)", part).groups()]


def test_drive(pair):
    """Borrowed, read and written in mode iommu, with a group of its own; nothing stays mapped, nothing faults."""
    lender, borrower = lending.ready(pair).guests
    assert group_type(borrower, NTB_BDF) == "DMA"
    want = lending.fill(lender.devices[0])
    bdf, lease, disk = lending.borrowed_drive(pair)
    shadow = lending.shadow_of(borrower, lease)
    assert borrower.read(f"{lending.BUS}/{lease}/dma_mode") == "iommu"
    assert borrower.read(f"{lending.BUS}/{lease}/dma_flush_ms") == "0"
    if has_groups(borrower):
        assert group_type(borrower, shadow) == "DMA"
        assert borrower.text(f"ls /sys/bus/pci/devices/{shadow}/iommu_group/devices").split() == [shadow]
    got = borrower.text(f"dd if=/dev/{disk} bs=128k iflag=direct status=none | sha256sum", timeout=300)
    assert got.split()[0] == want
    borrower.run(f"dd if=/dev/urandom of=/tmp/new bs=64k count=4 status=none && "
                 f"dd if=/tmp/new of=/dev/{disk} bs=64k seek=3 oflag=direct status=none", timeout=120)
    assert Path(lender.devices[0].image).read_bytes()[3 << 16:7 << 16] == borrower.pull("/tmp/new")
    base, size, mapped = slice_of(borrower, lease)
    # queues and the like; but no more than the driver keeps
    assert base % size == 0 and 0 < mapped < 8 << 20
    lending.give_back(borrower, lease)
    lending.wait_state(lender, f"lent-{bdf}", "offered")
    lending.reclaim(lender, bdf)
    for line in ("had mapped are closed", "stay reserved"):
        assert line not in borrower.dmesg()


class Reader:
    """The lender's CPU, which reads the borrower's I/O addresses through the window that a lease uses."""

    def __init__(self, pair, lease):
        self.lender = pair.lender
        self.base, self.size, _ = slice_of(pair.borrower, lease)
        part = pair.lender.read("/sys/kernel/debug/devlend/lent").split(f"{EDU}: ")[1]
        window, offset, length, device = re.search(
            r"map 0: kind \d+ window (\d) offset (\w+) length (\w+) .* device address (\w+)", part).groups()
        assert window == "1" and int(length, 16) == self.size
        bars = pair.lender.read(f"/sys/bus/pci/devices/{NTB_BDF}/resource").splitlines()
        self.aperture = int(bars[4].split()[0], 16)
        self.first = self.aperture + int(offset, 16)
        self.device = int(device, 16)

    def read(self, device_addresses):
        """The first word of each page, as the device would address it; None where the borrower lets nothing in."""
        asked = " ".join(hex(self.first + address - self.device) for address in device_addresses)
        out = self.lender.text(f"for a in {asked}; do devmem $a 32; done", timeout=300)
        words = [int(word, 16) for word in out.split()]
        assert len(words) == len(device_addresses)
        return [None if word == 0xffffffff else word for word in words]


@pytest.fixture
def edu(pair):
    """A borrowed edu with its driver: (borrower, lease, folder, reader)."""
    with lending.borrowed_edu(pair, EDU) as lease:
        pair.borrower.run("modprobe rig_edu dma_bits=32")
        reader = Reader(pair, lease)
        yield pair.borrower, lease, f"/sys/bus/pci/devices/{lending.shadow_of(pair.borrower, lease)}", reader


def buffer(borrower, folder):
    """DMA address of the driver's first buffer, and the word that it begins with."""
    address = int(borrower.read(f"{folder}/buffer").split()[1], 16)
    return address, int.from_bytes(bytes.fromhex(borrower.read(f"{folder}/first"))[:4], "little")


@pytest.mark.allow_complaints("DMAR: ")
def test_reach_is_what_is_mapped(edu):
    """The lender reads the driver's two pages, and nothing around them, below, above, or of another lease's part."""
    borrower, lease, folder, reader = edu
    assert borrower.write(f"{folder}/transfer", "4096", timeout=120) == 0
    assert slice_of(borrower, lease)[2] == 2 * PAGE
    address, word = buffer(borrower, folder)
    assert reader.read([address]) == [word]
    span = 40
    around = [address + n * PAGE for n in range(-span, span + 1)
              if reader.device <= address + n * PAGE < reader.device + reader.size]
    seen = [n for n, found in zip(around, reader.read(around)) if found is not None]
    assert address in seen and len(seen) == 2
    # the page of the probe, some between, and what follows in the window
    step = reader.size // 32
    far = [reader.device + n * step for n in range(32)] + [reader.device + reader.size + n * step for n in range(8)]
    assert reader.read([n for n in far if n not in seen]) == [None] * len([n for n in far if n not in seen])
    # faults, but none of the device's
    assert f"{NTB_BDF[5:]}" in borrower.text("dmesg | grep 'DMAR: .*fault addr' | tail -n 1")


def stream(borrower, folder):
    """Stream a page both ways: its DMA addresses, which are unmapped by now."""
    assert borrower.write(f"{folder}/stream", "4096", timeout=120) == 0
    return [int(n, 16) for n in borrower.read(f"{folder}/streamed").split()][1::2]


@pytest.mark.allow_complaints("DMAR: ")
def test_closed_by_unmap(edu):
    """A page is in reach from its map to its unmap, and not after: streamed pages, and buffers when the driver goes."""
    borrower, lease, folder, reader = edu
    for _ in range(2):
        streamed = stream(borrower, folder)
        assert all(reader.device <= n < reader.device + reader.size for n in streamed)
        assert reader.read(streamed) == [None, None]
        assert slice_of(borrower, lease)[2] == 2 * PAGE
    address, word = buffer(borrower, folder)
    assert reader.read([address]) == [word]
    borrower.run("modprobe -r rig_edu")
    assert reader.read([address]) == [None]
    assert slice_of(borrower, lease)[2] == 0


def test_coherent_buffer_of_many_pages(edu, record_property, tmp_path):
    """Eight MiB from pieces of memory: each page is where the device's addresses say, and user space, which maps it, and a
    list of its pages have it."""
    borrower, lease, folder, reader = edu
    lending.push_program(borrower, "map_words", tmp_path)
    mib = 8
    pages = (mib << 20) // PAGE
    assert borrower.write(f"{folder}/coherent", str(mib), timeout=120) == 0
    start, breaks = borrower.read(f"{folder}/coherent").split()
    record_property("breaks", int(breaks))
    assert slice_of(borrower, lease)[2] == (pages + 2) * PAGE
    assert int(breaks) > 0
    start = int(start, 16)
    assert reader.read([start + n * PAGE for n in range(pages)]) == list(range(pages))
    assert borrower.text(f"/tmp/map_words {folder}/memory {pages}").split() == [str(n) for n in range(pages)]
    assert "No such device or address" in borrower.run(f"/tmp/map_words {folder}/memory {pages + 1}", check=False).err
    borrower.run(f"cat {folder}/memory >/tmp/memory", timeout=120)
    listed = borrower.pull("/tmp/memory")
    assert len(listed) == pages * PAGE
    assert [int.from_bytes(listed[n:n + 4], "little") for n in range(0, len(listed), PAGE)] == list(range(pages))
    assert borrower.write(f"{folder}/coherent", "0") == 0
    assert slice_of(borrower, lease)[2] == 2 * PAGE


def test_two_leases(pair):
    """Each has a part of the window; one that ends leaves the other's as it is."""
    lender, borrower = lending.ready(pair).guests
    _, drive, disk = lending.borrowed_drive(pair)
    with lending.borrowed_edu(pair, EDU) as lease:
        borrower.run("modprobe rig_edu dma_bits=32")
        (one, size, _), (two, other_size, _) = slice_of(borrower, drive), slice_of(borrower, lease)
        assert size == other_size and abs(one - two) == size
        lending.give_back(borrower, drive)
        folder = f"/sys/bus/pci/devices/{lending.shadow_of(borrower, lease)}"
        assert borrower.write(f"{folder}/transfer", "4096", timeout=120) == 0
    del disk
    lending.reclaim(lender, DEVICE_BDF)


def set_lazy(guest, bdf):
    """Give an IOMMU group a flush queue, which goes while a driver is bound."""
    assert guest.write(f"/sys/bus/pci/devices/{bdf}/iommu_group/type", "DMA-FQ") == 0


@contextlib.contextmanager
def traced(guest, *events):
    """Trace events; the event kprobes/flushed is each flush of what shadows have unmapped."""
    probe = "p:flushed devlend_borrower:iommu_flush" if "kprobes/flushed" in events else ""
    guest.run(f"cd {TRACING} && echo '{probe}' >kprobe_events && echo >trace && "
              f"for e in {' '.join(events)}; do echo 1 >events/$e/enable; done")
    yield
    guest.run(f"cd {TRACING} && for e in {' '.join(events)}; do echo 0 >events/$e/enable; done && echo >kprobe_events")


def flushed_stream(borrower, folder):
    """Stream a page both ways, and wait until the flush queue was flushed: its time in jiffies, DMA addresses."""
    with traced(borrower, "kprobes/flushed", "iommu/unmap", "timer/timer_start"):
        streamed = stream(borrower, folder)
        lending.wait(borrower, f"grep -q flushed: {TRACING}/trace", what="a flush")
        trace = borrower.text(f"grep -E 'unmap: |flushed: |=fq_flush_timeout ' {TRACING}/trace")
    closed = trace.index(f"unmap: IOMMU: iova=0x{streamed[0]:016x}")
    # begun by the first unmap after a pause, and not flushed before the time was set
    timer = re.compile(r"=fq_flush_timeout expires=\d+ \[timeout=(\d+)\]").search(trace, closed)
    assert "flushed: " not in trace[closed:timer.start()]
    assert "flushed: " in trace[timer.end():]
    return int(timer[1]), streamed


def strict_stream(borrower, folder, reader):
    """Stream a page both ways: its DMA addresses, each of which was flushed before anything else was mapped or unmapped."""
    with traced(borrower, "iommu/map", "iommu/unmap", "intel_iommu/qi_submit"):
        streamed = stream(borrower, folder)
        trace = borrower.text(f"grep -E ' (map|unmap|qi_submit): ' {TRACING}/trace")
    for address in streamed:
        _, _, after = trace.partition(f"unmap: IOMMU: iova=0x{reader.base + address - reader.device:016x}")
        assert "qi_submit: iotlb_inv" in re.split(r" (?:un)?map: ", after)[0], trace
    return streamed


@pytest.mark.allow_complaints("DMAR: ")
def test_lazy(pair):
    """With a flush queue, be it the host's policy or the shadow's alone, dma_flush_ms is its time; then the reach ends."""
    borrower = lending.ready(pair).borrower
    for of_host in (False, True) if has_groups(borrower) else (True,):
        if of_host:
            set_lazy(borrower, NTB_BDF)
        with lending.borrowed_edu(pair, EDU) as lease:
            borrower.run("modprobe rig_edu dma_bits=32")
            shadow = lending.shadow_of(borrower, lease)
            folder = f"/sys/bus/pci/devices/{shadow}"
            if not of_host:
                assert borrower.read(f"{lending.BUS}/{lease}/dma_flush_ms") == "0"
                set_lazy(borrower, shadow)
            shown = int(borrower.read(f"{lending.BUS}/{lease}/dma_flush_ms"))
            if has_groups(borrower):
                assert group_type(borrower, shadow) == "DMA-FQ"
                jiffies, streamed = flushed_stream(borrower, folder)
                assert shown <= jiffies * TICK_MS < shown + 2 * TICK_MS
            else:
                # devlend's own operations are strict, whatever the host is
                streamed = strict_stream(borrower, folder, Reader(pair, lease))
                assert shown == 0
            assert Reader(pair, lease).read(streamed) == [None, None]
    borrower.run(NTB_UNBIND)
    assert borrower.write(f"/sys/bus/pci/devices/{NTB_BDF}/iommu_group/type", "DMA") == 0
    borrower.run(NTB_BIND)
    restart(pair)


def restart(pair):
    """Load the modules anew, so that links are numbered from 0 again."""
    for guest in pair.guests:
        guest.run("rmmod devlend_borrower devlend_lender devlend_core && "
                  "modprobe -a devlend_core devlend_lender devlend_borrower", timeout=90)


def cycle(pair):
    """Borrow, read and write, lose the NTB in the middle of it, and again: what this host had mapped is let go of."""
    lender, borrower = lending.ready(pair).guests
    for gone, back in NTB_WAYS.values():
        bdf, lease, disk = lending.borrowed_drive(pair)
        assert borrower.read(f"{lending.BUS}/{lease}/dma_mode") == "iommu"
        borrower.run(f"dd if=/dev/urandom of=/dev/{disk} bs=4k count=4 oflag=direct status=none", timeout=120)
        job = lending.start_reads(borrower, disk)
        borrower.run(gone, timeout=90)
        lending.wait(borrower, f"[ ! -e {lending.BUS}/{lease} ]", 60, "the lease to go")
        lending.wait(borrower, f"[ ! -e /dev/{disk} ]", 60, "the drive to go")
        job.wait(60)
        assert not borrower.text("ls /sys/bus/pci/devices | grep ^8 || true")
        lending.wait_state(lender, f"lent-{bdf}", "offered")
        borrower.run(back, timeout=90)
        restart(pair)
        lending.ready(pair)
        lending.wait(lender, f"[ ! -e {lending.BUS}/lent-{bdf} ]")
    assert "stay reserved" not in borrower.dmesg()
    bdf, lease, disk = lending.borrowed_drive(pair)
    borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=16 iflag=direct status=none", timeout=120)
    lending.take_down(pair, bdf)


@pytest.mark.allow_complaints(*lending.LOSS)
def test_ntb_goes(pair):
    """The NTB function is removed, or its driver unbound, in the middle of reads by addresses of its domain."""
    cycle(pair)


@pytest.mark.long
@pytest.mark.checking
@pytest.mark.allow_complaints(*lending.LOSS)
def test_checking(make_pair):
    """All of the mode on the checking kernel, lazily too: locks, memory and the DMA API are used as they should be."""
    pair = make_pair(**dict(PAIR, kernel="checking"))
    with lending.borrowed_edu(pair, EDU) as lease:
        borrower = pair.borrower
        borrower.run("modprobe rig_edu dma_bits=32")
        shadow = lending.shadow_of(borrower, lease)
        folder = f"/sys/bus/pci/devices/{shadow}"
        for lazy in (False, True):
            if lazy:
                set_lazy(borrower, shadow)
            assert borrower.write(f"{folder}/transfer", "4096", timeout=300) == 0
            assert borrower.write(f"{folder}/coherent", "2", timeout=300) == 0
            assert borrower.write(f"{folder}/coherent", "0") == 0
            for _ in range(10):
                assert borrower.write(f"{folder}/stream", "64", timeout=300) == 0
    cycle(pair)


@pytest.mark.long
def test_pass_through(make_pair):
    """iommu=pt on the borrower: mode direct, as without an IOMMU."""
    pair = make_pair(**lending.options(devices=[Nvme(size=SIZE)], borrower_iommu=True, borrower_append="iommu=pt"))
    borrower = lending.ready(pair).borrower
    assert group_type(borrower, NTB_BDF) == "identity"
    want = lending.fill(pair.lender.devices[0])
    bdf, lease, disk = lending.borrowed_drive(pair)
    assert borrower.read(f"{lending.BUS}/{lease}/dma_mode") == "direct"
    assert borrower.read(f"{lending.BUS}/{lease}/dma_flush_ms") == "never"
    got = borrower.text(f"dd if=/dev/{disk} bs=128k iflag=direct status=none | sha256sum", timeout=300)
    assert got.split()[0] == want == hashlib.sha256(Path(pair.lender.devices[0].image).read_bytes()).hexdigest()
    lending.take_down(pair, bdf)
