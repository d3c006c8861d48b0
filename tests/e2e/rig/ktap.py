# SPDX-License-Identifier: GPL-2.0
"""KTAP, what KUnit suites report: read from debugfs of a guest, taken apart here."""

import re
from dataclasses import dataclass

_RESULT = re.compile(r"^(\s*)(not ok|ok) (\d+) ?-? ?(\S.*?)?\s*(# (SKIP|TODO)\b.*)?$")


@dataclass
class Case:
    """One result line. depth 0 is the suite, 1 a case, 2 a parameter of it."""

    name: str
    ok: bool
    skipped: bool
    depth: int
    notes: str	# the diagnostic lines before it


def parse(text):
    """All result lines, in order."""
    cases, notes = [], []
    for line in text.splitlines():
        found = _RESULT.match(line)
        if not found:
            notes.append(line)
            continue
        indent, word, _, name, directive, kind = found.groups()
        cases.append(Case(name or "", word == "ok", kind == "SKIP" or bool(directive), len(indent) // 4,
                          "\n".join(notes)))
        notes = []
    return cases


def suites(guest):
    """Names of the suites that are loaded."""
    return guest.text("ls /sys/kernel/debug/kunit").split()


def results(guest, suite):
    """The cases of a suite that has run."""
    return parse(guest.read(f"/sys/kernel/debug/kunit/{suite}/results"))
