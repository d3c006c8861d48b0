# SPDX-License-Identifier: GPL-2.0
"""Each allocation that devlend makes in a lend, a borrow, a return and a reclaim fails once, on either
host: tests/kmod/rig_nomem.c fails what was not failed before, one for each operation, until
an operation finds nothing new.

An operation may succeed without what it did not get, or be refused; then all is as it was before, and the
same operation works. What each host has is in the end what it had.
DEVLEND_KERNEL=checking also looks for leaks, for an hour.
"""

import errno
import os

import pytest

import lending
from leaks import footprint, scan_for_leaks

KERNEL = os.environ.get("DEVLEND_KERNEL", "6.12")
PAIR = lending.options(kernel=KERNEL, kmemleak=KERNEL == "checking",
                       modules=tuple(m for m in lending.MODULES if m != "nvme") + ("rig_nomem",))
pytestmark = pytest.mark.long

PARAMETERS = "/sys/module/rig_nomem/parameters"
REFUSED = (errno.ENOMEM, errno.EBUSY)	# EBUSY: the peer had no memory for the request


class Fixture:
    """The pair's drive, what becomes of it, and the four operations.

    Each operation is (guest that writes, file, value), then what holds on either guest once it is done,
    and what does while it is not. The drive has no driver on either host: what a driver's probe
    allocates is none of devlend's, and costs seconds."""

    def __init__(self, pair):
        self.pair = lending.ready(pair)
        self.bdf = lending.find_pci(pair.lender, lending.NVME)
        bus, lent = lending.BUS, f"lent-{self.bdf}"
        is_offered = f'[ "$(cat {bus}/{lent}/state 2>/dev/null)" = offered ]'
        is_borrowed = f'[ "$(cat {bus}/{lent}/state 2>/dev/null)" = borrowed ]'
        not_lent = f"[ ! -e {bus}/{lent} ] && [ ! -e /sys/bus/pci/devices/{self.bdf}/driver ]"
        available = f'[ "$(cat {bus}/offer-*/state 2>/dev/null)" = available ]'
        no_lease = f"! ls {bus} | grep -q lease && ! ls /sys/bus/pci/devices | grep -q ^8"
        has_lease = f'[ "$(cat {bus}/lease-8000/state 2>/dev/null)" = active ] && [ -e /sys/bus/pci/devices/8000:00:00.0 ]'
        nothing = (not_lent, f"! ls {bus} | grep -q offer")
        offered = (is_offered, f"{available} && {no_lease}")
        borrowed = (is_borrowed, has_lease)
        here, there = pair.guests
        self.steps = {
            "lend": (here, f"{lending.DRIVER}/lend", self.bdf, offered, nothing),
            "borrow": (there, f"{bus}/offer-*/borrow", "auto", borrowed, offered),
            "return": (there, f"{bus}/lease-8000/return", "1", offered, borrowed),
            "reclaim": (here, f"{lending.DRIVER}/reclaim", self.bdf, nothing, offered),
        }

    def holds(self, conditions, what):
        for guest, condition in zip(self.pair.guests, conditions):
            lending.wait(guest, f"({condition})", 60, what)

    def do(self, step):
        """One write(2): 0 or the errno."""
        guest, path, value, _, _ = self.steps[step]
        return guest.write(guest.text(f"echo {path}"), value, timeout=240)

    def done(self, step):
        """The operation works, and what it leads to holds on both hosts."""
        assert self.do(step) == 0, step
        self.holds(self.steps[step][3], f"the state after {step}")

    def with_fault(self, step, where):
        """The operation with one allocation failing on one host: (its stack, errno). Empty: nothing new failed."""
        lending.must_write(where, f"{PARAMETERS}/arm", "1")
        code = self.do(step)
        assert code in (0,) + REFUSED, f"{step}: {errno.errorcode[code]}: {where.read(f'{PARAMETERS}/failed')}"
        self.holds(self.steps[step][4 if code else 3], f"the state after {step}, status {code}: "
                   + where.read(f"{PARAMETERS}/failed"))
        lending.must_write(where, f"{PARAMETERS}/arm", "0")
        stack = where.read(f"{PARAMETERS}/failed").strip()
        assert stack or not code, f"{step} fails without a fault: {errno.errorcode[code]}"
        if code:
            self.done(step)
        return stack, code


def test_each_allocation_fails_once(pair, record_property):
    """The sweep: cycles of all four operations, each with the next fault of the next host that has any left."""
    rig = Fixture(pair)
    for step in rig.steps:
        rig.done(step)
    before = [footprint(guest)[0] for guest in pair.guests]
    left = {step: list(pair.guests) for step in rig.steps}
    failed = {(step, guest.name): [] for step in rig.steps for guest in pair.guests}
    refused = dict.fromkeys(failed, 0)
    lent = False
    while any(left.values()):
        for step in rig.steps:
            if step == "lend" and lent or step == "reclaim" and not (left["lend"] or left["reclaim"]) and any(left.values()):
                continue
            if left[step]:
                where = left[step][0]
                stack, code = rig.with_fault(step, where)
                if stack:
                    failed[step, where.name].append(stack)
                    refused[step, where.name] += bool(code)
                else:
                    left[step].pop(0)
            else:
                rig.done(step)
            lent = step != "reclaim"
    if lent:
        rig.done("reclaim")
    for (step, name), stacks in failed.items():
        record_property(f"{step}, allocations failed on the {name}", len(stacks))
        record_property(f"{step}, of these refused", refused[step, name])
        record_property("injected", {"allocation failed": len(stacks)})
        assert len(set(stacks)) or step == "reclaim" and name == "borrower", f"{step}: nothing failed on the {name}"
    for guest, things in zip(pair.guests, before):
        assert footprint(guest)[0] == things, guest.name
        if KERNEL == "checking":
            assert scan_for_leaks(guest) == [], guest.name
