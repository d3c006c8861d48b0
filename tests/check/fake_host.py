# SPDX-License-Identifier: GPL-2.0
"""A host for the tool's tests: a folder with the parts of /sys, /proc, /dev and /run that it reads."""

import os
import shutil

BUS = "sys/bus/devlend/devices"
DRIVER = "sys/bus/pci/drivers/devlend_lender"
PEER = "4c4c4544-0042-3510-8058-b4c04f4d3532"
NVME = ("1b36", "0010", "010802")
E1000E = ("8086", "10d3", "020000")


class FakeHost:
    """What a test puts here, the tool finds."""

    def __init__(self, root):
        self.root = root
        for folder in ("proc/self", "dev", "run", "sys/bus/pci/devices", "sys/class/block", "sys/class/net"):
            (root / folder).mkdir(parents=True)
        self.put("proc/self/mountinfo", "22 1 254:0 / / rw - ext4 /dev/vda rw\n")
        self.put("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n")
        self.put("dev/kmsg", "4,1,1,-;an old line of devlend: not of interest (-5)\n")
        self.put("usr/share/misc/pci.ids", "1b36  Red Hat, Inc.\n\t0010  QEMU NVM Express Controller\n"
                                           "8086  Intel Corporation\n\t10d3  82574L\n"
                                           "C 01  Mass storage controller\n\t08  Non-Volatile memory controller\n")

    def put(self, path, text):
        """Write a file; folders are made."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def read(self, path):
        """A file's text."""
        return (self.root / path).read_text()

    def link_to(self, path, target):
        """Make a symbolic link to another path of the host."""
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(os.path.relpath(self.root / target, link.parent), link)

    def attributes(self, folder, **values):
        """Write one file for each value."""
        for name, value in values.items():
            self.put(f"{folder}/{name}", f"{value}\n")

    def remove(self, path):
        """Take a file, link or folder away."""
        full = self.root / path
        if full.is_dir() and not full.is_symlink():
            shutil.rmtree(full)
        else:
            full.unlink()

    # Modules and links

    def modules(self):
        """Load all three."""
        (self.root / BUS).mkdir(parents=True, exist_ok=True)
        self.put(f"{DRIVER}/lend", "")
        self.put(f"{DRIVER}/reclaim", "")
        self.put("sys/module/devlend_borrower/refcnt", "0\n")
        return self

    def link(self, state="up", peer=PEER, name="link0", ntb="0000:00:05.0"):
        """A link, below its NTB."""
        folder = f"sys/devices/pci0000:00/{ntb}/{ntb}/{name}"
        self.attributes(folder, state=state, words=8, beat_timeout_ms=3000, atomic_timeout_ms=1000,
                        calls_sent=12, calls_received=5, atomic_sent=2, atomic_received=1, frames_rejected=0, epoch="01020304")
        if state == "up":
            self.attributes(folder, peer_host=peer)
        self.link_to(f"{BUS}/{name}", folder)
        return folder

    # PCI functions and what drivers make of them

    def pci(self, bdf, ids=NVME, driver="nvme", below="sys/devices/pci0000:00"):
        """A function."""
        folder = f"{below}/{bdf}"
        vendor, device, cls = ids
        self.attributes(folder, vendor=f"0x{vendor}", device=f"0x{device}", subsystem_vendor="0x1af4",
                        subsystem_device="0x1100", **{"class": f"0x{cls}"}, revision="0x02")
        if driver:
            (self.root / f"sys/bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
            self.link_to(f"{folder}/driver", f"sys/bus/pci/drivers/{driver}")
        self.link_to(f"sys/bus/pci/devices/{bdf}", folder)
        return folder

    def block(self, folder, name, dev, partition=0):
        """A disk, or a partition, in a folder of /sys/devices."""
        self.attributes(f"{folder}/{name}", dev=dev)
        if partition:
            self.attributes(f"{folder}/{name}", partition=partition)
        (self.root / "sys/class/block").mkdir(parents=True, exist_ok=True)
        self.link_to(f"{folder}/{name}/subsystem", "sys/class/block")
        self.link_to(f"sys/class/block/{name}", f"{folder}/{name}")
        return f"{folder}/{name}"

    def drive(self, bdf="0000:00:06.0", name="nvme0", minor=0, **options):
        """An NVMe controller with a drive of one partition; returns the controller's folder."""
        folder = self.pci(bdf, **options)
        node = f"{folder}/nvme/{name}"
        self.attributes(node, dev=f"241:{minor}")
        (self.root / "sys/class/nvme").mkdir(parents=True, exist_ok=True)
        self.link_to(f"{node}/subsystem", "sys/class/nvme")
        self.link_to(f"sys/class/nvme/{name}", node)
        disk = self.block(node, f"{name}n1", f"259:{minor}")
        self.block(disk, f"{name}n1p1", f"259:{minor + 1}", partition=1)
        return folder

    def card(self, bdf="0000:00:07.0", name="eth0", flags="0x1002", **options):
        """A network card with an interface."""
        folder = self.pci(bdf, E1000E, "e1000e", **options)
        self.attributes(f"{folder}/net/{name}", flags=flags)
        self.link_to(f"{folder}/net/{name}/subsystem", "sys/class/net")
        self.link_to(f"sys/class/net/{name}", f"{folder}/net/{name}")
        return folder

    # What is lent, offered and borrowed

    def lent(self, bdf, state="offered", peer="", driver="nvme"):
        """A device that this host lends."""
        folder = f"sys/devices/pci0000:00/{bdf}/lent-{bdf}"
        self.attributes(folder, state=state, bdf=bdf, generation=3, driver_name=driver, resettable=1, peer=peer,
                        link="link0" if peer else "", leases=2, isolated=1)
        self.link_to(f"{BUS}/lent-{bdf}", folder)
        return folder

    def offer(self, device="0000:3b:00.0", state="available", host=PEER, ids=NVME, link=None):
        """A device that another host lends."""
        name = f"offer-{host[:8]}-{device}"
        folder = f"{link or 'sys/devices/pci0000:00/0000:00:05.0/0000:00:05.0/link0'}/{name}"
        vendor, kind, cls = ids
        self.attributes(folder, state=state, id=f"{host}/{device}/1", host=host, generation=1, vendor=f"0x{vendor}",
                        device=f"0x{kind}", subsystem_vendor="0x1af4", subsystem_device="0x1100",
                        **{"class": f"0x{cls}"}, revision="0x02", msi_vectors=0, msix_vectors=3, mps=128,
                        lender_iommu=0, irq_mode="auto", bar0_size=16384, bar1_size=0, bar2_size=0, bar3_size=0, bar4_size=0,
                        bar5_size=0)
        self.put(f"{folder}/borrow", "")
        self.link_to(f"{BUS}/{name}", folder)
        return name

    def lease(self, offer, domain="8000", state="active", disk="nvme1"):
        """A borrowed drive."""
        name = f"lease-{domain}"
        folder = f"sys/devices/devlend-leases/{name}"
        pci = f"{domain}:00:00.0"
        self.attributes(folder, state=state, offer=offer, link="link0", domain=domain, slot=0, pci=pci,
                        dma_mode="direct", dma_flush_ms="never", irq_mode="direct", irq_proof="seen",
                        bar_proof="proven")
        self.put(f"{folder}/return", "")
        self.link_to(f"{BUS}/{name}", folder)
        if disk:
            self.drive(pci, disk, 8, below=f"{folder}/pci{domain}:00")
        else:
            self.pci(pci, below=f"{folder}/pci{domain}:00")
        return name
