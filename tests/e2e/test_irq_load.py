# SPDX-License-Identifier: GPL-2.0
"""A drive under fio while its vector is moved a hundred times a second, and while CPUs come and go.

The drive has a single vector, fewer than its driver wants: then it is the only kind of nvme's whose affinity can be
written. In mode doorbell it is the NTB's that is moved.
"""

import pytest

import fio
import lending
from rig import Nvme

DRIVE = Nvme(size=16 << 20, options="msix_qsize=1")
BASE = lending.options(devices=[DRIVE], borrower_smp=2)
SECONDS = 60

pytestmark = pytest.mark.long


@pytest.fixture(params=["direct", "vectors", "doorbell"])
def drive(request, make_pair):
    """(mode, borrower, disk, numbers of the interrupts that are to be moved)."""
    remapped = {"borrower_iommu": True, "borrower_append": "iommu=pt"} if request.param == "vectors" else {}
    pair = make_pair(**BASE, **remapped)
    bdf, lease, disk = lending.borrowed_drive(pair, request.param)
    borrower = pair.borrower
    assert borrower.read(f"{lending.BUS}/{lease}/irq_mode") == request.param
    numbers = borrower.text(f"ls /sys/bus/pci/devices/{lending.shadow_of(borrower, lease)}/msi_irqs").split()
    assert len(numbers) == 1
    if request.param == "doorbell":
        numbers = borrower.text("awk '/ndev_vec/ {sub(\":\", \"\", $1); print $1}' /proc/interrupts | head -n 3").split()
    yield request.param, borrower, disk, numbers
    lending.take_down(pair, bdf)


def disturbed(borrower, disk, loop):
    """fio's report, and how often the loop's body ran meanwhile; no command of the drive timed out."""
    job = borrower.spawn(f"n=0; while [ ! -e /tmp/enough ]; do n=$((n+1)); {loop}; done; echo $n")
    job.send(b"")
    report = fio.fio(borrower, disk, timeout=SECONDS * 20, rw="randrw", bs="4k", iodepth=8, runtime=SECONDS, time_based=1)
    borrower.run("touch /tmp/enough")
    rounds = int(job.wait(60).out)
    borrower.run("rm /tmp/enough")
    for word in ("timeout", "completion polled"):
        assert not [line for line in borrower.dmesg().splitlines() if "nvme nvme" in line and word in line]
    return report, rounds


def test_affinity_and_cpus(drive, record_property):
    """No completion is lost while the vector moves; nor while the CPU that it is on goes and comes."""
    mode, borrower, disk, numbers = drive
    move = f"for i in {' '.join(numbers)}; do echo $((1 + n % 2)) > /proc/irq/$i/smp_affinity || exit 1; done"
    report, rounds = disturbed(borrower, disk, f"{move}; sleep 0.01")
    record_property("affinity_moves", rounds)
    assert rounds > 100 and fio.ios(report) > 1000
    if mode == "direct":
        return	# testing.rst, "Known limits"
    to_the_second = f"for i in {' '.join(numbers)}; do echo 2 > /proc/irq/$i/smp_affinity; done"
    borrower.run(to_the_second)
    cpu = "/sys/devices/system/cpu/cpu1/online"
    report, rounds = disturbed(borrower, disk, f"echo 0 > {cpu}; sleep 0.5; echo 1 > {cpu}; {to_the_second}; sleep 0.5")
    record_property("cpu_rounds", rounds)
    assert rounds > 3 and fio.ios(report) > 1000
