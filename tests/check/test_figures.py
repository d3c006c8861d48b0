# SPDX-License-Identifier: GPL-2.0
"""The table of figures that ends a test report."""

import figures


def test_table():
    told = [("a", "injected", {"flap": 3, "bell_drop": 1}), ("b", "injected", {"flap": 2}), ("a", "leases_lost", 1),
            ("b", "leases_lost", 2), ("a", "data_mismatches", 0), ("a", "longest_uninterruptible_s", [1.5, "dd"]),
            ("b", "longest_uninterruptible_s", [10.0, "mount"]), ("c", "longest_uninterruptible_s", [0.0, None]),
            ("b", "link_down_to_shadow_gone_s", 0.25), ("c", "something_else", "text")]
    assert figures.table(told) == [
        "injected: bell_drop = 1", "injected: flap = 5", "leases lost cleanly = 3", "data mismatches = 0",
        "longest uninterruptible sleep = 10.0 s (mount, b)",
        "longest time from link-down to the shadow's end = 0.25 s (b)"]


def test_nothing_told():
    assert figures.table([("a", "borrow_calls", 6)]) == []


def test_costs():
    told = [("a", "cost_of_borrow", [("nvme", 0.4, 12, 380), ("edu", 10.25, 5, 306)]), ("a", "cost_in_memory", {"lender": 3})]
    assert figures.costs(told) == ["before  device       seconds  calls  words", "     0  nvme             0.4     12    380",
                                   "     1  edu             10.2      5    306", "memory of each, lender: 3 kB"]
    assert figures.costs([("a", "leases_lost", 1)]) == []
