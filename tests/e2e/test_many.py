# SPDX-License-Identifier: GPL-2.0
"""Sixteen devices over one link, all borrowed at the same time, and what each costs.

The drives' registers lie above 4 GiB, all others' below, so the two windows reach all sixteen. Nothing isolates
them from each other without an IOMMU: then two are granted, one in each window, and the rest by `unsafe` alone.
"""

import errno
import re
import time
from pathlib import Path

import pytest

import lending
from rig import Nvme
from test_io import control_words
from test_two_leases import UNSAFE
from test_windows import in_use

# cards and drives take a tenth of a second to reset, so more than eight returns are under way at a time
KINDS = ["nvme", "edu", "pci-testdev"] + 4 * ["e1000e"] + ["edu", "nvme"] + 4 * ["e1000e"] + ["edu", "e1000e", "nvme"]
WITHOUT_RESET = ("edu", "pci-testdev")
BYTES = 16 << 10


def devices():
    """What the lender lends, in the order of KINDS."""
    return [Nvme(f"LENT{n:04}", 1 << 20) if kind == "nvme" else
            {"edu": "edu,dma_mask=0xffffffffffffffff", "e1000e": "e1000e,romfile="}.get(kind, kind) for n, kind in enumerate(KINDS)]


PAIR = lending.options(devices=devices())
BDFS = [f"0000:00:{slot:02x}.0" for slot in range(6, 6 + len(KINDS))]


def lend_all(pair):
    """Have all sixteen lent, and offered."""
    lending.ready(pair)
    for number, (bdf, kind) in enumerate(zip(BDFS, KINDS)):
        if kind == "nvme":
            lending.fill(pair.lender.devices[number], number)
        if f"lent-{bdf}" not in lending.names(pair.lender, "lent"):
            lending.lend(pair.lender, bdf, force=kind in WITHOUT_RESET)
    for bdf in BDFS:
        lending.wait_offer(pair.borrower, bdf)


@pytest.fixture
def many(pair):
    """The pair, all sixteen lent; afterwards nothing is borrowed."""
    lend_all(pair)
    yield pair
    return_all(pair)
    lending.must_write(pair.lender, UNSAFE, "N")


def at_once(guest, writes):
    """Write to many sysfs files at the same time: what was said of those that failed."""
    jobs = " ".join(f"{{ echo {value} > {lending.BUS}/{path}; }} &" for path, value in writes)
    said = guest.run(f"{jobs} wait", timeout=300)
    return said.out + said.err


def borrow_all(pair):
    """Borrow all sixteen at the same time."""
    offers = [lending.wait_offer(pair.borrower, bdf) for bdf in BDFS]
    assert at_once(pair.borrower, [(f"{offer}/borrow", "auto") for offer in offers]) == ""
    assert len(lending.names(pair.borrower, "lease")) == len(BDFS)


def return_all(pair):
    """Return what is borrowed at the same time; nothing is left of it on either host."""
    leases = lending.names(pair.borrower, "lease")
    assert at_once(pair.borrower, [(f"{lease}/return", "1") for lease in leases]) == ""
    assert lending.names(pair.borrower, "lease") == []
    for bdf in BDFS:
        lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
        lending.wait_offer(pair.borrower, bdf)
    assert not in_use(pair.lender) and not in_use(pair.borrower)


def calls(pair):
    """Calls and atomic operations that crossed, either way."""
    return sum(int(guest.read(f"{lending.BUS}/link0/{name}")) for guest in pair.guests
               for name in ("calls_sent", "atomic_sent"))


def memory(guest):
    """What the kernel has allocated, kB."""
    return int(guest.text("sync; echo 3 > /proc/sys/vm/drop_caches; "
                          "awk '/^(Slab|VmallocUsed|PageTables|Percpu):/ {n += $2} END {print n}' /proc/meminfo"))


def borrow_one(pair, number):
    """Borrow one more; what it cost: (kind, seconds, calls, words)."""
    offer = lending.wait_offer(pair.borrower, BDFS[number])
    before, begun = calls(pair), time.monotonic()
    pair.ntbsim.reset_counters()
    lease = lending.borrow(pair.borrower, offer)
    took = time.monotonic() - begun
    if KINDS[number] == "nvme":
        lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    # the lender's last word about it
    lending.wait_offer(pair.borrower, BDFS[number], "lent")
    ports = pair.ntbsim.counters()["ports"]
    words = sum(control_words(ports[name]["out"]) for name in ("a", "b"))
    return KINDS[number], round(took, 1), calls(pair) - before, words


