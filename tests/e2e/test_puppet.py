# SPDX-License-Identifier: GPL-2.0
"""A peer without a guest: to the guest's kernel it is a host like any other."""

import time

import pytest
from lending import devmem
from rig.agent import until
from rig.pair import NTB_BDF, NTB_MODULES, link_is_up
from rig.puppet import LINK_BELL
from test_rig_smoke import TOOL
from test_windows import bar_start

PAIR = dict(puppet="borrower", devices=[], modules=NTB_MODULES + ("ntb_tool",), append="iomem=relaxed",
            windows=({"bar": 2, "size": "64K"}, {"bar": 4, "size": "64K"}))
RAM = 0x100000000
WORDS = 20000


@pytest.fixture
def puppet(pair):
    pair.puppet.link(True)
    pair.lender.run(f"echo Y >{TOOL}/link")
    pair.wait_link()
    return pair.puppet


def test_words_and_bells_cross(pair, puppet):
    guest = pair.lender
    puppet.write(3, 0x12345678, 0xffffffff)
    assert [int(guest.read(f"{TOOL}/spad{n}"), 0) for n in (3, 4)] == [0x12345678, 0xffffffff]
    guest.run(f"echo 0x9abcdef0 >{TOOL}/peer0/spad5")
    assert puppet.wait_own(5, 0x9abcdef0) == puppet.own(5) == 0x9abcdef0
    puppet.ring(7)
    until(lambda: int(guest.read(f"{TOOL}/db"), 0) & 1 << 7, 10, "bell 7")
    guest.run(f"echo 's 0x10' >{TOOL}/peer_db")
    assert puppet.wait_bell(0xff) == 0x10
    assert puppet.wait_bell(0xff, timeout=0.1) == 0


def test_a_batch_is_quick(pair, puppet):
    """Tens of thousands of words in one message, and counted like any guest's."""
    pair.ntbsim.reset_counters()
    start = time.monotonic()
    results = puppet.run(*[("peer_write", n % 16, n) for n in range(WORDS)], ("peer_read",))
    print("%d words: %.2f s" % (WORDS, time.monotonic() - start))
    assert sorted(results[-1]) == list(range(WORDS - 16, WORDS))
    assert pair.ntbsim.counters()["ports"]["b"]["out"]["spad_peer_writes"] == WORDS


def test_memory_crosses(pair, puppet):
    """The guest reads and writes the puppet's RAM, and the puppet the guest's buffer."""
    guest = pair.lender
    puppet.ram(RAM, 1 << 16)
    puppet.ram_write(RAM + 0x10, b"\x01\x02\x03\x04")
    puppet.open(0, RAM, 1 << 16)
    window = bar_start(guest, NTB_BDF, 2)
    assert devmem(guest, window + 0x10) == 0x04030201
    devmem(guest, window + 0x14, 0x89abcdef)
    assert puppet.ram_read(RAM + 0x10, 8) == b"\x01\x02\x03\x04\xef\xcd\xab\x89"

    guest.run(f"echo 0x10000 >{TOOL}/peer0/mw_trans1")
    puppet.mem_write(1, 0x20, b"from the puppet")
    assert guest.text(f"dd if={TOOL}/peer0/mw1 bs=1 skip=32 count=15 status=none") == "from the puppet"
    assert puppet.mem_read(1, 0x20, 15) == b"from the puppet"
    puppet.open(0, RAM, 0)
    assert devmem(guest, window + 0x10) == 0xffffffff


def test_the_link_is_its_own(pair, puppet):
    puppet.wait_bell(1 << LINK_BELL, timeout=0)
    puppet.link(False)
    until(lambda: not link_is_up(pair.lender), 30, "link down")
    assert puppet.wait_bell(1 << LINK_BELL) == 1 << LINK_BELL
    puppet.reset()
    puppet.link(True)
    pair.wait_link()
