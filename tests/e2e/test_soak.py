# SPDX-License-Identifier: GPL-2.0
"""A soak on the checking kernel: see soak.py. Some minutes here; "make soak" takes half an hour, with
another seed each time. A run is repeated with DEVLEND_SOAK_SEED."""

import os
import random
import time

import lending
import pytest
import soak

SECONDS = int(os.environ.get("DEVLEND_SOAK_S", "150"))
SEED = int(os.environ.get("DEVLEND_SOAK_SEED", "1"))

PAIR = lending.options(kernel="checking", kmemleak=True)
# of the drive that went away; and nvme's own on sysfs reset, see test_checking.py
ALLOWED = lending.LOSS + ("nvme nvme", "lock held when returning to user space")


@pytest.mark.checking
@pytest.mark.allow_complaints(*ALLOWED)
def test_soak(pair, record_property):
    """Anything may happen but wrong data, a leak, a complaint, or a drive that cannot be borrowed again."""
    record_property("seed", SEED)
    run = soak.Soak(pair, random.Random(SEED))
    run.start()
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            run.step()
            assert run.wrong == []
        left = run.end()
    finally:
        for what, count in sorted(run.counts.items()):
            record_property(what.replace(" ", "_"), count)
    assert run.wrong == []
    assert left == []
