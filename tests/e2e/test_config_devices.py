# SPDX-License-Identifier: GPL-2.0
"""Config space of devices of many kinds: all ones, zeroes and noise to every byte of the shadow's, base registers
sized in every order. Of the real device nothing changes but what a borrower may switch: bus mastering, MSI, MSI-X.

What the rig's devices do not have cannot be changed here: packet sizes that can be set, a resizable BAR. Unit tests
have made-up ones (lender_atomic_test.c, lender_config_test.c, borrower_config_caps_test.c).
"""

import math
import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import lending
from rig import Nvme
from rig.agent import until
from rig.pair import NTB_MODULES

# The borrower gets no driver for them: all that is written comes from the test.
PAIR = lending.options(devices=[Nvme(size=8 << 20), "e1000e", "igb", "edu"],
                       modules=NTB_MODULES + ("devlend_core", "devlend_lender", "devlend_borrower"))
BDF = {"nvme": "0000:00:06.0", "e1000e": "0000:00:07.0", "igb": "0000:00:08.0", "edu": "0000:00:09.0"}
# the lender's drivers; a network card's enables its virtual functions
DRIVER = {"nvme": "nvme", "e1000e": "e1000e", "igb": "igb"}
NOISE = "/tmp/config_noise"
SEED = 20

PM, MSI, EXP, MSIX = 0x01, 0x05, 0x10, 0x11
SRIOV = 0x10
EXP_DEVCTL = 8
COMMAND_MASTER = 4
MSI_64, MSI_MASKS = 0x80, 0x100
MAP_MSI = 2		# enum devlend_map_kind


@dataclass
class Borrowed:
    """A device at both of its places, as it was before the test."""

    kind: str
    bdf: str
    there: str
    before: bytes
    parent: str


def config(guest, bdf):
    """A device's whole config space."""
    return guest.pull(f"/sys/bus/pci/devices/{bdf}/config")


def u16(space, where):
    return struct.unpack_from("<H", space, where)[0]


def u32(space, where):
    return struct.unpack_from("<I", space, where)[0]


def capabilities(space):
    """{id: offset}, by walking the list to its end."""
    found, pos = {}, space[0x34] if u16(space, 6) & 0x10 else 0
    while pos:
        assert 0x40 <= pos <= 0xfc and pos % 4 == 0 and pos not in found.values(), f"list leads to {pos:#x}"
        found.setdefault(space[pos], pos)
        pos = space[pos + 1]
    return found


def extended(space):
    """{id: offset} of the extended list, by walking it to its end."""
    found, pos = {}, 0x100 if len(space) > 256 else 0
    while pos:
        assert 0x100 <= pos <= 0xffc and pos % 4 == 0 and pos not in found.values(), f"list leads to {pos:#x}"
        head = u32(space, pos)
        found.setdefault(head & 0xffff, pos)
        pos = head >> 20
    return found


def msi_message(space):
    """(offset of MSI, its length, address) in a real config space, or None."""
    pos = capabilities(space).get(MSI)
    if not pos:
        return None
    flags = u16(space, pos + 2)
    wide, masks = bool(flags & MSI_64), bool(flags & MSI_MASKS)
    address = u32(space, pos + 4) | (u32(space, pos + 8) << 32 if wide else 0)
    return pos, 10 + 4 * wide + 10 * masks, address


def locked(space):
    """Mask of the bits in a real config space that no borrower may change: all but a few."""
    mask = bytearray(b"\xff" * len(space))
    mask[4] &= ~COMMAND_MASTER
    msi, msix = msi_message(space), capabilities(space).get(MSIX)
    if msi:
        mask[msi[0] + 2] &= ~0x71		# enable, number of messages
        mask[msi[0] + 4:msi[0] + msi[1]] = bytes(msi[1] - 4)
    if msix:
        mask[msix + 3] &= ~0xc0			# enable, function mask
    return mask


def changes(before, now):
    """Offsets of what has changed though no borrower may change it."""
    return [f"{n:#05x}: {a:#04x} -> {b:#04x}" for n, (a, b, bits) in enumerate(zip(before, now, locked(before)))
            if (a ^ b) & bits]


