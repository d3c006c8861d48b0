# SPDX-License-Identifier: GPL-2.0
"""devlend preflight on fake hosts: each check passes where all is well, and fails or warns with its remedy where not."""

import os
import struct

import pytest

from fake_host import BUS, PEER, FakeHost
from tool_host import (BUSY, CARD, DRIVE, FAILED, IMPOSSIBLE, LINK, MODULES, NOT_FOUND, OFFERED, OK, built, devlend,
                       document, fail_with, mounted)

__all__ = ["built"]	# fixture

NTB = "0000:01:00.0"
KERNEL = "6.12.0-test"
MIB, GIB = 1 << 20, 1 << 30
WINDOWS = "sys/kernel/debug/devlend/link0/windows"
DEBUG = ("inbound: window state base size users size_max addr_align size_align\n"
         "0 closed 0x0 0x0 0 {size:#x} {align:#x} 0x1000\n"
         "1 closed 0x0 0x0 0 {size:#x} {align:#x} 0x1000\n"
         "outbound: window cpu_phys size bar\n"
         "0 0x{out:016x} 0x0000000100000000 2\n"
         "bounce: start end\n0x0000000020000000 0x{bounce:016x}\n")


def config(pcie_type=0, mps=0, msix=3, acs=None, command=6, msi=0, pin=0):
    """A config space with PCI Express, MSI-X and, if told, MSI (vectors), an INTx pin, ACS; 4096 bytes."""
    data = bytearray(4096)
    struct.pack_into("<HH", data, 4, command, 0x10)
    data[0x34] = 0x40
    data[0x3d] = pin
    struct.pack_into("<BBH", data, 0x40, 0x10, 0x50 if msix or msi else 0, 2 | pcie_type << 4)
    struct.pack_into("<H", data, 0x48, mps << 5)
    if msix:
        struct.pack_into("<BBH", data, 0x50, 0x11, 0, msix - 1)
    elif msi:
        struct.pack_into("<BBH", data, 0x50, 0x05, 0, (msi.bit_length() - 1) << 1)
    if acs is not None:
        struct.pack_into("<HHHH", data, 0x100, 0x0d, 1, 0x7f, acs)
    return bytes(data)


def put_config(host, bdf, **options):
    (host.root / f"sys/bus/pci/devices/{bdf}/config").write_bytes(config(**options))


def windows(host, size=4 * GIB, align=0x1000, out=0x3800000000, bounce=0x24000000):
    host.put(WINDOWS, DEBUG.format(size=size, align=align, out=out, bounce=bounce))


def bars(host, bdf, *places):
    """The resource file: (start, size) of each BAR."""
    lines = [f"0x{start:016x} 0x{start + size - 1:016x} 0x0000000000140204" for start, size in places]
    host.put(f"sys/bus/pci/devices/{bdf}/resource", "\n".join(lines) + "\n")


def group(host, number, *devices):
    """An IOMMU group."""
    for bdf in devices:
        host.put(f"sys/kernel/iommu_groups/{number}/devices/{bdf}", "")		# a link; its name is what counts
        folder = (host.root / f"sys/bus/pci/devices/{bdf}").resolve().relative_to(host.root.resolve())
        host.link_to(f"{folder}/iommu_group", f"sys/kernel/iommu_groups/{number}")
    host.put(f"sys/kernel/iommu_groups/{number}/type", "DMA-FQ\n")


