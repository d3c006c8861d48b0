# SPDX-License-Identifier: GPL-2.0
"""The log checker by itself: what it must find, and what it must leave alone."""

import pytest

from rig import find_complaints
from rig.ntbsim import forbidden

BAD = [
    "[   12.345678] WARNING: CPU: 0 PID: 12 at drivers/pci/pci.c:123 pci_foo+0x1/0x2",
    "[   12.345678] WARNING: possible circular locking dependency detected",
    "[   12.345678] BUG: KASAN: slab-use-after-free in devlend_foo+0x12/0x34",
    "[   12.345678] BUG: sleeping function called from invalid context at kernel/locking/mutex.c:585",
    "[   12.345678] BUG: scheduling while atomic: swapper/0/0/0x00000002",
    "[   12.345678] Oops: general protection fault, probably for non-canonical address",
    "[   12.345678] Kernel panic - not syncing: Fatal exception",
    "[   12.345678] INFO: task kworker/0:1:9 blocked for more than 60 seconds.",
    "[   12.345678] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:",
    "[   12.345678] watchdog: BUG: soft lockup - CPU#0 stuck for 52s! [modprobe:99]",
    "[   12.345678] kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "[   12.345678] refcount_t: underflow; use-after-free.",
    "[   12.345678] DMA-API: nvme 0000:00:06.0: device driver tries to free DMA memory it has not allocated",
    "[   12.345678] DMAR: [DMA Write NO_PASID] Request device [00:06.0] fault addr 0xfee00000",
    "[   12.345678] DMAR: DRHD: handling fault status reg 3",
    "[   12.345678] irq 24: nobody cared (try booting with the \"irqpoll\" option)",
    "[   12.345678] Trying to free nonexistent resource <0000000100000000-000000017fffffff>",
    "[   12.345678] UBSAN: shift-out-of-bounds in x.c:1:2",
    "[   12.345678] list_del corruption. prev->next should be ffff, but was 0000",
    "[   12.345678] sysfs: cannot create duplicate filename '/bus/devlend'",
    "[   12.345678] fio[77]: segfault at 0 ip 0 sp 0 error 4",
]

GOOD = [
    "[    0.000000] Linux version 6.12.117 (gcc-14 14.2.0) #1 SMP",
    "[    0.000000] tsc: Unable to calibrate against PIT",
    "[    1.000000] rcu: Hierarchical RCU implementation.",
    "[    1.000000] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar",
    "[    1.000000] DMA-API: preallocated 65536 debug entries",
    "[    1.000000] DMA-API: debugging enabled by kernel config",
    "[    1.000000] kmemleak: Kernel memory leak detector initialized (mem pool available: 14821)",
    "[    1.000000] DMAR: Host address width 39",
    "[    1.000000] BUG_ON is only a word here",
    "[    1.000000] devlend_core: loading out-of-tree module taints kernel.",
    "[    1.000000] rig: mark 3: start of test_that_says_BUG: or WARNING: in its name",
]

TRACE = """\
[    1.000000] before
[    2.000000] ------------[ cut here ]------------
[    2.000001] WARNING: CPU: 0 PID: 1 at x.c:1 expected_function+0x1/0x2
[    2.000002] Modules linked in: x
[    2.000003] Call Trace:
[    2.000004]  <TASK>
[    2.000005] ---[ end trace 0000000000000000 ]---
"""


@pytest.mark.parametrize("line", BAD)
def test_finds(line):
    assert find_complaints(f"[    1.0] fine\n{line}\n[   13.0] also fine\n")


@pytest.mark.parametrize("line", GOOD)
def test_leaves_alone(line):
    assert find_complaints(line + "\n") == []


def test_an_allowed_report_is_passed_over_to_its_end():
    assert find_complaints(TRACE, allow=["expected_function"]) == []


def test_what_follows_an_allowed_report_is_still_found():
    assert len(find_complaints(TRACE + BAD[2] + "\n", allow=["expected_function"])) == 1


def test_another_report_is_not_allowed():
    assert find_complaints(TRACE, allow=["other_function"])


def test_one_report_is_one_complaint():
    assert len(find_complaints(TRACE)) == 1


def test_forbidden_counts_are_found_wherever_they_are():
    reply = {"ports": {"a": {"win": [{"writes": 7, "below_1m_writes": 0}, {"below_1m_writes": 2, "crossed": 1}]}}}
    assert forbidden(reply) == ["ports.a.win[1].below_1m_writes = 2", "ports.a.win[1].crossed = 1"]
    assert forbidden({"ports": {"a": {"win": [{"writes": 7, "crossed": 0}]}}}) == []
