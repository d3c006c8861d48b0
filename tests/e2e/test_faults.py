# SPDX-License-Identifier: GPL-2.0
"""Lend, borrow, write, reset, read, return, while the NTB does what hardware does on a bad day: a
lease is either as good as ever, or it is lost cleanly and borrowed again, and no byte is wrong.

Faults come from a seed, DEVLEND_SEED or 1; the figures say what was injected."""

import os
import random
import re
from pathlib import Path

import pytest

import lending
from rig import Nvme

PAIR = lending.options(devices=[Nvme(size=4 << 20)])
SEED = int(os.environ.get("DEVLEND_SEED", "1"))
ROUNDS = 2
ROUNDS_MAX = 30		# until what was planned has happened
CHUNK = 32 << 10
COMMAND = 4096		# one write of dd's, and one of nvme's
SECTOR, WORD = 512, 8
ONES = b"\xff" * WORD
CONTROL_WORDS = 1 << 3 | 1 << 5		# of both lanes, as protocol.rst numbers them
FLAPS = dict(every=4, down=0.2)

# name: (plan for ntbsim, whether the link flaps, what must have been injected)
KINDS = {
    "bell_drop": (dict(bell_drop=0.2), False, {"bell_drop"}),
    "bell_delay": (dict(bell_delay=0.5, bell_us=50000), False, {"bell_delay"}),
    "bell_dup": (dict(bell_dup=0.5, bell_us=20000), False, {"bell_dup"}),
    "bell_reorder": (dict(bell_reorder=0.5, bell_us=50000), False, {"bell_reorder"}),
    "spad_corrupt": (dict(spad_corrupt=0.05, corrupt_words=CONTROL_WORDS), False, {"spad_corrupt"}),
    "freeze": (dict(freeze_every_us=700000, freeze_us=150000), False, {"freeze"}),
    "flap": ({}, True, {"flap"}),
    "spad_lost": (dict(spad_lost=0.5, lost_us=20000), True, {"flap", "spad_lost"}),
    "all": (dict(bell_drop=0.1, bell_delay=0.2, bell_dup=0.2, bell_reorder=0.2, bell_us=20000, spad_corrupt=0.02,
                 corrupt_words=CONTROL_WORDS, spad_lost=0.5, lost_us=20000, freeze_every_us=2000000, freeze_us=100000),
            True, {"bell_delay", "bell_dup", "bell_reorder", "spad_corrupt", "freeze"}),
}


class Model:
    """What the drive must hold: bytes. Where a write was cut off, each word may be the old or the new one; and the
    command that was under way when the link went may have read all-ones here, which QEMU's drive then writes."""

    def __init__(self, drive):
        self.path = Path(drive.image)
        lending.fill(drive, SEED)
        self.data = bytearray(self.path.read_bytes())
        self.unsure = {}

    def wrote(self, offset, data):
        self.data[offset:offset + len(data)] = data
        for sector in range(offset, offset + len(data), SECTOR):
            self.unsure.pop(sector, None)

    def tried(self, offset, data):
        """A write that failed: any part of it may have been done, and the rest may not."""
        for n in range(0, len(data), SECTOR):
            self.unsure.setdefault(offset + n, set()).add(bytes(data[n:n + SECTOR]))

    def mismatches(self, lost):
        """Sectors that hold neither what they should nor what they might, after so many leases were lost."""
        got = self.path.read_bytes()
        wrong, ones = [], []
        for n in range(0, len(self.data), SECTOR):
            is_, was, new = got[n:n + SECTOR], bytes(self.data[n:n + SECTOR]), self.unsure.get(n, ())
            if is_ == was or is_ in new:
                continue
            words = [{is_[k:k + WORD]} - {data[k:k + WORD] for data in (was, *new)} for k in range(0, SECTOR, WORD)]
            if new and set().union(*words) <= {ONES}:
                ones.append(n)
            else:
                wrong.append(f"{n:#x}: {is_[:8].hex()} for {was[:8].hex()}")
        if len(ones) > lost * COMMAND // SECTOR:
            wrong.append(f"all-ones in more than one command: {ones}")
        return wrong


@pytest.fixture
def faulty(pair):
    """The pair; no faults afterwards."""
    lending.ready(pair)
    yield pair
    quiet(pair)


def quiet(pair):
    pair.ntbsim.faults()
    pair.ntbsim.link(True)


