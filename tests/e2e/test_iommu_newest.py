# SPDX-License-Identifier: GPL-2.0
"""A borrower with an IOMMU and the newest kernel, whose IOMMU drivers share the kernel's own page tables."""

import pytest

import test_iommu_borrower
# pylint: disable=unused-import # tests, and what they take, are found by name
from test_iommu_borrower import edu, test_closed_by_unmap, test_drive  # noqa: F401

KERNELS = ("7.x",)
PAIR = dict(test_iommu_borrower.PAIR, borrower_kernel=KERNELS[0])
pytestmark = pytest.mark.usefixtures("built")
