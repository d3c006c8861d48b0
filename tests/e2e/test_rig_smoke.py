# SPDX-License-Identifier: GPL-2.0
"""The rig itself: guests boot and obey, the NTB joins them, and a kernel that complains
is heard."""

import time

import pytest

from rig import CommandFailed, GuestGone, Nvme
from rig.agent import until
from rig.ntbsim import walk
from rig.pair import link_is_up

TOOL = "/sys/kernel/debug/ntb_tool/0000:00:05.0"


def tool_link_up(pair):
    """Load ntb_tool on both sides and bring the link up with it."""
    for guest in pair.guests:
        guest.modprobe("ntb_tool")
        guest.run(f"echo Y >{TOOL}/link")
    pair.wait_link()


@pytest.mark.parametrize("kernel", ["6.12", pytest.param("checking", marks=pytest.mark.checking)])
def test_guest_boots(make_guest, kernel):
    guest = make_guest(kernel=kernel, devices=[Nvme(serial="SMOKE1", size=8 << 20)], modules=("nvme",))
    assert guest.text("uname -r") == guest.kernel.release
    until(lambda: not guest.run("test -b /dev/nvme0n1", check=False).rc, 30, "the drive's block device")
    assert guest.read("/sys/class/nvme/nvme0/serial").strip() == "SMOKE1"


@pytest.mark.checking
@pytest.mark.parametrize("kernel", ["6.1", "7.x"])
def test_other_kernels_bind_the_ntb(make_pair, kernel):
    pair = make_pair(kernel=kernel)
    for guest in pair.guests:
        assert guest.text("ls /sys/bus/ntb/devices") == "0000:00:05.0"


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
        tool_link_up(pair)
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

    def test_link_goes_down_and_up(self, pair):
        tool_link_up(pair)
        pair.ntbsim.link(up=False)
        for guest in pair.guests:
            until(lambda g=guest: not link_is_up(g), 30, f"{guest.name}: link down")
        pair.ntbsim.link(up=True)
        pair.wait_link()
        for guest in pair.guests:
            guest.run("modprobe -r ntb_tool")

    def test_the_function_can_be_removed_and_found_again(self, pair):
        guest = pair.borrower
        guest.run("echo 1 >/sys/bus/pci/devices/0000:00:05.0/remove")
        assert guest.text("ls /sys/bus/ntb/devices") == ""
        guest.run("echo 1 >/sys/bus/pci/rescan")
        assert guest.text("ls /sys/bus/ntb/devices") == "0000:00:05.0"
        tool_link_up(pair)
        for guest in pair.guests:
            guest.run("modprobe -r ntb_tool")

    def test_a_host_that_dies_comes_back(self, pair):
        tool_link_up(pair)
        pair.lender.kill()
        until(lambda: not link_is_up(pair.borrower), 30, "borrower: link down")
        pair.lender.restart()
        pair.lender.modprobe("ntb_tool")
        pair.lender.run(f"echo Y >{TOOL}/link")
        pair.wait_link()
        pair.lender.run(f"echo 5 >{TOOL}/peer0/spad1")
        assert int(pair.borrower.read(f"{TOOL}/spad1"), 0) == 5
        pair.lender.run("modprobe -r ntb_tool")
        pair.borrower.run("modprobe -r ntb_tool")

    def test_counters_tell_what_crossed(self, pair):
        tool_link_up(pair)
        pair.ntbsim.reset_counters()
        pair.lender.run(f"echo 7 >{TOOL}/peer0/spad2")
        counts = dict(walk(pair.ntbsim.counters()))
        assert counts["ports.a.out.spad_peer_writes"] == 1
        assert counts["ports.b.out.spad_peer_writes"] == 0
        for guest in pair.guests:
            guest.run("modprobe -r ntb_tool")


def test_the_ntb_works_behind_an_iommu(make_pair):
    pair = make_pair(iommu=True)
    for guest in pair.guests:
        assert guest.run("test -e /sys/bus/pci/devices/0000:00:05.0/iommu_group", check=False).rc == 0
    tool_link_up(pair)
