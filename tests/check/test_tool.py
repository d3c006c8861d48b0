# SPDX-License-Identifier: GPL-2.0
"""The devlend tool on fake hosts: what it writes, says and answers.

To programs as tools/devlend/schema.json has it, to people one line for each mistake. That the kernel does as
the fakes do is shown by tests/e2e/test_devlend.py.
"""

import json
import os
import stat
import threading

import jsonschema
import pytest

from fake_host import BUS, DRIVER, E1000E, PEER, FakeHost
from tool_host import (BUSY, CARD, DRIVE, FAILED, IMPOSSIBLE, LINK, MODULES, NOT_FOUND, OFFERED, OK, REASONS, RIGHTS,
                       TIMEOUT, USAGE, Running, built, devlend, document, fail_with, hold, host, mounted, schema)

__all__ = ["built", "host"]	# fixtures

# The command line


def test_no_verb_and_wrong_verb(host):
    assert devlend(host).status == USAGE
    assert 'no verb "frob"' in devlend(host, "frob").err
    assert devlend(host, "frob").status == USAGE
    assert devlend(host, "list", "extra").status == USAGE
    assert devlend(host, "list", "--force").status == USAGE
    assert devlend(host, "borrow", "--slot", "256", "x").status == USAGE
    assert devlend(host, "lend", "--wait=-1", DRIVE).status == USAGE
    assert devlend(host, "--help").status == OK


def test_nothing_named(host):
    for verb in ("lend", "reclaim", "borrow", "return"):
        said = devlend(host, verb)
        assert said.status == USAGE and f"{verb} what?" in said.line


@pytest.mark.parametrize("text", ["", ",", "class=01,", "slot=", "slot=:.", "slot=*:*.*", "id=:", "host=", "class=xx",
                                  "driver=" + 300 * "n", "class", "class=", "class=1", "class=0108021", "class=zz",
                                  "id=8086", "id=x:y", "slot=3b:20.0", "slot=::.9", "driver=", "colour=red",
                                  "id=10000:"])
def test_wrong_filter(host, text):
    said = devlend(host, "lend", "--filter", text)
    assert said.status == USAGE and "want class=0108" in said.err and not host.read(f"{DRIVER}/lend")


def test_json_before_the_verb(host):
    said = devlend(host, "--json", "list")
    assert json.loads(said.out)["command"] == "list"


# Modules, rights, links


def test_modules_are_not_loaded(tmp_path):
    host = FakeHost(tmp_path / "bare")
    for verb, argument, remedy in (("lend", DRIVE, "modprobe devlend_lender"),
                                   ("reclaim", DRIVE, "modprobe devlend_lender"),
                                   ("borrow", OFFERED, "modprobe devlend_borrower"),
                                   ("return", "8000", "modprobe devlend_borrower"),
                                   ("list", None, "modprobe -a devlend_lender devlend_borrower"),
                                   ("show", None, "modprobe -a devlend_lender devlend_borrower"),
                                   ("watch", None, "modprobe -a devlend_lender devlend_borrower")):
        argv = [verb] + ([argument] if argument else [])
        said = devlend(host, *argv)
        assert said.status == MODULES and remedy in said.line
        status, made = document(host, *argv)
        assert status == MODULES
        assert made["error"]["status"] == MODULES and made["error"]["reason"] == "modules"


def test_rights(host):
    """Another user than root gets one line, and nothing is written."""
    name = host.offer()
    lease = host.lease(host.offer("0000:3c:00.0", "lent"))
    host.lent("0000:00:08.0")
    for path in (f"{DRIVER}/lend", f"{DRIVER}/reclaim", f"{BUS}/{name}/borrow", f"{BUS}/{lease}/return"):
        (host.root / path).chmod(0o200)
    for argv in (("lend", DRIVE), ("reclaim", "0000:00:08.0"), ("borrow", name), ("return", lease)):
        said = devlend(host, *argv, user=65534)
        assert said.status == RIGHTS and "root" in said.line, argv
    assert devlend(host, "list", user=65534).status == OK


