# SPDX-License-Identifier: GPL-2.0
"""Scratchpads that take no writes for a while after the link came up: a host says that it is there until it has been
heard, though the peer, here one that is no kernel, says nothing."""

import lending
from hostile import wire

PAIR = lending.options(puppet="borrower", devices=[])
WHO = wire.hello_word(0)
WHO_MASK = 0xFFFFFF00		# the rest is the number of words
LOST_US = 2000000
SAID = "the peer's scratchpads do not take writes"


def test_lost_words(pair):
    """Epoch and hello arrive, and one line says that it took long."""
    guest, puppet, sim = pair.lender, pair.puppet, pair.ntbsim
    lending.wait(guest, f"[ -e {lending.BUS}/link0 ]")
    said = guest.dmesg().count(SAID)
    puppet.set_own(wire.WORD_HELLO, 0, 0)
    sim.faults(seed=1, spad_lost=1.0, lost_us=LOST_US)
    puppet.link(True)
    hello = puppet.wait_own(wire.WORD_HELLO, WHO, mask=WHO_MASK, timeout=30)
    lost = sim.injected()["spad_lost"]
    sim.faults()
    assert hello is not None and hello & WHO_MASK == WHO
    assert puppet.own(wire.WORD_EPOCH) != 0
    assert lost > 0
    assert guest.dmesg().count(SAID) == said + 1
    puppet.link(False)
    lending.wait_state(guest, "link0", "down")
