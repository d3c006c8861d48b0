# SPDX-License-Identifier: GPL-2.0
"""What pulls at a lease from several sides at once: the PF of a lent virtual function goes, in three
ways. All ends where it began, and nobody complains."""

import pytest

import lending
from rig import Nvme

PF = "0000:00:07.0"
PCI = "/sys/bus/pci"
# how the PF's driver takes its virtual functions away, and how it comes back
WAYS = {
    "numvfs": (f"echo 0 > {PCI}/devices/{PF}/sriov_numvfs", "true"),
    "unbind": (f"echo {PF} > {PCI}/drivers/igb/unbind", f"echo {PF} > {PCI}/drivers/igb/bind"),
    "remove": (f"echo 1 > {PCI}/devices/{PF}/remove", f"echo 1 > {PCI}/rescan"),
}

PAIR = lending.options(modules=lending.MODULES + ("igb", "igbvf"),
                       devices=[Nvme(size=1 << 20), "igb,id=pf"])
pytestmark = pytest.mark.allow_complaints(*lending.LOSS)


def lent_vf(pair):
    """Enable two virtual functions, lend the first; return its BDF."""
    guest = lending.ready(pair).lender
    lending.must_write(guest, f"{PCI}/devices/{PF}/sriov_numvfs", "2")
    bdf = guest.text(f"basename $(readlink {PCI}/devices/{PF}/virtfn0)")
    lending.lend(guest, bdf)
    return bdf


def borrowed_vf(pair, bdf):
    """Borrow it; return (lease, shadow) once its driver has it and its interface is up."""
    guest = pair.borrower
    lease = lending.borrow(guest, lending.wait_offer(guest, bdf))
    shadow = lending.shadow_of(guest, lease)
    assert lending.driver_of(guest, shadow) == "igbvf"
    guest.text(f"ip link set $(ls {PCI}/devices/{shadow}/net) up")
    return lease, shadow


@pytest.mark.parametrize("way, borrowed", [("numvfs", False)] + [(way, True) for way in WAYS])
def test_pf_goes(pair, way, borrowed):
    """A virtual function is lent, or in use at the borrower, when its PF's driver removes it."""
    bdf = lent_vf(pair)
    if borrowed:
        lease, shadow = borrowed_vf(pair, bdf)
    # told of the end, a borrower that hangs does not answer: meanwhile the PF is gone for good
    hangs = way == "remove"
    if hangs:
        pair.borrower.qmp.command("stop")
    pair.lender.run(WAYS[way][0], timeout=120)
    lending.wait(pair.lender, f"[ ! -e {PCI}/devices/{bdf} ] && [ ! -e {lending.BUS}/lent-{bdf} ]")
    if hangs:
        pair.borrower.qmp.command("cont")
    if borrowed:
        lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ] && [ ! -e {PCI}/devices/{shadow} ]",
                     what="the lease and its shadow to go")
    lending.wait(pair.borrower, f"[ -z \"$(ls -d {lending.BUS}/offer-* 2>/dev/null)\" ]")
    # and it can be had again
    pair.lender.run(WAYS[way][1], timeout=120)
    assert lent_vf(pair) == bdf
    lease, shadow = borrowed_vf(pair, bdf)
    lending.give_back(pair.borrower, lease)
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    lending.reclaim(pair.lender, bdf)
    assert lending.driver_of(pair.lender, bdf) == "igbvf"
    lending.must_write(pair.lender, f"{PCI}/devices/{PF}/sriov_numvfs", "0")
