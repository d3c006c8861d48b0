# SPDX-License-Identifier: GPL-2.0
"""Whole cycles on the checking kernel (KASAN, lockdep, DMA debugging, kmemleak): no
complaint, and nothing is left behind after many."""

import pytest

import lending

BORROWS = 50
LENDS = 20
# pages in flight between the kernel's caches; a leak of one page a cycle is far above
SLACK_KB = 1024

PAIR = lending.options(kernel="checking", kmemleak=True)
pytestmark = pytest.mark.checking


def footprint(guest):
    """What must be the same before and after: domains, interrupts, windows; and used memory."""
    things = guest.text(
        "ls /sys/bus/pci/devices /sys/bus/devlend/devices; awk '{print $1, $NF}' /proc/interrupts | grep : ; "
        "ls /sys/kernel/irq | wc -l; grep -i devlend /proc/iomem; cat /sys/kernel/debug/devlend/link0/windows")
    guest.run("sync; echo 3 > /proc/sys/vm/drop_caches")
    used = int(guest.text("awk '/^(Slab|VmallocUsed|PageTables|Percpu):/ {n += $2} END {print n}' /proc/meminfo"))
    return things, used


def scan_for_leaks(guest):
    """What kmemleak finds that devlend allocated."""
    for _ in range(2):		# an object must be seen unreferenced twice
        guest.run("echo scan > /sys/kernel/debug/kmemleak", timeout=300)
    report = guest.text("cat /sys/kernel/debug/kmemleak")
    return [r for r in report.split("unreferenced object") if "devlend" in r]


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


def test_nothing_is_left_behind(pair, record_property):
    """50 times borrowed and returned, 20 times lent and reclaimed."""
    bdf = lending.lent_drive(pair)

    def borrow_and_return():
        lending.give_back(pair.borrower, lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf)))

    def lend_and_reclaim():
        lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
        lending.reclaim(pair.lender, bdf)
        lending.lend(pair.lender, bdf)

    for warm_up in (borrow_and_return, lend_and_reclaim, borrow_and_return):
        warm_up()
    lending.wait_offer(pair.borrower, bdf)
    before = [footprint(guest) for guest in pair.guests]
    for _ in range(BORROWS):
        borrow_and_return()
    for _ in range(LENDS):
        lend_and_reclaim()
    lending.wait_offer(pair.borrower, bdf)
    after = [footprint(guest) for guest in pair.guests]
    for guest, (things, used), (things_after, used_after) in zip(pair.guests, before, after):
        assert things_after == things, guest.name
        record_property(f"{guest.name}_growth_kb", used_after - used)
        assert used_after - used < SLACK_KB, guest.name
        assert scan_for_leaks(guest) == [], guest.name
    lending.take_down(pair, bdf)
