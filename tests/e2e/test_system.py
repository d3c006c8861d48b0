# SPDX-License-Identifier: GPL-2.0
"""Two hosts with systemd, udev, what "make install" installs, and /etc/devlend.conf on each: nothing is loaded, lent or
borrowed by hand, and after any reboot of either, or of both, the lease comes back by itself (system.py)."""

import pytest

import lending
import system
from rig import Nvme
from rig.pair import DEVICE_BDF

LENDS, BORROWS = f"lend {DEVICE_BDF}\n", f"borrow {DEVICE_BDF} # when it is there\n"
PAIR = lending.options(devices=[Nvme(size=1 << 20)], modules=(),
                       lender_tree=lambda: system.tree("lender", LENDS, lending.BEAT_TIMEOUT_MS),
                       borrower_tree=lambda: system.tree("borrower", BORROWS, lending.BEAT_TIMEOUT_MS))
# a reader finds that its drive went; systemd's own threads and mounts are not the kernel's complaints
pytestmark = [pytest.mark.allow_complaints(*lending.LOSS), pytest.mark.long]


def comes_back(pair, want):
    """Wait for the lease that nobody asks for by hand; every byte of the drive is there."""
    guest = pair.borrower
    lending.wait(guest, f"grep -qs active {lending.BUS}/lease-*/state", 180, "the lease to come back")
    lease = lending.names(guest, "lease")[0]
    disk = lending.nvme_block(guest, lending.shadow_of(guest, lease))
    got = guest.text(f"dd if=/dev/{disk} bs=64k iflag=direct status=none | sha256sum", timeout=180)
    assert got.split()[0] == want
    for host in pair.guests:
        failed = host.text("systemctl --failed --plain --no-legend")
        assert not failed, failed
    return disk


@pytest.fixture
def want(pair):
    """The sum of the drive's content, which is there before the hosts look."""
    return lending.fill(pair.lender.devices[0])


def test_first_boot(pair, want):
    """What the rules and the unit load and start, without a hand."""
    comes_back(pair, want)
    for host in pair.guests:
        assert host.text("systemctl is-enabled devlend.service") == "enabled"
        assert host.text("systemctl show -P Result devlend.service") == "success"


@pytest.mark.parametrize("who", [("lender",), ("borrower",), ("lender", "borrower")], ids="+".join)
def test_reboot(pair, want, who):
    """In order, under reads."""
    job = lending.start_reads(pair.borrower, comes_back(pair, want))
    system.reboot([getattr(pair, name) for name in who])
    if "borrower" not in who:
        job.wait(90)
    comes_back(pair, want)


def test_lender_is_off_while_the_borrower_reboots(pair, want):
    """A power cut; the lender comes back after the borrower, and much later."""
    comes_back(pair, want)
    pair.lender.kill()
    system.reboot([pair.borrower])
    lending.wait(pair.borrower, "systemctl is-active -q multi-user.target", 120)
    assert not lending.names(pair.borrower, "lease")
    pair.lender.start().wait_ready()
    comes_back(pair, want)


def test_returned_by_hand(pair, want):
    """What the operator returned stays so, also when an event has all applied again, until a host boots."""
    comes_back(pair, want)
    guest = pair.borrower
    guest.text("/opt/devlend/sbin/devlend return --wait 8000")
    guest.text("systemctl start devlend.service")
    assert not lending.names(guest, "lease")
    system.reboot([guest])
    comes_back(pair, want)
