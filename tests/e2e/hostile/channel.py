# SPDX-License-Identifier: GPL-2.0
"""Both lanes of the control channel, from outside: sessions, frames and calls of a peer without a kernel.

A Channel keeps to the protocol in what it does by itself: it greets, it acknowledges, it answers. What it sends is
its user's business, and script_*() write frames that no honest peer would. Those are lists of a puppet's operations;
run_script() carries them out, thousands in one go.
"""

import struct
import time

from rig.ntbsim import NtbsimError

from . import wire

BELL = 0
BEAT = 0.2		# seconds
OPEN_TRIES = 3
WAIT = 60		# for an answer of a guest that is emulated, on a busy machine
ACK = 0xF << 24
SEQ = 0xF << 28


class SessionEnded(Exception):
    """The peer began anew, or does not answer any more."""


def seq_next(seq):
    return seq % 15 + 1


class Channel:
    """A puppet's end of the channel. serve maps operations to functions(message) that return a status and a payload;
    what is not in it is answered OK. received has all messages of the peer's that were no reply to a call(), heard
    all that there ever were."""

    def __init__(self, puppet, host, rng):
        self.puppet, self.host, self.rng = puppet, host, rng
        self.serve, self.received, self.heard = {}, [], []
        self.epoch = self.peer = 0
        self.words = 16
        self.ram = set()	# addresses where the puppet has memory; see roles

    # Sessions

    def open(self, words=16, host=None):
        """Begin a session and greet; the link is up on the other side when this returns. A peer that waited for too long
        for our hello begins anew: so do we, as a host does."""
        self.host = host or self.host
        for _ in range(OPEN_TRIES - 1):
            try:
                return self._open(words)
            except SessionEnded:
                if self.puppet.own(wire.WORD_EPOCH) == self.peer:
                    raise
        return self._open(words)

    def _open(self, words):
        self.greet(words)
        txid = self.send_request("HELLO", wire.hello(self.host, self.peer))
        seen = [False, False]

        def agreed():
            for message in self.take_received():
                seen[0] |= message.op == wire.OP["HELLO"] and message.kind == wire.REQUEST
                seen[1] |= message.txid == txid and message.kind == wire.REPLY
            return all(seen)
        self.pump(agreed, what="the handshake")
        return self

    def greet(self, words=16):
        """The words alone: a new epoch, and what the peer has of us."""
        self.words = words
        self.epoch = self.rng.randrange(1, 1 << 32)
        self.peer = self.tx_seq = self.rx_seq = self.rx_ctl = self.atx_seq = self.arx_seq = self.arx_ctl = 0
        self.last, self.alast = (0, []), (0, 0, 0)
        self.buffer = b""
        self.received = []
        self.puppet.run(("link", True), ("peer_write", 0, 0), ("peer_write", 3, 0), ("peer_write", 5, 0),
                        ("peer_write", 1, self.epoch), ("peer_write", 0, wire.hello_word(words)),
                        ("count", wire.WORD_BEAT, int(BEAT * 1000)), ("ring", BELL))
        self._wait_adopted()

    def _wait_adopted(self):
        """Until the peer writes frames for our epoch; its own may change on the way there."""
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            words = self.puppet.own()
            self.peer = words[wire.WORD_EPOCH]
            self.width = min(words[0] & 0xFF, self.words) - 7
            if words[0] >> 16 == wire.HELLO_MAGIC and self.peer and self._frame(words):
                # an acknowledgment of the last session must not pass for one of this: scripts look at its number alone
                self.puppet.set_own(wire.WORD_ATOMIC_CTL, 0)
                return
            self.puppet.wait_bell(1 << BELL, timeout=0.2)
        raise SessionEnded("the peer does not begin a session")

    def close(self):
        """Leave in silence, as a host does that was switched off: no beat, no link."""
        self.puppet.run(("count", wire.WORD_BEAT, 0), ("peer_write", 0, 0), ("peer_write", 1, 0), ("link", False))

    # What the peer says

    def pump(self, condition, timeout=WAIT, what="an answer"):
        """Take what comes, until the condition holds."""
        end = time.monotonic() + timeout
        while not condition():
            if not self.poll():
                if time.monotonic() > end:
                    raise SessionEnded(f"waited for {what}")
                self.puppet.wait_bell(1 << BELL, timeout=0.2)

    def poll(self):
        """Look once at what the peer wrote, and answer; whether there was something."""
        words = self.puppet.own()
        if words[wire.WORD_EPOCH] != self.peer:
            raise SessionEnded("the peer has a new epoch")
        news = self._poll_atomic(words)
        frame = self._frame(words)
        if not frame:
            return news
        ctl, data = frame
        self.rx_ctl = ctl
        if ctl >> 28 != seq_next(self.rx_seq):
            return news
        self.rx_seq = ctl >> 28
        if ctl & wire.FIRST:
            self.buffer = b""
        self.buffer += struct.pack(f"<{len(data)}I", *data)
        self.puppet.run(*self._rewrite())
        if ctl & wire.LAST:
            self._take(wire.Message.unpack(self.buffer))
        return True

    def drain(self, quiet=0.3):
        """Take what comes until nothing does for a while."""
        while self.poll() or self.puppet.wait_bell(1 << BELL, timeout=quiet):
            pass

    def take_received(self):
        """Messages that were no answer to a call, once."""
        taken, self.received = self.received, []
        return taken

    def _frame(self, words):
        """A new frame of lane 1 with a right check: (control word, data)."""
        ctl = words[wire.WORD_SLEEP_CTL]
        count = ctl >> 16 & 15
        data = [words[wire.sleep_word(i)] for i in range(min(count, self.width))]
        if ctl == self.rx_ctl or wire.seal(self.peer, self.epoch, wire.LANE_SLEEP, ctl, data) != ctl:
            return None
        return ctl, data

    def _take(self, message):
        self.heard.append(message)
        if message.kind == wire.REPLY or message.op == wire.OP["HELLO"]:
            self.received.append(message)
            if message.kind == wire.REQUEST:
                self.send(wire.Message(message.op, wire.REPLY, txid=message.txid,
                                       payload=wire.hello(self.host, self.peer)))
            return
        status, payload = self.serve.get(message.op, lambda m: (wire.OK, b""))(message)
        self.received.append(message)
        if status is not None:
            self.send(wire.Message(message.op, wire.REPLY, status, message.txid, message.handle, payload))

    def _poll_atomic(self, words):
        ctl, data = words[wire.WORD_ATOMIC_CTL], words[wire.WORD_D0:wire.WORD_D1 + 1]
        if ctl == self.arx_ctl or wire.seal(self.peer, self.epoch, wire.LANE_ATOMIC, ctl, data) != ctl:
            return False
        self.arx_ctl = ctl
        if ctl >> 28 != seq_next(self.arx_seq):
            return False
        self.arx_seq = ctl >> 28
        self.puppet.run(*self._write_atomic(self.alast[0] & SEQ | self.alast[0] & 0xF << 16, *self.alast[1:]))
        return True

    # Honest messages

    def send(self, message):
        """Send a message and wait until the peer has taken it."""
        self.run_script(self.script_message(message.pack()))

    def send_request(self, op, payload=b"", handle=(0, 0), **more):
        txid = self.rng.randrange(1, 1 << 32)
        self.send(wire.Message(wire.OP[op], txid=txid, payload=payload, handle=handle, **more))
        return txid

    def call(self, op, payload=b"", handle=(0, 0), **more):
        """A request and its reply."""
        txid = self.send_request(op, payload, handle, **more)
        found = []

        def answered():
            found.extend(m for m in self.received if m.kind == wire.REPLY and m.txid == txid)
            return found
        self.pump(answered, what=f"the answer to {op}")
        self.received = [m for m in self.received if m is not found[0]]
        return found[0]

    def atomic(self, op, random, arg):
        """An operation of lane 2; its status."""
        self.run_script(self.script_atomic(wire.AOP.get(op, op), random, arg))
        return wire.STATUS[self.puppet.own(wire.WORD_ATOMIC_CTL) >> 20 & 15]

    # Scripts: frames as lists of operations

    def run_script(self, ops):
        """Carry out a script; raises where the peer does not take what it must."""
        try:
            self.puppet.run(*ops, timeout=WAIT * 4)
        except NtbsimError as e:
            if "waited in vain" in str(e):
                raise SessionEnded("a frame is not acknowledged") from None
            raise

    def script_frame(self, data, fields, seq=None, ack=None, pair=None, wait=True):
        """One frame of lane 1. seq: else the next, which the peer takes; pair: (sender, receiver)."""
        take = seq is None
        if take:
            seq = self.tx_seq = seq_next(self.tx_seq)
        fields |= seq << 28 | (self.rx_seq if ack is None else ack) << 24 | (len(data) & 15) << 16
        sender, receiver = pair or (self.epoch, self.peer)
        ops = self._data(data)
        ctl = wire.seal(sender, receiver, wire.LANE_SLEEP, fields, data)
        ops += [("peer_write", wire.WORD_SLEEP_CTL, ctl), ("ring", BELL)]
        if take:
            self.last = fields, data
            if wait:
                ops.append(("need_own", wire.WORD_SLEEP_CTL, ACK, seq << 24, WAIT * 1000))
        return ops

    def script_message(self, text, first=True, last=True):
        """A whole message, of any text, in frames that are as they should be."""
        text += bytes(-len(text) % 4)
        dwords = struct.unpack(f"<{len(text) // 4}I", text)
        ops = []
        for at in range(0, max(len(dwords), 1), self.width):
            data = list(dwords[at:at + self.width])
            fields = (wire.FIRST if first and not at else 0) | (
                wire.LAST if last and at + self.width >= len(dwords) else 0)
            ops += self.script_frame(data, fields)
        return ops

    def script_atomic(self, op, random, arg, seq=None, pair=None):
        """One operation of lane 2."""
        take = seq is None
        if take:
            seq = self.atx_seq = seq_next(self.atx_seq)
        ops = self._write_atomic(seq << 28 | (op & 15) << 16, random, arg, pair, take)
        if take:
            ops.append(("need_own", wire.WORD_ATOMIC_CTL, ACK, seq << 24, WAIT * 1000))
        return ops

    def _data(self, data):
        if not data:
            return []
        ops = [("peer_write", wire.WORD_SLEEP_DATA, data[0])]
        return ops + [("peer_write", 8, *data[1:9])] if data[1:] else ops

    def _rewrite(self):
        """The last frame again, with the present acknowledgment."""
        fields, data = self.last
        return self.script_frame(data, fields & ~(ACK | SEQ), seq=fields >> 28)

    def _write_atomic(self, fields, random, arg, pair=None, keep=True):
        sender, receiver = pair or (self.epoch, self.peer)
        fields |= self.arx_seq << 24
        if keep:
            self.alast = fields & ~ACK, random, arg
        ctl = wire.seal(sender, receiver, wire.LANE_ATOMIC, fields, [random, arg])
        return [("peer_write", wire.WORD_D0, random, arg), ("peer_write", wire.WORD_ATOMIC_CTL, ctl),
                ("ring", BELL)]