@pytest.mark.parametrize("state, remedy", [("down", "cabled"), ("hello", "load devlend_core on it"),
                                           ("incompatible", "one version of devlend on both"), ("gone", "gone")])
def test_borrow_without_a_link(host, state, remedy):
    host.link(state)
    said = devlend(host, "borrow", OFFERED)
    assert said.status == LINK and remedy in said.line


def test_borrow_without_an_ntb(host):
    assert "load its driver" in devlend(host, "borrow", OFFERED).line
    (host.root / "sys/bus/ntb/drivers/ntb_transport").mkdir(parents=True)
    host.link_to("sys/bus/ntb/devices/0000:00:05.0/driver", "sys/bus/ntb/drivers/ntb_transport")
    said = devlend(host, "borrow", OFFERED)
    assert said.status == LINK and "ntb_transport has the NTB; rmmod ntb_transport" in said.line


# List


def test_list(host):
    host.link()
    host.lent(DRIVE, "borrowed", PEER)
    host.lease(host.offer("0000:3c:00.0", "lent"))
    host.offer()
    out = devlend(host, "list").out
    assert [line.split()[0] for line in out.splitlines()] == [
        "LENT", DRIVE, "BORROWED", "lease-8000", "OFFERED", "offer-4c4c4544-0000:3b:00.0", "offer-4c4c4544-0000:3c:00.0"]
    assert f"{DRIVE}  borrowed  4c4c4544" in out
    assert "nvme1n1" in out and "QEMU NVM Express Controller" in out
    assert "lease-8000  active  4c4c4544  8000:00:00.0" in out


def test_list_json(host):
    link = host.link()
    host.lent(DRIVE, "borrowed", PEER)
    host.attributes(f"sys/devices/pci0000:00/{DRIVE}/lent-{DRIVE}", since=1700000000)
    host.lease(host.offer("0000:3c:00.0", "lent", link=link))
    status, made = document(host, "list")
    assert status == OK
    lent, borrowed, offered = made["lent"][0], made["borrowed"][0], made["offered"][0]
    assert (lent["device"], lent["state"], lent["peer"], lent["since"]) == (DRIVE, "borrowed", PEER, 1700000000)
    assert lent["ids"]["class"] == "010802" and lent["name"] == "Red Hat, Inc. QEMU NVM Express Controller"
    assert lent["class_name"] == "Non-Volatile memory controller"
    assert (borrowed["lease"], borrowed["pci"], borrowed["driver"]) == ("lease-8000", "8000:00:00.0", "nvme")
    assert borrowed["disks"] == ["nvme1n1"] and borrowed["since"] is None and borrowed["device"] == "0000:3c:00.0"
    assert (borrowed["peer"], borrowed["irq_proof"]) == (PEER, "seen")
    assert offered["link"] == "link0" and offered["bar_sizes"][0] == 16384 and offered["host"] == PEER


def test_list_of_nothing_and_filters(host):
    status, made = document(host, "list")
    assert (status, made["lent"], made["borrowed"], made["offered"]) == (OK, [], [], [])
    for verb in ("list", "show"):
        said = devlend(host, verb)
        assert said.status == OK and "no link: no NTB is there; load its driver" in said.line
    host.link()
    assert "devlend lend, here or on the other host" in devlend(host, "list").line
    assert "does not fit the filter" in devlend(host, "list", "--filter", "class=02").line
    host.offer()
    host.offer("0000:3d:00.0", ids=E1000E)
    for text, count in (("class=02", 1), ("class=0108xx", 1), ("class=03", 0), ("id=8086:", 1), ("id=:0010", 1),
                        ("slot=3b:", 1), ("slot=00.0", 2), ("slot=0001::", 0), ("slot=.1", 0), ("host=4C4C", 2),
                        ("host=4d", 0), ("class=02,id=1b36:", 0)):
        assert len(document(host, "list", "--filter", text)[1]["offered"]) == count, text


