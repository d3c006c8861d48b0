# SPDX-License-Identifier: GPL-2.0
"""Writes the first inputs of each fuzz target: messages as two hosts really exchange them.

    python3 tests/fuzz/seeds.py DIRECTORY

What the targets found on their way from here is in tests/fuzz/corpus, with these.
"""

import struct
import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from hostile import wire  # noqa: E402 # the path comes first

LENDER = uuid.UUID(int=0x1111)
BORROWER = uuid.UUID(int=0x2222)


def lanes_message(message, lie=0):
    """Step 2 of fuzz_lanes.c: 64 bytes of header and payload."""
    dwords = len(message.payload) // 4
    return struct.pack("<BBH", 2, 4 * lie, dwords) + message.pack()[:-4][:64].ljust(min(64, 20 + 4 * dwords), b"\0")


def lanes():
    offer = wire.Offer(wire.OfferId(LENDER))
    ours = [wire.Message(wire.OP["HELLO"], payload=wire.hello(LENDER, 1)),
            wire.Message(wire.OP["HELLO"], wire.REPLY, payload=wire.hello(LENDER, 1)),
            wire.Message(wire.OP["OFFER"], payload=offer.pack()),
            wire.Message(wire.OP["REVOKE"], payload=bytes(8), handle=(1, 2)),
            wire.Message(wire.OP["CONFIG"], wire.REPLY, 3, payload=bytes(wire.PAYLOAD_MAX))]
    for words in (0, 8, 14):
        yield bytes([words, words]) + b"".join(map(lanes_message, ours))
    # a message of ours, its frames acknowledged one after the other, then lane 2 both ways
    yield bytes([8, 8]) + bytes([4, 20, 0]) + bytes([9, 0]) * 12
    yield bytes([0, 0]) + b"".join(bytes([7, op, 1, 0, 0, 0, 9, 0]) for op in range(1, 10)) + bytes([8, 0xFF])
    yield bytes([0, 0]) + b"".join(bytes([3, 1]) + struct.pack("<III", op << 16, 7, 1) for op in range(1, 10))
    yield bytes([0, 0]) + bytes([1, 0x11]) + struct.pack("<II", wire.FIRST, 0x103) + bytes([5, 100, 6, 1])


def grant():
    id_ = wire.OfferId(LENDER)
    none = (0, 0, 0, 0, 0)
    cases = [
        ([(0x4000, wire.BAR_64)] + [(0, 0)] * 5,
         [(0xFE800000, 0x4000, 0x1000, 0, wire.BAR_64)] + [none] * 5),
        ([(0x4000, 0), (0x1000, 0), (0x20, wire.BAR_IO), (0, 0), (1 << 32, 6), (0, 0)],
         [(0xFE800000, 0x4000, 0, 2, 0), (0xFE804000, 0x1000, 0x4000, 2, 0), none, none,
          (0x3800000000, 1 << 32, 0, 1, 6), none]),
        ([(0x10000, 0)] * 6, [(0xF0000000 + i * 0x10000, 0x10000, i * 0x10000, 3, 0) for i in range(6)]),
    ]
    for offered, granted in cases:
        yield (wire.Offer(id_, bars=offered).pack()
               + wire.Grant((1, 7), granted).pack() + bytes([4, 0]))


def config():
    space = wire.nvme_config()
    accesses = b"".join(struct.pack("<BHI", how, where, value) for how, where, value in (
        (0x41, 0x04, 0x6), (0x42, 0x10, 0xFFFFFFFF), (0x42, 0x14, 0xFFFFFFFF), (0x41, 0x42, 0xC000),
        (0x49, 0x88, 0x8000), (0x41, 0x64, 0x3), (0x41, 0x52, 0x1), (0x42, 0x54, 0xFEE00000), (0x41, 0x5C, 0x4041)))
    runs = wire.config_runs(space)
    yield bytes([1 | 8]) + struct.pack("<H", len(runs)) + runs + accesses
    # 64-bit MSI with masks, a vendor capability, two BARs more
    wire.put(space, 0x50, 4, 0x05 | 0x70 << 8 | 0x0188 << 16)
    wire.put(space, 0x70, 4, 0x09 | 0x10 << 16)
    wire.put(space, 0x60, 2, 0x5001)
    runs = wire.config_runs(space)
    yield bytes([0xFF]) + struct.pack("<H", len(runs)) + runs + accesses


def filter_():
    space = wire.nvme_config()
    yield b"\0" + space
    yield b"\1" + space
    yield b"\1" + space[:256]
    wire.put(space, 0x100, 4, 0x14010001)
    wire.put(space, 0x140, 4, 0x15010003)
    wire.put(space, 0x150, 4, 0x10010010)
    wire.put(space, 0x60, 2, 0x4001)
    yield b"\0" + space


def atomic():
    def op(number, arg):
        return struct.pack("<BI", wire.AOP[number], arg)
    message = op("MSI_ADDR_LO", 0xFEE01000) + op("MSI_ADDR_HI", 0) + op("MSI_DATA", 0x4041)
    on = op("MSI_CTRL", 1) + op("BUS_MASTER", 1) + op("MSI_DATA", 0x4042) + op("MSI_MASK", 1)
    off = op("BUS_MASTER", 0) + op("MSI_CTRL", 0) + op("MSIX_CTRL", 0xC000) + op("MSIX_CTRL", 0)
    for flags in (0x0000, 0x0080, 0x0100, 0x0188):
        yield struct.pack("<BH", 7, flags) + b"\xff\x02" + struct.pack("<QQ", 1 << 32, 1 << 20) + message + on + off + (
            op("FLR", 0) + b"\xfe")


def plan():
    def size(shift, more=0):
        return struct.pack("<Bh", shift, more)

    def window(align, size_align, largest, more=b"\0"):
        return size(align) + size(size_align) + size(largest) + more
    yield bytes([2, 2]) + window(20, 12, 20) + window(32, 12, 32) + size(31) + size(14) + size(35) + size(24)
    yield bytes([1, 2]) + window(20, 12, 20, b"\1" + size(30) + size(12)) + size(30, 4096) + size(12) + size(30) + size(13)


TARGETS = dict(lanes=lanes, grant=grant, config=config, filter=filter_, atomic=atomic, plan=plan)


def main():
    out = Path(sys.argv[1])
    for name, seeds in TARGETS.items():
        (out / name).mkdir(parents=True, exist_ok=True)
        for i, seed in enumerate(seeds()):
            (out / name / f"seed-{i}").write_bytes(seed)


if __name__ == "__main__":
    main()
