#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`make demo`: the main job, on the rig, with what happens printed step by step.

Two guests joined by an NTB; an NVMe drive in one of them is lent, borrowed by the other, used by
its stock driver, returned and reclaimed. Each step prints the command that an operator would type
and what it answered; the first that does not do as it should ends the demo with its reason.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lending
from rig import Nvme, Pair, paths
from rig.agent import CommandFailed
from rig.process import clean_up_on_signals

START = time.monotonic()
TOOL = paths.BUILD / "tool-guest/devlend"
# what the tool ends with where a device is in use
IN_USE = 6


def step(title):
    """Print a step's title with the time since the start."""
    print(f"\n[{time.monotonic() - START:5.1f} s] {title}", flush=True)


def show(name, guest, command, timeout=120, status=0):
    """Run a command in a guest as an operator would, and print both; it is to end with that status."""
    print(f"  {name}# {command}", flush=True)
    done = guest.run(f"{command} 2>&1", timeout=timeout, check=False)
    if done.rc != status:
        raise lending.StepFailed(f"{command}: ended with {done.rc}: {done.out}")
    out = done.out
    for line in out.splitlines():
        print(f"    {line}", flush=True)
    return out


def use_drive(pair, lease, digest):
    """Read the image through the borrower, make a file system, write a file; its checksum."""
    guest = pair.borrower
    shadow = lending.shadow_of(guest, lease)
    disk = lending.nvme_block(guest, shadow)
    step("The shadow, as lspci shows it; the stock nvme driver is bound")
    show("borrower", guest, f"lspci -vv -s {shadow}")
    serial = show("borrower", guest, f"cat /sys/block/{disk}/device/serial").strip()
    size = show("borrower", guest, f"blockdev --getsize64 /dev/{disk}")
    drive = pair.lender.devices[0]
    if (serial, int(size)) != (drive.serial, Path(drive.image).stat().st_size):
        raise lending.StepFailed("serial number or size differ from the lender's drive")
    step("The whole drive, read through the borrower")
    got = show("borrower", guest, f"dd if=/dev/{disk} bs=128k iflag=direct 2>/dev/null | sha256sum", 600)
    print(f"    {digest}  (the image, computed outside)")
    if got.split()[0] != digest:
        raise lending.StepFailed("the checksums differ")
    step("A file system and a file, written by the borrower")
    show("borrower", guest, f"mkfs.ext4 -q -F /dev/{disk} && mkdir -p /mnt/d && mount /dev/{disk} /mnt/d", 300)
    show("borrower", guest, "uname -a > /mnt/d/hello && dd if=/dev/urandom bs=64k count=2 >> /mnt/d/hello 2>/dev/null")
    written = show("borrower", guest, "sync && sha256sum < /mnt/d/hello")
    step("What is in use is not given back")
    show("borrower", guest, f"devlend return {lease}", status=IN_USE)
    show("borrower", guest, "umount /mnt/d")
    return written.split()[0]


def run(pair, digest):
    """All steps."""
    lender, borrower = pair.lender, pair.borrower
    step("Two hosts, one NTB: the links are up")
    lending.ready(pair)
    for guest in pair.guests:
        guest.push(TOOL, "/usr/local/sbin/devlend", mode=0o755)
    show("lender", lender, "devlend status")
    bdf = lending.find_pci(lender, lending.NVME)
    step("The drive on the lender, with its own driver")
    show("lender", lender, f"lspci -k -s {bdf}")
    step("Lend it")
    show("lender", lender, f"devlend lend {bdf}")
    step("Available on the borrower")
    lending.wait_offer(borrower, bdf)
    show("borrower", borrower, "devlend list")
    step("Borrow it")
    show("borrower", borrower, f"devlend borrow --wait=120 {bdf}")
    lease, = lending.names(borrower, "lease")
    show("lender", lender, "devlend list")
    written = use_drive(pair, lease, digest)
    step("Return it, and take it back on the lender")
    show("borrower", borrower, f"devlend return {lease}")
    show("lender", lender, f"devlend reclaim {bdf}")
    disk = lending.nvme_block(lender, bdf)
    show("lender", lender, f"lspci -k -s {bdf}")
    step("The borrower's file, read on the lender with its own driver")
    show("lender", lender, f"mkdir -p /mnt/d && mount -o ro /dev/{disk} /mnt/d")
    got = show("lender", lender, "sha256sum < /mnt/d/hello && umount /mnt/d").split()[0]
    if got != written:
        raise lending.StepFailed("the file differs")
    step("Done: lent, borrowed, used, returned, reclaimed; every checksum equal")


def main():
    """Boot the pair, run the steps; 0 when all of them did as they should."""
    clean_up_on_signals()
    subprocess.run([paths.TOP / "tests/rig/build-tool.sh"], check=True)
    step("Booting two guests")
    with tempfile.TemporaryDirectory(prefix="devlend-demo-") as run_dir:
        with Pair(Path(run_dir), **lending.options(devices=[Nvme(size=16 << 20)])) as pair:
            digest = lending.fill(pair.lender.devices[0])
            try:
                run(pair, digest)
            except (AssertionError, CommandFailed) as error:
                print("\n".join([f"\ndemo: failed: {error}", *pair.check()]), file=sys.stderr)
                return 1
            found = pair.check()
            if found:
                print("\ndemo: failed: a kernel complained:\n" + "\n".join(found), file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
