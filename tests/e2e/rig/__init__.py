# SPDX-License-Identifier: GPL-2.0
"""The rig: QEMU guests joined by a simulated NTB, driven from the host.

    paths       where things are: the tree, the cache, a kernel's files
    process     children that never outlive us
    image       what a guest boots from: userland, kernel modules, modules under test
    agent       shell commands inside a guest
    console     a guest's serial console, as text that can be waited for
    qmp         QEMU's control protocol
    guest       one QEMU guest, made of the above
    ntbsim      the NTB simulator
    puppet      a peer without a guest, driven word by word
    complaints  what a kernel says when something is wrong
    pair        the usual set-up: a lender and a borrower with an NTB between
"""

from .agent import CommandFailed, GuestGone, Result
from .complaints import find_complaints
from .guest import Guest, Nvme, WithDrives
from .ntbsim import Ntbsim
from .pair import Pair
from .puppet import Puppet

__all__ = ["CommandFailed", "Guest", "GuestGone", "Ntbsim", "Nvme", "Pair",
           "Puppet", "Result", "WithDrives", "find_complaints"]
