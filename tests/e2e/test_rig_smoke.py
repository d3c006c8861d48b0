# SPDX-License-Identifier: GPL-2.0
"""The rig itself: guests boot and obey, the NTB joins them, and a kernel that complains
is heard."""

import time

import pytest

from rig import CommandFailed, GuestGone, Nvme
from rig.agent import until

TOOL = "/sys/kernel/debug/ntb_tool/0000:00:05.0"


@pytest.mark.parametrize("kernel", ["6.12", pytest.param("checking", marks=pytest.mark.checking)])
def test_guest_boots(make_guest, kernel):
    guest = make_guest(kernel=kernel, devices=[Nvme(serial="SMOKE1", size=8 << 20)], modules=("nvme",))
    assert guest.text("uname -r") == guest.kernel.release
    until(lambda: not guest.run("test -b /dev/nvme0n1", check=False).rc, 30, "the drive's block device")
    assert guest.read("/sys/class/nvme/nvme0/serial").strip() == "SMOKE1"


class TestAgent:
    """Commands, files and the guest's life, on one guest."""

    def test_commands_and_files(self, make_guest):
        guest = make_guest()
        rc, out = guest.run("echo out; echo err >&2; exit 3", check=False)
        assert (rc, out) == (3, "out\n")
        with pytest.raises(CommandFailed):
            guest.run("false")

        data = bytes(range(256)) * 8192
        guest.push(data, "/tmp/file")
        assert guest.pull("/tmp/file") == data

        job = guest.spawn("echo started; exec sleep 1000")
        job.wait_output("started")
        job.kill()
        assert job.wait(10).rc == -9

        with pytest.raises(TimeoutError):
            guest.run("sleep 1000", timeout=0.5)
        assert guest.write("/proc/sys/kernel/printk", "nonsense") == 22
        assert guest.write("/proc/sys/kernel/hostname", "other") == 0

        guest.run("touch /tmp/mine")
        guest.reset()
        assert guest.run("test -e /tmp/mine", check=False).rc == 1

        job = guest.spawn("sleep 1000")
        start = time.monotonic()
        guest.kill()
        with pytest.raises(GuestGone):
            job.wait(30)
        assert time.monotonic() - start < 10
        guest.restart()
        assert guest.text("cat /proc/sys/kernel/hostname") == "guest"


class TestComplaints:
    """The harness hears what a kernel says."""

    def test_a_warning_in_the_log_is_found(self, make_guest):
        guest = make_guest()
        guest.run("echo 'WARNING: CPU: 0 PID: 1 at nowhere.c:1' >/dev/kmsg")
        guest.mark("end")
        assert len(guest.complaints()) == 1
        assert guest.complaints() == []

    def test_a_crash_is_found(self, make_guest):
        guest = make_guest()
        with pytest.raises(GuestGone):
            guest.run("echo c >/proc/sysrq-trigger")
        guest.console.wait_for("Kernel panic", 10)
        assert any("sysrq" in c.lower() for c in guest.complaints())


class TestNtb:
    """Two guests and the NTB between them."""

    def test_driver_binds_on_both_sides(self, pair):
        for guest in pair.guests:
            driver = guest.text("readlink -f /sys/bus/pci/devices/0000:00:05.0/driver")
            assert driver.endswith("/ntb_hw_intel")
            assert guest.text("ls /sys/bus/ntb/devices") == "0000:00:05.0"

    def test_link_and_scratchpads_cross(self, pair):
        for guest in pair.guests:
            guest.modprobe("ntb_tool")
            guest.run(f"echo Y >{TOOL}/link")
        pair.wait_link()
        pair.lender.run(f"echo 0x12345678 >{TOOL}/peer0/spad3")
        assert int(pair.borrower.read(f"{TOOL}/spad3"), 0) == 0x12345678
        pair.borrower.run(f"echo 0x9abcdef0 >{TOOL}/peer0/spad3")
        assert int(pair.lender.read(f"{TOOL}/spad3"), 0) == 0x9ABCDEF0
        for guest in pair.guests:
            guest.run("modprobe -r ntb_tool")

    def test_doorbells_cross(self, pair):
        for guest in pair.guests:
            guest.modprobe("ntb_pingpong")
        count = "cat /sys/kernel/debug/ntb_pingpong/0000:00:05.0/count"
        try:
            for guest in pair.guests:
                until(lambda g=guest: int(g.text(count)) >= 3, 30, f"{guest.name}: pings")
        finally:
            for guest in pair.guests:
                guest.run("modprobe -r ntb_pingpong")
