# SPDX-License-Identifier: GPL-2.0
"""Both roles, played over a Channel as an honest host would: what a hostile one begins with, and what must work
after it.

Both have a little RAM, 1 GiB up, so that nothing that goes astray lands at the foot of memory.
"""

import dataclasses
import struct
import time

from . import wire
from .channel import WAIT

RAM = 1 << 30
RAM_SIZE = 1 << 20
MSI = 0xFEE00000
BARS_AT = 2 << 30
DEVICE_ADDR = 1 << 40
LENDER_BUS = 0x3800000000


def have_ram(channel, address):
    """RAM of the puppet's at an address, once."""
    if address not in channel.ram:
        channel.puppet.ram(address, RAM_SIZE)
        channel.ram.add(address)


class Borrower:
    """Borrows what the peer offers; reads and writes of the device go through window 0."""

    def __init__(self, channel):
        self.channel = channel
        have_ram(channel, RAM)
        # all above RAM, but for what lies behind the window's end
        channel.puppet.open(1, RAM, 3 << 30)

    def offers(self, count):
        """The offers that the peer has now, once there are so many."""
        found = {}

        def enough():
            for message in self.channel.take_received():
                if message.op == wire.OP["OFFER"]:
                    offer = wire.Offer.unpack(message.payload)
                    found[offer.id.bdf] = offer
            return sum(offer.state == wire.AVAILABLE for offer in found.values()) >= count
        self.channel.call("OFFERS")
        self.channel.pump(enough, what=f"{count} offers")
        return sorted((offer for offer in found.values() if offer.state == wire.AVAILABLE), key=lambda o: o.id.bdf)

    def borrow(self, offer):
        """The grant of an offered device. Requests of a session before may still be served: that is "busy"."""
        end = time.monotonic() + WAIT
        reply = self.channel.call("BORROW", wire.borrow(offer.id, self.channel.host))
        while reply.status == wire.BUSY and time.monotonic() < end:
            self.channel.drain()
            reply = self.channel.call("BORROW", wire.borrow(offer.id, self.channel.host))
        assert reply.status == wire.OK, wire.STATUS[reply.status]
        return wire.Grant.unpack(reply.payload)

    @staticmethod
    def maps():
        return wire.attach([wire.map_entry(wire.MAP_MEMORY, 1, 0, RAM_SIZE),
                            wire.map_entry(wire.MAP_MSI, 1, MSI - RAM, 1 << 20, prot=2)])

    def use(self, grant):
        """All calls of a borrow, and the proof that memory is reached."""
        config = self.channel.call("CONFIG", handle=grant.handle)
        assert config.status == wire.OK and config.payload
        attach = self.channel.call("ATTACH", self.maps(), handle=grant.handle)
        assert attach.status == wire.OK, wire.STATUS[attach.status]
        self.prove(grant)

    def prove(self, grant):
        """The lease lives: its memory is reached."""
        value = self.channel.rng.randrange(1, 1 << 31)
        probe = self.channel.call("PROBE", wire.probe(wire.PROBE_MEMORY, 0, 0x1000, value), handle=grant.handle)
        assert probe.status == wire.OK
        self.channel.puppet.sync()
        assert self.channel.puppet.ram_read(RAM + 0x1000, 4) == struct.pack("<I", value)

    def give_back(self, grant):
        assert self.channel.call("RETURN", handle=grant.handle).status == wire.OK

    def session(self, offers):
        """Borrow each of so many offers, use it, and give it back."""
        for offer in self.offers(offers):
            grant = self.borrow(offer)
            self.use(grant)
            self.give_back(grant)


def device_config(offer, table=0x2000):
    """Config space of a device that no driver knows."""
    space = wire.nvme_config(offer.msix, table)
    wire.put(space, 0x00, 4, offer.device << 16 | offer.vendor)
    wire.put(space, 0x08, 4, offer.class_rev)
    return space


class Lender:
    """Lends a device that is made of RAM. changes: operation -> function(status, payload) that returns what is said
    in their place; None in place of a status says nothing."""

    def __init__(self, channel, bdf=0x0030):
        self.channel, self.changes, self.told = channel, {}, []
        self.offer = wire.Offer(wire.OfferId(channel.host, bdf=bdf), class_rev=0xFF000001, vendor=0x1B36,
                                device=0xBEEF, msix=4)
        self.random = self.windows = self.events = None
        have_ram(channel, BARS_AT)
        channel.puppet.open(0, BARS_AT, RAM_SIZE)
        for op in ("BORROW", "CONFIG", "ATTACH", "PROBE", "EVENTS", "RETURN"):
            channel.serve[wire.OP[op]] = lambda m, op=op: self._serve(op, m)

    def tell(self, state=wire.AVAILABLE, **more):
        """Send the offer."""
        offer = dataclasses.replace(self.offer, state=state, **more)
        return self.channel.call("OFFER", offer.pack()).status

    def withdraw(self):
        return self.channel.call("WITHDRAW", self.offer.id.pack()).status

    @property
    def handle(self):
        return self.channel.epoch, self.random

    def grant(self):
        self.random = self.channel.rng.randrange(1, 1 << 32)
        # one behind the other, as they were offered
        bars, at = [], 0
        for size, flags in self.offer.bars:
            bars.append((LENDER_BUS + at, size, at, 0, flags) if size else (0, 0, 0, 0, 0))
            at += size
        return wire.Grant(self.handle, bars)

    def _serve(self, op, message):
        self.told.append(op)
        status, payload = getattr(self, "_" + op.lower())(message)
        return self.changes[op](status, payload) if op in self.changes else (status, payload)

    def _borrow(self, message):
        del message
        return wire.OK, self.grant().pack()

    def _config(self, message):
        del message
        return wire.OK, wire.config_runs(device_config(self.offer))

    def _attach(self, message):
        count = struct.unpack_from("<I", message.payload)[0]
        reply = bytearray(message.payload)
        struct.pack_into("<I", reply, 4, 64)
        self.windows = []
        for i in range(count):
            _, offset, _, _, window = struct.unpack_from("<QQQHH", reply, 8 + 40 * i)
            self.windows.append((window, offset))
            struct.pack_into("<Q", reply, 8 + 40 * i, DEVICE_ADDR * (1 + window) + offset)
        return wire.OK, bytes(reply)

    def _probe(self, message):
        kind, index, offset, value = struct.unpack_from("<IIQI", message.payload)
        if kind == wire.PROBE_MEMORY:
            window, start = self.windows[index]
            self.channel.puppet.mem_write(window, start + offset, struct.pack("<I", value))
        elif kind == wire.PROBE_BAR:
            value = struct.unpack("<I", self.channel.puppet.ram_read(BARS_AT + offset, 4))[0]
        elif kind == wire.PROBE_EVENT:
            self.ring(index)
        return wire.OK, wire.probe(kind, index, offset, value)

    def _events(self, message):
        index, _, offset = struct.unpack_from("<IIQ", message.payload)
        window, start = self.windows[index]
        self.events, self.counts = (window, start + offset), [0] * 5
        return wire.OK, wire.taken(wire.EVENTS_MSIX, [(0xFEE00000, 32 + i) for i in range(4)])

    def ring(self, event):
        """Count an event, and ring the bell of events."""
        window, offset = self.events
        self.counts[event] += 1
        self.channel.puppet.mem_write(window, offset + 4 * event, struct.pack("<I", self.counts[event]))
        self.channel.puppet.ring(1)

    @staticmethod
    def _return(message):
        del message
        return wire.OK, b""
