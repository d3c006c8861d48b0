# SPDX-License-Identifier: GPL-2.0
"""Two hosts that each lend and borrow over one NTB, at the same time.

A read of a device's register in one direction must not meet one in the other: emulated machines cannot serve
both (testing.rst, "Known limits"). So the probes come one after the other; I/O needs no such reads.
"""

import random

import pytest

import lending
from rig import Nvme
from rig.pair import DEVICE_BDF

SIZE = 1 << 20
BLOCK = 4 << 10
PAIR = lending.options(devices=[Nvme("LENT000A", SIZE)], borrower_devices=[Nvme("LENT000B", SIZE)])


def other(pair, guest):
    """The peer of a guest."""
    return pair.borrower if guest is pair.lender else pair.lender


@pytest.fixture
def crossed(pair):
    """Each host's drive lent to the other: (pair, [(guest, lease, block device)])."""
    lending.ready(pair)
    for guest in pair.guests:
        lending.fill(guest.devices[0], guest.devices[0].serial)
        lending.lend(guest, DEVICE_BDF)
    made = []
    for guest in pair.guests:
        lease = lending.borrow(guest, lending.wait_offer(guest, DEVICE_BDF))
        made.append((guest, lease, lending.nvme_block(guest, lending.shadow_of(guest, lease))))
    yield pair, made
    for guest in pair.guests:
        for lease in lending.names(guest, "lease"):
            lending.give_back(guest, lease)
    for guest in pair.guests:
        lending.wait_state(guest, f"lent-{DEVICE_BDF}", "offered")
        lending.reclaim(guest, DEVICE_BDF)
        assert lending.driver_of(guest, DEVICE_BDF) == "nvme"


def transfer(pair, made, seed):
    """Both hosts write to, and read from, the other's drive at the same time; all of it is right."""
    text = random.Random(seed).randbytes(4 * BLOCK)
    jobs = []
    for guest, _, disk in made:
        guest.push(text, "/tmp/text")
        jobs.append(guest.spawn(f"dd if=/tmp/text of=/dev/{disk} bs={BLOCK} oflag=direct status=none && "
                                f"dd if=/dev/{disk} of=/tmp/back bs={BLOCK} skip=4 count=16 iflag=direct status=none"))
    for job in jobs:
        job.send(b"")
    for job in jobs:
        result = job.wait(180)
        assert not result.rc, result
    for guest, _, _ in made:
        with open(other(pair, guest).devices[0].image, "rb") as image:
            assert image.read(len(text)) == text
            assert guest.pull("/tmp/back") == image.read(16 * BLOCK)


def test_both_at_once(crossed):
    """Each writes and reads the other's drive, while the other does; no read had to be answered with a lie."""
    pair, made = crossed
    for seed in range(3):
        transfer(pair, made, seed)
    assert pair.ntbsim.counters()["crossed_read_cycles"] == 0


def test_one_ends(crossed):
    """The end of the lease in one direction, by return or by force, leaves the other alone."""
    pair, made = crossed
    first, second = made
    lending.give_back(first[0], first[1])
    transfer(pair, [second], 1)
    lease = lending.borrow(first[0], lending.wait_offer(first[0], DEVICE_BDF))
    disk = lending.nvme_block(first[0], lending.shadow_of(first[0], lease))
    transfer(pair, [(first[0], lease, disk), second], 2)
    lending.must_write(first[0], f"{lending.DRIVER}/reclaim", f"{DEVICE_BDF} force")
    lending.wait(second[0], f"[ ! -e {lending.BUS}/{second[1]} ]")
    transfer(pair, [(first[0], lease, disk)], 3)
    lending.lend(first[0], DEVICE_BDF)
