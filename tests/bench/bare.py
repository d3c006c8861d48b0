# SPDX-License-Identifier: GPL-2.0
"""The floor: tests/kmod/rig_nvme.c, which reads from the controller with no driver stack above it."""

import contextlib
import struct

import lending
from cost import Meter
from stats import summary

PCI = "/sys/bus/pci"
DEBUG = "/sys/kernel/debug/rig_nvme"
# name -> how the loop waits, and for how many commands at a time
HOW = {"irq": ("irq", 1), "poll": ("poll", 1), "deep": ("irq", 32)}
BYTES = 4096


def _rebind(guest, bdf, driver):
    """Give a device to a driver by name; "" = to whichever wants it."""
    if lending.driver_of(guest, bdf):
        lending.must_write(guest, f"{PCI}/devices/{bdf}/driver/unbind", bdf)
    lending.must_write(guest, f"{PCI}/devices/{bdf}/driver_override", driver + "\n")
    lending.must_write(guest, f"{PCI}/drivers_probe", bdf)


@contextlib.contextmanager
def bound(guest, bdf, driver="rig_nvme"):
    """A device with a driver of tests/kmod; with its own again afterwards."""
    guest.modprobe(driver)
    _rebind(guest, bdf, driver)
    if lending.driver_of(guest, bdf) != driver:
        raise lending.StepFailed(f"{guest.name}: {driver} did not take {bdf}\n" + guest.text("dmesg | tail -n 5"))
    yield
    _rebind(guest, bdf, "")


def run(pair, guest, bdf, name, seconds):
    """One run of the loop: its figures, and the single latencies."""
    how, depth = HOW[name]
    with Meter(pair) as meter:
        lending.must_write(guest, f"{PCI}/devices/{bdf}/run", f"{seconds * 1000} {BYTES} {depth} {how}",
                           timeout=seconds * 10 + 60)
    raw = guest.pull(f"{DEBUG}/{bdf}/latencies")
    samples = list(struct.unpack(f"={len(raw) // 4}I", raw))
    elapsed = int(guest.read(f"{DEBUG}/{bdf}/elapsed"))
    return {"ios": len(samples), "seconds": elapsed / 1e9, "iops": len(samples) / (elapsed / 1e9),
            "latency_ns": summary(samples), "cost": meter.cost}, samples
