# SPDX-License-Identifier: GPL-2.0
"""A borrower with an IOMMU whose kernel lets no IOMMU driver stand beside its own: devlend's DMA operations, by the tests
of those that have one."""

import pytest

import lending
import test_iommu_borrower
# pylint: disable=unused-import # tests, and what they take, are found by name
from test_iommu_borrower import (edu, test_closed_by_unmap, test_coherent_buffer_of_many_pages,  # noqa: F401
                                 test_drive, test_reach_is_what_is_mapped)

KERNELS = ("6.1",)
PAIR = dict(test_iommu_borrower.PAIR, borrower_kernel=KERNELS[0])
pytestmark = pytest.mark.usefixtures("built")


@pytest.mark.long
@pytest.mark.allow_complaints(*lending.LOSS)
def test_ntb_goes(pair):
    """The NTB function goes in the middle of reads, and comes back."""
    test_iommu_borrower.cycle(pair)