def use_all(pair):
    """Each drive reads what its image holds, all at the same time; each edu interrupts its driver."""
    guest = pair.borrower
    shadow = {guest.read(f"{lending.BUS}/{lease}/offer").rsplit("-", 1)[1]: lending.shadow_of(guest, lease)
              for lease in lending.names(guest, "lease")}
    drives = [n for n, kind in enumerate(KINDS) if kind == "nvme"]
    disks = {n: lending.nvme_block(guest, shadow[BDFS[n]]) for n in drives}
    guest.text(" ".join(f"dd if=/dev/{disk} of=/tmp/read{n} bs={BYTES} count=1 iflag=direct status=none &"
                        for n, disk in disks.items()) + " wait", timeout=120)
    for n in drives:
        with Path(pair.lender.devices[n].image).open("rb") as image:
            assert guest.pull(f"/tmp/read{n}") == image.read(BYTES)
    guest.modprobe("rig_edu")
    for n, kind in enumerate(KINDS):
        if kind == "edu":
            folder = f"/sys/bus/pci/devices/{shadow[BDFS[n]]}"
            assert guest.write(f"{folder}/raise", "5", timeout=120) == 0
            assert guest.read(f"{folder}/handled") == "5"
    guest.run("rmmod rig_edu")


def test_only_two_without_isolation(many):
    """One in each window; each of the others is refused, and the log says what becomes of the windows."""
    granted = []
    for number, bdf in enumerate(BDFS):
        offer = lending.wait_offer(many.borrower, bdf)
        code = many.borrower.write(f"{lending.BUS}/{offer}/borrow", "auto", timeout=180)
        assert code in (0, errno.EPERM)
        if not code:
            granted.append(number)
        elif len(granted) == 2 and number < 4:
            windows, said = many.lender.dmesg().splitlines()[-2:]
            assert "not granted: it would share a memory window with another lease" in said
            assert re.search(r"no window of its own for .*; window 0: in use, up to 65536 KiB from 0x\w+; "
                             r"window 1: in use, up to 4194304 KiB from 0x0$", windows)
    assert granted == [0, 1]
    assert not any(int(many.lender.read(f"{lending.BUS}/lent-{bdf}/shared")) for bdf in BDFS)


def test_sixteen_and_their_cost(many, record_property):
    """With `unsafe`, one after the other: the calls of a borrow do not grow with what is borrowed already."""
    assert not any(w["fast"] for port in many.ntbsim.config["ports"] for w in port["windows"])
    lending.must_write(many.lender, UNSAFE, "Y")
    before = [memory(guest) for guest in many.guests]
    costs = [borrow_one(many, number) for number in range(len(BDFS))]
    grown = [memory(guest) - kb for guest, kb in zip(many.guests, before)]
    record_property("cost_of_borrow", costs)
    record_property("cost_in_memory", {guest.name: round(kb / len(BDFS)) for guest, kb in zip(many.guests, grown)})
    assert [len(in_use(guest)) for guest in many.guests] == [2, 1]
    for kind in set(KINDS):
        made = {cost[2] for cost in costs if cost[0] == kind}
        assert len(made) == 1, costs
    use_all(many)


def test_sixteen_at_once(many):
    """Borrowed at the same time, used, returned at the same time: the peers wait for each other's turn."""
    lending.must_write(many.lender, UNSAFE, "Y")
    borrow_all(many)
    use_all(many)


def test_taken_back(pair):
    """All sixteen go back to their own drivers."""
    lend_all(pair)
    for bdf, kind in zip(BDFS, KINDS):
        lending.reclaim(pair.lender, bdf)
        if kind == "nvme":
            assert lending.driver_of(pair.lender, bdf) == "nvme"
    assert lending.names(pair.lender, "lent") == []
    lending.wait(pair.borrower, f"! ls -d {lending.BUS}/offer-*")


@pytest.mark.long
def test_sixteen_with_iommus(make_pair):
    """Where the IOMMUs of both hosts translate, all sixteen are granted without `unsafe`, each isolated from the rest."""
    pair = make_pair(**lending.options(devices=devices(), lender_iommu=True, borrower_iommu=True))
    lend_all(pair)
    assert pair.lender.read(UNSAFE) == "N"
    for bdf in BDFS:
        lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
        said = [pair.lender.read(f"{lending.BUS}/lent-{bdf}/{name}") for name in ("isolated", "shared")]
        assert said == ["1", "0"], bdf
    use_all(pair)
    return_all(pair)
    test_taken_back(pair)
