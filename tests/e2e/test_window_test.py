# SPDX-License-Identifier: GPL-2.0
"""The test of unused windows, with a peer that is no kernel: what the host makes of each answer, and what it answers.

That two hosts pass it is shown by test_devlend.py.
"""

import random
import struct
import uuid

import lending
import pytest
from hostile import wire
from hostile.channel import Channel
from hostile.roles import have_ram

PAIR = lending.options(puppet="borrower", devices=[])
DEBUG = "/sys/kernel/debug/devlend/link0"
RAM = 0x40000000
RNG = random.Random(1)		# of all tests: a session needs an epoch that was not there before
NOTSUPP, RANGE = wire.STATUS.index("NOTSUPP"), wire.STATUS.index("RANGE")


def pattern(seed, dwords):
    return struct.pack(f"<{dwords}I", *[(seed ^ n) * 0x9E3779B1 & 0xFFFFFFFF for n in range(dwords)])


class Peer:
    """The other end: answers tests as it is told to."""

    def __init__(self, pair):
        self.pair, self.guest, self.puppet = pair, pair.lender, pair.puppet
        lending.wait(self.guest, f"[ -e {lending.BUS}/link0/beat_timeout_ms ]")
        lending.must_write(self.guest, f"{lending.BUS}/link0/beat_timeout_ms", str(lending.BEAT_TIMEOUT_MS))
        self.channel = Channel(pair.puppet, uuid.UUID(int=1, version=4), RNG).open()
        self.channel.serve[wire.OP["TEST"]] = self.serve
        lending.wait_link(self.guest)
        self.spoil, self.status, self.asked = None, wire.OK, []

    def serve(self, message):
        kind, window, offset, dwords, value = struct.unpack("<IIQII", message.payload)
        self.asked.append((kind, window, dwords))
        data = pattern(value, dwords) if kind == wire.TEST_PATTERN else struct.pack("<I", value)
        if self.spoil:
            data = self.spoil(data)
        if data:
            self.puppet.mem_write(window, offset, data)
        return self.status, b""

    def test(self):
        """Have the host test: its results of the windows, and of the message."""
        job = self.guest.spawn(f"echo 1 >{DEBUG}/test")
        job.send(b"")
        self.channel.pump(lambda: job.done, 120, "the test")
        assert job.wait().rc == 0
        lines = self.guest.read(f"{DEBUG}/test").splitlines()
        assert lines[0].startswith("pattern:") and lines[-2].startswith("message:")
        return [line.split()[1:] for line in lines[1:-2]], lines[-1].split()


@pytest.fixture
def peer(pair):
    return Peer(pair)


def test_answers(peer):
    """An honest peer passes; one that is silent, lies, refuses or spoils a word is told apart; all is closed again."""
    before = peer.guest.read(f"{DEBUG}/windows").replace("unknown", "closed")
    patterns, message = peer.test()
    assert [one[0] for one in patterns] == ["passed", "passed"] and message[0] == "passed", (patterns, message)
    assert peer.asked == [(1, 0, 1024), (1, 1, 1024), (2, 0, 1)]
    peer.spoil = lambda data: b""
    patterns, message = peer.test()
    assert [one[0] for one in patterns + [message]] == ["nothing-arrived"] * 3
    peer.spoil = lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:] if len(data) > 20 else data
    patterns, message = peer.test()
    for one in patterns:
        assert one[:3] == ["corrupt", "-84", "0x14"] and int(one[3], 0) ^ int(one[4], 0) == 1, one
    peer.spoil, peer.status = None, NOTSUPP
    patterns, message = peer.test()
    assert [one[0] for one in patterns + [message]] == ["peer-cannot"] * 3
    peer.status = wire.BUSY
    assert [one[:2] for one in peer.test()[0]] == [["failed", "-103"]] * 2
    peer.status = None		# never answers
    assert [one[:2] for one in peer.test()[0]] == [["failed", "-103"]] * 2
    peer.status = wire.OK
    assert [one[0] for one in peer.test()[0]] == ["passed", "passed"]
    assert peer.guest.read(f"{DEBUG}/windows") == before


def test_requests(peer):
    """The host writes into the peer's window what it is asked to, and no more; what makes no sense is refused."""
    have_ram(peer.channel, RAM)
    peer.puppet.open(0, RAM, 1 << 16)

    def ask(kind=wire.TEST_PATTERN, window=0, offset=0, dwords=1024, value=7, more=b""):
        return peer.channel.call("TEST", struct.pack("<IIQII", kind, window, offset, dwords, value) + more).status
    outbound = peer.guest.read(f"{DEBUG}/windows").split("outbound:")[1].splitlines()
    size = int(outbound[1].split()[2], 0)
    for status, wrong in ((wire.INVAL, dict(dwords=0)), (wire.INVAL, dict(dwords=1025)), (wire.INVAL, dict(offset=2)),
                          (wire.INVAL, dict(window=2)), (wire.INVAL, dict(window=0xFFFFFFFF)),
                          (wire.INVAL, dict(kind=wire.TEST_MESSAGE)), (NOTSUPP, dict(kind=3)), (NOTSUPP, dict(kind=0)),
                          (RANGE, dict(offset=size)), (RANGE, dict(offset=size - 4)), (RANGE, dict(offset=1 << 63)),
                          (RANGE, dict(offset=(1 << 64) - 4)), (wire.INVAL, dict(more=bytes(4)))):
        assert ask(**wrong) == status, wrong
    assert peer.puppet.ram_read(RAM, 4096) == bytes(4096)
    assert ask(offset=64) == wire.OK
    assert peer.puppet.ram_read(RAM, 8192) == bytes(64) + pattern(7, 1024) + bytes(4032)
    assert ask(kind=wire.TEST_MESSAGE, offset=4, dwords=1, value=0x12345678) == wire.OK
    assert peer.puppet.ram_read(RAM, 12) == bytes(4) + b"\x78\x56\x34\x12" + bytes(4)
