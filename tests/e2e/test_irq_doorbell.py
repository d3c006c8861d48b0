# SPDX-License-Identifier: GPL-2.0
"""Interrupt mode "doorbell": the lender's CPU takes the device's interrupts, and tells them.

The drive shows MSI-X, QEMU's edu plain MSI and INTx, whose interrupts rig_edu counts one by one.
"""

import pytest

import lending
from edu import Edu
from fio import fio, ios
from rig import Nvme
from rig.pair import NTB_BDF

PAIR = lending.options(devices=[Nvme(), "edu,dma_mask=0xffffffffffffffff"], borrower_smp=2)
EDU_BDF = "0000:00:07.0"
RAISES = 300
IOS = 1500


@pytest.fixture
def shadow(pair):
    """A borrowed edu without driver; (pair, lease)."""
    with lending.borrowed_edu(pair, EDU_BDF, "doorbell") as lease:
        yield pair, lease


@pytest.fixture
def drive(pair):
    """(BDF, lease, block device), borrowed; given back afterwards."""
    made = lending.borrowed_drive(pair, "doorbell")
    yield made
    lending.take_down(pair, made[0])


def bells(pair):
    """Doorbells that the lender rang."""
    return pair.ntbsim.counters()["ports"]["a"]["out"]["doorbells"]


def test_a_drive_by_msix(pair, drive):
    """Each message is an interrupt on the lender and a bell; what the driver waits for comes."""
    guest = pair.borrower
    assert lending.taken(pair)[1] == "MSI-X"
    assert "devlend-bell" in guest.text("grep nvme0q /proc/interrupts")
    told = lending.taken(pair)[3]
    pair.ntbsim.reset_counters()
    job = fio(guest, drive[2], rw="randread", bs="512", iodepth=8, numjobs=2, number_ios=IOS // 2, cpus_allowed="0,1",
              cpus_allowed_policy="split", group_reporting=1)
    assert ios(job) >= IOS
    assert "devlend_lender" in pair.lender.text("cat /proc/interrupts")
    assert 0 < lending.taken(pair)[3] - told <= bells(pair)
    # the device itself writes no message into the borrower's interrupt range
    assert pair.ntbsim.counters()["ports"]["a"]["out"]["windows"]["bar4"]["msi_writes"] == 0
    assert "timeout" not in guest.text("dmesg | grep 'nvme nvme' || true")


def test_interrupt_range_is_closed(pair):
    """No message is wanted, so none can be sent: the range is open while a lease of mode direct needs it, and no longer."""
    bdf = lending.lent_drive(pair)
    opened = {}
    for mode in ("direct", "doorbell"):
        lending.set_irq_mode(pair.borrower, lending.wait_offer(pair.borrower, bdf), mode)
        lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
        opened[mode] = lending.open_to_lender(pair)
        lending.give_back(pair.borrower, lease)
    assert opened["direct"] > lending.INTERRUPT_RANGE >= opened["doorbell"] > 0
    lending.take_down(pair, bdf)


def test_data_by_doorbell(pair, drive):
    """What is written is read back equal, after a reset by the borrower too."""
    for _ in range(2):
        job = fio(pair.borrower, drive[2], rw="randwrite", bs="4k", iodepth=4, size="128k", verify="crc32c", do_verify=1,
                  verify_fatal=1)
        assert job["read"]["total_ios"] == job["write"]["total_ios"] == 32
        shadow = lending.shadow_of(pair.borrower, drive[1])
        lending.must_write(pair.borrower, f"/sys/bus/pci/devices/{shadow}/reset", "1")


def test_each_message_is_an_interrupt(pair, shadow):
    """Plain MSI: as many interrupts as messages, each told once."""
    pair.borrower.modprobe("rig_edu")
    edu = Edu(*shadow)
    assert lending.taken(pair)[:3] == (1, "MSI", True)
    told = lending.taken(pair)[3]
    pair.ntbsim.reset_counters()
    edu.raise_(RAISES)
    assert (edu.handled, edu.spurious, edu.lost) == (RAISES, 0, 0)
    assert lending.taken(pair)[3] - told == bells(pair) == RAISES


def test_each_level_is_served(pair, shadow):
    """INTx: a level that is told when it rises, and told again only where it was not served."""
    pair.borrower.run("modprobe rig_edu intx=1")
    edu = Edu(*shadow)
    told = lending.taken(pair)[3]
    edu.raise_(RAISES)
    assert (edu.handled, edu.spurious, edu.lost) == (RAISES, 0, 0)
    assert lending.taken(pair)[3] - told == RAISES
    assert "devlend-INTx" in pair.borrower.text("grep rig_edu /proc/interrupts")