@pytest.mark.parametrize("text", ["no list\n", "8086\n", None])
def test_list_of_names_is_broken(host, text):
    """Numbers will do."""
    host.lent(DRIVE)
    host.remove("usr/share/misc/pci.ids")
    if text:
        host.put("usr/share/misc/pci.ids", text)
    said = devlend(host, "list")
    assert (said.status, said.err) == (OK, "") and "Device 1b36:0010\n" in said.out
    assert "[0108]" in devlend(host, "show").out


def test_peer_of_a_lost_lease(host):
    """The offer goes with the link; the lender is still told apart, and --filter finds it either way."""
    offer = host.offer("0000:3c:00.0", "lent")
    host.lease(offer)
    assert devlend(host, "return", "-n", "--filter", "host=4c4c4544-0042").status == OK
    host.remove(f"{BUS}/{offer}")
    assert document(host, "list", "--filter", "host=4c4c")[1]["borrowed"][0]["peer"] == "4c4c4544"
    assert "lender         4c4c4544\n" in devlend(host, "show", "8000").out


# Lend


def test_lend(host):
    said = devlend(host, "lend", "00:06.0")
    assert (said.status, said.err) == (OK, "")
    assert said.out == f"{DRIVE}: lent (Red Hat, Inc. QEMU NVM Express Controller)\n"
    assert host.read(f"{DRIVER}/lend") == DRIVE


@pytest.mark.parametrize("name", ["/dev/nvme0n1", "nvme0n1p1", "nvme0", DRIVE])
def test_lend_by_other_names(host, name):
    assert devlend(host, "lend", name).status == OK
    assert host.read(f"{DRIVER}/lend") == DRIVE


def test_lend_no_reset(host):
    assert devlend(host, "lend", "--no-reset", DRIVE).status == OK
    assert host.read(f"{DRIVER}/lend") == f"{DRIVE} force"


def test_lend_dry_run(host):
    assert "would be lent" in devlend(host, "lend", "-n", DRIVE).out
    status, made = document(host, "lend", "-n", DRIVE)
    assert (status, made["dry_run"], made["results"][0]["done"]) == (OK, True, True)
    assert host.read(f"{DRIVER}/lend") == ""


def test_lend_what_is_not_there(host):
    for name, status, text in (("0000:00:1e.0", NOT_FOUND, "lspci -D"), ("0000:00:20.0", USAGE, "not an address"),
                               ("nvme7n1", NOT_FOUND, "no PCI device"), ("/dev/disk/by-id/x", NOT_FOUND, "no PCI")):
        said = devlend(host, "lend", name)
        assert said.status == status and text in said.line, name
    host.lent(DRIVE)
    said = devlend(host, "lend", DRIVE)
    assert said.status == BUSY and "already lent" in said.line


def test_lend_what_never_can_be(host):
    """Not by force either; a dry run knows it, too."""
    host.lease(host.offer(state="lent"))
    host.pci("0000:00:1f.0", ("8086", "2918", "060100"), "lpc_ich")
    host.pci("0000:00:05.0", ("8086", "201c", "068000"), "ntb_hw_intel")
    host.put("sys/bus/ntb/devices/0000:00:05.0/uevent", "")
    for name, text in (("8000:00:00.0", "lend it there"), ("nvme1n1", "lend it there"), ("00:1f.0", "it is a bridge"),
                       ("00:05.0", "it is the NTB")):
        said = devlend(host, "lend", "-n", "--force", name)
        assert said.status == IMPOSSIBLE and text in said.line, name


def mounted_elsewhere(host):
    (host.root / "proc/77/ns").mkdir(parents=True)
    os.symlink("mnt:[4026532000]", host.root / "proc/77/ns/mnt")
    host.put("proc/77/mountinfo", "36 22 0:45 / /data rw - btrfs /dev/nvme0n1 rw\n")


def swapped(host):
    host.put("proc/swaps", "Filename\tType\n/dev/nvme0n1p1 partition 1000 0 -2\n")


def in_volume_group(host):
    host.put(f"sys/class/block/nvme0n1p1/holders/dm-0/dev", "253:0\n")
    host.put("sys/class/block/dm-0/dm/name", "vg-root\n")


