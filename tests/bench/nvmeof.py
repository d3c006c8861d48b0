# SPDX-License-Identifier: GPL-2.0
"""The other way to the same drive: the kernel's nvmet exports it over NVMe/TCP, on ntb_netdev, through the same NTB.

ntb_transport wants, for each memory window that it uses, memory as large as the window and aligned to it. With use_msi
it leaves the last window, of 4 GiB here, to interrupt messages; ntb_hw_intel has no vector left for those, so it rings
doorbells, as it does by default. The first window carries the data.

Where the windows are mapped through (rounds.py), the front half of the first leads to a fixed place in the peer's memory. There
ntb_transport's buffer must lie: tests/kmod/rig_place.c sees to that. Of two queues that share the window, the one that is used
has the front half.
"""

import contextlib
import re

import lending
from rig.pair import NTB_BDF

NQN = "nqn.2014-08.org.nvmexpress:uuid:b0000000-0000-4000-8000-000000000001"
NVMET = "/sys/kernel/config/nvmet"
ADDRESS = {"lender": "10.9.0.1", "borrower": "10.9.0.2"}
PORT = 4420
PLACE = 256 << 20	# address of the buffer where it is not the allocator's choice
WINDOW = 4 << 20	# and size of the window that leads there
APPEND = f"memmap={WINDOW >> 20}M${PLACE:#x}"	# keeps it from the kernel
OWN = ("devlend_lender", "devlend_borrower", "devlend_core")


def _network(pair, place):
    for guest in pair.guests:
        guest.run("modprobe -r " + " ".join(OWN))
    # ntb_transport may miss for good a link that comes up while it is probed, see tests/e2e/test_ntb_selftest.py
    pair.ntbsim.link(False)
    for guest in pair.guests:
        queues = ""
        if place:
            guest.run(f"modprobe rig_place device={NTB_BDF} start={place} size={WINDOW}")
            queues = "max_num_clients=2"
        guest.run(f"modprobe ntb_transport use_msi=1 {queues} && modprobe ntb_netdev")
        guest.run(f"ip addr add {ADDRESS[guest.name]}/24 dev eth0 && ip link set eth0 up")
    pair.ntbsim.link(True)
    for guest in pair.guests:
        lending.wait(guest, '[ "$(cat /sys/class/net/eth0/carrier)" = 1 ]', 90, "carrier of ntb_netdev")
    if place:
        found = [port["windows"][0]["xbase"] for port in pair.ntbsim.status()["ports"]]
        if found != [place, place]:
            raise lending.StepFailed(f"the buffers of ntb_transport lie at {found}, instead of {place}")


def _no_network(pair):
    for guest in pair.guests:
        guest.run("modprobe -r ntb_netdev && modprobe -r ntb_transport && modprobe -r rig_place")
    for guest in pair.guests:
        guest.modprobe(*reversed(OWN))
    lending.ready(pair)


def _export(lender, disk):
    lender.modprobe("nvmet", "nvmet-tcp")
    subsystem, port = f"{NVMET}/subsystems/{NQN}", f"{NVMET}/ports/1"
    lender.run(f"mkdir -p {subsystem}/namespaces/1 {port} && cd {subsystem} && echo 1 >attr_allow_any_host && "
               f"echo -n /dev/{disk} >namespaces/1/device_path && echo 1 >namespaces/1/enable && "
               f"cd {port} && echo tcp >addr_trtype && echo ipv4 >addr_adrfam && "
               f"echo {ADDRESS['lender']} >addr_traddr && echo {PORT} >addr_trsvcid && "
               f"ln -s {subsystem} subsystems/{NQN}")


def _withdraw(lender):
    subsystem, port = f"{NVMET}/subsystems/{NQN}", f"{NVMET}/ports/1"
    lender.run(f"rm {port}/subsystems/{NQN} && rmdir {port} && echo 0 >{subsystem}/namespaces/1/enable && "
               f"rmdir {subsystem}/namespaces/1 {subsystem} && modprobe -r nvmet-tcp nvmet")


@contextlib.contextmanager
def exported(pair, bdf, place=None):
    """The drive by NVMe/TCP: the borrower's block device. devlend is not loaded meanwhile."""
    _network(pair, place)
    _export(pair.lender, lending.nvme_block(pair.lender, bdf))
    guest = pair.borrower
    guest.modprobe("nvme-tcp")
    guest.run(f"nvme connect --transport=tcp --traddr={ADDRESS['lender']} --trsvcid={PORT} --nqn={NQN} "
              f"--hostnqn={NQN[:-1]}2 --hostid=b0000000-0000-4000-8000-000000000002", timeout=120)
    lending.wait(guest, "ls /sys/block | grep -q 'nvme[0-9]*n1$'", 60, "block device of NVMe/TCP")
    disk = re.search(r"^nvme\d+n1$", guest.text("ls /sys/block"), re.M).group()
    # it can be opened when its partitions were looked for
    guest.run(f"dd if=/dev/{disk} of=/dev/null bs=4k count=1 iflag=direct status=none", timeout=120)
    yield disk
    guest.run(f"nvme disconnect --nqn={NQN}", timeout=120)
    _withdraw(pair.lender)
    _no_network(pair)
