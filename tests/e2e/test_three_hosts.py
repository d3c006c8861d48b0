# SPDX-License-Identifier: GPL-2.0
"""Three hosts, of which one has two NTBs: two lenders and a borrower, and a lender and two borrowers.

Both leases are in use at the same time; one of the outer hosts loses its power, and the other lease does not notice.
Last, a card whose virtual functions two hosts have, and the function that they are of the lender.
"""

import itertools
import random

import pytest

import lending
from cards import card_of, transfer
from rig import Nvme
from rig.pair import DEVICE_BDF

pytestmark = pytest.mark.long
SIZE = 1 << 20
SECOND_BDF = "0000:00:07.0"


SENT = 32 << 10
CARD = "0000:00:06.0"
CARD_MODULES = lending.MODULES + ("igb", "igbvf")


def offer_of(guest, lender, bdf):
    """The offer of a device of one of several lenders."""
    host = lender.text("cat /sys/class/dmi/id/product_uuid")
    name = f"offer-{host.replace('-', '')[:8].lower()}-{bdf}"
    lending.wait(guest, f'[ "$(cat {lending.BUS}/{name}/state 2>/dev/null)" = available ]', what=name)
    return name


def borrow(guest, lender, bdf):
    """Borrow a drive: (lease, block device)."""
    lease = lending.borrow(guest, offer_of(guest, lender, bdf))
    return lease, lending.nvme_block(guest, lending.shadow_of(guest, lease))


def checksum(guest, disk):
    """Of the whole drive, read by the borrower."""
    return guest.text(f"dd if=/dev/{disk} bs=64k iflag=direct status=none | sha256sum", timeout=300).split()[0]


@pytest.mark.allow_complaints(*lending.LOSS)
def test_two_lenders(make_pair):
    """A drive of each is read at the same time; one lender dies, its lease ends, the other's goes on."""
    pair = make_pair(**lending.options(devices=[Nvme("LENT0001", SIZE)], third="lender",
                                       third_devices=[Nvme("LENT0002", SIZE)]))
    lending.ready(pair)
    borrower, made = pair.borrower, []
    for seed, lender in enumerate((pair.lender, pair.third), 1):
        want = lending.fill(lender.devices[0], seed)
        lending.lend(lender, DEVICE_BDF)
        made.append((*borrow(borrower, lender, DEVICE_BDF), want))
    (dying, lost_disk, _), (living, disk, want) = made
    assert len({borrower.read(f"{lending.BUS}/{lease}/link") for lease in (dying, living)}) == 2
    jobs = [lending.start_reads(borrower, name) for name in (lost_disk, disk)]
    pair.lender.kill()
    lending.wait(borrower, f"[ ! -e {lending.BUS}/{dying} ]", timeout=120)
    jobs[0].wait(60)
    done = int(borrower.text(f"awk '{{print $1}}' /sys/block/{disk}/stat"))
    lending.wait(borrower, f"[ $(awk '{{print $1}}' /sys/block/{disk}/stat) -gt {done + 200} ]", what="more reads")
    assert not jobs[1].done
    jobs[1].kill()
    assert borrower.read(f"{lending.BUS}/{living}/state") == "active"
    assert checksum(borrower, disk) == want
    lending.give_back(borrower, living)
    lending.wait_state(pair.third, f"lent-{DEVICE_BDF}", "offered")


def test_two_borrowers(make_pair):
    """Each has a drive of one lender, and cannot have the other's; one dies, its drive is offered again."""
    pair = make_pair(**lending.options(devices=[Nvme("LENT0001", SIZE), Nvme("LENT0002", SIZE)], third="borrower"))
    lender, dying, living = lending.ready(pair).guests
    wants = [lending.fill(drive, seed) for seed, drive in enumerate(lender.devices)]
    for bdf in (DEVICE_BDF, SECOND_BDF):
        lending.lend(lender, bdf)
    _, lost_disk = borrow(dying, lender, DEVICE_BDF)
    lease, disk = borrow(living, lender, SECOND_BDF)
    for guest, bdf in ((dying, SECOND_BDF), (living, DEVICE_BDF)):
        lending.wait_offer(guest, bdf, "lent")
    # no window of one NTB leads to what the other's peer has
    assert not any(int(lender.read(f"{lending.BUS}/lent-{bdf}/shared")) for bdf in (DEVICE_BDF, SECOND_BDF))
    lending.start_reads(dying, lost_disk)
    job = lending.start_reads(living, disk)
    dying.kill()
    lending.wait_state(lender, f"lent-{DEVICE_BDF}", "offered", timeout=120)
    done = int(living.text(f"awk '{{print $1}}' /sys/block/{disk}/stat"))
    lending.wait(living, f"[ $(awk '{{print $1}}' /sys/block/{disk}/stat) -gt {done + 200} ]", what="more reads")
    assert not job.done
    job.kill()
    assert checksum(living, disk) == wants[1]
    # the survivor may have the other drive, instead of its own
    lending.give_back(living, lease)
    lease, disk = borrow(living, lender, DEVICE_BDF)
    assert checksum(living, disk) == wants[0]
    lending.give_back(living, lease)


def test_virtual_functions_at_two_hosts(make_pair):
    """Each borrower has a virtual function of one card, the lender keeps the physical one: all three talk to each other. One
    borrower dies: its function is offered again, the other one's traffic goes on, and the lender's."""
    pair = make_pair(**lending.options(devices=["igb,addr=6"], third="borrower", modules=CARD_MODULES))
    lender, dying, living = lending.ready(pair).guests
    addresses = {lender: "10.9.0.1", dying: "10.9.0.2", living: "10.9.0.3"}
    card_of(lender, CARD, addresses[lender])
    lending.must_write(lender, f"/sys/bus/pci/devices/{CARD}/sriov_numvfs", "2")
    functions = [lender.text(f"basename $(readlink /sys/bus/pci/devices/{CARD}/virtfn{n})") for n in (0, 1)]
    for guest, bdf in zip((dying, living), functions):
        lending.lend(lender, bdf)
        lease = lending.borrow(guest, offer_of(guest, lender, bdf))
        shadow = lending.shadow_of(guest, lease)
        lending.wait(guest, f"[ -d /sys/bus/pci/devices/{shadow}/net ]", what="the driver's interface")
        assert lending.driver_of(guest, shadow) == "igbvf"
        card_of(guest, shadow, addresses[guest])
    assert lending.driver_of(lender, CARD) == "igb"
    for n, (one, other) in enumerate(itertools.permutations(addresses, 2)):
        transfer(one, other, addresses[one], random.Random(n).randbytes(SENT))
    # what one has, the other cannot
    for guest, bdf in zip((living, dying), functions):
        lending.wait_offer(guest, bdf, "lent")
    dying.kill()
    lending.wait_state(lender, f"lent-{functions[0]}", "offered", timeout=120)
    transfer(lender, living, addresses[lender], random.Random(0).randbytes(SENT))
    lending.give_back(living, lease)