def in_raid(host):
    host.put(f"sys/class/block/nvme0n1/holders/md127/dev", "9:127\n")


def behind_loop(host):
    host.put("sys/block/loop3/loop/backing_file", "/dev/nvme0n1\n")


def exported(host):
    """By another name than its own; a namespace that is not enabled, and another drive's, are none."""
    namespaces = "sys/kernel/config/nvmet/subsystems/x/namespaces"
    host.attributes(f"{namespaces}/1", enable=1, device_path="/dev/nvme9n1")
    host.attributes(f"{namespaces}/2", enable=0, device_path="/dev/nvme0n1")
    assert devlend(host, "lend", "-n", DRIVE).status == OK
    host.attributes(f"{namespaces}/7", enable=1, device_path="/dev/disk/by-id/it")
    (host.root / "dev/disk/by-id").mkdir(parents=True)
    os.mknod(host.root / "dev/disk/by-id/it", stat.S_IFBLK | 0o600, os.makedev(259, 0))


def member(host):
    host.put("run/udev/data/b259:1", "I:1\nE:ID_FS_TYPE=linux_raid_member\nE:ID_FS_USAGE=raid\n")


def opened(host):
    (host.root / "proc/812/fd").mkdir(parents=True)
    os.symlink("/dev/nvme0n1", host.root / "proc/812/fd/5")
    host.put("proc/812/comm", "qemu\n")


def multipath(host):
    """The drive is elsewhere; below the controller is only a hidden path."""
    controller = f"sys/devices/pci0000:00/{DRIVE}/nvme/nvme0"
    host.remove("sys/class/block/nvme0n1")
    host.remove("sys/class/block/nvme0n1p1")
    host.remove(f"{controller}/nvme0n1")
    host.attributes(f"{controller}/nvme0c0n1", hidden=1)
    host.link_to(f"{controller}/nvme0c0n1/subsystem", "sys/class/block")
    disk = host.block("sys/devices/virtual/nvme-subsystem/nvme-subsys0", "nvme0n1", "259:0")
    host.block(disk, "nvme0n1p1", "259:1", partition=1)
    mounted(host)


@pytest.mark.parametrize("use, text", [
    (mounted, "nvme0n1p1 is mounted on /srv/my data; umount"), (mounted_elsewhere, "nvme0n1 is mounted on /data"),
    (swapped, "swapoff /dev/nvme0n1p1"), (in_volume_group, "nvme0n1p1 is part of vg-root (dm-0"),
    (in_raid, "mdadm --stop /dev/md127"), (behind_loop, "losetup -d /dev/loop3"),
    (exported, "exported by nvmet; write 0 to /sys/kernel/config/nvmet/subsystems/x/namespaces/7/enable"),
    (member, "linux_raid_member"), (opened, "opened by qemu (process 812)"), (multipath, "nvme0n1p1 is mounted")])
def test_lend_what_is_in_use(host, use, text):
    """Refused with how it is in use and what ends that; --force lends it; an idle one is lent."""
    assert devlend(host, "lend", "-n", DRIVE).status == OK
    use(host)
    said = devlend(host, "lend", DRIVE)
    assert said.status == BUSY and text in said.line and said.line.endswith("or --force")
    assert host.read(f"{DRIVER}/lend") == ""
    status, made = document(host, "lend", DRIVE)
    assert status == BUSY and text in made["results"][0]["error"]["message"]
    assert devlend(host, "lend", "--force", DRIVE).status == OK
    assert host.read(f"{DRIVER}/lend") == DRIVE


def test_lend_an_interface_that_is_up(host):
    assert devlend(host, "lend", "-n", "eth0").status == OK
    host.attributes("sys/class/net/eth0", flags="0x1003")
    said = devlend(host, "lend", CARD)
    assert said.status == BUSY and "ip link set eth0 down" in said.line