@pytest.fixture
def good(tmp_path):
    """A host that can lend its drive and borrow an offer: drive and NTB below one switch, IOMMU for the drive."""
    host = FakeHost(tmp_path / "host").modules()
    host.put("sys/module/devlend_core/refcnt", "2\n")
    (host.root / "sys/bus/ntb/devices").mkdir(parents=True)
    host.put("proc/sys/kernel/osrelease", f"{KERNEL}\n")
    options = ("X86_64", "PCI_MSI", "SWIOTLB", "INTEL_IOMMU", "IRQ_REMAP")
    host.put(f"boot/config-{KERNEL}", "".join(f"CONFIG_{name}=y\n" for name in options))
    host.put("proc/iomem", "00001000-0009ffff : System RAM\n00100000-7fffffff : System RAM\n"
                           "  01000000-01ffffff : Kernel code\n")
    host.put("proc/cpuinfo", "flags\t\t: fpu vme\n")
    host.put("proc/cmdline", "quiet\n")
    host.put("sys/kernel/irq/24/chip_name", "IR-PCI-MSIX-0000:01:00.0\n")
    port = host.pci("0000:00:01.0", ("8086", "1901", "060400"), "pcieport")
    switch = host.pci("0000:02:00.0", ("10b5", "8747", "060400"), "pcieport", below=port)
    ports = [host.pci(f"0000:03:0{n}.0", ("10b5", "8747", "060400"), "pcieport", below=switch) for n in (0, 1)]
    host.pci(NTB, ("8086", "201c", "068000"), "ntb_hw_intel", below=ports[0])
    folder = f"{ports[0]}/{NTB}/{NTB}/link0"
    host.attributes(folder, state="up", words=16, beat_timeout_ms=3000, peer_host=PEER)
    host.link_to(f"{BUS}/link0", folder)
    host.drive(DRIVE, below=ports[1])
    host.put(f"sys/bus/pci/devices/{DRIVE}/reset_method", "flr bus\n")
    bars(host, DRIVE, (0xfeb00000, 16384))
    group(host, 3, DRIVE)
    put_config(host, "0000:00:01.0", pcie_type=4)
    put_config(host, "0000:02:00.0", pcie_type=5)
    for n in (0, 1):
        put_config(host, f"0000:03:0{n}.0", pcie_type=6, acs=0)
    for bdf in (NTB, DRIVE):
        put_config(host, bdf)
    windows(host)
    host.offer(link=folder)
    return host


def found(made, about, check):
    """The finding of a check; there is one."""
    one, = [item for item in made["checks"] if (item["about"], item["check"]) == (about, check)]
    return one


def look(host, *argv):
    """Run it: (status, document), a failure having a remedy and a status, the first of which is the exit status."""
    status, made = document(host, "preflight", *argv)
    failed = [one for one in made["checks"] if one["result"] == "fail"]
    assert all(one["remedy"] and one["status"] for one in failed), failed
    assert not any(one["status"] for one in made["checks"] if one not in failed)
    assert status == (failed[0]["status"] if failed else OK)
    return status, made


def bad(host, about, check, result, *argv):
    """Run it: one check has that result, and no other is worse than a pass but those that go with it."""
    _, made = look(host, *argv)
    one = found(made, about, check)
    assert one["result"] == result, one
    assert one["remedy"], one
    return one


def test_all_well(good):
    """Every check passes; what is told is true; nothing is written."""
    before = {path: path.read_bytes() for path in good.root.rglob("*") if path.is_file() and not path.is_symlink()}
    status, made = look(good, DRIVE, OFFERED)
    wrong = [one for one in made["checks"] if one["result"] != "pass"]
    assert status == OK and [(one["about"], one["check"]) for one in wrong] == [("link0", "iommu")], wrong
    assert made["verdicts"] == [{"about": DRIVE, "role": "lend", "result": "warn"},
                                {"about": "offer-4c4c4544-0000:3b:00.0", "role": "borrow", "result": "pass"}]
    assert found(made, "host", "memory")["message"] == "RAM ends at 2 GiB"
    assert "2 in, up to 4 GiB; 1 out, up to 4 GiB" in found(made, "link0", "windows")["message"]
    assert "MSI-X, 3 vectors" in found(made, DRIVE, "interrupts")["message"]
    assert "switch port 0000:02:00.0; ACS is not" in found(made, DRIVE, "path")["message"]
    assert before == {path: path.read_bytes() for path in before}
    out = devlend(good, "preflight", DRIVE).out
    assert f"{DRIVE}: can be lent, with warnings\n" in out and "  warn    iommu" in out and "-> intel_iommu=on" in out


TEST = "sys/kernel/debug/devlend/link0/test"


def outcomes(host, *lines, message="passed 0 0x0 0x0 0x0"):
    """What the kernel will say of a test; there is a window for each line."""
    text = "pattern: window result errno offset want is\n"
    text += "".join(f"{number} {line}\n" for number, line in enumerate(lines))
    host.put(TEST, "never\n")
    host.put(f"{TEST}.then", f"{text}message: result errno\n{message}\n")


@pytest.mark.parametrize("line, result, text", [
    ("passed 0 0x0 0x0 0x0", "pass", "arrives"), ("in-use -16 0x0 0x0 0x0", "skip", "in use"),
    ("too-small -28 0x0 0x0 0x0", "unknown", "in its reach"), ("nothing-arrived -110 0x0 0x0 0x0", "fail", "nothing"),
    ("corrupt -84 0x14 0x1 0x2", "fail", "0x2 instead of 0x1 at 0x14"), ("not-possible -95 0 0 0", "unknown", "cannot"),
    ("peer-cannot -42 0x0 0x0 0x0", "unknown", "does not know"), ("failed -103 0x0 0x0 0x0", "fail", "abort"),
    ("failed -12 0x0 0x0 0x0", "fail", "memory")])
