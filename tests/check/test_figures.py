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