def test_lend_many(host):
    """By class: bridges, what is lent and what is borrowed are left out, a refusal does not stop the rest."""
    host.pci("0000:00:00.0", ("8086", "29c0", "060000"), None)
    host.drive("0000:00:08.0", "nvme2", 16)
    host.drive("0000:00:09.0", "nvme3", 24)
    host.lent("0000:00:09.0")
    host.lease(host.offer(state="lent"))
    swapped(host)
    said = devlend(host, "lend", "--filter", "class=0108")
    assert said.status == BUSY
    assert said.err.startswith(f"devlend: {DRIVE}: nvme0n1p1 is swap")
    assert said.out.startswith("0000:00:08.0: lent")
    assert host.read(f"{DRIVER}/lend") == "0000:00:08.0"
    _, made = document(host, "lend", "-n", "--filter", "driver=nvme")
    assert [(r["target"], r["done"]) for r in made["results"]] == [(DRIVE, False), ("0000:00:08.0", True)]
    said = devlend(host, "lend", "--filter", "class=03")
    assert said.status == NOT_FOUND and "no device to lend fits" in said.line


# What the kernel answers


@pytest.mark.parametrize("code, status, text", [
    ("ENOTTY", IMPOSSIBLE, "--no-reset"), ("EOPNOTSUPP", IMPOSSIBLE, "cannot be done"), ("EBUSY", BUSY, "--wait"),
    ("ELOOP", IMPOSSIBLE, "lend it there"), ("ENODEV", NOT_FOUND, "gone"), ("EIO", FAILED, "dmesg"),
    ("ESHUTDOWN", MODULES, "unloaded"), ("ETIMEDOUT", TIMEOUT, "devlend list"), ("ENOTCONN", LINK, "devlend status"),
    ("EPERM", IMPOSSIBLE, "does not allow"), ("EXDEV", FAILED, "cross-device"), ("ENOSPC", IMPOSSIBLE, "window"),
    ("ERANGE", IMPOSSIBLE, "pcie_bus_peer2peer"), ("ENXIO", FAILED, "modprobe it there")])
def test_kernel_refuses(host, code, status, text):
    fail_with(host, f"{DRIVER}/lend", code)
    said = devlend(host, "lend", DRIVE)
    assert said.status == status and text in said.line.replace("Invalid cross-device", "cross-device")
    got, made = document(host, "lend", DRIVE)
    error = made["results"][0]["error"]
    assert got == error["status"] == status and error["reason"] == REASONS[status]


def test_reason_from_the_kernel_log(host):
    """The last error of ours since the write, without what surrounds it; not what is no error or not ours."""
    fail_with(host, f"{DRIVER}/lend", "EOPNOTSUPP",
              f"3,10,1,-;nvme {DRIVE}: not lent: it is a bridge; lend the functions below it (-95)\n SUBSYSTEM=pci\n"
              f"6,11,1,-;devlend lent: hello\n3,12,1,-;usb 1-1: device descriptor read (-71)\n")
    assert devlend(host, "lend", DRIVE).line == \
        f"devlend: {DRIVE}: not lent: it is a bridge; lend the functions below it"


# Reclaim


def test_reclaim(host):
    host.lent(DRIVE)
    said = devlend(host, "reclaim", DRIVE)
    assert said.status == OK and said.out == f"{DRIVE}: reclaimed, driver nvme\n"
    assert host.read(f"{DRIVER}/reclaim") == DRIVE
    for name, status in ((CARD, NOT_FOUND), ("nonsense", USAGE)):
        assert devlend(host, "reclaim", name).status == status


def test_reclaim_what_is_borrowed(host):
    host.lent(DRIVE, "borrowed", PEER)
    said = devlend(host, "reclaim", DRIVE)
    assert said.status == BUSY and "in use by host 4c4c4544" in said.line and "--revoke" in said.line
    assert host.read(f"{DRIVER}/reclaim") == ""
    assert devlend(host, "reclaim", "--revoke", DRIVE).status == OK
    assert host.read(f"{DRIVER}/reclaim") == DRIVE
    assert devlend(host, "reclaim", "--force", "--filter", "host=4c4c").status == OK
    assert host.read(f"{DRIVER}/reclaim") == f"{DRIVE} force"