def gone(guest, lease):
    lending.wait(guest, f"[ ! -e {lending.BUS}/{lease} ]", 90, f"{lease} to go")


def find_disk(guest, lease):
    """The block device of a lease, or None if the lease is lost before there is one."""
    base = f"{lending.BUS}/{lease}"
    drive = f"/sys/bus/pci/devices/$(cat {base}/pci 2>/dev/null)/nvme/nvme*/nvme*n1"
    lending.wait(guest, f"ls -d {drive} >/dev/null 2>&1 || [ ! -e {base} ]", 90, "a drive, or no lease")
    found = guest.run(f"ls -d {drive}", check=False)
    # with multipath the path's name has the controller in it, the drive's has not
    return None if found.rc else re.sub(r"c\d+n1$", "n1", found.out.strip().rsplit("/", 1)[-1])


def use(guest, lease, model, rng):
    """Write, reset the device, read back; whether all of it was done."""
    disk = find_disk(guest, lease)
    if not disk:
        return False
    offset = rng.randrange(len(model.data) // CHUNK) * CHUNK
    data = rng.randbytes(CHUNK)
    guest.push(data, "/tmp/chunk")
    model.tried(offset, data)
    if guest.run(f"dd if=/tmp/chunk of=/dev/{disk} bs={COMMAND} seek={offset // COMMAND} oflag=direct "
                 "conv=nocreat,fsync,notrunc status=none", timeout=180, check=False).rc:
        return False
    model.wrote(offset, data)
    guest.run(f"echo 1 >/sys/bus/pci/devices/$(cat {lending.BUS}/{lease}/pci)/reset", timeout=180, check=False)
    got = guest.run(f"dd if=/dev/{disk} of=/tmp/got bs={COMMAND} skip={offset // COMMAND} count={CHUNK // COMMAND} "
                    "iflag=direct status=none", timeout=180, check=False)
    if got.rc:
        return False
    assert guest.pull("/tmp/got") == data
    return True


def one_round(pair, bdf, model, rng):
    """From borrow to return. "fine", "refused" where the borrow failed, or "lost"."""
    guest = pair.borrower
    offer = lending.wait_offer(guest, bdf, timeout=120)
    if guest.write(f"{lending.BUS}/{offer}/borrow", "auto", timeout=180):
        for lease in lending.names(guest, "lease"):
            gone(guest, lease)
        return "refused"
    leases = lending.names(guest, "lease")
    if not leases:
        return "lost"
    (lease,) = leases
    if not use(guest, lease, model, rng):
        gone(guest, lease)
        return "lost"
    code = guest.write(f"{lending.BUS}/{lease}/return", "1", timeout=180)
    gone(guest, lease)
    return "lost" if code else "fine"


@pytest.mark.allow_complaints(*lending.LOSS)
@pytest.mark.parametrize("kind", KINDS)
def test_kind(faulty, kind, record_property):
    plan, flaps, wanted = KINDS[kind]
    sim = faulty.ntbsim
    model = Model(faulty.lender.devices[0])
    rng = random.Random(SEED)
    bdf = lending.find_pci(faulty.lender, lending.NVME)
    sim.faults(seed=SEED, **plan)
    if flaps:
        sim.flap(100000, seed=SEED, wait=False, **FLAPS)
    print(f"{kind}: seed {SEED}")
    lending.lend(faulty.lender, bdf)
    ends, injected = [], {}
    while len(ends) < ROUNDS or (len(ends) < ROUNDS_MAX and not injected.keys() >= wanted):
        ends.append(one_round(faulty, bdf, model, rng))
        injected = {name: n for name, n in sim.injected().items() if n}
    quiet(faulty)
    lending.ready(faulty)
    if ends[-1] != "fine":
        # it is borrowed again, and is as good
        ends.append(one_round(faulty, bdf, model, rng))
    lending.take_down(faulty, bdf)
    wrong = model.mismatches(ends.count("lost"))
    counts = ", ".join(f"{ends.count(end)} {end}" for end in ("fine", "refused", "lost"))
    record_property(kind, f"seed {SEED}; leases: {counts}")
    record_property("injected", injected)
    record_property("leases_lost", ends.count("lost"))
    record_property("data_mismatches", len(wrong))
    assert not wrong
    assert ends[-1] == "fine"
    assert injected.keys() >= wanted
