# SPDX-License-Identifier: GPL-2.0
"""What pulls at a lease from several sides at once: the PF of a lent virtual function goes, in three
ways; and all that can be written is written by several processes on both
hosts. All ends where it began, and nobody complains."""

import re

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
LENDS = 8	# rounds of the writers

PAIR = lending.options(modules=lending.MODULES + ("igb", "igbvf"),
                       devices=[Nvme(size=1 << 20), "igb,id=pf"])
pytestmark = [pytest.mark.allow_complaints(*lending.LOSS), pytest.mark.long]


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


# Shell functions: each writes until /tmp/stop is there, or for so many lends; then it says how often
# the kernel did it, and how often it refused.
WRITERS = """
put() { if echo "$1" 2>/dev/null > $2; then ok=$((ok+1)); else no=$((no+1)); return 1; fi; }
stopped() { [ -e /tmp/stop ]; }
random() { sleep $((RANDOM %% $1)).$((RANDOM %% 10)); }
lend() { while [ $ok -lt %(lends)d ]; do put %(bdf)s %(driver)s/lend || sleep 0.2; done; }
reclaim() {
	until stopped; do
		if grep -qs borrowed %(bus)s/lent-*/state; then put %(bdf)s %(driver)s/reclaim; else sleep 0.1; fi
	done
}
force() { until stopped; do random %(force_s)d; put "%(bdf)s force" %(driver)s/reclaim; done; }
borrow() { until stopped; do for o in %(bus)s/offer-*/borrow; do put auto $o || sleep 0.1; done; done; }
back() { until stopped; do random 6; for l in %(bus)s/lease-*/return; do [ -e $l ] && put 1 $l; done; done; }
RANDOM=$2 ok=0 no=0; $1; echo "ok $ok no $no"
"""


def start(guest, bdf, what):
    """Start writers, each with a seed of its own; return their jobs, by name."""
    # seldom enough for a borrow to come to its end now and then
    force_s = 25 if guest.kernel.name == "checking" else 4
    text = WRITERS % {"bdf": bdf, "driver": lending.DRIVER, "bus": lending.BUS, "lends": LENDS, "force_s": force_s}
    guest.push(text.encode(), "/tmp/writers")
    jobs = {}
    for seed, name in enumerate(what, 1):
        jobs[f"{name}{seed}"] = guest.spawn(f"bash /tmp/writers {name} {seed}")
        jobs[f"{name}{seed}"].send(b"")
    return jobs


def counted(jobs, timeout):
    """Wait for writers; return (succeeded, refused) of each."""
    counts = {}
    for name, job in jobs.items():
        done = job.wait(timeout)
        counts[name] = tuple(map(int, re.findall(r"\d+", done.out)))
        assert len(counts[name]) == 2, f"{name} came to a bad end: {done}"
    return counts


def footprint(guest):
    """What must be the same before and after."""
    return guest.text("ls /sys/bus/pci/devices /sys/bus/devlend/devices; grep -i devlend /proc/iomem; "
                      "ls /sys/kernel/irq | wc -l; cat /sys/kernel/debug/devlend/link0/windows")


def cycle(pair, bdf):
    """Borrow, read and return the drive."""
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")
    lending.give_back(pair.borrower, lease)
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")


def test_writers_on_both_hosts(pair, record_property):
    """Lend, reclaim, force, borrow and return are written at once."""
    bdf = lending.lent_drive(pair)
    cycle(pair, bdf)
    lending.wait_offer(pair.borrower, bdf)
    before = [footprint(guest) for guest in pair.guests]
    jobs = start(pair.borrower, bdf, ["borrow", "borrow", "back"])
    jobs |= start(pair.lender, bdf, ["reclaim", "force"])
    counts = counted(start(pair.lender, bdf, ["lend", "lend"]), 500)
    for guest in pair.guests:
        guest.run("touch /tmp/stop")
    counts |= counted(jobs, 240)
    for name, count in counts.items():
        record_property(name, "%d done, %d refused" % count)
    assert sum(count[0] for name, count in counts.items() if name.startswith("borrow")) >= 1
    # what is left is taken down by the same means
    for lease in lending.names(pair.borrower, "lease"):
        lending.give_back(pair.borrower, lease)
    if lending.names(pair.lender, "lent"):
        lending.reclaim(pair.lender, bdf)
    assert lending.driver_of(pair.lender, bdf) == "nvme"
    lending.lend(pair.lender, bdf)
    lending.wait_offer(pair.borrower, bdf)
    assert [footprint(guest) for guest in pair.guests] == before
    assert pair.lender.read(f"{lending.BUS}/lent-{bdf}/leases") == "0"
    cycle(pair, bdf)
    assert pair.lender.read(f"{lending.BUS}/lent-{bdf}/leases") == "1"
    lending.take_down(pair, bdf)