# Borrow


@pytest.mark.parametrize("name", [OFFERED, "3b:00.0", "offer-4c4c4544-0000:3b:00.0", "4c4c4544-0000:3b:00.0",
                                  f"{PEER}/{OFFERED}/1"])
def test_borrow(host, name):
    host.link()
    offer = host.offer()
    said = devlend(host, "borrow", name)
    assert said.status == OK, said.err
    assert host.read(f"{BUS}/{offer}/borrow") == "auto"
    assert devlend(host, "borrow", "--slot", "7", name).status == OK
    assert host.read(f"{BUS}/{offer}/borrow") == "7"


def test_borrow_tells_what_it_became(host):
    """A kernel that makes the lease, and its driver the disk, after the write."""
    host.link()
    offer = host.offer()
    let_go = hold(host, f"{BUS}/{offer}/borrow")
    thread = threading.Thread(target=let_go, args=(lambda: host.lease(offer),))
    thread.start()
    status, made = document(host, "borrow", offer)
    thread.join()
    lease = made["results"][0]["lease"]
    assert (status, lease["pci"], lease["disks"]) == (OK, "8000:00:00.0", ["nvme1n1"])
    said = devlend(host, "borrow", offer)
    assert said.status == BUSY and "borrowed here already, as lease-8000, 8000:00:00.0" in said.line


@pytest.mark.parametrize("state, status, text", [("lent", BUSY, "another host"), ("busy", BUSY, "being reset"),
                                                 ("quarantined", IMPOSSIBLE, "reclaim it there"),
                                                 ("forbidden", IMPOSSIBLE, f"lent-{OFFERED}/allow")])
def test_borrow_what_is_not_available(host, state, status, text):
    host.link()
    offer = host.offer(state=state)
    said = devlend(host, "borrow", OFFERED)
    assert said.status == status and text in said.line
    assert host.read(f"{BUS}/{offer}/borrow") == ""


def test_borrow_what_is_not_there_or_not_clear(host):
    host.link()
    assert devlend(host, "borrow", OFFERED).status == NOT_FOUND
    host.offer()
    host.offer(host="5d5d0000-0000-0000-0000-000000000000")
    said = devlend(host, "borrow", OFFERED)
    assert said.status == USAGE and "2 hosts" in said.line and "offer-" in said.line
    _, made = document(host, "borrow", "-n", "--filter", "host=5d5d")
    assert [r["target"] for r in made["results"]] == ["offer-5d5d0000-0000:3b:00.0"]


# Return


@pytest.mark.parametrize("name", ["lease-8000", "8000", "8000:00:00.0", OFFERED, "/dev/nvme1n1",
                                  "offer-4c4c4544-0000:3b:00.0"])
def test_return(host, name):
    host.lease(host.offer(state="lent"))
    said = devlend(host, "return", name)
    assert said.status == OK and said.out == f"lease-8000: returned ({OFFERED} of 4c4c4544)\n"
    assert host.read(f"{BUS}/lease-8000/return") == "1"


def test_return_what_is_in_use_or_on_its_way(host):
    host.lease(host.offer(state="lent"))
    host.put("proc/self/mountinfo", "36 22 259:8 / /mnt rw - ext4 /dev/nvme1n1 rw\n")
    said = devlend(host, "return", "8000")
    assert said.status == BUSY and "nvme1n1 is mounted on /mnt" in said.line and "--force" in said.line
    assert host.read(f"{BUS}/lease-8000/return") == ""
    assert devlend(host, "return", "--force", "8000").status == OK
    host.put("proc/self/mountinfo", "")
    host.attributes(f"{BUS}/lease-8000", state="dying")
    said = devlend(host, "return", "8000")
    assert said.status == BUSY and "dying" in said.line and "--force" not in said.line
    assert devlend(host, "return", "9000").status == NOT_FOUND


# Show, status, watch


