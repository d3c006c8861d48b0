# SPDX-License-Identifier: GPL-2.0
"""Wrong input to each writable file: a precise errno, and nothing changed."""

import errno
import threading
import time

import pytest

import lending
from rig.agent import until

PAIR = lending.options()
LEND = f"{lending.DRIVER}/lend"
RECLAIM = f"{lending.DRIVER}/reclaim"
LONG = "x" * 4095
MALFORMED = ("\n", " ", "garbage", "0000:00:20.0", "0000:00:1f.9", "0000:00:04.0.0", "0000:00:04.0 forc",
             "0000:00:04.0 force force", "zz:04.0", "-1:04.0", "100000000:00:04.0", LONG)
DEFAULT_PATIENCE_S = 1		# atomic_timeout_ms
ABSENT = ("00:1e.7", "0000:00:1e.7", "0042:00:06.0")


@pytest.fixture
def ready(pair):
    """The pair with its links up."""
    return lending.ready(pair)


@pytest.mark.parametrize("path", [LEND, RECLAIM])
def test_driver_attributes_refuse(ready, path):
    """A malformed BDF is EINVAL, one that is not there ENODEV; nothing is lent afterwards."""
    for text in MALFORMED:
        assert ready.lender.write(path, text) == errno.EINVAL, repr(text)
    for text in ABSENT:
        assert ready.lender.write(path, text) == errno.ENODEV, repr(text)
    assert lending.names(ready.lender, "lent") == []
    assert lending.driver_of(ready.lender, lending.find_pci(ready.lender, lending.NVME)) == "nvme"


def test_lend_refuses_what_cannot_be_lent(ready):
    """The NTB, bridges, what has no reset, what is not lent, what is lent already; and the way back is exact."""
    guest = ready.lender
    nvme = lending.find_pci(guest, lending.NVME)
    override = f"/sys/bus/pci/devices/{nvme}/driver_override"
    before = guest.read(override)
    assert guest.write(LEND, lending.find_pci(guest, "8086:201c")) == errno.EOPNOTSUPP
    for bridge in ("0000:00:00.0", "0000:00:1f.0"):		# the host's, and ISA
        for text in (bridge, bridge + " force"):
            assert guest.write(LEND, text) == errno.EOPNOTSUPP
    assert guest.write(LEND, "0000:00:1f.2") == errno.ENOTTY		# ahci, without a reset
    assert guest.write(RECLAIM, nvme) == errno.ENODEV
    assert lending.driver_of(guest, nvme) == "nvme"
    lending.lend(guest, nvme)
    assert guest.write(LEND, nvme) == errno.EBUSY
    assert lending.driver_of(guest, nvme) == "devlend_lender"
    lending.reclaim(guest, nvme)
    assert lending.driver_of(guest, nvme) == "nvme"
    assert guest.read(override) == before
    assert guest.write(RECLAIM, nvme) == errno.ENODEV


@pytest.mark.parametrize("override, shown", [("\n", "(null)"), ("nvme", "nvme")], ids=["no override", "an override"])
def test_back_without_its_driver(ready, override, shown):
    """Its driver is unloaded while it is lent: given back without one, which is said; driver_override is as it was, and
    the driver has the drive when it is loaded again."""
    guest = ready.lender
    nvme = lending.find_pci(guest, lending.NVME)
    file = f"/sys/bus/pci/devices/{nvme}/driver_override"
    lending.must_write(guest, file, override)
    lending.lend(guest, nvme)
    guest.run("rmmod nvme && dmesg -C")
    lending.reclaim(guest, nvme)
    assert lending.driver_of(guest, nvme) is None
    assert guest.read(file) == shown
    assert guest.dmesg().count("given back, but its driver nvme did not bind") == 1
    guest.modprobe("nvme")
    lending.nvme_block(guest, nvme)
    lending.must_write(guest, file, "\n")


def test_borrow_and_return_refuse(ready):
    """Slots that are no slots, a second borrow, a shadow that would be lent on."""
    nvme = lending.lent_drive(ready)
    guest = ready.borrower
    offer = lending.wait_offer(guest, nvme)
    borrow = f"{lending.BUS}/{offer}/borrow"
    for text in ("\n", "garbage", "-1", "99999999999", "auto auto", LONG):
        assert guest.write(borrow, text) == errno.EINVAL, repr(text)
    assert lending.names(guest, "lease") == []
    lease = lending.borrow(guest, offer)
    assert guest.write(borrow, "auto") == errno.EBUSY
    assert guest.write(LEND, lending.shadow_of(guest, lease)) == errno.ELOOP
    for text in ("\n", "garbage", "2", LONG):
        assert guest.write(f"{lending.BUS}/{lease}/return", text) == errno.EINVAL, repr(text)
    assert guest.read(f"{lending.BUS}/{lease}/state") == "active"
    lending.take_down(ready, nvme)
    lending.wait(guest, f"[ ! -e {lending.BUS}/{offer} ]")


