# SPDX-License-Identifier: GPL-2.0
"""fio verifies what it wrote, with the window mapped straight onto the borrower's memory:
without that each 8 bytes of DMA are a message, and the larger jobs would take hours."""

import pytest

import lending
from fio import fio
from rig import Nvme

PAIR = lending.options(devices=[Nvme(shadow_doorbells=True)], borrower_smp=2, fast=True)


@pytest.fixture(scope="module")
def kept():
    """What the module's tests share: the drive stays borrowed between them."""
    return {}


@pytest.mark.parametrize("depth", [1, 32])
@pytest.mark.parametrize("size", ["4k", "128k"])
@pytest.mark.parametrize("order", ["write", "randwrite"])
def test_fio_verifies(pair, kept, order, size, depth):
    """What is written, in any order, size and depth, is read back equal, by both CPUs' queues."""
    if kept.get("pair") is not pair:
        kept.update(pair=pair, drive=lending.borrowed_drive(pair))
    job = fio(pair.borrower, kept["drive"][2], rw=order, bs=size, iodepth=depth, size="2m" if size == "4k" else "8m",
              verify="crc32c", do_verify=1, verify_fatal=1, numjobs=2, offset_increment="16m", group_reporting=1,
              cpus_allowed="0,1", cpus_allowed_policy="split")
    assert job["read"]["total_ios"] > 0 and job["write"]["total_ios"] > 0


def test_return_after_the_load(pair, kept):
    """The drive goes back clean."""
    if kept.get("pair") is pair:
        lending.take_down(pair, kept["drive"][0])