def busy_lease(host):
    """A lease whose drive has read 100 times, with two vectors; and what the kernel tells of windows."""
    host.link()
    host.lease(host.offer(state="lent"))
    host.put("sys/class/block/nvme1n1/stat", "100 0 800 5 20 0 160 3 0 0 0\n")
    for irq in (24, 25):
        host.put(f"sys/bus/pci/devices/8000:00:00.0/msi_irqs/{irq}", "msix\n")
    host.put("proc/interrupts", "      CPU0  CPU1\n 24:  3  4  IR-PCI-MSIX nvme1q0\n 25:  10  0  nvme1q1\n 26: 9 9 x\n")
    host.put("sys/kernel/debug/devlend/leases", "lease-7fff: active\n  bar0: no\nlease-8000: active\n  bar0: yes\n")
    host.put("sys/kernel/debug/devlend/link0/windows", "inbound: window state\n0 open\n")


def test_show(host):
    busy_lease(host)
    status, made = document(host, "show", "8000")
    thing = made["things"][0]
    assert (status, len(made["things"]), thing["kernel"]) == (OK, 1, ["bar0: yes"])
    activity = thing["activity"]
    assert activity["vectors"] == [{"irq": 24, "count": 7}, {"irq": 25, "count": 10}] and activity["interrupts"] == 17
    assert (activity["reads"], activity["read_bytes"], activity["writes"]) == (100, 800 * 512, 20)
    out = devlend(host, "show").out
    for text in ("link0: up", "0 open", "lease-8000: active", "bar0: yes", "24: 7", "nvme1n1", "stays in reach",
                 "DMA direct, interrupts direct (seen)", "offer-4c4c4544-0000:3b:00.0: lent",
                 "BAR            0: 16384 bytes"):
        assert text in out, text
    host.lent(DRIVE, "borrowed", PEER)
    out = devlend(host, "show", "00:06.0").out
    assert "0000:00:06.0: lent, borrowed" in out and "its borrower's memory, and nothing here" in out
    assert "and 1000 ms without an answer" in devlend(host, "show", "link0").out
    assert document(host, "show", "link0")[1]["things"][0]["link"]["atomic_timeout_ms"] == 1000
    said = devlend(host, "show", "00:1e.0")
    assert said.status == NOT_FOUND and "no such link" in said.line


def test_isolated(host):
    """Whether a lent device reaches this host: list, show and lspci tell it, or that they do not know."""
    folder = host.lent(DRIVE, "borrowed", PEER)
    host.put(f"{folder}/config", "c" * 64)
    for value, known, listed, shown in (("1", True, " yes ", "nothing here"), ("0", False, " no ", "all of this host"),
                                        (None, None, "     ", "")):
        host.remove(f"{folder}/isolated")
        if value:
            host.put(f"{folder}/isolated", f"{value}\n")
        assert listed in devlend(host, "list").out.splitlines()[1], value
        out = devlend(host, "show", DRIVE).out
        assert shown in out and bool(shown) == ("reaches" in out), value
        assert document(host, "list")[1]["lent"][0]["isolated"] is known
        assert document(host, "show", DRIVE)[1]["things"][0]["lent"]["isolated"] is known
        assert document(host, "lspci", DRIVE)[1]["isolated"] is known


def test_status(host):
    host.link()
    host.put("sys/module/devlend_core/refcnt", "2\n")
    host.put("sys/module/devlend_lender/refcnt", "0\n")
    host.lent(DRIVE, "borrowed", PEER)
    status, made = document(host, "status")
    assert (status, made["problems"], made["lent"], made["lent_borrowed"]) == (OK, [], 1, 1)
    assert devlend(host, "status").out.startswith(f"link0: up, peer {PEER}, NTB 0000:00:05.0\nlends 1, 1 of them")
    host.attributes(f"{BUS}/lent-{DRIVE}", state="quarantined")
    status, made = document(host, "status")
    assert status == FAILED and "devlend reclaim it" in made["problems"][0]["message"]
    host.attributes(f"{BUS}/link0", state="down")
    host.remove("sys/module/devlend_borrower")
    host.put("etc/devlend.conf", f"lend {DRIVE}\nborrow {OFFERED}\n")
    status, made = document(host, "status")
    assert status == MODULES and not made["modules"]["devlend_borrower"]
    assert [p["reason"] for p in made["problems"]] == ["modules", "link", "failed"]


