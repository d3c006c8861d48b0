# SPDX-License-Identifier: GPL-2.0
"""What an operator does, as functions: lend, borrow, return, reclaim by sysfs.

Each waits for the state that the kernel reports, never for a time. A step that fails raises
with the errno and the end of that guest's kernel log.
"""

import contextlib
import errno
import hashlib
import random
import re
import subprocess
from pathlib import Path

from rig import Nvme
from rig.pair import NTB_MODULES

DRIVER = "/sys/bus/pci/drivers/devlend_lender"
BUS = "/sys/bus/devlend/devices"
NVME = "1b36:0010"
MODULES = NTB_MODULES + ("nvme", "ext4", "devlend_core", "devlend_lender", "devlend_borrower")
INTERRUPT_RANGE = 0xfee00000	# where a host takes messages
BEAT_TIMEOUT_MS = 20000		# guests under emulation, on busy cores, stall for seconds

# what the kernel says of a drive that went away: its driver that it lost it, and readers that reads failed
LOSS = ("I/O error", "controller is down", "Buffer I/O", "Device not ready", "Removing after probe")


class StepFailed(AssertionError):
    """An operator's step did not do as told."""


def options(**more):
    """Options of a Pair whose lender has one drive and whose guests have devlend loaded."""
    made = {"modules": MODULES, "devices": [Nvme()]}
    made.update(more)
    return made


def ready(pair):
    """Wait until all links are up; give the peers the patience that emulation needs."""
    links = [(guest, f"link{n}") for guest in pair.guests for n in range(guest.ntbs)]
    for guest, link in links:
        wait(guest, f"[ -e {BUS}/{link}/beat_timeout_ms ]")
        must_write(guest, f"{BUS}/{link}/beat_timeout_ms", str(BEAT_TIMEOUT_MS))
    for guest, link in links:
        wait_state(guest, link, "up", 90)
    return pair


def fill(drive, seed=1):
    """Give a drive's image known content; return its SHA-256."""
    path = Path(drive.image)
    data = random.Random(seed).randbytes(path.stat().st_size)
    with path.open("r+b") as image:
        image.write(data)
    return hashlib.sha256(data).hexdigest()


def throttle(guest, drive, bps):
    """Have a drive read no faster than that, bytes a second; 0 = as fast as it can."""
    said = guest.qmp.command("human-monitor-command",
                             command_line=f"block_set_io_throttle {drive.serial.lower()} 0 {bps} 0 0 0 0")
    assert not said, said


def must_write(guest, path, value, timeout=120):
    """Write a value to a sysfs file; raise where it is refused."""
    code = guest.write(path, value, timeout)
    if code:
        raise StepFailed(f"{guest.name}: writing {value!r} to {path}: {errno.errorcode[code]}\n"
                         + guest.text("dmesg | tail -n 25"))


def wait(guest, condition, timeout=60, what=None):
    """Wait in the guest until a shell condition holds."""
    steps = int(timeout * 20)
    result = guest.run(f"i=0; until {condition}; do i=$((i+1)); [ $i -lt {steps} ] || exit 9; sleep 0.05; done",
                       timeout=timeout * 5 + 30, check=False)
    if result.rc:
        state = guest.run(f"ls {BUS}; grep -s . {BUS}/*/state; dmesg | tail -n 25", check=False).out
        raise StepFailed(f"{guest.name}: waited {timeout} s for {what or condition}\n{state}")


def wait_state(guest, device, state, timeout=60):
    """Wait until a device of the devlend bus is in a state."""
    wait(guest, f'[ "$(cat {BUS}/{device}/state 2>/dev/null)" = {state} ]', timeout, f"{device} {state}")


def wait_link(guest, state="up", timeout=90):
    """Wait until the guest's first link is in a state."""
    wait_state(guest, "link0", state, timeout)


def find_pci(guest, ids):
    """BDF of the guest's own device with vendor:device ids."""
    return guest.text(f"lspci -D -n -d {ids}").split()[0]


def push_program(guest, name, tmp_path):
    """Build a program of this folder, NAME.c, and put it into the guest as /tmp/NAME."""
    program = tmp_path / name
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "-static", "-o", program, Path(__file__).with_name(f"{name}.c")],
                   check=True)
    guest.push(program, f"/tmp/{name}", mode=0o755)


def devmem(guest, address, value=None):
    """Read, or write, 32 bits of physical memory."""
    store = "" if value is None else f" {value:#x}"
    out = guest.text(f"devmem {address:#x} 32{store}")
    return int(out, 16) if value is None else None


def driver_of(guest, bdf):
    """Name of the driver that is bound to a PCI device, or None."""
    out = guest.run(f"readlink /sys/bus/pci/devices/{bdf}/driver", check=False).out.strip()
    return out.rsplit("/", 1)[-1] or None


def own_interrupts(guest):
    """Interrupts that the guest took for the NTB, which are devlend's there."""
    return int(guest.text("awk '/ndev_vec/ {for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i} END {print n + 0}' "
                          "/proc/interrupts"))


def lend(guest, bdf, force=False):
    """Lend a device and wait until it is offered."""
    must_write(guest, f"{DRIVER}/lend", bdf + (" force" if force else ""))
    wait_state(guest, f"lent-{bdf}", "offered")