def test_patterns(good, line, result, text):
    """Each outcome of the kernel's test, of the second window and of the message."""
    outcomes(good, "passed 0 0x0 0x0 0x0", line, message=line)
    _, made = look(good, "--test")
    first, second = [one for one in made["checks"] if one["check"] == "pattern"]
    assert (first["about"], first["result"]) == ("link0", "pass")
    assert second["result"] == found(made, "link0", "message")["result"] == result
    assert "window 1" in second["message"] and text in second["message"], second
    for argv in ((), ("--test",)):
        assert ("on the other host tests those into it." in devlend(good, "preflight", *argv).out) == bool(argv)


def test_patterns_cannot_be_had(good):
    """Nothing is written without --test; without rights, link or the kernel's part there is one line."""
    outcomes(good, "passed 0 0x0 0x0 0x0")
    before = good.read(TEST)
    look(good)
    assert good.read(TEST) == before
    for code, result in (("EACCES", "unknown"), ("ENOTCONN", "fail"), ("EINTR", "fail")):
        fail_with(good, TEST, code)
        assert bad(good, "link0", "pattern", result, "--test")["about"] == "link0"
    good.remove(TEST)
    good.remove(f"{TEST}.errno")
    assert "debugfs" in bad(good, "link0", "pattern", "unknown", "--test")["remedy"]
    good.put(f"{BUS}/link0/state", "down\n")
    bad(good, "link0", "pattern", "unknown", "--test")
    assert "on the other host" not in devlend(good, "preflight", "--test").out


def test_what_is_looked_at(good):
    """By default what is lent and offered; or what fits a filter; a word that is neither is one line."""
    good.card(CARD)
    assert [one["about"] for one in look(good)[1]["verdicts"]] == ["offer-4c4c4544-0000:3b:00.0"]
    good.lent(DRIVE, "borrowed", PEER)
    assert [one["about"] for one in look(good)[1]["verdicts"]] == [DRIVE, "offer-4c4c4544-0000:3b:00.0"]
    assert [one["about"] for one in look(good, "--filter", "class=02")[1]["verdicts"]] == [CARD]
    assert [one["about"] for one in look(good, "nvme0n1")[1]["verdicts"]] == [DRIVE]
    said = devlend(good, "preflight", "--filter", "class=03")
    assert said.status == NOT_FOUND and "fits the filter" in said.line
    said = devlend(good, "preflight", "0000:00:1e.0")
    assert said.status == NOT_FOUND and "no such device or offer" in said.line


def test_no_modules(tmp_path):
    """It works without anything, and says what is missing."""
    host = FakeHost(tmp_path / "bare")
    status, made = document(host, "preflight")
    assert status == MODULES and found(made, "host", "modules")["remedy"].startswith("modprobe")
    assert found(made, "host", "link")["status"] == LINK


def test_one_role(good):
    """A host that only lends is not told what keeps it from borrowing."""
    good.remove("sys/module/devlend_borrower")
    group(good, 4, NTB)
    status, made = look(good, DRIVE)
    assert status == OK and {role for one in made["checks"] for role in one["roles"]} == {"lend"}
    assert found(made, "link0", "iommu")["result"] == "pass" and made["verdicts"][0]["result"] == "pass"


@pytest.mark.parametrize("name, result", [("PCI_MSI", "fail"), ("IRQ_REMAP", "warn"), ("SWIOTLB", "warn")])
def test_kernel(good, name, result):
    path = f"boot/config-{KERNEL}"
    good.put(path, good.read(path).replace(f"CONFIG_{name}=y", f"# CONFIG_{name} is not set"))
    assert f"CONFIG_{name}" in bad(good, "host", "kernel", result)["message"]
    good.remove(path)
    bad(good, "host", "kernel", "unknown")


def test_no_ntb_bus(good):
    good.remove("sys/bus/ntb")
    assert bad(good, "host", "kernel", "fail")["status"] == MODULES


