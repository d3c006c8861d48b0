# SPDX-License-Identifier: GPL-2.0
"""What a lender may answer that no borrower may believe, by name.

GRANTS      functions that change a Grant
CONFIGS     config spaces, as runs
TAKEN       what was taken of a device's interrupts
ATTACHES    functions of the text that an honest lender answers
"""

import struct

from . import wire


def _grant(**fields):
    return lambda grant: vars(grant).update(fields)


def _bar(n, **fields):
    names = ("lender_bus", "size", "offset", "window", "flags")

    def change(grant):
        grant.bars[n] = tuple(fields.get(name, old) for name, old in zip(names, grant.bars[n]))
    return change


GRANTS = {
    "no handle": _grant(handle=(0, 0)),
    "handle of another epoch": _grant(handle=(1, 1)),
    "expansion ROM": _grant(rom_size=0x10000),
    "packet size": _grant(mps=3),
    "read request size": _grant(mrrs=0xFFFF),
    "vectors in no BAR": _grant(msix_bar=6),
    "vectors in a BAR that is none": _grant(msix_bar=1),
    "vectors behind the BAR": _grant(msix_offset=0x3FD0),
    "vectors far behind the BAR": _grant(msix_offset=0xFFFFFFF8),
    "vectors at an odd place": _grant(msix_offset=0x2004),
    "another size": _bar(0, size=0x8000),
    "no size": _bar(0, size=0),
    "size that wraps": _bar(0, size=(1 << 64) - 1),
    "BAR that was not offered": _bar(4, lender_bus=0x4000000000, size=0x1000, offset=0x8000, flags=2),
    "other flags": _bar(0, flags=1),
    "window that is none": _bar(0, window=2),
    "window far off": _bar(0, window=0xFFFFFFFF),
    "end behind the window": _bar(0, offset=(64 << 20) - 0x2000),
    "offset that wraps": _bar(0, offset=(1 << 64) - 0x2000),
    "bus address at an odd place": _bar(0, lender_bus=0x3800001000),
    "bus address that wraps": _bar(0, lender_bus=(1 << 64) - 0x2000),
    "BARs that overlap here": _bar(2, offset=0),
    "BARs that overlap there": _bar(2, lender_bus=0x3800000000),
}
CONFIGS = {
    "dword behind the end": wire.config_run(1024, [1]),
    "dwords across the end": wire.config_run(1023, [1, 2]),
    "dword far behind the end": wire.config_run(0xFFFF, [1]),
    "more dwords than there are": wire.config_run(0, [1, 2], count=0xFFFF),
    "run of none": wire.config_run(0, [], count=0),
    "runs that go back": wire.config_run(8, [1, 2]) + wire.config_run(9, [1]),
    "text that ends early": wire.config_run(0, [1, 2])[:-1],
    "nothing": b"",
    "another device": wire.config_runs(wire.nvme_config()),
}
TAKEN = {
    "nothing": b"",
    "none of them": wire.taken(0, []),
    "of a kind that is none": wire.taken(8, [(0xFEE00000, 32)]),
    "of both kinds": wire.taken(wire.EVENTS_MSI | wire.EVENTS_MSIX, [(0xFEE00000, 32)]),
    "messages of no kind": wire.taken(wire.EVENTS_INTX, [(0xFEE00000, 32)]),
    "no messages of a kind": wire.taken(wire.EVENTS_MSIX, []),
    "more than there is room for": wire.taken(wire.EVENTS_MSIX, [(0xFEE00000, 32)] * 33),
    "more than are told": wire.taken(wire.EVENTS_MSIX, [(0xFEE00000, 32)], count=2),
    "many more than are told": wire.taken(wire.EVENTS_MSIX, [(0xFEE00000, 32)], count=0xFFFFFFFF),
    "fewer than are told": wire.taken(wire.EVENTS_MSIX, [(0xFEE00000, 32)] * 2, count=1),
}
ATTACHES = {
    "other count": lambda text: struct.pack("<I", 1) + text[4:],
    "shorter": lambda text: text[:-4],
    "address that wraps": lambda text: text[:8] + struct.pack("<Q", (1 << 64) - 0x1000) + text[16:],
}