def reclaim(guest, bdf):
    """Take a lent device back; its own driver is bound again afterwards."""
    must_write(guest, f"{DRIVER}/reclaim", bdf)


def names(guest, kind):
    """Names of the offers, leases or lent devices that a guest has."""
    return sorted(guest.text(f"cd {BUS} && ls -d {kind}-* 2>/dev/null || true").split())


def wait_offer(guest, bdf, state="available", timeout=60):
    """Wait for the offer of a device; return its name."""
    wait(guest, f'[ "$(cat {BUS}/offer-*-{bdf}/state 2>/dev/null)" = {state} ] && '
         f"(cd {BUS} && ls -d offer-*-{bdf} > /tmp/offer)", timeout, f"offer of {bdf} {state}")
    # the name as it was then: a link that flaps takes the offer away again
    return guest.text("cat /tmp/offer")


def borrow(guest, offer, slot="auto"):
    """Borrow an offered device; return the lease's name."""
    before = set(names(guest, "lease"))
    must_write(guest, f"{BUS}/{offer}/borrow", slot, timeout=180)
    new = set(names(guest, "lease")) - before
    if len(new) != 1:
        raise StepFailed(f"borrow made {len(new)} leases")
    return new.pop()


def shadow_of(guest, lease):
    """BDF of the borrowed device on the borrower."""
    return guest.read(f"{BUS}/{lease}/pci")


def give_back(guest, lease):
    """Return a borrowed device, and wait until the lease is gone."""
    must_write(guest, f"{BUS}/{lease}/return", "1", timeout=180)
    wait(guest, f"[ ! -e {BUS}/{lease} ]")


def nvme_block(guest, bdf, timeout=60):
    """Name of the block device of an nvme controller, once it is there."""
    base = f"/sys/bus/pci/devices/{bdf}/nvme"
    wait(guest, f"ls -d {base}/nvme*/nvme*n1 >/dev/null 2>&1", timeout, f"block device of {bdf}")
    found = re.search(r"(nvme\d+)(c\d+)?(n1)$", guest.text(f"ls -d {base}/nvme*/nvme*n1"))
    return found.group(1) + found.group(3)


def start_reads(guest, disk):
    """Reads until the disk is gone, in the background; returns their job when some were done."""
    job = guest.spawn(f"while dd if=/dev/{disk} of=/dev/null bs=4k count=256 iflag=direct status=none 2>/dev/null; "
                      "do :; done")
    job.send(b"")
    wait(guest, f"[ $(awk '{{print $1}}' /sys/block/{disk}/stat) -gt 200 ]", what="reads under way")
    return job


def lent_drive(pair):
    """Lend the pair's drive; return its BDF."""
    ready(pair)
    bdf = find_pci(pair.lender, NVME)
    lend(pair.lender, bdf)
    return bdf


def set_irq_mode(guest, offer, mode):
    """How the interrupts of what is borrowed next are to come."""
    must_write(guest, f"{BUS}/{offer}/irq_mode", mode)


def borrowed_drive(pair, irq_mode="auto"):
    """Lend and borrow the pair's drive; return (BDF, lease, block device)."""
    bdf = lent_drive(pair)
    offer = wait_offer(pair.borrower, bdf)
    set_irq_mode(pair.borrower, offer, irq_mode)
    lease = borrow(pair.borrower, offer)
    return bdf, lease, nvme_block(pair.borrower, shadow_of(pair.borrower, lease))


def take_down(pair, bdf):
    """Undo borrowed_drive() or lent_drive(), whatever is left of it."""
    for lease in names(pair.borrower, "lease"):
        give_back(pair.borrower, lease)
    wait_state(pair.lender, f"lent-{bdf}", "offered")
    reclaim(pair.lender, bdf)
    if driver_of(pair.lender, bdf) != "nvme":
        raise StepFailed(f"{bdf} is with {driver_of(pair.lender, bdf)} after reclaim")


def open_to_lender(pair):
    """How far the borrower's memory window is open, as the hardware has it; it begins at address 0."""
    port = next(port for port in pair.ntbsim.status()["ports"] if port["name"] == "b")
    assert [window["xbase"] for window in port["windows"] if window["inbound_open"]] == [0]
    return sum(window["inbound_open"] for window in port["windows"])


def taken(pair):
    """What the lender says that it takes of a device's interrupts, and tells by doorbell: (messages, kind, INTx, told)."""
    text = pair.lender.read("/sys/kernel/debug/devlend/lent")
    found = re.search(r"doorbell: (\d+) messages of (\S+?)(, INTx)?, told (\d+)", text)
    return (int(found[1]), found[2], bool(found[3]), int(found[4])) if found else None


@contextlib.contextmanager
def borrowed_edu(pair, bdf, irq_mode="auto"):
    """Lend and borrow an edu, which has no reset: its lease. A test loads rig_edu for it, or not."""
    ready(pair)
    lend(pair.lender, bdf, force=True)
    offer = wait_offer(pair.borrower, bdf)
    set_irq_mode(pair.borrower, offer, irq_mode)
    lease = borrow(pair.borrower, offer)
    yield lease
    pair.borrower.run("modprobe -r rig_edu")
    give_back(pair.borrower, lease)
    wait_state(pair.lender, f"lent-{bdf}", "offered")
    reclaim(pair.lender, bdf)