def test_encryption_and_remapping(good):
    good.put("proc/cmdline", "quiet mem_encrypt=on\n")
    assert "mem_encrypt=off" in bad(good, "host", "encryption", "fail")["remedy"]
    with open(good.root / f"boot/config-{KERNEL}", "a", encoding="ascii") as built_with:
        built_with.write("CONFIG_AMD_MEM_ENCRYPT_ACTIVE_BY_DEFAULT=y\n")
    for flags, cmdline, result in (("fpu sme", "quiet", "fail"), ("fpu", "quiet", "pass"),
                                   ("fpu sme", "mem_encrypt=off", "pass")):
        good.put("proc/cpuinfo", f"flags\t\t: {flags}\n")
        good.put("proc/cmdline", f"{cmdline}\n")
        assert found(look(good)[1], "host", "encryption")["result"] == result
    good.put("sys/kernel/irq/24/chip_name", "PCI-MSIX-0000:01:00.0\n")
    bad(good, "host", "remapping", "warn")
    assert "unsafe=1" in bad(good, DRIVE, "iommu", "fail", DRIVE)["remedy"]


@pytest.mark.parametrize("words, off", [("pci=nomsi", True), ("quiet pci=noaer,nomsi ro", True), ("pci=noaer", False),
                                        ("pci=nomsix xpci=nomsi", False)])
def test_messages(good, words, off):
    """A borrower whose drivers are given no message."""
    good.put("proc/cmdline", f"{words}\n")
    if off:
        assert bad(good, "host", "messages", "warn")["remedy"] == "boot without pci=nomsi"
    else:
        assert found(look(good)[1], "host", "messages")["result"] == "pass"


def test_link(good):
    folder = f"{BUS}/link0"
    good.put(f"{folder}/state", "hello\n")
    one = bad(good, "link0", "link", "fail")
    assert (one["status"], one["remedy"]) == (LINK, "load devlend_core on it")
    bad(good, "link0", "windows", "unknown")


def test_ntb(good):
    """Its function, its driver, its IOMMU."""
    put_config(good, NTB, command=2)
    assert bad(good, "link0", "ntb", "fail")["status"] == FAILED
    put_config(good, NTB)
    good.remove(f"sys/bus/pci/devices/{NTB}/driver")
    for driver, result, roles in (("switchtec", "fail", ["lend"]), ("ntb_hw_amd", "warn", ["lend", "borrow"])):
        os.symlink(f"/nowhere/{driver}", good.root / f"sys/bus/pci/devices/{NTB}/driver")
        assert bad(good, "link0", "ntb", result)["roles"] == roles
        good.remove(f"sys/bus/pci/devices/{NTB}/driver")
    group(good, 4, NTB)
    _, made = look(good)
    assert [(one["result"], one["roles"]) for one in made["checks"] if one["check"] == "iommu"] == [
        ("pass", ["borrow"]), ("pass", ["lend"])]
    windows(good, size=32 << 20)
    _, made = look(good)
    assert [one["result"] for one in made["checks"] if one["about"] == "link0" and one["check"] in ("iommu", "memory")] \
        == ["pass"] * 3
    windows(good, size=8 << 20)
    assert "16 MiB" in bad(good, "link0", "memory", "fail")["message"]


def test_memory_of_the_borrower(good):
    """All RAM, or that below 4 GiB with bounce buffers; the interrupt range, too."""
    windows(good, size=2 * GIB)		# RAM fits, the interrupt range into the second
    _, made = look(good)
    assert [one["result"] for one in made["checks"] if one["about"] == "link0" and one["check"] == "memory"] == ["pass"]
    windows(good, size=2 * GIB, align=4 * GIB)		# the second reaches only from 0, too
    assert "interrupt range" in bad(good, "link0", "memory", "fail")["message"]
    windows(good, size=GIB)
    assert bad(good, "link0", "memory", "fail")["status"] == IMPOSSIBLE
    good.put("proc/iomem", "00001000-7fffffff : System RAM\n100000000-23fffffff : System RAM\n")
    windows(good)
    assert "bounced" in bad(good, "link0", "memory", "warn")["message"]
    windows(good, bounce=0x120000000)
    bad(good, "link0", "bounce", "warn")
    bad(good, "link0", "memory", "fail")
    windows(good, size=16 * GIB)
    _, made = look(good)
    assert found(made, "link0", "memory")["result"] == "pass"


def test_windows_are_not_told(good):
    good.remove(WINDOWS)
    assert "root" in bad(good, "link0", "windows", "unknown")["remedy"]
    good.put(WINDOWS, "inbound: window state\noutbound: window cpu_phys\nbounce: start end\n")
    assert bad(good, "link0", "windows", "fail")["status"] == IMPOSSIBLE


