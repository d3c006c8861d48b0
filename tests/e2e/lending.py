# SPDX-License-Identifier: GPL-2.0
"""What an operator does, as functions: lend, borrow, return, reclaim by sysfs.

Each takes guests (anything with .run(command, timeout=) -> result with .rc and .out) and
waits for the state that the kernel reports, never for a time. A step that fails raises
with the errno text that the shell printed and the end of that guest's kernel log.
"""

import errno
import os
import re

DRIVER = "/sys/bus/pci/drivers/devlend_lender"
BUS = "/sys/bus/devlend/devices"


class StepFailed(AssertionError):
    """An operator's step did not do as told."""


def sh(guest, command, timeout=60):
    """Run a command that must succeed; return its output without the last newline."""
    result = guest.run(command, timeout=timeout)
    if result.rc != 0:
        log = guest.run("dmesg | tail -n 25", timeout=30).out
        raise StepFailed(f"{command!r} gave {result.rc}:\n{result.out}\n{log}")
    return result.out.rstrip("\n")


def write(guest, path, value, timeout=120):
    """Write a value to a sysfs file; return 0 or the errno (positive)."""
    # dd tells the errno by its message and, unlike echo, makes exactly one write
    result = guest.run(
        f"printf %s '{value}' | dd of='{path}' bs=8192 iflag=fullblock 2>&1",
        timeout=timeout)
    if result.rc == 0:
        return 0
    for number in errno.errorcode:
        if os.strerror(number) in result.out:
            return number
    raise StepFailed(f"write {value!r} to {path}: {result.out}")


def must_write(guest, path, value, timeout=120):
    """Write a value to a sysfs file; raise where it is refused."""
    code = write(guest, path, value, timeout)
    if code:
        log = guest.run("dmesg | tail -n 25", timeout=30).out
        raise StepFailed(
            f"write {value!r} to {path}: {errno.errorcode[code]}\n{log}")


def wait(guest, condition, timeout=30, what=None):
    """Wait in the guest until a shell condition holds (polled there every 50 ms)."""
    steps = int(timeout * 20)
    result = guest.run(
        f"i=0; until {condition}; do i=$((i+1)); [ $i -lt {steps} ] || exit 9; "
        "sleep 0.05; done", timeout=timeout * 4 + 30)
    if result.rc != 0:
        state = guest.run(f"ls -l {BUS}; cat {BUS}/*/state; dmesg | tail -n 25").out
        raise StepFailed(f"waited {timeout} s for {what or condition}\n{state}")


def wait_link(guest, state="up", timeout=60):
    """Wait until the guest's first link is in a state."""
    wait(guest, f'[ "$(cat {BUS}/link0/state 2>/dev/null)" = {state} ]', timeout)


def find_pci(guest, ids):
    """BDF of the guest's own device with vendor:device ids."""
    out = sh(guest, f"lspci -D -n -d {ids}")
    return out.split()[0]


def driver_of(guest, bdf):
    """Name of the driver that is bound to a PCI device, or None."""
    out = guest.run(f"readlink /sys/bus/pci/devices/{bdf}/driver").out.strip()
    return out.rsplit("/", 1)[-1] or None


def lend(guest, bdf, force=False):
    """Lend a device and wait until it is offered."""
    must_write(guest, f"{DRIVER}/lend", bdf + (" force" if force else ""))
    wait(guest, f'[ "$(cat {BUS}/lent-{bdf}/state)" = offered ]')


def reclaim(guest, bdf):
    """Take a lent device back; its own driver is bound again afterwards."""
    must_write(guest, f"{DRIVER}/reclaim", bdf)


def offers(guest):
    """Names of the offers that a guest sees."""
    return sh(guest, f"cd {BUS} && ls -d offer-* 2>/dev/null || true").split()


def wait_offer(guest, bdf, state="available", timeout=30):
    """Wait for the offer of a device; return its name."""
    wait(guest, f'[ "$(cat {BUS}/offer-*-{bdf}/state 2>/dev/null)" = {state} ]',
         timeout, f"offer of {bdf} {state}")
    return next(o for o in offers(guest) if o.endswith(bdf))


def leases(guest):
    """Names of the leases that a guest holds."""
    return sh(guest, f"cd {BUS} && ls -d lease-* 2>/dev/null || true").split()


def borrow(guest, offer, slot="auto"):
    """Borrow an offered device; return the lease's name."""
    before = set(leases(guest))
    must_write(guest, f"{BUS}/{offer}/borrow", slot, timeout=180)
    new = set(leases(guest)) - before
    if len(new) != 1:
        raise StepFailed(f"borrow made {len(new)} leases")
    return new.pop()


def shadow_of(guest, lease):
    """BDF of the borrowed device on the borrower."""
    return sh(guest, f"cat {BUS}/{lease}/pci")


def give_back(guest, lease):
    """Return a borrowed device, and wait until the lease is gone."""
    must_write(guest, f"{BUS}/{lease}/return", "1", timeout=180)
    wait(guest, f"[ ! -e {BUS}/{lease} ]")


def nvme_block(guest, shadow, timeout=60):
    """Name of the block device of an nvme controller, once it is there."""
    base = f"/sys/bus/pci/devices/{shadow}/nvme"
    wait(guest, f"ls {base}/nvme*/nvme*n1 >/dev/null 2>&1", timeout,
         f"block device of {shadow}")
    out = sh(guest, f"ls -d {base}/nvme*/nvme*n1")
    return re.search(r"(nvme\d+)(c\d+)?(n1)$", out).expand(r"\1\3")
