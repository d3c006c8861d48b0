# SPDX-License-Identifier: GPL-2.0
"""The simulator and the rig, judged by tests that nobody here wrote: the kernel's own
tools/testing/selftests/ntb/ntb_test.sh, and iperf3 over ntb_netdev. Without devlend.

Windows of 64 KiB: ntb_tool and ntb_perf allocate a window's memory in one piece, aligned to the
BAR's size, and the peer reads it through the window, eight bytes a message.
"""

import json
import re

from lending import wait
from rig import paths
from rig.ntbsim import walk
from rig.pair import NTB_BDF, NTB_MODULES
from rig.remote import Remote

PAIR = {"windows": ({"bar": 2, "size": "64K"}, {"bar": 4, "size": "64K"}), "devices": [], "modules": NTB_MODULES}

# What ntb_test.sh tries, in its own words, and how often it then says "Passed". Intel's NTBs have no message
# registers; ntb_hw_intel leaves no interrupt vector for ntb_msi_test, which is not built.
PARTS = {"port": 1, "link": 2, "db": 2, "spad": 2, "mw0": 2, "mw1": 2, "ping pong": 1,
         "local perf": 1, "remote perf": 1}
TRANSPORT_MTU = 4096	# so that a window holds more frames than the ten that ntb_netdev wants to see free
PERF_ORDER = 20		# bytes, as a power of two, that ntb_perf copies; by default it is 4 GiB


def test_the_kernels_own_ntb_test_passes(pair, record_property):
    """All that ntb_test.sh can try on this driver, in both directions."""
    here, there = pair.guests
    here.push(paths.CACHE / "ntb" / "6.12" / "ntb_test.sh", "/tmp/ntb_test.sh", 0o755)
    remote = Remote(here, there)
    try:
        result = here.run(f"bash /tmp/ntb_test.sh -p {PERF_ORDER} -r {there.name} {NTB_BDF} {NTB_BDF}",
                          timeout=900, check=False)
    finally:
        remote.close()
    assert not result.rc, result
    parts = re.findall(r"^Running (.*?) tests? .*\n(?:.*\n)*?  (Passed|Unsupported)$", result.out, re.M)
    for name, times in PARTS.items():
        assert parts.count((name, "Passed")) == times, f"{name}: not {times} times\n{result}"
    assert [name for name, how in parts if how == "Unsupported"] == ["msg", "msg"]
    assert "Not doing MSI tests" in result.out
    record_property("tests of ntb_test.sh passed", sum(PARTS.values()))
    record_property("commands it ran on the other host", len(remote.commands))


def crossed(pair):
    """Bytes written through each port's windows."""
    counts = dict(walk(pair.ntbsim.counters()))
    return [sum(n for where, n in counts.items() if re.match(rf"ports\.{port}\..*bytes_written$", where))
            for port in "ab"]


def test_netdev_carries_iperf3(pair, record_property):
    """A network over ntb_transport, both ways; and devlend says who has the NTB meanwhile."""
    size = 1 << 20
    # A link that comes up while ntb_transport is probed may be missed for good: probe still reads it as down and queues
    # a clean-up, which cancels the work that the link's interrupt has queued meanwhile (6.12). So it comes up afterwards.
    pair.ntbsim.link(False)
    for n, guest in enumerate(pair.guests, 1):
        guest.run(f"modprobe ntb_transport transport_mtu={TRANSPORT_MTU} && modprobe ntb_netdev")
        guest.run(f"ip addr add 10.9.0.{n}/24 dev eth0 && ip link set eth0 up")
    pair.ntbsim.link(True)
    for guest in pair.guests:
        wait(guest, "[ \"$(cat /sys/class/net/eth0/carrier)\" = 1 ]", 60, "carrier of ntb_netdev")
    for option, sender in (("", 0), ("--reverse", 1)):
        server = pair.borrower.spawn("exec iperf3 --server --one-off --forceflush")
        server.wait_output("Server listening")
        before = crossed(pair)
        out = pair.lender.text(f"iperf3 --client 10.9.0.2 --bytes {size} --json {option}", timeout=240)
        end = json.loads(out)["end"]
        sent = crossed(pair)[sender] - before[sender]
        assert end["sum_received"]["bytes"] >= size
        assert sent >= size, "it did not go through the windows"
        server.wait(60)
        name = f"{pair.guests[sender].name} to {pair.guests[1 - sender].name}"
        record_property(f"iperf3, {name}, bytes received", end["sum_received"]["bytes"])
        record_property(f"iperf3, {name}, bytes that crossed", sent)

    guest = pair.lender
    guest.modprobe("devlend_core")
    assert guest.text("dmesg | grep -c 'held by ntb_transport: unload it'") == "1"
    assert guest.run("ls -d /sys/bus/devlend/devices/link*", check=False).rc
    guest.run("modprobe -r devlend_core && modprobe -r ntb_netdev ntb_transport && modprobe devlend_core")
    assert guest.text("ls /sys/bus/devlend/devices") == "link0"
    guest.run("modprobe -r devlend_core")
    pair.borrower.run("modprobe -r ntb_netdev ntb_transport")
