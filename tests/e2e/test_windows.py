# SPDX-License-Identifier: GPL-2.0
"""Memory windows: open as far as needed, closed when nobody needs them, refused beforehand."""

import errno
import re

from rig.pair import NTB_BDF

import lending

# the guests may look at the NTB's BARs by /dev/mem
PAIR = lending.options(append="iomem=relaxed")
KIB = 1024


def windows(guest):
    """The inbound windows, as the core's dump has them: a list of dicts."""
    text = guest.read("/sys/kernel/debug/devlend/link0/windows")
    inbound = text.split("outbound:")[0].splitlines()
    names = inbound[0].split()[1:]
    return [dict(zip(names, line.split())) for line in inbound[1:]]


def in_use(guest):
    """The windows that are open."""
    return [w for w in windows(guest) if w["state"] == "open"]


def registers(guest):
    """{name: value} of the NTB function, as its own driver reads them from the hardware."""
    info = guest.read(f"/sys/kernel/debug/ntb_hw_intel/{NTB_BDF}/info")
    return {name: int(value, 16) for name, value in re.findall(r"^(\w+) -\s+(0x[0-9a-f]+)", info, re.M)}


def bar_start(guest, bdf, bar):
    """First address of a BAR."""
    return int(guest.read(f"/sys/bus/pci/devices/{bdf}/resource").splitlines()[bar].split()[0], 16)


def test_open_as_far_as_needed(pair):
    """The lender opens its window up to the BAR's end, the borrower up to the interrupt range's."""
    bdf, lease, _ = lending.borrowed_drive(pair)
    bar = bar_start(pair.lender, bdf, 0)
    (lender,) = in_use(pair.lender)
    size = int(lender["size_max"], 16)
    assert int(lender["base"], 16) == bar - bar % size
    assert int(lender["size"], 16) == bar % size + 16 * KIB
    assert lender["users"] == "1"
    hardware = registers(pair.lender)
    assert hardware["IMBAR1XBASE"] == bar - bar % size
    assert hardware["IMBAR1XLMT"] == bar_start(pair.lender, NTB_BDF, 2) + bar % size + 16 * KIB
    (borrower,) = in_use(pair.borrower)
    assert (borrower["base"], int(borrower["size"], 16)) == ("0x0", 0xfef00000)
    assert borrower["users"] == "2"
    lending.give_back(pair.borrower, lease)
    lending.take_down(pair, bdf)


def test_closed_after_return(pair):
    """An access after the return reaches nothing, from either side, and the hardware says so."""
    bdf, lease, _ = lending.borrowed_drive(pair)
    shadow = bar_start(pair.borrower, lending.shadow_of(pair.borrower, lease), 0)
    assert lending.devmem(pair.borrower, shadow + 8) != 0xffffffff	# version register
    lending.give_back(pair.borrower, lease)
    assert not in_use(pair.lender) and not in_use(pair.borrower)
    pair.ntbsim.reset_counters()
    assert lending.devmem(pair.borrower, shadow + 8) == 0xffffffff
    lending.devmem(pair.borrower, shadow + 0x1000, 1)
    aperture = bar_start(pair.lender, NTB_BDF, 4)
    assert lending.devmem(pair.lender, aperture + 0x100000) == 0xffffffff
    lending.devmem(pair.lender, aperture + 0x100000, 0)
    for guest, number, bar in ((pair.lender, 1, 2), (pair.borrower, 2, 4)):
        assert registers(guest)[f"IMBAR{number}XLMT"] == bar_start(guest, NTB_BDF, bar)
    ports = pair.ntbsim.counters()["ports"]
    assert ports["b"]["out"]["windows"]["bar2"]["dropped"] >= 2
    assert ports["a"]["out"]["windows"]["bar4"]["dropped"] >= 2
    lending.take_down(pair, bdf)


def refused(pair, where, need, have):
    """A borrow that fails for want of a window, said on one host, with both figures; nothing
    stays open, and the drive can still be reclaimed."""
    bdf = lending.lent_drive(pair)
    offer = lending.wait_offer(pair.borrower, bdf)
    assert pair.borrower.write(f"{lending.BUS}/{offer}/borrow", "auto", timeout=180) == errno.ENOSPC
    assert lending.names(pair.borrower, "lease") == []
    lines = [line for line in where.dmesg().splitlines() if "no window for" in line]
    assert len(lines) == 1
    assert f"needed {need} KiB" in lines[0] and f"available {have} KiB" in lines[0]
    assert not in_use(pair.lender) and not in_use(pair.borrower)
    lending.take_down(pair, bdf)


def with_windows(*sizes):
    """Options of a pair whose windows, BARs 2 and 4, have these sizes."""
    return lending.options(windows=[{"bar": bar, "size": size, "fast": False} for bar, size in zip((2, 4), sizes)])


def test_bar_does_not_fit(make_pair):
    """Windows of 8 KiB and a BAR of 16: refused by the lender before a driver saw anything."""
    pair = make_pair(**with_windows("8K", "8K"))
    refused(pair, pair.lender, 16, 8)


def test_memory_does_not_fit(make_pair):
    """A borrower whose RAM is larger than its windows."""
    pair = make_pair(**with_windows("64M", "128M"))
    ends = re.findall(r"^\w+-(\w+) : System RAM$", pair.borrower.read("/proc/iomem"), re.M)
    refused(pair, pair.borrower, (int(ends[-1], 16) + 1) // KIB, 128 * KIB)
