# SPDX-License-Identifier: GPL-2.0
"""Plain MSI: the message goes through the shadow's capability, not through a table behind a BAR.

QEMU's edu has plain MSI only; with rig_edu (tests/kmod) its interrupts are counted one by one.
"""

import pytest

import lending
from edu import Edu
from rig.pair import DEVICE_BDF, NTB_MODULES

OWN = NTB_MODULES + ("devlend_core", "devlend_lender", "devlend_borrower")
PAIR = lending.options(devices=["edu,dma_mask=0xffffffffffffffff"], modules=OWN, borrower_smp=2)
RAISES = 1000
MOVED_RAISES = 500


@pytest.fixture
def shadow(pair):
    """A borrowed edu without driver; (pair, lease)."""
    with lending.borrowed_edu(pair, DEVICE_BDF) as lease:
        yield pair, lease


@pytest.fixture
def edu(shadow):
    """The same with its driver."""
    shadow[0].borrower.modprobe("rig_edu")
    return Edu(*shadow)


def test_each_message_is_an_interrupt(pair, edu):
    """As many interrupts as messages; none costs the lender one, or the control channel a word."""
    number, before = edu.line()
    address, data = edu.message(edu.guest, edu.bdf)
    assert (address, data) == edu.message(edu.lender, DEVICE_BDF)
    # not this host's own interrupt range: that of the lender's aperture
    assert address >> 32 and address & 0xfff00000 == 0xfee00000
    assert not any(w["fast"] for port in pair.ntbsim.config["ports"] for w in port["windows"])
    interrupts = lending.own_interrupts(pair.lender)
    pair.ntbsim.reset_counters()
    edu.raise_(RAISES)
    out = {name: port["out"] for name, port in pair.ntbsim.counters()["ports"].items()}
    assert (edu.handled, edu.spurious, edu.lost) == (RAISES, 0, 0)
    assert edu.line()[0] == number and sum(edu.line()[1]) - sum(before) == RAISES
    assert out["a"]["windows"]["bar4"]["msi_writes"] == RAISES
    assert out["a"]["doorbells"] == out["b"]["doorbells"] == 0
    assert lending.own_interrupts(pair.lender) == interrupts
    assert DEVICE_BDF not in pair.lender.read("/proc/interrupts")


def test_message_moves_between_cpus(pair, edu, record_property):
    """Its affinity is moved while interrupts come: none is lost, each CPU gets some."""
    del pair
    number, _ = edu.line()
    moving = edu.guest.spawn(f"n=0; while [ ! -e /tmp/enough ]; do n=$((n+1)); "
                             f"echo $((1 + n % 2)) > /proc/irq/{number}/smp_affinity; sleep 0.01; done; echo $n")
    moving.send(b"")
    edu.raise_(MOVED_RAISES)
    edu.guest.run("touch /tmp/enough")
    record_property("affinity_moves", int(moving.wait(30).out))
    edu.guest.run("rm /tmp/enough")
    assert edu.lost == 0 and edu.handled == MOVED_RAISES
    assert min(edu.line()[1]) > MOVED_RAISES // 20
    assert edu.message(edu.guest, edu.bdf) == edu.message(edu.lender, DEVICE_BDF)


def test_off_with_the_driver(pair, edu):
    """When the driver goes, the lender's device has neither MSI nor bus mastering on."""
    control = f"setpci -s {DEVICE_BDF} CAP_MSI+2.w COMMAND.w"

    def on():
        msi, command = pair.lender.text(control).split()
        return int(msi, 16) & 1, int(command, 16) >> 2 & 1

    assert on() == (1, 1)
    edu.guest.run("rmmod rig_edu")
    assert on() == (0, 0)


def test_dma_and_its_interrupt(pair, edu):
    """DMA of both directions between the device and coherent memory, each ended by a message."""
    del pair
    for size in (1, 8, 333, 4096):
        assert edu.guest.write(f"{edu.folder}/transfer", str(size), timeout=120) == 0
    assert (edu.handled, edu.lost) == (8, 0)


@pytest.mark.parametrize("bits, why", [(28, "no DMA with 28 address bits"), (32, "error -12")])
def test_narrow_dma_is_refused(pair, shadow, bits, why):
    """The aperture lies above 4 GiB: a device that cannot say so gets an error, no short address."""
    guest = pair.borrower
    guest.run(f"modprobe rig_edu dma_bits={bits}")
    assert lending.driver_of(guest, lending.shadow_of(guest, shadow[1])) is None
    assert why in guest.text("dmesg | grep rig_edu | tail -n2")
