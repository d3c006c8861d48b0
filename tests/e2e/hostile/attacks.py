# SPDX-License-Identifier: GPL-2.0
"""What a hostile peer says, as scripts of a Channel: nothing here waits for an answer.

random      words and messages that mean nothing, with right checks, since a check is no secret
mutated     messages of a recorded session, changed a little
lies        messages of the right form with values that cannot be, against each operation
frames      other epochs, replays, numbers out of turn, too long, without beginning or end
floods      bells without news, words without bells
"""

import struct

from . import wire

EDGES = (0, 1, 2, 3, 4, 7, 8, 15, 16, 0x3F, 0x40, 0x7F, 0xFF, 0x100, 0xFFC, 0xFFF, 0x1000, 0x7FFF, 0x8000, 0xFFFF,
         0x10000, 0x7FFFFFFF, 0x80000000, 0xFEE00000, 0xFFFFFFF0, 0xFFFFFFFC, 0xFFFFFFFF)
WIDE = EDGES + (0x100000000, 0xFFFFFFFF000, 1 << 47, 1 << 63, (1 << 64) - 0x1000, (1 << 64) - 4, (1 << 64) - 1)


def spoil(rng):
    """A change of a lender's answer, for Lender.changes: bits and dwords of it are others, or it is shorter."""
    def change(status, payload):
        data = bytearray(payload)
        for _ in range(rng.choice((1, 1, 2, 8)) if data else 0):
            at = rng.randrange(0, len(data), 4)
            if rng.random() < 0.5:
                data[at] ^= 1 << rng.randrange(8)
            elif rng.random() < 0.9:
                struct.pack_into("<I", data, at, rng.choice(EDGES))
            else:
                del data[at:]
                break
        return (status if rng.random() < 0.9 else rng.randrange(16)), bytes(data)
    return change


