# SPDX-License-Identifier: GPL-2.0
"""The usual set-up: two guests, "lender" and "borrower", and an NTB between.

Both have an NTB endpoint in slot 5 (0000:00:05.0), the lender on the upstream side, and
what is lent sits in the lender's slots from 6 on. The in-tree ntb_hw_intel is loaded.
"""

import os
import re
import shutil

from . import paths
from .agent import until
from .guest import Guest, Nvme, ntb_device
from .ntbsim import WINDOWS, Ntbsim, forbidden
from .puppet import Puppet

NTB_BDF = "0000:00:05.0"
DEVICE_BDF = "0000:00:06.0"
NTB_MODULES = ("ntb", "ntb_hw_intel")
DEFAULT_KERNEL = "6.12"


class Pair:
    """Boots on start(), or as a context manager. Options that start with lender_,
    borrower_ or third_ go to that guest alone, others to both. fast: the largest window of each port is
    the other guest's memory itself: for throughput, never for counts, order or isolation.
    kernel: without it, what DEVLEND_LENDER_KERNEL and DEVLEND_BORROWER_KERNEL say, else 6.12.
    puppet: "lender" or "borrower": in that one's place there is no guest, but a peer that the test drives.
    second_peer: the guest has a second NTB endpoint, in slot 10, and behind it a second such peer.
    second_ntb: both guests have one there, and a second link joins them. third: "lender" or "borrower": there is a third
    guest, pair.third, of that kind (options: third_...), and the second link, in slot 10 of the one guest that is alone
    of its kind, leads to it."""

    def __init__(self, run_dir, devices=None, windows=WINDOWS, ntb=True, fast=False,
                 modules=NTB_MODULES + ("nvme",), puppet=None, second_peer=False, second_ntb=False, third=None,
                 **options):
        self.run_dir = run_dir
        self._memory_dir = paths.scratch_dir("/dev/shm") if fast else None
        if fast:
            windows = list(windows[:-1]) + [dict(windows[-1], fast=True)]
            for name in ("lender", "borrower"):
                options[f"{name}_memory_file"] = self._memory_dir / name
        port = {"lender": "a", "borrower": "b"}.get(puppet)
        second = "puppet" if second_peer else "guest" if second_ntb or third else None
        self.ntbsim = Ntbsim(run_dir, windows, puppet=port, second=second) if ntb else None
        self.puppet = Puppet(self.ntbsim, port) if puppet else None
        self.second = Puppet(self.ntbsim, "d") if second_peer else None
        if second_peer:
            self._second_ntb(options, "c", "")
        if second_ntb or third == "borrower":
            self._second_ntb(options, "c", "lender_")
        if second_ntb or third == "lender":
            self._second_ntb(options, "d", "borrower_")
        cores = os.cpu_count() or 1
        # where tests run side by side, the busy guests of two pairs are not to share a core
        shift = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
        self.lender = self.borrower = self.third = None
        if puppet != "lender":
            self.lender = self._guest("lender", "a", shift, cores, options, modules,
                                      [Nvme()] if devices is None else devices)
        if puppet != "borrower":
            self.borrower = self._guest("borrower", "b", shift + 1, cores, options, modules, [])
        if third:
            self.third = self._guest("third", "c" if third == "lender" else "d", shift + 2, cores, options, modules, [])
        for guest in ([self.lender, self.borrower] if second_ntb else [self.borrower] if third == "lender" else
                      [self.lender] if third else []):
            guest.ntbs += 1
        if fast:
            for port, guest in zip(self.ntbsim.config["ports"], self.guests):
                port.update(memory=str(guest.memory_file), memory_size=f"{guest.memory}M")

    @property
    def guests(self):
        return [guest for guest in (self.lender, self.borrower, self.third) if guest]

    def start(self):
        try:
            if self.ntbsim:
                self.ntbsim.start()
            for puppet in filter(None, (self.puppet, self.second)):
                puppet.connect()
            for guest in self.guests:
                guest.start()
            for guest in self.guests:
                guest.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        for guest in self.guests:
            guest.stop()
        for puppet in filter(None, (self.puppet, self.second)):
            puppet.close()
        if self.ntbsim:
            self.ntbsim.stop()
        if self._memory_dir:
            shutil.rmtree(self._memory_dir, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def wait_link(self, timeout=30):
        """Until both NTB drivers say that the link is up. A client on each side must have
        asked for it: ntb_hw_intel alone keeps it down."""
        for guest in self.guests:
            until(lambda g=guest: link_is_up(g), timeout, f"{guest.name}: NTB link up")

    def check(self, allow=(), allow_counters=()):
        """What no test may leave behind, as a list of findings; empty is good."""
        found = [text for guest in self.guests for text in guest.findings(allow)]
        if self.ntbsim and self.ntbsim.running:
            found += [f"ntbsim: {c}" for c in forbidden(self.ntbsim.counters())
                      if not any(name in c for name in allow_counters)]
        return found

    def _second_ntb(self, options, port, prefix):
        options[f"{prefix}extra_args"] = ["-device", ntb_device(self.ntbsim.port_socket(port), "ntb1", "a")]

    def _guest(self, name, port, index, cores, options, modules, devices):
        mine = {k: v for k, v in options.items() if not k.startswith(("lender_", "borrower_", "third_"))}
        mine.update({k[len(name) + 1:]: v for k, v in options.items() if k.startswith(name + "_")})
        mine.setdefault("kernel", os.environ.get(f"DEVLEND_{name.upper()}_KERNEL", DEFAULT_KERNEL))
        mine.setdefault("core", index % cores)
        mine.setdefault("modules", modules if self.ntbsim else [m for m in modules if not m.startswith("ntb")])
        mine.setdefault("devices", devices)
        if self.ntbsim:
            mine.setdefault("ntb_socket", self.ntbsim.port_socket(port))
        return Guest(name, self.run_dir, **mine)


def link_is_up(guest):
    """Whether a guest's NTB driver has its link up."""
    path = f"/sys/kernel/debug/ntb_hw_intel/{NTB_BDF}/info"
    return bool(re.search(r"^Link Status -\s+Up", guest.run(f"cat {path}", check=False).out, re.M))