def granted(guest):
    """(start, length) of the interrupt range that the lent device may write to."""
    found = re.search(rf"kind {MAP_MSI} .* length (\w+) .* device address (\w+)",
                      guest.text("cat /sys/kernel/debug/devlend/lent"))
    return int(found.group(2), 16), int(found.group(1), 16)


def alarms(guest):
    """Lines of a guest's kernel log that are warnings or worse."""
    return guest.text("dmesg --level=emerg,alert,crit,err,warn").splitlines()


def virtual_function(guest):
    """BDF of a VF of the lender's igb, made now."""
    guest.run("modprobe igb", timeout=90)
    lending.must_write(guest, f"/sys/bus/pci/devices/{BDF['igb']}/sriov_numvfs", "1")
    return guest.text(f"basename $(readlink /sys/bus/pci/devices/{BDF['igb']}/virtfn0)")


@pytest.fixture(name="tools")
def _tools(pair, tmp_path):
    """The pair, its borrower with config_noise."""
    lending.ready(pair)
    program = tmp_path / "config_noise"
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", program,
                    Path(__file__).parent / "config_noise.c"], check=True)
    pair.borrower.push(program, NOISE, mode=0o755)
    return pair


@pytest.fixture(params=[*BDF, "igb VF"])
def borrowed(request, tools):
    """A device that is borrowed, without a driver there."""
    kind, pair = request.param, tools
    bdf = BDF.get(kind) or virtual_function(pair.lender)
    force = not pair.lender.run(f"cat /sys/bus/pci/devices/{bdf}/reset_method", check=False).out.strip()
    lending.lend(pair.lender, bdf, force=force)
    parent = "" if kind in BDF else BDF["igb"]
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    yield Borrowed(kind, bdf, lending.shadow_of(pair.borrower, lease), config(pair.lender, bdf), parent)
    lending.give_back(pair.borrower, lease)
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    lending.reclaim(pair.lender, bdf)
    if parent:
        lending.must_write(pair.lender, f"/sys/bus/pci/devices/{parent}/sriov_numvfs", "0")
        pair.lender.run("modprobe -r igb", timeout=90)


def walk(pair, it):
    """Both lists of the shadow end, and name nothing that a borrower is not to see."""
    space = config(pair.borrower, it.there)
    assert len(space) == len(it.before)
    assert set(capabilities(space)) <= {PM, MSI, EXP, MSIX, 0x09}
    assert set(extended(space)) <= {0, 3}		# an anchor, a serial number
    assert "!!!" not in pair.borrower.text(f"lspci -vvv -s {it.there} 2>&1")
    return space


def size_of(guest, bdf):
    """What each base register reads after all ones: of memory BARs the size's mask and the flags."""
    lines = guest.text(f"head -n6 /sys/bus/pci/devices/{bdf}/resource").splitlines()
    ones = [0] * 6
    for n, line in enumerate(lines):
        start, end, flags = (int(word, 16) for word in line.split())
        if flags & 0x200:
            ones[n] = -(end - start + 1) & 0xfffffff0 | flags & 0xf
            if flags & 0x4:
                ones[n + 1] = 0xffffffff
    return ones


def size_bars(pair, it):
    """All ones to the base registers, in every order of those that there are; the number of orders."""
    ones = size_of(pair.lender, it.bdf)
    orders = pair.borrower.text(f"{NOISE} /sys/bus/pci/devices/{it.there}/config sizing " + " ".join(map(hex, ones)),
                                timeout=300)
    assert int(orders) == math.factorial(sum(map(bool, ones)))
    return int(orders)


def settled(pair):
    """Has the lender served all operations that the borrower's writes made?"""
    return (pair.borrower.read(f"{lending.BUS}/link0/atomic_sent")
            == pair.lender.read(f"{lending.BUS}/link0/atomic_received"))


