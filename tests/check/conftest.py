# SPDX-License-Identifier: GPL-2.0
"""These tests wrap what is no test of its own (builds, linters, unit tests in C), so that one
runner counts everything."""

from rig.process import clean_up_on_signals, stop_all


def pytest_configure():
    clean_up_on_signals()


def pytest_unconfigure():
    stop_all()
