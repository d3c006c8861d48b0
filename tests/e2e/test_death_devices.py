# SPDX-License-Identifier: GPL-2.0
"""The lender dies while a card receives and sends as fast as it can, and while an AHCI controller is in its driver's
error handling: two drivers that take their time to give a dead device up."""

import pytest

import aftermath
import lending
from rig.pair import DEVICE_BDF, NTB_MODULES

AHCI_BDF = "0000:00:07.0"
GATEWAY, OURS = "10.0.2.2", "10.0.2.15"
GONE = r"lease-.*: .* is lost;"
AHCI_S = 35		# for libata to give up
FRAME = 1400

# their BARs lie beside each other, and share a memory window
PAIR = lending.options(lender_append="devlend_lender.unsafe=1",
                       devices=["e1000e,netdev=net", "ich9-ahci,id=sata"],
                       modules=NTB_MODULES + ("devlend_core", "devlend_lender", "devlend_borrower"),
                       lender_extra_args=["-netdev", "user,id=net,restrict=on",
                                          "-blockdev", "null-co,node-name=disk,size=16777216,read-zeroes=on",
                                          "-device", "ide-hd,drive=disk,bus=sata.0"])


def borrow(pair, bdf, force=False):
    """Lend and borrow a device: (lease, shadow)."""
    lending.ready(pair)
    lending.lend(pair.lender, bdf, force)
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    return lease, lending.shadow_of(pair.borrower, lease)


def network(guest, shadow):
    """Bring the borrowed card up; return its interface."""
    lending.wait(guest, f"ls /sys/bus/pci/devices/{shadow}/net >/dev/null 2>&1", what="a network interface")
    name = guest.text(f"ls /sys/bus/pci/devices/{shadow}/net")
    guest.run(f"ip address replace {OURS}/24 dev {name} && ip link set {name} up", timeout=90)
    lending.wait(guest, f"[ $(cat /sys/class/net/{name}/carrier) = 1 ]", what="carrier")
    return name


@pytest.mark.allow_complaints("e1000e", *lending.LOSS)
def test_ping_flood(pair, record_property):
    """A reply brings the next request. After the death the interface is gone, and the card works when borrowed again."""
    guest = pair.borrower
    guest.run("modprobe e1000e")
    lease, shadow = borrow(pair, DEVICE_BDF)
    name = network(guest, shadow)
    flood = guest.spawn(f"busybox ping -A -s {FRAME} {GATEWAY}")
    flood.send(b"")
    lending.wait(guest, f"[ $(cat /sys/class/net/{name}/statistics/rx_packets) -gt 50 ]", what="replies")
    stuck = aftermath.StuckTasks(guest).start()
    pair.lender.kill()
    record_property("injected", {"host without power": 1})
    lending.wait(guest, f"[ ! -e {lending.BUS}/{lease} ] && [ ! -e /sys/class/net/{name} ]", what="the card to go")
    flood.kill()
    longest, who = stuck.longest()
    record_property("link_down_to_shadow_gone_s", aftermath.seconds_between(guest, aftermath.DOWN, GONE))
    record_property("longest_uninterruptible_s", [longest, who])
    record_property("leases_lost", 1)
    assert longest < aftermath.HUNG_S
    pair.lender.restart()
    lease, shadow = borrow(pair, DEVICE_BDF)
    network(guest, shadow)
    guest.text(f"busybox ping -c 3 -s {FRAME} {GATEWAY}")
    lending.give_back(guest, lease)
    lending.wait_state(pair.lender, f"lent-{DEVICE_BDF}", "offered")
    lending.reclaim(pair.lender, DEVICE_BDF)


@pytest.mark.allow_complaints("ata[0-9]", "ahci", "e1000e", *lending.LOSS)
def test_ahci_in_its_error_handling(pair, record_property):
    """libata waits for its own time-outs; another lease's end does not wait with it."""
    guest = pair.borrower
    guest.run("modprobe -a ahci e1000e")
    card_lease, _ = borrow(pair, DEVICE_BDF)
    lease, shadow = borrow(pair, AHCI_BDF, force=True)	# it has no way to be reset
    assert lending.driver_of(guest, shadow) == "ahci"
    # there is a disk; its IDENTIFY gets no answer through a window (testing.rst), which libata takes up in its own time
    lending.wait(guest, "dmesg | grep -q 'SATA link up'", what="the disk to be found")
    pair.lender.kill()
    record_property("injected", {"host without power": 1})
    lending.wait(guest, f"[ ! -e {lending.BUS}/{card_lease} ]", what="the card to go")
    lending.wait(guest, f"[ ! -e {lending.BUS}/{lease} ]", timeout=AHCI_S + 60, what="the controller to go")
    log = guest.dmesg()
    took = {bdf: aftermath.seconds_between(guest, aftermath.DOWN, f"lease-.*: offer-.*{bdf} is lost;", log)
            for bdf in (DEVICE_BDF, AHCI_BDF)}
    record_property("leases_lost", 2)
    record_property("link_down_to_ahci_gone_s", took[AHCI_BDF])
    record_property("link_down_to_other_lease_gone_s", took[DEVICE_BDF])
    assert took[AHCI_BDF] <= AHCI_S
