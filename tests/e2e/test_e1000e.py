# SPDX-License-Identifier: GPL-2.0
"""A network card: 32-bit BARs behind a window above 4 GiB."""

import pytest

import lending
from rig.pair import DEVICE_BDF, NTB_MODULES

PAIR = lending.options(devices=["e1000e"],
                       modules=NTB_MODULES + ("devlend_core", "devlend_lender", "devlend_borrower"))
FOUR_GIB = 1 << 32


@pytest.fixture
def card(pair):
    """(BDF of the shadow), borrowed, no driver loaded yet; given back afterwards."""
    lending.ready(pair)
    pair.borrower.run("modprobe -r e1000e")
    lending.lend(pair.lender, DEVICE_BDF)
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, DEVICE_BDF))
    yield lending.shadow_of(pair.borrower, lease)
    pair.borrower.run("modprobe -r e1000e", timeout=90)
    lending.give_back(pair.borrower, lease)
    lending.wait_state(pair.lender, f"lent-{DEVICE_BDF}", "offered")
    lending.reclaim(pair.lender, DEVICE_BDF)


def memory_bars(guest, bdf):
    """{number: (start, end)} of a device's memory BARs."""
    lines = guest.text(f"head -n6 /sys/bus/pci/devices/{bdf}/resource").splitlines()
    bars = {n: [int(word, 16) for word in line.split()] for n, line in enumerate(lines)}
    return {n: (start, end) for n, (start, end, flags) in bars.items() if flags & 0x200}


def test_32_bit_bars_behind_a_high_window(pair, card):
    """The BAR registers hold the lender's addresses below 4 GiB, the resources lie in the aperture above."""
    there, here = memory_bars(pair.lender, DEVICE_BDF), memory_bars(pair.borrower, card)
    assert set(here) == set(there) and len(here) == 3
    for n, (start, end) in here.items():
        register = int(pair.borrower.text(f"setpci -s {card} BASE_ADDRESS_{n}.l"), 16)
        assert register & 0x6 == 0		# a 32-bit BAR
        assert register & ~0xf == there[n][0] < FOUR_GIB
        assert start > FOUR_GIB
        assert end - start == there[n][1] - there[n][0]


def test_driver_opens_it(pair, card):
    """The stock driver brings the card up, and its interrupts come."""
    guest = pair.borrower
    guest.run("modprobe e1000e", timeout=90)
    lending.wait(guest, f"ls /sys/bus/pci/devices/{card}/net", what="a network interface")
    name = guest.text(f"ls /sys/bus/pci/devices/{card}/net")
    guest.run(f"ip link set {name} up", timeout=90)
    assert "MSI-X: Enable+" in guest.text(f"lspci -vv -s {card}")
    lending.wait(guest, f"[ $(awk '$NF ~ /^{name}/ {{n += $2}} END {{print n + 0}}' /proc/interrupts) -gt 0 ]",
                 what="an interrupt of the card")
    lending.wait(guest, f"[ $(cat /sys/class/net/{name}/carrier) = 1 ]", what="carrier")
