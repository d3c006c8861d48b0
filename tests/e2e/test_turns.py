# SPDX-License-Identifier: GPL-2.0
"""Calls wait for their turn: a host asks no more at a time than its peer serves, and nothing is refused for that."""

import random
import uuid

import lending
from hostile import wire
from hostile.channel import Channel

PAIR = lending.options(puppet="borrower", devices=[])
OFFERS = 12
SERVED = 8		# DEVLEND_REQUESTS_MAX


class SlowLender:
    """Lends devices, and answers BORROW when it is told to."""

    def __init__(self, puppet):
        rng = random.Random(1)
        self.channel = Channel(puppet, uuid.UUID(int=rng.getrandbits(128), version=4), rng).open()
        self.asked = []
        self.channel.serve[wire.OP["BORROW"]] = self._borrow
        for n in range(OFFERS):
            offer = wire.Offer(wire.OfferId(self.channel.host, bdf=(n + 1) << 3), class_rev=0xFF000001, vendor=0x1B36,
                               device=0xBEEF)
            assert self.channel.call("OFFER", offer.pack()).status == wire.OK

    def _borrow(self, message):
        self.asked.append(message)
        return None, b""

    def wait_asked(self, count):
        """Until so many BORROWs came."""
        self.channel.pump(lambda: len(self.asked) >= count, what=f"{count} requests")

    def refuse(self, message):
        self.channel.send(wire.Message(message.op, wire.REPLY, wire.BUSY, message.txid))


def test_eight_at_a_time(pair):
    """Twelve borrows at once: eight are asked for, and each answer lets one more come."""
    guest = pair.lender
    lending.wait(guest, f"[ -e {lending.BUS}/link0/beat_timeout_ms ]")
    lending.must_write(guest, f"{lending.BUS}/link0/beat_timeout_ms", str(lending.BEAT_TIMEOUT_MS))
    lender = SlowLender(pair.puppet)
    offers = lending.names(guest, "offer")
    assert len(offers) == OFFERS
    job = guest.spawn(" ".join(f"echo auto > {lending.BUS}/{offer}/borrow &" for offer in offers) + " wait")
    job.send(b"")
    lender.wait_asked(SERVED)
    lender.channel.drain(quiet=0.5)	# no more come by themselves
    assert len(lender.asked) == SERVED
    for answered in range(OFFERS):
        lender.refuse(lender.asked[answered])
        due = min(SERVED + answered + 1, OFFERS)
        lender.wait_asked(due)
        assert len(lender.asked) == due
    lender.channel.pump(lambda: job.done, what="the writes")
    assert lending.names(guest, "lease") == []
