# SPDX-License-Identifier: GPL-2.0
"""The figures of all tests in one table: what was done to leases, and what became of them.

A test tells its part with record_property, under these names:

    injected                        {kind of fault: how many}
    leases_lost                     leases that ended by a fault, with all that they had
    data_mismatches, leaks          how many were found: the test fails if there is one
    longest_uninterruptible_s       [seconds, name of the task]
    link_down_to_shadow_gone_s      seconds, as the kernel's log has them

What borrowing costs, device by device, is a second table:

    cost_of_borrow                  [(device, seconds, control calls, scratchpad words)], in the order in which they
                                    were borrowed, none returned meanwhile
    cost_in_memory                  {host: kB for each device}
"""

SUMS = {"leases_lost": "leases lost cleanly", "data_mismatches": "data mismatches", "leaks": "leaks"}
LONGEST = {"longest_uninterruptible_s": "longest uninterruptible sleep",
           "link_down_to_shadow_gone_s": "longest time from link-down to the shadow's end"}


def _longest(values, test):
    seconds, *more = values if isinstance(values, (list, tuple)) else [values]
    return seconds, f"{seconds} s ({', '.join([*filter(None, more), test])})"


def table(figures):
    """Lines of the table, of [(test, name, value)]; what no test told is not in it."""
    injected, sums, longest = {}, {}, {}
    for test, name, value in figures:
        if name == "injected":
            for kind, count in value.items():
                injected[kind] = injected.get(kind, 0) + count
        elif name in SUMS:
            sums[name] = sums.get(name, 0) + value
        elif name in LONGEST:
            longest[name] = max(longest.get(name, (-1, "")), _longest(value, test))
    lines = [f"injected: {kind} = {count}" for kind, count in sorted(injected.items())]
    lines += [f"{SUMS[name]} = {sums[name]}" for name in SUMS if name in sums]
    return lines + [f"{LONGEST[name]} = {longest[name][1]}" for name in LONGEST if name in longest]


def costs(figures):
    """Lines of the table of costs: a row for each borrow, by how many were borrowed before."""
    lines = []
    for _, name, value in figures:
        if name == "cost_of_borrow":
            lines.append(f"{'before':>6}  {'device':12}{'seconds':>8}{'calls':>7}{'words':>7}")
            lines += [f"{before:6}  {kind:12}{seconds:8.1f}{calls:7}{words:7}"
                      for before, (kind, seconds, calls, words) in enumerate(value)]
        elif name == "cost_in_memory":
            lines += [f"memory of each, {host}: {kb} kB" for host, kb in value.items()]
    return lines
