# SPDX-License-Identifier: GPL-2.0
"""Messages of wire version 1 as bytes; include/devlend/wire.h has what the fields mean.

Nothing here checks a value: a liar needs an encoder that lets him lie.
"""

import struct
import uuid
import zlib
from dataclasses import dataclass, field

HELLO_MAGIC = 0xD1E5
MAJOR = 1
LANE_SLEEP = 0x6C616E31
LANE_ATOMIC = 0x6C616E32
WORD_HELLO, WORD_EPOCH, WORD_BEAT, WORD_SLEEP_CTL, WORD_SLEEP_DATA, WORD_ATOMIC_CTL, WORD_D0, WORD_D1 = range(8)
WORDS_MIN, WORDS_MAX = 8, 22
FIRST, LAST = 1 << 20, 1 << 21
PAYLOAD_MAX = 2048
HEADER = 20

REQUEST, REPLY = 0, 1
OP = dict(HELLO=0x0001, TEST=0x0002, OFFERS=0x0101, BORROW=0x0102, CONFIG=0x0103, ATTACH=0x0104, PROBE=0x0105,
          RETURN=0x0106, MAP=0x0107, UNMAP=0x0108, SYNC=0x0109, BULK_LIST=0x010A, EVENTS=0x010B,
          OFFER=0x0201, WITHDRAW=0x0202, REVOKE=0x0203, RESET_DONE=0x0204)
OP_NAME = {number: name for name, number in OP.items()}
AOP = dict(BUS_MASTER=1, FLR=2, MSI_ADDR_LO=3, MSI_ADDR_HI=4, MSI_DATA=5, MSI_MASK=6, MSI_CTRL=7, MSIX_CTRL=8,
           INTX_DISABLE=9)
STATUS = ("OK", "INVAL", "NOENT", "STALE", "BUSY", "PERM", "NOSPC", "IO", "NOTSUPP", "TIMEDOUT", "NOMEM", "RANGE",
          "GONE", "NOSVC", "14", "15")
OK, INVAL, NOENT, STALE, BUSY, PERM = range(6)

BAR_IO, BAR_64, BAR_PREFETCH, BAR_ROM = 1, 2, 4, 8
AVAILABLE, LENT, OFFER_BUSY, QUARANTINED = 1, 2, 3, 4
MAP_MEMORY, MAP_MSI, MAP_LEASE_BAR, MAP_THIRD_HOST = 1, 2, 3, 4
PROBE_MEMORY, PROBE_BAR, PROBE_MSI, PROBE_EVENT = 1, 2, 3, 4
EVENTS_INTX, EVENTS_MSI, EVENTS_MSIX = 1, 2, 4
TEST_PATTERN, TEST_MESSAGE = 1, 2


def crc(data):
    """CRC-32 as the channel uses it: begun with ones, not inverted at the end."""
    return zlib.crc32(data) ^ 0xFFFFFFFF


def hello_word(words, magic=HELLO_MAGIC, major=MAJOR):
    return magic << 16 | major << 8 | words


def seal(sender, receiver, lane, fields, data):
    """A control word with its check."""
    fields &= 0xFFFF0000
    return fields | crc(struct.pack(f"<{4 + len(data)}I", sender, receiver, lane, fields, *data)) & 0xFFFF


def sleep_word(i):
    """Where data word i of lane 1 lies."""
    return 8 + i - 1 if i else WORD_SLEEP_DATA


@dataclass
class Message:
    """A message of lane 1; length and check are set when it is packed, unless given."""
    op: int = 0
    kind: int = REQUEST
    status: int = 0
    txid: int = 0
    handle: tuple = (0, 0)
    payload: bytes = b""
    function: int = 0
    asid: int = 0
    length: int = None
    check: int = None

    def pack(self):
        length = len(self.payload) if self.length is None else self.length
        body = struct.pack("<HBBIIIHBB", self.op, self.kind, self.status, self.txid, *self.handle, length & 0xFFFF,
                           self.function, self.asid) + self.payload
        return body + struct.pack("<I", crc(body) if self.check is None else self.check)

    @classmethod
    def unpack(cls, data):
        op, kind, status, txid, epoch, random, length, function, asid = struct.unpack_from("<HBBIIIHBB", data)
        return cls(op, kind, status, txid, (epoch, random), bytes(data[HEADER:-4]), function, asid, length)


def hello(host, your_epoch, minor=0, must=0, may=0, max_payload=PAYLOAD_MAX, services=0):
    return struct.pack("<HHI16sQQIIII", minor, 1, your_epoch, host.bytes, must, may, max_payload, services, 0, 0)


@dataclass
class OfferId:
    """Names a device that is lent."""
    host: uuid.UUID
    domain: int = 0
    bdf: int = 0x0030
    generation: int = 1

    def pack(self):
        return struct.pack("<16sIHHI", self.host.bytes, self.domain, self.bdf, 0, self.generation)

    @classmethod
    def unpack(cls, data):
        host, domain, bdf, _, generation = struct.unpack_from("<16sIHHI", data)
        return cls(uuid.UUID(bytes=host), domain, bdf, generation)


