# SPDX-License-Identifier: GPL-2.0
"""QEMU's edu device on the borrower, with the driver rig_edu (tests/kmod), which counts its interrupts."""

import lending


class Edu:
    """The borrowed edu with its driver."""

    def __init__(self, pair, lease):
        self.guest, self.lender = pair.borrower, pair.lender
        self.bdf = lending.shadow_of(pair.borrower, lease)
        self.folder = f"/sys/bus/pci/devices/{self.bdf}"

    def __getattr__(self, name):
        """A count: handled, spurious, lost."""
        return int(self.guest.read(f"{self.folder}/{name}"))

    def raise_(self, count):
        """Raise so many interrupts; each is awaited."""
        assert self.guest.write(f"{self.folder}/raise", str(count), timeout=300) == 0

    def line(self):
        """(number, [count of each CPU]) in /proc/interrupts."""
        words = self.guest.text("grep rig_edu /proc/interrupts").split()
        return int(words[0].rstrip(":")), [int(n) for n in words[1:3]]

    def message(self, guest, bdf):
        """(address, data) of the MSI capability, as a host sees it."""
        low, high, data = guest.text(f"setpci -s {bdf} CAP_MSI+4.l CAP_MSI+8.l CAP_MSI+c.w").split()
        return int(high + low, 16), int(data, 16)