def test_status_of_one_role(host):
    """A host that only lends, or only borrows, is well; not where its file wants the other, or neither is there."""
    host.link()
    for module in ("core", "lender"):
        host.put(f"sys/module/devlend_{module}/refcnt", "0\n")
    for here, gone, cannot, wants in (("lender", "borrower", "borrow", f"borrow {OFFERED}"),
                                      ("borrower", "lender", "lend", f"lend {DRIVE}")):
        host.put(f"sys/module/devlend_{here}/refcnt", "0\n")
        host.remove(f"sys/module/devlend_{gone}")
        said = devlend(host, "status")
        assert said.status == OK and f"cannot {cannot}: devlend_{gone} is not loaded" in said.out
        host.put("etc/devlend.conf", f"{wants}\n")
        said = devlend(host, "status")
        assert said.status == MODULES and f"modprobe devlend_{gone}" in said.err
        host.put("etc/devlend.conf", f"{wants} and so on\n")
        assert devlend(host, "status").status == USAGE
        host.remove("etc/devlend.conf")
    host.remove("sys/module/devlend_borrower")
    status, made = document(host, "status")
    assert status == MODULES and [p["reason"] for p in made["problems"]] == ["modules"]
    assert "devlend_core alone does nothing: modprobe -a" in made["problems"][0]["message"]


def test_watch(host):
    """The first look has no rates; the next has those since."""
    busy_lease(host)
    tool = Running(host, "watch", "--json", "--interval", "1", "--count", "2")
    first = json.loads(tool.process.stdout.readline())
    host.put("sys/class/block/nvme1n1/stat", "400 0 3200 5 20 0 160 3 0 0 0\n")
    second = json.loads(tool.process.stdout.readline())
    assert tool.end().status == OK
    for made in (first, second):
        jsonschema.validate(made, schema())
    assert first["seconds"] is None and first["borrowed"][0]["io_rate"] is None
    lease, seconds = second["borrowed"][0], second["seconds"]
    assert lease["io_rate"] == pytest.approx(300 / seconds) and lease["interrupt_rate"] == 0
    assert lease["bytes_in_rate"] == pytest.approx(2400 * 512 / seconds) and lease["bytes_out_rate"] == 0
    out = devlend(host, "watch", "--count", "1").out
    assert "lease-8000" in out and "link0" in out and "IO/s" in out


def test_lspci(host):
    """Whose config space it is; what lspci makes of it is tested with two hosts."""
    host.link()
    name = host.offer()
    lent = host.lent(DRIVE)
    host.lease(host.offer("0000:3c:00.0", "lent"))
    for path, byte in ((f"{lent}/config", 1), (f"sys/bus/pci/devices/{DRIVE}/config", 2),
                       ("sys/bus/pci/devices/8000:00:00.0/config", 3)):
        host.put(path, chr(byte) * 64)
    for argv, view, byte in ((("00:06.0",), "borrower", 1), (("--raw", DRIVE), "raw", 2), (("8000",), "shadow", 3)):
        status, made = document(host, "lspci", *argv)
        assert (status, made["view"], made["config"]) == (OK, view, f"{byte:02x}" * 64)
        assert made["isolated"] is (None if view == "shadow" else True)
    for argv, status, text in (((name,), IMPOSSIBLE, "when it is borrowed"), ((CARD,), NOT_FOUND, "neither lent"),
                               (("--raw", "8000"), IMPOSSIBLE, "lspci --raw there"), ((), USAGE, "one device")):
        said = devlend(host, "lspci", *argv)
        assert said.status == status and text in said.line, argv
    host.remove(f"{lent}/config")
    said = devlend(host, "lspci", DRIVE)
    assert said.status == FAILED and "one version" in said.line