def check(pair, it, what):
    """The real device is what it was, but for what a borrower may switch."""
    until(lambda: settled(pair), 60, "the lender has served what was posted")
    now = config(pair.lender, it.bdf)
    assert changes(it.before, now) == [], what
    if msi_message(now):
        target, (start, length) = msi_message(now)[2], granted(pair.lender)
        assert target == msi_message(it.before)[2] or start <= target <= start + length - 4, f"{what}: MSI {target:#x}"


def make_noise(pair, it):
    """Each pattern in each size of access; the byte that resets the function last, since that puts all back."""
    file, count = f"/sys/bus/pci/devices/{it.there}/config", 0
    exp = capabilities(config(pair.borrower, it.there)).get(EXP)
    skip = exp + EXP_DEVCTL + 1 if exp else 1 << 20
    for size, patterns in ((1, ("ones", "zeroes", "random")), (2, ("random",)), (4, ("ones", "random"))):
        for pattern in patterns:
            count += int(pair.borrower.text(f"{NOISE} {file} noise {pattern} {SEED + size} {size} {skip}", timeout=300))
            check(pair, it, f"{pattern}, {size} bytes at a time")
        for value in ("0xffffffff", "0")[:2 if size == 1 else 1] if exp else ():
            pair.borrower.text(f"{NOISE} {file} poke {skip & -size:#x} {size} {value}", timeout=120)
            check(pair, it, f"{value} to {skip & -size:#x}, {size} bytes")
            count += 1
    return count


def set_message(pair, it, space):
    """A message inside the grant arrives at the device, so one outside could."""
    pos, start = capabilities(space)[MSI], granted(pair.lender)[0]
    wide = u16(space, pos + 2) & MSI_64
    high = f"{pos + 8:x}.l={start >> 32:x} {pos + 12:x}.w=41" if wide else f"{pos + 8:x}.w=41"
    pair.borrower.text(f"setpci -s {it.there} {pos + 4:x}.l={start & 0xffffffff:x} {high} {pos + 2:x}.w=1")
    until(lambda: settled(pair), 60, "the lender has served what was posted")
    now = config(pair.lender, it.bdf)
    if start >> 32 and not wide:
        assert msi_message(now)[2] == msi_message(it.before)[2]
    else:
        assert msi_message(now)[2] == start and u16(now, capabilities(now)[MSI] + 2) & 1
    check(pair, it, "a granted message")


def test_every_byte(tools, borrowed, record_property):
    """Nothing that is written to the shadow reaches what is the lender's."""
    pair, it = tools, borrowed
    said = alarms(pair.lender)
    parent = config(pair.lender, it.parent) if it.parent else None
    space = walk(pair, it)
    if MSI in capabilities(space):
        set_message(pair, it, space)
    orders = size_bars(pair, it)
    check(pair, it, "sizing")
    count = make_noise(pair, it)
    assert space[:4] + space[8:12] == (now := walk(pair, it))[:4] + now[8:12]
    if parent:
        assert changes(parent, config(pair.lender, it.parent)) == []
    assert alarms(pair.lender) == said
    record_property(it.kind, f"{count} config writes, {orders} orders of sizing")


def test_comparison_sees_what_changed(pair):
    """Changes that must not be, made by the lender itself: each would be found."""
    guest, bdf = lending.ready(pair).lender, BDF["igb"]
    guest.run(f"setpci -s {bdf} COMMAND=2")
    before = config(guest, bdf)
    sriov = extended(before)[SRIOV]
    kinds = {"base register": (0x12, 0x10), "memory decode": (4, 2), "power": (capabilities(before)[PM] + 4, 3),
             "memory of virtual functions": (sriov + 8, 8), "number of virtual functions": (sriov + 16, 1)}
    for kind, (where, value) in kinds.items():
        guest.run(f"setpci -s {bdf} {where:x}.b={before[where] ^ value:x}")
        now = config(guest, bdf)
        guest.run(f"setpci -s {bdf} {where:x}.b={before[where]:x}")
        assert any(line.startswith(f"{where:#05x}") for line in changes(before, now)), kind
    assert changes(before, config(guest, bdf)) == []