def test_bars(good):
    """Alignment counts: what crosses a multiple of it needs more than its size."""
    bars(good, DRIVE, (0x10000000, 256 * MIB))
    windows(good, size=256 * MIB, align=256 * MIB)
    assert found(look(good, DRIVE)[1], DRIVE, "bars")["result"] == "pass"
    bars(good, DRIVE, (0x18000000, 256 * MIB))
    assert bad(good, DRIVE, "bars", "fail", DRIVE)["status"] == IMPOSSIBLE
    bars(good, DRIVE, (0x10000000, 16384), (0x20000000, 16384))		# a window each
    assert found(look(good, DRIVE)[1], DRIVE, "bars")["result"] == "pass"
    bars(good, DRIVE, (0x10000000, 16384), (0x20000000, 16384), (0x30000000, 16384))
    bad(good, DRIVE, "bars", "fail", DRIVE)
    bars(good, DRIVE, (0, 16384))
    assert "pci=realloc" in bad(good, DRIVE, "bars", "fail", DRIVE)["remedy"]


def test_bars_beside_a_lease(good):
    """A window that is open for another is shared only with unsafe=1."""
    bars(good, DRIVE, (0x10000000, 16384))
    text = DEBUG.format(size=256 * MIB, align=256 * MIB, out=0, bounce=0).splitlines()
    text[1] = "0 open 0x10000000 0x8000 1 0x10000000 0x10000000 0x1000"
    good.put(WINDOWS, "\n".join(text) + "\n")
    assert found(look(good, DRIVE)[1], DRIVE, "bars")["result"] == "pass"
    text[2] = text[1].replace("0 open 0x1", "1 open 0x2")
    good.put(WINDOWS, "\n".join(text) + "\n")
    assert "unsafe=1" in bad(good, DRIVE, "bars", "warn", DRIVE)["remedy"]
    folder = good.lent(DRIVE, "borrowed", PEER)
    good.attributes(folder, since=1700000000)
    assert found(look(good, DRIVE)[1], DRIVE, "bars")["result"] == "skip"


def test_what_lend_would_refuse(good):
    """The NTB, a bridge, a drive in use, one without reset or interrupts; each as the kernel would."""
    for bdf, text in ((NTB, "it is the NTB"), ("0000:02:00.0", "it is a bridge")):
        assert text in bad(good, bdf, "kind", "fail", bdf)["message"]
    mounted(good)
    one = bad(good, DRIVE, "use", "fail", DRIVE)
    assert one["status"] == BUSY and one["remedy"].startswith("umount")
    good.remove(f"sys/bus/pci/devices/{DRIVE}/reset_method")
    assert "--no-reset" in bad(good, DRIVE, "reset", "fail", DRIVE)["remedy"]
    put_config(good, DRIVE, msix=0)
    assert "nor INTx" in bad(good, DRIVE, "interrupts", "fail", DRIVE)["message"]
    (good.root / f"sys/bus/pci/devices/{DRIVE}/config").write_bytes(config()[:64])
    bad(good, DRIVE, "interrupts", "unknown", DRIVE)


@pytest.mark.parametrize("have, result, text", [
    ({"msix": 3, "pin": 1}, "pass", "MSI-X, 3 vectors"), ({"msix": 0, "msi": 1, "pin": 1}, "pass", "MSI, one vector"),
    ({"msix": 0, "msi": 8}, "pass", "MSI, 8 vectors; one, if"), ({"msix": 0, "pin": 2}, "warn", "mode doorbell")])
def test_interrupts(good, have, result, text):
    """Whichever it has can be carried; INTx by the CPU, which is told."""
    put_config(good, DRIVE, **have)
    one = found(look(good, DRIVE)[1], DRIVE, "interrupts")
    assert one["result"] == result and text in one["message"], one
    assert bool(one["remedy"]) == (result == "warn")


@pytest.mark.parametrize("chip, msix, msi, result, text", [
    ("IR-PCI-MSIX-0000:01:00.0", 2, 1, "pass", "MSI-X, 2"),
    ("IR-PCI-MSIX-0000:01:00.0", 0, 4, "pass", "MSI, vectors: 4"),
    ("PCI-MSIX-0000:01:00.0", 0, 4, "warn", "there will be one"), ("PCI-MSIX-0000:01:00.0", 0, 1, "pass", "vectors: 1"),
    ("PCI-MSIX-0000:01:00.0", 0, 0, "warn", "mode doorbell")])