class Attacks:
    """Scripts against one peer. side: "lender" or "borrower", which of the two is attacked; host: who we say we are;
    handles, offers: of leases and devices that there are; recorded: messages of honest sessions."""

    def __init__(self, rng, channel, side, peer_host, handles=(), offers=(), recorded=()):
        self.rng, self.channel, self.side, self.peer_host = rng, channel, side, peer_host
        self.host = channel.host
        self.handles, self.offers, self.recorded = list(handles), list(offers), list(recorded)
        self.counts = {}
        self.lies = self.lies_to_lender if side == "lender" else self.lies_to_borrower
        # a long message takes as long as many short ones
        self.weights = [1 / (1 + len(message.payload) // 36) for message in self.recorded]
        self.kinds = [(self.random_message, 20), (self.mutated_message, 17), (self.lie, 17), (self.atomic, 32),
                      (self.frame, 12), (self.flood, 2)]

    def scripts(self, count):
        """That many messages, each a script."""
        methods, weights = zip(*self.kinds)
        for _ in range(count):
            method = self.rng.choices(methods, weights)[0]
            self.counts[method.__name__] = self.counts.get(method.__name__, 0) + 1
            yield method()

    # Values

    def u32(self):
        return self.rng.choice(EDGES) if self.rng.random() < 0.7 else self.rng.getrandbits(32)

    def u64(self):
        return self.rng.choice(WIDE) if self.rng.random() < 0.7 else self.rng.getrandbits(64)

    def junk(self, n):
        return self.rng.randbytes(n)

    def handle(self):
        """Mostly one that exists, or half of it."""
        epoch, random = self.rng.choice(self.handles) if self.handles else (self.channel.peer, self.u32())
        how = self.rng.random()
        if how < 0.1:
            return self.u32(), random
        if how < 0.2:
            return epoch, self.u32()
        return epoch, random

    def offer_id(self):
        """Mostly a device that is lent, seldom somebody else's."""
        id_ = wire.OfferId(self.peer_host if self.side == "lender" else self.host)
        if self.offers and self.rng.random() < 0.8:
            one = self.rng.choice(self.offers)
            id_ = wire.OfferId(one.host, one.domain, one.bdf, one.generation)
        else:
            id_.bdf = self.rng.choice((0, 8, 0x28, 0x30, 0x38, 0x40, 0xFFFF))
        how = self.rng.random()
        if how < 0.08:
            id_.host = self.host if self.side == "lender" else self.peer_host
        elif how < 0.16:
            id_.generation = self.u32()
        elif how < 0.24:
            id_.domain = self.u32()
        elif how < 0.32:
            id_.bdf = self.rng.getrandbits(16)
        return id_

    def message(self, op, payload=b"", kind=wire.REQUEST, handle=None, **more):
        handle = self.handle() if handle is None else handle
        return wire.Message(wire.OP.get(op, op), kind, txid=self.rng.getrandbits(32), handle=handle, payload=payload,
                            **more)

    def script(self, message):
        return self.channel.script_message(message.pack())

    # Messages

    def random_message(self):
        length = self.rng.choice((0, 0, 4, 4, 8, 8, 12, 24, 28, 52, 64))
        if self.rng.random() < 0.004:
            length = wire.PAYLOAD_MAX
        message = self.message(self.rng.choice(list(wire.OP.values())), self.junk(length),
                               self.rng.choice((0, 0, 0, 1, 1, 2, 255)))
        how = self.rng.random()
        if how < 0.1:
            message.op = self.rng.getrandbits(16)
        elif how < 0.2:
            message.length = self.u32() & 0xFFFF
        elif how < 0.25:
            message.check = self.u32()
        message.function, message.asid = self.rng.choice((0, 0, 0, 1, 255)), self.rng.choice((0, 0, 0, 1, 255))
        message.status = self.rng.choice((0, 0, 1, 15, 255))
        return self.script(message)

    def mutated_message(self):
        """A recorded message; its check fits what became of it, so it gets as far as it can."""
        message = self.rng.choices(self.recorded, self.weights)[0]
        text = bytearray(message.pack()[:-4])
        for _ in range(self.rng.choice((1, 1, 1, 2, 4))):
            at = self.rng.randrange(len(text))
            how = self.rng.randrange(5)
            if how == 0:
                text[at] ^= 1 << self.rng.randrange(8)
            elif how == 1:
                text[at] = self.rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            elif how == 2:
                at &= ~3
                text[at:at + 4] = struct.pack("<I", self.u32())
            elif how == 3 and self.handles:
                text[8:16] = struct.pack("<II", *self.handle())
            else:
                del text[at & ~3:(at & ~3) + 4]
                text = text or bytearray(4)
        if len(text) >= wire.HEADER and self.rng.random() < 0.8:
            text[16:18] = struct.pack("<H", len(text) - wire.HEADER)
        text += bytes(-len(text) % 4)
        return self.channel.script_message(bytes(text) + struct.pack("<I", wire.crc(bytes(text))))

    def lie(self):
        return self.script(self.rng.choice(self.lies)(self))

    # Lies to a lender

    def lie_borrow(self):
        who = self.host if self.rng.random() < 0.8 else self.peer_host
        return self.message("BORROW", wire.borrow(self.offer_id(), who, self.u32(),
                                                  self.rng.choice((0, 0, 0, 1, self.u32()))))

    def lie_attach(self):
        """Windows that are not there, entries that overlap, that end behind the window, that wrap."""
        entries = [wire.map_entry(self.rng.choice((1, 1, 1, 2, 2, 3, 4, 0, 255)),
                                  self.rng.choice((0, 1, 1, 2, 7, 0xFFFF)), self.u64(), self.u64(), self.u32(),
                                  self.u64())
                   for _ in range(self.rng.choices((0, 1, 2, 16, 17, 40), (10, 45, 42, 1, 1, 1))[0])]
        count = None if self.rng.random() < 0.8 else self.u32()
        return self.message("ATTACH", wire.attach(entries, count))

    def lie_probe(self):
        return self.message("PROBE", wire.probe(self.rng.choice((1, 1, 2, 3, 4, self.u32())),
                                                self.rng.choice((0, 1, 2, 15, self.u32())), self.u64(), self.u32()))

    def lie_events(self):
        """Words that lie in no memory, or behind its end."""
        return self.message("EVENTS", wire.events(self.rng.choice((0, 0, 1, 15, self.u32())),
                                                  self.rng.choice((0, 1, 32, 33, self.u32())), self.u64()))

    def lie_config(self):
        return self.message("CONFIG", self.junk(self.rng.choice((0, 0, 4, 64))), function=self.rng.choice((0, 0, 1, 7)))

    def lie_reserved(self):
        return self.message(self.rng.choice(("MAP", "UNMAP", "SYNC", "BULK_LIST", 0x01FF, 0x0300, 0xFF01)),
                            self.junk(40))

    def lie_offers(self):
        return self.message("OFFERS", handle=(0, 0))

    def lie_hello(self):
        """In a session that is up already; as another host, too."""
        return self.message("HELLO", wire.hello(self.rng.choice((self.host, self.peer_host)),
                                                self.rng.choice((self.channel.peer, self.u32())), self.u32() & 0xFFFF,
                                                self.rng.choice((0, self.u64())), self.u64(), self.u32(),
                                                self.u32()))

    lies_to_lender = [lie_borrow, lie_attach, lie_attach, lie_probe, lie_events, lie_config, lie_reserved, lie_offers,
                      lie_hello]

    # Lies to a borrower

    def lie_offer(self):
        offer = wire.Offer(self.offer_id(), self.rng.choice((1, 1, 2, 3, 4, self.u32())))
        how = self.rng.random()
        if how < 0.3:
            offer.bars = [(self.u64(), self.u32() & 15) for _ in range(6)]
        elif how < 0.4:
            offer.msi = self.u32() & 0xFFFF
        elif how < 0.5:
            offer.msix = self.u32() & 0xFFFF
        elif how < 0.6:
            offer.mps = self.u32() & 0xFFFF
        elif how < 0.7:
            offer.vendor = self.rng.choice((0, 0xFFFF))
        elif how < 0.8:
            offer.iommu = self.u32() & 0xFFFF, self.u64(), self.u32(), self.u32()
        return self.message("OFFER", offer.pack())

    def lie_many_offers(self):
        """Devices without end."""
        id_ = wire.OfferId(self.host, self.rng.getrandbits(32), self.rng.getrandbits(16), self.rng.randrange(1, 5))
        return self.message("OFFER", wire.Offer(id_).pack(), handle=(0, 0))

    def lie_withdraw(self):
        return self.message("WITHDRAW", self.offer_id().pack())

    def lie_reset_done(self):
        handle = (self.u32(), self.u32()) if self.rng.random() < 0.9 else None
        return self.message("RESET_DONE", struct.pack("<I", self.rng.choice((0, 0, 16, 255, self.u32()))),
                            self.rng.choice((0, 0, 1)), handle)

    def lie_revoke(self):
        return self.message("REVOKE", struct.pack("<II", self.u32(), self.u32()), handle=(self.u32(), self.u32()))

    def lie_reply(self):
        """To calls that the peer made, or never made."""
        message = self.message(self.rng.choice(("OFFERS", "BORROW", "CONFIG", "ATTACH", "PROBE", "RETURN", "HELLO")),
                               self.junk(self.rng.choice((0, 24, 88, 232))), wire.REPLY, status=self.rng.randrange(16))
        message.txid = self.rng.randrange(64)
        return message

    lies_to_borrower = [lie_offer, lie_offer, lie_many_offers, lie_withdraw, lie_reset_done, lie_revoke, lie_reply,
                        lie_reserved, lie_hello]

    # Frames

    def atomic(self):
        """Lane 2: any operation, any argument, in turn or not, for this session or another."""
        random = self.handle()[1]
        arg = self.u32() if self.rng.random() < 0.6 else self.rng.choice((0, 1, 0x8000, 0xC000, 0xFEE00000, 0xFEE01004))
        how = self.rng.random()
        if how < 0.06:
            return self.channel.script_atomic(self.rng.getrandbits(4), random, arg, seq=self.rng.getrandbits(4) % 16,
                                              pair=(self.u32(), self.channel.peer))
        if how < 0.12:
            return self.channel.script_atomic(self.rng.getrandbits(4), random, arg, seq=self.channel.atx_seq)
        return self.channel.script_atomic(self.rng.randrange(16), random, arg)

    def frame(self):
        channel, rng = self.channel, self.rng
        data = [self.u32() for _ in range(rng.randrange(0, channel.width + 1))]
        flags = rng.choice((0, wire.FIRST, wire.LAST, wire.FIRST | wire.LAST))
        how = rng.randrange(7)
        if how == 0:		# of another life of either host
            return channel.script_frame(data, flags, seq=rng.getrandbits(4), pair=(self.u32(), channel.peer))
        if how == 1:
            return channel.script_frame(data, flags, seq=rng.getrandbits(4), pair=(channel.epoch, self.u32()))
        if how == 2:		# once more
            return channel.script_frame(data, flags, seq=channel.tx_seq)
        if how == 3:		# out of turn
            return channel.script_frame(data, flags, seq=(channel.tx_seq + rng.randrange(2, 14)) % 15 + 1)
        if how == 4:		# what was never sent is acknowledged
            return channel.script_frame(data, flags, ack=rng.getrandbits(4))
        if how == 5:		# more words than there are
            return channel.script_frame([self.u32() for _ in range(15)], flags, seq=channel.tx_seq)
        return channel.script_frame(data, flags)

    def flood(self):
        rng, channel = self.rng, self.channel
        how = rng.randrange(10)
        if how < 4:
            return [("ring", rng.randrange(32) if rng.random() < 0.3 else 0) for _ in range(20)]
        if how < 7:
            return [("peer_write", rng.choice((3, 4, 5, 6, 7, 8, 15)), self.u32()) for _ in range(20)] + [("ring", 0)]
        if how < 9:		# a message longer than any
            text = self.junk(40)
            return [op for part in range(3) for op in channel.script_message(text, first=not part, last=False)]
        text = self.message("OFFERS", self.junk(wire.PAYLOAD_MAX + 64)).pack()
        return channel.script_message(text)
