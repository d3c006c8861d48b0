# SPDX-License-Identifier: GPL-2.0
"""Documentation/lease.rst says what the code does: the ways between states, and how long each wait is."""

import re

import pytest
from rig import paths

DOCUMENT = (paths.TOP / "Documentation/lease.rst").read_text()
SOURCES = [path for folder in ("common", "lender", "borrower", "include/devlend")
           for path in sorted((paths.TOP / folder).glob("*.[ch]"))]
MACHINES = {
    "The lender": ("lender/lent_state.c", "LENDER_", "lender_enter", r"\blent->state\s*=[^=]"),
    "The borrower": ("borrower/lease_state.c", "BORROWER_LEASE_", "borrower_lease_enter", r"\blease->state\s*=[^=]"),
}


def section(title):
    """Text of a section of the document."""
    return re.search(rf"^{title}\n=+\n(.*?)(?=^\S[^\n]*\n===+\n|\Z)", DOCUMENT, re.M | re.S).group(1)


def drawn(title):
    """{(from, to)} of a section's table."""
    return set(re.findall(r"^(\w+)  +(\w+)  +\S", section(title), re.M)) - {("from", "to")}


def coded(source, prefix):
    """The same of a table in C: states in brackets, followed by the bits of those that may follow."""
    found = set()
    table = re.search(r"_states\[\w+\] = \{\n(.*?)^\};", (paths.TOP / source).read_text(), re.M | re.S).group(1)
    for state, body in re.findall(rf"\[{prefix}(\w+)\] = \{{(.*?)^\t\}}", table, re.M | re.S):
        found |= {(state.lower(), to.lower()) for to in re.findall(rf"BIT\({prefix}(\w+)\)", body)}
    return found


@pytest.mark.parametrize("title", MACHINES)
def test_ways_between_states(title):
    source, prefix, _, _ = MACHINES[title]
    assert coded(source, prefix)
    assert drawn(title) == coded(source, prefix)


@pytest.mark.parametrize("title", MACHINES)
def test_one_function_changes_the_state(title):
    """It is assigned there, with the tracepoint, and where the object is made."""
    source, prefix, function, assignment = MACHINES[title]
    folder = source.split("/", 1)[0]
    text = "".join(path.read_text() for path in SOURCES if path.parent.name == folder)
    body = re.search(rf"^\w+ {function}\(.*?^\}}", text, re.M | re.S).group(0)
    assert len(re.findall(assignment, body)) == 1 and body.count("trace_") == 1
    outside = [line for line in text.replace(body, "").splitlines() if re.search(assignment, line)]
    first = coded(source, prefix)
    start = {state for state, _ in first} - {to for _, to in first}
    assert len(start) == 1
    assert [line for line in outside if prefix + start.pop().upper() not in line] == []


def constants():
    """{name: milliseconds} of all waits in the sources."""
    known = {}
    for path in SOURCES:
        for name, value in re.findall(r"^#define (\w+_MS)\s+(\(.*\)|\d+)$", path.read_text(), re.M):
            known[name] = value
    for _ in known:
        known = {name: re.sub(r"[A-Z]\w+", lambda m: str(known.get(m.group(0), m.group(0))), value)
                 for name, value in known.items()}
    return {name: eval(value, {"__builtins__": {}}) for name, value in known.items()}  # pylint: disable=eval-used


def test_waits():
    """Each has a row with its number, and each row a constant; least values of attributes stand with their defaults."""
    rows = {name: int(ms) for name, ms in re.findall(r"^   \* - ``(\w+)``\n     - (\d+)$", section("Waits"), re.M)}
    assert rows == {name: ms for name, ms in constants().items() if not name.endswith("_TIMEOUT_MIN_MS")}