def test_interrupts_of_an_offer(good, chip, msix, msi, result, text):
    """Several by plain MSI only where this host remaps interrupts; INTx as well."""
    name = f"offer-{PEER[:8]}-{OFFERED}"
    good.put("sys/kernel/irq/24/chip_name", f"{chip}\n")
    good.attributes(f"{BUS}/{name}", msix_vectors=msix, msi_vectors=msi)
    one = found(look(good, OFFERED)[1], name, "interrupts")
    assert one["result"] == result and text in one["message"], one
    assert bool(one["remedy"]) == (result == "warn")


def test_iommu_of_a_device(good):
    """Its width; a neighbour in its group; none, and then the NTB's BAR is not for every device."""
    good.put(f"sys/bus/pci/devices/{DRIVE}/iommu/intel-iommu/cap", "d2008c40660462\n")
    good.card(CARD)
    assert "39 address bits" in found(look(good, DRIVE)[1], DRIVE, "iommu")["message"]
    group(good, 3, CARD)
    assert f"{CARD} (e1000e)" in bad(good, DRIVE, "iommu", "fail", DRIVE)["message"]
    good.remove(f"sys/bus/pci/devices/{DRIVE}/iommu_group")
    bad(good, DRIVE, "iommu", "warn", DRIVE)
    for bits, result in ((64, "pass"), (32, "fail")):
        good.put(f"sys/bus/pci/devices/{DRIVE}/dma_mask_bits", f"{bits}\n")
        assert found(look(good, DRIVE)[1], DRIVE, "width")["result"] == result


def test_path(good):
    """ACS at a port of the switch, whichever; without an IOMMU that is doubtful, with one it is as wanted."""
    for port in ("0000:03:00.0", "0000:03:01.0"):
        put_config(good, port, pcie_type=6, acs=0x1d)
        assert found(look(good, DRIVE)[1], DRIVE, "path")["result"] == "pass"
        good.remove(f"sys/bus/pci/devices/{DRIVE}/iommu_group")
        assert f"ACS at {port}" in bad(good, DRIVE, "path", "warn", DRIVE)["message"]
        put_config(good, port, pcie_type=6, acs=0x20)
        assert "egress" in bad(good, DRIVE, "path", "warn", DRIVE)["message"]
        put_config(good, port, pcie_type=6, acs=0)
        group(good, 3, DRIVE)
    good.put("sys/bus/pci/devices/0000:03:00.0/config", "")
    bad(good, DRIVE, "path", "unknown", DRIVE)


def test_path_through_the_root_complex(good):
    good.drive("0000:00:08.0", "nvme2", 16)
    assert "through the root complex" in bad(good, "0000:00:08.0", "path", "warn", "0000:00:08.0")["message"]
    good.drive("0000:80:08.0", "nvme3", 32, below="sys/devices/pci0000:80")
    assert "another root bus" in bad(good, "0000:80:08.0", "path", "warn", "0000:80:08.0")["message"]


def test_requester(good):
    """Behind a bridge to conventional PCI, all requests carry that bridge's id."""
    bridge = good.pci("0000:04:00.0", ("10b5", "8112", "060400"), "", below="sys/devices/pci0000:00")
    good.card("0000:05:00.0", below=bridge)
    put_config(good, "0000:04:00.0", pcie_type=7)
    assert "bridge 0000:04:00.0" in bad(good, "0000:05:00.0", "requester", "warn", "0000:05:00.0")["message"]


def test_packets(good):
    put_config(good, DRIVE, mps=2)
    assert "512 bytes, and the NTB takes 128" in bad(good, DRIVE, "packets", "warn", DRIVE)["message"]


def test_offer(good):
    """State, BARs, interrupts and packets of what another host lends."""
    name = f"offer-{PEER[:8]}-{OFFERED}"
    for key, value, check in (("state", "forbidden", "state"), ("state", "quarantined", "state"),
                              ("bar0_size", 8 * GIB, "bars"), ("mps", 512, "packets")):
        path = f"{BUS}/{name}/{key}"
        before = good.read(path)
        good.put(path, f"{value}\n")
        bad(good, name, check, "fail", OFFERED)
        assert look(good, OFFERED)[1]["verdicts"] == [{"about": name, "role": "borrow", "result": "fail"}]
        good.put(path, before)
    out = devlend(good, "preflight", OFFERED).out
    assert f"{name}: can be borrowed\n" in out
    good.put(f"{BUS}/{name}/state", "lent\n")
    assert "at the moment: lent" in bad(good, name, "state", "warn")["message"]
    good.lease(name)
    assert found(look(good)[1], name, "state")["message"] == "borrowed here"
