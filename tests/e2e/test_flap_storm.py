# SPDX-License-Identifier: GPL-2.0
"""A thousand flaps of the link while the borrower borrows and returns without end, on the checking kernel: half of
them come sooner than the hosts agree again, half before, in or after a borrow or a return. Each operation works
or is refused, nothing is left of what was cut off, and the drive is whole."""

import collections
import os

import pytest

import lending
from leaks import footprint
from rig import Nvme

KERNEL = os.environ.get("DEVLEND_KERNEL", "checking")
# without nvme, whose probe waits for a minute where the link goes at its first commands
PAIR = lending.options(kernel=KERNEL, devices=[Nvme(size=1 << 20)], append="log_buf_len=4M",
                       modules=tuple(m for m in lending.MODULES if m != "nvme"))
pytestmark = [pytest.mark.checking, pytest.mark.long]

FLAPS = 1000
SEED = int(os.environ.get("DEVLEND_SEED", "1"))
# seconds: the mean time between two, and the longest that one takes
SOON = dict(every=0.05, down=0.05)
SELDOM = dict(every=2 if KERNEL == "checking" else 1, down=0.2)
AT_ONCE = 20		# of one sort, then of the other
# ENOTCONN and ENOLINK, as bash says them
LOST = ("Transport endpoint is not connected", "Link has been severed")

# Borrow what is offered, return what is borrowed, until /tmp/stop is there; a line for each attempt. A file that is
# gone by the time that it is opened was no attempt.
WITHOUT_END = f"""
cd {lending.BUS}
until [ -e /tmp/stop ]; do
    for file in offer-*/borrow lease-*/return; do
        case $file in *\\**) continue ;; *borrow) word=auto ;; *) word=1 ;; esac
        if {{ echo $word > $file; }} 2> /tmp/error; then echo ${{file##*/}}: done
        else read -r said < /tmp/error; case $said in *write*) echo ${{file##*/}}: ${{said##*: }} ;; esac; fi
    done
    sleep 0.02
done > /tmp/attempts
"""


def test_borrow_and_return_meanwhile(pair, record_property):
    """The link flaps; what came of the attempts is among the figures."""
    guest, sim = pair.borrower, pair.ntbsim
    want = lending.fill(pair.lender.devices[0])
    bdf = lending.lent_drive(pair)
    # after the first lease the state of the windows is known
    lending.give_back(guest, lending.borrow(guest, lending.wait_offer(guest, bdf)))
    lending.wait_offer(guest, bdf)
    before = footprint(guest)[0]
    sim.reset_counters()
    guest.run("dmesg -C")
    job = guest.spawn(WITHOUT_END)
    job.send(b"")
    for n in range(0, FLAPS, 2 * AT_ONCE):
        for pace in SOON, SELDOM:
            sim.flap(AT_ONCE, seed=SEED + n, **pace)
    guest.run("touch /tmp/stop")
    job.wait(120)
    assert sim.injected()["flap"] == FLAPS
    came = collections.Counter(guest.text("cat /tmp/attempts").splitlines())
    log = guest.text("dmesg")
    # of a borrow that was undone as well
    unheard = log.count("did not acknowledge the return")
    cut_off = {"borrow": sum(came[f"borrow: {why}"] for why in LOST),
               "return": came["return: done"] - log.count(" is given back")}
    for what, count in sorted(came.items()):
        record_property(what, count)
    record_property("not acknowledged", unheard)
    record_property("cut off", cut_off)
    record_property("injected", {"flap": FLAPS})
    lending.ready(pair)
    for lease in lending.names(guest, "lease"):
        lending.give_back(guest, lease)
    offer = lending.wait_offer(guest, bdf)
    assert footprint(guest)[0] == before
    # else it proves nothing: of each some worked and some were cut off
    assert came["borrow: done"] > 100 and came["return: done"] > 100, came
    assert cut_off["borrow"] > 0 and cut_off["return"] > 0 and unheard, (cut_off, unheard)
    for host in pair.guests:
        host.modprobe("nvme")
    lease = lending.borrow(guest, offer)
    disk = lending.nvme_block(guest, lending.shadow_of(guest, lease))
    assert guest.text(f"dd if=/dev/{disk} bs=64k iflag=direct status=none | sha256sum", timeout=300).split()[0] == want
    lending.give_back(guest, lease)
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    lending.reclaim(pair.lender, bdf)