@pytest.mark.parametrize("name, least, most, now", [("beat_timeout_ms", 600, 600000, lending.BEAT_TIMEOUT_MS),
                                                    ("atomic_timeout_ms", 300, 10000, 1000 * DEFAULT_PATIENCE_S)])
def test_link_attributes_refuse(ready, name, least, most, now):
    """The link's time-outs take a number in their range, and keep it."""
    path = f"{lending.BUS}/link0/{name}"
    for text, want in (("garbage", errno.EINVAL), ("\n", errno.EINVAL), ("-5", errno.EINVAL), (LONG, errno.EINVAL),
                       ("1", errno.ERANGE), (str(least - 1), errno.ERANGE), (str(most + 1), errno.ERANGE),
                       ("4000000000", errno.ERANGE)):
        assert ready.lender.write(path, text) == want, repr(text)
        assert ready.lender.read(path) == str(now)
    for text in (str(least), str(most), str(now)):
        assert ready.lender.write(path, text) == 0
        assert ready.lender.read(path) == text


@pytest.mark.parametrize("patience_ms, survives", [(500, False), (10000, True)])
def test_patience_with_a_lender_that_stalls(ready, patience_ms, survives):
    """A config write waits for a lender that stalls as long as the operator said, and not longer."""
    nvme, lease, _ = lending.borrowed_drive(ready)
    guest, sim = ready.borrower, ready.ntbsim
    shadow = lending.shadow_of(guest, lease)
    patience = f"{lending.BUS}/link0/atomic_timeout_ms"
    # no driver: bus mastering is switched on without a wait, since by user space, and off with one, by the PCI core
    guest.run(f"cd /sys/bus/pci/devices/{shadow} && echo {shadow} > driver/unbind && echo 1 > enable", timeout=120)
    guest.run(f"setpci -s {shadow} COMMAND=4:4")
    until(lambda: int(ready.lender.text(f"setpci -s {nvme} COMMAND"), 16) & 4, 30, "bus mastering on")
    lending.must_write(guest, patience, str(patience_ms))
    sim.freeze("a", True)
    bells = sim.counters()["ports"]["b"]["out"]["doorbells"]
    job = guest.spawn(f"echo 0 > /sys/bus/pci/devices/{shadow}/enable")
    job.send(b"")
    until(lambda: sim.counters()["ports"]["b"]["out"]["doorbells"] > bells, 30, "the operation to be sent")
    if survives:
        time.sleep(DEFAULT_PATIENCE_S + 1)
    else:
        lending.wait(guest, f"[ ! -e {lending.BUS}/{lease} ]", what="the lease to go")
    sim.freeze("a", False)
    assert job.wait(60).rc == 0
    said = f"no answer of the peer for {patience_ms} ms"
    assert (said in guest.dmesg()) != survives
    lending.must_write(guest, patience, str(1000 * DEFAULT_PATIENCE_S))
    if survives:
        assert guest.read(f"{lending.BUS}/{lease}/state") == "active"
        assert int(ready.lender.text(f"setpci -s {nvme} COMMAND"), 16) & 4 == 0
    lending.ready(ready)
    lending.take_down(ready, nvme)


def test_both_sides_at_once(ready):
    """Reclaim on the lender and return on the borrower in the same moment: both end well."""
    nvme, lease, _ = lending.borrowed_drive(ready)
    codes = {}

    def write(name, guest, path, text):
        codes[name] = guest.write(path, text, timeout=180)

    threads = [threading.Thread(target=write, args=args) for args in (
        ("reclaim", ready.lender, RECLAIM, nvme),
        ("return", ready.borrower, f"{lending.BUS}/{lease}/return", "1"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes["reclaim"] == 0
    assert codes["return"] in (0, errno.ENOENT, errno.ENODEV, errno.EBUSY)
    assert lending.names(ready.borrower, "lease") == []
    assert lending.driver_of(ready.lender, nvme) == "nvme"