@dataclass
class Offer:
    """A device that is lent; what it is by default is an NVMe drive."""
    id: OfferId
    state: int = AVAILABLE
    class_rev: int = 0x01080202
    vendor: int = 0x1B36
    device: int = 0x0010
    subsystem: tuple = (0x1AF4, 0x1100)
    bars: list = field(default_factory=lambda: [(0x4000, BAR_64)] + [(0, 0)] * 5)
    msi: int = 0
    msix: int = 65
    mps: int = 128
    iommu: tuple = (0, 0, 0, 0)

    def pack(self):
        width, pages, group, clique = self.iommu
        return (self.id.pack() + struct.pack("<II4H4x", self.state, self.class_rev, self.vendor, self.device,
                                             *self.subsystem)
                + b"".join(struct.pack("<QII", size, flags, 0) for size, flags in self.bars)
                + struct.pack("<4HQII16x", self.msi, self.msix, self.mps, width, pages, group, clique))

    @classmethod
    def unpack(cls, data):
        state, class_rev, vendor, device, sub_vendor, sub_device = struct.unpack_from("<II4H", data, 28)
        bars = [struct.unpack_from("<QI", data, 48 + 16 * i) for i in range(6)]
        msi, msix, mps, width, pages, group, clique = struct.unpack_from("<4HQII", data, 144)
        return cls(OfferId.unpack(data), state, class_rev, vendor, device, (sub_vendor, sub_device), bars, msi, msix,
                   mps, (width, pages, group, clique))


def borrow(offer_id, borrower, mps=128, flags=0):
    return offer_id.pack() + struct.pack("<II16s", mps, flags, borrower.bytes)


@dataclass
class Grant:
    """The reply of BORROW; bars are (lender bus address, size, offset, window, flags)."""
    handle: tuple
    bars: list
    rom_size: int = 0
    msix_bar: int = 0
    msix_offset: int = 0x2000
    mrrs: int = 512
    mps: int = 128

    def pack(self):
        return (struct.pack("<II", *self.handle) + b"".join(struct.pack("<QQQII", *bar) for bar in self.bars)
                + struct.pack("<IB3xIHH16x", self.rom_size & 0xFFFFFFFF, self.msix_bar, self.msix_offset, self.mrrs,
                              self.mps))

    @classmethod
    def unpack(cls, data):
        bars = [struct.unpack_from("<QQQII", data, 8 + 32 * i) for i in range(6)]
        return cls(struct.unpack_from("<II", data), bars, *struct.unpack_from("<IB3xIHH", data, 200))


def config_run(first, dwords, count=None):
    """One run of a config image: its first dword's index, and the dwords."""
    return struct.pack(f"<I{len(dwords)}I", ((len(dwords) if count is None else count) & 0xFFFF) << 16 | first,
                       *dwords)


def map_entry(kind, window, offset, length, prot=3, device_addr=0):
    return struct.pack("<QQQHHI8x", device_addr, offset, length, kind, window, prot)


def attach(entries, count=None):
    return struct.pack("<II", len(entries) if count is None else count, 0) + b"".join(entries)


def probe(kind, index, offset, value=0):
    return struct.pack("<IIQII", kind, index, offset, value & 0xFFFFFFFF, 0)


def events(index, messages, offset):
    return struct.pack("<IIQII", index, messages, offset, 0, 0)


def taken(flags, messages, count=None):
    return struct.pack("<II", flags, len(messages) if count is None else count) + b"".join(
        struct.pack("<QII", address, data, 0) for address, data in messages)


def put(space, where, size, value):
    space[where:where + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def nvme_config(vectors=65, table=0x2000, pba=0x3000):
    """Config space of an NVMe drive, as a lender tells it: 4096 bytes."""
    space = bytearray(4096)
    put(space, 0x00, 4, 0x00101B36)
    put(space, 0x06, 2, 0x10)
    put(space, 0x08, 4, 0x01080202)
    put(space, 0x2C, 4, 0x11001AF4)
    space[0x34] = 0x40
    put(space, 0x40, 4, 0x11 | 0x80 << 8 | (vectors - 1) << 16)
    put(space, 0x44, 4, table)
    put(space, 0x48, 4, pba)
    put(space, 0x80, 4, 0x10 | 0x60 << 8 | 0x0002 << 16)
    put(space, 0x84, 4, 0x10008021)
    put(space, 0x8C, 4, 0x00011C11)
    put(space, 0x60, 4, 0x01 | 0x0003 << 16)
    put(space, 0x64, 4, 0x8)
    put(space, 0x100, 4, 0x00010003)
    put(space, 0x104, 8, 0x1122334455667788)
    return space


def config_runs(space):
    """A config space as the runs that a lender sends."""
    dwords = struct.unpack("<1024I", space)
    out, first = b"", 0
    while first < 1024:
        if not dwords[first]:
            first += 1
            continue
        end = first
        while end < 1024 and dwords[end]:
            end += 1
        out += config_run(first, dwords[first:end])
        first = end
    return out
