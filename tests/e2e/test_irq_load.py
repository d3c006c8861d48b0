# SPDX-License-Identifier: GPL-2.0
"""A drive under fio while its vector is moved a hundred times a second, and while CPUs come and go.

The drive has a single vector, fewer than its driver wants: then it is the only kind of nvme's whose affinity can be
written. In mode doorbell it is the NTB's that is moved. A local drive shows what the kernel and the emulator do alone.
"""

import pytest

import fio
import lending
from rig import Nvme

DRIVE = Nvme(size=16 << 20, options="msix_qsize=1")
OWN = Nvme("LOCAL001", size=16 << 20, options="msix_qsize=1")
BASE = lending.options(devices=[DRIVE], borrower_smp=2)
SECONDS = 60
IO_TIMEOUT = 10		# seconds until nvme looks for a completion that it was not told of
CPU = "/sys/devices/system/cpu/cpu1/online"

pytestmark = pytest.mark.long


def vectors_of(guest, bdf):
    """Numbers of a function's interrupts."""
    return guest.text(f"ls /sys/bus/pci/devices/{bdf}/msi_irqs").split()


def on_cpu_1(numbers):
    """Shell words that move interrupts there."""
    return f"for i in {' '.join(numbers)}; do echo 2 > /proc/irq/$i/smp_affinity; done"


def offline(numbers):
    """Shell words that take the CPU away that interrupts are on, and bring it back."""
    return f"echo 0 > {CPU}; sleep 0.5; echo 1 > {CPU}; {on_cpu_1(numbers)}; sleep 0.5"


@pytest.fixture(params=["direct", "vectors", "doorbell"])
def drive(request, make_pair):
    """(pair, mode, disk, numbers of the interrupts that are to be moved)."""
    remapped = {"borrower_iommu": True, "borrower_append": "iommu=pt"} if request.param == "vectors" else {}
    pair = make_pair(**BASE, **remapped)
    lending.must_write(pair.borrower, "/sys/module/nvme_core/parameters/io_timeout", str(IO_TIMEOUT))
    bdf, lease, disk = lending.borrowed_drive(pair, request.param)
    borrower = pair.borrower
    assert borrower.read(f"{lending.BUS}/{lease}/irq_mode") == request.param
    numbers = vectors_of(borrower, lending.shadow_of(borrower, lease))
    assert len(numbers) == 1
    if request.param == "doorbell":
        numbers = borrower.text("awk '/ndev_vec/ {sub(\":\", \"\", $1); print $1}' /proc/interrupts | head -n 3").split()
    yield pair, request.param, disk, numbers
    lending.take_down(pair, bdf)


def disturbed(pair, disk, loop, **options):
    """fio's report, and how often the loop's body ran meanwhile; how many interrupts the driver missed, and how many
    messages the emulator brought more than 1 ms after the answer of a read that should have come behind them."""
    borrower = pair.borrower
    pair.ntbsim.reset_counters()
    said = len(borrower.dmesg().splitlines())
    job = borrower.spawn(f"n=0; while [ ! -e /tmp/enough ]; do n=$((n+1)); {loop}; done; echo $n")
    job.send(b"")
    report = fio.fio(borrower, disk, timeout=SECONDS * 20,
                     **{"rw": "randrw", "bs": "4k", "iodepth": 8, "runtime": SECONDS, "time_based": 1, **options})
    borrower.run("touch /tmp/enough")
    rounds = int(job.wait(60).out)
    borrower.run("rm /tmp/enough")
    lines = [line for line in borrower.dmesg().splitlines()[said:] if "nvme nvme" in line and "timeout" in line]
    assert not [line for line in lines if "completion polled" not in line]
    windows = pair.ntbsim.counters()["ports"]["a"]["out"]["windows"].values()
    return report, rounds, len(lines), sum(window["msi_overtaken_late"] for window in windows)


def test_affinity_and_cpus(drive, record_property):
    """No completion is lost while the vector moves; nor while the CPU that it is on goes and comes, but for what the
    emulator itself brings too late: Documentation/testing.rst, "Known limits"."""
    pair, mode, disk, numbers = drive
    move = f"for i in {' '.join(numbers)}; do echo $((1 + n % 2)) > /proc/irq/$i/smp_affinity || exit 1; done"
    report, rounds, lost, _ = disturbed(pair, disk, f"{move}; sleep 0.01")
    record_property("affinity_moves", rounds)
    assert rounds > 100 and fio.ios(report) > 1000 and not lost
    pair.borrower.run(on_cpu_1(numbers))
    report, rounds, lost, late = disturbed(pair, disk, offline(numbers))
    record_property("cpu_rounds", rounds)
    assert lost <= (late if mode == "direct" else 0)
    # nothing moves until a lost one is found
    assert rounds > 3 and fio.ios(report) > 1000 * (1 - lost * IO_TIMEOUT / SECONDS)
    record_property("lost", lost)


def test_late_messages(make_pair, record_property):
    """Messages are made late, so that they are overtaken often: those, and no others, miss a CPU that goes."""
    pair = lending.ready(make_pair(**BASE))
    lending.must_write(pair.borrower, "/sys/module/nvme_core/parameters/io_timeout", str(IO_TIMEOUT))
    bdf, lease, disk = lending.borrowed_drive(pair, "direct")
    numbers = vectors_of(pair.borrower, lending.shadow_of(pair.borrower, lease))
    pair.borrower.run(on_cpu_1(numbers))
    pair.ntbsim.faults(seed=5, port="a", msi_late=0.05, msi_us=400000)
    _, rounds, lost, late = disturbed(pair, disk, offline(numbers), rw="randread", bs="512", iodepth=1)
    pair.ntbsim.faults()
    record_property("cpu_rounds", rounds)
    record_property("overtaken_and_lost", f"{late}/{lost}")
    assert 0 < lost <= late
    lending.take_down(pair, bdf)


def test_local_drive(make_pair, record_property):
    """The same with a drive of the host's own: its messages take no way on which an answer could overtake them."""
    pair = make_pair(**BASE, borrower_devices=[OWN])
    borrower = lending.ready(pair).borrower
    bdf = lending.find_pci(borrower, lending.NVME)
    numbers = vectors_of(borrower, bdf)
    assert len(numbers) == 1
    borrower.run(on_cpu_1(numbers))
    report, rounds, lost, _ = disturbed(pair, lending.nvme_block(borrower, bdf), offline(numbers))
    record_property("cpu_rounds", rounds)
    assert rounds > 3 and fio.ios(report) > 1000 and not lost