def test_lost_bells(pair, shadow):
    """A bell that is lost costs time, and no interrupt: the beat looks as well."""
    pair.borrower.modprobe("rig_edu")
    edu = Edu(*shadow)
    pair.ntbsim.faults(seed=3, bell_drop=0.5)
    edu.raise_(30)
    pair.ntbsim.faults()
    assert pair.ntbsim.injected()["bell_drop"] > 5
    assert (edu.handled, edu.spurious, edu.lost) == (30, 0, 0)


def test_the_bell_moves_between_cpus(pair, shadow, record_property):
    """The affinity of the NTB's interrupt is moved while events come: none is lost. An event has none of its own."""
    guest = pair.borrower
    guest.modprobe("rig_edu")
    edu = Edu(*shadow)
    own = guest.text("awk '/rig_edu/ {sub(\":\", \"\", $1); print $1}' /proc/interrupts")
    assert guest.write(f"/proc/irq/{own}/smp_affinity", "2") != 0
    moving = guest.spawn("irqs=$(awk '/ndev_vec/ {sub(\":\", \"\", $1); print $1}' /proc/interrupts | head -n 3); n=0; "
                         "while [ ! -e /tmp/enough ]; do n=$((n+1)); for i in $irqs; do "
                         "echo $((1 + n % 2)) > /proc/irq/$i/smp_affinity; done; sleep 0.01; done; echo $n")
    moving.send(b"")
    edu.raise_(RAISES)
    guest.run("touch /tmp/enough")
    record_property("affinity_moves", int(moving.wait(30).out))
    guest.run("rm /tmp/enough")
    assert (edu.handled, edu.spurious, edu.lost) == (RAISES, 0, 0)


@pytest.mark.allow_complaints(*lending.LOSS)
def test_taken_back_under_load(pair):
    """By force, in the middle of reads: nothing is told any more, and all is given back."""
    bdf, lease, disk = lending.borrowed_drive(pair, "doorbell")
    job = lending.start_reads(pair.borrower, disk)
    lending.must_write(pair.lender, f"{lending.DRIVER}/reclaim", bdf + " force", timeout=180)
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]", 60, "the lease to go")
    job.wait(60)
    assert lending.driver_of(pair.lender, bdf) == "nvme"
    assert pair.lender.run("grep devlend_lender /proc/interrupts", check=False).rc == 1


@pytest.mark.parametrize("side", ["lender", "borrower"])
@pytest.mark.allow_complaints(*lending.LOSS)
def test_the_ntb_goes(pair, side):
    """Its driver is unbound in the middle of reads: the lease goes, and with it what was taken."""
    bdf, lease, disk = lending.borrowed_drive(pair, "doorbell")
    job = lending.start_reads(pair.borrower, disk)
    victim = getattr(pair, side)
    driver = "/sys/bus/pci/drivers/ntb_hw_intel"
    victim.run(f"echo {NTB_BDF} > {driver}/unbind", timeout=90)
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]", 60, "the lease to go")
    job.wait(60)
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    assert lending.taken(pair) is None
    lending.reclaim(pair.lender, bdf)
    victim.run("rmmod devlend_borrower devlend_lender devlend_core && "
               "modprobe -a devlend_core devlend_lender devlend_borrower && "
               f"echo {NTB_BDF} > {driver}/bind", timeout=90)


def test_a_drive_by_intx(pair, drive):
    """A driver that gets no messages (here by msi_bus, as with pci=nomsi) takes INTx, which the shadow has."""
    guest = pair.borrower
    shadow = lending.shadow_of(guest, drive[1])
    guest.run(f"echo {shadow} > /sys/bus/pci/drivers/nvme/unbind && echo 0 > /sys/bus/pci/devices/{shadow}/msi_bus && "
              f"echo {shadow} > /sys/bus/pci/drivers/nvme/bind", timeout=120)
    disk = lending.nvme_block(guest, shadow)
    told = lending.taken(pair)[3]
    assert ios(fio(guest, disk, rw="randread", bs="512", iodepth=4, number_ios=200)) >= 200
    assert "devlend-INTx" in guest.text("grep nvme0q /proc/interrupts")
    assert lending.taken(pair)[3] > told
    # the device asks again for what came while it was masked: no end of an interrupt is lost
    assert "polled" not in guest.text("dmesg | grep 'nvme nvme' || true")


def test_nothing_is_left(pair):
    """After lend, borrow, return and reclaim the lender has no interrupt of the device."""
    with lending.borrowed_edu(pair, EDU_BDF, "doorbell"):
        assert pair.lender.text("grep -c devlend_lender /proc/interrupts") == "2"
    assert pair.lender.run("grep devlend_lender /proc/interrupts", check=False).rc == 1
    assert lending.taken(pair) is None
