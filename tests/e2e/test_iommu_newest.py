# SPDX-License-Identifier: GPL-2.0
"""A borrower with an IOMMU and the newest kernel, whose IOMMU drivers share the kernel's own page tables."""

import pytest

import test_iommu_borrower
# pylint: disable=unused-import # tests, and what they take, are found by name
from test_iommu_borrower import edu, test_closed_by_unmap, test_drive  # noqa: F401

PAIR = dict(test_iommu_borrower.PAIR, borrower_kernel="7.x")


@pytest.fixture(scope="module", autouse=True)
def built(build_modules):
    """The modules for that kernel: another of the checks may not have come to it."""
    done, _ = build_modules("7.x")
    assert done.returncode == 0, done.stdout
