# SPDX-License-Identifier: GPL-2.0
"""What a kernel says when something is wrong.

Pure text work: a console's text goes in, the lines that must fail a test come out. Each
complaint is given with a few lines that follow it, where the cause usually is.
"""

import re

# One expression per kind; the console prefixes a time stamp, maybe a caller.
COMPLAINTS = [
    r"WARNING: ",
    r"BUG: ",
    r"kernel BUG at",
    r"\bOops\b",
    r"Kernel panic",
    r"general protection fault",
    r"unable to handle",
    r"Unable to handle",
    r"invalid opcode",
    r"double fault",
    r"stack segment",
    r"INFO: .*(lockdep|task .* blocked|possible|trying to register|suspicious|rcu)",
    r"blocked for more than",
    r"rcu.*(detected stall|self-detected|stalls? on|kthread starved)",
    r"suspicious RCU usage",
    r"(possible|inconsistent) .*(lock|deadlock)",
    r"held lock freed|lock held when returning|still has locks held",
    r"scheduling while atomic",
    r"sleeping function called",
    r"soft lockup|hard LOCKUP|workqueue lockup|hogged CPU for",
    r"KASAN:|UBSAN:|KFENCE:|KCSAN:",
    r"kmemleak: \d+ new suspected",
    r"kmemleak: .*(Freeing unknown|Cannot insert|Found object)",
    r"refcount_t:",
    r"DMA-API: (?!preallocated|debugging enabled)",
    r"ODEBUG:",
    r"(list_add|list_del) corruption",
    r"Trying to free (nonexistent|already-free)",
    r"nobody cared",
    r"DMAR:.*(fault|Fault|error)",
    r"DMAR: DRHD: handling fault",
    r"AMD-Vi: Event logged",
    r"Bad page|bad page",
    r"cannot create duplicate",
    r"tried to init an initialized object|does not have a release\(\) function",
    r"[Rr]esource sanity check|can't claim; ",
    r"Objects remaining in",
    r"Slab .* corruption|Poison overwritten|Redzone overwritten",
    r"stack-protector:|stack guard page|Corrupted stack end",
    r"Out of memory|oom-kill",
    r"segfault at|traps: ",
    r"AER: .*(Uncorrect|Fatal|fatal)",
    r"Call Trace:",
]

_ANY = re.compile("|".join(f"(?:{c})" for c in COMPLAINTS))
_HARNESS = re.compile(r"rig: mark \d+: ")
_FOLLOWING = 12


def find_complaints(text, allow=()):
    """Complaints in a console's text, each with what follows it. allow: regular
    expressions for lines that a test expects; the trace after one is then its own."""
    lines = text.splitlines()
    allowed = [re.compile(a) for a in allow]
    found = []
    skip_to = 0
    for n, line in enumerate(lines):
        if n < skip_to or not _ANY.search(line) or _HARNESS.search(line):
            continue
        context = lines[n:n + _FOLLOWING]
        if any(a.search(part) for a in allowed for part in context[:3]):
            skip_to = _end_of_report(lines, n)
            continue
        found.append("\n".join(context))
        skip_to = n + _FOLLOWING
    return found


def _end_of_report(lines, n, limit=120):
    """A WARN's report ends with its end-of-trace line; a plain line is its own report."""
    for end in range(n, min(n + limit, len(lines))):
        if "---[ end trace" in lines[end]:
            return end + 1
    return n + 1
