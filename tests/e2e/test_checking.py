# SPDX-License-Identifier: GPL-2.0
"""Whole cycles on the checking kernel (KASAN, lockdep, DMA debugging, kmemleak): no
complaint, and nothing is left behind after many; nor after whatever a soak does."""

import os
import random
import time

import pytest

import leaks
import lending
import soak

SOAK_SECONDS = int(os.environ.get("DEVLEND_SOAK_S", "150"))
SOAK_SEED = int(os.environ.get("DEVLEND_SOAK_SEED", "1"))

PAIR = lending.options(kernel="checking", kmemleak=True)
pytestmark = pytest.mark.checking


# nvme's own, also on a local drive: it freezes its queues in the writer of "reset" and thaws them in a work
@pytest.mark.allow_complaints("lock held when returning to user space")
def test_one_cycle_with_io(pair):
    """Lend, borrow, write, verify, reset, return, reclaim."""
    bdf, lease, disk = lending.borrowed_drive(pair)
    guest = pair.borrower
    guest.text(f"head -c 131072 /dev/urandom > /tmp/a && dd if=/tmp/a of=/dev/{disk} bs=64k oflag=direct status=none && "
               f"dd if=/dev/{disk} bs=64k count=2 iflag=direct status=none | cmp - /tmp/a", timeout=200)
    lending.must_write(guest, f"/sys/bus/pci/devices/{lending.shadow_of(guest, lease)}/reset", "1")
    guest.text(f"dd if=/dev/{disk} bs=64k count=2 iflag=direct status=none | cmp - /tmp/a", timeout=200)
    lending.take_down(pair, bdf)


# with a driver, whose probe takes most of the time, and without
@pytest.mark.parametrize("borrows, lends, with_driver",
                         [(14, 7, 2), pytest.param(50, 20, 5, marks=pytest.mark.long)])
def test_nothing_is_left_behind(pair, borrows, lends, with_driver, record_property):
    """Borrowed and returned, lent and reclaimed many times: loops in the guests, without a new process for each step."""
    bdf = lending.lent_drive(pair)
    offer = lending.wait_offer(pair.borrower, bdf)

    def cycles(guest, count, device, state, steps):
        until = f"until read s < {lending.BUS}/{device}/state && [ $s = {state} ]; do sleep 0.1; done"
        guest.run(f"for n in $(seq {count}); do {until}; {' && '.join(steps)} || exit 1; done; {until}", timeout=1200)

    def borrow_and_return(count):
        cycles(pair.borrower, count, offer, "available",
               (f"echo auto > {lending.BUS}/{offer}/borrow", f"echo 1 > {lending.BUS}/lease-8000/return"))

    def lend_and_reclaim(count):
        cycles(pair.lender, count, f"lent-{bdf}", "offered",
               (f"echo {bdf} > {lending.DRIVER}/reclaim", f"echo {bdf} > {lending.DRIVER}/lend"))
        lending.wait_offer(pair.borrower, bdf)

    def drivers(there):
        for guest in pair.guests:
            guest.text("modprobe nvme" if there else "modprobe -r nvme")

    for warm_up in (borrow_and_return, lend_and_reclaim, borrow_and_return):
        warm_up(1)
    before = [leaks.footprint(guest) for guest in pair.guests]
    borrow_and_return(with_driver)
    lend_and_reclaim(with_driver)
    drivers(False)
    borrow_and_return(borrows - with_driver)
    lend_and_reclaim(lends - with_driver)
    drivers(True)
    after = [leaks.footprint(guest) for guest in pair.guests]
    for guest, (things, used), (things_after, used_after) in zip(pair.guests, before, after):
        assert things_after == things, guest.name
        record_property(f"{guest.name}_growth_kb", used_after - used)
        assert used_after - used < leaks.SLACK_KB, guest.name
        found = leaks.scan_for_leaks(guest)
        record_property("leaks", len(found))
        assert found == [], guest.name
    lending.reclaim(pair.lender, bdf)
    # as it was when it was lent last
    assert lending.driver_of(pair.lender, bdf) is None
    lending.must_write(pair.lender, "/sys/bus/pci/drivers/nvme/bind", bdf)


# of the drive that went away; and nvme's own, see above
@pytest.mark.allow_complaints(*lending.LOSS, "nvme nvme", "lock held when returning to user space")
def test_soak(pair, record_property):
    """Anything may happen but wrong data, a leak, a complaint, or a drive that cannot be borrowed again."""
    record_property("seed", SOAK_SEED)
    run = soak.Soak(pair, random.Random(SOAK_SEED))
    run.start()
    end = time.monotonic() + SOAK_SECONDS
    try:
        while time.monotonic() < end:
            run.step()
            assert run.wrong == []
        left = run.end()
        record_property("leaks", len(left))
    finally:
        for what, count in sorted(run.counts.items()):
            record_property(what.replace(" ", "_"), count)
        record_property("injected", run.injected())
        record_property("data_mismatches", len(run.wrong))
    assert run.wrong == []
    assert left == []
