# SPDX-License-Identifier: GPL-2.0
"""What is made of many measured values. Pure."""

import math
import statistics


def percentile(ordered, percent):
    """The smallest value of a sorted list that so many percent of all do not exceed."""
    if not ordered:
        raise ValueError("no samples")
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def summary(samples):
    """A distribution in a few figures."""
    ordered = sorted(samples)
    return {"count": len(ordered), "min": percentile(ordered, 0), "median": percentile(ordered, 50),
            "p99": percentile(ordered, 99), "max": ordered[-1], "mean": statistics.fmean(ordered)}


def spread(values):
    """Median of what the rounds gave, with the lowest and the highest. Rounds that gave nothing do not count."""
    values = [v for v in values if v is not None]
    if not values:
        return None
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def ratio(value, of):
    """None where there is nothing to compare with."""
    return None if value is None or not of else value / of


def distribution(samples, steps=100):
    """(share, value) of samples, for a curve."""
    ordered = sorted(samples)
    return [(n / steps, percentile(ordered, 100 * n / steps)) for n in range(steps + 1)]
